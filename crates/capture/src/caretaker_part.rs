//! What the caretaker does ([`super::caretaker`] starts and ends it).
//!
//! It may be killed together with that process, as by the end of a container or the kill of a
//! cgroup. So it notes each COMMAND, too: all notes stay then, and `lbolt doctor --clean` sees to
//! what they name.
//!
//! Non-goals: a kill of all in the moment in which a COMMAND begins.

use super::caretaker::{GO, OF_WATCH};
use super::leftover::{self, Kept, Leftovers};
use super::load::PATIENCE;
use super::part;
use messages::fault::unable;
use messages::output::note;
use model::process::{Started, started};
use rustix::io::Errno;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use trace::capture::instances;

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
    // Where the kernel refuses it, nothing is started here that could have more.
    let _ = host::privilege::get_no_more();
    let mut told = part::socket()?;
    host::names_its_writers(&told).map_err(unable("use the socket"))?;
    let (mut number, mut ticks) = ([0; 4], [0; 8]);
    if told.read_exact(&mut number).and_then(|()| told.read_exact(&mut ticks)).is_err() {
        return Ok(());
    }
    let other = Started { pid: u32::from_ne_bytes(number), ticks: u64::from_ne_bytes(ticks) };
    let (mut commands, mut notes) = (Vec::new(), Vec::new());
    while let Ok(Some((number, writer))) = host::heard(&told) {
        if number == GO {
            return Ok(());
        }
        if number == OF_WATCH {
            lessen();
            continue;
        }
        // Whoever writes here may name nobody else.
        let command = started(number).map(|ticks| Started { pid: number, ticks });
        if let Some(command) = command.filter(|_| number == writer) {
            commands.push(command);
            // Where no note can be written, this process is all there is.
            notes.extend(Kept::commands(&other, vec![command]));
        }
    }
    while other.is_alive() {
        std::thread::sleep(LOOK);
    }
    for command in commands.iter().filter(|command| command.is_alive()) {
        // What the kernel holds ends by itself when it is let go.
        host::end_tree(command.pid, PATIENCE);
    }
    clean(&other);
    Ok(())
}

/// Gives up what nobody needs who cleans up after a watch.
fn lessen() {
    let directories: Vec<OwnedFd> =
        leftover::place_of_notes().into_iter().chain(instances().ok()).collect();
    // Others than root have nothing to give up.
    if let Err(error) = host::privilege::keep_what_cleans(&directories)
        && rustix::process::geteuid().is_root()
    {
        let why = match error {
            Errno::NOSYS | Errno::OPNOTSUPP => {
                "because the kernel does not restrict it (Landlock: "
            }
            _ => "because restricting it failed (",
        };
        note(&format!(
            "the cleanup process can write more of root's files than it needs, {why}{error})"
        ));
    }
}

/// What the notes of a dead process name; what is still in use is looked at again for a while.
fn clean(other: &Started) {
    let began = Instant::now();
    loop {
        let left = Leftovers::look(&[]).dead.into_iter().filter(|dead| dead.is_of(other));
        let is_clean = left.map(|dead| dead.clean(true).failed.is_empty());
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
