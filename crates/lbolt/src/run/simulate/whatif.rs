//! A trace before and after changes of the model: the same replays as those of `simulate`, of which
//! the first variant is the model without any change, and each sample of its uncertain numbers is
//! taken on both sides.
//!
//! Non-goals: the numbers and their intervals (`analyze::whatif`).

use super::{Found, Simulated, SimulationRequest, conclude, replay_all};
use crate::run::requests::RequestsRun;
use analyze::whatif::{Pair, findings};
use model::record::Finding;

/// What came of it.
#[derive(Debug)]
pub(crate) struct Compared {
    /// The model without a change, then with each.
    pub(crate) sides: Vec<Simulated>,
    /// What each change does.
    pub(crate) findings: Vec<Finding>,
}

/// Replays every variant, each into its run, and holds each change against the first.
/// Errors: a model or a trace at fault; interruption; rows that cannot be written.
pub(crate) fn compare(
    requested: &SimulationRequest<'_>,
    runs: &mut [RequestsRun],
) -> anyhow::Result<Compared> {
    let of_variants = replay_all(requested, runs)?;
    let mut changes = Vec::new();
    if let Some((before, after)) = of_variants.split_first() {
        for (variant, after) in requested.variants.iter().skip(1).zip(after) {
            changes.extend(of_change(&variant.change.name, before, after));
        }
    }
    let sides = requested.variants.iter().zip(of_variants);
    let sides = sides.map(|(variant, draws)| conclude(variant, draws)).collect();
    Ok(Compared { sides, findings: changes })
}

/// A side without uncertain numbers is in every sample what it is.
fn of_change(change: &str, before: &[Found], after: &[Found]) -> Vec<Finding> {
    let count = before.len().max(after.len());
    let pair = |index| Some((findings_of(before, index)?, findings_of(after, index)?));
    let pairs: Vec<Pair<'_>> = (0..count).filter_map(pair).collect();
    let noises = before.first().map_or(&[][..], |found| &found.noises);
    let mut found = findings(change, &pairs, noises);
    let beyond = before.iter().take(1).chain(after.iter().take(1)).flat_map(|of| &of.beyond);
    let mut doubts: Vec<_> = beyond.cloned().collect();
    doubts.dedup();
    for finding in &mut found {
        doubts.iter().for_each(|doubt| finding.doubt(doubt.clone()));
    }
    found
}

fn findings_of(side: &[Found], index: usize) -> Option<&[Finding]> {
    side.get(index).or(side.first()).map(|found| &found.findings[..])
}
