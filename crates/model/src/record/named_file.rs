//! The files that requests and calls were of, with the names that they had meanwhile: a row for
//! each name, and one for a file of which none is known.
//!
//! A name that was seen at a request or call is true from its `since_ns` until that of the file's
//! next one. One that was found by looking may not be what the file was called before.
//!
//! Non-goals: how names are seen (`trace`) and found (`host::file_name`).

use super::FileNumber;
use super::column::record;

record! {
    /// One name of a file.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct NamedFile, "lbolt.files/3", times [since_ns],
        new [written_bytes written_large_bytes] since "lbolt.files/2",
        later [written_large_bytes]
    {
        file_system: u64 = "device number of the file's file system";
        inode: u64 = "the file's inode";
        generation: u64 = "distinguishes files that have had the same inode";
        path: Option<String> = "path of the file; null: no name was seen or found";
        since_ns: Option<i64> =
            "when requests and calls began to see this name, valid until the file's next row; \
             null: found by a search at another time";
        writers: Vec<u64> = "the last threads that changed the file's data, in the order seen";
        written_bytes: Option<u64> = "bytes of write requests for it; null: unknown";
        written_large_bytes: Option<u64> =
            "the part of written_bytes in requests of 128 KiB and more; null: unknown";
    }
}

/// A write request of so many bytes is a large one.
pub const LARGE_WRITE_BYTES: u32 = 128 << 10;

impl NamedFile {
    /// What identifies it.
    pub fn number(&self) -> FileNumber {
        let (file_system, generation) = (self.file_system as u32, self.generation as u32);
        FileNumber { file_system, inode: self.inode, generation }
    }
}
