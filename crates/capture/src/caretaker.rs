//! The caretaker: a process of its own, that puts in order at once what this one leaves if it is
//! killed. It ends the COMMAND that this one started, puts the kernel's settings back, and removes
//! scratch, devices, groups and instances of the kernel's tracer: what `doctor --clean` would do.
//!
//! It is there from the first note, or from the first COMMAND. It reads numbers of processes from
//! its standard input: first this process's and when that started, then of each COMMAND, which says
//! it by itself (`host::announced`). When all who could write there are gone, it waits for the end
//! of this process, and begins. One that ends as it should ends its caretaker first ([`end`]).
//!
//! Non-goals: what is killed together with this process, as by the end of a container: its notes
//! stay, and `lbolt doctor --clean` removes what they name.

use super::leftover::Leftovers;
use super::load::PATIENCE;
use super::part;
use messages::fault::unable;
use model::process::{Started, started};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Child;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The name of this part, as a command.
pub const PART: &str = "caretaker-part";
const START: &str = "start the cleanup process";
/// The number of no process, which tells it to go.
const GO: u32 = 0;
/// How long the kernel may need to let go of what a killed process had.
const LETTING_GO: Duration = Duration::from_secs(10);
/// How often it is looked.
const LOOK: Duration = Duration::from_millis(10);

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

/// Runs the part.
/// Errors: a standard input that is no socket.
pub fn run() -> anyhow::Result<()> {
    // What ends the other one does not end this one.
    for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))
            .map_err(unable("handle signals"))?;
    }
    let mut told = part::socket()?;
    host::names_its_writers(&told).map_err(unable("use the socket"))?;
    let (mut number, mut ticks) = ([0; 4], [0; 8]);
    if told.read_exact(&mut number).and_then(|()| told.read_exact(&mut ticks)).is_err() {
        return Ok(());
    }
    let other = Started { pid: u32::from_ne_bytes(number), ticks: u64::from_ne_bytes(ticks) };
    let mut commands = Vec::new();
    while let Ok(Some((number, writer))) = host::heard(&told) {
        if number == GO {
            return Ok(());
        }
        // Whoever writes here may name nobody else.
        if number == writer {
            commands.push((number, started(number)));
        }
    }
    while other.is_alive() {
        std::thread::sleep(LOOK);
    }
    for (command, begun) in commands {
        if started(command) == begun {
            host::end_tree(command, PATIENCE);
        }
    }
    clean(&other);
    Ok(())
}

/// What the notes of a dead process name; what is still in use is looked at again for a while.
fn clean(other: &Started) {
    let began = Instant::now();
    loop {
        let left = Leftovers::look(&[]).dead.into_iter().filter(|dead| dead.is_of(other));
        let is_clean = left.map(|dead| dead.restore().is_ok() && dead.clean().is_ok());
        let instances = trace::capture::abandoned();
        let removed = instances.iter().map(|name| trace::capture::remove_abandoned(name).is_ok());
        // Each is seen to, whatever became of those before it.
        let all: Vec<bool> = is_clean.chain(removed).collect();
        if all.iter().all(|is_clean| *is_clean) || began.elapsed() >= LETTING_GO {
            return;
        }
        std::thread::sleep(LOOK);
    }
}
