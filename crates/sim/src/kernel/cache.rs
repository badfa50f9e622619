//! The page cache: which pages are dirty, since when, and which are on their way to the drive.

use super::PAGE_BYTES;
use std::collections::BTreeSet;

/// The pages of one file.
#[derive(Debug, Clone, Default)]
pub(super) struct Pages {
    dirty: BTreeSet<u64>,
    /// Since when any of them is, ns.
    since_ns: u64,
    /// Bytes on their way to the drive.
    pub(super) in_writeback_bytes: u64,
    /// The transaction of its metadata's last change.
    pub(super) sync_transaction: u64,
}

/// The pages of all files.
#[derive(Debug, Clone, Default)]
pub(super) struct Cache {
    pub(super) files: Vec<Pages>,
}

impl Cache {
    /// A program writes bytes of a file.
    pub(super) fn write(&mut self, file: usize, offset_bytes: u64, length_bytes: u64, now_ns: u64) {
        let Some(pages) = self.files.get_mut(file) else { return };
        if pages.dirty.is_empty() {
            pages.since_ns = now_ns;
        }
        let end_bytes = offset_bytes + length_bytes;
        pages.dirty.extend(offset_bytes / PAGE_BYTES..end_bytes.div_ceil(PAGE_BYTES));
    }

    /// Bytes that are dirty.
    pub(super) fn dirty_bytes(&self) -> u64 {
        self.files.iter().map(|pages| pages.dirty.len() as u64 * PAGE_BYTES).sum()
    }

    /// Bytes on their way to the drive.
    pub(super) fn in_writeback_bytes(&self) -> u64 {
        self.files.iter().map(|pages| pages.in_writeback_bytes).sum()
    }

    /// The first file with dirty pages of before that moment.
    pub(super) fn dirty_since(&self, until_ns: u64) -> Option<usize> {
        let is_old = |pages: &Pages| !pages.dirty.is_empty() && pages.since_ns <= until_ns;
        self.files.iter().position(is_old)
    }

    /// Takes a file's next dirty bytes, pages in a row up to `most_bytes`: from where, how many.
    pub(super) fn take(&mut self, file: usize, most_bytes: u64) -> Option<(u64, u64)> {
        let dirty = &mut self.files.get_mut(file)?.dirty;
        let first = dirty.pop_first()?;
        let mut next = first + 1;
        while (next - first) * PAGE_BYTES < most_bytes && dirty.remove(&next) {
            next += 1;
        }
        Some((first * PAGE_BYTES, (next - first) * PAGE_BYTES))
    }
}
