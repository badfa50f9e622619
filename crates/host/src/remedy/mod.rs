//! What may help against storms, as a table of named changes ([`REMEDIES`]). Each says which
//! settings it needs here, and what the writer does otherwise; it changes nothing itself.
//!
//! A remedy that this machine cannot have says why: it is *not measured*.
//!
//! Sources: Linux Documentation/{block,admin-guide/sysctl/vm.rst,ABI/stable/sysfs-block}; the 1986
//! paper's suggestions (reads first: `mq-deadline`; dribble: `sync-file-range`, `dirty-early`).
//!
//! Non-goals: applying and undoing ([`crate::settings`]).

mod permanent;
mod table;

pub use permanent::{Permanent, permanent};
pub use table::REMEDIES;

use crate::group::{self, Limit};
use crate::settings::Setting;
use model::workload::WriterChange;
use std::path::PathBuf;

/// Where a remedy is to help.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The disk, by its kernel name; none where no block device can be seen.
    pub device: Option<String>,
    /// Bytes that the writer dirties from one sync to the next.
    pub dirty_bytes: u64,
    /// From one sync to the next, ns.
    pub period_ns: u64,
    /// The root directory of the target's file system, if lbolt made it; nobody else's is mounted
    /// otherwise.
    pub mounted: Option<PathBuf>,
}

/// What a remedy changes: two of one kind exclude each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The disk's scheduler.
    Scheduler,
    /// How many requests wait in the queue.
    QueueLength,
    /// The throttling of writeback.
    Throttling,
    /// When dirty pages are written.
    DirtyPages,
    /// What is read beyond what was requested.
    ReadAhead,
    /// An option of the mount.
    Mount,
    /// A limit of the writer's cgroup.
    Group,
    /// What the writer does.
    Writer,
    /// How urgent the writer's requests are.
    Priority,
}

/// A mount option, and the one that undoes it where the mount was made with neither.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MountOption {
    /// The option.
    pub set: &'static str,
    /// How it is otherwise.
    pub otherwise: &'static str,
}

/// A setting that a remedy needs, and its value.
#[derive(Debug, Clone, Copy)]
enum Change {
    /// The disk's scheduler.
    Scheduler(&'static str),
    /// A setting of the disk's queue.
    Queue(&'static str, u64),
    /// A setting of the kernel's memory (vm), which depends on the load.
    Vm(&'static str, fn(&Place) -> u64),
}

impl Change {
    /// Errors: it needs a disk, and there is none.
    fn at(self, place: &Place) -> Result<Setting, String> {
        let of_queue = |name: &str, value: String| {
            let path = disk(place)?.join("queue").join(name);
            Ok(Setting { path, value })
        };
        match self {
            Self::Scheduler(name) => of_queue("scheduler", name.to_owned()),
            Self::Queue(name, value) => of_queue(name, value.to_string()),
            Self::Vm(name, value) => {
                let path = PathBuf::from("/proc/sys/vm").join(name);
                Ok(Setting { path, value: value(place).to_string() })
            }
        }
    }
}

/// A named change.
#[derive(Debug, Clone, Copy)]
pub struct Remedy {
    /// Its name.
    pub name: &'static str,
    /// What it does, in a line.
    pub meaning: &'static str,
    /// What it changes.
    pub kind: Kind,
    /// The settings that it needs, in the order in which they are written.
    settings: &'static [Change],
    /// What the writer does otherwise.
    pub writer: WriterChange,
    /// What a program does to have it for good, where it is not a setting.
    pub in_program: Option<&'static str>,
    /// The mount option that it changes.
    pub mount: Option<MountOption>,
    /// The limits of the writer's cgroup.
    group: fn(&Place) -> Result<Vec<Limit>, String>,
    /// What has it for good where it is neither a setting nor a change of the program.
    pub by_hand: Option<&'static str>,
}

/// What a remedy is that changes nothing.
const NOTHING: Remedy = Remedy {
    name: "",
    meaning: "",
    kind: Kind::Writer,
    settings: &[],
    writer: AS_IT_IS,
    in_program: None,
    mount: None,
    group: |_| Ok(vec![]),
    by_hand: None,
};

/// What a writer does that nothing was changed in.
const AS_IT_IS: WriterChange = WriterChange { dribble: None, direct: false, priority: None };

impl Remedy {
    /// The one of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        REMEDIES.iter().find(|remedy| remedy.name == name)
    }

    /// Whether only root may have it: it changes more than what the writer itself does.
    pub fn needs_root(&self) -> bool {
        !matches!(self.kind, Kind::Writer | Kind::Priority)
    }

    /// The limits of the writer's cgroup that it needs here.
    /// Errors: why this machine cannot have it.
    pub fn limits(&self, place: &Place) -> Result<Vec<Limit>, String> {
        (self.group)(place)
    }

    /// The settings that it needs, whether this machine has them or not.
    /// Errors: it needs a disk, and there is none.
    pub fn wanted(&self, place: &Place) -> Result<Vec<Setting>, String> {
        self.settings.iter().map(|change| change.at(place)).collect()
    }

    /// The settings that it needs here.
    /// Errors: why this machine cannot have it.
    pub fn settings(&self, place: &Place) -> Result<Vec<Setting>, String> {
        let settings = self.wanted(place)?;
        settings
            .iter()
            .filter(|setting| setting.path.ends_with("scheduler"))
            .try_for_each(known)?;
        let missing =
            settings.iter().find(|setting| !setting.path.exists() && !is_tunable(setting));
        match missing {
            None => Ok(settings),
            Some(setting) => Err(format!("this kernel has no {}", setting.path.display())),
        }
    }
}

/// What is there only when its scheduler is.
fn is_tunable(setting: &Setting) -> bool {
    setting.path.parent().is_some_and(|parent| parent.ends_with("iosched"))
}

/// The kernel takes no dirty limit below two pages; a megabyte is small enough anywhere.
const PAGES_LEAST: u64 = 1 << 20;

/// The disk, as sysfs has it.
fn disk(place: &Place) -> Result<PathBuf, String> {
    let device = place.device.as_ref().ok_or("no block device is visible under the target")?;
    Ok(PathBuf::from("/sys/block").join(device))
}

/// Whether the kernel has that scheduler for the disk.
fn known(setting: &Setting) -> Result<(), String> {
    let name = &setting.value;
    let known = std::fs::read_to_string(&setting.path)
        .map_err(|error| format!("failed to read {}: {error}", setting.path.display()))?;
    let known = known.trim().replace(['[', ']'], "");
    match known.split_whitespace().any(|one| one == name) {
        true => Ok(()),
        false => Err(format!(
            "this kernel does not offer the scheduler {name} for the disk; it \
                              offers {known}"
        )),
    }
}

/// The disk's two numbers, as a cgroup's limits name it.
fn numbers(place: &Place) -> Result<String, String> {
    let path = disk(place)?.join("dev");
    let text = std::fs::read_to_string(&path);
    let text = text.map_err(|error| format!("failed to read {}: {error}", path.display()))?;
    Ok(text.trim().to_owned())
}

/// A limit of a cgroup, if this machine has a controller whose file it is.
fn limit(file: &'static str, value: String) -> Result<Vec<Limit>, String> {
    group::has(file)?;
    Ok(vec![Limit { file, value }])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(device: Option<&str>) -> Place {
        let device = device.map(str::to_owned);
        Place { device, dirty_bytes: 64 << 20, period_ns: 1_000_000_000, mounted: None }
    }

    #[test]
    fn names_are_apart_and_each_changes_something() {
        let place = place(Some("no-such-disk"));
        let mut names: Vec<&str> = REMEDIES.iter().map(|remedy| remedy.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), REMEDIES.len());
        for remedy in &REMEDIES {
            let changes = remedy.wanted(&place).map_or(true, |settings| !settings.is_empty());
            let is_else = remedy.mount.is_some() || remedy.kind == Kind::Group;
            assert!(changes || remedy.writer != AS_IT_IS || is_else, "{}", remedy.name);
            assert!(!is_else || remedy.by_hand.is_some(), "{}", remedy.name);
            assert_eq!(remedy.in_program.is_some(), remedy.writer != AS_IT_IS, "{}", remedy.name);
            assert!(Remedy::named(remedy.name).is_some() && remedy.meaning.len() < 90);
        }
        assert!(Remedy::named("prayer").is_none());
    }

    #[test]
    fn what_a_machine_has_not_is_told() {
        let nowhere = place(None);
        let of = |name: &str| Remedy::named(name).unwrap().settings(&nowhere).unwrap_err();
        assert!(of("bfq").contains("no block device"), "{}", of("bfq"));
        let place = place(Some("no-such-disk"));
        let error = Remedy::named("wbt-off").unwrap().settings(&place).unwrap_err();
        assert!(error.contains("/sys/block/no-such-disk/queue/wbt_lat_usec"), "{error}");
    }
}
