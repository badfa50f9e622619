//! The survey's session: the experiments of all volumes one after the other, in one run directory.

use super::{overhead, storm, throughput};
use crate::resolve::Resolved as _;
use crate::resolve::survey::{ResolvedSurvey, Volume};
use crate::run::directory::RunPlace;
use crate::run::session::{Bench, Experiment, Outcome, Session, is_own, run_info};
use experiment::throughput::Calibration;
use messages::fault::{Fault, failure, of_records};
use messages::output::note;
use model::record::{Experiment as Kind, Sample};
use model::run::RunDirectory;
use serde_json::Value;
use std::path::Path;

/// Where run.json says which questions were answered.
const ANSWERED: &str = "answered";

/// What an interrupted survey has answered already.
#[derive(Default)]
pub(crate) struct Earlier {
    samples: Vec<Sample>,
    answered: Vec<String>,
}

impl Earlier {
    /// Of a run by its name or path.
    /// Errors: no run, no survey, or one of other volumes.
    pub(crate) fn open(name: &str, runs: &Path, resolved: &ResolvedSurvey) -> anyhow::Result<Self> {
        let usage = |why: String| failure(Fault::Usage, format!("--resume {name}: {why}"));
        let path = Path::new(name);
        let path = if path.is_dir() { path.to_owned() } else { runs.join(name) };
        let (run, info) = RunDirectory::open(&path).map_err(|error| usage(error.to_string()))?;
        if info.experiment != "survey" {
            return Err(usage(format!("it is a {} run, not a survey", info.experiment)));
        }
        let list = |key: &str| info.plan.get(key).and_then(Value::as_array).into_iter().flatten();
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let own: Vec<String> =
            list("volumes").filter_map(|volume| text(volume.get("target")?)).collect();
        if !own.iter().eq(resolved.volumes.iter().map(|volume| &volume.target)) {
            return Err(usage(match own.is_empty() {
                true => format!(
                    "run.json, written by lbolt {}, does not say what was measured; measure it \
                     again without --resume",
                    info.version
                ),
                false => {
                    let own = own.join(" ");
                    format!("it measured {own}; give the same TARGET in the same order")
                }
            }));
        }
        let answered = list(ANSWERED).filter_map(text).collect();
        Ok(Self { samples: run.read_samples().map_err(of_records)?, answered })
    }

    /// The samples of an experiment that is answered; none of one that is not.
    fn of(&self, experiment: &dyn Experiment) -> Option<Vec<Sample>> {
        let own = self.samples.iter().filter(|sample| is_own(experiment, sample)).cloned();
        self.answered.contains(&question(experiment)).then(|| own.collect())
    }
}

/// What is asked of which volume, as run.json names it when it is answered. The volume's own
/// directory or device is the last of the systems.
fn question(experiment: &dyn Experiment) -> String {
    let column = experiment.systems().last().map(|system| system.name.column.as_str());
    format!("{} {}", experiment.kind().name(), column.unwrap_or_default())
}

/// Runs all experiments and keeps their records together in `place`; says, too, who waited for whom
/// in the storm of an only volume, where that was traced.
/// Errors: records that cannot be written. What the systems met is in the outcome.
pub(crate) fn run(
    resolved: &ResolvedSurvey,
    place: &RunPlace,
    earlier: &Earlier,
) -> anyhow::Result<(Outcome, Vec<String>)> {
    let has_storm = resolved.volumes.iter().any(|volume| volume.storm.is_some());
    // Who waits for whom in the storm is traced, which needs root.
    let traces = has_storm && rustix::process::geteuid().is_root();
    if has_storm && !traces {
        note("the storm is measured without tracing who waits for whom; tracing needs root");
    }
    let bench = Bench::new(traces)?;
    let calibration = throughput::calibrate(&bench)?;
    let parts: Vec<Parts> =
        resolved.volumes.iter().map(|of| Parts::of(of, calibration, place.as_ref())).collect();
    let mut info = run_info("survey", place.as_ref(), seed(resolved))?;
    info.rows = resolved
        .volumes
        .iter()
        .find_map(|of| Some(of.files.as_ref()?.rows.clone()))
        .unwrap_or_default();
    info.plan = resolved.plan()?;
    info.calibration = throughput::calibrated(&bench.clock, &calibration);
    // Question by question, so that the volumes meet the machine in the same mood.
    let experiments: Vec<&dyn Experiment> =
        (0..5).flat_map(|at| parts.iter().filter_map(move |parts| parts.all()[at])).collect();
    let mut session = Session::begin(&experiments, info, place, bench)?;
    for experiment in &experiments {
        match earlier.of(*experiment) {
            Some(samples) => session.take_over(samples),
            None => {
                session.capture_passes(experiment.kind() == Kind::Storm);
                experiment.run(&mut session)?;
            }
        }
        session.answered(ANSWERED, &question(*experiment));
    }
    let outcome = session.finish()?;
    let is_told = traces && outcome.broken.is_none() && resolved.volumes.len() == 1;
    let who = if is_told { storm::who_waited(&outcome.path)? } else { vec![] };
    Ok((outcome, who))
}

/// The seed of all volumes' places.
fn seed(resolved: &ResolvedSurvey) -> u64 {
    resolved.volumes.first().map_or(0, |volume| volume.curve.plan.turns.seed)
}

/// The experiments of a volume.
struct Parts<'a> {
    files: Option<throughput::Throughput<'a>>,
    curve: &'a dyn Experiment,
    sync: Option<&'a dyn Experiment>,
    routines: overhead::Overhead<'a>,
    storm: Option<storm::InSurvey<'a>>,
}

impl<'a> Parts<'a> {
    fn of(volume: &'a Volume, calibration: Calibration, run: &'a Path) -> Self {
        let files = volume.files.as_ref();
        Self {
            files: files.map(|resolved| throughput::Throughput { resolved, calibration }),
            curve: &volume.curve,
            sync: volume.sync.as_ref().map(|sync| sync as &dyn Experiment),
            // The clock is among what throughput says already.
            routines: overhead::Overhead { resolved: &volume.routines, calibration: vec![] },
            storm: volume.storm.as_ref().map(|storm| storm::InSurvey::new(storm, run)),
        }
    }

    fn all(&self) -> [Option<&dyn Experiment>; 5] {
        [
            self.files.as_ref().map(|files| files as &dyn Experiment),
            Some(self.curve),
            self.sync,
            Some(&self.routines),
            self.storm.as_ref().map(|storm| storm as &dyn Experiment),
        ]
    }
}
