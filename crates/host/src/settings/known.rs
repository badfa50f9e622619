//! Which files of the kernel are settings, and which values they take: a closed table. A path and a
//! value may come from a note, and a note is data: nothing else is ever opened for writing.
//!
//! A file is opened name by name, without links, and it must lie in a file system of the kernel's.
//! The one link on the way, /sys/block/DEVICE, is the kernel's: it must lead to a device of that
//! name below /sys/devices.
//!
//! Sources: Linux Documentation/ABI/stable/sysfs-block, Documentation/block/*-iosched.rst and
//! bfq-iosched.rst, Documentation/admin-guide/sysctl/vm.rst, block/blk-sysfs.c.
//!
//! Non-goals: when a setting is written ([`super::Snapshot`]).

use super::SettingError;
use crate::walk::{Distrust, Trust, walk};
use model::text::visible;
use rustix::fs::{FileType, Mode, OFlags};
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// Which values a file takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Values {
    /// Whole numbers, in decimal.
    Number(i64, i64),
    /// One of these.
    Words(&'static [&'static str]),
    /// One of the words that the file lists.
    Listed,
}
use Values::{Listed, Number, Words};

/// A file's name, and its values.
pub(super) type Row = (&'static str, Values);

const SWITCH: Values = Number(0, 1);
/// Bytes, and numbers without a limit of their own.
const ANY: Values = Number(0, i64::MAX);
/// Times in the kernel's ticks, in ms or in ns, which the kernel keeps in an int.
const TIME: Values = Number(0, i32::MAX as i64);
const PERCENT: Values = Number(0, 100);

/// When dirty pages are written, in /proc/sys/vm.
pub(super) const VM: &[Row] = &[
    ("dirty_background_bytes", ANY),
    ("dirty_background_ratio", PERCENT),
    ("dirty_bytes", ANY),
    ("dirty_ratio", PERCENT),
    ("dirty_expire_centisecs", TIME),
    ("dirty_writeback_centisecs", TIME),
];

/// A device's queue, in the order in which it is put back. Another scheduler resets nr_requests.
pub(super) const QUEUE: &[Row] = &[
    ("scheduler", Listed),
    ("nr_requests", Number(1, 1 << 20)),
    ("add_random", SWITCH),
    ("discard_max_bytes", ANY),
    ("io_poll", SWITCH),
    ("io_poll_delay", Number(-1, i32::MAX as i64)),
    ("io_timeout", Number(1, u32::MAX as i64)),
    ("iostats", SWITCH),
    ("iostats_passthrough", SWITCH),
    ("max_sectors_kb", Number(1, i32::MAX as i64)),
    ("nomerges", Number(0, 2)),
    ("read_ahead_kb", Number(0, u32::MAX as i64)),
    ("rotational", SWITCH),
    ("rq_affinity", Number(0, 2)),
    ("stable_writes", SWITCH),
    ("throttle_sample_time", TIME),
    ("wbt_lat_usec", ANY),
    ("write_cache", Words(&["write back", "write through"])),
    ("write_zeroes_unmap_max_bytes", ANY),
];

/// The schedulers' own: mq-deadline, kyber, bfq.
pub(super) const SCHEDULER: &[Row] = &[
    ("async_depth", Number(1, 1 << 20)),
    ("fifo_batch", TIME),
    ("front_merges", SWITCH),
    ("prio_aging_expire", TIME),
    ("read_expire", TIME),
    ("write_expire", TIME),
    ("writes_starved", TIME),
    ("read_lat_nsec", ANY),
    ("write_lat_nsec", ANY),
    ("back_seek_max", TIME),
    ("back_seek_penalty", TIME),
    ("fifo_expire_async", TIME),
    ("fifo_expire_sync", TIME),
    ("low_latency", SWITCH),
    ("max_budget", TIME),
    ("slice_idle", TIME),
    ("slice_idle_us", TIME),
    ("strict_guarantees", SWITCH),
    ("timeout_sync", TIME),
];

/// sysfs, procfs (include/uapi/linux/magic.h).
const OF_THE_KERNEL: &[u64] = &[0x6265_6572, 0x9fa0];
/// No setting is longer.
const MOST_BYTES: u64 = 4096;

/// The machine whose settings are meant: this one, or a test's.
#[derive(Debug, Clone, Copy)]
pub(super) struct Machine<'a> {
    /// Where its /proc and /sys are.
    pub(super) root: &'a Path,
    /// What the file systems are that a setting may lie in (statfs(2)).
    pub(super) file_systems: &'a [u64],
}

impl Machine<'static> {
    /// This machine.
    pub(super) fn this() -> Self {
        Self { root: Path::new("/"), file_systems: OF_THE_KERNEL }
    }
}

/// A file of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Known<'a> {
    /// The device, where it is a device's.
    device: Option<&'a str>,
    /// The directory, below the machine's root or below the device's.
    directory: &'static str,
    name: &'static str,
    values: Values,
}

impl<'a> Known<'a> {
    /// The file of a path; none where the table has no such file.
    pub(super) fn of(path: &'a Path) -> Option<Self> {
        let text = path.to_str()?;
        let row = |table: &'static [Row], name: &str| {
            table.iter().find(|(known, _)| *known == name).copied()
        };
        if let Some(name) = text.strip_prefix("/proc/sys/vm/") {
            let (name, values) = row(VM, name)?;
            return Some(Self { device: None, directory: "proc/sys/vm", name, values });
        }
        let (device, rest) = text.strip_prefix("/sys/block/")?.split_once("/queue/")?;
        let (directory, (name, values)) = match rest.strip_prefix("iosched/") {
            Some(name) => ("queue/iosched", row(SCHEDULER, name)?),
            None => ("queue", row(QUEUE, rest)?),
        };
        is_device_name(device).then_some(Self { device: Some(device), directory, name, values })
    }

    /// Whether a value may ever stand in it: what the file lists is looked at when it is open.
    pub(super) fn may_be(&self, value: &str) -> bool {
        match self.values {
            // As the kernel prints a number: no sign but a minus, no space, no zero in front.
            Number(least, most) => value.parse::<i64>().is_ok_and(|number| {
                (least..=most).contains(&number) && number.to_string() == value
            }),
            Words(words) => words.contains(&value),
            Listed => {
                let is_of_word = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
                (1..=32).contains(&value.len()) && value.bytes().all(is_of_word)
            }
        }
    }

    /// Opens it to write that value.
    /// Errors: the file is not there or cannot be opened; it takes no such value.
    pub(super) fn open_for(self, value: &str, machine: Machine<'_>) -> io::Result<File> {
        let is_listed = || {
            let text = self.read(machine)?;
            Ok::<_, io::Error>(text.replace(['[', ']'], " ").split_whitespace().any(|w| w == value))
        };
        if !self.may_be(value) || self.values == Listed && !is_listed()? {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the file takes no such value",
            ));
        }
        self.open(machine, OFlags::WRONLY | OFlags::TRUNC)
    }

    /// What stands in it.
    /// Errors: a file that is not there or cannot be read.
    pub(super) fn read(self, machine: Machine<'_>) -> io::Result<String> {
        let mut text = String::new();
        let file = self.open(machine, OFlags::RDONLY)?;
        file.take(MOST_BYTES).read_to_string(&mut text)?;
        Ok(text)
    }

    /// Whether it can be written at all.
    pub(super) fn is_writable(self, machine: Machine<'_>) -> bool {
        let stat = self.open(machine, OFlags::PATH).and_then(|file| Ok(rustix::fs::fstat(file)?));
        stat.is_ok_and(|stat| stat.st_mode & 0o200 != 0)
    }

    fn open(self, machine: Machine<'_>, flags: OFlags) -> io::Result<File> {
        let above = match self.device {
            None => machine.root.to_owned(),
            Some(device) => device_directory(machine.root, device)?,
        };
        let directory = walk(&above.join(self.directory), Trust::NoLinks).map_err(io_error)?;
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::openat(directory, self.name, flags, Mode::empty())?;
        let kind = FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode);
        let system = u64::try_from(rustix::fs::fstatfs(&file)?.f_type);
        let is_the_kernels = system.is_ok_and(|system| machine.file_systems.contains(&system));
        match kind == FileType::RegularFile && is_the_kernels {
            true => Ok(file.into()),
            false => Err(io::Error::other("the file is not the kernel's")),
        }
    }
}

/// As the kernel names devices: one name, which leads nowhere else.
fn is_device_name(name: &str) -> bool {
    let is_of_name = |byte: u8| byte.is_ascii_graphic() && byte != b'/';
    (1..=64).contains(&name.len()) && name.bytes().all(is_of_name) && !matches!(name, "." | "..")
}

/// Where the kernel has a device.
fn device_directory(root: &Path, device: &str) -> io::Result<PathBuf> {
    let path = root.join("sys/block").join(device).canonicalize()?;
    let devices = root.join("sys/devices");
    // Kernels with CONFIG_SYSFS_DEPRECATED have directories there.
    let is_there = path.starts_with(devices) || path.starts_with(root.join("sys/block"));
    match is_there && path.file_name().is_some_and(|name| name == device) {
        true => Ok(path),
        false => Err(io::Error::other("the kernel has no such device")),
    }
}

fn io_error(error: Distrust) -> io::Error {
    match error {
        Distrust::Io { source, .. } => source,
        foreign @ Distrust::Foreign { .. } => io::Error::other(foreign.to_string()),
    }
}

/// The file of a path and a value that may stand in it.
/// Errors: a path that is none of the table's; a value that the file never takes.
pub(super) fn checked<'a>(path: &'a Path, value: &str) -> Result<Known<'a>, SettingError> {
    let path_shown = || shown(&path.to_string_lossy());
    let known = Known::of(path).ok_or_else(|| SettingError::Unknown { path: path_shown() })?;
    match known.may_be(value) {
        true => Ok(known),
        false => Err(SettingError::Value { path: path_shown(), value: shown(value) }),
    }
}

/// A foreign text in a sentence: short, on one line.
fn shown(text: &str) -> String {
    const MOST: usize = 80;
    let short: String = text.chars().take(MOST).collect();
    let end = if text.chars().nth(MOST).is_some() { "…" } else { "" };
    format!("{}{end}", visible(&short))
}
