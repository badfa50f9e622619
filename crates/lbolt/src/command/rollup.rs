//! `lbolt rollup`: minutes of traces and histories in one file.

use super::export::mode_of;
use super::note;
use crate::run::fleet::too_many;
use crate::run::session::control;
use ::verdict::{Bound, NAMES_MOST};
use analysis::inputs::{Input, expanded_with_rollups, is_rollup, label_of, several};
use analysis::rollup::roll_up;
use analysis::trace::TraceFile;
use capture::gate::Gate;
use capture::leftover::Kept;
use cli::RollupOptions;
use formats::export::{self, Destination, ExportError};
use messages::fault::{Fault, failure, of_records};
use messages::output::print;
use model::history::{
    Folder, History, HistoryError, HostFacts, Models, Note, Origin, Query, Twice,
};
use model::record::RollupRow;
use model::run::{RunDirectory, RunInfo, parent_of};
use report::show_bytes;
use serde_json::Value;
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
    if options.part.is_some() && !matches!(sources.as_slice(), [Source::Trace(..)]) {
        return Err(usage("--part selects minutes of one trace; name one"));
    }
    let mut folder = Folder::new(Vec::new(), options.level, &Origin::default())?;
    let ticker = super::response::progress(gate.clone());
    for source in &sources {
        match source {
            Source::Trace(traces, origin) => {
                let models = traces.first().map_or_else(Models::new, |path| models_of(path));
                folder.begin_source(origin, models).map_err(twice)?;
                folder.know_host(traces.first().map_or_else(HostFacts::default, |p| facts_of(p)));
                rolled(traces, options, &mut folder, &gate)?;
            }
            Source::Rows(path) => {
                folder.begin_source(&Origin::default(), Models::new()).map_err(twice)?;
                copied(path, options.host.as_deref(), &mut folder, &gate)?;
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
        let host = options.host.clone().or_else(|| host_of(path)).unwrap_or_else(|| label.clone());
        let part = options.part.map(|part| part.to_string());
        Origin { host: Some(host), run: Some(label), part }
    };
    let of_traces = match (several(&options.trace.of(traces.clone()))?, traces.as_slice()) {
        (_, []) => Vec::new(),
        (Some(inputs), _) => inputs
            .into_iter()
            .map(|Input { label, path }| Source::Trace(vec![path.clone()], of_run(label, &path)))
            .collect(),
        (None, [first, ..]) => {
            let origin = of_run(label_of(first), first);
            vec![Source::Trace(traces, origin)]
        }
    };
    Ok(of_traces.into_iter().chain(rows.into_iter().map(Source::Rows)).collect())
}

/// What is told of a run, if it is one.
fn info_of(path: &Path) -> Option<RunInfo> {
    let run = if path.is_dir() { path } else { parent_of(path) };
    RunDirectory::open(run).ok().map(|(_, info)| info)
}

/// The host that a run was recorded on.
fn host_of(path: &Path) -> Option<String> {
    info_of(path)?.machine.get("host")?.as_str().map(str::to_owned)
}

/// The models of the devices that a run captured, as far as they have one.
fn models_of(path: &Path) -> Models {
    of_devices(info_of(path).as_ref(), "model")
}

/// What a run says of each of its devices under a key, by their names.
fn of_devices(info: Option<&RunInfo>, key: &str) -> BTreeMap<String, String> {
    let devices = info.and_then(|info| info.plan.get("devices")?.as_array());
    let of = |device: &Value| {
        let text = |key| device.get(key)?.as_str().map(str::to_owned);
        Some((text("name")?, text(key)?))
    };
    devices.into_iter().flatten().filter_map(of).collect()
}

/// What is known besides of the host that a run captured: of an imported trace, which names no
/// devices of this machine, nothing.
fn facts_of(path: &Path) -> HostFacts {
    let info = info_of(path).filter(|info| info.plan.get("devices").is_some());
    let kernel = info.as_ref().and_then(|info| info.machine.get("kernel")?.as_str());
    let release = kernel.and_then(|kernel| kernel.split_whitespace().next());
    let firmware = of_devices(info.as_ref(), "firmware");
    HostFacts { kernel: release.map(str::to_owned), firmware, ..HostFacts::default() }
}

/// Rolls a trace up.
fn rolled(
    traces: &[PathBuf],
    options: &RollupOptions,
    folder: &mut Folder<Vec<u8>>,
    gate: &Gate,
) -> anyhow::Result<()> {
    let held_in = (parent_of(&options.output), "--output");
    let trace = options.trace.of(traces.to_vec());
    let trace = TraceFile::open(&trace, held_in, gate.control())?;
    let started = options.started.and_then(|at| i64::try_from(at.as_nanosecond()).ok());
    let mut refused = Ok(());
    roll_up(trace, started, options.part, gate, |rows| {
        rows.iter().for_each(|row| folder.push(&row.lent()));
        if refused.is_ok() {
            refused = folder.end_part();
        }
    })?;
    Ok(refused?)
}

/// Takes the rows of a history or a rollup, which are of that host if one is named.
fn copied(
    path: &Path,
    host: Option<&str>,
    folder: &mut Folder<Vec<u8>>,
    gate: &Gate,
) -> anyhow::Result<()> {
    let of_history = |error: HistoryError| failure(Fault::Usage, format!("failed to {error}"));
    let history = History::open(path).map_err(of_history)?;
    history.notes().iter().for_each(|said| note(&format!("{said}.")));
    let hosts = history.origins().hosts().len();
    if host.is_some() && hosts > 1 {
        let shown = path.display();
        return Err(usage(&format!(
            "--host names one host, but {shown} has {hosts}; leave it out"
        )));
    }
    let known = history.hosts().clone();
    folder.know_hosts(match host {
        Some(host) => known.renamed(host),
        None => known,
    });
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
                    folder.push(&RollupRow { host: host.or(row.host), ..*row });
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
    Ok(())
}
