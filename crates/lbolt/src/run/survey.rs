//! The survey's session: the experiments one after the other, in one run directory.

use super::{overhead, throughput};
use crate::resolve::throughput::ResolvedThroughput;
use crate::run::directory::RunPlace;
use crate::run::session::{Outcome, Session, Start, control};
use host::clock::HostClock;
use serde::Serialize;

/// Runs both experiments and keeps their records together in `place`.
/// Errors: records that cannot be written. What the systems met is in the outcome.
pub(crate) fn run(
    files: &ResolvedThroughput,
    routines: &crate::resolve::overhead::ResolvedOverhead,
    place: &RunPlace,
) -> anyhow::Result<Outcome> {
    let control = control()?;
    let clock = HostClock::new();
    let calibration = throughput::calibrate(&clock, &control)?;
    let mut info = throughput::info(files, "survey", place.as_ref(), &clock, &calibration)?;
    info.plan = serde_json::to_value(Plan::of(files, routines))?;
    let (of_files, of_routines) =
        (throughput::analysis(&calibration, &files.plan), overhead::analysis(routines, vec![]));
    let kinds = files.systems.iter().map(|system| &system.kind);
    let mut session = Session::begin(Start {
        info,
        place,
        kinds: kinds.chain([&routines.system.kind]).collect(),
        passes: throughput::passes(files) + routines.plan.passes(),
        findings: Box::new(move |samples| [of_files(samples), of_routines(samples)].concat()),
        control: control.clone(),
        clock: clock.clone(),
        traces: false,
    })?;
    let (mut failures, mut was_interrupted) =
        throughput::systems(&mut session, files, &calibration, &clock, &control)?;
    if !was_interrupted {
        let (met, interrupted) = overhead::run_in(&mut session, routines, &clock, &control)?;
        failures.extend(met);
        was_interrupted = interrupted;
    }
    session.finish(&failures, was_interrupted)
}

/// The plan: what `--dry-run` prints and run.json keeps.
#[derive(Debug, Serialize)]
pub(crate) struct Plan<'a> {
    #[serde(flatten)]
    files: &'a experiment::throughput::Plan,
    overhead: &'a experiment::overhead::Plan,
}

impl<'a> Plan<'a> {
    pub(crate) fn of(
        files: &'a ResolvedThroughput,
        routines: &'a crate::resolve::overhead::ResolvedOverhead,
    ) -> Self {
        Self { files: &files.plan, overhead: &routines.plan }
    }
}
