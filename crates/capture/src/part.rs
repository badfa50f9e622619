//! A part of lbolt as a process of its own: started from this executable, it speaks with the one
//! that started it by its standard input, which is a socket, and ends with it.
//!
//! Non-goals: what they say (`standing`, `lbolt::run::device`).

use super::wire::read_frame;
use messages::fault::{Fault, failure, unable};
use serde::de::DeserializeOwned;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::io::{BufReader, BufWriter};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The two directions of the socket.
pub type Line = (BufReader<UnixStream>, BufWriter<UnixStream>);

/// Starts the part that is the hidden command of that name; `what` it is, for messages.
/// Errors: a process that cannot be started.
pub fn start(name: &str, what: &str) -> anyhow::Result<(Child, UnixStream)> {
    let (ours, theirs) = UnixStream::pair().map_err(unable("make a socket"))?;
    let mut command = Command::new("/proc/self/exe");
    let child = host::without_session_keys(&mut command)
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

/// The two directions of a socket.
/// Errors: no descriptor is left.
pub fn line(socket: UnixStream) -> anyhow::Result<Line> {
    let again = socket.try_clone().map_err(unable("use the socket"))?;
    Ok((BufReader::new(again), BufWriter::new(socket)))
}

/// The socket, in the part itself.
/// Errors: a standard input that is no such socket.
pub fn socket() -> anyhow::Result<UnixStream> {
    rustix::io::dup(std::io::stdin()).map(UnixStream::from).map_err(unable("use the socket"))
}

/// In the part itself, which belongs to a command: what it is to do, which is the first frame, and
/// its end of the socket. None where the other part has gone, and has said why. What ends both
/// parts ends this one when the other has taken the last of it.
/// Errors: a standard input that is no such socket.
pub fn begin<T: DeserializeOwned>(command: &str) -> anyhow::Result<Option<(T, Line)>> {
    let sentence = format!("this command is internal; use `lbolt {command}`");
    let (mut input, output) = line(socket()?)?;
    let frame = read_frame(&mut input).map_err(|_| failure(Fault::Usage, sentence))?;
    let Some((plan, _)) = frame else { return Ok(None) };
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))
            .map_err(unable("handle signals"))?;
    }
    Ok(Some((plan, (input, output))))
}
