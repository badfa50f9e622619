//! Idle and stolen time, summed over CPUs.
//!
//! /proc/stat counts idle time exactly but shows it in ticks of 10 ms: for a pass of a second that
//! is a per cent or two. /proc/timer_list shows root the same time in nanoseconds (`idle_sleeptime`
//! and `iowait_sleeptime` of kernel/time/tick-sched.c), but adds a stay only when it ends, so that
//! every CPU is visited (this thread moves onto it) before it is read.
//!
//! Refused: cpuidle's residencies. They leave out what the kernel does to fall asleep and to wake
//! up, which nobody would pay if there were other work; between two threads that wake each other
//! this was 0.6 s beside 2.4 s that were not idle (docs/principles.md, 2).

use super::{TICK_NS, malformed};
use crate::kernel_file;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::io::{self, Read as _};
use std::path::Path;

/// What /proc/stat says of all CPUs together since the machine began, in ticks of 10 ms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuStat {
    /// CPUs on line.
    pub cpus: u32,
    /// Idle time in ns; waiting for I/O included.
    pub idle_ns: u64,
    /// Time in ns that the hypervisor gave to others.
    pub stolen_ns: u64,
}

impl CpuStat {
    /// Reads it.
    /// Errors: /proc/stat that cannot be read or understood.
    pub fn read() -> io::Result<Self> {
        let text = kernel_file::read(Path::new("/proc/stat"))?;
        Self::parse(&text).ok_or_else(|| malformed("/proc/stat"))
    }

    /// The line `cpu  user nice system idle iowait irq softirq steal …` and the CPUs beneath it.
    fn parse(text: &str) -> Option<Self> {
        let line = text.lines().next()?.strip_prefix("cpu ")?;
        let field = |n: usize| line.split_whitespace().nth(n)?.parse::<u64>().ok();
        let is_cpu = |line: &&str| {
            line.strip_prefix("cpu")
                .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        };
        Some(Self {
            cpus: u32::try_from(text.lines().filter(is_cpu).count()).ok()?,
            idle_ns: (field(3)? + field(4)?).checked_mul(TICK_NS)?,
            stolen_ns: field(7)?.checked_mul(TICK_NS)?,
        })
    }
}

/// Idle time and how far it can be off.
pub(super) struct Idle {
    pub(super) ns: u64,
    pub(super) grain_ns: u64,
}

/// The finest idle time that this machine gives.
pub(super) fn read(stat: &CpuStat) -> io::Result<Idle> {
    match sleep_times(&super::online_cpus()?) {
        // Each visit ends a stay in idle and costs a few microseconds of it.
        Some(ns) => Ok(Idle { ns, grain_ns: 20_000 * u64::from(stat.cpus) }),
        None => Ok(Idle { ns: stat.idle_ns, grain_ns: TICK_NS * u64::from(stat.cpus) }),
    }
}

/// Whether this user is shown idle time in nanoseconds.
pub(crate) fn is_fine() -> bool {
    super::online_cpus().is_ok_and(|cpus| sleep_times(&cpus).is_some())
}

/// The time that all CPUs slept; none where the kernel does not show it, or not to this user.
fn sleep_times(cpus: &[usize]) -> Option<u64> {
    // It is opened first: who may not read it need not visit.
    let mut list = std::fs::File::open("/proc/timer_list").ok()?;
    visit_all(cpus).ok()?;
    let mut text = String::new();
    list.read_to_string(&mut text).ok()?;
    parse_sleep_times(&text, cpus.len())
}

/// Lines `  .idle_sleeptime : 3461443516570 nsecs` and `  .iowait_sleeptime: 77942328995 nsecs` of
/// each CPU.
fn parse_sleep_times(text: &str, cpus: usize) -> Option<u64> {
    let time = |line: &str| {
        let (name, value) = line.trim_start().split_once(':')?;
        let is_it = matches!(name.trim_end(), ".idle_sleeptime" | ".iowait_sleeptime");
        is_it.then(|| value.trim().strip_suffix(" nsecs")?.parse::<u64>().ok())?
    };
    let times: Vec<u64> = text.lines().filter_map(time).collect();
    let sum = times.iter().sum();
    // A kernel whose tick never stops keeps no such time.
    (times.len() == 2 * cpus && sum > 0).then_some(sum)
}

/// Moves this thread onto each CPU for a moment, which ends that CPU's stay in idle.
fn visit_all(cpus: &[usize]) -> rustix::io::Result<()> {
    let home = sched_getaffinity(None)?;
    for cpu in cpus {
        let mut one = CpuSet::new();
        one.set(*cpu);
        let visited = sched_setaffinity(None, &one);
        if visited.is_err() {
            sched_setaffinity(None, &home)?;
            return visited;
        }
    }
    sched_setaffinity(None, &home)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "cpu  1125 0 1035 82946 605 0 21 12 0 0\ncpu0 328 0 351 42163 22 0 3 2 0 0\n\
                        cpu1 796 0 684 40782 582 0 18 10 0 0\nintr 5 0\nctxt 3\n";

    #[test]
    fn proc_stat_is_read_by_position() {
        let stat = CpuStat::parse(TEXT).unwrap();
        assert_eq!((stat.cpus, stat.idle_ns, stat.stolen_ns), (2, 835_510_000_000, 120_000_000));
        for bad in ["", "cpu", "cpu  1 2 3", "cpu  a b c d e f g h", "intr 1 2 3 4 5 6 7 8 9"] {
            assert_eq!(CpuStat::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn sleep_times_are_those_of_every_cpu() {
        let of = |cpu: u32, idle: u64| {
            format!(
                "cpu: {cpu}\n clock 0:\n  .idle_entrytime : 5 nsecs\n  .idle_sleeptime : {idle} \
                 nsecs\n  .iowait_sleeptime: 7 nsecs\n  .last_jiffies   : 4\n"
            )
        };
        let two = of(0, 100) + &of(1, 1000);
        assert_eq!(parse_sleep_times(&two, 2), Some(1114));
        for (bad, cpus) in [(two.as_str(), 3), ("", 0), ("  .idle_sleeptime : x nsecs", 1)] {
            assert_eq!(parse_sleep_times(bad, cpus), None, "{bad}");
        }
    }

    /// Two sources for one number: what the kernel shows in nanoseconds is what it shows in ticks.
    #[test]
    fn root_sleep_times_are_those_of_proc_stat() {
        let cpus = crate::account::online_cpus().unwrap();
        let ticks = || CpuStat::read().unwrap().idle_ns;
        // The one between two of the other: much may come between two readings.
        let read_all = || Some((ticks(), sleep_times(&cpus)?, ticks()));
        let Some((before, fine, after)) = read_all() else {
            println!("skipped: /proc/timer_list shows this user no idle time");
            return;
        };
        std::thread::sleep(std::time::Duration::from_secs(1));
        let (later_before, later_fine, later_after) = read_all().unwrap();
        let fine = (later_fine - fine) as f64;
        let (least, most) = ((later_before - after) as f64, (later_after - before) as f64);
        // A stay that lasts is in the ticks already.
        let grain = 2.0 * (TICK_NS * cpus.len() as u64) as f64;
        let is_within = fine > 0.95 * least - grain && fine < 1.05 * most + grain;
        assert!(is_within, "{fine} against {least} to {most}");
    }
}
