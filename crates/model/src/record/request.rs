//! A request: one row for each that was made, or given to a device (schema `lbolt.requests/1`).
//!
//! The rows of a flush sequence: the request as it was made has a row of its own, which is
//! never issued, and the preflush, data and postflush that the device was given for it are rows
//! with its number as `parent_id`. Hence two rules: *what was requested* are the rows without a
//! parent; *what the device did* are the rows with `issued_ns`.
//!
//! Where devices lie on others (device mapper, md), a request to the upper one makes requests to
//! those beneath, whose rows have its number as `above_id`. What was requested of such a stack as a
//! whole are the rows without either.
//!
//! Times are in ns since the run's start. What a source cannot know is null, never zero.
//!
//! Non-goals: files of requests (`super::requests`); derived columns (response time, depth, seeks
//! are views of the analysis, so that they cannot disagree with these).

use crate::named::named;

named! {
    /// What a request does.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
    #[repr(u8)]
    pub enum Op[5] {
        /// Data from the device.
        #[default]
        Read = "read",
        /// Data to the device.
        Write = "write",
        /// Make what was written durable; it moves no data and has no place.
        Flush = "flush",
        /// Forget a range (also secure erase and write zeroes).
        Discard = "discard",
        /// Anything else: zone management, driver commands.
        Other = "other",
    }
}

/// What is known of a request besides its operation: a set of bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Flags(pub u16);

impl Flags {
    /// Somebody waits for it.
    pub const SYNC: Self = Self(1);
    /// A file system's own data.
    pub const META: Self = Self(1 << 1);
    /// Submitted by the page cache's read-ahead, which also reads the page that was requested
    /// (mm/readahead.c).
    pub const READAHEAD: Self = Self(1 << 2);
    /// To be on the medium before it is completed.
    pub const FUA: Self = Self(1 << 3);
    /// To or from swap space.
    pub const SWAP: Self = Self(1 << 4);
    /// Written back in the background.
    pub const BACKGROUND: Self = Self(1 << 5);
    /// Past the page cache, as far as the block layer can tell.
    pub const DIRECT: Self = Self(1 << 6);
    /// Made of more than one that was queued.
    pub const MERGED: Self = Self(1 << 7);
    /// Made by this program; left out of every figure.
    pub const OWN: Self = Self(1 << 8);
    /// What was written before is to be durable first.
    pub const PREFLUSH: Self = Self(1 << 9);
    /// Requested by a job of the run that it was captured in: its operations wait for it.
    pub const JOB: Self = Self(1 << 10);
    /// Held back by a limit of its cgroup before it was queued.
    pub const THROTTLED: Self = Self(1 << 11);
    /// Its page had been in memory and was evicted (the kernel's refault, mm/workingset.c).
    pub const REFAULTED: Self = Self(1 << 12);
    /// The same: the process that reads it had needed memory, and evicted it itself.
    pub const EVICTED_ITSELF: Self = Self(1 << 13);

    /// The bits with their names and meanings, in order.
    pub const ALL: [(Self, &'static str, &'static str); 14] = [
        (Self::SYNC, "sync", "a thread waits for the request"),
        (Self::META, "meta", "file system metadata"),
        (
            Self::READAHEAD,
            "readahead",
            "read by the page cache's read-ahead: the pages asked for and those behind them",
        ),
        (Self::FUA, "fua", "on the medium before completion"),
        (Self::SWAP, "swap", "to or from swap space"),
        (Self::BACKGROUND, "background", "background writeback"),
        (Self::DIRECT, "direct", "past the page cache, as far as the block layer can tell"),
        (Self::MERGED, "merged", "made of several queued requests"),
        (Self::OWN, "own", "made by lbolt itself; excluded from every figure"),
        (Self::PREFLUSH, "preflush", "earlier writes must be durable first"),
        (Self::JOB, "job", "made by a job of the run itself (--trace)"),
        (Self::THROTTLED, "throttled", "held back by a cgroup limit before it was queued"),
        (Self::REFAULTED, "refaulted", "reads a page again that had been evicted from memory"),
        (
            Self::EVICTED_ITSELF,
            "evicted-itself",
            "refaulted, and it was the reading process that evicted the page",
        ),
    ];

    /// Whether all bits of `other` are set.
    #[inline]
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// With the bits of `other` if `condition` holds.
    #[inline]
    #[must_use]
    pub fn with(self, other: Self, condition: bool) -> Self {
        if condition { self | other } else { self }
    }
}

impl std::ops::BitOr for Flags {
    type Output = Self;
    #[inline]
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl std::ops::BitOrAssign for Flags {
    #[inline]
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

named! {
    /// What the data of a request belongs to.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    #[repr(u8)]
    pub enum FileKind[4] {
        /// A regular file.
        Regular = "regular",
        /// A file system's journal or log.
        Journal = "journal",
        /// A file system's own data.
        Metadata = "metadata",
        /// The device by name, or a file system's own data through the device's page cache.
        Device = "device",
    }
}

/// What identifies a file on this machine, also after it was removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileNumber {
    /// The file system's device number, as stat(2) has it, in the kernel's form.
    pub file_system: u32,
    /// Its inode; 0 of what is no regular file.
    pub inode: u64,
    /// Tells files apart that have had the same inode; 0 where the file system does not.
    pub generation: u32,
}

/// What a request's data belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileKey {
    /// What it is.
    pub kind: FileKind,
    /// Which one.
    pub number: FileNumber,
}

/// By which functions a thread came to queue a request: numbers of stacks of the trace
/// ([`super::Stack`]); 0 where one is not known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Stacks {
    /// The kernel's.
    pub kernel: u32,
    /// The program's own.
    pub user: u32,
}

/// A command's name by its number in a [`Commands`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CommandId(pub u32);

/// Names of commands that are kept at the most, and what all beyond these are called.
const COMMANDS_MOST: usize = 1 << 16;
const OTHER_COMMANDS: &[u8] = b"(other commands)";

/// Names of commands, each kept once.
#[derive(Debug, Clone, Default)]
pub struct Commands {
    names: Vec<String>,
    numbers: std::collections::HashMap<Box<[u8]>, CommandId>,
    /// The last one requested: commands come in runs.
    last: Option<(Box<[u8]>, CommandId)>,
}

impl Commands {
    /// The number of a name; what is not UTF-8 in it is replaced.
    pub fn number(&mut self, name: &[u8]) -> CommandId {
        match &self.last {
            Some((last, number)) if **last == *name => return *number,
            _ => {}
        }
        let number = match self.numbers.get(name) {
            Some(number) => *number,
            None if self.names.len() >= COMMANDS_MOST && name != OTHER_COMMANDS => {
                return self.number(OTHER_COMMANDS);
            }
            None => {
                let number = CommandId(self.names.len() as u32);
                self.names.push(String::from_utf8_lossy(name).into_owned());
                self.numbers.insert(name.into(), number);
                number
            }
        };
        self.last = Some((name.into(), number));
        number
    }

    /// The name of a number.
    pub fn name(&self, number: CommandId) -> &str {
        self.names.get(number.0 as usize).map_or("", String::as_str)
    }

    /// All names, in the order of their numbers.
    pub fn names(&self) -> &[String] {
        &self.names
    }
}

/// One request. The columns' meanings are in docs/records.md.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "each field is described where its column is declared")]
pub struct Request {
    pub request_id: u64,
    pub device: u32,
    pub op: Op,
    pub flags: Flags,
    pub offset_bytes: Option<u64>,
    pub length_bytes: u32,
    pub queued_ns: Option<i64>,
    pub started_ns: Option<i64>,
    pub issued_ns: Option<i64>,
    pub completed_ns: Option<i64>,
    pub completed_by_ns: Option<i64>,
    pub error: i32,
    pub cpu: Option<u16>,
    pub pid: Option<u32>,
    pub cgroup: Option<u64>,
    pub command: Option<CommandId>,
    pub parent_id: Option<u64>,
    pub above_id: Option<u64>,
    /// Columns `file_kind`, `file_system` and `inode`.
    pub file: Option<FileKey>,
    pub stacks: Stacks,
}

impl Request {
    /// The first moment known of it: rows are sorted by it.
    #[inline]
    pub fn arrival_ns(&self) -> Option<i64> {
        self.queued_ns.or(self.started_ns).or(self.issued_ns).or(self.completed_ns)
    }

    /// Its times from a moment of the trace instead of its beginning.
    #[must_use]
    pub fn counted_from(mut self, zero_ns: i64) -> Self {
        self.count_from(zero_ns);
        self
    }

    /// The same where the row lies.
    #[inline]
    pub fn count_from(&mut self, zero_ns: i64) {
        let Self { queued_ns, started_ns, issued_ns, completed_ns, completed_by_ns, .. } = self;
        for time in [queued_ns, started_ns, issued_ns, completed_ns, completed_by_ns] {
            *time = time.map(|ns| ns.saturating_sub(zero_ns));
        }
    }

    /// Whether somebody asked for it: it is no part of a flush sequence, and serves no request of a
    /// device above.
    #[inline]
    pub fn is_asked(&self) -> bool {
        self.parent_id.is_none() && self.above_id.is_none()
    }

    /// Bytes that it reads or writes. A discard moves none: as in iostat, its bytes are told by
    /// themselves.
    #[inline(always)]
    pub fn moved_bytes(&self) -> u64 {
        if self.op == Op::Discard { 0 } else { u64::from(self.length_bytes) }
    }

    /// A completion whose request was never seen.
    #[inline]
    pub fn is_orphan(&self) -> bool {
        self.queued_ns.is_none() && self.started_ns.is_none() && self.issued_ns.is_none()
    }
}
