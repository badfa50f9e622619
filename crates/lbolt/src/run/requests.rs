//! A run whose record is requests: captured, imported or simulated, row by row into its file and
//! its summary.

use crate::run::directory::RunPlace;
use crate::run::session::run_info;
use ::verdict::requests::{TraceSummary, summed_findings};
use capture::gate::Gate;
use capture::outcome::refused;
use messages::fault::of_records;
use model::record::requests::Provenance;
use model::record::{Commands, Context, Finding};
use model::run::{RunDirectory, RunError, RunInfo, footer};
use std::collections::BTreeSet;
use std::path::Path;
use trace::intake::{FanOut, ForEach, Rows};
use trace::output::{ContextLog, RequestsFile};

/// A run that takes rows.
pub(crate) struct RequestsRun {
    run: RunDirectory,
    pub(crate) info: RunInfo,
    file: RequestsFile,
    summary: TraceSummary,
    context: Context,
    gate: Gate,
}

/// What a run of requests leaves.
pub(crate) struct Taken {
    pub(crate) info: RunInfo,
    pub(crate) findings: Vec<Finding>,
}

impl RequestsRun {
    /// Makes the run's directory and begins its file. The gate ends the taking of rows.
    /// Errors: a directory that cannot be made or is taken; a full disk.
    pub(crate) fn begin(
        command: &str,
        place: impl Into<RunPlace>,
        plan: serde_json::Value,
        gate: Gate,
    ) -> anyhow::Result<Self> {
        let place: RunPlace = place.into();
        let mut info = run_info(command, place.as_ref(), 0)?;
        info.plan = plan;
        let run = place.create(&mut info)?;
        let file = RequestsFile::create(&run.held().at("requests.parquet")).map_err(|error| {
            // Nothing is in it yet. What the disk refuses now is told below.
            let _ = run.remove();
            refused(error)
        })?;
        Ok(Self {
            run,
            info,
            file,
            summary: TraceSummary::default(),
            context: Context::default(),
            gate,
        })
    }

    /// From now on a kill leaves what there was a second before. `provenance` is what is known of
    /// the trace already.
    /// Errors: files that cannot be made.
    pub(crate) fn survive(&mut self, provenance: &Provenance) -> anyhow::Result<()> {
        self.file.survive(provenance, &footer(&self.info)).map_err(of_records)
    }

    /// Writes what is known besides the requests as it becomes known, and the sums of quick
    /// requests so far, for the case of a kill.
    /// Errors: a file that cannot be made.
    pub(crate) fn write_besides(&self) -> anyhow::Result<impl FnMut(Context) + Send + 'static> {
        let (run, info) = (self.run.clone(), self.info.clone());
        let mut log = ContextLog::begin(&run.held().at("requests.parquet")).map_err(of_records)?;
        Ok(move |mut known: Context| {
            let summed = std::mem::take(&mut known.summed);
            if !summed.is_empty() {
                // What is refused now is refused and told at the end, too.
                let _ = run.write_context(&Context { summed, ..Context::default() }, &info);
            }
            log.add(&known);
        })
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        self.run.path()
    }

    /// Where its rows go: through the gate into the file, and from there into the summary.
    pub(crate) fn rows(&mut self) -> impl Rows {
        let Self { file, summary, gate, .. } = self;
        FanOut(gate, FanOut(file, ForEach::new(|row| summary.add(row))))
    }

    /// Keeps with the requests who made them, for which files, and which calls waited.
    pub(crate) fn set_context(&mut self, context: Context) {
        self.context = context;
    }

    /// How many rows its file has.
    pub(crate) fn written(&self) -> u64 {
        self.file.rows()
    }

    /// Ends the file and writes the findings. `more` are findings besides the summary's.
    /// Errors: records that cannot be written.
    pub(crate) fn finish(
        mut self,
        state: &str,
        provenance: &Provenance,
        commands: &Commands,
        name: impl Fn(u32) -> String,
        more: Vec<Finding>,
    ) -> anyhow::Result<Taken> {
        state.clone_into(&mut self.info.state);
        self.summary.add_summed(&self.context.summed);
        let mut findings = self.summary.findings(provenance, name);
        findings.extend(summed_findings(provenance, &self.context.summed));
        findings.extend(more);
        let (run, mut info, rows) = (self.run, self.info, self.file.rows());
        let kept = match self.file.finish(commands, provenance, &footer(&info)) {
            Err(error) => Err(of_records(error)),
            Ok(()) => {
                let with_rows = |e: RunError| {
                    of_records(format!(
                        "{e}; the {rows} requests are in {}",
                        run.requests().display()
                    ))
                };
                let written = run.write_findings(&findings, &info);
                let written = written.and_then(|()| run.write_context(&self.context, &info));
                written.and_then(|()| run.write_info(&info)).map_err(with_rows)
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

    /// The cgroups that requested anything so far.
    pub(crate) fn cgroups(&self) -> &BTreeSet<u64> {
        self.summary.cgroups()
    }

    /// Removes what was begun: nothing came of it.
    pub(crate) fn discard(self) {
        // A file that is not ours keeps the directory, and is not ours to complain of.
        let _ = self.run.remove();
    }
}
