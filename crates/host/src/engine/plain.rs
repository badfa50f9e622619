//! The engines of two plain calls, one blocking call a request: at the offset that it names, or at
//! the position of the file, each with the buffer by itself or in a vector of one.
//!
//! read(2) and write(2) are what the programs of Kridle & McKusick (1983, appendix A) call. A
//! request that is not where the position is already costs an lseek(2) first: a stream in order
//! does without, random access pays for each.
//!
//! Non-goals: gathering neighbouring requests into one call, as fio's vsync does at depths above 1.

use super::blocking::{Calls, Moved};
use super::{JobFile, opens};
use model::seam::{JobPlacement, Operation};
use rustix::fd::BorrowedFd;
use rustix::fs::{SeekFrom, seek};
use rustix::io::{pread, preadv, pwrite, pwritev, read, readv, write, writev};
use std::io::{self, IoSlice, IoSliceMut};

/// Where the file's position is.
struct Position {
    at_bytes: u64,
}

impl Position {
    /// Nowhere that is known.
    const UNKNOWN: u64 = u64::MAX;

    fn new() -> Self {
        Self { at_bytes: Self::UNKNOWN }
    }

    /// Moves the position to where the call is to be, makes it, and follows.
    #[inline(always)]
    fn at(
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
    fn serve(&mut self, file: &mut JobFile, operation: Operation) -> i64 {
        if opens(operation) {
            self.at_bytes = 0;
        }
        file.serve(operation)
    }
}

/// An engine: how it reads and how it writes. Calls at an offset leave the position alone.
macro_rules! engine {
    (
        $engine:ident,
        |$self:ident, $file:ident, $buffer:ident, $at:ident| $read:expr,
        $write:expr
    ) => {
        pub(crate) struct $engine(Position);

        impl Calls for $engine {
            fn new(_: &JobPlacement) -> io::Result<Self> {
                Ok(Self(Position::new()))
            }

            #[inline(always)]
            fn read(&mut $self, $file: BorrowedFd<'_>, $buffer: &mut [u8], $at: u64) -> Moved {
                $read
            }

            #[inline(always)]
            fn write(&mut $self, $file: BorrowedFd<'_>, $buffer: &[u8], $at: u64) -> Moved {
                $write
            }

            fn serve(&mut self, file: &mut JobFile, operation: Operation) -> i64 {
                self.0.serve(file, operation)
            }
        }
    };
}

engine!(Psync, |self, file, buffer, at| pread(file, buffer, at), pwrite(file, buffer, at));
engine!(
    Pvsync,
    |self, file, buffer, at| preadv(file, &mut [IoSliceMut::new(buffer)], at),
    pwritev(file, &[IoSlice::new(buffer)], at)
);
engine!(
    Sync,
    |self, file, buffer, at| self.0.at(file, at, || read(file, buffer)),
    self.0.at(file, at, || write(file, buffer))
);
engine!(
    Vsync,
    |self, file, buffer, at| self.0.at(file, at, || readv(file, &mut [IoSliceMut::new(buffer)])),
    self.0.at(file, at, || writev(file, &[IoSlice::new(buffer)]))
);
