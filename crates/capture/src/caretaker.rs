//! The caretaker: a process of its own, that puts in order at once what this one leaves if it is
//! killed. It ends the COMMAND that this one started, puts the kernel's settings back, and removes
//! scratch, devices, groups and instances of the kernel's tracer: what `doctor --clean` would do.
//!
//! It is there from the first note, or from the first COMMAND. It reads numbers of processes from
//! its standard input: first this process's and when that started, then of each COMMAND, which says
//! it by itself (`host::announced`). When all who could write there are gone, it waits for the end
//! of this process, and begins. One that ends as it should ends its caretaker first ([`end`]).
//!
//! Non-goals: what it does ([`super::caretaker_part`]).

use super::part;
use messages::fault::unable;
use model::process::Started;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Child;
use std::sync::{Mutex, PoisonError};

/// The name of this part, as a command.
pub const PART: &str = "caretaker-part";
const START: &str = "start the cleanup process";
/// The number of no process, which tells it to go.
pub(super) const GO: u32 = 0;
/// The number of no process either: what it is for is a watch from now on.
pub(super) const OF_WATCH: u32 = u32::MAX;
/// This process's own, while it is there.
static OWN: Mutex<Option<(Child, UnixStream)>> = Mutex::new(None);

/// Starts it, unless it is there. What is given back is where a COMMAND says its number.
/// Errors: a process that cannot be started.
pub fn begun() -> anyhow::Result<OwnedFd> {
    let mut caretaker = OWN.lock().unwrap_or_else(PoisonError::into_inner);
    let (_, told) = match caretaker.as_mut() {
        Some(there) => there,
        None => caretaker.insert(start()?),
    };
    Ok(told.try_clone().map_err(unable(START))?.into())
}

fn start() -> anyhow::Result<(Child, UnixStream)> {
    let (child, mut told) = part::start(PART, "cleans up after a kill")?;
    host::names_its_writers(&told).map_err(unable(START))?;
    let Started { pid, ticks } = Started::own().map_err(unable(START))?;
    told.write_all(&pid.to_ne_bytes()).map_err(unable(START))?;
    told.write_all(&ticks.to_ne_bytes()).map_err(unable(START))?;
    Ok((child, told))
}

/// Tells it, where it is there, that it is for a watch, which may go on for weeks: it gives up all
/// rights but those to end the COMMAND, to remove what the watch noted, and instances of the
/// kernel's tracer.
pub fn is_of_watch() {
    if let Some((_, told)) = OWN.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
        // Gone already: then there is nobody to tell.
        let _ = told.write_all(&OF_WATCH.to_ne_bytes());
    }
}

/// Ends it, where it is there: nothing is left that it could be needed for. It is told so, for who
/// has given root's rights up may not kill it.
pub fn end() {
    let caretaker = OWN.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some((mut child, mut told)) = caretaker {
        // Gone already: then there is nobody to tell.
        let _ = told.write_all(&GO.to_ne_bytes());
        let _ = child.wait();
    }
}
