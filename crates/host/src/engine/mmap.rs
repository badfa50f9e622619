//! Memory copies from and to a shared mapping of the file, made when it is opened and as long
//! as the file is then (mmap(2)). What is read and written is the page cache itself; the
//! kernel is entered only by page faults.
//!
//! A page that cannot be had (another program cut the file, a read failed, no space for a hole) is
//! told by SIGBUS, which ends the process. A handler could only jump out of the copy past Rust's
//! frames, which is undefined behaviour; so it stays with the signal, and `lbolt doctor --clean`
//! removes the leftovers.
//!
//! Non-goals: making files longer; requests past the mapping are completed with EINVAL.

use super::blocking::{Calls, Moved};
use super::{JobFile, io_result, opens};
use model::seam::{JobPlacement, Operation};
use rustix::fd::BorrowedFd;
use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::hint::black_box;
use std::io;

pub(crate) struct Mmap {
    start: *mut u8,
    length: usize,
    is_writable: bool,
}

impl Mmap {
    /// Where a request lies in the mapping.
    #[inline(always)]
    fn place(&self, offset_bytes: u64, length: usize) -> Result<*mut u8, Errno> {
        let end = (offset_bytes as usize).checked_add(length).ok_or(Errno::INVAL)?;
        if end > self.length {
            return Err(Errno::INVAL);
        }
        // SAFETY: offset + length is inside the mapping, which is one object.
        Ok(unsafe { self.start.add(offset_bytes as usize) })
    }

    /// Maps the whole file; one that is empty has no mapping.
    fn map(&mut self, file: BorrowedFd<'_>, is_writable: bool) -> Result<(), Errno> {
        // A device has no length in its inode, but its end can be found.
        let length = seek(file, SeekFrom::End(0))? as usize;
        if length == 0 {
            return Ok(());
        }
        let access = if is_writable { ProtFlags::WRITE } else { ProtFlags::empty() };
        let access = access | ProtFlags::READ;
        // SAFETY: the kernel chooses a place that nothing else uses.
        let start =
            unsafe { mmap(std::ptr::null_mut(), length, access, MapFlags::SHARED, file, 0) };
        (self.start, self.length, self.is_writable) = (start?.cast(), length, is_writable);
        Ok(())
    }

    fn unmap(&mut self) {
        let (start, length) = (self.start.cast(), std::mem::take(&mut self.length));
        if length > 0 {
            // SAFETY: this very mapping, once: the length is 0 from here on, and no request
            // finds a place in it.
            let unmapped = unsafe { munmap(start, length) };
            debug_assert!(unmapped.is_ok(), "a mapping of our own can be unmapped");
        }
    }
}

impl Calls for Mmap {
    fn new(_: &JobPlacement) -> io::Result<Self> {
        Ok(Self { start: std::ptr::null_mut(), length: 0, is_writable: false })
    }

    #[inline(always)]
    fn read(&mut self, _: BorrowedFd<'_>, buffer: &mut [u8], offset_bytes: u64) -> Moved {
        let place = self.place(offset_bytes, buffer.len())?;
        // SAFETY: `place` has so many mapped bytes (checked), the buffer is elsewhere. Others may
        // write the file meanwhile, which gives bytes old or new; a page that is gone ends the
        // process by SIGBUS before anything is made of it.
        unsafe { std::ptr::copy_nonoverlapping(place, buffer.as_mut_ptr(), buffer.len()) };
        // What nobody looks at is copied nevertheless.
        Ok(black_box(buffer).len())
    }

    #[inline(always)]
    fn write(&mut self, _: BorrowedFd<'_>, buffer: &[u8], offset_bytes: u64) -> Moved {
        let place = self.place(offset_bytes, buffer.len())?;
        if !self.is_writable {
            return Err(Errno::BADF);
        }
        // SAFETY: as in `read`; the mapping is writable (checked), and no reference to it exists.
        unsafe { std::ptr::copy_nonoverlapping(buffer.as_ptr(), place, buffer.len()) };
        Ok(buffer.len())
    }

    /// fdatasync(2) writes the pages that were changed through a mapping too, as msync(2) does.
    fn serve(&mut self, file: &mut JobFile, operation: Operation) -> i64 {
        if opens(operation) || operation == Operation::Close {
            self.unmap();
        }
        let result = file.serve(operation);
        if result < 0 || !opens(operation) {
            return result;
        }
        let is_writable = operation != Operation::OpenRead;
        io_result(file.fd().and_then(|fd| self.map(fd, is_writable)).map(|()| 0))
    }
}

impl Drop for Mmap {
    fn drop(&mut self) {
        self.unmap();
    }
}
