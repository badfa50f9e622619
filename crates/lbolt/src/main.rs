//! lbolt: a storage I/O performance laboratory.
#![forbid(unsafe_code)]

use lbolt::command;
use messages::output;

fn main() -> std::process::ExitCode {
    output::end(run())
}

fn run() -> anyhow::Result<()> {
    match command::typed()? {
        Some(typed) => command::run(&typed.command),
        None => Ok(()),
    }
}
