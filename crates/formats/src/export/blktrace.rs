//! blktrace's binary files, version 7 (include/uapi/linux/blktrace_api.h): `NAME.blktrace.CPU`, one
//! a CPU, for blkparse, btt, iowatcher and fio.
//!
//! A step is a record of 48 bytes. The wall clock and the names of processes go ahead of the steps
//! as notes, the former at the beginning, the latter as processes are met. Little endian, as the
//! magic number tells.
//!
//! A file for CPU 0 is always there: blkparse looks for it. Rows whose CPU is not known are on it.

use super::output::Output;
use super::steps::{Action, Shown, each_step};
use super::{ExportError, ExportFormat, ExportRows, Missing};
use model::record::{CommandId, Flags, Op};
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{Immutable, IntoBytes};

const MAGIC: u32 = 0x6561_7400 | 7;

// What actions are about, in the high half of the action.
const READ: u32 = 1 << 16;
const WRITE: u32 = 1 << 17;
const FLUSH: u32 = 1 << 18;
const SYNC: u32 = 1 << 19;
const QUEUE: u32 = 1 << 20;
const ISSUE: u32 = 1 << 22;
const COMPLETE: u32 = 1 << 23;
const FILE_SYSTEM: u32 = 1 << 24;
const NOTIFY: u32 = 1 << 26;
const AHEAD: u32 = 1 << 27;
const META: u32 = 1 << 28;
const DISCARD: u32 = 1 << 29;
const FUA: u32 = 1 << 31;

/// A note with the name of a process.
const PROCESS: u32 = NOTIFY;
/// A note with the wall clock at time zero.
const TIMESTAMP: u32 = 1 | NOTIFY;
/// A name's length, its end included.
const NAME_BYTES: usize = 16;

/// The bits of flags that have one.
const BITS: [(Flags, u32); 5] = [
    (Flags::SYNC, SYNC),
    (Flags::META, META),
    (Flags::READAHEAD, AHEAD),
    (Flags::FUA, FUA),
    (Flags::PREFLUSH, FLUSH),
];

pub(super) const FLAGS: Flags =
    Flags(Flags::SYNC.0 | Flags::META.0 | Flags::READAHEAD.0 | Flags::FUA.0 | Flags::PREFLUSH.0);

/// What blktrace cannot show.
pub(super) const LACKS: &[&[Missing]] = &[&[
    Missing::Other,
    Missing::Placeless,
    Missing::Parent,
    Missing::Cgroup,
    Missing::NamelessCommand,
    Missing::Sectors,
    Missing::DeviceName,
]];

pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "blktrace",
    meaning: "blktrace's binary files, one a CPU: for blkparse, btt, iowatcher, fio",
    lacks: LACKS,
    flags: FLAGS,
    replaces: false,
    write,
};

fn write(rows: &mut ExportRows<'_>, output: &Path) -> Result<(), ExportError> {
    refuse_others(output)?;
    let mut files = Files { output: output.to_owned(), of_cpus: BTreeMap::new() };
    let mut names: HashMap<u32, CommandId> = HashMap::new();
    let begin = files.of(0, rows)?;
    if let Some(note) = rows.provenance().started_unix_ns.and_then(timestamp) {
        begin.bytes(&note)?;
    }
    each_step(rows, |shown, rows| {
        let file = files.of(shown.cpu, rows)?;
        let known = shown.row.command.filter(|_| shown.action != Action::Complete);
        if let (Some(pid), Some(command)) = (shown.row.pid, known)
            && names.insert(pid, command) != Some(command)
        {
            file.bytes(&process(pid, shown, rows.commands().name(command)))?;
        }
        file.bytes(&record(shown))
    })?;
    std::mem::take(&mut files.of_cpus).into_values().try_for_each(|file| rows.finish(file))
}

/// Files of an earlier trace under this name would be read as CPUs of this one.
fn refuse_others(output: &Path) -> Result<(), ExportError> {
    let directory = output.parent().filter(|p| !p.as_os_str().is_empty());
    let mut beginning = output.file_name().unwrap_or_default().to_owned();
    beginning.push(".blktrace.");
    let Ok(entries) = directory.unwrap_or(Path::new(".")).read_dir() else { return Ok(()) };
    let is_of_it = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        name.starts_with(beginning.as_encoded_bytes())
    };
    match entries.flatten().map(|entry| entry.path()).find(is_of_it) {
        Some(path) => Err(ExportError::Exists { path }),
        None => Ok(()),
    }
}

#[derive(Debug)]
struct Files {
    output: PathBuf,
    of_cpus: BTreeMap<u16, Output>,
}

impl Files {
    fn path(&self, cpu: u16) -> PathBuf {
        let mut name = OsString::from(&self.output);
        name.push(format!(".blktrace.{cpu}"));
        name.into()
    }

    fn of(&mut self, cpu: u16, rows: &ExportRows<'_>) -> Result<&mut Output, ExportError> {
        let path = self.path(cpu);
        match self.of_cpus.entry(cpu) {
            std::collections::btree_map::Entry::Occupied(file) => Ok(file.into_mut()),
            std::collections::btree_map::Entry::Vacant(place) => {
                Ok(place.insert(rows.create(&path)?))
            }
        }
    }
}

/// `blk_io_trace`.
#[derive(Debug, Default, IntoBytes, Immutable)]
#[repr(C)]
struct Record {
    magic: U32,
    sequence: U32,
    time_ns: U64,
    sector: U64,
    bytes: U32,
    action: U32,
    pid: U32,
    device: U32,
    cpu: U32,
    error: U16,
    payload_bytes: U16,
}

impl Record {
    /// A record, and what comes behind it.
    fn with(self, payload: &[u8]) -> Vec<u8> {
        let payload_bytes = (payload.len() as u16).into();
        let record = Self { magic: MAGIC.into(), payload_bytes, ..self };
        [record.as_bytes(), payload].concat()
    }
}

fn record(shown: &Shown) -> Vec<u8> {
    let what = match shown.action {
        Action::Queue => 1 | QUEUE,
        Action::Start => 4 | QUEUE,
        Action::Issue => 7 | ISSUE | FILE_SYSTEM,
        Action::Complete => 8 | COMPLETE | FILE_SYSTEM,
    };
    let op = match shown.row.op {
        Op::Read | Op::Other => READ,
        Op::Write => WRITE,
        // As the kernel counts directions: what does not write reads.
        Op::Flush => FLUSH | READ,
        Op::Discard => DISCARD | WRITE,
    };
    let bits = BITS.iter().filter(|(flag, _)| shown.row.flags.contains(*flag));
    let record = Record {
        sequence: shown.sequence.into(),
        time_ns: shown.time_ns.into(),
        sector: shown.sector().into(),
        bytes: shown.bytes().into(),
        action: bits.fold(what | op, |sum, (_, bit)| sum | bit).into(),
        pid: shown.pid().into(),
        device: shown.row.device.into(),
        cpu: u32::from(shown.cpu).into(),
        error: shown.error().into(),
        ..Record::default()
    };
    record.with(&[])
}

fn process(pid: u32, shown: &Shown, name: &str) -> Vec<u8> {
    let mut payload = [0; NAME_BYTES];
    let length = name.len().min(NAME_BYTES - 1);
    payload[..length].copy_from_slice(&name.as_bytes()[..length]);
    let note = Record {
        time_ns: shown.time_ns.into(),
        action: PROCESS.into(),
        pid: pid.into(),
        device: shown.row.device.into(),
        cpu: u32::from(shown.cpu).into(),
        ..Record::default()
    };
    note.with(&payload)
}

/// None before 1970 and after 2106.
fn timestamp(unix_ns: i64) -> Option<Vec<u8>> {
    let seconds = u32::try_from(unix_ns.div_euclid(1_000_000_000)).ok()?;
    let rest = unix_ns.rem_euclid(1_000_000_000) as u32;
    let payload = [seconds, rest].map(u32::to_le_bytes).concat();
    Some(Record { action: TIMESTAMP.into(), ..Record::default() }.with(&payload))
}
