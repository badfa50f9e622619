//! What may help against storms, as a table of named changes: one remedy one file. Each says which
//! settings it needs here, and what the writer does otherwise; it changes nothing itself.
//!
//! A remedy that this machine cannot have says why: it is *not measured*.
//!
//! Sources: Linux Documentation/{block,admin-guide/sysctl/vm.rst,ABI/stable/sysfs-block}; the 1986
//! paper's suggestions (reads first: `mq-deadline`; dribble: `sync-file-range`, `dirty-early`).
//!
//! Non-goals: applying and undoing ([`crate::settings`]).

mod bfq;
mod direct;
mod dirty_early;
mod dirty_limit;
mod fdatasync;
mod few_requests;
mod idle;
mod kyber;
mod mq_deadline;
mod mq_deadline_strict;
mod no_scheduler;
mod permanent;
mod sync_file_range;
mod wbt_off;
mod wbt_tight;

pub use permanent::{Permanent, permanent};

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
}

/// A named change.
#[derive(Debug, Clone, Copy)]
pub struct Remedy {
    /// Its name.
    pub name: &'static str,
    /// What it does, in a line.
    pub meaning: &'static str,
    /// The settings that it needs, in the order in which they are written.
    settings: fn(&Place) -> Result<Vec<Setting>, String>,
    /// What the writer does otherwise.
    pub writer: WriterChange,
    /// What a program does to have it for good, where it is not a setting.
    pub in_program: Option<&'static str>,
}

/// All remedies, those of the disk's queue first.
pub const REMEDIES: [Remedy; 14] = [
    no_scheduler::REMEDY,
    mq_deadline::REMEDY,
    mq_deadline_strict::REMEDY,
    kyber::REMEDY,
    bfq::REMEDY,
    few_requests::REMEDY,
    wbt_tight::REMEDY,
    wbt_off::REMEDY,
    dirty_early::REMEDY,
    dirty_limit::REMEDY,
    sync_file_range::REMEDY,
    fdatasync::REMEDY,
    direct::REMEDY,
    idle::REMEDY,
];

/// What a writer does that nothing was changed in.
const AS_IT_IS: WriterChange = WriterChange { dribble: None, direct: false, priority: None };

impl Remedy {
    /// The one of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        REMEDIES.iter().find(|remedy| remedy.name == name)
    }

    /// The settings that it needs, whether this machine has them or not.
    /// Errors: it needs a disk, and there is none.
    pub fn wanted(&self, place: &Place) -> Result<Vec<Setting>, String> {
        (self.settings)(place)
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

fn nothing(_: &Place) -> Result<Vec<Setting>, String> {
    Ok(vec![])
}

/// A setting of the disk's queue.
fn of_queue(place: &Place, name: &str, value: impl ToString) -> Result<Setting, String> {
    let device = place.device.as_ref().ok_or("no block device can be seen beneath the target")?;
    let queue = PathBuf::from("/sys/block").join(device).join("queue");
    Ok(Setting { path: queue.join(name), value: value.to_string() })
}

/// The disk's scheduler.
fn scheduler(place: &Place, name: &str) -> Result<Setting, String> {
    of_queue(place, "scheduler", name)
}

/// Whether the kernel has that scheduler for the disk.
fn known(setting: &Setting) -> Result<(), String> {
    let name = &setting.value;
    let known = std::fs::read_to_string(&setting.path)
        .map_err(|error| format!("failed to read {}: {error}", setting.path.display()))?;
    let known = known.trim().replace(['[', ']'], "");
    match known.split_whitespace().any(|one| one == name) {
        true => Ok(()),
        false => Err(format!("this kernel has no scheduler {name} for it; it has {known}")),
    }
}

fn of_vm(name: &str, value: u64) -> Setting {
    let path = PathBuf::from("/proc/sys/vm").join(name);
    Setting { path, value: value.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_apart_and_each_changes_something() {
        let place = Place { device: Some("no-such-disk".into()), dirty_bytes: 64 << 20 };
        let mut names: Vec<&str> = REMEDIES.iter().map(|remedy| remedy.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), REMEDIES.len());
        for remedy in &REMEDIES {
            let changes = (remedy.settings)(&place).map_or(true, |settings| !settings.is_empty());
            assert!(changes || remedy.writer != AS_IT_IS, "{}", remedy.name);
            assert_eq!(remedy.in_program.is_some(), remedy.writer != AS_IT_IS, "{}", remedy.name);
            assert!(Remedy::named(remedy.name).is_some() && remedy.meaning.len() < 90);
        }
        assert!(Remedy::named("prayer").is_none());
    }

    #[test]
    fn what_a_machine_has_not_is_told() {
        let place = Place { device: None, dirty_bytes: 1 };
        let of = |name: &str| Remedy::named(name).unwrap().settings(&place).unwrap_err();
        assert!(of("bfq").contains("no block device"), "{}", of("bfq"));
        let place = Place { device: Some("no-such-disk".into()), dirty_bytes: 1 };
        let error = Remedy::named("wbt-off").unwrap().settings(&place).unwrap_err();
        assert!(error.contains("/sys/block/no-such-disk/queue/wbt_lat_usec"), "{error}");
    }
}
