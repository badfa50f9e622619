//! A file of records that is readable whenever its writer is killed: each record is its length and
//! its bytes, and is in the file when [`Log::add`] comes back. A record that is not whole is none.
//!
//! Non-goals: what the records are; power failures, after which the file system says what is there.

use super::DirectFile;
use std::io::{self, Write as _};
use std::path::Path;

/// A record's length, u64; 0 is no record.
const LENGTH_BYTES: usize = 8;

#[derive(Debug)]
pub(super) struct Log {
    file: DirectFile,
    bytes: u64,
}

impl Log {
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        Ok(Self { file: DirectFile::create(path)?, bytes: 0 })
    }

    pub(super) fn add(&mut self, record: &[u8]) -> io::Result<()> {
        self.file.write_all(&(record.len() as u64).to_le_bytes())?;
        self.file.write_all(record)?;
        self.bytes += (LENGTH_BYTES + record.len()) as u64;
        self.file.write_through()
    }

    pub(super) fn restart(&mut self) -> io::Result<()> {
        self.bytes = 0;
        self.file.restart()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes == 0
    }
}

pub(super) fn records(mut log: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (length, rest) = log.split_first_chunk::<LENGTH_BYTES>()?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        let (record, rest) = rest.split_at_checked(length)?;
        log = rest;
        (length > 0).then_some(record)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_record_is_there_at_once_and_one_that_is_cut_short_is_none() {
        let directory = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = directory.path().join("log");
        let mut log = Log::create(&path).unwrap();
        let all: Vec<Vec<u8>> = [1, 5000, 4096 - 8, 2 << 20].map(|n| vec![7; n]).to_vec();
        for (number, record) in all.iter().enumerate() {
            log.add(record).unwrap();
            let there = std::fs::read(&path).unwrap();
            let found: Vec<&[u8]> = records(&there).collect();
            assert_eq!(found, all[..=number]);
            let cut = &there[..there.len() - 4096.min(record.len() + 7)];
            assert!(records(cut).count() <= number + 1);
        }
        log.restart().unwrap();
        assert_eq!(records(&std::fs::read(&path).unwrap()).count(), 0);
        log.add(b"new").unwrap();
        assert_eq!(records(&std::fs::read(&path).unwrap()).collect::<Vec<_>>(), [b"new"]);
        assert!(records(&[255; 30]).next().is_none());
    }
}
