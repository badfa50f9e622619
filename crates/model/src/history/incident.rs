//! Why a run was kept while nobody looked: `incident.json` in its directory.
//!
//! Non-goals: the run itself (`crate::run`).

use super::HistoryError;
use crate::whole_file::write_whole;
use serde::{Deserialize, Serialize};
use std::fs::{DirBuilder, File};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

/// The directory of a history in which its incidents are, each a run.
pub const INCIDENTS: &str = "incidents";

const FILE: &str = "incident.json";

/// What is known of an incident.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Incident {
    /// Which condition held, in words.
    pub why: String,
    /// When what is kept begins.
    pub from_unix_ns: i64,
    /// When it ends.
    pub until_unix_ns: i64,
    /// The verdict's sentence; empty where there is none.
    #[serde(default)]
    pub verdict: String,
    /// Requests that are kept.
    #[serde(default)]
    pub requests: u64,
    /// Bytes of the run.
    #[serde(default)]
    pub bytes: u64,
    /// Time that was lost in it, by the verdict: what makes it worth keeping.
    #[serde(default)]
    pub lost_ns: u64,
}

/// Makes the directory of a history's incidents, if it is not there.
/// Errors: what the file system refuses.
pub fn make_incidents(history: &Path) -> std::io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(history.join(INCIDENTS))
}

impl Incident {
    /// Writes it into its run's directory, whole or not at all; the run has ended, and so is on the
    /// disk ([`crate::run::RunDirectory::write_info`]).
    /// Errors: what the file system refuses.
    pub fn write(&self, run: &Path) -> Result<(), HistoryError> {
        let path = run.join(FILE);
        let io = |source| HistoryError::Io { action: "write", path: path.clone(), source };
        let text = serde_json::to_string_pretty(self).map_err(|error| io(error.into()))?;
        write_whole(&path, |mut file| {
            file.write_all((text + "\n").as_bytes())?;
            file.sync_all()
        })
        .and_then(|()| File::open(run)?.sync_all())
        .map_err(io)
    }

    /// Removes that of a run: it is a run like others then.
    /// Errors: what the file system refuses.
    pub fn remove(run: &Path) -> Result<(), HistoryError> {
        let path = run.join(FILE);
        let removed = std::fs::remove_file(&path);
        removed.map_err(|source| HistoryError::Io { action: "remove", path, source })
    }

    /// Reads that of a run.
    /// Errors: a file that is not there, or is no incident's.
    pub fn read(run: &Path) -> Result<Self, HistoryError> {
        let path = run.join(FILE);
        let io = |source| HistoryError::Io { action: "read", path: path.clone(), source };
        let text = crate::text_file::read(&path).map_err(io)?;
        serde_json::from_str(&text).map_err(|error| io(error.into()))
    }
}

/// The incidents of a history, oldest first, each with its run's directory; and a sentence on each
/// that cannot be read. A history without any has no directory of them.
/// Errors: a directory that cannot be listed.
#[expect(clippy::type_complexity, reason = "two plain lists")]
pub fn incidents(history: &Path) -> Result<(Vec<(PathBuf, Incident)>, Vec<String>), HistoryError> {
    let path = history.join(INCIDENTS);
    let io = |source| HistoryError::Io { action: "list", path: path.clone(), source };
    let (mut found, mut damaged) = (Vec::new(), Vec::new());
    let entries = match std::fs::read_dir(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok((found, damaged)),
        entries => entries.map_err(io)?,
    };
    for entry in entries {
        let run = entry.map_err(io)?.path();
        if !run.join(FILE).exists() {
            continue;
        }
        match Incident::read(&run) {
            Ok(incident) => found.push((run, incident)),
            // A watch has removed it meanwhile.
            Err(_) if !run.exists() => {}
            Err(error) => damaged.push(format!("failed to {error}")),
        }
    }
    found.sort_by(|a, b| (a.1.from_unix_ns, &a.0).cmp(&(b.1.from_unix_ns, &b.0)));
    damaged.sort();
    Ok((found, damaged))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn incidents_are_listed_by_their_time_and_a_damaged_one_is_told_of() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(incidents(root.path()).unwrap(), (vec![], vec![]));
        let run = |name: &str| {
            let run = root.path().join(INCIDENTS).join(name);
            std::fs::create_dir_all(&run).unwrap();
            run
        };
        for (name, from_unix_ns) in [("b", 5), ("a", 9)] {
            let incident = Incident { why: name.into(), from_unix_ns, ..Incident::default() };
            incident.write(&run(name)).unwrap();
        }
        run("being-made");
        std::fs::write(run("c").join(FILE), "{").unwrap();
        std::fs::write(run("d").join(FILE), r#"{"why":1}"#).unwrap();
        let (found, damaged) = incidents(root.path()).unwrap();
        let names: Vec<_> = found.iter().map(|(_, incident)| incident.why.as_str()).collect();
        assert_eq!(names, ["b", "a"]);
        assert_eq!(damaged.len(), 2);
        assert!(damaged[0].contains("c/incident.json: EOF"), "{damaged:?}");
    }
}
