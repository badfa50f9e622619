//! What the caretaker does ([`super::caretaker`] starts and ends it).
//!
//! Non-goals: what is killed together with the process that it is for, as by the end of a
//! container: its notes stay, and `lbolt doctor --clean` removes what they name.

use super::caretaker::GO;
use super::leftover::Leftovers;
use super::load::PATIENCE;
use super::part;
use messages::fault::unable;
use model::process::{Started, started};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use std::io::Read as _;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// How long the kernel may need to let go of what a killed process had.
const LETTING_GO: Duration = Duration::from_secs(10);
/// How often it is looked.
const LOOK: Duration = Duration::from_millis(10);

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
