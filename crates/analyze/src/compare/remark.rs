//! What a reader must know of rows that seem to contradict themselves, or each other.
//!
//! A row's change is the middle of the ratios of pairs (or of each value with each), and A and B
//! are the sides' medians. Where the values lie in two groups (a cache hit and a miss, a fast and a
//! slow layout), one value more or less takes a median from the one group to the other, and the
//! ratios hardly notice.
//!
//! Non-goals: verdicts, sentences.

use crate::statistics::median;
use model::comparison::{Comparison, Outcome, Remark};
use model::record::Subject;
use std::collections::BTreeMap;

/// Medians that are further than this from what the change says are remarked, whatever the change's
/// interval leaves open: a reader divides B by A.
const FAR_PERCENT: f64 = 25.0;

/// Whether the sides' medians differ by another share than the row's change: by more than matters
/// and beyond the change's own interval, or by far.
pub(super) fn medians_apart(
    row: &Comparison,
    (a, b): (&[f64], &[f64]),
    effect_percent: f64,
) -> Option<Remark> {
    let percent = 100.0 * (median(b)? / median(a)? - 1.0);
    let change = row.difference_percent?;
    let is_left_open =
        row.low_percent.zip(row.high_percent).is_some_and(|(l, h)| l <= percent && percent <= h);
    let bound = if is_left_open { FAR_PERCENT.max(effect_percent) } else { effect_percent };
    let apart = ((100.0 + percent) / (100.0 + change)).ln().abs();
    (apart > (bound / 100.0).ln_1p()).then_some(())?;
    Some(Remark::MediansApart { percent, a: quartiles(a)?, b: quartiles(b)? })
}

/// The values between which the middle half lies.
fn quartiles(values: &[f64]) -> Option<(f64, f64)> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    Some((*sorted.get(last / 4)?, *sorted.get(last - last / 4)?))
}

/// Remarks rows of one subject that are surely better and surely worse in different quantities.
pub(super) fn opposed(rows: &mut [Comparison]) {
    let mut sure: BTreeMap<Subject, [Vec<String>; 2]> = BTreeMap::new();
    for row in rows.iter() {
        if let Some(way) = way(row.outcome) {
            let ways = sure.entry(row.subject.clone()).or_default();
            ways[way].push(row.quantity.clone());
        }
    }
    for row in rows {
        let Some(way) = way(row.outcome) else { continue };
        let others = sure.get(&row.subject).map(|ways| ways[1 - way].clone());
        row.remarks.extend(others.filter(|o| !o.is_empty()).map(Remark::Opposed));
    }
}

fn way(outcome: Outcome) -> Option<usize> {
    match outcome {
        Outcome::Better => Some(0),
        Outcome::Worse => Some(1),
        _ => None,
    }
}
