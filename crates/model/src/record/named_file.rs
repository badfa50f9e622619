//! The files that requests and calls were of, with the names that they had meanwhile: a row for
//! each name, and one for a file of which none is known.
//!
//! A name that was seen at a request or call is true from its `since_ns` until that of the file's
//! next one. One that was found by looking may not be what the file was called before.
//!
//! Non-goals: how names are seen (`trace`) and found (`host::file_name`).

use super::FileNumber;
use super::column::{Column, Record, column};

/// One name of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "each field is described where its column is declared")]
pub struct NamedFile {
    pub file_system: u64,
    pub inode: u64,
    pub generation: u64,
    pub path: Option<String>,
    pub since_ns: Option<i64>,
    pub writers: Vec<u64>,
}

impl NamedFile {
    /// What identifies it.
    pub fn number(&self) -> FileNumber {
        let (file_system, generation) = (self.file_system as u32, self.generation as u32);
        FileNumber { file_system, inode: self.inode, generation }
    }

    /// Its time from a moment of the trace instead of its beginning.
    #[must_use]
    pub fn counted_from(self, zero_ns: i64) -> Self {
        Self { since_ns: self.since_ns.map(|ns| ns.saturating_sub(zero_ns)), ..self }
    }
}

impl Record for NamedFile {
    const SCHEMA: &'static str = "lbolt.files/2";

    fn columns() -> Vec<Column<Self>> {
        vec![
            column!(NamedFile, file_system: u64, "device number of the file's file system"),
            column!(NamedFile, inode: u64, "the file's inode"),
            column!(NamedFile, generation: u64, "distinguishes files that have had the same inode"),
            column!(NamedFile, path: Option<String>, "path of the file; null: no name was seen or \
                found"),
            column!(NamedFile, since_ns: Option<i64>, "when requests and calls began to see this \
                name, valid until the file's next row; null: found by a search at another time"),
            column!(NamedFile, writers: Vec<u64>, "the last threads that changed the file's data, \
                in the order seen"),
        ]
    }

    /// All names were found by looking.
    fn earlier() -> (&'static str, Vec<Column<Self>>) {
        let mut columns = Self::columns();
        columns.retain(|column| column.name != "since_ns");
        ("lbolt.files/1", columns)
    }
}
