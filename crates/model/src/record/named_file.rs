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
            column!(NamedFile, file_system: u64, "its device number, major << 20 | minor"),
            column!(NamedFile, inode: u64, "its inode"),
            column!(NamedFile, generation: u64, "tells files apart that have had the same inode"),
            column!(NamedFile, path: Option<String>, "what it was called; null: no name was seen \
                or found"),
            column!(NamedFile, since_ns: Option<i64>, "from when on requests and calls saw it \
                called so, until the next row of the same file; null: it was found to be called \
                so by looking for it, at another time"),
            column!(NamedFile, writers: Vec<u64>, "threads that changed its data, the last \
                ones, in the order in which they were seen"),
        ]
    }

    /// All names were found by looking.
    fn earlier() -> (&'static str, Vec<Column<Self>>) {
        let mut columns = Self::columns();
        columns.retain(|column| column.name != "since_ns");
        ("lbolt.files/1", columns)
    }
}
