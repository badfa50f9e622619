//! A run is a directory: `run.json` (what was run, where, by which version),
//! `samples.parquet` or `requests.parquet`, and `findings.parquet`. Self-describing; history is a
//! query over many of them.
//!
//! A run is its owner's alone (directory 0700, files 0600, as perf's are): a capture by root holds
//! the names of everybody's processes and command lines. Its directory is made under a name of
//! ours, and takes the run's name when run.json is in it: of several that want one name one gets
//! it, and no directory of that name is without run.json. It is written and removed by its
//! descriptor ([`Held`]).
//!
//! Non-goals: a database, an index; deleting anything that is not a run.

use crate::held::Held;
use crate::record::{self, Context, Finding, RecordError, Sample};
use crate::whole_file::write_whole;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// Names of what a process makes for itself alone begin with this, so that clean-up knows its own.
pub const SCRATCH_PREFIX: &str = ".lbolt-scratch-";

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
#[allow(missing_docs, reason = "the messages say what each is")]
pub enum RunError {
    #[error("{action} {path}: {source}")]
    Io { action: &'static str, path: PathBuf, source: std::io::Error },
    #[error("read {path} as a run: {problem}")]
    NotARun { path: PathBuf, problem: String },
    #[error(
        "create a run in {path}: it already exists and is not an empty directory; choose another \
         --output"
    )]
    Taken { path: PathBuf },
    #[error(transparent)]
    Record(#[from] RecordError),
}

/// The page of a run, where nobody gives it another place.
pub const REPORT_FILE: &str = "report.html";

/// The index of a run's requests, made when it is explored.
pub const INDEX_FILE: &str = "requests.index";

/// The state of a run that goes on, or was killed.
pub const RUNNING: &str = "running";

const FILES: &[&str] = &[
    "run.json",
    "samples.parquet",
    "requests.parquet",
    "findings.parquet",
    REPORT_FILE,
    INDEX_FILE,
    // Of a capture that was killed.
    "requests.parquet.groups",
    "requests.parquet.recent-0",
    "requests.parquet.recent-1",
    "requests.parquet.besides",
];

/// A run's directory, open for writing or reading.
#[derive(Debug, Clone)]
pub struct RunDirectory {
    /// Whoever writes it holds its lock, which the kernel takes from a process that dies.
    held: Held,
}

fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> RunError {
    let path = path.to_owned();
    move |source| RunError::Io { action, path, source }
}

impl RunDirectory {
    /// Makes the directory of a new run, with its run.json. An empty directory of that name is
    /// replaced; of several that make the same one at once, one does.
    /// Errors: a refusal of the file system, or something that is there already.
    pub fn create(path: &Path, info: &RunInfo) -> Result<Self, RunError> {
        let refused = || io("create the run directory", path);
        std::fs::create_dir_all(parent_of(path)).map_err(refused())?;
        let hidden = begin_in(parent_of(path)).map_err(refused())?;
        let held = Held::made(&hidden).map_err(refused())?;
        // Where locks are not to be had (NFS), the process's number in the name must do.
        let _ = held.file().try_lock();
        let made = Self { held };
        match made.name(path, info) {
            Ok(()) => Ok(Self { held: made.held.named(path) }),
            Err(error) => {
                // This reason is told; what may be left is hidden, and removed by `doctor --clean`.
                let _ = made.remove();
                Err(error)
            }
        }
    }

    /// Writes run.json and gives the directory the run's name.
    fn name(&self, path: &Path, info: &RunInfo) -> Result<(), RunError> {
        let refused = || io("create the run directory", path);
        // The name under which the file is written for a moment is nobody's concern.
        self.write_info(info).map_err(|error| match error {
            RunError::Io { source, .. } => refused()(source),
            other => other,
        })?;
        std::fs::rename(self.path(), path).map_err(|source| match source.kind() {
            ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists | ErrorKind::NotADirectory => {
                RunError::Taken { path: path.to_owned() }
            }
            _ => refused()(source),
        })
    }

    /// Opens the directory of an existing run and reads its run.json.
    /// Errors: no such directory, no run.json, or one of another version.
    pub fn open(path: &Path) -> Result<(Self, RunInfo), RunError> {
        let not_a_run = |problem: String| RunError::NotARun { path: path.to_owned(), problem };
        let held = Held::open(path).map_err(|e| not_a_run(format!("run.json: {e}")))?;
        Self::of(held)
    }

    /// The run in a directory.
    fn of(held: Held) -> Result<(Self, RunInfo), RunError> {
        let path = held.path();
        let not_a_run = |problem: String| RunError::NotARun { path: path.to_owned(), problem };
        let text = held.read("run.json").map_err(|e| not_a_run(format!("run.json: {e}")))?;
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
        Ok((Self { held }, info))
    }

    /// Whether a living process writes this run.
    pub fn is_being_written(&self) -> bool {
        let lock = File::open(self.held.at(".")).map(|directory| directory.try_lock());
        matches!(lock, Ok(Err(TryLockError::WouldBlock)))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.held.path()
    }

    /// Its directory, held.
    pub fn held(&self) -> &Held {
        &self.held
    }

    /// Writes run.json, whole or not at all. One that says that the run has ended is written when
    /// all of the run is on the disk, so that a loss of power leaves no ended run with empty files.
    /// Errors: a refusal of the file system.
    pub fn write_info(&self, info: &RunInfo) -> Result<(), RunError> {
        let has_ended = info.state != RUNNING;
        if has_ended {
            self.sync()?;
        }
        let path = self.path().join("run.json");
        let text = serde_json::to_string_pretty(info)
            .map_err(|e| RunError::NotARun { path: path.clone(), problem: e.to_string() })?;
        let write = |mut file: &File| {
            file.write_all((text + "\n").as_bytes())?;
            if has_ended { file.sync_all() } else { Ok(()) }
        };
        write_whole(&self.held.at("run.json"), write).map_err(io("write", &path))?;
        if has_ended { self.sync_names() } else { Ok(()) }
    }

    /// Sees to it that all of its files outlive a loss of power.
    /// Errors: a refusal of the file system.
    fn sync(&self) -> Result<(), RunError> {
        for name in self.held.names().map_err(io("list", self.path()))? {
            let path = self.path().join(&name);
            // A link is nothing of the run's, and nothing that lies here makes this wait.
            let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY).bits();
            let open = OpenOptions::new()
                .read(true)
                .custom_flags(flags.cast_signed())
                .open(self.held.at(&name));
            let synced = match open {
                Ok(file) if file.metadata().is_ok_and(|of| of.is_file()) => file.sync_all(),
                _ => Ok(()),
            };
            synced.map_err(io("write to the disk", &path))?;
        }
        self.sync_names()
    }

    /// The same of the names in it, and of its own.
    fn sync_names(&self) -> Result<(), RunError> {
        let parent = File::open(parent_of(self.path()));
        let parent = parent.and_then(|parent| parent.sync_all());
        // Some file systems write no directory by itself, and some directories cannot be read.
        let unable = [ErrorKind::InvalidInput, ErrorKind::PermissionDenied, ErrorKind::NotFound];
        [self.held.file().sync_all(), parent]
            .into_iter()
            .find_map(|synced| synced.err().filter(|error| !unable.contains(&error.kind())))
            .map_or(Ok(()), |error| Err(io("write to the disk", self.path())(error)))
    }

    /// Writes all samples so far.
    /// Errors: a refusal of the file system.
    pub fn write_samples(&self, rows: &[Sample], info: &RunInfo) -> Result<(), RunError> {
        Ok(record::write(&self.held.at("samples.parquet"), rows, &footer(info))?)
    }

    /// Writes all findings so far.
    /// Errors: a refusal of the file system.
    pub fn write_findings(&self, rows: &[Finding], info: &RunInfo) -> Result<(), RunError> {
        Ok(record::write(&self.held.at("findings.parquet"), rows, &footer(info))?)
    }

    /// Writes what its requests have besides.
    /// Errors: a refusal of the file system.
    pub fn write_context(&self, context: &Context, info: &RunInfo) -> Result<(), RunError> {
        Ok(context.write(&self.held.at("."), &footer(info))?)
    }

    /// Where its requests are, if it has any.
    pub fn requests(&self) -> PathBuf {
        self.path().join("requests.parquet")
    }

    /// Reads the samples.
    /// Errors: no such file, or one that is no samples file.
    pub fn read_samples(&self) -> Result<Vec<Sample>, RunError> {
        Ok(record::read(&self.held.at("samples.parquet"))?)
    }

    /// Reads the findings.
    /// Errors: no such file, or one that is no findings file.
    pub fn read_findings(&self) -> Result<Vec<Finding>, RunError> {
        Ok(record::read(&self.held.at("findings.parquet"))?)
    }

    /// Removes the run: the files that a run has and its parts, then the directory if nothing else
    /// is in it. No link is followed to a part.
    /// Errors: a refusal of the file system; a file that is not a run's keeps the directory.
    pub fn remove(&self) -> Result<(), RunError> {
        self.empty()?;
        std::fs::remove_dir(self.path()).map_err(io("remove", self.path()))
    }

    fn empty(&self) -> Result<(), RunError> {
        // One that cannot be listed is refused when it is to go.
        for name in self.held.names().unwrap_or_default() {
            let part = name.to_str().filter(|name| is_part(name));
            let part = part.and_then(|name| Self::of(self.held.within(name).ok()?).ok());
            if let Some((part, _)) = part {
                part.empty()?;
                let gone = std::fs::remove_dir(self.held.at(&name));
                gone.map_err(io("remove", part.path()))?;
            }
        }
        for name in self.held.names().unwrap_or_default() {
            if name.to_str().is_some_and(is_of_fleet) {
                self.held.remove(&name).map_err(io("remove", &self.path().join(&name)))?;
            }
        }
        for name in FILES.iter().chain(&Context::FILE_NAMES) {
            for name in [(*name).to_owned(), format!("{name}.partial")] {
                self.held.remove(&name).map_err(io("remove", &self.path().join(name)))?;
            }
        }
        Ok(())
    }
}

/// Whether a file is of a simulated fleet: what was planted, or a host's rollup.
fn is_of_fleet(name: &str) -> bool {
    let name = name.strip_suffix(".partial").unwrap_or(name);
    name == "planted.json" || name.starts_with("sim-") && name.ends_with(".parquet")
}

/// Whether a run within a run is a part of it: of `whatif`, before a change and after it.
fn is_part(name: &str) -> bool {
    name == "before" || name == "after" || name.starts_with("after-")
}

/// Makes a directory for us alone, of a name that is no run's.
fn begin_in(parent: &Path) -> std::io::Result<PathBuf> {
    loop {
        let path = hidden_in(parent);
        match DirBuilder::new().mode(0o700).create(&path) {
            // Another thread was quicker.
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            made => return made.map(|()| path),
        }
    }
}

/// The name that the directory of this process's next run has until its run.json is in it.
pub fn hidden_in(parent: &Path) -> PathBuf {
    let names =
        (0u64..).map(|number| format!("{SCRATCH_PREFIX}run-{}-{number}", std::process::id()));
    // Others are of other threads, or of a killed process whose number has come again.
    let free = names.map(|name| parent.join(name)).find(|path| path.symlink_metadata().is_err());
    free.unwrap_or_default()
}

/// The directory in which a run's is made.
pub fn parent_of(run: &Path) -> &Path {
    match run.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
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
/// Errors: a directory that cannot be listed. One that is not there holds no runs.
pub fn list(runs: &Path) -> Result<Vec<(RunDirectory, RunInfo)>, RunError> {
    let entries = match std::fs::read_dir(runs) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(io("list", runs))?,
    };
    let mut found: Vec<_> = entries
        .filter_map(Result::ok)
        // One of these is about to be a run, or was when it was killed.
        .filter(|entry| !entry.file_name().to_string_lossy().starts_with(SCRATCH_PREFIX))
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
            let run = RunDirectory::create(&root.path().join(name), &info(name, started)).unwrap();
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
    fn of_many_that_want_one_name_one_gets_it_and_none_is_seen_before() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("r");
        let hidden = hidden_in(root.path());
        std::fs::create_dir(&hidden).unwrap();
        std::fs::write(hidden.join("run.json"), serde_json::to_vec(&info("x", "x")).unwrap())
            .unwrap();
        let made = std::thread::scope(|scope| {
            let make = |_| scope.spawn(|| RunDirectory::create(&path, &info("r", "x")));
            let threads: Vec<_> = (0..8).map(make).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        let winners: Vec<_> = made.iter().flatten().collect();
        assert_eq!(winners.len(), 1);
        assert!(made.iter().all(|made| matches!(made, Ok(_) | Err(RunError::Taken { .. }))));
        assert_eq!(list(root.path()).unwrap().len(), 1);
        assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 2);
        assert!(winners[0].is_being_written());
        drop(made);
        assert!(!RunDirectory::open(&path).unwrap().0.is_being_written());
    }

    #[test]
    fn numbers_of_a_run_are_read_back_to_the_last_bit() {
        let root = tempfile::tempdir().unwrap();
        let run = RunDirectory::create(&root.path().join("r"), &info("r", "2026-01-02T00:00:00Z"))
            .unwrap();
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
        let run = RunDirectory::create(&path, &info("r", "x")).unwrap();
        let again = RunDirectory::create(&path, &info("r", "x")).unwrap_err();
        assert!(matches!(again, RunError::Taken { .. }) && again.to_string().contains("--output"));
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

    #[test]
    fn what_is_no_run_is_refused_by_its_path_and_why() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().display().to_string();
        let refused = |text: Option<&str>| {
            let file = root.path().join("run.json");
            text.into_iter().for_each(|text| std::fs::write(&file, text).unwrap());
            let error = RunDirectory::open(root.path()).unwrap_err().to_string();
            let begin = format!("read {path} as a run: run.json");
            error.strip_prefix(&begin).unwrap_or_else(|| panic!("{error}")).to_owned()
        };
        assert!(refused(None).starts_with(": No such file"));
        assert!(refused(Some("{")).starts_with(": EOF while parsing"));
        assert_eq!(refused(Some("{}")), " is no schema, not lbolt.run/1");
        assert_eq!(
            refused(Some(r#"{"schema":"lbolt.run/2"}"#)),
            " is lbolt.run/2, not lbolt.run/1"
        );
        let error = refused(Some(r#"{"schema":"lbolt.run/1"}"#));
        assert!(error.starts_with(": missing field `name`"), "{error}");
    }

    #[test]
    fn what_a_run_holds_is_read_back_and_told_in_each_footer() {
        let root = tempfile::tempdir().unwrap();
        let info =
            RunInfo { command_line: vec!["lbolt".into(), "sync".into()], ..info("r", "now") };
        let run = RunDirectory::create(&root.path().join("r"), &info).unwrap();
        let findings = [Finding { count: 3, ..Finding::default() }];
        run.write_findings(&findings, &info).unwrap();
        assert_eq!(run.read_findings().unwrap(), findings);
        let (opened, read) = RunDirectory::open(run.path()).unwrap();
        assert_eq!((opened.path(), read), (root.path().join("r").as_path(), info.clone()));
        assert_eq!(run.requests(), root.path().join("r/requests.parquet"));
        let footer: Vec<_> = footer(&info).into_iter().collect();
        let of = |name: &str, value: &str| (format!("lbolt.{name}"), value.to_owned());
        let expected = [
            of("command_line", "lbolt sync"),
            of("experiment", "throughput"),
            of("run", "r"),
            of("seed", "1"),
            of("started", "now"),
        ];
        assert_eq!(footer, expected);
        let text = std::fs::read_to_string(run.path().join("run.json")).unwrap();
        assert!(text.ends_with("}\n"));
    }

    #[test]
    fn runs_of_one_moment_are_listed_by_name_and_hidden_ones_not() {
        let root = tempfile::tempdir().unwrap();
        for name in ["b", "a", "c"] {
            RunDirectory::create(&root.path().join(name), &info(name, "now")).unwrap();
        }
        std::fs::rename(root.path().join("c"), hidden_in(root.path())).unwrap();
        let names: Vec<_> = list(root.path()).unwrap().into_iter().map(|(_, i)| i.name).collect();
        assert_eq!(names, ["a", "b"]);
        let error = list(&root.path().join("a/run.json")).unwrap_err().to_string();
        assert!(error.starts_with("list ") && error.contains("Not a directory"), "{error}");
        assert_eq!(parent_of(Path::new("r")), Path::new("."));
        assert_eq!(parent_of(Path::new("/x/r")), Path::new("/x"));
    }

    #[test]
    fn a_run_is_removed_with_what_a_killed_process_left() {
        let root = tempfile::tempdir().unwrap();
        let run = RunDirectory::create(&root.path().join("r"), &info("r", "now")).unwrap();
        for name in ["samples.parquet.partial", "requests.parquet.groups"] {
            std::fs::write(run.path().join(name), "x").unwrap();
        }
        run.remove().unwrap();
        let error = run.remove().unwrap_err().to_string();
        assert!(error.starts_with(&format!("remove {}: ", run.path().display())), "{error}");
    }
}
