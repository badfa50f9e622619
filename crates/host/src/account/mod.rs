//! Where CPU time went, for the whole bill: what is not idle, not stolen and not
//! somebody else's was spent for the program. The account is by difference over
//! all CPUs, because interrupts are charged to whatever they hit and a kernel
//! thread's name does not say for whom it works (docs/principles.md, rule 2).
//!
//! Sources, each read as it is: cpuidle's residency (µs) or /proc/stat (10 ms)
//! for idle time; /proc/stat for stolen time; each task's own clock
//! (/proc/PID/schedstat, ns; /proc/PID/stat, ticks) for tasks.
//!
//! Non-goals: which function the time went into.

mod idle;
mod loop_workers;
mod tasks;
mod worker_time;

pub(crate) use loop_workers::LoopWorkers;

use model::seam::CpuCounters;
use std::io;

/// Nanoseconds of one tick of /proc: USER_HZ is 100 on every Linux that keeps its ABI.
pub(crate) const TICK_NS: u64 = 10_000_000;

/// Reads all CPU counters but the test bed's.
///
/// # Errors
/// /proc that cannot be read or understood.
pub(crate) fn read() -> io::Result<CpuCounters> {
    let stat = idle::Stat::read()?;
    let idle = idle::read(&stat)?;
    let tasks = tasks::read()?;
    Ok(CpuCounters {
        cpus: stat.cpus,
        idle_ns: idle.ns,
        idle_grain_ns: idle.grain_ns,
        stolen_ns: stat.stolen_ns,
        harness_ns: tasks.harness_ns,
        elsewhere_ns: Some(tasks.elsewhere_ns),
        kernel_threads_ns: tasks.kernel_threads_ns,
        test_bed_ns: None,
    })
}

pub(crate) fn malformed(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{what} is not understood"))
}
