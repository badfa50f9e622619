//! Idle and stolen time, summed over CPUs.
//!
//! /proc/stat counts idle time exactly but shows it in ticks of 10 ms: for a pass of
//! a second that is several per cent. cpuidle keeps the residency of each state in
//! microseconds, but adds a stay only when it ends, so that every CPU is visited
//! (this thread moves onto it) before the counters are read.

use super::{TICK_NS, malformed};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::io;
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
        Self::parse(&std::fs::read_to_string("/proc/stat")?).ok_or_else(|| malformed("/proc/stat"))
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
    match residency(Path::new("/sys/devices/system/cpu"), &super::online_cpus()?) {
        // Each visit ends a stay in idle and costs a few microseconds of it.
        Some(ns) => Ok(Idle { ns, grain_ns: 20_000 * u64::from(stat.cpus) }),
        None => Ok(Idle { ns: stat.idle_ns, grain_ns: TICK_NS * u64::from(stat.cpus) }),
    }
}

/// Sum of all CPUs' residencies in all idle states; none where the kernel keeps none.
fn residency(root: &Path, cpus: &[usize]) -> Option<u64> {
    let has_states = |cpu: &usize| root.join(format!("cpu{cpu}/cpuidle/state0/time")).exists();
    if !cpus.iter().all(has_states) {
        return None;
    }
    visit_all(cpus).ok()?;
    let mut sum_us = 0;
    for cpu in cpus {
        for state in 0.. {
            let path = root.join(format!("cpu{cpu}/cpuidle/state{state}/time"));
            let Ok(text) = std::fs::read_to_string(path) else { break };
            sum_us += text.trim().parse::<u64>().ok()?;
        }
    }
    (sum_us > 0).then_some(sum_us * 1000)
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

    /// Two sources for one number: cpuidle against /proc/stat, over a second in which this
    /// process sleeps.
    #[test]
    fn residency_agrees_with_proc_stat() {
        let read_both = || {
            let stat = CpuStat::read().unwrap();
            let cpus = crate::account::online_cpus().unwrap();
            (residency(Path::new("/sys/devices/system/cpu"), &cpus), stat)
        };
        let (Some(fine), coarse) = read_both() else {
            println!("skipped: this kernel has no cpuidle residency");
            return;
        };
        std::thread::sleep(std::time::Duration::from_secs(1));
        let (later_fine, later_coarse) = read_both();
        let fine = (later_fine.unwrap() - fine) as f64;
        let coarse = (later_coarse.idle_ns - coarse.idle_ns) as f64;
        let stolen = (later_coarse.stolen_ns
            - CpuStat::read().unwrap().stolen_ns.min(later_coarse.stolen_ns))
            as f64;
        let grain = 2.0 * (TICK_NS * u64::from(later_coarse.cpus)) as f64;
        assert!((fine - coarse).abs() < grain + stolen + 0.05 * coarse, "{fine} against {coarse}");
    }
}
