//! Runs as the page shows them: what is kept of each, whatever state it is in.
//!
//! Non-goals: what the page says (`report::page`).

use super::inputs::labels;
use super::response::{Analysed, analyse_for_page, together};
use super::traced;
use capture::gate::Gate;
use messages::fault::{Fault, failure, of_records};
use model::held::Held;
use model::record::{Finding, RecordError};
use model::run::{RunDirectory, RunError, RunInfo};
use model::whole_file::write_whole;
use report::page::{Page, Source, Traced, html, page};
use report::visible_findings;
use std::collections::HashSet;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use trace::output::Left;

/// A run that is to be shown.
pub struct Opened {
    directory: RunDirectory,
    info: RunInfo,
    findings: Vec<Finding>,
    traced: Traced,
    /// What its requests came to, to be put beside those of other runs.
    analysed: Option<Analysed>,
    remarks: Vec<String>,
}

impl Opened {
    /// Reads what is kept of a run. One that was killed before it found anything has no findings,
    /// and the page says so.
    /// Errors: findings that cannot be read; interruption.
    pub fn read(directory: RunDirectory, info: RunInfo, gate: &Gate) -> anyhow::Result<Self> {
        let (findings, none) = match directory.read_findings() {
            Ok(findings) => (visible_findings(&findings), None),
            Err(error) if is_missing(&error) => {
                (Vec::new(), Some("The run has no findings.".to_owned()))
            }
            Err(error) => return Err(of_records(error)),
        };
        let remarks = state(&directory, &info).into_iter().chain(none).collect();
        let (traced, analysed) = (Traced::default(), None);
        let mut opened = Self { directory, info, findings, traced, analysed, remarks };
        if has_requests(&opened.directory) {
            opened.analyse(gate)?;
        }
        Ok(opened)
    }

    /// Adds what its requests went through. Records that cannot be read are a remark: the rest of
    /// the run is shown.
    /// Errors: interruption.
    fn analyse(&mut self, gate: &Gate) -> anyhow::Result<()> {
        let found = analyse_for_page(self.directory.path(), gate).and_then(|mut analysed| {
            let traced = traced::of_requests(&self.directory.requests(), &mut analysed, gate)?;
            Ok((visible_findings(&analysed.findings()), traced, analysed))
        });
        gate.pass(0)
            .map_err(|_| failure(Fault::Interrupted, "interrupted; no page was written"))?;
        match found {
            Ok((findings, traced, analysed)) => {
                let known = |finding: &Finding| (finding.subject.clone(), finding.quantity.clone());
                let own: HashSet<_> = self.findings.iter().map(known).collect();
                let is_new = |finding: &Finding| !own.contains(&known(finding));
                self.findings.extend(findings.into_iter().filter(is_new));
                (self.traced, self.analysed) = (traced, Some(analysed));
            }
            Err(error) => self.remarks.push(format!(
                "The run's requests are not shown: \
                                                     {error:#}."
            )),
        }
        Ok(())
    }

    /// Where the run is.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    fn source(&self) -> Source<'_> {
        Source {
            info: &self.info,
            findings: &self.findings,
            traced: &self.traced,
            remarks: self.remarks.clone(),
        }
    }
}

/// Whether there are requests, be it those that a killed capture kept: they are put together when
/// they are analysed.
fn has_requests(directory: &RunDirectory) -> bool {
    let path = directory.requests();
    path.is_file() || Left::find(&path).is_ok_and(|left| left.is_some())
}

/// Whether there is no such file.
fn is_missing(error: &RunError) -> bool {
    matches!(error, RunError::Record(RecordError::Io { source, .. })
        if source.kind() == ErrorKind::NotFound)
}

/// What is to be known of a run that did not end as it should.
fn state(directory: &RunDirectory, info: &RunInfo) -> Option<String> {
    let sentence = match info.state.as_str() {
        "finished" => return None,
        "running" if directory.is_being_written() => {
            "The run is still in progress: the page shows \
                                                      its findings"
        }
        "running" => "The run was killed: the page shows its findings",
        "interrupted" => "The run was interrupted: the page shows complete cells",
        _ => "The run failed: the page shows its findings",
    };
    Some(format!("{sentence} up to that time."))
}

/// Writes the page of these runs, whole or not at all; gives its size in bytes.
/// Errors: a refusal of the file system.
pub fn write(mut runs: Vec<Opened>, path: &Path) -> anyhow::Result<usize> {
    name_apart(&mut runs);
    let all = all_traces(&mut runs)?;
    let sources: Vec<Source<'_>> = runs.iter().map(Opened::source).collect();
    write_page(&page(&sources, &all), path)
}

/// Runs of one name, such as those of several hosts, are called as they were named.
fn name_apart(runs: &mut [Opened]) {
    let names: HashSet<&String> = runs.iter().map(|run| &run.info.name).collect();
    if names.len() == runs.len() {
        return;
    }
    let paths: Vec<PathBuf> = runs.iter().map(|run| run.path().to_owned()).collect();
    runs.iter_mut().zip(labels(&paths)).for_each(|(run, label)| run.info.name = label);
}

/// What was found of the requests of several runs together; nothing where one alone has any.
fn all_traces(runs: &mut [Opened]) -> anyhow::Result<Vec<Finding>> {
    let taken = |run: &mut Opened| Some((run.path().to_owned(), run.analysed.take()?));
    let (paths, traces): (Vec<PathBuf>, Vec<_>) = runs.iter_mut().filter_map(taken).unzip();
    if traces.len() < 2 {
        return Ok(Vec::new());
    }
    let mut all = together(labels(&paths).into_iter().zip(traces).map(Ok))?;
    Ok(visible_findings(&all.findings()))
}

/// Writes a page, whole or not at all; gives its size in bytes.
/// Errors: a refusal of the file system.
pub fn write_page(page: &Page, path: &Path) -> anyhow::Result<usize> {
    let text = html(page)?;
    let refused = |error: std::io::Error| {
        failure(Fault::Io, format!("failed to write {}: {error}", path.display()))
    };
    let (held, name) = Held::of_output(path).map_err(refused)?;
    write_whole(&held.at(name), |mut file| file.write_all(text.as_bytes())).map_err(refused)?;
    Ok(text.len())
}
