//! Engines over blocking calls: every request is completed before `submit` returns. What sets
//! them apart is the pair of calls, and what these keep between requests.
//!
//! Non-goals: depth above 1 (`threads` is an engine of its own).

use super::{Buffers, JobFile, io_result, sleep};
use model::seam::{Completion, Engine, JobPlacement, Operation, Request};
use rustix::fd::BorrowedFd;
use std::io;

/// Bytes moved.
pub(crate) type Moved = rustix::io::Result<usize>;

pub(crate) trait Calls: Sized {
    /// What they need for a placement.
    /// Errors: what the kernel refuses.
    fn new(placement: &JobPlacement) -> io::Result<Self>;

    fn read(&mut self, file: BorrowedFd<'_>, buffer: &mut [u8], offset_bytes: u64) -> Moved;

    fn write(&mut self, file: BorrowedFd<'_>, buffer: &[u8], offset_bytes: u64) -> Moved;

    /// Opens, closes and the like: gives the completion's result.
    fn serve(&mut self, file: &mut JobFile, operation: Operation) -> i64 {
        file.serve(operation)
    }
}

/// An engine over a pair of blocking calls.
pub(crate) struct Blocking<C> {
    file: JobFile,
    buffers: Buffers,
    calls: C,
    name: &'static str,
}

impl<C: Calls> Blocking<C> {
    pub(crate) fn new(file: JobFile, placement: &JobPlacement) -> io::Result<Self> {
        let buffers = Buffers::new(placement.depth, placement.block_bytes)?;
        Ok(Self { file, buffers, calls: C::new(placement)?, name: placement.engine.name() })
    }

    /// Bytes moved, or a negative errno.
    #[inline(always)]
    fn transfer(&mut self, request: &Request) -> i64 {
        let buffer = self.buffers.get(request.token, request.length_bytes);
        io_result(self.file.fd().and_then(|file| match request.operation {
            Operation::Read => self.calls.read(file, buffer, request.offset_bytes),
            _ => self.calls.write(file, buffer, request.offset_bytes),
        }))
    }
}

impl<C: Calls> Engine for Blocking<C> {
    fn name(&self) -> &'static str {
        self.name
    }

    #[inline(always)]
    fn submit(&mut self, request: &Request, completions: &mut Vec<Completion>) -> io::Result<()> {
        let result = match request.operation {
            Operation::Read | Operation::Write => self.transfer(request),
            other => self.calls.serve(&mut self.file, other),
        };
        completions.push(Completion { token: request.token, result });
        Ok(())
    }

    fn reap(&mut self, _: u32, timeout_ns: u64, _: &mut Vec<Completion>) -> io::Result<()> {
        sleep(timeout_ns)
    }
}
