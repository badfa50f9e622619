//! The one door through which text leaves: results to standard output; notes, errors and progress
//! to standard error. clippy.toml keeps it the only one. What others can name is made
//! harmless here at the latest ([`model::text`]), and a stream that refuses never ends in a panic.
#![allow(clippy::disallowed_methods, reason = "the door")]

use crate::fault::{self, Fault, failure};
use indicatif::ProgressDrawTarget;
use model::text::{visible, visible_json, visible_lines};
use std::io::{ErrorKind, IsTerminal, Write};
use std::process::ExitCode;

/// Prints output to standard output. A reader that closed its end of the pipe (`lbolt … | head`)
/// has had enough: that is fine, and what the command found is still its exit code.
/// Errors: output that is lost: standard output is closed or refuses.
pub fn print(text: &str) -> anyhow::Result<()> {
    printed(|| {
        let text = visible_lines(text);
        let mut out = std::io::stdout().lock();
        out.write_all(text.as_bytes())?;
        if !text.ends_with('\n') {
            out.write_all(b"\n")?;
        }
        out.flush()
    })
}

/// Prints the help or the version, which clap does with styles on a terminal.
/// Errors: as [`print`].
pub fn print_help(help: impl FnOnce() -> std::io::Result<()>) -> anyhow::Result<()> {
    printed(|| help().and_then(|()| std::io::stdout().flush()))
}

fn printed(write: impl FnOnce() -> std::io::Result<()>) -> anyhow::Result<()> {
    let lost = |why: &dyn std::fmt::Display| {
        failure(Fault::Unprinted, format!("failed to print the output: {why}"))
    };
    if host::stdio::was_stdout_closed() {
        return Err(lost(&"standard output is closed; send it to a file or to /dev/null"));
    }
    match write() {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(lost(&error)),
        _ => Ok(()),
    }
}

/// Prints a line of output.
/// Errors: as [`print`].
pub fn print_line(line: &str) -> anyhow::Result<()> {
    print(&visible(line))
}

/// Prints JSON.
/// Errors: as [`print`].
pub fn print_json(value: &serde_json::Value) -> anyhow::Result<()> {
    print(&visible_json(&serde_json::to_string_pretty(value)?))
}

/// Says something besides the output, in one line on standard error.
pub fn note(text: &str) {
    say(&visible(text));
}

/// The same in several lines, as they are.
pub fn note_lines(text: &str) {
    say(&visible_lines(text));
}

fn say(text: &str) {
    // Where standard error is closed or full nobody can be told, and the command goes on.
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Says what went wrong, if anything did, and gives the exit code.
pub fn end(done: anyhow::Result<()>) -> ExitCode {
    let Err(error) = done else { return ExitCode::SUCCESS };
    let message = format!("{error:#}");
    if !message.is_empty() {
        note(&format!("lbolt: {message}"));
    }
    fault::code(&error)
}

/// Where progress is drawn: on a terminal; else nowhere.
pub fn progress_target() -> Option<ProgressDrawTarget> {
    std::io::stderr().is_terminal().then(ProgressDrawTarget::stderr)
}

/// Columns of the terminal; none where standard output is no terminal.
pub fn terminal_width() -> Option<u16> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    (size.ws_col > 0).then_some(size.ws_col)
}
