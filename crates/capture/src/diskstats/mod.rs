//! The diskstats check: what the kernel itself counts as completed by each captured disk
//! (`/sys/dev/block/…/stat`), against what the trace holds of the same time, to the last request
//! and the last byte.
//!
//! The counters are read after the capture began and before it ends, each time between two readings
//! of the trace's clock. So each completion in the trace lies between the two readings, or while
//! one was taken, or outside. The kernel's difference has to be the first of these, plus some of
//! the second, plus completions that are known to be lost, plus or minus what the kernel is known
//! to count otherwise ([`tally`]). Anything else is a disagreement, whose items are listed.
//!
//! A driver that takes bios counts them as they come or as they go: what was under way at a reading
//! lies while it was taken.
//!
//! The completions of partitions are their disk's.

mod tally;

use super::quick::OfKernel;
use super::{Devices, now_ns};
use host::device::{DeviceNumber, Tree};
use model::doubt::{Code, Doubt, Judgement};
use model::record::{Finding, Request, Subject};
use rustix::time::ClockId;
use std::collections::{BTreeMap, BTreeSet};
pub(crate) use tally::Amount;
use tally::{Comparison, Counted, Driver, Held, Time, Unexplained, compare};

/// When the counters were read, in ns of the trace's clock: from, until.
type Reading = (i64, i64);

/// The reading during which a moment is, or those between which it is: how many boundaries of
/// readings came before it.
fn place(readings: &[Reading], ns: i64) -> usize {
    let begun = readings.partition_point(|(from_ns, _)| *from_ns <= ns);
    let ended = readings.partition_point(|(_, until_ns)| *until_ns < ns);
    begun + ended
}

/// Where a completion lies, that was at this place.
fn time(place: usize) -> Time {
    match place % 4 {
        1 | 3 => Time::During,
        // After the first reading of a pair.
        2 => Time::Between,
        _ => Time::Outside,
    }
}

/// Where a request lies.
fn lies(readings: &[Reading], row: &Request, driver: Driver) -> Time {
    let at = |ns| place(readings, ns);
    match (row.completed_ns.map(at), driver) {
        // By place alone (perf), the end of a flush sequence whose data is told of already looks
        // like this; and so does that of a flush which began before the capture.
        (Some(done), Driver::Requests) if row.is_orphan() && row.length_bytes == 0 => {
            if time(done) == Time::Outside { Time::Outside } else { Time::During }
        }
        (Some(place), Driver::Requests) => time(place),
        // Nobody saw when it began.
        (Some(_), Driver::Bios | Driver::Bcache) if row.is_orphan() => Time::During,
        (Some(done), Driver::Bios | Driver::Bcache) => match row.arrival_ns().map(at) {
            Some(begun) if begun < done => Time::During,
            _ => time(done),
        },
        (None, _) if row.completed_by_ns.is_some() => Time::Lost,
        (None, Driver::Requests) => Time::Outside,
        // Under way still: it may be counted already.
        (None, Driver::Bios | Driver::Bcache) => match row.arrival_ns().map(at).map(time) {
            Some(Time::Outside) => Time::Outside,
            _ => Time::During,
        },
    }
}

/// The check of one trace, captured in one stretch or several.
#[derive(Debug, Default)]
pub(super) struct DiskstatsCheck {
    /// The trace's time zero.
    zero_ns: i64,
    /// One after a stretch began, the next before it ended, and so on.
    readings: Vec<Reading>,
    /// The disks' own counts when the present stretch began.
    begun: Vec<(DeviceNumber, Reckoning)>,
    /// What was added in the stretches before, by the disks' own counts.
    counted: BTreeMap<DeviceNumber, Counted>,
    /// Disks whose drivers take bios.
    of_bios: BTreeMap<u32, Driver>,
    /// Disks whose setting says that they are not counted; zram counts all the same.
    uncounted: BTreeSet<DeviceNumber>,
    held: BTreeMap<u32, Held>,
}

impl DiskstatsCheck {
    /// A stretch begins, and nothing is summed up yet. Partitions are left out: the kernel does not
    /// count their flushes.
    pub(super) fn begin(&mut self, devices: &Devices, zero_ns: i64) {
        self.zero_ns = zero_ns;
        let tree = Tree::system();
        let is_disk = |d: &DeviceNumber| tree.is_partition(*d).is_ok_and(|is_one| !is_one);
        let disks: Vec<DeviceNumber> = devices.captured().filter(is_disk).collect();
        for disk in &disks {
            if tree.takes_bios(*disk).unwrap_or(false) {
                let is_bcache = tree.is_bcache(*disk).unwrap_or(false);
                let driver = if is_bcache { Driver::Bcache } else { Driver::Bios };
                self.of_bios.insert(super::devices::kernel_number(*disk), driver);
            }
            if tree.queue_setting(*disk, "iostats").ok().flatten().as_deref() == Some("0") {
                self.uncounted.insert(*disk);
            }
        }
        self.begun =
            self.read(|| disks.into_iter().filter_map(|d| Some((d, reckon(&tree, d)?))).collect());
    }

    /// The stretch is over. A disk that is gone has no count, nor has one that came meanwhile.
    /// `summed` is what the kernel has summed up of requests since it began, which have no rows.
    pub(super) fn end(&mut self, mut summed: impl FnMut() -> OfKernel) {
        let tree = Tree::system();
        let begun = std::mem::take(&mut self.begun);
        let before = summed();
        let ended: Vec<_> = self.read(|| {
            begun.iter().filter_map(|(d, before)| Some((*d, *before, reckon(&tree, *d)?))).collect()
        });
        self.add_summed(&OfKernel::new(), &before, Time::Between);
        self.add_summed(&before, &summed(), Time::During);
        for (device, before, now) in ended {
            match before.disk == now.disk && !now.counted.is_behind(&before.counted) {
                true => {
                    *self.counted.entry(device).or_default() += now.counted.since(before.counted)
                }
                false => drop(self.counted.remove(&device)),
            }
        }
    }

    /// Adds what was summed up from one moment to another.
    fn add_summed(&mut self, from: &OfKernel, until: &OfKernel, time: Time) {
        for (key @ (device, op), now) in until {
            let before = from.get(key).copied().unwrap_or_default();
            let (requests, bytes) = (now.requests - before.requests, now.bytes - before.bytes);
            let amount = Amount { requests, bytes };
            self.held.entry(*device).or_default().take_summed(*op, amount, time);
        }
    }

    /// Reads counters, and notes when.
    fn read<T>(&mut self, counters: impl FnOnce() -> T) -> T {
        let from_ns = now_ns(ClockId::Monotonic) - self.zero_ns;
        let read = counters();
        self.readings.push((from_ns, now_ns(ClockId::Monotonic) - self.zero_ns));
        read
    }

    fn driver(&self, number: u32) -> Driver {
        self.of_bios.get(&number).copied().unwrap_or_default()
    }

    /// Adds a row. One that was put out before a reading was completed before it, too.
    pub(super) fn add(&mut self, row: &Request) {
        let driver = self.driver(row.device);
        let time = lies(&self.readings, row, driver);
        self.held.entry(row.device).or_default().take(row, driver, time);
    }

    /// Findings of each disk that completed anything; so many events of the capture were lost.
    pub(super) fn findings(&self, devices: &Devices, events_lost: u64) -> Vec<Finding> {
        let of = |(device, counted): (&DeviceNumber, &Counted)| {
            let number = super::devices::kernel_number(*device);
            let held = self.held.get(&number).copied().unwrap_or_default();
            let name = devices.name(number);
            let driver = self.driver(number);
            // Some drivers of bios count nothing (brd).
            let may_be_silent = self.uncounted.contains(device) || driver != Driver::Requests;
            match (counted.is_any(), held.is_any()) {
                (false, false) => Vec::new(),
                (false, true) if may_be_silent && held.has_data() => vec![uncounted(&name)],
                _ => {
                    let compared = compare(&held, counted, driver, events_lost);
                    findings(&name, counted.all(), &compared)
                }
            }
        };
        self.counted.iter().flat_map(of).collect()
    }
}

/// The count of one disk.
#[derive(Debug, Clone, Copy)]
struct Reckoning {
    /// Which disk it is: another may have its number later. None before Linux 5.15.
    disk: Option<u64>,
    counted: Counted,
}

fn reckon(tree: &Tree, device: DeviceNumber) -> Option<Reckoning> {
    Some(Reckoning { disk: tree.sequence(device), counted: counters(tree, device)? })
}

/// What a disk has completed, by the kernel's count.
fn counters(tree: &Tree, device: DeviceNumber) -> Option<Counted> {
    let stat = tree.stat(device).ok()?;
    let amount = |requests, bytes| Amount { requests, bytes };
    Some(Counted {
        reads: amount(stat.read_requests, stat.read_bytes),
        writes: amount(stat.write_requests, stat.write_bytes),
        discards: amount(
            stat.discard_requests.unwrap_or_default(),
            stat.discard_bytes.unwrap_or_default(),
        ),
        flushes: stat.flush_requests,
    })
}

/// Requests that a disk has completed, by the kernel's count.
pub(super) fn completed(tree: &Tree, device: DeviceNumber) -> Option<u64> {
    counters(tree, device).map(|counted| counted.all().requests)
}

const METHOD: &str = "the kernel's own counters, before and after; count is what the trace holds \
                      of that time";
const COMPLETED: &str = "kernel_completed_count";

/// A disk of which the kernel counts nothing.
fn uncounted(device: &str) -> Finding {
    let reason = format!(
        "the kernel does not count the requests of {device}: queue/iostats is 0 (echo 1 > \
         /sys/block/{device}/queue/iostats), or its driver has no counters"
    );
    Finding::new(&Subject::device(device), COMPLETED, None, 0, METHOD)
        .judged(Judgement::not_measured(Doubt::refused(reason)))
}

fn findings(device: &str, counted: Amount, compared: &Comparison) -> Vec<Finding> {
    let subject = Subject::device(device);
    let found = |quantity, value: u64, held, method: &str| {
        Finding::new(&subject, quantity, Some(value as f64), held, method)
    };
    let Comparison { held, explained, unexplained } = compared;
    let doubts = unexplained.iter().map(|left| disagreement(device, left));
    // Lost completions are no disagreement of the two counts, but figures lack them.
    let lost = (explained.lost > 0).then(|| {
        let values = [
            ("lost", explained.lost.into()),
            ("device", device.into()),
            ("completed", counted.requests.into()),
        ];
        Doubt::new(Code::CompletionsLost, values)
    });
    let judgement = Judgement::of(doubts.chain(lost).collect());
    let mut findings = vec![
        found(COMPLETED, counted.requests, held.requests, METHOD).judged(judgement),
        found("kernel_completed_bytes", counted.bytes, held.bytes, METHOD),
    ];
    let apart = [
        ("kernel_parts_count", explained.parts),
        ("kernel_preflushes_count", explained.preflushes),
        ("kernel_empty_flushes_count", explained.empty_flushes),
        ("kernel_bypassed_bytes", explained.bypassed_bytes),
        ("kernel_failed_count", explained.failed),
        ("kernel_commands_count", explained.commands),
    ];
    let apart = apart.into_iter().filter(|(_, count)| *count > 0);
    findings.extend(apart.map(|(quantity, count)| {
        found(quantity, count, count, "from the difference of the kernel's counters and the trace")
    }));
    findings
}

fn disagreement(device: &str, left: &Unexplained) -> Doubt {
    let side = if left.is_in_trace { "in the trace" } else { "by the kernel" };
    Doubt::new(
        Code::DiskstatsDisagree,
        [
            ("device", device.into()),
            ("what", left.what.into()),
            ("completed", left.counted.into()),
            ("between", left.between.into()),
            ("during", left.during.into()),
            ("outside", left.outside.into()),
            ("lost", left.lost.into()),
            ("more", left.more.into()),
            ("side", side.into()),
        ],
    )
}

#[cfg(test)]
mod tests;
