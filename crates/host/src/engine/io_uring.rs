//! io_uring, one ring a job: each request is handed over at once, as fio does it. Handed
//! over together when the job waits, they go out in bursts of nearly the whole depth, the device
//! idles in between, and random reads at depth 32 lost a sixth of their rate (543 calls for
//! 16,384 requests). Open, create, close and unlink are plain calls.
//!
//! Non-goals here: registered files and buffers, polling (the overhead room).

use super::{Buffers, JobFile};
use io_uring::{opcode, squeue, types};
use model::seam::{Completion, Engine, Operation, Request};
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::AsRawFd;

/// The `io_uring` engine.
pub(crate) struct IoUring {
    ring: io_uring::IoUring,
    file: JobFile,
    buffers: ManuallyDrop<Buffers>,
    /// Handed to the kernel or queued for it, and not yet answered.
    outstanding: u32,
}

impl IoUring {
    /// A ring for `depth` requests.
    pub(crate) fn new(file: JobFile, buffers: Buffers, depth: u32) -> io::Result<Self> {
        // One thread submits and reaps; both flags are refused by kernels before 6.0.
        let ring = io_uring::IoUring::builder()
            .setup_single_issuer()
            .setup_coop_taskrun()
            .build(depth.next_power_of_two())
            .or_else(|_| io_uring::IoUring::new(depth.next_power_of_two()))?;
        let buffers = ManuallyDrop::new(buffers);
        Ok(Self { ring, file, buffers, outstanding: 0 })
    }

    fn entry(&mut self, request: &Request) -> io::Result<squeue::Entry> {
        let fd = types::Fd(self.file.fd()?.as_raw_fd());
        let buffer = self.buffers.get(request.token, request.length_bytes);
        let (pointer, length) = (buffer.as_mut_ptr(), request.length_bytes);
        let entry = match request.operation {
            Operation::Read => {
                opcode::Read::new(fd, pointer, length).offset(request.offset_bytes).build()
            }
            Operation::Write => {
                opcode::Write::new(fd, pointer, length).offset(request.offset_bytes).build()
            }
            _ => opcode::Fsync::new(fd).flags(types::FsyncFlags::DATASYNC).build(),
        };
        Ok(entry.user_data(u64::from(request.token)))
    }

    fn queue(&mut self, request: &Request) -> io::Result<()> {
        let entry = self.entry(request)?;
        if self.ring.submission().is_full() {
            self.ring.submit()?;
        }
        // SAFETY: the descriptor stays open and the buffer allocated until the answer is there:
        // a job closes its file only when all is answered, and `drop` waits for what is left.
        unsafe { self.ring.submission().push(&entry) }.map_err(io::Error::other)?;
        self.outstanding += 1;
        match self.ring.submit() {
            // The next call hands it over.
            Err(e) if is_passing(&e) => Ok(()),
            other => other.map(|_| ()),
        }
    }

    /// Hands over what is queued and waits for `min` answers or the timeout.
    fn enter(&mut self, min: u32, timeout_ns: u64) -> io::Result<()> {
        let want = min.min(self.outstanding) as usize;
        let entered = if timeout_ns == u64::MAX {
            self.ring.submit_and_wait(want)
        } else {
            let time = types::Timespec::from(std::time::Duration::from_nanos(timeout_ns));
            self.ring
                .submitter()
                .submit_with_args(want.max(1), &types::SubmitArgs::new().timespec(&time))
        };
        match entered {
            Err(e) if e.raw_os_error() == Some(libc::ETIME) || is_passing(&e) => Ok(()),
            other => other.map(|_| ()),
        }
    }

    fn collect(&mut self, completions: &mut Vec<Completion>) {
        for entry in self.ring.completion() {
            self.outstanding = self.outstanding.saturating_sub(1);
            completions.push(Completion {
                token: entry.user_data() as u32,
                result: i64::from(entry.result()),
            });
        }
    }
}

/// A refusal that ends by itself: a signal came, or answers must be collected first.
fn is_passing(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINTR | libc::EBUSY))
}

impl Engine for IoUring {
    fn name(&self) -> &'static str {
        "io_uring"
    }

    #[inline(always)]
    fn submit(&mut self, request: &Request, completions: &mut Vec<Completion>) -> io::Result<()> {
        match request.operation {
            Operation::Read | Operation::Write | Operation::Fdatasync => self.queue(request),
            other => {
                let result = self.file.serve(other);
                completions.push(Completion { token: request.token, result });
                Ok(())
            }
        }
    }

    fn reap(
        &mut self,
        min: u32,
        timeout_ns: u64,
        completions: &mut Vec<Completion>,
    ) -> io::Result<()> {
        self.enter(min, timeout_ns)?;
        self.collect(completions);
        Ok(())
    }
}

impl Drop for IoUring {
    /// The kernel may still write into the buffers: they go only when all is answered.
    /// Where the kernel refuses to say, they are never freed.
    fn drop(&mut self) {
        let mut ignored = Vec::new();
        while self.outstanding > 0 {
            if self.enter(self.outstanding, u64::MAX).is_err() {
                return;
            }
            self.collect(&mut ignored);
            ignored.clear();
        }
        // SAFETY: dropped once, here, and not used after; nothing is in flight.
        unsafe { ManuallyDrop::drop(&mut self.buffers) };
    }
}
