//! The survey's session: the experiments one after the other, in one run directory.

use super::{overhead, storm, throughput};
use crate::resolve::Resolved as _;
use crate::resolve::survey::ResolvedSurvey;
use crate::run::directory::RunPlace;
use crate::run::session::{Bench, Experiment, Outcome, Session};
use messages::fault::{Fault, failure, of_records};
use messages::output::note;
use model::record::{Experiment as Kind, Sample};
use model::run::RunDirectory;
use std::path::Path;

/// Where run.json says which questions were answered.
const ANSWERED: &str = "answered";

/// What an interrupted survey has answered already.
#[derive(Default)]
pub(crate) struct Earlier {
    pub(crate) samples: Vec<Sample>,
    pub(crate) answered: Vec<Kind>,
}

impl Earlier {
    /// Of a run by its name or path.
    /// Errors: no run, no survey, or one of another directory.
    pub(crate) fn open(name: &str, runs: &Path, directory: &str) -> anyhow::Result<Self> {
        let usage = |why: String| failure(Fault::Usage, format!("--resume {name}: {why}"));
        let path = Path::new(name);
        let path = if path.is_dir() { path.to_owned() } else { runs.join(name) };
        let (run, info) = RunDirectory::open(&path).map_err(|error| usage(error.to_string()))?;
        if info.experiment != "survey" {
            return Err(usage(format!("it is a {} run, not a survey", info.experiment)));
        }
        let own = info.plan.get("directory").and_then(|of| of.as_str()).unwrap_or_default();
        if own != directory {
            return Err(usage(format!("it measured {own}; give this directory as TARGET")));
        }
        let names = info.plan.get(ANSWERED).and_then(|all| all.as_array()).cloned();
        let names = names.unwrap_or_default();
        let is_answered = |name: &str| names.iter().any(|known| known.as_str() == Some(name));
        let kinds = Kind::ALL.iter().filter(|(_, name)| is_answered(name));
        let answered: Vec<Kind> = kinds.map(|(kind, _)| *kind).collect();
        let mut samples = run.read_samples().map_err(of_records)?;
        samples.retain(|sample| answered.contains(&sample.experiment));
        Ok(Self { samples, answered })
    }
}

/// Runs all experiments and keeps their records together in `place`; says, too, who waited for whom
/// in the storm, where that was traced.
/// Errors: records that cannot be written. What the systems met is in the outcome.
pub(crate) fn run(
    resolved: &ResolvedSurvey,
    place: &RunPlace,
    earlier: Earlier,
) -> anyhow::Result<(Outcome, Vec<String>)> {
    // Who waits for whom in the storm is traced, which needs root.
    let traces = rustix::process::geteuid().is_root();
    if !traces {
        note("the storm is measured without tracing who waits for whom; tracing needs root");
    }
    let bench = Bench::new(traces)?;
    let calibration = throughput::calibrate(&bench)?;
    let files = &resolved.files;
    let mut info = throughput::info(files, "survey", place.as_ref(), &bench.clock, &calibration)?;
    info.plan = resolved.plan()?;
    let files = throughput::Throughput { resolved: files, calibration };
    // The clock is among what throughput says already.
    let routines = overhead::Overhead { resolved: &resolved.routines, calibration: vec![] };
    let storm = storm::InSurvey::new(&resolved.storm, place.as_ref());
    let experiments: [&dyn Experiment; 5] =
        [&files, &resolved.curve, &resolved.sync, &routines, &storm];
    let mut session = Session::begin(&experiments, info, place, bench)?;
    session.take_over(earlier.samples);
    for experiment in experiments {
        if !earlier.answered.contains(&experiment.kind()) {
            session.capture_passes(experiment.kind() == Kind::Storm);
            experiment.run(&mut session)?;
        }
        session.answered(ANSWERED, experiment.kind().name());
    }
    let outcome = session.finish()?;
    let who =
        if traces && outcome.broken.is_none() { storm::who_waited(&outcome.path)? } else { vec![] };
    Ok((outcome, who))
}
