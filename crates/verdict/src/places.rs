//! On which device a wait is that has no request of its own.
//!
//! A wait for a block of metadata tells no file. Its thread has asked for the block, or another one
//! has, whose read is in flight; where neither is so, the block is on a device that is not traced.
//!
//! Non-goals: waits for requests and calls, which tell their device.

use super::Ledger;
use super::actors::RoleId;
use model::record::{FileKind, Op, Request, Wait, WaitKind};

/// A read of metadata that is in flight: until when, on which device, and whose.
pub(super) type MetadataRead = Option<(i64, u32, RoleId)>;

impl Ledger {
    /// Takes a request that may be the one that others wait for, too.
    pub(super) fn note_metadata(&mut self, row: &Request, role: RoleId, end_ns: i64) {
        let is_metadata = |kind| matches!(kind, FileKind::Metadata | FileKind::Device);
        let is_metadata = row.file.is_some_and(|file| is_metadata(file.kind));
        let is_later = self.metadata_read.is_none_or(|(until_ns, ..)| until_ns < end_ns);
        if row.op == Op::Read && is_metadata && is_later {
            self.metadata_read = Some((end_ns, row.device, role));
        }
    }

    fn metadata_read(&self, wait: &Wait) -> MetadataRead {
        self.metadata_read.filter(|(until_ns, ..)| *until_ns > wait.begin_ns)
    }

    /// For which device a role waits: its file's; without a file where the thread changes metadata,
    /// if it holds a transaction open, else where the role has its requests. It may be none that is
    /// looked at.
    pub(super) fn device_of(&self, wait: &Wait, role: RoleId) -> Option<u32> {
        let journal = || self.known.journals.get(&(wait.pid as u32)).copied();
        match wait.file_system {
            0 if wait.in_transaction != 0 => journal().and_then(|of| self.home(of)),
            0 if wait.kind == WaitKind::Request && !self.has_any(wait) => {
                self.metadata_read(wait).filter(|(.., of)| *of == role).map(|(_, device, _)| device)
            }
            0 => self.used.get(&role).copied().or_else(|| self.home(journal()?)),
            known => self.home(known),
        }
    }

    /// Whether the thread itself has a request in flight when it begins to wait, be it one that
    /// nobody waits for as such: a discard, a flush, a write of the page cache.
    fn has_any(&self, wait: &Wait) -> bool {
        let asked = self.asked.get(&(wait.pid as u32));
        asked.is_some_and(|asked| asked.any_ns > wait.begin_ns)
    }

    /// Whether a wait whose device is not known is for a request that is not in the trace, or for a
    /// file system that no request of the trace is for. Memory is the whole machine's: who waits
    /// for that may wait for any device; and who waits while somebody reads metadata, for that.
    pub(super) fn is_untraced(&self, wait: &Wait) -> bool {
        const OF_MEMORY: [WaitKind; 3] = [WaitKind::Throttling, WaitKind::Reclaim, WaitKind::Swap];
        let is_of_journal = wait.in_transaction != 0 || wait.kind == WaitKind::Journal;
        let has_file_system = wait.file_system != 0
            || is_of_journal && self.known.journals.contains_key(&(wait.pid as u32));
        let is_of_memory = OF_MEMORY.contains(&wait.kind);
        let is_for_untraced = wait.kind == WaitKind::Request && self.metadata_read(wait).is_none();
        !is_of_memory && (is_for_untraced || has_file_system)
    }
}
