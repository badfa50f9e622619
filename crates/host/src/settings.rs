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

mod known;

use known::{Known, Machine, checked};
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
    /// A path as it is shown.
    #[error("change {path}: it is not a setting that lbolt changes")]
    Unknown { path: String },
    /// Both as they are shown.
    #[error("write {value} to {path}: the setting takes no such value")]
    Value { path: String, value: String },
}

impl Setting {
    /// What stands in a file now.
    /// Errors: a file that is not there or cannot be read, or is no setting.
    pub fn read(path: &Path) -> Result<Self, SettingError> {
        Self::read_of(path, Machine::this())
    }

    fn read_of(path: &Path, machine: Machine<'_>) -> Result<Self, SettingError> {
        let read = |source| SettingError::Read { path: path.to_owned(), source };
        let known = Known::of(path).ok_or_else(|| read(io::ErrorKind::NotFound.into()))?;
        let text = known.read(machine).map_err(read)?;
        Ok(Self { path: path.to_owned(), value: chosen(&text).to_owned() })
    }

    /// Writes it, and looks whether the kernel has it now.
    /// Errors: a path that is no setting, a value that it never takes; a refusal; a kernel that has
    /// something else.
    pub fn apply(&self) -> Result<(), SettingError> {
        self.apply_to(Machine::this())
    }

    fn apply_to(&self, machine: Machine<'_>) -> Result<(), SettingError> {
        self.write(machine)?;
        match Self::read_of(&self.path, machine)?.value {
            found if found == self.value => Ok(()),
            found => Err(SettingError::NotTaken {
                path: self.path.clone(),
                value: self.value.clone(),
                found,
            }),
        }
    }

    fn write(&self, machine: Machine<'_>) -> Result<(), SettingError> {
        let file = checked(&self.path, &self.value)?.open_for(&self.value, machine);
        let written = file.and_then(|mut file| file.write_all(self.value.as_bytes()));
        written.map_err(|source| SettingError::Write {
            path: self.path.clone(),
            value: self.value.clone(),
            source,
        })
    }

    /// Writes another value first: some kernels keep the limit of the other one of a pair unless
    /// the value changes.
    fn nudge(&self, machine: Machine<'_>) {
        let other = self.value.parse::<u64>().map(|value| value ^ 1);
        if let Ok(other) = other {
            // Whether it is taken or not, the right one comes next.
            let _ = Self { value: other.max(1).to_string(), ..self.clone() }.write(machine);
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

/// Of each of these pairs the one that is not 0 says when pages are written.
const PAIRS: [&str; 4] =
    ["dirty_background_bytes", "dirty_background_ratio", "dirty_bytes", "dirty_ratio"];

/// Settings as they were, in the order in which they are put back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot(pub Vec<Setting>);

impl Snapshot {
    /// Those of the system, and of a block device by its kernel name.
    /// Errors: no such device, or one without a queue.
    pub fn of(device: Option<&str>) -> Result<Self, SettingError> {
        Self::of_machine(Machine::this(), device)
    }

    fn of_machine(machine: Machine<'_>, device: Option<&str>) -> Result<Self, SettingError> {
        let mut settings = Vec::new();
        if let Some(device) = device {
            let queue = Path::new("/sys/block").join(device).join("queue");
            settings.push(Setting::read_of(&queue.join("scheduler"), machine)?);
            let first = known::QUEUE.iter().skip(1).take(1);
            settings.extend(writable(machine, &queue, first));
            let of_scheduler = known::SCHEDULER.iter();
            settings.extend(writable(machine, &queue.join("iosched"), of_scheduler));
            settings.extend(writable(machine, &queue, known::QUEUE.iter().skip(2)));
        }
        settings.extend(writable(machine, Path::new("/proc/sys/vm"), known::VM.iter()));
        Ok(Self(settings))
    }

    /// Whether each is a setting of the kernel's, with a value that it may have: what a note says
    /// need not be.
    /// Errors: the first that is none.
    pub fn check(&self) -> Result<(), SettingError> {
        self.0.iter().try_for_each(|setting| checked(&setting.path, &setting.value).map(drop))
    }

    /// What is otherwise now: as it was, and as it is. One that is gone is none.
    pub fn differences(&self) -> Vec<(Setting, Setting)> {
        self.differences_of(Machine::this())
    }

    fn differences_of(&self, machine: Machine<'_>) -> Vec<(Setting, Setting)> {
        let now = |was: &Setting| Some((was.clone(), Setting::read_of(&was.path, machine).ok()?));
        self.0.iter().filter_map(now).filter(|(was, is)| was != is).collect()
    }

    /// Puts back whatever differs; says what that was.
    /// Errors: the first that could not be; the others are put back all the same.
    pub fn restore(&self) -> Result<Vec<Setting>, SettingError> {
        self.restore_to(Machine::this())
    }

    fn restore_to(&self, machine: Machine<'_>) -> Result<Vec<Setting>, SettingError> {
        let mut restored = Vec::new();
        let mut failed = None;
        for was in &self.0 {
            let Ok(is) = Setting::read_of(&was.path, machine) else { continue };
            // The other one of its pair says when pages are written.
            if is == *was || was.value == "0" && PAIRS.contains(&was.name()) {
                continue;
            }
            if PAIRS.contains(&was.name()) {
                was.nudge(machine);
            }
            match was.apply_to(machine) {
                Ok(()) => restored.push(was.clone()),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Ok(restored), Err)
    }
}

/// Those of a directory that can be written. One with a value that the table does not know could
/// not be put back: it is none.
fn writable<'a>(
    machine: Machine<'_>,
    directory: &Path,
    rows: impl Iterator<Item = &'a known::Row>,
) -> Vec<Setting> {
    let read = |(name, _): &known::Row| {
        let path = directory.join(name);
        let known = Known::of(&path).filter(|known| known.is_writable(machine))?;
        let setting = Setting::read_of(&path, machine).ok()?;
        known.may_be(&setting.value).then_some(setting)
    };
    rows.filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// A machine in a directory: files that take whatever is written.
    struct Fake {
        root: tempfile::TempDir,
        file_systems: Vec<u64>,
    }

    impl Fake {
        fn new() -> Self {
            let root = tempfile::tempdir().unwrap();
            let system = rustix::fs::statfs(root.path()).unwrap().f_type;
            let fake = Self { root, file_systems: vec![u64::try_from(system).unwrap()] };
            for (path, value) in [
                ("sys/devices/bus/x/queue/scheduler", "bfq kyber [none]"),
                ("sys/devices/bus/x/queue/nr_requests", "64"),
                ("sys/devices/bus/x/queue/wbt_lat_usec", "2000"),
                ("sys/devices/bus/x/queue/iosched/fifo_batch", "16"),
                ("proc/sys/vm/dirty_bytes", "0"),
                ("proc/sys/vm/dirty_ratio", "20"),
                ("precious", "1"),
            ] {
                std::fs::create_dir_all(fake.path(path).parent().unwrap()).unwrap();
                fake.write(path, value);
            }
            std::fs::create_dir_all(fake.path("sys/block")).unwrap();
            symlink("../devices/bus/x", fake.path("sys/block/x")).unwrap();
            fake
        }

        fn machine(&self) -> Machine<'_> {
            Machine { root: self.root.path(), file_systems: &self.file_systems }
        }

        fn path(&self, path: &str) -> PathBuf {
            self.root.path().join(path)
        }

        fn write(&self, path: &str, value: &str) {
            std::fs::write(self.path(path), value).unwrap();
        }
    }

    fn setting(path: &str, value: &str) -> Setting {
        Setting { path: path.into(), value: value.into() }
    }

    #[test]
    fn all_is_put_back_the_scheduler_first() {
        let fake = Fake::new();
        let machine = fake.machine();
        let snapshot = Snapshot::of_machine(machine, Some("x")).unwrap();
        let names: Vec<&str> = snapshot.0.iter().map(Setting::name).collect();
        assert_eq!(names[..3], ["scheduler", "nr_requests", "fifo_batch"]);
        assert!(snapshot.check().is_ok() && snapshot.differences_of(machine).is_empty());
        assert!(snapshot.restore_to(machine).unwrap().is_empty());
        fake.write("sys/block/x/queue/scheduler", "none [bfq] kyber\n");
        fake.write("sys/block/x/queue/iosched/fifo_batch", "1");
        // As the kernel does it when the bytes are written.
        fake.write("proc/sys/vm/dirty_bytes", "1000");
        fake.write("proc/sys/vm/dirty_ratio", "0");
        assert_eq!(snapshot.differences_of(machine).len(), 4);
        assert_eq!(snapshot.differences_of(machine)[0].1.value, "bfq");
        let restored = snapshot.restore_to(machine).unwrap();
        let names: Vec<&str> = restored.iter().map(Setting::name).collect();
        assert_eq!(names, ["scheduler", "fifo_batch", "dirty_ratio"]);
        assert!(Snapshot::of_machine(machine, Some("y")).is_err());
    }

    #[test]
    fn no_other_file_and_no_other_value_is_ever_written() {
        let fake = Fake::new();
        for path in [
            "/precious",
            "/etc/shadow",
            "/proc/sys/kernel/core_pattern",
            "/proc/sys/vm/overcommit",
            "/proc/sys/vm/",
            "/proc/sys/vm/../vm/dirty_ratio",
            "/proc/sys/vm//dirty_ratio",
            "/proc/sys/vm/./dirty_ratio",
            "proc/sys/vm/dirty_ratio",
            "/proc/sys/vm/dirty_ratio/",
            "/proc/sys/vm/dirty_ratio\n",
            "/proc/thread-self/sys/vm/dirty_ratio",
            "/sys/block/x/queue/",
            "/sys/block/x/queue/rotational2",
            "/sys/block/x/uevent",
            "/sys/block/../block/x/queue/nr_requests",
            "/sys/block/./x/queue/nr_requests",
            "/sys/block//queue/nr_requests",
            "/sys/block/./queue/nr_requests",
            "/sys/block/../queue/nr_requests",
            "/sys/block/x/queue/iosched/../nr_requests",
            "/sys/block/x/queue/iosched/nr_requests",
            "/sys/devices/bus/x/queue/nr_requests",
            "/sys/block/x/x/queue/nr_requests",
            "/sys/block/x\u{202e}/queue/nr_requests",
            "",
        ] {
            let error = setting(path, "1").apply_to(fake.machine()).unwrap_err();
            assert!(matches!(error, SettingError::Unknown { .. }), "{path}: {error}");
            assert!(Snapshot(vec![setting(path, "1")]).check().is_err(), "{path}");
            assert!(Setting::read_of(Path::new(path), fake.machine()).is_err(), "{path}");
        }
        let huge = "9".repeat(100_000);
        for (path, values) in [
            (
                "/proc/sys/vm/dirty_ratio",
                &[
                    "101",
                    "-1",
                    "",
                    " 5",
                    "5\n",
                    "5\n6",
                    "05",
                    "+5",
                    "0x5",
                    "5.0",
                    "1e1",
                    "five",
                    "9223372036854775808",
                    "\0",
                    huge.as_str(),
                ][..],
            ),
            (
                "/sys/block/x/queue/scheduler",
                &["", "none\n", "[none]", "none kyber", "..", "a b", "/etc", huge.as_str()],
            ),
            ("/sys/block/x/queue/write_cache", &["write", "write back\n", "none"]),
        ] {
            for value in values {
                let wrong = setting(path, value);
                let error = wrong.apply_to(fake.machine()).unwrap_err();
                assert!(matches!(error, SettingError::Value { .. }), "{path}: {error}");
                assert!(error.to_string().len() < 300 && !error.to_string().contains('\n'));
                assert!(Snapshot(vec![wrong]).check().is_err(), "{path}");
            }
        }
        // A word, but none of the file's.
        let error = setting("/sys/block/x/queue/scheduler", "deadline").apply_to(fake.machine());
        assert!(matches!(error, Err(SettingError::Write { .. })), "{error:?}");
        assert_eq!(std::fs::read(fake.path("precious")).unwrap(), b"1");
    }

    #[test]
    fn no_link_is_followed_and_no_file_of_another_file_system_is_written() {
        let fake = Fake::new();
        let put = |path: &str, target: &Path| {
            let path = fake.path(path);
            let _ = std::fs::remove_dir_all(&path);
            let _ = std::fs::remove_file(&path);
            symlink(target, path).unwrap();
        };
        let ratio = setting("/proc/sys/vm/dirty_ratio", "5");
        let requests = setting("/sys/block/x/queue/nr_requests", "5");
        ratio.apply_to(fake.machine()).unwrap();
        requests.apply_to(fake.machine()).unwrap();
        // What somebody mounted there is not the kernel's.
        let machine = Machine { file_systems: &[0x9fa0], ..fake.machine() };
        assert!(ratio.apply_to(machine).is_err() && requests.apply_to(machine).is_err());
        let outside = fake.path("outside");
        std::fs::create_dir_all(outside.join("x/queue")).unwrap();
        for name in ["dirty_ratio", "x/queue/nr_requests"] {
            std::fs::write(outside.join(name), "1").unwrap();
        }
        put("sys/block/x", &outside.join("x"));
        assert!(requests.apply_to(fake.machine()).is_err(), "no device of the kernel's");
        put("sys/block/x", Path::new("../devices/bus"));
        assert!(requests.apply_to(fake.machine()).is_err(), "another device");
        put("sys/block/x", Path::new("../devices/bus/x"));
        put("sys/devices/bus/x/queue", &outside.join("x/queue"));
        assert!(requests.apply_to(fake.machine()).is_err(), "a link on the way");
        put("proc/sys/vm/dirty_ratio", &outside.join("dirty_ratio"));
        assert!(ratio.apply_to(fake.machine()).is_err(), "a link in its place");
        put("proc/sys/vm", &outside);
        assert!(ratio.apply_to(fake.machine()).is_err(), "a link on the way");
        for name in ["dirty_ratio", "x/queue/nr_requests"] {
            assert_eq!(std::fs::read(outside.join(name)).unwrap(), b"1", "{name}");
        }
    }

    #[test]
    fn what_the_kernel_does_not_take_is_told() {
        let error = setting("/sys/block/no-such/queue/nr_requests", "1").apply().unwrap_err();
        let said = "write 1 to /sys/block/no-such/queue/nr_requests: ";
        assert!(error.to_string().starts_with(said), "{error}");
    }

    /// The table is held against this machine: what can be written there is known.
    #[test]
    fn the_settings_of_this_machine_s_disks_are_known() {
        let disks = std::fs::read_dir("/sys/block").into_iter().flatten().flatten();
        for disk in disks.filter(|disk| disk.path().join("queue/scheduler").exists()) {
            for folder in ["queue", "queue/iosched"] {
                let folder = Path::new("/sys/block").join(disk.file_name()).join(folder);
                for file in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
                    use std::os::unix::fs::PermissionsExt as _;
                    let path = folder.join(file.file_name());
                    let is_setting = file.metadata().is_ok_and(|metadata| {
                        metadata.is_file() && metadata.permissions().mode() & 0o200 != 0
                    });
                    // The disk may be gone by now.
                    let Ok(text) = std::fs::read_to_string(&path) else { continue };
                    if is_setting {
                        checked(&path, chosen(&text)).unwrap();
                    }
                }
            }
        }
    }
}
