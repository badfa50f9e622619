//! No I/O at all: every request is completed with all its bytes. What is
//! measured over it is the harness itself.

use super::sleep;
use model::seam::{Completion, Engine, Request};
use std::io;

pub(crate) struct Null;

impl Engine for Null {
    fn name(&self) -> &'static str {
        "null"
    }

    #[inline(always)]
    fn submit(&mut self, request: &Request, completions: &mut Vec<Completion>) -> io::Result<()> {
        completions
            .push(Completion { token: request.token, result: i64::from(request.length_bytes) });
        Ok(())
    }

    fn reap(&mut self, _: u32, timeout_ns: u64, _: &mut Vec<Completion>) -> io::Result<()> {
        sleep(timeout_ns)
    }
}
