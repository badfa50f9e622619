//! What each process ran, and how long a thread waited for a CPU.
//!
//! Sources: proc(5), /proc/PID/stat in ticks; Documentation/scheduler/sched-stats.rst,
//! /proc/PID/task/TID/schedstat: time on a CPU, time on a run queue (ns).
//!
//! Non-goals: waits for anything but a CPU.

use super::TICK_NS;
use super::tasks::name_of;
use crate::clock::clock_ns;
use crate::process::{harmless, numbers};
use model::process::{Stat, line};
use rustix::time::ClockId;
use std::path::Path;
use std::time::Duration;

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
    /// Whether it is a thread of the kernel.
    pub is_kernel_thread: bool,
}

/// What all processes have run so far; one that ends meanwhile is left out. Nothing where not all
/// are shown, or where there are too many to be read in so much CPU time: who ran most is not known
/// there.
pub fn ran_of_all(at_most: Duration) -> Vec<Ran> {
    let spent_ns = || u128::from(clock_ns(ClockId::ThreadCPUTime));
    let (until_ns, mut all) = (spent_ns() + at_most.as_nanos(), Vec::new());
    for process in numbers() {
        if spent_ns() > until_ns {
            return Vec::new();
        }
        all.extend(ran_of(process));
    }
    if shows_all(&all) { all } else { Vec::new() }
}

/// Who is shown no thread of the kernel is in a PID namespace, or /proc hides processes from it
/// (hidepid).
fn shows_all(all: &[Ran]) -> bool {
    all.iter().any(|ran| ran.is_kernel_thread)
}

fn ran_of(process: u32) -> Option<Ran> {
    let text = line(Path::new("/proc"), process)?;
    let stat = Stat::parse(&text)?;
    Some(Ran {
        process,
        started: stat.started,
        command: harmless(name_of(&text).as_bytes()),
        ran_ns: stat.cpu_ticks.saturating_mul(TICK_NS),
        is_kernel_thread: stat.is_kernel_thread,
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
        let own = ran_of(std::process::id()).unwrap();
        assert_eq!(Some(own.started), Stat::of(own.process).map(|stat| stat.started));
        assert!(!own.command.is_empty() && !own.is_kernel_thread);
        let all = ran_of_all(Duration::MAX);
        assert!(all.is_empty() || all.iter().any(|ran| ran.process == own.process));
        assert_eq!(waited_for_cpu_ns(u32::MAX, u32::MAX), None);
    }

    #[test]
    fn who_ran_most_is_not_known_where_not_all_are_shown_or_where_they_take_too_long() {
        let own = ran_of(std::process::id()).unwrap();
        assert!(!shows_all(std::slice::from_ref(&own)));
        let of_kernel = Ran { is_kernel_thread: true, ..own.clone() };
        assert!(shows_all(&[own, of_kernel]));
        assert!(ran_of_all(Duration::ZERO).is_empty());
    }
}
