//! What each process ran, and how long a thread waited for a CPU.
//!
//! Sources: proc(5), /proc/PID/stat in ticks; Documentation/scheduler/sched-stats.rst,
//! /proc/PID/task/TID/schedstat: time on a CPU, time on a run queue (ns).
//!
//! Non-goals: waits for anything but a CPU.

use super::TICK_NS;
use super::tasks::name_of;
use crate::process::{harmless, numbers};
use model::process::Stat;

/// A process, and what it has run so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// Its number, and when it started, in the kernel's ticks.
    pub process: u32,
    /// See `process`.
    pub started: u64,
    /// Its name.
    pub command: String,
    /// CPU time of all of its threads, the ended ones too.
    pub ran_ns: u64,
}

/// What all processes have run so far; one that ends meanwhile is left out.
pub fn ran_of_all() -> Vec<Ran> {
    numbers().filter_map(ran_of).collect()
}

fn ran_of(process: u32) -> Option<Ran> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let stat = Stat::parse(&text)?;
    Some(Ran {
        process,
        started: stat.started,
        command: harmless(name_of(&text).as_bytes()),
        ran_ns: stat.cpu_ticks.saturating_mul(TICK_NS),
    })
}

/// How long a thread has waited for a CPU so far; none if it is gone, or the kernel does not count.
pub fn waited_for_cpu_ns(process: u32, thread: u32) -> Option<u64> {
    let path = format!("/proc/{process}/task/{thread}/schedstat");
    let text = std::fs::read_to_string(path).ok()?;
    text.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_among_those_that_ran_and_who_is_gone_waits_for_nothing() {
        let own = std::process::id();
        let all = ran_of_all();
        let found = all.iter().find(|ran| ran.process == own).unwrap();
        assert_eq!(Some(found.started), Stat::of(own).map(|stat| stat.started));
        assert!(!found.command.is_empty());
        assert_eq!(waited_for_cpu_ns(u32::MAX, u32::MAX), None);
    }
}
