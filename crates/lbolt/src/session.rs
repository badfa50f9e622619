//! A measuring session: calibrates, runs every system, keeps the records after
//! every cell, and says what became of it.

use crate::command::note;
use crate::exit::{Fault, failure, of_records};
use crate::leftover;
use crate::progress::Progress;
use crate::setting::{Setting, System, SystemKind};
use analyze::throughput::findings;
use experiment::throughput::{
    Calibration, Observer, PassStart, Plan, SystemName, ceiling_passes, harness_ns_per_operation,
    run_system,
};
use host::clock::HostClock;
use host::drive::Control;
use host::subject::{BlockDevice, Directory, Fresh, Nowhere};
use model::record::{Finding, Role, Sample, TOOL_VERSION, Verdict};
use model::run::{RUN_SCHEMA, RunDirectory, RunError, RunInfo};
use model::seam::{Clock, SubjectError};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Requests over which the harness's own cost is measured: some tens of milliseconds.
const HARNESS_OPERATIONS: u64 = 500_000;

/// What a session leaves.
pub(crate) struct Outcome {
    pub(crate) info: RunInfo,
    pub(crate) path: PathBuf,
    pub(crate) samples: Vec<Sample>,
    pub(crate) findings: Vec<Finding>,
    pub(crate) failures: Vec<SubjectError>,
    pub(crate) was_interrupted: bool,
}

/// What a run is called: the time and the command.
pub(crate) fn run_name(command: &str) -> String {
    format!("{}-{command}", jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ"))
}

/// A control that SIGINT, SIGTERM and SIGHUP stop; the second of them ends the process at once.
fn control() -> anyhow::Result<Arc<Control>> {
    let control = Arc::new(Control::default());
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register_conditional_shutdown(signal, 130, control.stop.clone())?;
        signal_hook::flag::register(signal, control.stop.clone())?;
    }
    Ok(control)
}

/// Runs the setting and keeps its records in `path`.
///
/// # Errors
/// Records that cannot be written. What the systems met is in the outcome.
pub(crate) fn run(setting: &Setting, command: &str, path: &Path) -> anyhow::Result<Outcome> {
    let control = control()?;
    let clock = HostClock::new();
    let calibration = calibrate(&clock, &control)?;
    let run = RunDirectory::create(path).map_err(|e| {
        let remedy = match e {
            RunError::Taken { .. } => "",
            _ => "; choose another --output or --runs-dir",
        };
        failure(Fault::Usage, format!("failed to {e}{remedy}"))
    })?;
    let name =
        path.file_name().map_or_else(|| command.to_owned(), |n| n.to_string_lossy().into_owned());
    let info = info(setting, command, &name, &clock, &calibration)?;
    let scratch = |system: &System| match &system.kind {
        SystemKind::Directory(directory) => Some(
            Directory::new(directory, &name, clock.clone(), control.clone()).scratch().to_owned(),
        ),
        _ => None,
    };
    let scratch: Vec<PathBuf> = setting.systems.iter().filter_map(scratch).collect();
    let _note = leftover::Kept::write(path, &scratch).unwrap_or_else(|reason| {
        note(&format!(
            "if this run is killed, `lbolt doctor` cannot tell what it leaves: no note in {reason}"
        ));
        leftover::Kept::nothing()
    });
    let mut session = Session {
        run,
        info,
        calibration,
        samples: vec![],
        findings: vec![],
        progress: Progress::new(control.clone(), passes(setting)),
        column: String::new(),
        whole: 0,
        broken: None,
    };
    session.run.write_info(&session.info).map_err(of_records)?;
    session.keep();
    let (failures, was_interrupted) = systems(&mut session, setting, &name, &clock, &control)?;
    session.finish(&failures, was_interrupted)
}

/// Runs every system in turn.
fn systems(
    session: &mut Session,
    setting: &Setting,
    run: &str,
    clock: &HostClock,
    control: &Arc<Control>,
) -> anyhow::Result<(Vec<SubjectError>, bool)> {
    let mut failures = Vec::new();
    for system in &setting.systems {
        session.column = format!("{} × {}", system.name.column, system.name.drives);
        session.progress.pass(&format!("{}: preparing", session.column), 0);
        match measure(session, system, &setting.plan, run, clock, control) {
            Ok(met) => failures.extend(met),
            Err(SubjectError::Interrupted) => return Ok((failures, true)),
            Err(error) => failures.push(error),
        }
        session.whole = session.samples.len();
        if let Some(broken) = session.broken.take() {
            return Err(broken);
        }
    }
    Ok((failures, false))
}

/// Chooses the subject and runs the plan on it.
fn measure(
    session: &mut Session,
    system: &System,
    plan: &Plan,
    run: &str,
    clock: &HostClock,
    control: &Arc<Control>,
) -> Result<Vec<SubjectError>, SubjectError> {
    let name = &system.name;
    let (own_clock, control) = (clock.clone(), control.clone());
    let calibration = session.calibration;
    match &system.kind {
        SystemKind::Directory(directory) => {
            let mut subject = Directory::new(directory, run, own_clock, control);
            run_system(&mut subject, name, plan, &calibration, clock, session)
        }
        SystemKind::Device { path, number, permit } => {
            let mut subject =
                BlockDevice::new(path.clone(), *number, permit.clone(), own_clock, control);
            run_system(&mut subject, name, plan, &calibration, clock, session)
        }
        SystemKind::Fresh(fresh) => {
            let mut subject = Fresh::new(fresh.clone(), own_clock, control);
            run_system(&mut subject, name, plan, &calibration, clock, session)
        }
    }
}

/// Clock, harness and memory, before the first pass.
fn calibrate(clock: &HostClock, control: &Arc<Control>) -> anyhow::Result<Calibration> {
    let mut nowhere = Nowhere::new(clock.clone(), control.clone());
    Ok(Calibration {
        clock_cost_ns: clock.cost_ns(),
        clock_precision_ns: clock.precision_ns(),
        harness_ns_per_operation: harness_ns_per_operation(&mut nowhere, HARNESS_OPERATIONS)
            .map_err(|e| match e {
                SubjectError::Interrupted => {
                    failure(Fault::Interrupted, "interrupted; nothing was measured")
                }
                e => failure(Fault::Io, format!("failed to calibrate: {e}")),
            })?,
        memory_copy_bytes_per_s: host::machine::memory_copy_bytes_per_s(),
    })
}

/// The calibration by quantity.
fn by_quantity(c: &Calibration) -> [(&'static str, f64); 4] {
    [
        ("clock_cost_ns", c.clock_cost_ns),
        ("clock_precision_ns", c.clock_precision_ns),
        ("harness_ns_per_operation", c.harness_ns_per_operation),
        ("memory_copy_bytes_per_s", c.memory_copy_bytes_per_s),
    ]
}

/// The plan as JSON: what `--dry-run` prints and run.json keeps.
pub(crate) fn plan_json(setting: &Setting) -> serde_json::Value {
    let plan = &setting.plan;
    let systems: Vec<_> = setting.systems.iter().map(|s| system_json(&s.name, &s.kind)).collect();
    json!({
        "systems": systems,
        "programs": plan.battery.programs,
        "file_bytes": plan.file_bytes,
        "file_bytes_reason": setting.size_reason,
        "warmup": plan.warmup,
        "runs": plan.runs,
        "cold": plan.is_cold,
        "final_fdatasync": plan.final_sync,
        "ceiling": plan.ceiling,
        "seed": plan.seed,
    })
}

fn system_json(name: &SystemName, kind: &SystemKind) -> serde_json::Value {
    let (kind, image_bytes) = match kind {
        SystemKind::Directory(_) => ("directory", None),
        SystemKind::Device { .. } => ("block device", None),
        SystemKind::Fresh(fresh) => ("fresh file system", Some(fresh.image_bytes)),
    };
    json!({"column": name.column, "target": name.target, "drives": name.drives, "kind": kind, "image_bytes": image_bytes})
}

fn info(
    setting: &Setting,
    command: &str,
    name: &str,
    clock: &HostClock,
    calibration: &Calibration,
) -> anyhow::Result<RunInfo> {
    Ok(RunInfo {
        schema: RUN_SCHEMA.into(),
        name: name.to_owned(),
        experiment: command.into(),
        version: TOOL_VERSION.into(),
        command_line: std::env::args_os().map(|a| a.to_string_lossy().into_owned()).collect(),
        started: jiff::Timestamp::now().to_string(),
        state: "running".into(),
        seed: setting.plan.seed,
        rows: setting.plan.battery.row_order(),
        machine: serde_json::to_value(host::machine::look()?)?,
        plan: plan_json(setting),
        calibration: json!({
            "clock": clock.name(),
            "clock_cost_ns": calibration.clock_cost_ns,
            "clock_precision_ns": calibration.clock_precision_ns,
            "harness_ns_per_operation": calibration.harness_ns_per_operation,
            "memory_copy_bytes_per_s": calibration.memory_copy_bytes_per_s,
        }),
    })
}

/// How many passes there will be, layouts left aside.
fn passes(setting: &Setting) -> u64 {
    let plan = &setting.plan;
    let of_programs = plan.battery.programs.len() as u64 * u64::from(plan.warmup + plan.runs);
    let of_ceilings = if plan.ceiling { ceiling_passes(2) } else { 0 };
    setting.systems.len() as u64 * (of_programs + of_ceilings)
}

/// The observer of a run: shows progress and keeps the records.
struct Session {
    run: RunDirectory,
    info: RunInfo,
    calibration: Calibration,
    samples: Vec<Sample>,
    findings: Vec<Finding>,
    progress: Progress,
    column: String,
    /// How many of the samples belong to cells that are whole.
    whole: usize,
    /// Why records could not be written.
    broken: Option<anyhow::Error>,
}

impl Session {
    /// Writes all records so far.
    fn keep(&mut self) {
        self.findings = findings(&self.samples, &by_quantity(&self.calibration));
        let kept = self
            .run
            .write_samples(&self.samples, &self.info)
            .and_then(|()| self.run.write_findings(&self.findings, &self.info));
        if let Err(error) = kept {
            self.broken.get_or_insert(of_records(error));
        }
    }

    fn finish(
        mut self,
        failures: &[SubjectError],
        was_interrupted: bool,
    ) -> anyhow::Result<Outcome> {
        if was_interrupted {
            // Fewer passes than asked would look like a cell of its own.
            self.samples.truncate(self.whole);
        }
        let has_failed = failures.iter().any(|f| matches!(f, SubjectError::Failed(_)));
        self.info.state = match (was_interrupted, has_failed) {
            (true, _) => "interrupted",
            (false, true) => "failed",
            (false, false) => "finished",
        }
        .into();
        self.keep();
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
            (Some(number), _) => format!("pass {} of {}", number + 1, pass.passes),
        };
        self.progress.pass(&format!("{}, {}: {what}", self.column, pass.program), pass.bytes);
    }

    fn pass_done(&mut self, sample: Sample) {
        if sample.verdict != Verdict::NotMeasured.name() {
            self.progress.pass_done();
        }
        self.samples.push(sample);
    }

    fn cell_done(&mut self) {
        self.whole = self.samples.len();
        self.keep();
    }
}
