//! io_uring (io_uring_enter(2)), one ring a job, set up in one of the ways of `mode`. Each request
//! is handed over at once, as fio does it. Handed over together when the job waits, they go out in
//! bursts of nearly the whole depth, the device idles in between, and random reads at depth 32 lost
//! a sixth of their rate (543 calls for 16,384 requests). Registered rings hand over a quarter of
//! their depth at a time, and eight at the most: a page cache completes within the call, of which
//! that saves seven in eight, and a device has the other three quarters meanwhile. Open, create,
//! close and unlink are plain calls.
//!
//! Looking for completions reads the ring in user space. The kernel is entered for it only where it
//! says that it has some to post (TASKRUN), and always where the device is polled: there is no
//! other way to find them.

mod mode;
mod poller;

pub(crate) use mode::Mode;
#[cfg(test)]
pub(crate) use poller::is_there as is_polled;
pub(crate) use poller::wait_for_poller;

use super::{Buffers, JobFile, opens, sleep};
use io_uring::{opcode, squeue, types};
use model::seam::{Completion, Engine, JobPlacement, Operation, Request};
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::AsRawFd;

/// The registered file, in rings that have one.
const FILE: types::Fixed = types::Fixed(0);

/// The most requests that are handed over together.
const BATCH_MAX: u32 = 8;

pub(crate) struct IoUring {
    ring: io_uring::IoUring,
    mode: Mode,
    file: JobFile,
    buffers: ManuallyDrop<Buffers>,
    /// Handed to the kernel or queued for it, and not yet completed.
    outstanding: u64,
    /// Queued and not handed over yet, and how many are handed over together.
    queued: u32,
    batch: u32,
    /// The kernel refused for now to take what is queued.
    is_delayed: bool,
}

impl IoUring {
    /// A ring for the placement's requests, with its buffers registered where the mode says so.
    pub(crate) fn new(file: JobFile, placement: &JobPlacement) -> io::Result<Self> {
        let mode = Mode::of(placement.engine).ok_or(io::ErrorKind::Unsupported)?;
        let ring = mode.ring(placement.depth.next_power_of_two())?;
        let buffers = ManuallyDrop::new(Buffers::new(placement.depth, placement.block_bytes)?);
        let batch = if mode.is_fixed { (placement.depth / 4).clamp(1, BATCH_MAX) } else { 1 };
        let mut engine =
            Self { ring, mode, file, buffers, outstanding: 0, queued: 0, batch, is_delayed: false };
        if mode.is_fixed {
            engine.register(placement)?;
        }
        Ok(engine)
    }

    /// Registers every buffer, and a place for the file, which is opened by a request.
    fn register(&mut self, placement: &JobPlacement) -> io::Result<()> {
        let length = placement.block_bytes;
        let vectors: Vec<_> = (0..placement.depth)
            .map(|token| self.buffers.get(token, length).as_mut_ptr().cast())
            .map(|iov_base| libc::iovec { iov_base, iov_len: length as usize })
            .collect();
        let submitter = self.ring.submitter();
        // SAFETY: the buffers are allocated until `drop`, which waits for every completion.
        unsafe { submitter.register_buffers(&vectors) }?;
        submitter.register_files(&[-1])
    }

    /// What is neither reading nor writing; the registered file follows the open one.
    #[cold]
    fn serve(&mut self, operation: Operation) -> io::Result<i64> {
        if self.mode.is_fixed && operation == Operation::Close {
            self.ring.submitter().register_files_update(0, &[-1])?;
        }
        let result = self.file.serve(operation);
        if self.mode.is_fixed && opens(operation) && result >= 0 {
            let fd = self.file.fd()?.as_raw_fd();
            self.ring.submitter().register_files_update(0, &[fd])?;
        }
        Ok(result)
    }

    /// The request as the kernel wants it; a negative errno where it cannot be requested.
    #[inline(always)]
    fn entry(&mut self, request: &Request) -> Result<squeue::Entry, i64> {
        let fd = self.file.fd().map_err(|errno| -i64::from(errno.raw_os_error()))?;
        let fd = types::Fd(fd.as_raw_fd());
        let buffer = self.buffers.get(request.token, request.length_bytes);
        if buffer.len() != request.length_bytes as usize {
            return Err(-i64::from(libc::EINVAL));
        }
        let (pointer, length) = (buffer.as_mut_ptr(), request.length_bytes);
        let (at, index) = (request.offset_bytes, request.token as u16);
        let sync = match request.operation {
            Operation::Fsync => types::FsyncFlags::empty(),
            _ => types::FsyncFlags::DATASYNC,
        };
        Ok(match (request.operation, self.mode.is_fixed) {
            (Operation::Read, false) => opcode::Read::new(fd, pointer, length).offset(at).build(),
            (Operation::Write, false) => opcode::Write::new(fd, pointer, length).offset(at).build(),
            (Operation::Read, true) => {
                opcode::ReadFixed::new(FILE, pointer, length, index).offset(at).build()
            }
            (Operation::Write, true) => {
                opcode::WriteFixed::new(FILE, pointer, length, index).offset(at).build()
            }
            (_, false) => opcode::Fsync::new(fd).flags(sync).build(),
            (_, true) => opcode::Fsync::new(FILE).flags(sync).build(),
        }
        .user_data(u64::from(request.token)))
    }

    #[inline(always)]
    fn queue(&mut self, entry: &squeue::Entry) -> io::Result<()> {
        if self.ring.submission().is_full() {
            self.make_room()?;
        }
        // SAFETY: the descriptor stays open and the buffer allocated until the completion is there:
        // a job closes its file only when all is completed, and `drop` waits for what is left.
        unsafe { self.ring.submission().push(entry) }.map_err(io::Error::other)?;
        self.outstanding += 1;
        self.queued += 1;
        if self.queued < self.batch { Ok(()) } else { self.hand_over() }
    }

    /// Gives the kernel what is queued, and looks for what it has to post.
    #[inline(always)]
    fn hand_over(&mut self) -> io::Result<()> {
        match self.ring.submit() {
            Ok(_) => (self.is_delayed, self.queued) = (false, 0),
            Err(e) if is_passing(&e) => self.is_delayed = true,
            Err(e) => return Err(e),
        }
        Ok(())
    }

    /// The queue holds as many as can be outstanding: it is full only until the kernel took note.
    #[cold]
    fn make_room(&mut self) -> io::Result<()> {
        if self.mode.has_thread() {
            self.ring.submitter().squeue_wait()?;
        }
        self.hand_over()
    }

    /// Hands over what is queued and waits for `min` completions or the timeout.
    fn enter(&mut self, min: u32, timeout_ns: u64) -> io::Result<()> {
        let want = u64::from(min).min(self.outstanding) as usize;
        let entered = if timeout_ns == u64::MAX {
            self.ring.submit_and_wait(want)
        } else {
            let time = types::Timespec::from(std::time::Duration::from_nanos(timeout_ns));
            self.ring.submitter().submit_with_args(want, &types::SubmitArgs::new().timespec(&time))
        };
        match entered {
            Err(e) if e.raw_os_error() == Some(libc::ETIME) || is_passing(&e) => Ok(()),
            other => other.map(|_| (self.is_delayed, self.queued) = (false, 0)),
        }
    }

    /// Takes what the ring holds, without entering the kernel.
    #[inline(always)]
    fn collect(&mut self, completions: &mut Vec<Completion>) -> u32 {
        let before = completions.len();
        for entry in self.ring.completion() {
            completions.push(Completion {
                token: entry.user_data() as u32,
                result: i64::from(entry.result()),
            });
        }
        let found = completions.len() - before;
        self.outstanding = self.outstanding.saturating_sub(found as u64);
        found as u32
    }

    /// Whether the kernel may have completions that it posts only when it is entered.
    #[inline(always)]
    fn is_to_enter(&mut self) -> bool {
        let queue = self.ring.submission();
        let has_news = queue.taskrun() || queue.cq_overflow();
        has_news || self.mode.is_polled || self.is_delayed || self.queued > 0
    }
}

/// A refusal that ends by itself: a signal came, or completions must be collected first.
fn is_passing(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINTR | libc::EBUSY | libc::EAGAIN))
}

impl Engine for IoUring {
    fn name(&self) -> &'static str {
        self.mode.kind.name()
    }

    #[inline(always)]
    fn submit(&mut self, request: &Request, completions: &mut Vec<Completion>) -> io::Result<()> {
        let result = match request.operation {
            // A ring that polls takes nothing that cannot be polled for.
            Operation::Fdatasync | Operation::Fsync if self.mode.is_polled => {
                self.file.serve(request.operation)
            }
            Operation::Read | Operation::Write | Operation::Fdatasync | Operation::Fsync => {
                match self.entry(request) {
                    Ok(entry) => return self.queue(&entry),
                    Err(result) => result,
                }
            }
            other => self.serve(other)?,
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
        let found = self.collect(completions);
        if min == 0 {
            if self.is_to_enter() {
                self.hand_over()?;
                self.collect(completions);
            }
        } else if self.outstanding == 0 && found == 0 {
            sleep(timeout_ns)?;
        } else if found < min {
            self.enter(min - found, timeout_ns)?;
            self.collect(completions);
        }
        Ok(())
    }
}

impl Drop for IoUring {
    /// The kernel may still write into the buffers: they go only when all is completed.
    /// Where the kernel refuses to say, they are never freed.
    fn drop(&mut self) {
        let mut ignored = Vec::new();
        while self.outstanding > 0 {
            let wanted = self.outstanding as u32;
            if self.enter(wanted, u64::MAX).is_err() {
                return;
            }
            self.collect(&mut ignored);
            ignored.clear();
        }
        // SAFETY: dropped once, here, and not used after; nothing is in flight.
        unsafe { ManuallyDrop::drop(&mut self.buffers) };
    }
}
