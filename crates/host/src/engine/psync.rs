//! pread(2) and pwrite(2): one blocking call a request, at the offset that it names.

use super::{Buffers, JobFile, completion, sleep};
use model::seam::{Completion, Engine, Operation, Request};
use std::io;

/// The `psync` engine.
pub(crate) struct Psync {
    file: JobFile,
    buffers: Buffers,
}

impl Psync {
    pub(crate) fn new(file: JobFile, buffers: Buffers) -> Self {
        Self { file, buffers }
    }

    #[inline(always)]
    fn transfer(&mut self, request: &Request) -> rustix::io::Result<usize> {
        let buffer = self.buffers.get(request.token, request.length_bytes);
        let file = self.file.fd().map_err(|_| rustix::io::Errno::BADF)?;
        if request.operation == Operation::Read {
            rustix::io::pread(file, buffer, request.offset_bytes)
        } else {
            rustix::io::pwrite(file, buffer, request.offset_bytes)
        }
    }
}

impl Engine for Psync {
    fn name(&self) -> &'static str {
        "psync"
    }

    #[inline(always)]
    fn submit(&mut self, request: &Request, completions: &mut Vec<Completion>) -> io::Result<()> {
        let completion = match request.operation {
            Operation::Read | Operation::Write => completion(request, self.transfer(request)),
            other => Completion { token: request.token, result: self.file.serve(other) },
        };
        completions.push(completion);
        Ok(())
    }

    fn reap(&mut self, _: u32, timeout_ns: u64, _: &mut Vec<Completion>) -> io::Result<()> {
        sleep(timeout_ns)
    }
}
