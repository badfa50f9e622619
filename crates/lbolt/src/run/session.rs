//! A measuring session, of whatever experiment: one run directory, records that are written after
//! every cell, progress, and what became of it all.

use crate::resolve::place::{System, SystemKind};
use crate::run::directory::RunPlace;
use crate::run::parameter_samples::{Ranges, Samples};
use crate::run::subject::{Ran, SystemSubject};
use crate::run::tracing::TraceSource;
use capture::PassCapture;
use capture::leftover;
use experiment::throughput::{Observer, PassStart};
use host::clock::HostClock;
use host::drive::Control;
use host::subject::Directory;
use messages::fault::{Failure, of_error, of_records};
use messages::output::{is_stuck, note};
use messages::progress::Progress;
use model::doubt::{Doubt, Judgement};
use model::record::{Experiment as Kind, Finding, Role, Sample, Subject, TOOL_VERSION, Verdict};
use model::run::{RUN_SCHEMA, RUNNING, RunDirectory, RunInfo};
use model::seam::{Clock, SubjectError};
use signal_hook::consts::SIGXFSZ;
use sim::subject::ModelSubject;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What a session leaves.
pub(crate) struct Outcome {
    pub(crate) info: RunInfo,
    pub(crate) path: PathBuf,
    pub(crate) samples: Vec<Sample>,
    pub(crate) findings: Vec<Finding>,
    pub(crate) failures: Vec<SubjectError>,
    pub(crate) was_interrupted: bool,
    /// Records could not be written, and the rest was not measured: what was is here alone.
    pub(crate) broken: Option<Failure>,
    /// What to do about it, where that is more than a table can say.
    pub(crate) advice: String,
}

/// A control that SIGINT, SIGTERM and SIGHUP stop; the second of them ends the process at once, and
/// so does the first where nobody takes what is printed. A file that may become no larger
/// (RLIMIT_FSIZE) is refused as a full disk is, and ends nothing.
pub(crate) fn control() -> anyhow::Result<Arc<Control>> {
    let control = Arc::new(Control::default());
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)))?;
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        for is_over in [control.stop.clone(), is_stuck()] {
            signal_hook::flag::register_conditional_shutdown(signal, 130, is_over)?;
        }
        signal_hook::flag::register(signal, control.stop.clone())?;
    }
    Ok(control)
}

/// How long what only reads may go on after a signal.
const TO_STOP: Duration = Duration::from_secs(3);

/// The same for a command that only reads and prints, and leaves nothing behind: where it does not
/// look at the control for long, or its reader takes nothing, it ends all the same.
pub(crate) fn reading_control() -> anyhow::Result<Arc<Control>> {
    let control = control()?;
    let own = control.clone();
    let watch = move || {
        while !own.is_stopped() {
            std::thread::sleep(TO_STOP / 30);
        }
        std::thread::sleep(TO_STOP);
        // Who waits for the same stream would keep this thread waiting, too.
        if !is_stuck().load(Ordering::Relaxed) {
            note("lbolt: interrupted");
        }
        signal_hook::low_level::exit(130);
    };
    // Without it the command looks at the control all the same.
    let _ = std::thread::Builder::new().name("lbolt-stop".into()).spawn(watch);
    Ok(control)
}

/// What run.json says before the experiment adds its plan and calibration.
pub(crate) fn run_info(command: &str, path: &Path, seed: u64) -> anyhow::Result<RunInfo> {
    let name =
        path.file_name().map_or_else(|| command.to_owned(), |n| n.to_string_lossy().into_owned());
    Ok(RunInfo {
        schema: RUN_SCHEMA.into(),
        name,
        experiment: command.into(),
        version: TOOL_VERSION.into(),
        command_line: std::env::args_os().map(|a| a.to_string_lossy().into_owned()).collect(),
        started: jiff::Timestamp::now().to_string(),
        state: RUNNING.into(),
        seed,
        rows: vec![],
        machine: serde_json::to_value(host::machine::look()?)?,
        plan: serde_json::Value::Null,
        calibration: serde_json::Value::Null,
    })
}

/// An experiment as it was resolved: what it measures, and how.
pub(crate) trait Experiment {
    /// Which it is, in its samples.
    fn kind(&self) -> Kind;
    /// The systems that it measures.
    fn systems(&self) -> &[System];
    /// Its passes, layouts left aside.
    fn passes(&self) -> u64;
    /// Runs on each of its systems.
    /// Errors: what an experiment cannot go on without; records are in the outcome.
    fn run(&self, session: &mut Session<'_>) -> anyhow::Result<()>;
    /// Findings of its own samples so far.
    fn findings(&self, samples: &[Sample]) -> Vec<Finding>;
}

/// Whether a sample is an experiment's, and of one of its systems: of two volumes a survey has the
/// same experiment twice. What is drawn or predicted beside it has its systems' names.
pub(crate) fn is_own(experiment: &dyn Experiment, sample: &Sample) -> bool {
    let is_of = |system: &System| Some(system.name.column.as_str()) == sample.subject.target();
    sample.experiment == experiment.kind()
        && (sample.subject.target().is_none() || experiment.systems().iter().any(is_of))
}

/// Runs experiments one after the other and keeps their records together in `place`.
/// Errors: records that cannot be written. What the systems met is in the outcome.
pub(crate) fn run_experiments(
    experiments: &[&dyn Experiment],
    info: RunInfo,
    place: &RunPlace,
    bench: Bench,
) -> anyhow::Result<Outcome> {
    let mut session = Session::begin(experiments, info, place, bench)?;
    session.run_all()?;
    session.finish()
}

/// What a session measures with.
pub(crate) struct Bench {
    pub(crate) clock: HostClock,
    pub(crate) control: Arc<Control>,
    /// Whether requests are captured during the passes.
    traces: bool,
}

impl Bench {
    /// The best clock; beside a capture the kernel's own, by which its times are.
    /// Errors: signals that cannot be handled.
    pub(crate) fn new(traces: bool) -> anyhow::Result<Self> {
        let clock = if traces { HostClock::by_kernel() } else { HostClock::new() };
        Ok(Self { clock, control: control()?, traces })
    }

    /// The scratch directory of a system, where it has one.
    fn scratch(&self, system: &System, run: &str) -> Option<PathBuf> {
        let SystemKind::Directory(directory) = &system.kind else { return None };
        let (run, clock) = (system.scratch_name(run), self.clock.clone());
        let subject = Directory::new(directory, &run, clock, self.control.clone());
        Some(subject.scratch().to_owned())
    }
}

/// The observer of a run: shows progress and keeps the records.
pub(crate) struct Session<'a> {
    experiments: &'a [&'a dyn Experiment],
    bench: Bench,
    run: RunDirectory,
    info: RunInfo,
    samples: Vec<Sample>,
    findings: Vec<Finding>,
    /// What a model's uncertain numbers do to them.
    ranges: Ranges,
    failures: Vec<SubjectError>,
    was_interrupted: bool,
    progress: Progress,
    /// The capture of requests, where there is one.
    capture: Option<PassCapture>,
    /// Whether it captures the passes of now.
    captures: bool,
    column: String,
    /// How many of the samples belong to cells that are whole.
    whole: usize,
    /// Why records could not be written.
    broken: Option<Failure>,
    /// What killed runs left changed of this machine's settings.
    left: Vec<Doubt>,
    /// Whether what is measured now is this machine.
    is_here: bool,
    /// What a killed run would leave, noted for `doctor` until the session is over.
    _kept: leftover::Kept,
}

impl<'a> Session<'a> {
    /// Makes the run directory and writes what is known already.
    /// Errors: a directory that cannot be made, is taken, or takes no records.
    pub(crate) fn begin(
        experiments: &'a [&'a dyn Experiment],
        mut info: RunInfo,
        place: &RunPlace,
        bench: Bench,
    ) -> anyhow::Result<Self> {
        let run = place.create(&mut info)?;
        let systems = experiments.iter().flat_map(|experiment| experiment.systems());
        let scratch: Vec<PathBuf> =
            systems.filter_map(|system| bench.scratch(system, &info.name)).collect();
        let kept = leftover::Kept::write(run.path(), &scratch).unwrap_or_else(|reason| {
            note(&format!(
                "if this run is killed, `lbolt doctor` cannot find its leftovers: no note in \
                 {reason}"
            ));
            leftover::Kept::nothing()
        });
        let origin_ns = bench.clock.monotonic_origin_ns().filter(|_| bench.traces);
        let at = run.held().at(".");
        let capture = origin_ns.map(|origin_ns| PassCapture::new(&at, origin_ns)).transpose()?;
        let passes = experiments.iter().map(|experiment| experiment.passes()).sum();
        let mut session = Self {
            experiments,
            run,
            info,
            samples: vec![],
            findings: vec![],
            ranges: Ranges::default(),
            failures: vec![],
            was_interrupted: false,
            progress: Progress::new(bench.control.clone(), passes),
            bench,
            capture,
            captures: true,
            column: String::new(),
            whole: 0,
            broken: None,
            left: leftover::doubts_of_settings(),
            is_here: false,
            _kept: kept,
        };
        session.left.iter().for_each(|doubt| note(&report::doubt::sentence(doubt)));
        session.keep();
        Ok(session)
    }

    /// Runs all experiments, up to an interruption.
    /// Errors: what an experiment cannot go on without; records are in the outcome.
    pub(crate) fn run_all(&mut self) -> anyhow::Result<()> {
        self.experiments.iter().try_for_each(|experiment| experiment.run(self))
    }

    /// Runs something on one system, under a label for the progress; nothing once it was
    /// interrupted.
    /// Errors: what an experiment cannot go on without; records are in the outcome.
    pub(crate) fn on_system(
        &mut self,
        system: &System,
        label: &str,
        trace: TraceSource,
        run: impl FnOnce(&mut SystemSubject, &dyn Clock, &mut Self) -> Ran,
    ) -> anyhow::Result<()> {
        self.under(label, |session| {
            let (mut subject, clock) = session.subject(system, trace)?;
            session.is_here = !matches!(system.kind, SystemKind::Model(_));
            run(&mut subject, &*clock, session)
        })
    }

    /// Runs something under a label for the progress; nothing once it was interrupted, or records
    /// could not be written.
    /// Errors: none of its own.
    pub(crate) fn under(
        &mut self,
        label: &str,
        run: impl FnOnce(&mut Self) -> Ran,
    ) -> anyhow::Result<()> {
        if self.is_over() {
            return Ok(());
        }
        label.clone_into(&mut self.column);
        self.progress.pass(&format!("{label}: preparing"), 0);
        match run(self) {
            Ok(met) => self.failures.extend(met),
            Err(SubjectError::Interrupted) => {
                self.was_interrupted = true;
                return Ok(());
            }
            Err(error) => self.failures.push(error),
        }
        self.whole = self.samples.len();
        Ok(())
    }

    /// Whether no more is to be measured.
    fn is_over(&self) -> bool {
        self.was_interrupted || self.broken.is_some()
    }

    /// The subject of a system, and its clock.
    /// Errors: a modelled machine that cannot be made.
    pub(crate) fn subject(
        &self,
        system: &System,
        trace: TraceSource,
    ) -> Result<(SystemSubject, Box<dyn Clock>), SubjectError> {
        let Bench { clock, control, .. } = &self.bench;
        let run = system.scratch_name(&self.info.name);
        SystemSubject::new(&system.kind, &run, (clock, control), trace)
    }

    /// Runs on draws of a modelled system; its findings get their ranges from what `findings` makes
    /// of each draw's samples.
    pub(crate) fn draw(
        &mut self,
        system: &System,
        run: impl Fn(&mut ModelSubject, &mut Samples) -> Ran + Sync,
        findings: impl Fn(&[Sample]) -> Vec<Finding> + Sync,
    ) {
        if !self.was_interrupted {
            self.ranges.find(system, run, findings);
        }
    }

    /// Samples of an earlier run, which this one goes on with.
    pub(crate) fn take_over(&mut self, samples: Vec<Sample>) {
        self.whole += samples.len();
        self.samples.extend(samples);
    }

    /// Captures the requests of the passes from now on, or does not, where there is a capture.
    pub(crate) fn capture_passes(&mut self, captures: bool) {
        self.captures = captures;
    }

    /// Notes in the plan, under a key, that a part of it is done, unless it was interrupted.
    pub(crate) fn answered(&mut self, key: &str, name: &str) {
        if self.is_over() {
            return;
        }
        let all = &mut self.info.plan[key];
        match all.as_array_mut() {
            Some(all) => all.push(name.into()),
            None => *all = serde_json::json!([name]),
        }
        if let Err(error) = self.run.write_info(&self.info) {
            self.broken.get_or_insert(of_error(of_records(error)));
        }
    }

    /// The findings so far, as they were kept.
    pub(crate) fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Something that was calibrated after the first pass.
    pub(crate) fn add_calibration(&mut self, name: &str, value: f64) {
        self.info.calibration[name] = value.into();
    }

    /// The findings so far.
    fn analysed(&self) -> Vec<Finding> {
        let of = |experiment: &&dyn Experiment| {
            let is_own = |sample: &&Sample| is_own(*experiment, sample);
            let own: Vec<Sample> = self.samples.iter().filter(is_own).cloned().collect();
            experiment.findings(&own)
        };
        let mut findings: Vec<Finding> = self.experiments.iter().flat_map(of).collect();
        // The calibration is the run's, however many experiments tell it.
        let mut told = BTreeSet::new();
        findings.retain(|finding| {
            !matches!(finding.subject, Subject::Run(_)) || told.insert(finding.quantity.clone())
        });
        self.ranges.applied_to(findings)
    }

    /// Writes all records so far.
    fn keep(&mut self) {
        self.findings = self.analysed();
        let kept = self
            .run
            .write_samples(&self.samples, &self.info)
            .and_then(|()| self.run.write_findings(&self.findings, &self.info));
        if let Err(error) = kept {
            self.broken.get_or_insert(of_error(of_records(error)));
            // Nobody may come to the end of it. What is refused now is told already.
            self.info.state = "failed".into();
            let _ = self.run.write_info(&self.info);
        }
    }

    /// Writes the last records and says what became of the run. That they cannot be written is in
    /// the outcome: what was measured is told first.
    /// Errors: none of its own.
    pub(crate) fn finish(mut self) -> anyhow::Result<Outcome> {
        if self.was_interrupted {
            // Fewer passes than requested would look like a cell of its own. A storm's remedies are
            // compared pass by pass.
            let mut samples = self.samples.split_off(self.whole);
            samples.retain(|sample| sample.experiment == Kind::Storm);
            self.samples.extend(samples);
        }
        let is_failure =
            |f: &SubjectError| matches!(f, SubjectError::Failed(_) | SubjectError::Refused(_));
        let has_failed = self.broken.is_some() || self.failures.iter().any(is_failure);
        self.info.state = match (self.was_interrupted, has_failed) {
            (true, _) => "interrupted",
            (false, true) => "failed",
            (false, false) => "finished",
        }
        .into();
        self.keep();
        if let Some(capture) = self.capture.take() {
            match capture.end(&self.samples, &self.info) {
                Ok(joined) => self.findings.extend(joined),
                Err(error) => self.broken = self.broken.or(Some(of_error(error))),
            }
            let kept = self.run.write_findings(&self.findings, &self.info);
            self.broken = self.broken.or(kept.err().map(|e| of_error(of_records(e))));
        }
        let kept = self.run.write_info(&self.info);
        self.broken = self.broken.or(kept.err().map(|e| of_error(of_records(e))));
        Ok(Outcome {
            broken: self.broken,
            info: self.info,
            path: self.run.path().to_owned(),
            samples: self.samples,
            findings: self.findings,
            failures: self.failures,
            was_interrupted: self.was_interrupted,
            advice: String::new(),
        })
    }
}

impl Observer for Session<'_> {
    fn pass_starts(&mut self, pass: &PassStart<'_>) {
        let what = match (pass.pass, pass.role) {
            (None, _) => "laying out files".to_owned(),
            (Some(number), Role::Warm) => {
                format!("pass {} of {} (warm-up)", number + 1, pass.passes)
            }
            (Some(number), _) if number < pass.passes => {
                format!("pass {} of {}", number + 1, pass.passes)
            }
            (Some(number), _) => {
                self.progress.one_more();
                format!("extra pass {}, the rate is still imprecise", number + 1)
            }
        };
        self.progress.pass(&format!("{}, {}: {what}", self.column, pass.program), pass.bytes);
        if let Some(capture) = &mut self.capture {
            capture.pass_starts(pass.captures.filter(|_| self.captures));
        }
    }

    fn pass_done(&mut self, mut sample: Sample) {
        if self.is_here {
            let judgement = sample.judgement().worse(Judgement::of(self.left.clone()));
            sample.judge(judgement);
        }
        let is_planned = sample.role != Role::Calibration;
        if is_planned && sample.verdict != Verdict::NotMeasured {
            self.progress.pass_done();
        }
        if let Some(capture) = &mut self.capture {
            capture.pass_done(self.samples.len());
        }
        self.samples.push(sample);
    }

    fn cell_done(&mut self) {
        if let Some(capture) = &mut self.capture {
            capture.pause();
        }
        self.whole = self.samples.len();
        self.keep();
    }
}
