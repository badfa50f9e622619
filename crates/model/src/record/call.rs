//! Calls that make a file durable, and the commits of journals that they wait for: what a program
//! waits for, where a request is what a device is given.
//!
//! Times are in ns since the run's start, on the clock of the requests.
//!
//! Non-goals: the parts of a call's time (`analyze::calls`).

use super::FileNumber;
use super::column::record;
use crate::named::named;

named! {
    /// What a call asks for.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum CallKind {
        /// Data and all metadata: fsync, O_SYNC; msync too where system calls are not traced.
        #[default]
        Fsync = "fsync",
        /// Data, and what metadata is needed to read it: fdatasync, O_DSYNC.
        Fdatasync = "fdatasync",
        /// Either; the file system does not tell which.
        Untold = "fsync or fdatasync",
        /// A part of a file's data, which may not be durable then.
        SyncFileRange = "sync_file_range",
        /// A whole file system.
        Syncfs = "syncfs",
        /// What is mapped into memory.
        Msync = "msync",
        /// All file systems.
        Sync = "sync",
    }
}

record! {
    /// One call.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct Call, "lbolt.calls/1", times [begin_ns end_ns] {
        kind: CallKind =
            "fsync (also O_SYNC), fdatasync (also O_DSYNC), or `fsync or fdatasync` where xfs does \
             not say which; sync_file_range, syncfs, msync and sync only with --syscalls";
        file_system: u64 = "device number of the file's file system";
        inode: u64 = "the file's inode";
        generation: u64 = "distinguishes files that have had the same inode";
        pid: u64 = "the calling thread";
        command: String = "the thread's name";
        begin_ns: i64 = "when the file system began the call";
        end_ns: Option<i64> =
            "when the file system finished the call; null: not in the trace, or not reported (xfs)";
        error: u64 = "0 or errno";
        transaction: Option<u64> =
            "ext4: the journal transaction that holds the file's last change; the call waited for \
             its commit";
    }
}

impl Call {
    /// The file that it was for.
    pub fn file(&self) -> FileNumber {
        let (file_system, generation) = (self.file_system as u32, self.generation as u32);
        FileNumber { file_system, inode: self.inode, generation }
    }
}

record! {
    /// One commit of a journal (jbd2), by its stages.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct JournalCommit, "lbolt.commits/1",
        times [started_ns locking_ns flushing_ns logging_ns ended_ns]
    {
        file_system: u64 = "device number of the journal's file system";
        transaction: u64 = "number of the transaction";
        started_ns: i64 = "when the commit began";
        locking_ns: Option<i64> = "when the commit began to wait for changes under way";
        flushing_ns: Option<i64> = "when the commit began to write file data that must come first";
        logging_ns: Option<i64> = "when the commit began to write the journal";
        ended_ns: Option<i64> = "when the commit was durable; null: not in the trace";
    }
}
