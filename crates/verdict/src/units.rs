//! The kernel's count of waits for requests by cgroup, and what of it is known here.
//!
//! Non-goals: the machine's (`super::stalled`, `super::cpus`); who waited, and for whom.

use super::stalled::Stalled;
use crate::merge::merged;
use hashbrown::HashMap;
use model::record::{Pressure, Process};
use std::collections::BTreeMap;
use std::ops::Range;

/// Cgroups of which the kernel counts, and their threads.
#[derive(Debug, Default)]
pub(super) struct Units {
    names: Vec<String>,
    /// Of each its intervals, in the order of time.
    intervals: Vec<Vec<Pressure>>,
    of_threads: HashMap<u32, usize>,
}

/// What the kernel counted of a cgroup, and what of that is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct UnitSum {
    /// How long it was counted.
    pub(super) time_ns: i64,
    pub(super) stalled_ns: i64,
    pub(super) seen_ns: i64,
}

merged!(UnitSum { time_ns, stalled_ns, seen_ns });

impl Units {
    pub(super) fn new(pressure: Vec<Pressure>, processes: &[Process]) -> Self {
        let mut all: BTreeMap<String, Vec<Pressure>> = BTreeMap::new();
        for one in pressure {
            all.entry(one.unit.clone()).or_default().push(one);
        }
        let (names, mut intervals): (Vec<String>, Vec<Vec<Pressure>>) = all.into_iter().unzip();
        intervals.iter_mut().for_each(|of| of.sort_unstable_by_key(|one| one.from_ns));
        let place = |unit: &String| names.binary_search(unit).ok();
        let of_threads = processes
            .iter()
            .filter_map(|process| Some((process.pid as u32, place(process.unit.as_ref()?)?)));
        Self { of_threads: of_threads.collect(), names, intervals }
    }

    /// One for each.
    pub(super) fn stalled(&self) -> Vec<Stalled> {
        self.names.iter().map(|_| Stalled::default()).collect()
    }

    /// The cgroup of a thread.
    pub(super) fn of(&self, pid: u32) -> Option<usize> {
        if self.names.is_empty() {
            return None;
        }
        self.of_threads.get(&pid).copied()
    }

    /// What belongs to the intervals that begin in a time.
    pub(super) fn sums(
        &self,
        stalled: &[Stalled],
        time_ns: &Range<i64>,
    ) -> BTreeMap<String, UnitSum> {
        let of_each = self.names.iter().zip(&self.intervals).zip(stalled);
        let sum = |((name, intervals), stalled): ((&String, &Vec<Pressure>), &Stalled)| {
            let begun = intervals.iter().filter(|one| time_ns.contains(&one.from_ns));
            let counted = || begun.clone().map(|one| (one.from_ns..one.until_ns, one));
            let sum = UnitSum {
                time_ns: begun.clone().map(|one| one.until_ns - one.from_ns).sum(),
                stalled_ns: begun.clone().map(|one| one.io_stalled_ns as i64).sum(),
                seen_ns: stalled
                    .of_counts(counted().map(|(time, one)| (time, one.io_stalled_ns as f64))),
            };
            (name.clone(), sum)
        };
        of_each.map(sum).filter(|(_, sum)| sum.time_ns > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cgroup_has_the_waits_of_its_threads() {
        let ms = 1_000_000;
        let of = |unit: &str, from: i64, stalled: i64| Pressure {
            unit: unit.to_owned(),
            from_ns: from * ms,
            until_ns: (from + 100) * ms,
            io_stalled_ns: (stalled * ms) as u64,
        };
        let pressure = vec![of("/b", 0, 30), of("/a", 100, 0), of("/a", 0, 50)];
        let process =
            |pid, unit: &str| Process { pid, unit: Some(unit.to_owned()), ..Process::default() };
        let units = Units::new(pressure, &[process(1, "/a"), process(2, "/b"), process(3, "/c")]);
        assert_eq!([1, 2, 3, 4].map(|pid| units.of(pid)), [Some(0), Some(1), None, None]);
        let mut stalled = units.stalled();
        stalled[0].add(10 * ms, 50 * ms);
        stalled[1].add(0, 100 * ms);
        let sums = units.sums(&stalled, &(0..1000 * ms));
        let sum = |time, stalled, seen| UnitSum {
            time_ns: time * ms,
            stalled_ns: stalled * ms,
            seen_ns: seen * ms,
        };
        assert_eq!((sums["/a"], sums["/b"]), (sum(200, 50, 40), sum(100, 30, 30)));
        assert!(units.sums(&stalled, &(300 * ms..400 * ms)).is_empty());
    }
}
