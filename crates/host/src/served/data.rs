//! Where the data of a served device lie: in memory, or in a file without a name; sparse either
//! way.

use crate::scratch::nameless_in;
use crate::subject::failed;
use model::seam::SubjectError;
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::io::Errno;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

/// Where the data lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DataPlace {
    /// In memory.
    Memory,
    /// In a file without a name, in that directory.
    Directory(PathBuf),
}

/// The data.
#[derive(Debug)]
pub(super) struct Store {
    file: File,
    pub(super) size_bytes: u64,
}

impl Store {
    /// Errors: a directory that cannot be opened or written.
    pub(super) fn make(place: &DataPlace, size_bytes: u64) -> Result<Self, SubjectError> {
        let file = match place {
            DataPlace::Memory => memfd_create("lbolt-device", MemfdFlags::CLOEXEC)
                .map_err(failed("get memory for the device's data"))?
                .into(),
            DataPlace::Directory(path) => {
                let refused = |errno: std::io::Error| {
                    let sentence = format!(
                        "failed to store the device's data in {}: {errno}; name a writable \
                         directory",
                        path.display()
                    );
                    SubjectError::Unavailable(sentence)
                };
                nameless_in(path).map_err(refused)?
            }
        };
        ftruncate(&file, size_bytes).map_err(failed("set the size of the device's data"))?;
        Ok(Self { file, size_bytes })
    }

    /// Errors: an I/O error; past the end.
    pub(super) fn read(&self, offset_bytes: u64, length_bytes: u32) -> Result<Vec<u8>, Errno> {
        let mut bytes = vec![0; length_bytes as usize];
        self.file.read_exact_at(&mut bytes, offset_bytes).map_err(|error| errno_of(&error))?;
        Ok(bytes)
    }

    /// Errors: an I/O error, a full file system; past the end.
    pub(super) fn write(&self, offset_bytes: u64, bytes: &[u8]) -> Result<(), Errno> {
        if offset_bytes.saturating_add(bytes.len() as u64) > self.size_bytes {
            return Err(Errno::IO);
        }
        self.file.write_all_at(bytes, offset_bytes).map_err(|error| errno_of(&error))
    }
}

/// What was refused; a file that is too short is an I/O error.
pub(super) fn errno_of(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_and_nothing_lies_past_the_end() {
        let directory = tempfile::tempdir().unwrap();
        for place in [DataPlace::Memory, DataPlace::Directory(directory.path().into())] {
            let store = Store::make(&place, 8192).unwrap();
            store.write(4096, b"there").unwrap();
            assert_eq!(store.read(4095, 6).unwrap(), b"\0there");
            assert_eq!(store.write(8190, b"past"), Err(Errno::IO));
            assert_eq!(store.write(u64::MAX, b"past"), Err(Errno::IO));
            assert!(store.read(8192, 1).is_err());
        }
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
        let nowhere = DataPlace::Directory("/nowhere/at/all".into());
        let error = Store::make(&nowhere, 1).unwrap_err().to_string();
        assert!(error.contains("/nowhere/at/all"), "{error}");
    }
}
