//! The diskstats check: what the kernel itself counts as completed by each captured disk
//! (`/sys/dev/block/…/stat`), against what the trace holds of the same time, to the last request.
//!
//! The counters are read after the capture began and before it ends, each time between two readings
//! of the trace's clock. So each completion in the trace lies between the two readings, or while
//! one was taken, or outside. The kernel's difference has to be the first of these, plus some of
//! the second, plus completions that are known to be lost. Anything else is a disagreement, whose
//! items are listed.
//!
//! The kernel counts what was requested, a flush sequence once; the completions of partitions are
//! their disk's.

use super::{Devices, now_ns};
use host::device::{DeviceNumber, Tree};
use model::doubt::{Code, Doubt, Judgement};
use model::record::{Finding, Request, Subject};
use rustix::time::ClockId;
use std::collections::BTreeMap;

/// When the counters were read, in ns of the trace's clock: from, until.
type Reading = (i64, i64);

/// Where a completion lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Time {
    Between,
    /// While the counters were read.
    During,
    Outside,
}

/// Where a completion lies among readings.
fn place(readings: &[Reading], completed_ns: i64) -> Time {
    let before = readings.partition_point(|(from_ns, _)| *from_ns <= completed_ns);
    match before.checked_sub(1).and_then(|last| readings.get(last)) {
        Some((_, until_ns)) if completed_ns <= *until_ns => Time::During,
        // After the first reading of a pair.
        Some(_) if before % 2 == 1 => Time::Between,
        _ => Time::Outside,
    }
}

/// What the trace holds of a disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Held {
    between: u64,
    during: u64,
    outside: u64,
    /// Completions that are known to be lost.
    lost: u64,
}

/// The check of one trace, captured in one stretch or several.
#[derive(Debug, Default)]
pub(super) struct DiskstatsCheck {
    /// The trace's time zero.
    zero_ns: i64,
    /// One after a stretch began, the next before it ended, and so on.
    readings: Vec<Reading>,
    /// The disks' own counts when the present stretch began.
    begun: Vec<(DeviceNumber, u64)>,
    /// What was added in the stretches before, by the disks' own counts.
    counted: BTreeMap<DeviceNumber, u64>,
    held: BTreeMap<u32, Held>,
}

impl DiskstatsCheck {
    /// A stretch begins. Partitions are left out: the kernel does not count their flushes.
    pub(super) fn begin(&mut self, devices: &Devices, zero_ns: i64) {
        self.zero_ns = zero_ns;
        let tree = Tree::system();
        let is_disk = |d: &DeviceNumber| tree.is_partition(*d).is_ok_and(|is_one| !is_one);
        let disks: Vec<DeviceNumber> = devices.captured().filter(is_disk).collect();
        self.begun = self
            .read(|| disks.into_iter().filter_map(|d| Some((d, completed(&tree, d)?))).collect());
    }

    /// The stretch is over. A disk that is gone has no count.
    pub(super) fn end(&mut self) {
        let tree = Tree::system();
        let begun = std::mem::take(&mut self.begun);
        let ended: Vec<_> = self.read(|| {
            begun
                .iter()
                .filter_map(|(d, before)| Some((*d, *before, completed(&tree, *d)?)))
                .collect()
        });
        for (device, before, now) in ended {
            *self.counted.entry(device).or_default() += now.saturating_sub(before);
        }
    }

    /// Reads counters, and notes when.
    fn read<T>(&mut self, counters: impl FnOnce() -> T) -> T {
        let from_ns = now_ns(ClockId::Monotonic) - self.zero_ns;
        let read = counters();
        self.readings.push((from_ns, now_ns(ClockId::Monotonic) - self.zero_ns));
        read
    }

    /// Adds a row. One that was put out before a reading was completed before it, too.
    pub(super) fn add(&mut self, row: &Request) {
        if row.parent_id.is_some() {
            return;
        }
        let held = self.held.entry(row.device).or_default();
        match row.completed_ns.map(|ns| place(&self.readings, ns)) {
            Some(Time::Between) => held.between += 1,
            Some(Time::During) => held.during += 1,
            Some(Time::Outside) => held.outside += 1,
            None => held.lost += u64::from(row.completed_by_ns.is_some()),
        }
    }

    /// A finding for each disk that completed anything.
    pub(super) fn findings(&self, devices: &Devices) -> Vec<Finding> {
        let counts = self.counted.iter().filter_map(|(device, counted)| {
            let number = super::devices::kernel_number(*device);
            let held = self.held.get(&number).copied().unwrap_or_default();
            let is_any = counted + held.between + held.during + held.outside + held.lost > 0;
            is_any.then(|| finding(&devices.name(number), *counted, held))
        });
        counts.collect()
    }
}

/// Requests that a disk has completed, by the kernel's count.
pub(super) fn completed(tree: &Tree, device: DeviceNumber) -> Option<u64> {
    let stat = tree.stat(device).ok()?;
    Some(stat.read_requests + stat.write_requests + stat.discard_requests.unwrap_or(0))
}

/// What the trace can hold of the kernel's count: those between the readings and any of those
/// meanwhile.
fn explained(held: Held) -> std::ops::RangeInclusive<u64> {
    held.between..=held.between + held.during
}

fn finding(device: &str, counted: u64, held: Held) -> Finding {
    let range = explained(held);
    let with_lost = *range.start()..=range.end() + held.lost;
    let count = counted.clamp(*range.start(), *range.end());
    // Lost completions are no disagreement of the two counts, but figures lack them.
    let doubt = match (range.contains(&counted), with_lost.contains(&counted)) {
        (true, _) => None,
        (false, true) => Some(Doubt::new(
            Code::CompletionsLost,
            [
                ("lost", (counted - count).into()),
                ("device", device.into()),
                ("completed", counted.into()),
            ],
        )),
        (false, false) => Some(disagreement(device, counted, held)),
    };
    let method = format!(
        "the kernel's own counters, before and after; count is what the trace holds of that time; \
         {} completions lie before or after it",
        held.outside
    );
    let name = "kernel_completed_count";
    Finding::new(&Subject::device(device), name, Some(counted as f64), count, method)
        .judged(Judgement::default().with(doubt))
}

fn disagreement(device: &str, counted: u64, held: Held) -> Doubt {
    let Held { between, during, outside, lost } = held;
    let (more, side) = match counted < between {
        true => (between - counted, "in the trace"),
        false => (counted - between - during - lost, "by the kernel"),
    };
    Doubt::new(
        Code::DiskstatsDisagree,
        [
            ("device", device.into()),
            ("completed", counted.into()),
            ("between", between.into()),
            ("during", during.into()),
            ("outside", outside.into()),
            ("lost", lost.into()),
            ("more", more.into()),
            ("side", side.into()),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::record::Verdict;

    #[test]
    fn a_completion_lies_between_during_or_outside_the_readings() {
        let readings = [(10, 12), (20, 22), (30, 31), (40, 41)];
        let cases = [
            (9, Time::Outside),
            (10, Time::During),
            (12, Time::During),
            (13, Time::Between),
            (19, Time::Between),
            (22, Time::During),
            (25, Time::Outside),
            (35, Time::Between),
            (42, Time::Outside),
        ];
        for (ns, expected) in cases {
            assert_eq!(place(&readings, ns), expected, "{ns}");
        }
        // Before the second reading of a pair is taken, all is between.
        assert_eq!(place(&readings[..1], 1_000), Time::Between);
        assert_eq!(place(&[], 5), Time::Outside);
    }

    #[test]
    fn rows_are_counted_as_the_kernel_counts_them() {
        let mut check = DiskstatsCheck::default();
        let row = |completed_ns| Request { device: 3, completed_ns, ..Request::default() };
        check.readings.push((10, 12));
        [5, 11, 15, 16].iter().for_each(|ns| check.add(&row(Some(*ns))));
        check.add(&Request { parent_id: Some(1), ..row(Some(15)) });
        check.add(&Request { completed_by_ns: Some(17), ..row(None) });
        check.add(&row(None));
        check.readings.push((20, 22));
        check.add(&row(Some(21)));
        check.add(&row(Some(23)));
        let held = Held { between: 2, during: 2, outside: 2, lost: 1 };
        assert_eq!(check.held.get(&3), Some(&held));
    }

    #[test]
    fn the_difference_is_itemised_to_zero_or_suspect() {
        let held = Held { between: 100, during: 3, outside: 7, lost: 2 };
        for (counted, sentence) in [
            (100, ""),
            (103, ""),
            (104, "1 of sda's 104 completions were lost"),
            (105, "2 of sda's 105"),
            (106, "1 more by the kernel"),
            (99, "1 more in the trace"),
        ] {
            let found = finding("sda", counted, held);
            assert_eq!(found.verdict == Verdict::Ok, sentence.is_empty(), "{counted}");
            let said = report::doubt::sentences(&found.doubts);
            assert!(said.contains(sentence), "{counted}: {said}");
        }
    }
}
