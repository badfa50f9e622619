//! How much was requested of a file.
//!
//! Non-goals: of which files (`super::Witness`).

use super::Witness;
use model::record::{FileNumber, LARGE_WRITE_BYTES, Op, Request};

/// What was requested of a file, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Requested {
    pub(super) all: u64,
    pub(super) written: u64,
    pub(super) written_large: u64,
}

impl Requested {
    pub(super) fn of(row: &Request) -> Self {
        Self::like(row, row.length_bytes.into())
    }

    /// Of requests that are like one, of so many bytes together.
    pub(crate) fn like(row: &Request, all: u64) -> Self {
        let written = if row.op == Op::Write && row.is_asked() { all } else { 0 };
        let is_large = row.length_bytes >= LARGE_WRITE_BYTES;
        Self { all, written, written_large: if is_large { written } else { 0 } }
    }

    pub(crate) fn add(&mut self, more: Self) {
        self.all += more.all;
        self.written += more.written;
        self.written_large += more.written_large;
    }
}

impl Witness {
    /// What the kernel has summed up of files.
    pub(crate) fn add_sums<'s>(
        &mut self,
        sums: impl Iterator<Item = (&'s FileNumber, &'s Requested)>,
    ) {
        sums.for_each(|(number, of)| self.files.add(*number, of.all).add(*of));
    }
}
