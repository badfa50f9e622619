//! A small Linux above a modelled drive, in virtual time: what becomes of the system calls of a few
//! programs on files of one file system. It predicts what a change of the kernel's settings, or of
//! a program, does to others on the same drive.
//!
//! What is modelled, and by which source (Linux 6.12 to 6.18):
//!
//! | part | source |
//! | --- | --- |
//! | page cache, writeback by calls and by the flusher | `mm/page-writeback.c` |
//! | journal of metadata (ext4; files are overwritten) | `fs/jbd2`, `fs/ext4/fsync.c` |
//! | throttling of buffered writes | `block/blk-wbt.c`, `block/blk-rq-qos.c` |
//! | places in the queue, and who waits for one | `block/blk-mq-tag.c`, `lib/sbitmap.c` |
//! | schedulers | `block/mq-deadline.c`, `block/kyber-iosched.c` |
//! | one flush at a time | `block/blk-flush.c` |
//! | a loop device that waits for its flush | `drivers/block/loop.c` |
//!
//! Whoever waits for a place in the queue hands nothing else over meanwhile: so a program with many
//! requests of its own by io_uring is no more than one of those who wait.
//!
//! Non-goals: CPU time (calls cost none), merging in the queue, allocation of blocks, memory
//! pressure, bfq.

mod block;
mod cache;
mod call;
mod elevator;
mod files;
mod journal;
mod line;
mod machine;
mod settings;
mod wbt;

#[cfg(test)]
mod tests;

pub use files::{Extent, Layout};
pub use machine::LinuxMachine;
pub use settings::{Scheduler, Settings, Unmodelled};

/// A page of the cache, bytes.
pub(crate) const PAGE_BYTES: u64 = 4096;
/// The largest request.
pub(crate) const REQUEST_BYTES_MOST: u64 = 512 << 10;

/// A thread of this kernel, by its number.
pub(crate) type ThreadId = usize;

/// What a request is, as the queue sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kind {
    /// What the drive does.
    pub(crate) operation: model::record::Op,
    /// Somebody waits for it (REQ_SYNC).
    pub(crate) is_sync: bool,
    /// Written because it is old or much (REQ_BACKGROUND).
    pub(crate) is_background: bool,
    /// From the page cache: throttled as such.
    pub(crate) is_buffered: bool,
    /// Only where nobody else wants the drive.
    pub(crate) is_idle: bool,
}

/// A request on its way to the drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bio {
    pub(crate) number: u64,
    pub(crate) thread: ThreadId,
    pub(crate) kind: Kind,
    pub(crate) offset_bytes: u64,
    pub(crate) length_bytes: u64,
    /// The file whose pages are written back by it.
    pub(crate) file: Option<usize>,
}
