//! What the kernel itself counts of each disk (`/sys/dev/block/…/stat`): what has been added since
//! it was last read. The independent check of a watch, and sar's figures.
//!
//! Non-goals: partitions, of which the kernel does not count flushes.

use super::row;
use ::capture::{Devices, kernel_number};
use ::verdict::watched::Span;
use host::device::{BlockStat, DeviceNumber, Tree};
use model::record::{Counted, Rollup, operations};
use std::collections::BTreeMap;

const MS: u64 = 1_000_000;

/// The last readings.
#[derive(Debug, Default)]
pub(crate) struct Disks(BTreeMap<DeviceNumber, (String, BlockStat)>);

/// A kind of count: requests, bytes, and their time.
type Count = (&'static str, fn(&BlockStat) -> [u64; 3]);

/// What is told of a disk.
const COUNTS: [Count; 6] = [
    ("read", |s| [s.read_requests, s.read_bytes, s.read_ms]),
    ("write", |s| [s.write_requests, s.write_bytes, s.write_ms]),
    ("discard", |s| {
        [s.discard_requests, s.discard_bytes, s.discard_ms].map(Option::unwrap_or_default)
    }),
    ("flush", |s| [s.flush_requests, None, s.flush_ms].map(Option::unwrap_or_default)),
    (operations::BUSY, |s| [0, 0, s.busy_ms]),
    (operations::QUEUED, |s| [0, 0, s.in_flight_ms]),
];

impl Disks {
    /// Reads all disks that are captured. What has been added since the last time is of this span;
    /// of a disk that is new, nothing is known yet.
    pub(crate) fn read(&mut self, devices: &Devices, span: &Span) -> Vec<Rollup> {
        let tree = Tree::system();
        let mut now = BTreeMap::new();
        for device in devices.captured() {
            if let Ok(stat) = tree.stat(device) {
                now.insert(device, (devices.name(kernel_number(device)), stat));
            }
        }
        let mut rows = Vec::new();
        for (device, (name, stat)) in &now {
            rows.extend(outstanding(name, stat, span));
            if let Some((_, before)) = self.0.get(device).filter(|(known, _)| known == name) {
                rows.extend(added(name, before, stat, span));
            }
        }
        self.0 = now;
        rows
    }
}

/// How many requests are outstanding now, if any.
fn outstanding(name: &str, now: &BlockStat, span: &Span) -> Option<Rollup> {
    let row = row(Counted::Watch, Some(name), operations::OUTSTANDING, span);
    (now.in_flight > 0).then_some(Rollup { count: now.in_flight, ..row })
}

/// What was added between two readings; nothing where the counts began anew.
fn added(name: &str, before: &BlockStat, now: &BlockStat, span: &Span) -> Vec<Rollup> {
    let of = |(operation, counts): &Count| {
        let (before, now) = (counts(before), counts(now));
        let mut more = [0; 3];
        for (more, (now, before)) in more.iter_mut().zip(now.iter().zip(before)) {
            *more = now.saturating_sub(before);
        }
        let [count, bytes, ms] = more;
        let row = row(Counted::Disk, Some(name), operation, span);
        let row = Rollup { count, bytes, sum_ns: ms.saturating_mul(MS), ..row };
        (more != [0; 3]).then_some(row)
    };
    COUNTS.iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_is_told_and_counts_that_began_anew_are_not() {
        let span =
            Span { number: 0, from_ns: 0, until_ns: 9, from_unix_ns: 60, until_unix_ns: 120 };
        let before = BlockStat { read_requests: 5, read_ms: 7, busy_ms: 3, ..BlockStat::default() };
        let now = BlockStat {
            read_requests: 9,
            read_bytes: 4096,
            read_ms: 9,
            busy_ms: 2,
            flush_requests: Some(2),
            ..before
        };
        let rows = added("sda", &before, &now, &span);
        let shown: Vec<_> = rows
            .iter()
            .map(|row| (row.operation.as_str(), row.count, row.bytes, row.sum_ns))
            .collect();
        assert_eq!(shown, [("read", 4, 4096, 2 * MS), ("flush", 2, 0, 0)]);
        assert_eq!(outstanding("sda", &now, &span), None);
        let row = outstanding("sda", &BlockStat { in_flight: 3, ..now }, &span).unwrap();
        assert_eq!((row.device.as_deref(), row.count), (Some("sda"), 3));
    }
}
