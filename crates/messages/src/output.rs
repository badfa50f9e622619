//! The one door through which text leaves: results to standard output; notes, errors and progress
//! to standard error. clippy.toml keeps it the only one. What others can name is made
//! harmless here at the latest ([`model::text`]), and a stream that refuses never ends in a panic.
#![allow(clippy::disallowed_methods, reason = "the door")]

use crate::fault::{self, Fault, failure};
use indicatif::ProgressDrawTarget;
use model::text::{visible, visible_json, visible_lines, without_passwords};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{ErrorKind, IsTerminal, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

/// Prints output to standard output. A reader that closed its end of the pipe (`lbolt … | head`)
/// has had enough: that is fine, and what the command found is still its exit code.
/// Errors: output that is lost: standard output is closed or refuses.
pub fn print(text: &str) -> anyhow::Result<()> {
    printed(|| {
        let text = visible_lines(text);
        let mut out = Interruptible(std::io::stdout().lock());
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
    let _ = Interruptible(std::io::stderr().lock())
        .write_all(format!("{}\n", without_passwords(text)).as_bytes());
}

/// Whether a stream takes nothing now, so that whoever prints waits. A signal that only asks for
/// the end would not be heeded then: it has to end the process.
pub fn is_stuck() -> Arc<AtomicBool> {
    static STUCK: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);
    Arc::clone(&STUCK)
}

/// A stream that says when it is stuck ([`is_stuck`]).
struct Interruptible<W>(W);

/// A pipe that can be written takes so many bytes at once.
const AT_ONCE: usize = 4096;

impl<W: Write + AsFd> Write for Interruptible<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let bytes = bytes.get(..AT_ONCE).unwrap_or(bytes);
        let can_be_written = |wait: Option<&Timespec>| {
            poll(&mut [PollFd::new(&self.0, PollFlags::OUT)], wait) != Ok(0)
        };
        if !can_be_written(Some(&Timespec::default())) {
            is_stuck().store(true, Ordering::Relaxed);
            can_be_written(None);
        }
        let written = self.0.write(bytes).and_then(|written| self.0.flush().map(|()| written));
        is_stuck().store(false, Ordering::Relaxed);
        written
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
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
