//! Where CPU time went, for total CPU: what is not idle, not stolen and not
//! somebody else's was spent for the program. The account is by difference over
//! all CPUs, because interrupts are charged to whatever they hit and a kernel
//! thread's name does not say for whom it works (docs/principles.md, rule 2).
//!
//! Sources, each read as it is: /proc/timer_list (ns) or /proc/stat (10 ms) for idle
//! time; /proc/stat for stolen time; each task's own clock
//! (/proc/PID/schedstat, ns; /proc/PID/stat, ticks) for tasks.
//!
//! Non-goals: which function the time went into.

mod idle;
mod loop_workers;
mod pressure;
mod run_queue;
mod tasks;
mod worker_time;

pub use idle::CpuStat;
pub(crate) use idle::is_fine;
pub(crate) use loop_workers::LoopWorkers;
pub use pressure::{io_stalled_ns, io_stalled_of_unit_ns};
pub use run_queue::{Ran, ran_of_all, waited_for_cpu_ns};

use crate::clock::clock_ns;
use model::seam::CpuCounters;
use rustix::time::ClockId;
use std::io;

/// Nanoseconds of one tick of /proc: USER_HZ is 100 on every Linux that keeps its ABI.
pub(crate) const TICK_NS: u64 = 10_000_000;

/// The accounts of this machine, followed from reading to reading.
#[derive(Debug, Default)]
pub(crate) struct Accounts {
    tasks: tasks::Tasks,
}

impl Accounts {
    /// Reads all CPU counters but the test bed's.
    /// Errors: /proc that cannot be read or understood.
    pub(crate) fn read(&mut self) -> io::Result<CpuCounters> {
        let stat = CpuStat::read()?;
        let idle = idle::read(&stat)?;
        let tasks = self.tasks.read()?;
        Ok(CpuCounters {
            cpus: stat.cpus,
            idle_ns: idle.ns,
            idle_grain_ns: idle.grain_ns,
            stolen_ns: stat.stolen_ns,
            process_ns: Some(process_cpu_ns()),
            harness_ns: tasks::own_threads_ns()?,
            setup_ns: 0,
            elsewhere_ns: tasks.sees_all.then_some(tasks.elsewhere_ns),
            elsewhere_by: tasks.elsewhere_by,
            kernel_threads_ns: tasks.sees_all.then_some(tasks.kernel_threads_ns),
            has_test_bed: false,
            test_bed_ns: None,
            traced: None,
        })
    }
}

/// CPU time of this process, of all of its threads.
pub(crate) fn process_cpu_ns() -> u64 {
    clock_ns(ClockId::ProcessCPUTime)
}

/// The CPUs on line, by number; a list such as `0-3,6`. What this process may run on is another
/// matter.
pub(crate) fn online_cpus() -> io::Result<Vec<usize>> {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/online")?;
    cpu_list(&text).ok_or_else(|| malformed("/sys/devices/system/cpu/online"))
}

fn cpu_list(text: &str) -> Option<Vec<usize>> {
    let mut cpus = Vec::new();
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        cpus.extend(first.parse::<usize>().ok()?..=last.parse().ok()?);
    }
    Some(cpus)
}

pub(crate) fn malformed(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{what} is not understood"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_cpus_has_ranges() {
        assert_eq!(cpu_list("0-2,5\n"), Some(vec![0, 1, 2, 5]));
        assert_eq!(cpu_list("0"), Some(vec![0]));
        assert_eq!(cpu_list("x"), None);
        assert!(!online_cpus().unwrap().is_empty());
    }
}
