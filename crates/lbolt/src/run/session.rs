//! A measuring session, of whatever experiment: one run directory, records that are written after
//! every cell, progress, and what became of it all.

use crate::print::exit::of_records;
use crate::print::output::note;
use crate::print::progress::Progress;
use crate::resolve::place::SystemKind;
use crate::run::capture::PassCapture;
use crate::run::directory::RunPlace;
use crate::run::leftover;
use experiment::throughput::{Observer, PassStart};
use host::clock::HostClock;
use host::drive::Control;
use host::subject::{BlockDevice, CpuTrace, Directory, Fresh};
use model::record::{Finding, Role, Sample, TOOL_VERSION, Verdict};
use model::run::{RUN_SCHEMA, RunDirectory, RunInfo};
use model::seam::{Clock, Subject, SubjectError};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a session leaves.
pub(crate) struct Outcome {
    pub(crate) info: RunInfo,
    pub(crate) path: PathBuf,
    pub(crate) samples: Vec<Sample>,
    pub(crate) findings: Vec<Finding>,
    pub(crate) failures: Vec<SubjectError>,
    pub(crate) was_interrupted: bool,
}

/// A control that SIGINT, SIGTERM and SIGHUP stop; the second of them ends the process at once.
pub(crate) fn control() -> anyhow::Result<Arc<Control>> {
    let control = Arc::new(Control::default());
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register_conditional_shutdown(signal, 130, control.stop.clone())?;
        signal_hook::flag::register(signal, control.stop.clone())?;
    }
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
        state: "running".into(),
        seed,
        rows: vec![],
        machine: serde_json::to_value(host::machine::look()?)?,
        plan: serde_json::Value::Null,
        calibration: serde_json::Value::Null,
    })
}

/// Something to be done with a subject, of whatever kind it is.
pub(crate) trait Visitor {
    /// What comes of it.
    type Found;
    /// Does it, by the subject's clock.
    fn visit<S: Subject, C: Clock>(
        self,
        subject: &mut S,
        clock: &C,
    ) -> Result<Self::Found, SubjectError>;
}

/// Makes the subject of a system and does something with it.
pub(crate) fn on_subject<V: Visitor>(
    kind: &SystemKind,
    run: &str,
    clock: &HostClock,
    control: &Arc<Control>,
    visitor: V,
) -> Result<V::Found, SubjectError> {
    let none = || Err("this experiment traces no CPU time".to_owned());
    on_traced_subject(kind, run, clock, control, none(), visitor)
}

/// The same, where the subject's CPU time can be traced.
pub(crate) fn on_traced_subject<V: Visitor>(
    kind: &SystemKind,
    run: &str,
    clock: &HostClock,
    control: &Arc<Control>,
    trace: Result<Box<dyn CpuTrace>, String>,
    visitor: V,
) -> Result<V::Found, SubjectError> {
    let (own_clock, control) = (clock.clone(), control.clone());
    match kind {
        SystemKind::Directory(directory) => {
            let subject = Directory::new(directory, run, own_clock, control);
            visitor.visit(&mut subject.traced_by(trace), clock)
        }
        SystemKind::Device { path, number, permit } => {
            let subject =
                BlockDevice::new(path.clone(), *number, permit.clone(), own_clock, control);
            visitor.visit(&mut subject.traced_by(trace), clock)
        }
        SystemKind::Fresh(fresh) => {
            let subject = Fresh::new(fresh.clone(), own_clock, control);
            visitor.visit(&mut subject.traced_by(trace), clock)
        }
        SystemKind::Model(model) => {
            let made = model.subject();
            let mut subject = made.map_err(|e| SubjectError::Unavailable(e.to_string()))?;
            let clock = subject.clock();
            visitor.visit(&mut subject, &clock)
        }
    }
}

/// Findings of the samples so far.
type Analysis = Box<dyn Fn(&[Sample]) -> Vec<Finding>>;

/// What a session begins with.
pub(crate) struct Start<'a> {
    pub(crate) info: RunInfo,
    pub(crate) place: &'a RunPlace,
    pub(crate) kinds: Vec<&'a SystemKind>,
    pub(crate) passes: u64,
    pub(crate) findings: Analysis,
    pub(crate) control: Arc<Control>,
    pub(crate) clock: HostClock,
    /// Whether requests are captured during the passes; then the clock is the kernel's.
    pub(crate) traces: bool,
}

/// The observer of a run: shows progress and keeps the records.
pub(crate) struct Session {
    run: RunDirectory,
    info: RunInfo,
    analysis: Analysis,
    samples: Vec<Sample>,
    findings: Vec<Finding>,
    progress: Progress,
    /// The capture of requests, where there is one.
    capture: Option<PassCapture>,
    column: String,
    /// How many of the samples belong to cells that are whole.
    whole: usize,
    /// Why records could not be written.
    broken: Option<anyhow::Error>,
    /// What a killed run would leave, noted for `doctor` until the session is over.
    _kept: leftover::Kept,
}

impl Session {
    /// Makes the run directory and writes what is known already.
    /// Errors: a directory that cannot be made, is taken, or takes no records.
    pub(crate) fn begin(start: Start<'_>) -> anyhow::Result<Self> {
        let mut info = start.info;
        let run = start.place.create(&mut info)?;
        let scratch = |kind: &&SystemKind| match kind {
            SystemKind::Directory(directory) => {
                let (clock, control) = (start.clock.clone(), start.control.clone());
                let subject = Directory::new(directory, &info.name, clock, control);
                Some(subject.scratch().to_owned())
            }
            _ => None,
        };
        let scratch: Vec<PathBuf> = start.kinds.iter().filter_map(scratch).collect();
        let kept = leftover::Kept::write(run.path(), &scratch).unwrap_or_else(|reason| {
            note(&format!(
                "if this run is killed, `lbolt doctor` cannot tell what it leaves: no note in \
                 {reason}"
            ));
            leftover::Kept::nothing()
        });
        let origin_ns = start.clock.monotonic_origin_ns().filter(|_| start.traces);
        let capture =
            origin_ns.map(|origin_ns| PassCapture::new(run.path(), origin_ns)).transpose()?;
        let mut session = Self {
            run,
            info,
            analysis: start.findings,
            samples: vec![],
            findings: vec![],
            progress: Progress::new(start.control, start.passes),
            capture,
            column: String::new(),
            whole: 0,
            broken: None,
            _kept: kept,
        };
        session.keep();
        Ok(session)
    }

    /// The run's name, by which its scratch is named too.
    pub(crate) fn run_name(&self) -> &str {
        &self.info.name
    }

    /// Something that was calibrated after the first pass.
    pub(crate) fn add_calibration(&mut self, name: &str, value: f64) {
        self.info.calibration[name] = value.into();
    }

    /// A system is about to be prepared.
    pub(crate) fn prepare(&mut self, column: &str) {
        self.column = column.to_owned();
        self.progress.pass(&format!("{column}: preparing"), 0);
    }

    /// A system is over.
    /// Errors: records that could not be written meanwhile.
    pub(crate) fn system_done(&mut self) -> anyhow::Result<()> {
        self.whole = self.samples.len();
        self.broken.take().map_or(Ok(()), Err)
    }

    /// Writes all records so far.
    fn keep(&mut self) {
        self.findings = (self.analysis)(&self.samples);
        let kept = self
            .run
            .write_samples(&self.samples, &self.info)
            .and_then(|()| self.run.write_findings(&self.findings, &self.info));
        if let Err(error) = kept {
            self.broken.get_or_insert(of_records(error));
            // Nobody may come to the end of it. What is refused now is told already.
            self.info.state = "failed".into();
            let _ = self.run.write_info(&self.info);
        }
    }

    /// Writes the last records and says what became of the run.
    /// Errors: records that cannot be written.
    pub(crate) fn finish(
        mut self,
        failures: &[SubjectError],
        was_interrupted: bool,
    ) -> anyhow::Result<Outcome> {
        if was_interrupted {
            // Fewer passes than requested would look like a cell of its own.
            self.samples.truncate(self.whole);
        }
        let is_failure =
            |f: &SubjectError| matches!(f, SubjectError::Failed(_) | SubjectError::Refused(_));
        let has_failed = self.broken.is_some() || failures.iter().any(is_failure);
        self.info.state = match (was_interrupted, has_failed) {
            (true, _) => "interrupted",
            (false, true) => "failed",
            (false, false) => "finished",
        }
        .into();
        self.keep();
        if let Some(capture) = self.capture.take() {
            match capture.end(&self.samples, &self.info) {
                Ok(joined) => self.findings.extend(joined),
                Err(error) => self.broken = self.broken.or(Some(error)),
            }
            self.run.write_findings(&self.findings, &self.info).map_err(of_records)?;
        }
        self.run.write_info(&self.info).map_err(of_records)?;
        if let Some(broken) = self.broken {
            return Err(broken);
        }
        Ok(Outcome {
            info: self.info,
            path: self.run.path().to_owned(),
            samples: self.samples,
            findings: self.findings,
            failures: failures.to_vec(),
            was_interrupted,
        })
    }
}

impl Observer for Session {
    fn pass_starts(&mut self, pass: &PassStart<'_>) {
        let what = match (pass.pass, pass.role) {
            (None, _) => "laying out".to_owned(),
            (Some(number), Role::Warm) => {
                format!("pass {} of {} (warm-up)", number + 1, pass.passes)
            }
            (Some(number), _) if number < pass.passes => {
                format!("pass {} of {}", number + 1, pass.passes)
            }
            (Some(number), _) => {
                self.progress.one_more();
                format!("pass {}, for the rate is not narrow yet", number + 1)
            }
        };
        self.progress.pass(&format!("{}, {}: {what}", self.column, pass.program), pass.bytes);
        if let Some(capture) = &mut self.capture {
            capture.pass_starts(pass.captures);
        }
    }

    fn pass_done(&mut self, sample: Sample) {
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
