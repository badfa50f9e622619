//! CPU time by task: this program's own threads, kernel threads, other programs.
//!
//! Kernel threads and our own threads are read in nanoseconds from schedstat; other
//! programs in ticks from stat, which sums all threads of a process, the ended
//! ones too. A process that ended between two readings is lost from the account.

use super::{TICK_NS, malformed};
use std::io;
use std::path::Path;

/// PF_KTHREAD, include/linux/sched.h.
const KERNEL_THREAD: u64 = 0x0020_0000;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Tasks {
    pub(super) harness_ns: u64,
    pub(super) elsewhere_ns: u64,
    /// None where the kernel keeps no schedstat.
    pub(super) kernel_threads_ns: Option<u64>,
}

pub(super) fn read() -> io::Result<Tasks> {
    let own = std::process::id();
    let mut tasks = Tasks { harness_ns: own_threads()?, ..Tasks::default() };
    let mut kernel_ns = Some(0u64);
    for entry in std::fs::read_dir("/proc")? {
        let entry = entry?;
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        if pid == own {
            continue;
        }
        // A process may end between the listing and the reading.
        let Ok(text) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        let stat = parse_stat(&text).ok_or_else(|| malformed("/proc/PID/stat"))?;
        if stat.is_kernel_thread {
            let ns = run_time_ns(&entry.path());
            kernel_ns = kernel_ns.zip(ns).map(|(sum, ns)| sum + ns);
        } else {
            tasks.elsewhere_ns += stat.cpu_ns;
        }
    }
    tasks.kernel_threads_ns = kernel_ns;
    Ok(tasks)
}

/// This process's threads that are its own program: io_uring's workers (`iou-…`) are named by
/// the kernel itself and work for a job.
fn own_threads() -> io::Result<u64> {
    let mut sum = 0;
    for entry in std::fs::read_dir("/proc/self/task")? {
        let path = entry?.path();
        let name = std::fs::read_to_string(path.join("comm")).unwrap_or_default();
        if !name.starts_with("iou-") {
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

struct TaskStat {
    is_kernel_thread: bool,
    cpu_ns: u64,
}

/// Fields 9 (flags), 14 and 15 (user and system ticks) of /proc/PID/stat; the name in
/// parentheses may hold anything, so that counting begins after the last one.
fn parse_stat(text: &str) -> Option<TaskStat> {
    let (_, rest) = text.rsplit_once(')')?;
    let field = |n: usize| rest.split_whitespace().nth(n - 3)?.parse::<u64>().ok();
    Some(TaskStat {
        is_kernel_thread: field(9)? & KERNEL_THREAD != 0,
        cpu_ns: (field(14)? + field(15)?).checked_mul(TICK_NS)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_parentheses_and_spaces() {
        let text = "12 (a) b (c) S 1 1 1 0 -1 2129984 0 0 0 0 7 5 0 0 20 0 1 0 1 0 0\n";
        let stat = parse_stat(text).unwrap();
        assert!(stat.is_kernel_thread);
        assert_eq!(stat.cpu_ns, 120_000_000);
        assert!(parse_stat("no parentheses").is_none());
        assert!(parse_stat("1 (x) S 1").is_none());
    }

    #[test]
    fn work_of_this_thread_is_the_harnesss() {
        let before = read().unwrap();
        let mut sum = 0u64;
        for i in 0..20_000_000u64 {
            sum = std::hint::black_box(sum.wrapping_add(i));
        }
        let after = read().unwrap();
        assert!(after.harness_ns > before.harness_ns, "{sum}");
        assert!(after.kernel_threads_ns >= before.kernel_threads_ns);
    }
}
