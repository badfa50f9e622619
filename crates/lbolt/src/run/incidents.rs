//! Incidents: the seconds around what was waited for, each an ordinary run with its verdict, in a
//! directory of bounded size. Where there is no more room, the least goes first: the one in which
//! least time was lost.
//!
//! Non-goals: what was waited for (`capture::Alarm`).

use crate::run::directory::RunPlace;
use crate::run::requests::RequestsRun;
use ::capture::gate::Gate;
use ::capture::outcome::outcome;
use ::verdict::selection::Selection;
use analysis::response::analyse;
use analysis::trace::device_name;
use cli::TraceOptions;
use messages::fault::of_records;
use messages::output::note;
use model::held::shown;
use model::history;
use model::record::requests::{Provenance, RequestFile};
use model::record::{Context, Finding};
use model::run::RunDirectory;
use standing::Incident;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use trace::intake::Rows;

/// Where they are, and how many.
#[derive(Debug, Clone)]
pub(crate) struct Limits {
    pub(crate) history: PathBuf,
    pub(crate) count_most: usize,
    pub(crate) bytes_most: u64,
}

/// Writes them, in a thread of its own: what goes on meanwhile does not wait.
pub(crate) struct Writer {
    incidents: Option<SyncSender<Box<Incident>>>,
    /// How many could not be written.
    thread: Option<JoinHandle<u64>>,
    /// How many came while those before were still being written.
    crowded_out: u64,
}

/// Incidents that wait: each may be as large as the memory for the last seconds.
const WAITING: usize = 1;

impl Writer {
    /// Begins the thread. `say` is told what became of each.
    /// Errors: a thread that cannot be made.
    pub(crate) fn begin(
        limits: Limits,
        say: impl Fn(&str) + Send + 'static,
    ) -> std::io::Result<Self> {
        let (incidents, taken) = sync_channel::<Box<Incident>>(WAITING);
        let work = move || {
            let mut lost = 0;
            for incident in taken {
                let why = incident.why.clone();
                match write(*incident, &limits) {
                    Ok((path, verdict)) => {
                        let path = shown(&path);
                        say(&format!("{}: written because {why}. {verdict}", path.display()));
                    }
                    Err(error) => {
                        lost += 1;
                        say(&format!("failed to keep an incident ({why}): {error}"));
                    }
                }
                limit(&limits).unwrap_or_else(|error| say(&error.to_string()));
                // A verdict took memory that is not needed until the next one.
                host::memory::give_back();
            }
            lost
        };
        let thread = std::thread::Builder::new().name("lbolt-incident".into()).spawn(work)?;
        Ok(Self { incidents: Some(incidents), thread: Some(thread), crowded_out: 0 })
    }

    /// Writes an incident, when the one before it is written; says so if too many wait.
    pub(crate) fn write(&mut self, incident: Box<Incident>) {
        let sent = self.incidents.as_ref().map(|incidents| incidents.try_send(incident));
        if let Some(Err(TrySendError::Full(incident) | TrySendError::Disconnected(incident))) = sent
        {
            self.crowded_out += 1;
            note(&format!(
                "failed to keep an incident ({}): the ones before it are still being written",
                incident.why
            ));
        }
    }

    /// Writes what is not written yet; how many were lost.
    pub(crate) fn end(&mut self) -> u64 {
        self.incidents = None;
        // A thread that ended by a panic lost the one that it was writing.
        let lost = self.thread.take().map_or(0, |thread| thread.join().unwrap_or(1));
        lost + std::mem::take(&mut self.crowded_out)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.end();
    }
}

/// Writes the last seconds as a run; where it is, and what its verdict says.
/// Errors: a directory or a file that cannot be written.
pub(crate) fn write(incident: Incident, limits: &Limits) -> anyhow::Result<(PathBuf, String)> {
    let directory = limits.history.join(history::INCIDENTS);
    let time = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string();
    let place = RunPlace::within(&directory, &time);
    let lacking = crowded_out(incident.crowded_out);
    let (path, taken, provenance) =
        write_run("watch", &place, incident.requests, incident.context)?;
    let one = TraceOptions::own(&path);
    let findings = analyse(&one, Selection::default(), &Gate::default())?.findings();
    let mut sentences = report::verdict::sentences(&findings);
    sentences.extend(lacking);
    let verdict = sentences.join(" ");
    let from_unix_ns = provenance.started_unix_ns.unwrap_or(0);
    let span_ns = value_of(&findings, "verdict_span_ns") as i64;
    let lost_ns: f64 = findings.iter().filter(|f| is_loss(f)).filter_map(|f| f.value).sum();
    let kept = history::Incident {
        why: incident.why,
        from_unix_ns,
        until_unix_ns: from_unix_ns.saturating_add(span_ns),
        verdict: verdict.clone(),
        requests: taken,
        bytes: bytes_of(&path),
        lost_ns: lost_ns as u64,
    };
    kept.write(&path).map_err(of_records)?;
    Ok((path, verdict))
}

/// Writes a run of requests that came as a file of them; where it is, and how many they are.
/// Errors: a directory or a file that cannot be written.
pub(crate) fn write_run(
    command: &str,
    place: &RunPlace,
    requests: Vec<u8>,
    context: Context,
) -> anyhow::Result<(PathBuf, u64, Provenance)> {
    let file = RequestFile::of_bytes(place.as_ref(), requests.into()).map_err(of_records)?;
    let provenance = file.provenance();
    let plan = serde_json::json!({ "why": provenance.notes.get("trigger") });
    let mut run = RequestsRun::begin(command, place, plan, Gate::default())?;
    let path = run.path().to_owned();
    let mut reader = file.read_all().map_err(of_records)?;
    let mut refused = None;
    {
        let mut rows = run.rows();
        while let Some(batch) =
            reader.next_batch().map_err(of_records)?.filter(|_| refused.is_none())
        {
            refused = batch.rows().try_for_each(|row| rows.push(&row, &reader.commands)).err();
        }
    }
    run.set_context(context);
    let written = run.written();
    let (state, done) = outcome(refused);
    let name = |number| device_name(number, &provenance);
    run.finish(state, &provenance, &reader.commands, name, Vec::new())?;
    done?;
    Ok((path, written, provenance))
}

/// What there is to say of requests for which there was no memory.
fn crowded_out(requests: u64) -> Option<String> {
    (requests > 0).then(|| {
        format!("{requests} earlier requests did not fit into memory; give a larger --before-size.")
    })
}

/// A loss as a whole: its storms have other quantities.
fn is_loss(finding: &Finding) -> bool {
    finding.quantity == "lost_ns"
}

fn value_of(findings: &[Finding], quantity: &str) -> f64 {
    let found = findings.iter().find(|finding| finding.quantity == quantity);
    found.and_then(|finding| finding.value).unwrap_or(0.0)
}

/// The size of a directory's files.
fn bytes_of(path: &Path) -> u64 {
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    entries.filter_map(|entry| Some(entry.metadata().ok()?.len())).sum()
}

/// Removes the least until the others are few enough. The last one stays, however large.
/// Errors: what cannot be removed.
fn limit(limits: &Limits) -> anyhow::Result<()> {
    let (mut all, _) = history::incidents(&limits.history).map_err(of_records)?;
    all.sort_by_key(|(_, incident)| (incident.lost_ns, incident.from_unix_ns));
    let mut bytes: u64 = all.iter().map(|(_, incident)| incident.bytes).sum();
    let mut count = all.len();
    for (path, incident) in all {
        if count <= 1 || (count <= limits.count_most && bytes <= limits.bytes_most) {
            break;
        }
        let (run, _) = RunDirectory::open(&path).map_err(of_records)?;
        history::Incident::remove(&path).map_err(of_records)?;
        run.remove().map_err(of_records)?;
        note(&format!("{}: removed to make room for other incidents", path.display()));
        count -= 1;
        bytes = bytes.saturating_sub(incident.bytes);
    }
    Ok(())
}
