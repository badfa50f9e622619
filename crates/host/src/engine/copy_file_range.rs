//! copy_file_range(2): the kernel, or the file system by sharing extents, copies from one half of
//! the file to the other. It serves copies alone.
//!
//! Non-goals: copying between files, reading and writing.

use super::{JobFile, io_result, sleep};
use model::seam::{Completion, Engine, JobPlacement, Operation, Request};
use std::io;

pub(crate) struct CopyFileRange {
    file: JobFile,
    /// From a byte to its copy.
    distance_bytes: u64,
}

impl CopyFileRange {
    pub(crate) fn new(file: JobFile, placement: &JobPlacement) -> io::Result<Self> {
        Ok(Self { file, distance_bytes: placement.file_bytes / 2 })
    }

    /// As cp(1) does: again, until all is copied or the file ends.
    #[inline(always)]
    fn copy(&self, request: &Request) -> rustix::io::Result<usize> {
        let file = self.file.fd()?;
        let mut from = request.offset_bytes;
        let mut to = from + self.distance_bytes;
        let end = from + u64::from(request.length_bytes);
        while from < end {
            let rest = (end - from) as usize;
            if rustix::fs::copy_file_range(file, Some(&mut from), file, Some(&mut to), rest)? == 0 {
                break;
            }
        }
        Ok((from - request.offset_bytes) as usize)
    }
}

impl Engine for CopyFileRange {
    fn name(&self) -> &'static str {
        "copy_file_range"
    }

    #[inline(always)]
    fn submit(&mut self, request: &Request, completions: &mut Vec<Completion>) -> io::Result<()> {
        let result = match request.operation {
            Operation::Copy => io_result(self.copy(request)),
            other => self.file.serve(other),
        };
        completions.push(Completion { token: request.token, result });
        Ok(())
    }

    fn reap(&mut self, _: u32, timeout_ns: u64, _: &mut Vec<Completion>) -> io::Result<()> {
        sleep(timeout_ns)
    }
}
