//! CPU time by task: this program's own threads, kernel threads, other programs.
//!
//! Kernel threads and our own threads are read in nanoseconds from schedstat; other
//! programs in ticks from stat, which sums all threads of a process, the ended
//! ones too. Each task is followed by itself from reading to reading, so that one that ends
//! takes only its last stretch with it, and not its whole past.

use super::{TICK_NS, malformed};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// PF_KTHREAD, include/linux/sched.h.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// CPU time since the following began; none where this process is shown no such tasks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Totals {
    pub(super) elsewhere_ns: u64,
    pub(super) kernel_threads_ns: u64,
    /// In a namespace of its own a process sees no kernel thread, and not all programs either.
    pub(super) sees_all: bool,
}

/// Follows every task of the machine.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    /// By process number: when it started, and its CPU time at the last reading.
    known: BTreeMap<u32, (u64, u64)>,
    is_begun: bool,
    totals: Totals,
}

impl Tasks {
    pub(super) fn read(&mut self) -> io::Result<Totals> {
        let mut seen = BTreeMap::new();
        self.totals.sees_all = false;
        for entry in std::fs::read_dir("/proc")? {
            let entry = entry?;
            let name = entry.file_name();
            let Some(pid) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else {
                continue;
            };
            // A process may end between the listing and the reading.
            let Ok(text) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
            let stat = parse_stat(&text).ok_or_else(|| malformed("/proc/PID/stat"))?;
            if pid != std::process::id() {
                let precise = stat.is_kernel_thread.then(|| run_time_ns(&entry.path())).flatten();
                let cpu_ns = precise.unwrap_or(stat.cpu_ns);
                self.add(pid, &TaskStat { cpu_ns, ..stat });
                seen.insert(pid, (stat.started, cpu_ns));
            }
        }
        self.known = seen;
        self.is_begun = true;
        Ok(self.totals)
    }

    /// What a task used since it was last seen, or since it was born if that was after.
    fn add(&mut self, pid: u32, stat: &TaskStat) {
        let before = match self.known.get(&pid) {
            Some((started, cpu_ns)) if *started == stat.started => *cpu_ns,
            _ if self.is_begun => 0,
            _ => stat.cpu_ns,
        };
        let used = stat.cpu_ns.saturating_sub(before);
        if stat.is_kernel_thread {
            self.totals.sees_all = true;
            self.totals.kernel_threads_ns += used;
        } else {
            self.totals.elsewhere_ns += used;
        }
    }
}

/// This process's threads that run no job: progress, signals, draining. Jobs' threads account for
/// themselves; io_uring's workers (`iou-…`) are named by the kernel itself and work for a job.
pub(super) fn own_threads_ns() -> io::Result<u64> {
    let mut sum = 0;
    for entry in std::fs::read_dir("/proc/self/task")? {
        let path = entry?.path();
        let name = std::fs::read_to_string(path.join("comm")).unwrap_or_default();
        if !name.starts_with("iou-") && !name.starts_with(model::job_role::JOB_THREAD) {
            sum += run_time_ns(&path).unwrap_or(0);
        }
    }
    Ok(sum)
}

/// The first number of schedstat: time on a CPU in ns.
fn run_time_ns(task: &Path) -> Option<u64> {
    let text = std::fs::read_to_string(task.join("schedstat")).ok()?;
    text.split_whitespace().next()?.parse().ok()
}

#[derive(Debug, Clone, Copy)]
struct TaskStat {
    is_kernel_thread: bool,
    cpu_ns: u64,
    /// When it began, in the kernel's ticks: a process number may come again.
    started: u64,
}

/// Fields 9 (flags), 14 and 15 (user and system ticks) and 22 (start) of /proc/PID/stat; the name
/// in parentheses may hold anything, so that counting begins after the last one.
fn parse_stat(text: &str) -> Option<TaskStat> {
    let (_, rest) = text.rsplit_once(')')?;
    let field = |n: usize| rest.split_whitespace().nth(n - 3)?.parse::<u64>().ok();
    Some(TaskStat {
        is_kernel_thread: field(9)? & KERNEL_THREAD != 0,
        cpu_ns: (field(14)? + field(15)?).checked_mul(TICK_NS)?,
        started: field(22)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_parentheses_and_spaces() {
        let text = "12 (a) b (c) S 1 1 1 0 -1 2129984 0 0 0 0 7 5 0 0 20 0 1 0 99 0 0\n";
        let stat = parse_stat(text).unwrap();
        assert!(stat.is_kernel_thread);
        assert_eq!((stat.cpu_ns, stat.started), (120_000_000, 99));
        assert!(parse_stat("no parentheses").is_none());
        assert!(parse_stat("1 (x) S 1").is_none());
    }

    #[test]
    fn a_task_that_ends_takes_nothing_back() {
        let mut tasks = Tasks::default();
        let task = |cpu_ns, started| TaskStat { is_kernel_thread: false, cpu_ns, started };
        let mut reading = |all: &[(u32, TaskStat)]| {
            for (pid, stat) in all {
                tasks.add(*pid, stat);
            }
            tasks.known = all.iter().map(|(pid, s)| (*pid, (s.started, s.cpu_ns))).collect();
            tasks.is_begun = true;
            tasks.totals.elsewhere_ns
        };
        // The past before the first reading is nobody's.
        assert_eq!(reading(&[(1, task(100, 5)), (2, task(1000, 6))]), 0);
        // Task 2 ended; task 1 used 7; task 3 was born and used 11.
        assert_eq!(reading(&[(1, task(107, 5)), (3, task(11, 7))]), 18);
        // Number 1 came again as another task, which used 2.
        assert_eq!(reading(&[(1, task(2, 9)), (3, task(11, 7))]), 20);
    }

    #[test]
    fn work_of_this_thread_is_the_harnesss() {
        let before = own_threads_ns().unwrap();
        let mut sum = 0u64;
        for i in 0..20_000_000u64 {
            sum = std::hint::black_box(sum.wrapping_add(i));
        }
        assert!(own_threads_ns().unwrap() > before, "{sum}");
    }
}
