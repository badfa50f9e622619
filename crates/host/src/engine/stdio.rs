//! The C library's buffered streams: fread(3) and fwrite(3) with a buffer that setvbuf(3) makes a
//! quarter, half, once or twice as large as the request; the system buffer was varied so by Bucher
//! & Hayes (1980). fseeko(3) only where the stream is elsewhere, or turns from writing to reading.
//! What is written reaches the kernel as a user's program leaves it: when the buffer is full, and
//! at fdatasync and close; an error of it comes out there.
//!
//! glibc (libio/fileops.c, `_IO_file_xsgetn`) reads past its buffer what is at least as large: so
//! only the buffer of twice the size makes the kernel's requests other than the program's when
//! reading.
//! musl (src/stdio/__stdio_read.c) fills the program's memory and its own buffer by one call, and
//! keeps eight bytes of the buffer for ungetc(3): it reads ahead with every size.
//!
//! Non-goals: fopen(3) itself; the stream is made over a copy of the job's descriptor.

use super::blocking::{Calls, Moved};
use super::{JobFile, io_result, last_errno, opens};
use model::engine::EngineKind;
use model::seam::{JobPlacement, Operation};
use rustix::fd::BorrowedFd;
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use std::ffi::CStr;
use std::io;
use std::os::fd::IntoRawFd;
use std::ptr::NonNull;

/// Quarters of the request that a stream's buffer holds.
const QUARTERS: [(EngineKind, u64); 4] = [
    (EngineKind::StdioQuarter, 1),
    (EngineKind::StdioHalf, 2),
    (EngineKind::Stdio, 4),
    (EngineKind::StdioDouble, 8),
];

/// The mode in which fdopen(3) is to make a stream of a descriptor that was opened so.
const MODES: [(Operation, &CStr); 3] =
    [(Operation::OpenRead, c"r"), (Operation::OpenReadWrite, c"r+"), (Operation::Create, c"w")];

/// Nowhere that is known.
const UNKNOWN: u64 = u64::MAX;

pub(crate) struct Stdio {
    stream: Option<NonNull<libc::FILE>>,
    /// The stream's own buffer: no other use of it than by the C library while there is a stream.
    buffer: Box<[u8]>,
    position_bytes: u64,
    /// Between reading and writing a stream must be positioned (C11, 7.21.5.3).
    last: Operation,
}

impl Stdio {
    /// The stream, standing where the operation is to begin.
    #[inline(always)]
    fn ready(&mut self, offset_bytes: u64, operation: Operation) -> Result<*mut libc::FILE, Errno> {
        let stream = self.stream.ok_or(Errno::BADF)?.as_ptr();
        if self.position_bytes != offset_bytes || self.last != operation {
            // SAFETY: `stream` is open: it is taken out of `self` before it is closed.
            if unsafe { libc::fseeko(stream, offset_bytes as libc::off_t, libc::SEEK_SET) } != 0 {
                return Err(last_errno());
            }
        }
        self.last = operation;
        Ok(stream)
    }

    /// Follows what the library said that it moved of so much.
    #[inline(always)]
    fn moved(&mut self, moved: usize, length: usize, offset_bytes: u64) -> Result<usize, Errno> {
        if moved == length {
            self.position_bytes = offset_bytes + moved as u64;
            return Ok(moved);
        }
        self.fell_short(moved)
    }

    /// An error, or the end of the file.
    #[cold]
    fn fell_short(&mut self, moved: usize) -> Result<usize, Errno> {
        let errno = last_errno();
        self.position_bytes = UNKNOWN;
        let Some(stream) = self.stream else { return Err(Errno::BADF) };
        // SAFETY: the stream is open, as above.
        let is_error = unsafe {
            let is_error = libc::ferror(stream.as_ptr()) != 0;
            libc::clearerr(stream.as_ptr());
            is_error
        };
        if is_error { Err(errno) } else { Ok(moved) }
    }

    fn flush(&mut self) -> Result<(), Errno> {
        let Some(stream) = self.stream else { return Ok(()) };
        // SAFETY: the stream is open, as above.
        if unsafe { libc::fflush(stream.as_ptr()) } == 0 { Ok(()) } else { Err(last_errno()) }
    }

    /// Flushes and ends the stream; the job's own descriptor stays open.
    fn close(&mut self) -> Result<(), Errno> {
        let Some(stream) = self.stream.take() else { return Ok(()) };
        // SAFETY: the stream was open and nothing refers to it any more; its buffer is still there.
        if unsafe { libc::fclose(stream.as_ptr()) } == 0 { Ok(()) } else { Err(last_errno()) }
    }

    /// Makes a stream over a copy of the descriptor, which shares its position.
    fn attach(&mut self, file: BorrowedFd<'_>, operation: Operation) -> Result<(), Errno> {
        let mode = MODES.iter().find(|(opening, _)| *opening == operation).ok_or(Errno::INVAL)?.1;
        let copy = fcntl_dupfd_cloexec(file, 0)?.into_raw_fd();
        // SAFETY: `copy` is an open descriptor that nobody else owns; the mode is a C string.
        let Some(stream) = NonNull::new(unsafe { libc::fdopen(copy, mode.as_ptr()) }) else {
            let errno = last_errno();
            // SAFETY: fdopen refused the descriptor and did not close it.
            unsafe { libc::close(copy) };
            return Err(errno);
        };
        let (start, size) = (self.buffer.as_mut_ptr().cast(), self.buffer.len());
        // SAFETY: the buffer lives on the heap until the stream is closed (`drop` closes it first)
        // and is touched by the library alone.
        unsafe { libc::setvbuf(stream.as_ptr(), start, libc::_IOFBF, size) };
        self.stream = Some(stream);
        self.position_bytes = 0;
        Ok(())
    }
}

impl Calls for Stdio {
    fn new(placement: &JobPlacement) -> io::Result<Self> {
        let quarters =
            QUARTERS.iter().find(|(kind, _)| *kind == placement.engine).map_or(4, |q| q.1);
        let size = (u64::from(placement.block_bytes) * quarters / 4).max(1) as usize;
        let buffer = vec![0; size].into_boxed_slice();
        Ok(Self { stream: None, buffer, position_bytes: UNKNOWN, last: Operation::Close })
    }

    #[inline(always)]
    fn read(&mut self, _: BorrowedFd<'_>, buffer: &mut [u8], offset_bytes: u64) -> Moved {
        let stream = self.ready(offset_bytes, Operation::Read)?;
        let length = buffer.len();
        // SAFETY: the stream is open and `buffer` has space for `length` bytes.
        let moved = unsafe { libc::fread(buffer.as_mut_ptr().cast(), 1, length, stream) };
        self.moved(moved, length, offset_bytes)
    }

    #[inline(always)]
    fn write(&mut self, _: BorrowedFd<'_>, buffer: &[u8], offset_bytes: u64) -> Moved {
        let stream = self.ready(offset_bytes, Operation::Write)?;
        let length = buffer.len();
        // SAFETY: the stream is open and `buffer` holds `length` bytes.
        let moved = unsafe { libc::fwrite(buffer.as_ptr().cast(), 1, length, stream) };
        self.moved(moved, length, offset_bytes)
    }

    fn serve(&mut self, file: &mut JobFile, operation: Operation) -> i64 {
        let emptied = match operation {
            Operation::Fdatasync
            | Operation::Fsync
            | Operation::SyncFileRange
            | Operation::StartWriteback => self.flush(),
            Operation::Unlink => Ok(()),
            _ => self.close(),
        };
        let result = file.serve(operation);
        if result < 0 || emptied.is_err() {
            return result.min(io_result(emptied.map(|()| 0)));
        }
        if opens(operation) {
            return io_result(file.fd().and_then(|fd| self.attach(fd, operation)).map(|()| 0));
        }
        result
    }
}

impl Drop for Stdio {
    fn drop(&mut self) {
        // Nobody is left to be told that it failed.
        let _ = self.close();
    }
}
