//! The commands, one file each.

pub mod compare;
pub mod doctor;
pub mod export;
pub mod import;
pub mod overhead;
pub mod papers;
pub mod record;
mod render;
pub mod response;
pub mod runs;
pub mod simulate;
pub mod sql;
pub mod survey;
pub mod throughput;

use std::io::Write;

/// Prints a result to standard output. A closed pipe is an error that `exit::code` forgives.
fn print(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        out.write_all(b"\n")?;
    }
    Ok(out.flush()?)
}

/// Says something beside the result, on standard error.
#[allow(clippy::print_stderr, reason = "notes go to standard error here and nowhere else")]
pub(crate) fn note(text: &str) {
    eprintln!("{text}");
}
