//! read(2) and write(2) at the position of the file, which is what the programs of
//! Kridle & McKusick (1983, appendix A) call. A request that is not where the position is
//! already costs an lseek(2) first: a stream in order does without, random access pays for each.

use super::blocking::{Calls, Moved};
use super::{JobFile, opens};
use model::seam::{JobPlacement, Operation};
use rustix::fd::BorrowedFd;
use rustix::fs::{SeekFrom, seek};
use std::io;

/// Where the file's position is.
pub(super) struct Position {
    at_bytes: u64,
}

impl Position {
    /// Nowhere that is known.
    const UNKNOWN: u64 = u64::MAX;

    pub(super) fn new() -> Self {
        Self { at_bytes: Self::UNKNOWN }
    }

    /// Moves the position to where the call is to be, makes it, and follows.
    #[inline(always)]
    pub(super) fn at(
        &mut self,
        file: BorrowedFd<'_>,
        offset_bytes: u64,
        call: impl FnOnce() -> rustix::io::Result<usize>,
    ) -> rustix::io::Result<usize> {
        if self.at_bytes != offset_bytes {
            seek(file, SeekFrom::Start(offset_bytes))?;
        }
        let moved = call();
        self.at_bytes = moved.map_or(Self::UNKNOWN, |moved| offset_bytes + moved as u64);
        moved
    }

    /// Follows what is neither reading nor writing: a file is opened at its start.
    pub(super) fn serve(&mut self, file: &mut JobFile, operation: Operation) -> i64 {
        if opens(operation) {
            self.at_bytes = 0;
        }
        file.serve(operation)
    }
}

pub(crate) struct Sync(Position);

impl Calls for Sync {
    fn new(_: &JobPlacement) -> io::Result<Self> {
        Ok(Self(Position::new()))
    }

    #[inline(always)]
    fn read(&mut self, file: BorrowedFd<'_>, buffer: &mut [u8], offset_bytes: u64) -> Moved {
        self.0.at(file, offset_bytes, || rustix::io::read(file, buffer))
    }

    #[inline(always)]
    fn write(&mut self, file: BorrowedFd<'_>, buffer: &[u8], offset_bytes: u64) -> Moved {
        self.0.at(file, offset_bytes, || rustix::io::write(file, buffer))
    }

    fn serve(&mut self, file: &mut JobFile, operation: Operation) -> i64 {
        self.0.serve(file, operation)
    }
}
