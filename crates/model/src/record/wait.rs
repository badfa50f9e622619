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
use super::column::record;
use crate::named::named;

named! {
    /// What is waited for, as the functions of the stack tell it.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum WaitKind {
        /// Something that no function of the table tells.
        #[default]
        Other = "other",
        /// Fewer dirty pages, of the machine, of a device or of a cgroup.
        Throttling = "dirty throttling",
        /// A journal's transaction: it is being locked, or the log is full, or a commit is writing
        /// a block of metadata.
        Journal = "journal",
        /// A lock of a file or a file system.
        Lock = "lock",
        /// A page that is on its way to the device, and may not be changed meanwhile.
        Writeback = "page writeback",
        /// A page that is being read, by this thread or by another.
        PageRead = "page read",
        /// A place in the queue of requests: a tag, writeback throttling (wbt); or a block of
        /// metadata.
        Request = "request",
        /// A direct request of its own, or an asynchronous one.
        DirectIo = "direct I/O",
        /// A cgroup's limit of requests or bytes.
        Limit = "cgroup limit",
        /// A call that makes files durable.
        Call = "sync call",
        /// Memory that must first be written elsewhere.
        Reclaim = "memory reclaim",
        /// A page that was swapped out.
        Swap = "swap",
        /// A file system of the network, or one that a program serves.
        Network = "network file system",
        /// Another thread, which waited itself, and woke this one then.
        Thread = "thread",
        /// The same, for no longer than this thread usually sleeps: nothing is lost, but who sleeps
        /// for this one sleeps for the other.
        Usual = "usual sleep",
    }
}

/// What is waited for, as a sentence has it behind *waiting for*, by its name in findings and
/// rollups: reads, a kind of these waits, or a call, which is called what it is called.
pub fn waited_for(wait: &str) -> Cow<'_, str> {
    if let Some(role) = wait.strip_prefix(WAIT_FOR_THREAD) {
        return format!("a thread of {role}").into();
    }
    let kind = || WaitKind::ALL.iter().find(|(_, name)| *name == wait);
    Cow::Borrowed(match wait {
        "read" => "reads",
        "direct write" => "direct writes",
        "flush" => "flushes",
        EVICTED_PAGE => "evicted pages to be read again",
        _ => kind().map_or(wait, |(kind, _)| kind.words()),
    })
}

/// A wait for a thread is called so, with that thread's role behind it.
pub const WAIT_FOR_THREAD: &str = "thread of ";

/// A read of a page that others had evicted from memory is called so.
pub const EVICTED_PAGE: &str = "evicted page";

/// Whether such waits, by their name, are among others that are told as well, of the same role:
/// where all waits of a role are summed up, they do not count again.
pub fn is_among_others(wait: &str) -> bool {
    wait == EVICTED_PAGE
}

impl WaitKind {
    /// Whether it is a sleep, which another thread ended.
    pub fn is_sleep(self) -> bool {
        matches!(self, Self::Thread | Self::Usual)
    }

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
            Self::Thread | Self::Usual => "a thread that waited itself",
            Self::Other => "something else in the kernel",
        }
    }
}

/// Shorter waits are not told, in ns.
pub const WAIT_LEAST_NS: i64 = 1_000_000;

record! {
    /// One wait.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct Wait, "lbolt.waits/1", times [begin_ns end_ns] {
        kind: WaitKind =
            "what the thread waited for, by the functions on its stack; thread: for another thread \
             that waited itself";
        file_system: u64 =
            "device number of the file system whose file the thread's system call was for; 0: \
             unknown";
        inode: u64 = "the file's inode";
        generation: u64 = "distinguishes files that have had the same inode";
        pid: u64 = "the waiting thread";
        command: String = "the thread's name";
        begin_ns: i64 = "when the thread left its CPU; kind thread: from when both threads waited";
        end_ns: i64 =
            "when the thread came back; kind thread: when the other thread's wait ended. Waits \
             under 1 ms have no row";
        for_request: u64 = "1: the kernel counts the wait as one for a request (in_iowait)";
        holder: u64 =
            "the thread that held the lock when it was found taken, or that woke this thread; 0: \
             none or unknown";
        in_transaction: u64 = "1: the thread held a journal transaction open during the wait";
        stack: u64 = "kernel stack of the wait: a row of stacks.parquet; 0: unknown";
    }
}

impl Wait {
    /// The file that its system call was for.
    pub fn file(&self) -> FileNumber {
        let (file_system, generation) = (self.file_system as u32, self.generation as u32);
        FileNumber { file_system, inode: self.inode, generation }
    }
}
