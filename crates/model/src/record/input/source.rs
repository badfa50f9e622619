//! The bytes of a Parquet file, on a disk or in memory, as the Parquet library asks for them. No
//! more memory is taken than the file has bytes.

use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};
use std::fs::File;
use std::io::{BufReader, Read};
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

/// Page headers are of some tens of bytes: statistics are what makes them longer.
const HEADER_BYTES: usize = 256;

#[derive(Debug, Clone)]
pub(super) struct Source {
    place: Storage,
    length: u64,
}

#[derive(Debug, Clone)]
enum Storage {
    Disk(Arc<File>),
    Memory(Bytes),
}

impl Source {
    pub(super) fn of_file(file: File) -> std::io::Result<Self> {
        let length = file.metadata()?.len();
        Ok(Self { place: Storage::Disk(Arc::new(file)), length })
    }

    pub(super) fn of_bytes(bytes: Bytes) -> Self {
        let length = bytes.len() as u64;
        Self { place: Storage::Memory(bytes), length }
    }

    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// So many bytes from `start` on, or fewer at the end.
    fn read_at(&self, buffer: &mut [u8], start: u64) -> std::io::Result<usize> {
        match &self.place {
            Storage::Disk(file) => file.read_at(buffer, start),
            Storage::Memory(bytes) => {
                let rest = usize::try_from(start).ok().and_then(|start| bytes.get(start..));
                rest.unwrap_or_default().read(buffer)
            }
        }
    }

    /// Exactly so many bytes.
    pub(super) fn bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let end = start.checked_add(length as u64).filter(|end| *end <= self.length);
        let end = end.ok_or_else(|| {
            let all = self.length;
            ParquetError::EOF(format!("{length} bytes from {start} on of a file of {all}"))
        })?;
        match &self.place {
            Storage::Disk(file) => {
                let mut buffer = vec![0; length];
                file.read_exact_at(&mut buffer, start)?;
                Ok(buffer.into())
            }
            Storage::Memory(bytes) => Ok(bytes.slice(start as usize..end as usize)),
        }
    }
}

/// A file from a place on.
#[derive(Debug)]
pub(super) struct From {
    source: Source,
    at: u64,
}

impl Read for From {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.source.read_at(buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Length for Source {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for Source {
    type T = BufReader<From>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        let from = From { source: self.clone(), at: start };
        Ok(BufReader::with_capacity(HEADER_BYTES, from))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        self.bytes(start, length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn a_file_and_memory_give_the_same_and_no_more_than_there_is() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"abcdef").unwrap();
        let both =
            [Source::of_file(file).unwrap(), Source::of_bytes(Bytes::from_static(b"abcdef"))];
        for source in both {
            assert_eq!((source.length(), Length::len(&source)), (6, 6));
            assert_eq!(source.bytes(2, 3).unwrap(), b"cde"[..]);
            assert_eq!(source.bytes(6, 0).unwrap(), b""[..]);
            for (start, length) in [(5, 2), (7, 0), (u64::MAX, 1), (0, usize::MAX)] {
                assert!(source.bytes(start, length).is_err(), "{start} {length}");
            }
            let mut rest = String::new();
            source.get_read(4).unwrap().read_to_string(&mut rest).unwrap();
            assert_eq!(rest, "ef");
            rest.clear();
            source.get_read(u64::MAX).and_then(|mut from| Ok(from.read_to_string(&mut rest)?)).ok();
            assert_eq!(rest, "");
        }
    }
}
