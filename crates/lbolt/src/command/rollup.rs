//! `lbolt rollup`: minutes of traces and histories in one file.

mod identity;

use super::export::mode_of;
use super::note;
use crate::run::fleet::too_many;
use crate::run::session::control;
use ::verdict::{Bound, NAMES_MOST};
use analysis::inputs::{Input, expanded_with_rollups, is_rollup, label_of, labels, several};
use analysis::rollup::roll_up;
use analysis::trace::TraceFile;
use capture::gate::Gate;
use capture::leftover::Kept;
use cli::{IdentityOptions, RollupOptions};
use formats::export::{self, Destination, ExportError};
use identity::Identity;
use messages::fault::{Fault, failure, of_records};
use messages::output::print;
use model::history::{Folder, History, HistoryError, Models, Note, Origin, Query, Twice};
use model::record::RollupRow;
use model::run::parent_of;
use report::show_bytes;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Runs of hosts, and parts of them, that are told apart.
const RUNS_MOST: usize = 16 * NAMES_MOST;

/// What is rolled up.
enum Source {
    /// A trace, in one file or several.
    Trace(Vec<PathBuf>, Origin),
    /// A history or a rollup.
    Rows(PathBuf),
}

/// Runs the command.
/// Errors: a trace that cannot be read; the same time twice; an output that refuses; interruption.
pub(super) fn run(options: &RollupOptions) -> anyhow::Result<()> {
    let control = control()?;
    let gate = Gate::new(&control);
    let named = expanded_with_rollups(&options.trace.traces)?;
    let mode = mode_of(&named);
    let sources = sources(options, named)?;
    let own = &options.identity;
    if options.part.is_some() && !matches!(sources.as_slice(), [Source::Trace(..)]) {
        return Err(usage("--part selects minutes of one trace; name one"));
    }
    let mut folder = Folder::new(Vec::new(), options.level, &Origin::default())?;
    let ticker = super::response::progress(gate.clone());
    for source in &sources {
        match source {
            Source::Trace(traces, origin) => {
                let first = traces.first().map_or(Path::new(""), PathBuf::as_path);
                let mut identity = Identity::of(first, own);
                folder.begin_source(origin, identity.models.clone()).map_err(twice)?;
                rolled(traces, options, &mut identity, &mut folder, &gate)?;
                folder.know_host(identity.facts());
            }
            Source::Rows(path) => {
                folder.begin_source(&Origin::default(), Models::new()).map_err(twice)?;
                copied(path, own, &mut folder, &gate)?;
            }
        }
    }
    folder.begin_source(&Origin::default(), Models::new()).map_err(twice)?;
    drop(ticker);
    for (run, parts, all) in folder.origins().missing_parts() {
        note(&format!("{}.", Note::MissingParts { run, parts, all }));
    }
    let Some((from_unix_ns, until_unix_ns)) = folder.span() else {
        return Err(usage("the inputs contain no requests"));
    };
    let hosts = folder.origins().hosts().len().max(1);
    let bytes = folder.finish("")?;
    let destination = Destination { path: &options.output, mode };
    let written = {
        let _kept = Kept::brief(&options.output, &[export::scratch_of(&options.output)]);
        export::write_bytes(&bytes, destination)
    };
    written.map_err(|error| match error {
        ExportError::Exists { .. } => failure(Fault::Usage, format!("failed to {error}")),
        _ => of_records(error),
    })?;
    print(&format!(
        "{}: {}, {}, {}.\n",
        options.output.display(),
        if hosts == 1 { "1 host".to_owned() } else { format!("{hosts} hosts") },
        report::history::span(from_unix_ns, until_unix_ns),
        show_bytes(bytes.len() as f64),
    ))
}

fn usage(why: &str) -> anyhow::Error {
    failure(Fault::Usage, format!("failed to roll up: {why}"))
}

fn twice(twice: Box<Twice>) -> anyhow::Error {
    usage(&format!("{twice}; leave out one of them"))
}

/// What is named, in the order in which it is.
fn sources(options: &RollupOptions, named: Vec<PathBuf>) -> anyhow::Result<Vec<Source>> {
    let (rows, traces): (Vec<PathBuf>, Vec<PathBuf>) =
        named.into_iter().partition(|path| is_rollup(path));
    let of_run = |label: String, path: &Path| {
        let host = Identity::of(path, &options.identity).host.unwrap_or_else(|| label.clone());
        let part = options.part.map(|part| part.to_string());
        Origin { host: Some(host), run: Some(label), part }
    };
    let of_traces = match (several(&options.trace.of(traces.clone()))?, traces.as_slice()) {
        (_, []) => Vec::new(),
        (Some(inputs), _) => inputs
            .into_iter()
            .map(|Input { label, path }| Source::Trace(vec![path.clone()], of_run(label, &path)))
            .collect(),
        // Foreign ones are of a host each, unless they are said to be of one.
        (None, _) if options.identity.host.is_none() => labelled(traces)
            .into_iter()
            .map(|(label, traces)| {
                let origin = of_run(label, &traces[0]);
                Source::Trace(traces, origin)
            })
            .collect(),
        (None, [first, ..]) => {
            let origin = of_run(label_of(first), first);
            vec![Source::Trace(traces, origin)]
        }
    };
    Ok(of_traces.into_iter().chain(rows.into_iter().map(Source::Rows)).collect())
}

/// Foreign traces by what they are called: the files of all CPUs that blktrace writes are one.
fn labelled(traces: Vec<PathBuf>) -> Vec<(String, Vec<PathBuf>)> {
    let mut all: Vec<(String, Vec<PathBuf>)> = Vec::new();
    for (label, path) in labels(&traces).into_iter().zip(traces) {
        let of_cpu = label.rsplit_once(".blktrace").map(|(label, _)| label.to_owned());
        let label = of_cpu.unwrap_or(label);
        match all.iter_mut().find(|(known, _)| *known == label) {
            Some((_, files)) => files.push(path),
            None => all.push((label, vec![path])),
        }
    }
    all
}

/// Rolls a trace up.
fn rolled(
    traces: &[PathBuf],
    options: &RollupOptions,
    identity: &mut Identity,
    folder: &mut Folder<Vec<u8>>,
    gate: &Gate,
) -> anyhow::Result<()> {
    let held_in = (parent_of(&options.output), "--output");
    let trace = options.trace.of(traces.to_vec());
    let trace = TraceFile::open(&trace, held_in, gate.control())?;
    let started = options.started.and_then(|at| i64::try_from(at.as_nanosecond()).ok());
    let mut refused = Ok(());
    roll_up(trace, started, options.part, gate, |rows| {
        rows.iter().for_each(|row| folder.push(&identity.row(row.lent())));
        if refused.is_ok() {
            refused = folder.end_part();
        }
    })?;
    Ok(refused?)
}

/// Takes the rows of a history or a rollup, which are of what is named.
fn copied(
    path: &Path,
    own: &IdentityOptions,
    folder: &mut Folder<Vec<u8>>,
    gate: &Gate,
) -> anyhow::Result<()> {
    let of_history = |error: HistoryError| failure(Fault::Usage, format!("failed to {error}"));
    let history = History::open(path).map_err(of_history)?;
    history.notes().iter().for_each(|said| note(&format!("{said}.")));
    let hosts = history.origins().hosts().len();
    if *own != IdentityOptions::default() && hosts > 1 {
        let shown = path.display();
        return Err(usage(&format!(
            "--host, --model, --firmware and --kernel are of one host, but {shown} has {hosts}; \
             leave them out"
        )));
    }
    let host = own.host.as_deref();
    let known = history.hosts().clone();
    let known = match host {
        Some(host) => known.renamed(host),
        None => known,
    };
    let mut identities: BTreeMap<Origin, Identity> = BTreeMap::new();
    let is_named = own.model.is_some() || own.firmware.is_some() || own.kernel.is_some();
    let query = Query { from_unix_ns: i64::MIN, until_unix_ns: i64::MAX, ..Query::default() };
    for part in history.parts(&query) {
        let (mut refused, mut full) = (Ok(()), None);
        let read = history.each(&part, &query, |row| {
            if refused.is_err() || full.is_some() || gate.is_stopped() {
                return;
            }
            match folder.counts() {
                (hosts, _) if hosts > NAMES_MOST => {
                    let bound = Bound { most: NAMES_MOST, of: "hosts" };
                    full = Some(too_many("a rollup", bound));
                }
                (_, runs) if runs > RUNS_MOST => {
                    let why = format!("the hosts have more than {RUNS_MOST} runs");
                    full = Some(usage(&format!("{why}; name fewer inputs")));
                }
                _ => {
                    let row = RollupRow { host: host.or(row.host), ..*row };
                    if is_named {
                        let [host, run] = [row.host, row.run].map(|of| of.map(str::to_owned));
                        let origin = Origin { host, run, part: None };
                        let facts = || known.of(row.host, row.run).cloned().unwrap_or_default();
                        let named = identities.entry(origin);
                        let named = named.or_insert_with(|| Identity::renamed(facts(), own));
                        folder.push(&named.row(row));
                    } else {
                        folder.push(&row);
                    }
                    refused = folder.end_part();
                }
            }
        });
        gate.pass(0)
            .map_err(|_| failure(Fault::Interrupted, "interrupted; nothing was written"))?;
        if let Some(full) = full {
            return Err(full);
        }
        // Half of a part would be no rollup of it.
        read.map_err(|said| failure(Fault::Usage, said.to_string()))?;
        refused?;
    }
    folder.know_hosts(known);
    for (origin, identity) in identities {
        folder.know(&origin, identity.facts());
    }
    Ok(())
}
