//! CPU time by task: this program's own threads, kernel threads, other programs.
//!
//! Kernel threads and our own threads are read in nanoseconds from schedstat; other
//! programs in ticks from stat, which sums all threads of a process, the ended
//! ones too. Each task is followed by itself from reading to reading, so that one that ends
//! takes only its last stretch with it, and not its whole past.

use super::{TICK_NS, malformed};
use model::process::{Stat, line};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// CPU time since the following began; none where this process is shown no such tasks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Totals {
    pub(super) elsewhere_ns: u64,
    /// The same by the program's name, of no more than [`MOST_NAMES`].
    pub(super) elsewhere_by: BTreeMap<String, u64>,
    pub(super) kernel_threads_ns: u64,
    /// In a namespace of its own a process sees no kernel thread, and not all programs either.
    pub(super) sees_all: bool,
}

/// Programs that are told apart: whoever runs more names is told in the sum alone.
const MOST_NAMES: usize = 1000;

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
        let own = (std::process::id(), std::fs::read_to_string("/proc/self/stat")?);
        let own = (own.0, name_of(&own.1));
        self.totals.sees_all = false;
        for entry in std::fs::read_dir("/proc")? {
            let entry = entry?;
            let name = entry.file_name();
            let Some(pid) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else {
                continue;
            };
            // A process may end between the listing and the reading.
            let Some(text) = line(Path::new("/proc"), pid) else { continue };
            let stat = Stat::parse(&text).ok_or_else(|| malformed("/proc/PID/stat"))?;
            if pid != own.0 {
                let precise = stat.is_kernel_thread.then(|| run_time_ns(&entry.path())).flatten();
                let cpu_ns = precise.unwrap_or(stat.cpu_ticks.saturating_mul(TICK_NS));
                self.add((pid, &called((pid, name_of(&text)), &stat, own)), &stat, cpu_ns);
                seen.insert(pid, (stat.started, cpu_ns));
            }
        }
        self.known = seen;
        self.is_begun = true;
        Ok(self.totals.clone())
    }

    /// What a task used since it was last seen, or since it was born if that was after.
    fn add(&mut self, (pid, name): (u32, &str), stat: &Stat, cpu_ns: u64) {
        let before = match self.known.get(&pid) {
            Some((started, cpu_ns)) if *started == stat.started => *cpu_ns,
            _ if self.is_begun => 0,
            _ => cpu_ns,
        };
        let used = cpu_ns.saturating_sub(before);
        if stat.is_kernel_thread {
            self.totals.sees_all = true;
            self.totals.kernel_threads_ns += used;
        } else {
            self.totals.elsewhere_ns += used;
            self.name(name, used);
        }
    }

    fn name(&mut self, name: &str, used: u64) {
        let by = &mut self.totals.elsewhere_by;
        let has_room = by.len() < MOST_NAMES;
        match by.get_mut(name) {
            Some(known) => *known += used,
            None if used > 0 && has_room => drop(by.insert(name.to_owned(), used)),
            None => {}
        }
    }
}

/// The name in a line of /proc/PID/stat: between the first parenthesis and the last one.
pub(super) fn name_of(line: &str) -> &str {
    let named = line.split_once('(').and_then(|(_, rest)| rest.rsplit_once(')'));
    named.map_or("", |(name, _)| name)
}

/// What a task is called beside this process: one of the same name by its number too, for who reads
/// only the name takes it for this one.
fn called<'n>((pid, name): (u32, &'n str), stat: &Stat, own: (u32, &str)) -> Cow<'n, str> {
    match stat.parent == own.0 {
        _ if name != own.1 => Cow::Borrowed(name),
        true => Cow::Owned(format!("a part of this {name} (pid {pid})")),
        false => Cow::Owned(format!("another {name} (pid {pid})")),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_that_ends_takes_nothing_back() {
        let mut tasks = Tasks::default();
        let own = Stat::of(std::process::id()).unwrap();
        let task = |cpu_ns, started| (Stat { started, ..own }, cpu_ns);
        let mut reading = |all: &[(u32, (Stat, u64))]| {
            for (pid, (stat, cpu_ns)) in all {
                tasks.add((*pid, &format!("p{pid}")), stat, *cpu_ns);
            }
            tasks.known = all.iter().map(|(pid, (s, cpu))| (*pid, (s.started, *cpu))).collect();
            tasks.is_begun = true;
            tasks.totals.elsewhere_ns
        };
        // The past before the first reading is nobody's.
        assert_eq!(reading(&[(1, task(100, 5)), (2, task(1000, 6))]), 0);
        // Task 2 ended; task 1 used 7; task 3 was born and used 11.
        assert_eq!(reading(&[(1, task(107, 5)), (3, task(11, 7))]), 18);
        // Number 1 came again as another task, which used 2.
        assert_eq!(reading(&[(1, task(2, 9)), (3, task(11, 7))]), 20);
        let by: Vec<(String, u64)> = tasks.totals.elsewhere_by.into_iter().collect();
        assert_eq!(by, [("p1".to_owned(), 9), ("p3".to_owned(), 11)]);
        assert_eq!(name_of("7 (a) b (c)) S 1 2"), "a) b (c)");
    }

    #[test]
    fn another_process_of_this_program_is_not_this_one() {
        let stat = Stat::of(std::process::id()).unwrap();
        let named = |pid, name, parent| called((pid, name), &Stat { parent, ..stat }, (7, "lbolt"));
        assert_eq!(named(9, "rustc", 1), "rustc");
        assert_eq!(named(9, "lbolt", 1), "another lbolt (pid 9)");
        assert_eq!(named(9, "lbolt", 7), "a part of this lbolt (pid 9)");
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
