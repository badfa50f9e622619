//! Who writes into the journal of a file system: blocks of metadata that threads changed, as ext4's
//! journal (jbd2) counts them by handle.
//!
//! Non-goals: other journals, which do not tell; whose commit it was (`JournalCommit`).

use super::column::record;

record! {
    /// What a thread changed within a tenth of a second or somewhat more.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct JournalUse, "lbolt.journal_use/1", times [begin_ns end_ns] {
        file_system: u64 = "device number of the journal's file system";
        pid: u64 = "the thread";
        command: String = "the thread's name";
        begin_ns: i64 = "when the thread ended its first journal handle of the interval";
        end_ns: i64 = "when the row was made: at the thread's first handle at least 100 ms later";
        blocks: u64 = "metadata blocks changed by the thread's handles";
    }
}
