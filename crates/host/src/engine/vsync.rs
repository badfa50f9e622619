//! readv(2) and writev(2) at the position of the file: as sync, with the buffer in a vector
//! of one.
//!
//! Non-goals: gathering neighbouring requests into one call, as fio's engine of this name does
//! at depths above 1.

use super::JobFile;
use super::blocking::{Calls, Moved};
use super::sync::Position;
use model::seam::{JobPlacement, Operation};
use rustix::fd::BorrowedFd;
use std::io::{self, IoSlice, IoSliceMut};

pub(crate) struct Vsync(Position);

impl Calls for Vsync {
    fn new(_: &JobPlacement) -> io::Result<Self> {
        Ok(Self(Position::new()))
    }

    #[inline(always)]
    fn read(&mut self, file: BorrowedFd<'_>, buffer: &mut [u8], offset_bytes: u64) -> Moved {
        let call = || rustix::io::readv(file, &mut [IoSliceMut::new(buffer)]);
        self.0.at(file, offset_bytes, call)
    }

    #[inline(always)]
    fn write(&mut self, file: BorrowedFd<'_>, buffer: &[u8], offset_bytes: u64) -> Moved {
        let call = || rustix::io::writev(file, &[IoSlice::new(buffer)]);
        self.0.at(file, offset_bytes, call)
    }

    fn serve(&mut self, file: &mut JobFile, operation: Operation) -> i64 {
        self.0.serve(file, operation)
    }
}
