//! Settings of the kernel that a remedy may change: all of a block device's queue and of its
//! scheduler, and when dirty pages are written. They are read before anything is changed
//! ([`Snapshot`]), and put back in an order that leaves all as it was.
//!
//! What is to be heeded (Linux block/{elevator,blk-sysfs,blk-wbt}.c, mm/page-writeback.c):
//! - another scheduler drops the old one's tunables and resets nr_requests: the scheduler goes
//!   first;
//! - `wbt_lat_usec` reads 0 while bfq holds it off, and a 0 that is written is for good: it is
//!   written only where it differs when the scheduler is back;
//! - of `dirty_bytes` and `dirty_ratio` one is 0, and writing the one makes the other 0.
//!
//! Non-goals: what no file tells (that wbt was set by hand, until the device is gone).

use serde::{Deserialize, Serialize};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// A file of the kernel's, and what stands in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// The file.
    pub path: PathBuf,
    /// Its value; of a choice the chosen one.
    pub value: String,
}

/// Why a setting is not as it is to be. Completes "failed to …".
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what each is")]
pub enum SettingError {
    #[error("read {path}: {source}", path = path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("write {value} to {path}: {source}", path = path.display())]
    Write { path: PathBuf, value: String, source: io::Error },
    /// The kernel took it and has something else.
    #[error("set {path} to {value}: the kernel has {found}", path = path.display())]
    NotTaken { path: PathBuf, value: String, found: String },
}

impl Setting {
    /// What stands in a file now.
    /// Errors: a file that is not there or cannot be read.
    pub fn read(path: &Path) -> Result<Self, SettingError> {
        let read = |source| SettingError::Read { path: path.to_owned(), source };
        let text = std::fs::read_to_string(path).map_err(read)?;
        Ok(Self { path: path.to_owned(), value: chosen(&text).to_owned() })
    }

    /// Writes it, and looks whether the kernel has it now.
    /// Errors: a refusal; a kernel that has something else.
    pub fn apply(&self) -> Result<(), SettingError> {
        self.write()?;
        match Self::read(&self.path)?.value {
            found if found == self.value => Ok(()),
            found => Err(SettingError::NotTaken {
                path: self.path.clone(),
                value: self.value.clone(),
                found,
            }),
        }
    }

    fn write(&self) -> Result<(), SettingError> {
        // A file that is not there is none of the kernel's.
        let file = std::fs::OpenOptions::new().write(true).truncate(true).open(&self.path);
        let written = file.and_then(|mut file| file.write_all(self.value.as_bytes()));
        written.map_err(|source| SettingError::Write {
            path: self.path.clone(),
            value: self.value.clone(),
            source,
        })
    }

    /// Writes another value first: some kernels keep the limit of the other one of a pair unless
    /// the value changes.
    fn nudge(&self) {
        let other = self.value.parse::<u64>().map(|value| value ^ 1);
        if let Ok(other) = other {
            // Whether it is taken or not, the right one comes next.
            let _ = Self { value: other.max(1).to_string(), ..self.clone() }.write();
        }
    }

    fn name(&self) -> &str {
        self.path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }
}

/// `none [bfq]` is bfq.
fn chosen(text: &str) -> &str {
    let text = text.trim();
    let inner = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inner.map_or(text, |(chosen, _)| chosen)
}

/// When dirty pages are written; of each pair the one that is not 0 counts.
const DIRTY: [&str; 6] = [
    "dirty_background_bytes",
    "dirty_background_ratio",
    "dirty_bytes",
    "dirty_ratio",
    "dirty_expire_centisecs",
    "dirty_writeback_centisecs",
];

/// Settings as they were, in the order in which they are put back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot(pub Vec<Setting>);

impl Snapshot {
    /// Those of the system, and of a block device by its kernel name.
    /// Errors: no such device, or one without a queue.
    pub fn of(device: Option<&str>) -> Result<Self, SettingError> {
        Self::below(Path::new("/"), device)
    }

    fn below(root: &Path, device: Option<&str>) -> Result<Self, SettingError> {
        let mut settings = Vec::new();
        if let Some(device) = device {
            let queue = root.join("sys/block").join(device).join("queue");
            settings.push(Setting::read(&queue.join("scheduler"))?);
            settings.extend(Setting::read(&queue.join("nr_requests")));
            settings.extend(writable(&queue.join("iosched")));
            let others = writable(&queue).into_iter();
            let is_first = |s: &Setting| ["scheduler", "nr_requests"].contains(&s.name());
            settings.extend(others.filter(|setting| !is_first(setting)));
        }
        let vm = root.join("proc/sys/vm");
        settings.extend(DIRTY.iter().filter_map(|name| Setting::read(&vm.join(name)).ok()));
        Ok(Self(settings))
    }

    /// What is otherwise now: as it was, and as it is. One that is gone is none.
    pub fn differences(&self) -> Vec<(Setting, Setting)> {
        let now = |was: &Setting| Some((was.clone(), Setting::read(&was.path).ok()?));
        self.0.iter().filter_map(now).filter(|(was, is)| was != is).collect()
    }

    /// Puts back whatever differs; says what that was.
    /// Errors: the first that could not be; the others are put back all the same.
    pub fn restore(&self) -> Result<Vec<Setting>, SettingError> {
        let mut restored = Vec::new();
        let mut failed = None;
        for was in &self.0 {
            let Ok(is) = Setting::read(&was.path) else { continue };
            // The other one of its pair says when pages are written.
            if is == *was || was.value == "0" && DIRTY[..4].contains(&was.name()) {
                continue;
            }
            if DIRTY[..4].contains(&was.name()) {
                was.nudge();
            }
            match was.apply() {
                Ok(()) => restored.push(was.clone()),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Ok(restored), Err)
    }
}

/// The settings in a directory that can be written, by name.
fn writable(directory: &Path) -> Vec<Setting> {
    use std::os::unix::fs::PermissionsExt as _;
    let Ok(entries) = std::fs::read_dir(directory) else { return vec![] };
    let is_writable = |path: &PathBuf| {
        let metadata = path.symlink_metadata();
        metadata.is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o200 != 0)
    };
    let mut paths: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(is_writable).collect();
    paths.sort();
    paths.iter().filter_map(|path| Setting::read(path).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine in a directory: files that take whatever is written.
    fn machine() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let files = [
            ("sys/block/x/queue/scheduler", "none"),
            ("sys/block/x/queue/nr_requests", "64"),
            ("sys/block/x/queue/wbt_lat_usec", "2000"),
            ("sys/block/x/queue/iosched/fifo_batch", "16"),
            ("proc/sys/vm/dirty_bytes", "0"),
            ("proc/sys/vm/dirty_ratio", "20"),
        ];
        for (path, value) in files {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, value).unwrap();
        }
        root
    }

    #[test]
    fn all_is_put_back_the_scheduler_first() {
        let root = machine();
        let snapshot = Snapshot::below(root.path(), Some("x")).unwrap();
        let names: Vec<&str> = snapshot.0.iter().map(Setting::name).collect();
        assert_eq!(names[..3], ["scheduler", "nr_requests", "fifo_batch"]);
        assert!(snapshot.differences().is_empty() && snapshot.restore().unwrap().is_empty());
        let write = |path: &str, value: &str| std::fs::write(root.path().join(path), value);
        write("sys/block/x/queue/scheduler", "none [bfq] kyber\n").unwrap();
        write("sys/block/x/queue/iosched/fifo_batch", "1").unwrap();
        // As the kernel does it when the bytes are written.
        write("proc/sys/vm/dirty_bytes", "1000").unwrap();
        write("proc/sys/vm/dirty_ratio", "0").unwrap();
        assert_eq!(snapshot.differences().len(), 4);
        assert_eq!(snapshot.differences()[0].1.value, "bfq");
        let restored = snapshot.restore().unwrap();
        let names: Vec<&str> = restored.iter().map(Setting::name).collect();
        assert_eq!(names, ["scheduler", "fifo_batch", "dirty_ratio"]);
        assert!(Snapshot::below(root.path(), Some("y")).is_err());
    }

    #[test]
    fn what_the_kernel_does_not_take_is_told() {
        let error = Setting { path: "/proc/self/comm".into(), value: "a b\n".into() }.apply();
        assert!(matches!(error, Err(SettingError::NotTaken { .. })), "{error:?}");
        let error = Setting { path: "/nowhere".into(), value: "1".into() }.apply().unwrap_err();
        assert!(error.to_string().starts_with("write 1 to /nowhere"), "{error}");
    }
}
