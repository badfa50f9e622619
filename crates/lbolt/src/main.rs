//! lbolt: a storage I/O performance laboratory.
#![forbid(unsafe_code)]

use lbolt::command;
use messages::fault::{Fault, failure};
use messages::output;
use std::process::ExitCode;

#[global_allocator]
static MEMORY: host::memory::Spoken = host::memory::Spoken;

/// Bytes of the stack of a thread that stands in for the first.
const STACK_BYTES: usize = 8 << 20;

fn main() -> ExitCode {
    if host::memory::has_stack() {
        return output::end(run());
    }
    let begun = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(|| output::end(run()));
    match begun {
        Ok(thread) => thread.join().unwrap_or(ExitCode::FAILURE),
        Err(error) => output::end(Err(failure(
            Fault::Io,
            format!("failed to begin: no stack of 8 MiB ({error}); raise ulimit -s or ulimit -v"),
        ))),
    }
}

fn run() -> anyhow::Result<()> {
    match command::typed()? {
        Some(typed) => command::run(&typed.command),
        None => Ok(()),
    }
}
