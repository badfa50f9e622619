//! A part of lbolt as a process of its own: started from this executable, it speaks with the one
//! that started it by its standard input, which is a socket, and ends with it.
//!
//! Non-goals: what they say (`super::standing`, `super::device`).

use crate::print::exit::{Fault, failure, unable};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

/// Starts the part that is the hidden command of that name; `what` it is, for messages.
/// Errors: a process that cannot be started.
pub(crate) fn start(name: &str, what: &str) -> anyhow::Result<(Child, UnixStream)> {
    let (ours, theirs) = UnixStream::pair().map_err(unable("make a socket"))?;
    let child = Command::new("/proc/self/exe")
        .arg0("lbolt")
        .arg(name)
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        // What the terminal sends is for the one that started it.
        .process_group(0)
        .spawn();
    let failed =
        |error| failure(Fault::Io, format!("failed to start the process that {what}: {error}"));
    Ok((child.map_err(failed)?, ours))
}

/// The two directions of the socket, in the part itself.
/// Errors: a standard input that is no such socket.
pub(crate) fn socket() -> anyhow::Result<(UnixStream, UnixStream)> {
    let socket = || rustix::io::dup(std::io::stdin()).map(UnixStream::from);
    Ok((socket().map_err(unable("use the socket"))?, socket().map_err(unable("use the socket"))?))
}
