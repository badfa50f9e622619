//! splice(2): pages move by a pipe, with no copy into the program. Reading is file → pipe →
//! /dev/null; writing is the program's pages → pipe (vmsplice(2)) → file. The pipe is made as large
//! as a request (F_SETPIPE_SZ) up to fs.pipe-max-size; what is larger goes in pieces, and all of
//! them are one request.
//!
//! Non-goals: bringing what was read into the program's memory, which is what splice avoids.

use super::blocking::{Calls, Moved};
use model::seam::JobPlacement;
use rustix::fd::BorrowedFd;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::pipe::{IoSliceRaw, PipeFlags, SpliceFlags, pipe_with, splice, vmsplice};
use rustix::pipe::{fcntl_getpipe_size, fcntl_setpipe_size};
use std::io;
use std::os::fd::OwnedFd;

pub(crate) struct Splice {
    output: OwnedFd,
    input: OwnedFd,
    sink: OwnedFd,
    pipe_bytes: usize,
}

/// Makes the pipe hold a request, as far as the system allows.
fn enlarge(pipe: &OwnedFd, wanted_bytes: usize) -> io::Result<usize> {
    let limit = std::fs::read_to_string("/proc/sys/fs/pipe-max-size").unwrap_or_default();
    let limit = limit.trim().parse().unwrap_or(usize::MAX);
    let wanted_bytes = wanted_bytes.next_power_of_two().min(limit);
    if fcntl_getpipe_size(pipe)? < wanted_bytes {
        match fcntl_setpipe_size(pipe, wanted_bytes) {
            // The user's pipes together may be at fs.pipe-user-pages-soft: then the pieces are
            // smaller.
            Ok(_) | Err(Errno::PERM) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(fcntl_getpipe_size(pipe)?)
}

impl Splice {
    /// Moves all that is in the pipe.
    #[inline(always)]
    fn drain(
        &self,
        mut bytes: usize,
        to: BorrowedFd<'_>,
        mut offset: Option<u64>,
    ) -> Result<(), Errno> {
        while bytes > 0 {
            let none = SpliceFlags::empty();
            match splice(&self.output, None, to, offset.as_mut(), bytes, none)? {
                0 => return Err(Errno::IO),
                moved => bytes -= moved,
            }
        }
        Ok(())
    }

    /// Empties the pipe after a failure, so that the next request begins with nothing in it.
    #[cold]
    fn discard(&self) {
        use std::os::fd::AsFd;
        let flags = SpliceFlags::NONBLOCK;
        while let Ok(1..) = splice(&self.output, None, self.sink.as_fd(), None, 1 << 20, flags) {}
    }
}

impl Calls for Splice {
    fn new(placement: &JobPlacement) -> io::Result<Self> {
        let (output, input) = pipe_with(PipeFlags::CLOEXEC)?;
        let pipe_bytes = enlarge(&input, placement.block_bytes as usize)?;
        let sink = rustix::fs::open("/dev/null", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Self { output, input, sink, pipe_bytes })
    }

    #[inline(always)]
    fn read(&mut self, file: BorrowedFd<'_>, buffer: &mut [u8], offset_bytes: u64) -> Moved {
        use std::os::fd::AsFd;
        let mut at = offset_bytes;
        let end = offset_bytes + buffer.len() as u64;
        while at < end {
            let piece = ((end - at) as usize).min(self.pipe_bytes);
            let none = SpliceFlags::empty();
            match splice(file, Some(&mut at), &self.input, None, piece, none)? {
                0 => break,
                moved => self.drain(moved, self.sink.as_fd(), None)?,
            }
        }
        Ok((at - offset_bytes) as usize)
    }

    #[inline(always)]
    fn write(&mut self, file: BorrowedFd<'_>, buffer: &[u8], offset_bytes: u64) -> Moved {
        let mut done = 0;
        for piece in buffer.chunks(self.pipe_bytes) {
            let mut rest = piece;
            while !rest.is_empty() {
                let slice = IoSliceRaw::from_slice(rest);
                // SAFETY: the pipe's writing end only takes references to these pages, and they
                // have left the pipe for the file before the buffer is used again.
                let moved = unsafe { vmsplice(&self.input, &[slice], SpliceFlags::empty()) }?;
                let at = offset_bytes + done as u64;
                self.drain(moved, file, Some(at)).inspect_err(|_| self.discard())?;
                done += moved;
                rest = rest.get(moved..).unwrap_or_default();
            }
        }
        Ok(done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn what_is_read_comes_out_of_the_pipe_in_pieces_too() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name| folder.path().join(name);
        let bytes: Vec<u8> = (0..3_000_000u32).map(|i| ((i * 7) >> 3) as u8).collect();
        std::fs::write(path("source"), &bytes).unwrap();
        let source = std::fs::File::open(path("source")).unwrap();
        let placement = JobPlacement { block_bytes: 4096, ..JobPlacement::default() };
        let mut splice = Splice::new(&placement).unwrap();
        assert!(splice.pipe_bytes < bytes.len());
        splice.sink = std::fs::File::create(path("sink")).unwrap().into();
        let mut buffer = vec![0; bytes.len()];
        assert_eq!(splice.read(source.as_fd(), &mut buffer, 1234), Ok(bytes.len() - 1234));
        assert!(std::fs::read(path("sink")).unwrap() == bytes[1234..]);
    }

    #[test]
    fn a_failed_write_leaves_the_pipe_empty() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("file"), "").unwrap();
        let file = std::fs::File::open(folder.path().join("file")).unwrap();
        let mut splice = Splice::new(&JobPlacement::default()).unwrap();
        for _ in 0..100 {
            assert_eq!(splice.write(file.as_fd(), &[1; 4096], 0), Err(Errno::BADF));
        }
    }
}
