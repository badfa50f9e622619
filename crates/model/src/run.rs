//! A run is a directory: `run.json` (what was run, where, by which version),
//! `samples.parquet` or `requests.parquet`, and `findings.parquet`. Self-describing; history is a
//! query over many of them.
//!
//! Non-goals: a database, an index; deleting anything that is not a run.

use crate::record::{self, Finding, RecordError, Sample};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The schema of run.json.
pub const RUN_SCHEMA: &str = "lbolt.run/1";

/// What run.json holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunInfo {
    /// [`RUN_SCHEMA`].
    pub schema: String,
    /// The run's name: its directory's.
    pub name: String,
    /// The command that made it.
    pub experiment: String,
    /// lbolt's version.
    pub version: String,
    /// The command line.
    pub command_line: Vec<String>,
    /// When it began, RFC 3339 in UTC.
    pub started: String,
    /// `running`, `finished`, `interrupted` or `failed`.
    pub state: String,
    /// The seed of every random choice.
    pub seed: u64,
    /// Row names in the order of printing.
    pub rows: Vec<String>,
    /// The machine: CPU, memory, kernel, clock, devices, file systems.
    pub machine: serde_json::Value,
    /// The resolved plan.
    pub plan: serde_json::Value,
    /// What was calibrated, and is deducted or published.
    pub calibration: serde_json::Value,
}

/// Why a run could not be read or written. Completes "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The file system's refusal.
    #[error("{action} {path}: {source}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which path.
        path: PathBuf,
        /// The refusal.
        source: std::io::Error,
    },
    /// Not a run, or one of another version.
    #[error("read {path} as a run: {problem}")]
    NotARun {
        /// Which directory.
        path: PathBuf,
        /// Why not.
        problem: String,
    },
    /// A directory with something in it.
    #[error("make a run in {path}: it is not empty; choose another --output")]
    Taken {
        /// Which directory.
        path: PathBuf,
    },
    /// A record file.
    #[error(transparent)]
    Record(#[from] RecordError),
}

/// The files of a run; all that `remove` removes.
const FILES: &[&str] = &["run.json", "samples.parquet", "requests.parquet", "findings.parquet"];

/// A run's directory, open for writing or reading.
#[derive(Debug, Clone)]
pub struct RunDirectory {
    path: PathBuf,
}

fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> RunError {
    let path = path.to_owned();
    move |source| RunError::Io { action, path, source }
}

impl RunDirectory {
    /// Makes the directory of a new run. One that is there must be empty: nothing in it is ours.
    ///
    /// # Errors
    /// A refusal of the file system, or a directory that holds anything.
    pub fn create(path: &Path) -> Result<Self, RunError> {
        let refused = || io("create the run directory", path);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(refused())?;
        }
        match std::fs::create_dir(path) {
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {
                let mut entries = std::fs::read_dir(path).map_err(refused())?;
                if entries.next().is_some() {
                    return Err(RunError::Taken { path: path.to_owned() });
                }
            }
            created => created.map_err(refused())?,
        }
        Ok(Self { path: path.to_owned() })
    }

    /// Opens the directory of an existing run and reads its run.json.
    ///
    /// # Errors
    /// No such directory, no run.json, or one of another version.
    pub fn open(path: &Path) -> Result<(Self, RunInfo), RunError> {
        let not_a_run = |problem: String| RunError::NotARun { path: path.to_owned(), problem };
        let text = std::fs::read_to_string(path.join("run.json"))
            .map_err(|e| not_a_run(format!("run.json: {e}")))?;
        let value: serde_json::Value =
            serde_json::from_str(&text).map_err(|e| not_a_run(format!("run.json: {e}")))?;
        match value.get("schema").and_then(|s| s.as_str()) {
            Some(RUN_SCHEMA) => {}
            other => {
                let found = other.unwrap_or("no schema");
                return Err(not_a_run(format!("run.json is {found}, not {RUN_SCHEMA}")));
            }
        }
        let info =
            serde_json::from_value(value).map_err(|e| not_a_run(format!("run.json: {e}")))?;
        Ok((Self { path: path.to_owned() }, info))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes run.json, whole or not at all.
    ///
    /// # Errors
    /// A refusal of the file system.
    pub fn write_info(&self, info: &RunInfo) -> Result<(), RunError> {
        let path = self.path.join("run.json");
        let partial = self.path.join("run.json.partial");
        let text = serde_json::to_string_pretty(info)
            .map_err(|e| RunError::NotARun { path: path.clone(), problem: e.to_string() })?;
        std::fs::write(&partial, text + "\n").map_err(io("write", &partial))?;
        std::fs::rename(&partial, &path).map_err(io("write", &path))
    }

    /// Writes all samples so far.
    ///
    /// # Errors
    /// A refusal of the file system.
    pub fn write_samples(&self, rows: &[Sample], info: &RunInfo) -> Result<(), RunError> {
        Ok(record::write(&self.path.join("samples.parquet"), rows, &footer(info))?)
    }

    /// Writes all findings so far.
    ///
    /// # Errors
    /// A refusal of the file system.
    pub fn write_findings(&self, rows: &[Finding], info: &RunInfo) -> Result<(), RunError> {
        Ok(record::write(&self.path.join("findings.parquet"), rows, &footer(info))?)
    }

    /// Where its requests are, if it has any.
    pub fn requests(&self) -> PathBuf {
        self.path.join("requests.parquet")
    }

    /// Reads the samples.
    ///
    /// # Errors
    /// No such file, or one that is no samples file.
    pub fn read_samples(&self) -> Result<Vec<Sample>, RunError> {
        Ok(record::read(&self.path.join("samples.parquet"))?)
    }

    /// Reads the findings.
    ///
    /// # Errors
    /// No such file, or one that is no findings file.
    pub fn read_findings(&self) -> Result<Vec<Finding>, RunError> {
        Ok(record::read(&self.path.join("findings.parquet"))?)
    }

    /// Removes the run: the files that a run has, then the directory if nothing else is in it.
    ///
    /// # Errors
    /// A refusal of the file system; a file that is not a run's keeps the directory.
    pub fn remove(&self) -> Result<(), RunError> {
        for name in FILES {
            for path in [self.path.join(name), self.path.join(format!("{name}.partial"))] {
                match std::fs::remove_file(&path) {
                    Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                        return Err(io("remove", &path)(e));
                    }
                    _ => {}
                }
            }
        }
        std::fs::remove_dir(&self.path).map_err(io("remove", &self.path))
    }
}

/// What every record file says of the run that it belongs to.
pub fn footer(info: &RunInfo) -> BTreeMap<String, String> {
    BTreeMap::from([
        ("lbolt.run".to_owned(), info.name.clone()),
        ("lbolt.experiment".to_owned(), info.experiment.clone()),
        ("lbolt.started".to_owned(), info.started.clone()),
        ("lbolt.seed".to_owned(), info.seed.to_string()),
        ("lbolt.command_line".to_owned(), info.command_line.join(" ")),
    ])
}

/// The runs in a directory, oldest first; what is no run is passed over.
///
/// # Errors
/// A directory that cannot be listed. One that is not there holds no runs.
pub fn list(runs: &Path) -> Result<Vec<(RunDirectory, RunInfo)>, RunError> {
    let entries = match std::fs::read_dir(runs) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(io("list", runs))?,
    };
    let mut found: Vec<_> = entries
        .filter_map(Result::ok)
        .filter_map(|entry| RunDirectory::open(&entry.path()).ok())
        .collect();
    found.sort_by(|a, b| (&a.1.started, &a.1.name).cmp(&(&b.1.started, &b.1.name)));
    Ok(found)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    fn info(name: &str, started: &str) -> RunInfo {
        RunInfo {
            schema: RUN_SCHEMA.into(),
            name: name.into(),
            experiment: "throughput".into(),
            version: record::TOOL_VERSION.into(),
            command_line: vec!["lbolt".into()],
            started: started.into(),
            state: "running".into(),
            seed: 1,
            rows: vec![],
            machine: serde_json::json!({}),
            plan: serde_json::json!({}),
            calibration: serde_json::json!({}),
        }
    }

    #[test]
    fn a_run_is_written_listed_and_removed() {
        let root = tempfile::tempdir().unwrap();
        for (name, started) in [("b", "2026-01-02T00:00:00Z"), ("a", "2026-01-03T00:00:00Z")] {
            let run = RunDirectory::create(&root.path().join(name)).unwrap();
            run.write_info(&info(name, started)).unwrap();
            run.write_samples(&[Sample::default()], &info(name, started)).unwrap();
        }
        std::fs::create_dir(root.path().join("not-a-run")).unwrap();
        let runs = list(root.path()).unwrap();
        assert_eq!(runs.iter().map(|(_, i)| i.name.as_str()).collect::<Vec<_>>(), ["b", "a"]);
        assert_eq!(runs[0].0.read_samples().unwrap().len(), 1);
        runs[0].0.remove().unwrap();
        assert!(!root.path().join("b").exists());
        assert!(list(&root.path().join("nowhere")).unwrap().is_empty());
    }

    #[test]
    fn numbers_of_a_run_are_read_back_to_the_last_bit() {
        let root = tempfile::tempdir().unwrap();
        let run = RunDirectory::create(&root.path().join("r")).unwrap();
        // Copy rates that were measured, and came back one bit higher.
        for written in [15_363_205_747.048_811_f64, 13_310_871_939.350_111] {
            let mut info = info("r", "2026-01-02T00:00:00Z");
            info.calibration = serde_json::json!({ "memory_copy_bytes_per_s": written });
            run.write_info(&info).unwrap();
            let (_, read) = RunDirectory::open(&root.path().join("r")).unwrap();
            let number = read.calibration["memory_copy_bytes_per_s"].as_f64().unwrap();
            assert_eq!(number.to_bits(), written.to_bits());
        }
    }

    #[test]
    fn a_run_is_never_written_over_and_foreign_files_stay() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("r");
        let run = RunDirectory::create(&path).unwrap();
        run.write_info(&info("r", "x")).unwrap();
        assert!(RunDirectory::create(&path).unwrap_err().to_string().contains("--output"));
        std::fs::write(path.join("precious.txt"), "mine").unwrap();
        assert!(run.remove().is_err());
        assert_eq!(std::fs::read_to_string(path.join("precious.txt")).unwrap(), "mine");
    }

    #[test]
    fn another_version_is_refused_by_name() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("run.json"), r#"{"schema":"lbolt.run/9"}"#).unwrap();
        let error = RunDirectory::open(root.path()).unwrap_err().to_string();
        assert!(error.contains("lbolt.run/9"), "{error}");
    }
}
