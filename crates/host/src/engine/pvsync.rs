//! preadv(2) and pwritev(2): as psync, with the buffer in a vector of one.

use super::blocking::{Calls, Moved};
use model::seam::JobPlacement;
use rustix::fd::BorrowedFd;
use std::io::{self, IoSlice, IoSliceMut};

pub(crate) struct Pvsync;

impl Calls for Pvsync {
    fn new(_: &JobPlacement) -> io::Result<Self> {
        Ok(Self)
    }

    #[inline(always)]
    fn read(&mut self, file: BorrowedFd<'_>, buffer: &mut [u8], offset_bytes: u64) -> Moved {
        rustix::io::preadv(file, &mut [IoSliceMut::new(buffer)], offset_bytes)
    }

    #[inline(always)]
    fn write(&mut self, file: BorrowedFd<'_>, buffer: &[u8], offset_bytes: u64) -> Moved {
        rustix::io::pwritev(file, &[IoSlice::new(buffer)], offset_bytes)
    }
}
