//! The files that requests and calls were of, by name where one was found.
//!
//! Non-goals: how names are found (`host::file_name`).

use super::FileNumber;
use super::column::{Column, Record, column};

/// One file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "each field is described where its column is declared")]
pub struct NamedFile {
    pub file_system: u64,
    pub inode: u64,
    pub generation: u64,
    pub path: Option<String>,
    pub writers: Vec<u64>,
}

impl NamedFile {
    /// What identifies it.
    pub fn number(&self) -> FileNumber {
        let (file_system, generation) = (self.file_system as u32, self.generation as u32);
        FileNumber { file_system, inode: self.inode, generation }
    }
}

impl Record for NamedFile {
    const SCHEMA: &'static str = "lbolt.files/1";

    fn columns() -> Vec<Column<Self>> {
        vec![
            column!(NamedFile, file_system: u64, "its device number, major << 20 | minor"),
            column!(NamedFile, inode: u64, "its inode"),
            column!(NamedFile, generation: u64, "tells files apart that have had the same inode"),
            column!(NamedFile, path: Option<String>, "one of its names when the capture ended; \
                null: none was found"),
            column!(NamedFile, writers: Vec<u64>, "threads that changed its data, the last \
                ones, in the order in which they were seen"),
        ]
    }
}
