//! aio_read(3), aio_write(3), aio_fsync(3): POSIX's asynchronous interface, which glibc serves by
//! threads of its own (sysdeps/pthread/aio_misc.c). It lets requests to one descriptor follow each
//! other, so that depth does not overlap on one file. Its threads are named after the one that
//! makes them (so that they count as the job's) and end a second after their last request. musl
//! (src/aio/aio.c) makes a thread for each request, named in the same way: depth overlaps there,
//! and each request costs a thread.
//!
//! The state of every control block is requested in every look (aio_error(3)), in flight or not, so
//! that looking costs the same at any time.
//!
//! Non-goals: signals, lio_listio(3).

use super::{Buffers, JobFile, last_errno, sleep, timespec};
use model::seam::{Completion, Engine, JobPlacement, Operation, Request};
use std::cell::UnsafeCell;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::AsRawFd;
use std::ptr::null;
use std::time::{Duration, Instant};

pub(crate) struct Posixaio {
    file: JobFile,
    buffers: ManuallyDrop<Buffers>,
    /// One control block a token; the library's threads write to those in flight.
    blocks: ManuallyDrop<Box<[UnsafeCell<libc::aiocb>]>>,
    /// The blocks in flight, for aio_suspend(3); null where there is none.
    in_flight: Box<[*const libc::aiocb]>,
    outstanding: u64,
}

/// Has the library make its thread now: it would inherit the CPU that the job's thread is
/// bound to after this, and share it with the job.
fn wake_library() {
    // SAFETY: a control block of zeros is plain data; it stays here until its request, which no
    // descriptor can serve, is completed.
    unsafe {
        let mut block: libc::aiocb = std::mem::zeroed();
        block.aio_fildes = -1;
        block.aio_sigevent.sigev_notify = libc::SIGEV_NONE;
        if libc::aio_read(&mut block) == 0 {
            let list = [std::ptr::from_ref(&block)];
            while libc::aio_error(&block) == libc::EINPROGRESS {
                libc::aio_suspend(list.as_ptr(), 1, null());
            }
            libc::aio_return(&mut block);
        }
    }
}

impl Posixaio {
    pub(crate) fn new(file: JobFile, placement: &JobPlacement) -> io::Result<Self> {
        let buffers = ManuallyDrop::new(Buffers::new(placement.depth, placement.block_bytes)?);
        let block = |_| {
            // SAFETY: a control block of zeros is plain data, and one that was never used.
            let mut block: libc::aiocb = unsafe { std::mem::zeroed() };
            block.aio_sigevent.sigev_notify = libc::SIGEV_NONE;
            UnsafeCell::new(block)
        };
        let blocks = ManuallyDrop::new((0..placement.depth).map(block).collect());
        let in_flight = vec![null(); placement.depth as usize].into_boxed_slice();
        wake_library();
        Ok(Self { file, buffers, blocks, in_flight, outstanding: 0 })
    }

    /// Hands a request over: nothing where the library took it, else a negative errno.
    #[inline(always)]
    fn send(&mut self, request: &Request) -> Result<(), i64> {
        let fd = self.file.fd().map_err(|errno| -i64::from(errno.raw_os_error()))?;
        let buffer = self.buffers.get(request.token, request.length_bytes);
        let place = request.token as usize;
        let (Some(block), true) =
            (self.blocks.get(place), buffer.len() == request.length_bytes as usize)
        else {
            return Err(-i64::from(libc::EINVAL));
        };
        let block = block.get();
        // SAFETY: the block is not in flight (its token is free) and stays where it is until
        // completed, as do the buffer and the descriptor (`drop` waits for what is left).
        let sent = unsafe {
            (*block).aio_fildes = fd.as_raw_fd();
            (*block).aio_buf = buffer.as_mut_ptr().cast();
            (*block).aio_nbytes = buffer.len();
            (*block).aio_offset = request.offset_bytes as libc::off_t;
            match request.operation {
                Operation::Read => libc::aio_read(block),
                Operation::Write => libc::aio_write(block),
                Operation::Fsync => libc::aio_fsync(libc::O_SYNC, block),
                _ => libc::aio_fsync(libc::O_DSYNC, block),
            }
        };
        if sent != 0 {
            return Err(-i64::from(last_errno().raw_os_error()));
        }
        self.in_flight[place] = block;
        self.outstanding += 1;
        Ok(())
    }

    /// Asks every block for its state, and takes those that are done.
    #[inline(always)]
    fn collect(&mut self, completions: &mut Vec<Completion>) -> u32 {
        let mut found = 0;
        for (token, block) in self.blocks.iter().enumerate() {
            // SAFETY: the block is valid, and its state is read as the library lays down.
            let errno = unsafe { libc::aio_error(block.get()) };
            let in_flight = &mut self.in_flight[token];
            if in_flight.is_null() || errno == libc::EINPROGRESS {
                continue;
            }
            // SAFETY: the request is done and its result was not fetched before.
            let moved = unsafe { libc::aio_return(block.get()) } as i64;
            let result = if errno == 0 { moved } else { -i64::from(errno) };
            *in_flight = null();
            completions.push(Completion { token: token as u32, result });
            found += 1;
        }
        self.outstanding -= u64::from(found);
        found
    }

    /// Sleeps until any request in flight is done, or the time is over.
    fn suspend(&self, timeout_ns: u64) -> io::Result<()> {
        let time = timespec(timeout_ns);
        let time = time.as_ref().map_or(null(), std::ptr::from_ref);
        let count = self.in_flight.len() as libc::c_int;
        // SAFETY: the list holds so many pointers to blocks in flight or null.
        if unsafe { libc::aio_suspend(self.in_flight.as_ptr(), count, time) } == 0 {
            return Ok(());
        }
        match last_errno().raw_os_error() {
            libc::EAGAIN | libc::EINTR => Ok(()),
            errno => Err(io::Error::from_raw_os_error(errno)),
        }
    }
}

impl Engine for Posixaio {
    fn name(&self) -> &'static str {
        "posixaio"
    }

    #[inline(always)]
    fn submit(&mut self, request: &Request, completions: &mut Vec<Completion>) -> io::Result<()> {
        let result = match request.operation {
            Operation::Read | Operation::Write | Operation::Fdatasync | Operation::Fsync => {
                match self.send(request) {
                    Ok(()) => return Ok(()),
                    Err(result) => result,
                }
            }
            other => self.file.serve(other),
        };
        completions.push(Completion { token: request.token, result });
        Ok(())
    }

    #[inline(always)]
    fn reap(
        &mut self,
        min: u32,
        timeout_ns: u64,
        completions: &mut Vec<Completion>,
    ) -> io::Result<()> {
        let mut found = self.collect(completions);
        if found >= min {
            return Ok(());
        }
        if self.outstanding == 0 && found == 0 {
            return sleep(timeout_ns);
        }
        let begin = Instant::now();
        while found < min && self.outstanding > 0 {
            let rest = Duration::from_nanos(timeout_ns).saturating_sub(begin.elapsed());
            let rest_ns = if timeout_ns == u64::MAX { u64::MAX } else { rest.as_nanos() as u64 };
            self.suspend(rest_ns)?;
            found += self.collect(completions);
            if rest_ns == 0 {
                break;
            }
        }
        Ok(())
    }
}

impl Drop for Posixaio {
    /// The library's threads may still write into blocks and buffers: they go only when all is
    /// completed. Where the library refuses to say, they are never freed.
    fn drop(&mut self) {
        let mut ignored = Vec::new();
        while self.outstanding > 0 {
            if self.suspend(u64::MAX).is_err() {
                return;
            }
            self.collect(&mut ignored);
        }
        // SAFETY: dropped once, here, and not used after; nothing is in flight.
        unsafe {
            ManuallyDrop::drop(&mut self.blocks);
            ManuallyDrop::drop(&mut self.buffers);
        }
    }
}
