//! pread(2) and pwrite(2): one blocking call a request, at the offset that it names.

use super::blocking::{Calls, Moved};
use model::seam::JobPlacement;
use rustix::fd::BorrowedFd;
use std::io;

pub(crate) struct Psync;

impl Calls for Psync {
    fn new(_: &JobPlacement) -> io::Result<Self> {
        Ok(Self)
    }

    #[inline(always)]
    fn read(&mut self, file: BorrowedFd<'_>, buffer: &mut [u8], offset_bytes: u64) -> Moved {
        rustix::io::pread(file, buffer, offset_bytes)
    }

    #[inline(always)]
    fn write(&mut self, file: BorrowedFd<'_>, buffer: &[u8], offset_bytes: u64) -> Moved {
        rustix::io::pwrite(file, buffer, offset_bytes)
    }
}
