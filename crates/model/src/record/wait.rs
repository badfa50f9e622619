//! Waits of threads that could not be interrupted: for storage, or for somebody who waited for it.
//! What makes no request and no call that is known, stands here alone: a write that is throttled
//! because there are too many dirty pages, a journal that is being committed, a lock.
//!
//! Times are in ns since the run's start, on the clock of the requests.
//!
//! A thread that can be interrupted (a pipe, a socket, a lock of programs) waits while who will
//! wake it does so.
//!
//! Non-goals: waits for a CPU; sleeps that nobody ended who had waited himself.
use std::borrow::Cow;

use super::FileNumber;
use super::column::{Column, Record, column};
use crate::named::named;

/// What is waited for, as the functions of the stack tell it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WaitKind {
    /// Something that no function of the table tells.
    #[default]
    Other,
    /// Fewer dirty pages, of the machine, of a device or of a cgroup.
    Throttling,
    /// A journal's transaction: it is being locked, or the log is full, or a commit is writing a
    /// block of metadata.
    Journal,
    /// A lock of a file or a file system.
    Lock,
    /// A page that is on its way to the device, and may not be changed meanwhile.
    Writeback,
    /// A page that is being read, by this thread or by another.
    PageRead,
    /// A place in the queue of requests: a tag, writeback throttling (wbt); or a block of
    /// metadata.
    Request,
    /// A direct request of its own, or an asynchronous one.
    DirectIo,
    /// A cgroup's limit of requests or bytes.
    Limit,
    /// A call that makes files durable.
    Call,
    /// Memory that must first be written elsewhere.
    Reclaim,
    /// A page that was swapped out.
    Swap,
    /// A file system of the network, or one that a program serves.
    Network,
    /// Another thread, which waited itself, and woke this one then.
    Thread,
}

named!(WaitKind {
    Other "other",
    Throttling "dirty throttling",
    Journal "journal",
    Lock "lock",
    Writeback "page writeback",
    PageRead "page read",
    Request "request",
    DirectIo "direct I/O",
    Limit "cgroup limit",
    Call "sync call",
    Reclaim "memory reclaim",
    Swap "swap",
    Network "network file system",
    Thread "thread"
});

/// What is waited for, as a sentence has it behind *waiting for*, by its name in findings and
/// rollups: reads, a kind of these waits, or a call, which is called what it is called.
pub fn waited_for(wait: &str) -> Cow<'_, str> {
    if let Some(role) = wait.strip_prefix(WAIT_FOR_THREAD) {
        return format!("{role}, itself waiting,").into();
    }
    let kind = || WaitKind::ALL.iter().find(|(_, name)| *name == wait);
    Cow::Borrowed(match wait {
        "read" => "reads",
        "direct write" => "direct writes",
        "flush" => "flushes",
        _ => kind().map_or(wait, |(kind, _)| kind.words()),
    })
}

/// A wait for a thread is called so, with that thread's role behind it.
pub const WAIT_FOR_THREAD: &str = "thread of ";

impl WaitKind {
    fn words(self) -> &'static str {
        match self {
            Self::Throttling => "dirty pages to be written",
            Self::Journal => "the journal",
            Self::Lock => "locks",
            Self::Writeback => "the writeback of pages",
            Self::PageRead => "pages that others read",
            Self::Request => "the queue of requests",
            Self::DirectIo => "direct I/O",
            Self::Limit => "a cgroup's limit",
            Self::Reclaim => "memory to be freed",
            Self::Swap => "swapped-out memory",
            Self::Call => "calls that make files durable",
            Self::Network => "a network file system",
            Self::Thread => "a thread that waited itself",
            Self::Other => "something else in the kernel",
        }
    }
}

/// Shorter waits are not told, in ns.
pub const WAIT_LEAST_NS: i64 = 1_000_000;

/// One wait.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "each field is described where its column is declared")]
pub struct Wait {
    pub kind: WaitKind,
    pub file_system: u64,
    pub inode: u64,
    pub generation: u64,
    pub pid: u64,
    pub command: String,
    pub begin_ns: i64,
    pub end_ns: i64,
    pub for_request: u64,
    pub holder: u64,
    pub in_transaction: u64,
    pub stack: u64,
}

impl Wait {
    /// The file that its system call was for.
    pub fn file(&self) -> FileNumber {
        let (file_system, generation) = (self.file_system as u32, self.generation as u32);
        FileNumber { file_system, inode: self.inode, generation }
    }

    /// Its times from a moment of the trace instead of its beginning.
    #[must_use]
    pub fn counted_from(self, zero_ns: i64) -> Self {
        let begin_ns = self.begin_ns.saturating_sub(zero_ns);
        let end_ns = self.end_ns.saturating_sub(zero_ns);
        Self { begin_ns, end_ns, ..self }
    }
}

impl Record for Wait {
    const SCHEMA: &'static str = "lbolt.waits/1";

    fn columns() -> Vec<Column<Self>> {
        vec![
            column!(Wait, kind: WaitKind, "what the thread waited for, by the functions on its \
                stack; thread: for another thread that waited itself"),
            column!(Wait, file_system: u64, "device number of the file system whose file the \
                thread's system call was for; 0: unknown"),
            column!(Wait, inode: u64, "the file's inode"),
            column!(Wait, generation: u64, "distinguishes files that have had the same inode"),
            column!(Wait, pid: u64, "the waiting thread"),
            column!(Wait, command: String, "the thread's name"),
            column!(Wait, begin_ns: i64, "when the thread left its CPU; kind thread: from when \
                both threads waited"),
            column!(Wait, end_ns: i64, "when the thread came back; kind thread: when the other \
                thread's wait ended. Waits under 1 ms have no row"),
            column!(Wait, for_request: u64, "1: the kernel counts the wait as one for a request \
                (in_iowait)"),
            column!(Wait, holder: u64, "the thread that held the lock when it was found taken, or \
                that woke this thread; 0: none or unknown"),
            column!(Wait, in_transaction: u64, "1: the thread held a journal transaction open \
                during the wait"),
            column!(Wait, stack: u64, "kernel stack of the wait: a row of stacks.parquet; 0: \
                unknown"),
        ]
    }
}
