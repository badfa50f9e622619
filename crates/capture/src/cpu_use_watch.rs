//! Who used the CPUs, and which threads of the trace waited for one: read once a second at most,
//! and only while all CPUs are busy, for to read it takes time of every process.
//!
//! Non-goals: what all CPUs did together (`cpu_watch`); what it explains (`verdict`).

use crate::devices::kernel_number;
use host::account::{Ran, ran_of_all, waited_for_cpu_ns};
use host::device::{NamesInThreads, Tree};
use model::process::now_ticks;
use model::record::CpuUse;
use rustix::time::ClockId;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How often it is read, at the most and at the least.
const EVERY: Duration = Duration::from_secs(1);
const SELDOM: Duration = Duration::from_secs(10);
/// So many times as long as a reading takes passes until the next one.
const APART: u32 = 300;
/// Processes that are told of: those that ran most.
const PROCESSES_MOST: usize = 8;
/// Threads whose waits are read: of those that are there.
const THREADS_MOST: usize = 1000;
/// So much CPU time is spent on all processes, and as much on threads: the rings fill up meanwhile.
const AT_ONCE: Duration = Duration::from_millis(100);
/// Who waited for less in an interval is not told of.
const WAITED_LEAST_NS: u64 = 1_000_000;

/// What was read: when, what each process had run, and how long each thread had waited.
#[derive(Debug, Clone, Default)]
struct Reading {
    ns: i64,
    /// When it began, as processes tell when they were started.
    ticks: u64,
    /// Empty where it is not known of all.
    ran: BTreeMap<u32, Ran>,
    waited_ns: BTreeMap<(u32, u32), u64>,
    /// Of the kernel's threads that serve a device, which that is.
    serve: BTreeMap<u32, u32>,
}

impl Reading {
    fn now(now_ns: i64, threads: impl Iterator<Item = (u32, u32)>) -> Self {
        let ticks = now_ticks();
        let ran: BTreeMap<u32, Ran> =
            ran_of_all(AT_ONCE).into_iter().map(|ran| (ran.process, ran)).collect();
        let names = NamesInThreads::of(&Tree::system());
        let of_kernel = ran.values().filter(|ran| ran.is_kernel_thread);
        let serve: BTreeMap<u32, u32> = of_kernel
            .filter_map(|ran| Some((ran.process, kernel_number(names.served_by(&ran.command)?))))
            .collect();
        let serving: Vec<(u32, u32)> = serve.keys().map(|thread| (*thread, *thread)).collect();
        let threads = serving.into_iter().chain(threads);
        let spent_ns = || u128::from(crate::now_ns(ClockId::ThreadCPUTime).unsigned_abs());
        let until_ns = spent_ns() + AT_ONCE.as_nanos();
        // Those that are gone cost less than those that are there, and may be many more.
        let waited =
            threads.take_while(|_| spent_ns() < until_ns).filter_map(|(process, thread)| {
                Some(((process, thread), waited_for_cpu_ns(process, thread)?))
            });
        Self { ns: now_ns, ticks, ran, waited_ns: waited.take(THREADS_MOST).collect(), serve }
    }

    /// What a process had run by then, for one that is there later; none if that is not known.
    fn ran_ns(&self, later: &Ran) -> Option<u64> {
        match self.ran.get(&later.process) {
            _ if self.ran.is_empty() => None,
            Some(known) if known.started == later.started => Some(known.ran_ns),
            _ => (later.started >= self.ticks).then_some(0),
        }
    }

    /// What was run and waited since an earlier reading, the most first. A process that has
    /// started since ran all of it since; of a thread that was not looked at then, it is not known.
    fn since(&self, before: &Self) -> Vec<CpuUse> {
        let of = |process: u32| CpuUse {
            from_ns: before.ns,
            until_ns: self.ns,
            pid: process.into(),
            process: process.into(),
            command: self.ran.get(&process).map_or_else(String::new, |ran| ran.command.clone()),
            ..CpuUse::default()
        };
        let mut ran: Vec<CpuUse> = self
            .ran
            .values()
            .filter_map(|now| Some((now, now.ran_ns.saturating_sub(before.ran_ns(now)?))))
            .filter(|(_, ran_ns)| *ran_ns > 0)
            .map(|(now, ran_ns)| CpuUse { ran_ns, ..of(now.process) })
            .collect();
        ran.sort_by_key(|one| (Reverse(one.ran_ns), one.pid));
        ran.truncate(PROCESSES_MOST);
        let waited = self.waited_ns.iter().filter_map(|(thread, now_ns)| {
            let waited_ns = now_ns.saturating_sub(*before.waited_ns.get(thread)?);
            // A worker may serve another one by now.
            let serves = self.serve.get(&thread.1).or_else(|| before.serve.get(&thread.1));
            let serves_device = serves.map(|device| u64::from(*device));
            let row = || CpuUse { pid: thread.1.into(), waited_ns, serves_device, ..of(thread.0) };
            (waited_ns >= WAITED_LEAST_NS).then(row)
        });
        ran.extend(waited);
        ran
    }
}

/// The intervals so far.
#[derive(Debug, Clone, Default)]
pub(super) struct CpuUseWatch {
    last: Option<Reading>,
    /// When it may be read again.
    due: Option<Instant>,
    uses: Vec<CpuUse>,
}

impl CpuUseWatch {
    /// Reads it if it is time, while all CPUs are busy and once more behind that; `now_ns` is on
    /// the requests' clock, and threads come with their processes before them. Tells the processes
    /// that ran, and their names.
    pub(super) fn look(
        &mut self,
        now_ns: i64,
        is_busy: bool,
        threads: impl Iterator<Item = (u32, u32)>,
    ) -> Vec<(u32, String)> {
        let began = Instant::now();
        let is_early = self.due.is_some_and(|due| began < due);
        if is_early || !is_busy && self.last.is_none() {
            return Vec::new();
        }
        let now = Reading::now(now_ns, threads);
        self.due = Some(began + began.elapsed().saturating_mul(APART).clamp(EVERY, SELDOM));
        self.add(now, is_busy)
    }

    fn add(&mut self, now: Reading, is_busy: bool) -> Vec<(u32, String)> {
        let uses = self.last.take().map_or_else(Vec::new, |before| now.since(&before));
        self.last = is_busy.then_some(now);
        let ran = uses.iter().filter(|one| one.ran_ns > 0);
        let named = |one: &CpuUse| Some((u32::try_from(one.process).ok()?, one.command.clone()));
        let processes = ran.filter_map(named).collect();
        self.uses.extend(uses);
        processes
    }

    /// Drops what was over so long before the last interval's end.
    pub(super) fn keep_last(&mut self, keep_ns: i64) {
        let last_ns = self.uses.last().map_or(i64::MIN, |one| one.until_ns);
        let since_ns = last_ns.saturating_sub(keep_ns);
        self.uses.retain(|one| one.until_ns >= since_ns);
    }

    /// What became known of the time after a moment.
    pub(super) fn since(&self, since_ns: i64) -> Vec<CpuUse> {
        let after = self.uses.partition_point(|one| one.until_ns <= since_ns);
        self.uses.iter().skip(after).cloned().collect()
    }

    /// What comes until it is looked again belongs to no interval.
    pub(super) fn pause(&mut self) {
        self.last = None;
        self.due = None;
    }

    pub(super) fn take(self) -> Vec<CpuUse> {
        self.uses
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(process: u32, started: u64, ran_ns: u64) -> (u32, Ran) {
        let command = format!("p{process}");
        (process, Ran { process, started, command, ran_ns, is_kernel_thread: false })
    }

    fn reading(ns: i64, ran: &[(u32, Ran)], waited: &[((u32, u32), u64)]) -> Reading {
        let (ran, waited_ns) = (ran.iter().cloned().collect(), waited.iter().copied().collect());
        Reading { ns, ticks: 2, ran, waited_ns, serve: BTreeMap::new() }
    }

    #[test]
    fn who_ran_and_who_waited_is_told_of_what_passed_between_two_readings() {
        const MS: u64 = 1_000_000;
        let mut watch = CpuUseWatch::default();
        let first = [ran(5, 1, 40 * MS), ran(6, 1, 9 * MS), ran(7, 1, 500 * MS)];
        let waited = [((6, 6), 3 * MS), ((6, 8), 3 * MS)];
        assert!(watch.add(reading(10, &first, &waited), true).is_empty());
        // Number 7 was given to another process; 6 did not run, and one thread of it waited.
        let second = [ran(5, 1, 60 * MS), ran(6, 1, 9 * MS), ran(7, 2, 30 * MS)];
        let waited = [((6, 6), 3 * MS + 7), ((6, 8), 9 * MS), ((6, 9), 99 * MS)];
        let named = [(7, "p7".to_owned()), (5, "p5".to_owned())];
        assert_eq!(watch.add(reading(20, &second, &waited), false), named);
        // What was not read in a row is of no interval.
        assert!(watch.add(reading(30, &[ran(5, 1, 900 * MS)], &[]), true).is_empty());
        let of = |pid, process, ran_ns, waited_ns| CpuUse {
            from_ns: 10,
            until_ns: 20,
            pid,
            process,
            command: format!("p{process}"),
            ran_ns,
            waited_ns,
            serves_device: None,
        };
        let expected = [of(7, 7, 30 * MS, 0), of(5, 5, 20 * MS, 0), of(8, 6, 0, 6 * MS)];
        assert_eq!(watch.since(10), expected);
        assert!(watch.since(20).is_empty());
        watch.keep_last(0);
        assert_eq!(watch.take(), expected);
    }

    #[test]
    fn of_a_process_that_is_older_than_its_first_reading_it_is_not_known_what_it_ran_since() {
        const MS: u64 = 1_000_000;
        let none = reading(10, &[], &[]);
        let first = reading(20, &[ran(5, 1, 40 * MS)], &[]);
        let second = reading(30, &[ran(5, 1, 60 * MS), ran(6, 1, 900 * MS), ran(7, 2, MS)], &[]);
        let since = |later: &Reading, earlier: &Reading| {
            later.since(earlier).iter().map(|one| (one.pid, one.ran_ns)).collect::<Vec<_>>()
        };
        assert_eq!(since(&second, &first), [(5, 20 * MS), (7, MS)]);
        assert!(since(&first, &none).is_empty() && since(&second, &none).is_empty());
    }

    #[test]
    fn a_thread_that_serves_a_device_says_which() {
        let serving = |at_ns, waited_ns, serve: &[(u32, u32)]| Reading {
            serve: serve.iter().copied().collect(),
            ..reading(at_ns, &[], &[((6, 6), waited_ns), ((7, 7), waited_ns)])
        };
        let (first, second) = (serving(10, 0, &[(6, 700)]), serving(20, 5_000_000, &[]));
        let since = second.since(&first);
        let devices: Vec<_> = since.iter().map(|one| (one.pid, one.serves_device)).collect();
        assert_eq!(devices, [(6, Some(700)), (7, None)], "it has done something else since");
    }

    #[test]
    fn threads_that_are_gone_take_no_place_of_those_that_are_there() {
        let own = std::process::id();
        if waited_for_cpu_ns(own, own).is_none() {
            return;
        }
        // No process has these numbers: they are beyond the most that a kernel gives (proc(5)).
        let gone = (0..THREADS_MOST as u32).map(|more| (1 << 22) + 1 + more);
        let threads = gone.map(|pid| (pid, pid)).chain([(own, own)]);
        let known = Reading::now(0, threads);
        let asked = known.waited_ns.into_keys().filter(|of| !known.serve.contains_key(&of.1));
        assert_eq!(asked.collect::<Vec<_>>(), [(own, own)]);
    }

    #[test]
    fn while_the_cpus_have_time_nothing_is_read() {
        let mut watch = CpuUseWatch::default();
        assert!(watch.look(0, false, std::iter::empty()).is_empty());
        assert!(watch.last.is_none() && watch.due.is_none());
        watch.look(1, true, std::iter::empty());
        assert_eq!(watch.last.as_ref().map(|reading| reading.ns), Some(1));
        watch.look(2, true, std::iter::empty());
        assert_eq!(watch.last.as_ref().map(|reading| reading.ns), Some(1), "it is not yet time");
        watch.due = None;
        watch.look(3, false, std::iter::empty());
        assert!(watch.last.is_none(), "the last reading of a busy time");
    }
}
