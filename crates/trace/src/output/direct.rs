//! A file that is written from its beginning to its end by large direct requests: the page cache is
//! left to what is measured, and the writes are our own process's, so that the trace can tell them.
//!
//! Where a file system knows no direct I/O (tmpfs), the same writes go through the page cache.

use rustix::fs::{FallocateFlags, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

const REQUEST_BYTES: usize = 1 << 20;
/// What a direct request's memory, offset and length are multiples of: enough for every device.
const ALIGNMENT: usize = 4096;
/// Space is reserved in steps of a quarter of what is needed, and of this at the most: in memory
/// (tmpfs) all that is reserved is written, needed or not.
const STEP_BYTES: u64 = 16 << 20;

/// A file written in order.
#[derive(Debug)]
pub struct DirectFile {
    file: File,
    is_direct: bool,
    /// Bytes before and behind the aligned part are not used.
    buffer: Vec<u8>,
    begin: usize,
    filled: usize,
    /// Of what is written.
    offset_bytes: u64,
}

/// The space that a file can grow into.
#[derive(Debug)]
pub(super) struct Space {
    file: File,
    reserved_bytes: u64,
    /// False where the file system cannot.
    reserves: bool,
}

impl DirectFile {
    /// Makes a file for this user alone. No link is followed and no file written over.
    /// Errors: the file system's refusal.
    pub fn create(path: &Path) -> io::Result<Self> {
        let flags =
            OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::WRONLY | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o600);
        let (file, is_direct) = match rustix::fs::open(path, flags | OFlags::DIRECT, mode) {
            Ok(file) => (file, true),
            // The file may be there for all that.
            Err(Errno::INVAL) => {
                (rustix::fs::open(path, flags.difference(OFlags::EXCL), mode)?, false)
            }
            Err(error) => return Err(error.into()),
        };
        Ok(Self { is_direct, ..Self::over(file.into()) })
    }

    /// A file that is open and empty, by way of the page cache.
    pub fn over(file: File) -> Self {
        let buffer = vec![0; REQUEST_BYTES + ALIGNMENT];
        let begin = buffer.as_ptr().align_offset(ALIGNMENT);
        Self { file, is_direct: false, buffer, begin, filled: 0, offset_bytes: 0 }
    }

    /// Whether it goes past the page cache.
    pub fn is_direct(&self) -> bool {
        self.is_direct
    }

    /// The space of this file, of which none is reserved yet.
    /// Errors: a process that has too many files open.
    pub(super) fn space(&self) -> io::Result<Space> {
        Ok(Space { file: self.file.try_clone()?, reserved_bytes: 0, reserves: true })
    }

    /// Writes all that there is: what is no whole block is written with zeroes behind it, and again
    /// when there is more.
    /// Errors: the file system's refusal.
    pub fn write_through(&mut self) -> io::Result<()> {
        let whole = self.filled / ALIGNMENT * ALIGNMENT;
        let rest = self.filled - whole;
        if whole > 0 {
            self.write_out(whole)?;
            let from = self.begin + whole;
            self.buffer.copy_within(from..from + rest, self.begin);
            self.filled = rest;
        }
        if rest > 0 {
            self.buffer[self.begin + rest..self.begin + ALIGNMENT].fill(0);
            let block = &self.buffer[self.begin..self.begin + ALIGNMENT];
            self.file.write_all_at(block, self.offset_bytes)?;
        }
        Ok(())
    }

    /// Empties the file.
    /// Errors: the file system's refusal.
    pub fn restart(&mut self) -> io::Result<()> {
        (self.filled, self.offset_bytes) = (0, 0);
        self.file.set_len(0)
    }

    /// Writes the rest, and gives back what was reserved and not needed.
    /// Errors: the file system's refusal.
    pub fn finish(mut self) -> io::Result<()> {
        let length = self.offset_bytes + self.filled as u64;
        let padded = self.filled.next_multiple_of(ALIGNMENT);
        self.buffer[self.begin + self.filled..self.begin + padded].fill(0);
        self.write_out(padded)?;
        self.file.set_len(length)?;
        self.file.sync_data()
    }

    fn write_out(&mut self, bytes: usize) -> io::Result<()> {
        let part = &self.buffer[self.begin..self.begin + bytes];
        self.file.write_all_at(part, self.offset_bytes)?;
        self.offset_bytes += bytes as u64;
        self.filled = 0;
        Ok(())
    }
}

impl Space {
    /// Sees to it that the file can grow to this size.
    /// Errors: a disk that has not so much space. Where the file system cannot reserve, there is no
    /// error.
    pub(super) fn reserve(&mut self, bytes: u64) -> io::Result<()> {
        if bytes <= self.reserved_bytes || !self.reserves {
            return Ok(());
        }
        // A large step, or what is needed if there is no more.
        for goal in [bytes + (bytes / 4).min(STEP_BYTES), bytes] {
            let more = goal - self.reserved_bytes;
            let keep = FallocateFlags::KEEP_SIZE;
            match rustix::fs::fallocate(&self.file, keep, self.reserved_bytes, more) {
                Ok(()) => {
                    self.reserved_bytes = goal;
                    return Ok(());
                }
                Err(Errno::NOSPC | Errno::DQUOT) if goal > bytes => {}
                Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
                    self.reserves = false;
                    return Ok(());
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

impl Write for DirectFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(REQUEST_BYTES - self.filled);
        let at = self.begin + self.filled;
        self.buffer[at..at + taken].copy_from_slice(&bytes[..taken]);
        self.filled += taken;
        if self.filled == REQUEST_BYTES {
            self.write_out(REQUEST_BYTES)?;
        }
        Ok(taken)
    }

    /// Nothing: what is not a whole request is kept until the end.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_in_the_file_to_the_byte() {
        let directory = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        for length in [0, 1, ALIGNMENT, REQUEST_BYTES, 2 * REQUEST_BYTES + 4097] {
            let path = directory.path().join("x");
            let bytes: Vec<u8> = (0..length).map(|n| (n * 7 % 251) as u8).collect();
            let mut file = DirectFile::create(&path).unwrap();
            file.space().unwrap().reserve(100).unwrap();
            bytes.chunks(3333).for_each(|part| file.write_all(part).unwrap());
            file.finish().unwrap();
            assert!(std::fs::read(&path).unwrap() == bytes, "{length}");
            std::fs::remove_file(&path).unwrap();
        }
    }

    #[test]
    fn what_was_written_through_is_there_before_the_end_and_only_once_after_it() {
        let directory = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = directory.path().join("x");
        let mut file = DirectFile::create(&path).unwrap();
        let mut written = Vec::new();
        for length in [5, ALIGNMENT, 3 * ALIGNMENT + 1, REQUEST_BYTES, 7, 0] {
            let part: Vec<u8> = (0..length).map(|n| (n * 7 % 251) as u8 + 1).collect();
            file.write_all(&part).unwrap();
            file.write_through().unwrap();
            written.extend(part);
            let there = std::fs::read(&path).unwrap();
            assert_eq!(there[..written.len()], written[..]);
            assert!(there[written.len()..].iter().all(|byte| *byte == 0));
        }
        file.finish().unwrap();
        assert!(std::fs::read(&path).unwrap() == written);
        std::fs::remove_file(&path).unwrap();
        let mut file = DirectFile::create(&path).unwrap();
        file.write_all(b"before").unwrap();
        file.write_through().unwrap();
        file.restart().unwrap();
        file.write_all(b"new").unwrap();
        file.finish().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
    }
}
