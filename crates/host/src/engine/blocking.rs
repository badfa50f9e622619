//! Engines over blocking calls: every request is answered before `submit` returns. What sets
//! them apart is the pair of calls.
//!
//! Non-goals: depth above 1 (a pool of threads is an engine of its own).

use super::{Buffers, JobFile, sleep};
use model::seam::{Completion, Engine, Operation, Request};
use rustix::fd::BorrowedFd;
use std::io;
use std::marker::PhantomData;

/// A pair of blocking calls.
pub(crate) trait Calls {
    /// The engine's name.
    const NAME: &'static str;

    /// Reads at most a buffer from an offset in bytes.
    fn read(
        file: BorrowedFd<'_>,
        buffer: &mut [u8],
        offset_bytes: u64,
    ) -> rustix::io::Result<usize>;

    /// Writes at most a buffer at an offset in bytes.
    fn write(file: BorrowedFd<'_>, buffer: &[u8], offset_bytes: u64) -> rustix::io::Result<usize>;
}

/// An engine over a pair of blocking calls.
pub(crate) struct Blocking<C> {
    file: JobFile,
    buffers: Buffers,
    calls: PhantomData<C>,
}

impl<C: Calls> Blocking<C> {
    pub(crate) fn new(file: JobFile, buffers: Buffers) -> Self {
        Self { file, buffers, calls: PhantomData }
    }

    /// Bytes moved, or a negative errno.
    #[inline(always)]
    fn transfer(&mut self, request: &Request) -> i64 {
        let buffer = self.buffers.get(request.token, request.length_bytes);
        let moved = self.file.fd().and_then(|file| match request.operation {
            Operation::Read => C::read(file, buffer, request.offset_bytes),
            _ => C::write(file, buffer, request.offset_bytes),
        });
        match moved {
            Ok(bytes) => bytes as i64,
            Err(errno) => -i64::from(errno.raw_os_error()),
        }
    }
}

impl<C: Calls> Engine for Blocking<C> {
    fn name(&self) -> &'static str {
        C::NAME
    }

    #[inline(always)]
    fn submit(&mut self, request: &Request, completions: &mut Vec<Completion>) -> io::Result<()> {
        let result = match request.operation {
            Operation::Read | Operation::Write => self.transfer(request),
            other => self.file.serve(other),
        };
        completions.push(Completion { token: request.token, result });
        Ok(())
    }

    fn reap(&mut self, _: u32, timeout_ns: u64, _: &mut Vec<Completion>) -> io::Result<()> {
        sleep(timeout_ns)
    }
}
