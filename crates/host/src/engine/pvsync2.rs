//! preadv2(2) and pwritev2(2): as pvsync, with flags. RWF_NOWAIT is used as programs with an event
//! loop use it: first the call that does not wait, and for what that did not do (EAGAIN, or only
//! the cached part) the call that does. RWF_HIPRI asks the caller to poll the device; the kernels
//! of today take the flag for a blocking call and do not poll (fs/iomap/direct-io.c: "Sync dio
//! can't be polled reliably"), so that `io_uring_iopoll` is what polls.
//!
//! Non-goals: hiding a refusal. Where the file system has no RWF_NOWAIT, EOPNOTSUPP is the result.

use super::blocking::{Calls, Moved};
use model::engine::EngineKind;
use model::seam::{Durability, JobPlacement};
use rustix::fd::BorrowedFd;
use rustix::io::{Errno, ReadWriteFlags};
use std::io::{self, IoSlice, IoSliceMut};

/// The flags of the engines that have any.
const FLAGS: [(EngineKind, ReadWriteFlags); 2] = [
    (EngineKind::Pvsync2Nowait, ReadWriteFlags::NOWAIT),
    (EngineKind::Pvsync2Hipri, ReadWriteFlags::HIPRI),
];

pub(crate) struct Pvsync2 {
    flags: ReadWriteFlags,
}

impl Pvsync2 {
    /// What the first call moved of so much, if the rest is to be requested again.
    #[inline(always)]
    fn rest(&self, moved: rustix::io::Result<usize>, length: usize) -> Option<usize> {
        if self.flags != ReadWriteFlags::NOWAIT {
            return None;
        }
        match moved {
            Err(Errno::AGAIN) => Some(0),
            Ok(moved) if moved < length => Some(moved),
            _ => None,
        }
    }
}

impl Calls for Pvsync2 {
    fn new(placement: &JobPlacement) -> io::Result<Self> {
        let own = FLAGS.iter().find(|(kind, _)| *kind == placement.engine);
        let durable = match placement.durability {
            Durability::CallDsync => ReadWriteFlags::DSYNC,
            _ => ReadWriteFlags::empty(),
        };
        Ok(Self { flags: own.map_or(ReadWriteFlags::empty(), |(_, flags)| *flags) | durable })
    }

    #[inline(always)]
    fn read(&mut self, file: BorrowedFd<'_>, buffer: &mut [u8], offset_bytes: u64) -> Moved {
        let length = buffer.len();
        let mut read = |from: usize, flags| {
            let part = IoSliceMut::new(&mut buffer[from..]);
            rustix::io::preadv2(file, &mut [part], offset_bytes + from as u64, flags)
        };
        let first = read(0, self.flags);
        match self.rest(first, length) {
            None => first,
            Some(moved) => read(moved, ReadWriteFlags::empty()).map(|more| moved + more),
        }
    }

    #[inline(always)]
    fn write(&mut self, file: BorrowedFd<'_>, buffer: &[u8], offset_bytes: u64) -> Moved {
        let write = |from: usize, flags| {
            let part = IoSlice::new(&buffer[from..]);
            rustix::io::pwritev2(file, &[part], offset_bytes + from as u64, flags)
        };
        let first = write(0, self.flags);
        match self.rest(first, buffer.len()) {
            None => first,
            Some(moved) => write(moved, ReadWriteFlags::empty()).map(|more| moved + more),
        }
    }
}
