//! Several traces of ours on one command line: runs, files of requests, a directory of runs, or a
//! list of these in a file; each with a label that tells its devices from those of the others.
//!
//! Non-goals: a foreign trace, which may be several files itself.

use super::trace::{REQUESTS, parquet_of};
use cli::TraceOptions;
use messages::fault::{Fault, failure};
use model::history::FileName;
use model::record::{RecordError, RollupFile};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// One of several traces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// What tells it from the others.
    pub label: String,
    /// Its requests.
    pub path: PathBuf,
}

/// What begins the name of a file that lists traces, a line each.
const LIST: char = '@';

/// All that is named, directories of runs and lists in full.
/// Errors: a list that cannot be read, or is empty.
pub fn expanded(traces: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let runs = |trace: PathBuf| match runs_in(&trace) {
        runs if runs.is_empty() => vec![trace],
        runs => runs,
    };
    Ok(in_full(traces)?.into_iter().flat_map(runs).collect())
}

/// All that is named, lists and directories of runs, of histories and of rollups in full.
/// Errors: a list that cannot be read, or is empty.
pub fn expanded_with_rollups(named: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let within = |path: PathBuf| match path.join(REQUESTS).exists() {
        true => Ok(vec![path]),
        false => rollups_in(&[path]),
    };
    let all = expanded(named)?.into_iter().map(within).collect::<anyhow::Result<Vec<_>>>()?;
    Ok(all.into_iter().flatten().collect())
}

/// What is named, lists in full.
fn in_full(named: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for path in named {
        let list = path.to_str().and_then(|text| text.strip_prefix(LIST));
        match list.filter(|_| !path.exists()) {
            Some(list) => all.extend(listed(list)?),
            None => all.push(path.clone()),
        }
    }
    Ok(all)
}

fn listed(list: &str) -> anyhow::Result<Vec<PathBuf>> {
    let refused = |why: &dyn std::fmt::Display| {
        failure(Fault::Usage, format!("failed to read the list of traces {list}: {why}"))
    };
    let text = model::text_file::read(Path::new(list)).map_err(|error| refused(&error))?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let paths: Vec<PathBuf> = lines.map(PathBuf::from).collect();
    if paths.is_empty() { Err(refused(&"the file names no trace")) } else { Ok(paths) }
}

/// The runs with requests in a directory that is no run itself, by their names.
fn runs_in(directory: &Path) -> Vec<PathBuf> {
    let is_run = directory.join(REQUESTS).exists() || directory.join("run.json").exists();
    let entries = std::fs::read_dir(directory).ok().filter(|_| !is_run);
    let within = entries.into_iter().flatten().flatten().map(|entry| entry.path());
    // What a killed capture left has longer names, and is put together when it is read; what cannot
    // be looked at is refused then.
    let has_requests = |path: &PathBuf| {
        let is_one =
            |entry: std::fs::DirEntry| entry.file_name().to_string_lossy().starts_with(REQUESTS);
        std::fs::read_dir(path).map_or(true, |files| files.flatten().any(is_one))
    };
    let mut runs: Vec<PathBuf> =
        within.filter(|path| path.is_dir() && has_requests(path)).collect();
    runs.sort();
    runs
}

/// Whether it is a history or a rollup, of whatever version.
pub fn is_rollup(path: &Path) -> bool {
    let is_file = || match RollupFile::open(path) {
        Err(RecordError::Schema { found, .. }) => found.starts_with("lbolt.rollup/"),
        opened => opened.is_ok(),
    };
    // A pipe is none, and opening it would wait.
    is_history(path) || path.is_file() && is_file()
}

/// Whether a watch keeps its history in a directory.
fn is_history(path: &Path) -> bool {
    entries(path).iter().any(|file| is_of_history(file))
}

/// What a path names: itself, if it is there or is a list; else all paths that match it, where a
/// part of it has `*` or `?` (which a shell leaves as they are in quotes). By their names.
pub fn matching(path: &Path) -> Vec<PathBuf> {
    let is_list = path.to_str().is_some_and(|text| text.starts_with(LIST));
    if is_list || path.exists() {
        return vec![path.to_owned()];
    }
    let mut found = vec![PathBuf::new()];
    for part in path.components() {
        let pattern = part.as_os_str().to_string_lossy().into_owned();
        let within = |above: PathBuf| match pattern.contains(['*', '?']) {
            false => vec![above.join(part)],
            true => {
                let directory =
                    if above.as_os_str().is_empty() { ".".into() } else { above.clone() };
                let names = entries(&directory).into_iter();
                let names = names.filter_map(|entry| Some(entry.file_name()?.to_owned()));
                let is_shown = |name: &str| !name.starts_with('.') || pattern.starts_with('.');
                names
                    .filter(|name| {
                        let name = name.to_string_lossy();
                        is_shown(&name) && matches(pattern.as_bytes(), name.as_bytes())
                    })
                    .map(|name| above.join(name))
                    .collect()
            }
        };
        found = found.into_iter().flat_map(within).collect();
    }
    found.retain(|path| path.exists());
    found
}

/// Whether a name matches a pattern, in which `?` is any character and `*` any number of them.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern.split_first(), name.split_first()) {
        (None, None) => true,
        (Some((b'*', rest)), _) => {
            matches(rest, name)
                || name.split_first().is_some_and(|(_, left)| matches(pattern, left))
        }
        (Some((wanted, rest)), Some((found, left))) => {
            (*wanted == b'?' || wanted == found) && matches(rest, left)
        }
        _ => false,
    }
}

/// Histories and rollups: what is named, lists and directories of these in full.
/// Errors: a list that cannot be read, or is empty.
pub fn rollups_in(named: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for path in in_full(named)? {
        // A run of records has no rollups; one of synthesized hosts has nothing else.
        let is_run = [REQUESTS, "samples.parquet"].iter().any(|name| path.join(name).exists());
        let within = if path.is_dir() && !is_run { entries(&path) } else { Vec::new() };
        let is_one = |path: &&PathBuf| {
            path.extension().is_some_and(|end| end == "parquet") || is_history(path)
        };
        let found: Vec<PathBuf> = within.iter().filter(is_one).cloned().collect();
        match found.is_empty() || is_history(&path) {
            true => all.push(path),
            false => all.extend(found),
        }
    }
    Ok(all)
}

fn is_of_history(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| FileName::parse(name).is_some())
}

/// What is in a directory, by name; nothing of what is none or cannot be looked at.
pub(crate) fn entries(directory: &Path) -> Vec<PathBuf> {
    let found = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = found.map(|entry| entry.path()).collect();
    found.sort();
    found
}

/// Several traces of ours; none where what is named is one trace, of whatever format.
/// Errors: a trace that is not there, is foreign beside ours, or is named twice.
pub fn several(trace: &TraceOptions) -> anyhow::Result<Option<Vec<Input>>> {
    let traces = &trace.traces;
    if traces.len() < 2 || trace.read_as.input_format.is_some() {
        return Ok(None);
    }
    let ours = |path: &PathBuf| match path.exists() {
        true => parquet_of(&TraceOptions::own(path)),
        false => Ok(None),
    };
    let found = traces.iter().map(ours).collect::<anyhow::Result<Vec<_>>>()?;
    if found.iter().all(Option::is_none) {
        return Ok(None);
    }
    let labels = labels(traces);
    let mut known: BTreeMap<PathBuf, &Path> = BTreeMap::new();
    let mut inputs = Vec::new();
    for ((trace, path), label) in traces.iter().zip(found).zip(labels) {
        let refused =
            |why: &str| failure(Fault::Usage, format!("failed to read {}: {why}", trace.display()));
        let Some(path) = path else {
            let why = match trace.exists() {
                true => {
                    "foreign traces cannot be mixed with lbolt runs; convert it with `lbolt \
                     import` first"
                }
                false => "no such file or directory",
            };
            return Err(refused(why));
        };
        let place = path.canonicalize().unwrap_or_else(|_| path.clone());
        if let Some(earlier) = known.insert(place, trace) {
            return Err(refused(&format!(
                "it is the same trace as {}; name it \
                                         once",
                earlier.display()
            )));
        }
        inputs.push(Input { label, path });
    }
    Ok(Some(inputs))
}

/// What a trace is called.
pub fn label_of(trace: &Path) -> String {
    name_of(trace).unwrap_or_else(|| trace.display().to_string())
}

/// The name of a trace's run, or of its file.
fn name_of(trace: &Path) -> Option<String> {
    let is_of_run = trace.file_name().is_some_and(|name| name == REQUESTS);
    let run = if is_of_run { trace.parent() } else { Some(trace) };
    let run = run.unwrap_or(trace);
    let stem = if run.is_dir() { run.file_name() } else { run.file_stem() };
    stem.map(|name| name.to_string_lossy().into_owned())
}

/// What tells traces apart: the names of their runs where these differ, else their paths.
pub fn labels(traces: &[PathBuf]) -> Vec<String> {
    let names: Option<Vec<String>> = traces.iter().map(|trace| name_of(trace)).collect();
    let are_apart = |names: &Vec<String>| {
        let apart: std::collections::BTreeSet<&String> = names.iter().collect();
        apart.len() == names.len() && names.iter().all(|name| !name.is_empty())
    };
    let paths = || traces.iter().map(|trace| trace.display().to_string()).collect();
    names.filter(are_apart).unwrap_or_else(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_in_quotes_names_what_matches_it() {
        let held = tempfile::tempdir().unwrap();
        for name in ["web1/history", "web22/history", "db/history", ".web3/history"] {
            std::fs::create_dir_all(held.path().join(name)).unwrap();
        }
        let found = |pattern: &str| {
            let found = matching(&held.path().join(pattern)).into_iter();
            let found = found.map(|path| path.strip_prefix(held.path()).unwrap().to_owned());
            found.map(|path| path.display().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(found("*/history"), ["db/history", "web1/history", "web22/history"]);
        assert_eq!(found("web?/hist*"), ["web1/history"]);
        assert_eq!(found("web*2*/history"), ["web22/history"]);
        assert!(found("x*").is_empty() && found("db/no").is_empty());
        assert_eq!(matching(Path::new("@list")), [PathBuf::from("@list")]);
    }

    #[test]
    fn labels_are_the_names_of_runs_where_these_tell_them_apart() {
        let of = |paths: &[&str]| labels(&paths.iter().map(PathBuf::from).collect::<Vec<_>>());
        assert_eq!(of(&["a/host1", "b/host2/requests.parquet"]), ["host1", "host2"]);
        assert_eq!(of(&["x/one.parquet", "two.parquet"]), ["one", "two"]);
        assert_eq!(of(&["monday/run", "tuesday/run"]), ["monday/run", "tuesday/run"]);
    }
}
