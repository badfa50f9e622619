//! A run whose record is requests: captured or imported, row by row into its file and its summary.

use crate::exit::{Fault, failure, of_records};
use crate::room::record::Completions;
use crate::run_place::RunPlace;
use crate::session::run_info;
use analyze::requests::TraceSummary;
use host::drive::Control;
use model::record::requests::Provenance;
use model::record::{Commands, Finding, Request};
use model::run::{RunDirectory, RunError, RunInfo, footer};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use trace::intake::{Rows, RowsError};
use trace::output::{OutputError, RequestsFile};

/// The user stopped it.
#[derive(Debug)]
pub(crate) struct Interrupted;

impl std::fmt::Display for Interrupted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("interrupted")
    }
}

impl std::error::Error for Interrupted {}

/// A run that takes rows.
pub(crate) struct RequestsRun {
    run: RunDirectory,
    pub(crate) info: RunInfo,
    file: RequestsFile,
    summary: TraceSummary,
    /// Of a capture: its rows as the kernel counts them.
    pub(crate) completions: Option<Completions>,
    /// Whether a signal ends the taking of rows: not where it ends a capture, of which what is
    /// under way is kept.
    stop: Option<Arc<Control>>,
    /// Rows so far, for progress.
    pub(crate) rows: Arc<AtomicU64>,
}

/// What a run of requests leaves.
pub(crate) struct Taken {
    pub(crate) info: RunInfo,
    pub(crate) findings: Vec<Finding>,
}

impl RequestsRun {
    /// Makes the run's directory and begins its file.
    ///
    /// # Errors
    /// A directory that cannot be made or is taken; a full disk.
    pub(crate) fn begin(
        command: &str,
        place: impl Into<RunPlace>,
        plan: serde_json::Value,
        stop: Option<Arc<Control>>,
    ) -> anyhow::Result<Self> {
        let place: RunPlace = place.into();
        let mut info = run_info(command, place.as_ref(), 0)?;
        info.plan = plan;
        let run = place.create(&mut info)?;
        let file = RequestsFile::create(&run.requests()).map_err(|error| {
            // Nothing is in it yet. What the disk refuses now is told below.
            let _ = run.remove();
            refused(error)
        })?;
        let (summary, rows) = (TraceSummary::default(), Arc::default());
        Ok(Self { run, info, file, summary, completions: None, stop, rows })
    }

    /// From now on a kill leaves what there was a second before. `provenance` is what is known of
    /// the trace already.
    ///
    /// # Errors
    /// Files that cannot be made.
    pub(crate) fn survive(&mut self, provenance: &Provenance) -> anyhow::Result<()> {
        self.file.survive(provenance, &footer(&self.info)).map_err(of_records)
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        self.run.path()
    }

    /// Ends the file and writes the findings. `more` are findings beside the summary's.
    ///
    /// # Errors
    /// Records that cannot be written.
    pub(crate) fn finish(
        mut self,
        state: &str,
        provenance: &Provenance,
        commands: &Commands,
        name: impl Fn(u32) -> String,
        more: Vec<Finding>,
    ) -> anyhow::Result<Taken> {
        state.clone_into(&mut self.info.state);
        let mut findings = self.summary.findings(provenance, name);
        findings.extend(more);
        let (run, mut info, rows) = (self.run, self.info, self.file.rows());
        let kept = match self.file.finish(commands, provenance, &footer(&info)) {
            Err(error) => Err(of_records(error)),
            Ok(()) => {
                let told = |e: RunError| {
                    of_records(format!(
                        "{e}; the {rows} requests are in {}",
                        run.requests().display()
                    ))
                };
                let written = run.write_findings(&findings, &info);
                written.and_then(|()| run.write_info(&info)).map_err(told)
            }
        };
        if let Err(error) = kept {
            info.state = "failed".into();
            // What is refused now is told already.
            let _ = run.write_info(&info);
            return Err(error);
        }
        Ok(Taken { info, findings })
    }

    /// The cgroups that asked for anything so far.
    pub(crate) fn cgroups(&self) -> &BTreeSet<u64> {
        self.summary.cgroups()
    }

    /// Removes what was begun: nothing came of it.
    pub(crate) fn discard(self) {
        // A file that is not ours keeps the directory, and is not ours to complain of.
        let _ = self.run.remove();
    }
}

impl Rows for RequestsRun {
    fn push(&mut self, row: &Request, commands: &Commands) -> Result<(), RowsError> {
        if self.stop.as_ref().is_some_and(|control| control.stop.load(Ordering::Relaxed)) {
            return Err(RowsError(Box::new(Interrupted)));
        }
        self.file.push(row, commands)?;
        self.summary.add(row);
        if let Some(completions) = &mut self.completions {
            completions.add(row);
        }
        self.rows.store(self.file.rows(), Ordering::Relaxed);
        Ok(())
    }

    fn keep(
        &mut self,
        done: &[Request],
        commands: &Commands,
        provenance: &Provenance,
    ) -> Result<(), RowsError> {
        self.file.keep(done, commands, provenance)
    }
}

/// What the output's refusal makes of a run: its state, and the error to end with.
pub(crate) fn refusal(error: RowsError) -> (&'static str, anyhow::Error) {
    if error.0.is::<Interrupted>() {
        let sentence = "interrupted; the requests so far are in the records";
        return ("interrupted", failure(Fault::Interrupted, sentence));
    }
    match error.0.downcast::<OutputError>() {
        Ok(error) => ("failed", refused(*error)),
        Err(other) => ("failed", of_records(other)),
    }
}

/// What a run's own file refuses, and what is kept of it when it has been ended.
fn refused(error: OutputError) -> anyhow::Error {
    let kept = match &error {
        OutputError::Full { rows: 0, .. } => "no request was kept".to_owned(),
        OutputError::Full { rows, .. } => format!("the {rows} requests before that are in it"),
        OutputError::Refused { .. } => return of_records(error),
    };
    of_records(format!("{error}; {kept}; make room, or choose another --output"))
}
