//! How much was requested of a file.
//!
//! Non-goals: of which files (`super::Witness`).

use model::record::{Op, Request};

/// What was requested of a file, in bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Requested {
    pub(super) all: u64,
    pub(super) written: u64,
}

impl Requested {
    pub(super) fn of(row: &Request) -> Self {
        let all = u64::from(row.length_bytes);
        Self { all, written: if row.op == Op::Write && row.is_asked() { all } else { 0 } }
    }

    pub(super) fn add(&mut self, more: Self) {
        self.all += more.all;
        self.written += more.written;
    }
}
