//! `lbolt throughput`: the battery through the file system.

use super::compare::{self, Base, Shown, of_interleaved};
use super::measure::{Extent, conclude, show};
use super::{note, print_json};
use crate::resolve::Resolved;
use crate::resolve::throughput::resolve;
use crate::run;
use crate::run::compare::Side;
use crate::run::directory::RunPlace;
use cli::ThroughputOptions;
use messages::fault::{Fault, failure};

/// Runs the command.
/// Errors: what could not be done, with its exit code.
pub(super) fn run(options: &ThroughputOptions) -> anyhow::Result<()> {
    let base = options.against.as_deref().map(|run| Base::open(run, options)).transpose()?;
    let options = base.as_ref().map_or(options, |base| &base.options);
    if options.fail_on.is_some() && base.is_none() && !options.abab {
        let sentence = "--fail-on needs --against or --abab; `lbolt compare A B --fail-on 5%` \
                        compares stored runs";
        return Err(failure(Fault::Usage, sentence));
    }
    let place = RunPlace::of(&options.output, "throughput");
    // Absolute: where the images lie decides which disk is beneath them.
    let resolved = resolve(options, &std::path::absolute(&place)?)?;
    if options.measure.dry_run {
        return print_json(&resolved.plan()?);
    }
    note(&resolved.announcement());
    let outcome = run::throughput::run(&resolved, &place)?;
    if options.abab || base.is_some() {
        let shown = Shown::of(options.fail_on, options.output.format);
        let compared = match &base {
            Some(base) => compare::show(&base.side, &Side::of_outcome(&outcome), false, &shown),
            None => of_interleaved(Side::of_outcome(&outcome))
                .and_then(|(a, b)| compare::show(&a, &b, true, &shown)),
        };
        // What went wrong with the run comes before what differs.
        conclude(&outcome, &options.output, options.steady)?;
        return compared;
    }
    let printed = show(&outcome, options.output.format, Extent::of(options.measure.all));
    conclude(&outcome, &options.output, options.steady).and(printed)
}
