//! read(2) and write(2) at the position of the file, which is what the programs of
//! Kridle \& McKusick (1983, appendix A) call. Requests must come in order from the start
//! of the file; at its end the position goes back with lseek(2).

use super::{Buffers, JobFile, completion, sleep};
use model::seam::{Completion, Engine, Operation, Request};
use std::io;

/// The `sync` engine.
pub(crate) struct Sync {
    file: JobFile,
    buffers: Buffers,
}

impl Sync {
    pub(crate) fn new(file: JobFile, buffers: Buffers) -> Self {
        Self { file, buffers }
    }

    #[inline(always)]
    fn transfer(&mut self, request: &Request) -> rustix::io::Result<usize> {
        let buffer = self.buffers.get(request.token, request.length_bytes);
        let file = self.file.fd().map_err(|_| rustix::io::Errno::BADF)?;
        if request.operation == Operation::Read {
            rustix::io::read(file, buffer)
        } else {
            rustix::io::write(file, buffer)
        }
    }
}

impl Engine for Sync {
    fn name(&self) -> &'static str {
        "sync"
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
