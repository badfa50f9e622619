//! The survey's session: the experiments one after the other, in one run directory.

use super::{overhead, throughput};
use crate::resolve::overhead::ResolvedOverhead;
use crate::resolve::throughput::ResolvedThroughput;
use crate::run::directory::RunPlace;
use crate::run::session::{Bench, Outcome, run_experiments};
use serde::Serialize;

/// Runs both experiments and keeps their records together in `place`.
/// Errors: records that cannot be written. What the systems met is in the outcome.
pub(crate) fn run(
    files: &ResolvedThroughput,
    routines: &ResolvedOverhead,
    place: &RunPlace,
) -> anyhow::Result<Outcome> {
    let bench = Bench::new(false)?;
    let calibration = throughput::calibrate(&bench)?;
    let mut info = throughput::info(files, "survey", place.as_ref(), &bench.clock, &calibration)?;
    info.plan = serde_json::to_value(Plan::of(files, routines))?;
    let files = throughput::Throughput { resolved: files, calibration };
    // The clock is among what throughput says already.
    let routines = overhead::Overhead { resolved: routines, calibration: vec![] };
    run_experiments(&[&files, &routines], info, place, bench)
}

/// The plan: what `--dry-run` prints and run.json keeps.
#[derive(Debug, Serialize)]
pub(crate) struct Plan<'a> {
    #[serde(flatten)]
    files: &'a experiment::throughput::Plan,
    overhead: &'a experiment::overhead::Plan,
}

impl<'a> Plan<'a> {
    pub(crate) fn of(files: &'a ResolvedThroughput, routines: &'a ResolvedOverhead) -> Self {
        Self { files: &files.plan, overhead: &routines.plan }
    }
}
