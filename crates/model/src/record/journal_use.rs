//! Who writes into the journal of a file system: blocks of metadata that threads changed, as ext4's
//! journal (jbd2) counts them by handle.
//!
//! Non-goals: other journals, which do not tell; whose commit it was (`JournalCommit`).

use super::column::{Column, Record, column};

/// What a thread changed within a tenth of a second or somewhat more.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "each field is described where its column is declared")]
pub struct JournalUse {
    pub file_system: u64,
    pub pid: u64,
    pub command: String,
    pub begin_ns: i64,
    pub end_ns: i64,
    pub blocks: u64,
}

impl JournalUse {
    /// Its times from a moment of the trace instead of its beginning.
    #[must_use]
    pub fn counted_from(self, zero_ns: i64) -> Self {
        let begin_ns = self.begin_ns.saturating_sub(zero_ns);
        let end_ns = self.end_ns.saturating_sub(zero_ns);
        Self { begin_ns, end_ns, ..self }
    }
}

impl Record for JournalUse {
    const SCHEMA: &'static str = "lbolt.journal_use/1";

    fn columns() -> Vec<Column<Self>> {
        vec![
            column!(JournalUse, file_system: u64, "device number of the journal's file system"),
            column!(JournalUse, pid: u64, "the thread"),
            column!(JournalUse, command: String, "the thread's name"),
            column!(JournalUse, begin_ns: i64, "when the thread ended its first journal handle of \
                the interval"),
            column!(JournalUse, end_ns: i64, "when the row was made: at the thread's first handle \
                at least 100 ms later"),
            column!(JournalUse, blocks: u64, "metadata blocks changed by the thread's handles"),
        ]
    }
}
