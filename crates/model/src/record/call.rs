//! Calls that make a file durable, and the commits of journals that they wait for: what a program
//! waits for, where a request is what a device is given.
//!
//! Times are in ns since the run's start, on the clock of the requests.
//!
//! Non-goals: the parts of a call's time (`analyze::calls`).

use super::FileNumber;
use super::column::{Column, Record, column};
use crate::named::named;

/// What a call asks for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CallKind {
    /// Data and all metadata: fsync, O_SYNC; msync too where system calls are not traced.
    #[default]
    Fsync,
    /// Data, and what metadata is needed to read it: fdatasync, O_DSYNC.
    Fdatasync,
    /// Either; the file system does not tell which.
    Untold,
    /// A part of a file's data, which may not be durable then.
    SyncFileRange,
    /// A whole file system.
    Syncfs,
    /// What is mapped into memory.
    Msync,
    /// All file systems.
    Sync,
}

named!(CallKind {
    Fsync "fsync",
    Fdatasync "fdatasync",
    Untold "fsync or fdatasync",
    SyncFileRange "sync_file_range",
    Syncfs "syncfs",
    Msync "msync",
    Sync "sync"
});

/// One call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "each field is described where its column is declared")]
pub struct Call {
    pub kind: CallKind,
    pub file_system: u64,
    pub inode: u64,
    pub generation: u64,
    pub pid: u64,
    pub command: String,
    pub begin_ns: i64,
    pub end_ns: Option<i64>,
    pub error: u64,
    pub transaction: Option<u64>,
}

impl Call {
    /// The file that it was for.
    pub fn file(&self) -> FileNumber {
        let (file_system, generation) = (self.file_system as u32, self.generation as u32);
        FileNumber { file_system, inode: self.inode, generation }
    }

    /// Its times from a moment of the trace instead of its beginning.
    #[must_use]
    pub fn counted_from(self, zero_ns: i64) -> Self {
        let begin_ns = self.begin_ns.saturating_sub(zero_ns);
        let end_ns = self.end_ns.map(|ns| ns.saturating_sub(zero_ns));
        Self { begin_ns, end_ns, ..self }
    }
}

impl Record for Call {
    const SCHEMA: &'static str = "lbolt.calls/1";

    fn columns() -> Vec<Column<Self>> {
        vec![
            column!(Call, kind: CallKind, "fsync (also O_SYNC), fdatasync (also O_DSYNC), or \
                `fsync or fdatasync` where xfs does not say which; sync_file_range, syncfs, msync \
                and sync only with --syscalls"),
            column!(Call, file_system: u64, "device number of the file's file system"),
            column!(Call, inode: u64, "the file's inode"),
            column!(Call, generation: u64, "distinguishes files that have had the same inode"),
            column!(Call, pid: u64, "the calling thread"),
            column!(Call, command: String, "the thread's name"),
            column!(Call, begin_ns: i64, "when the file system began the call"),
            column!(Call, end_ns: Option<i64>, "when the file system finished the call; null: not \
                in the trace, or not reported (xfs)"),
            column!(Call, error: u64, "0 or errno"),
            column!(Call, transaction: Option<u64>, "ext4: the journal transaction that holds the \
                file's last change; the call waited for its commit"),
        ]
    }
}

/// One commit of a journal (jbd2), by its stages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "each field is described where its column is declared")]
pub struct JournalCommit {
    pub file_system: u64,
    pub transaction: u64,
    pub started_ns: i64,
    pub locking_ns: Option<i64>,
    pub flushing_ns: Option<i64>,
    pub logging_ns: Option<i64>,
    pub ended_ns: Option<i64>,
}

impl JournalCommit {
    /// Its times from a moment of the trace instead of its beginning.
    #[must_use]
    pub fn counted_from(self, zero_ns: i64) -> Self {
        let less = |ns: Option<i64>| ns.map(|ns| ns.saturating_sub(zero_ns));
        Self {
            started_ns: self.started_ns.saturating_sub(zero_ns),
            locking_ns: less(self.locking_ns),
            flushing_ns: less(self.flushing_ns),
            logging_ns: less(self.logging_ns),
            ended_ns: less(self.ended_ns),
            ..self
        }
    }
}

impl Record for JournalCommit {
    const SCHEMA: &'static str = "lbolt.commits/1";

    fn columns() -> Vec<Column<Self>> {
        vec![
            column!(JournalCommit, file_system: u64, "device number of the journal's file system"),
            column!(JournalCommit, transaction: u64, "number of the transaction"),
            column!(JournalCommit, started_ns: i64, "when the commit began"),
            column!(JournalCommit, locking_ns: Option<i64>, "when the commit began to wait for \
                changes under way"),
            column!(JournalCommit, flushing_ns: Option<i64>, "when the commit began to write file \
                data that must come first"),
            column!(JournalCommit, logging_ns: Option<i64>, "when the commit began to write the \
                journal"),
            column!(JournalCommit, ended_ns: Option<i64>, "when the commit was durable; null: not \
                in the trace"),
        ]
    }
}
