//! An independent count: what the kernel itself counts as answered by each captured disk while it is captured
//! (`/sys/dev/block/…/stat`), beside what the trace holds.
//!
//! The kernel counts what was asked for, a flush sequence once. What is on its way when the capture begins or ends is
//! in one of the two alone.

use super::Devices;
use host::device::{DeviceNumber, Tree};
use model::record::{Finding, Verdict, quantity, subject_text};

/// A difference up to this is what was on its way at the beginning and at the end.
const EDGE_REQUESTS: u64 = 64;
/// And up to this share of all, per cent.
const EDGE_PERCENT: u64 = 1;

/// The disks' own counts: when the capture began, then what was added until its end.
#[derive(Debug)]
pub(crate) struct Witness {
    counts: Vec<(DeviceNumber, u64)>,
}

impl Witness {
    /// From now on. Partitions are left out: the kernel does not count their flushes.
    pub(crate) fn begin(devices: &Devices) -> Self {
        let tree = Tree::system();
        let disks =
            devices.captured().filter(|d| tree.is_partition(*d).is_ok_and(|is_one| !is_one));
        Self { counts: disks.filter_map(|d| Some((d, answered(&tree, d)?))).collect() }
    }

    /// Until now. A disk that is gone has no count.
    pub(crate) fn end(&mut self) {
        let tree = Tree::system();
        self.counts.retain_mut(|(device, count)| match answered(&tree, *device) {
            Some(now) => {
                *count = now.saturating_sub(*count);
                true
            }
            None => false,
        });
    }

    /// With what was added in another stretch of the same run.
    pub(crate) fn add(&mut self, other: Self) {
        for (device, count) in other.counts {
            match self.counts.iter_mut().find(|(known, _)| *known == device) {
                Some((_, all)) => *all += count,
                None => self.counts.push((device, count)),
            }
        }
    }

    /// A finding for each disk that answered anything. `held` is how many answers the trace has of it.
    pub(crate) fn findings(&self, devices: &Devices, held: impl Fn(u32) -> u64) -> Vec<Finding> {
        let counts = self.counts.iter().filter_map(|(device, counted)| {
            let number = super::devices::kernel_number(*device);
            let held = held(number);
            (counted + held > 0).then(|| finding(&devices.name(number), *counted, held))
        });
        counts.collect()
    }
}

/// Requests that a disk has answered, by the kernel's count.
pub(super) fn answered(tree: &Tree, device: DeviceNumber) -> Option<u64> {
    let stat = tree.stat(device).ok()?;
    Some(stat.read_requests + stat.write_requests + stat.discard_requests.unwrap_or(0))
}

fn finding(device: &str, counted: u64, held: u64) -> Finding {
    let edge = EDGE_REQUESTS + counted * EDGE_PERCENT / 100;
    let agrees = counted.abs_diff(held) <= edge;
    let verdict = if agrees { Verdict::Ok } else { Verdict::Suspect };
    let name = "kernel_answered_count";
    Finding {
        subject: subject_text([("device", device.to_owned())]),
        quantity: name.to_owned(),
        value: Some(counted as f64),
        unit: quantity(name).map_or("", |q| q.unit).to_owned(),
        count: held,
        method: "the kernel's own counters, before and after; count is what the trace holds".to_owned(),
        verdict: verdict.name().to_owned(),
        reason: (!agrees).then(|| {
            format!("{device} answered {counted} requests by the kernel's count, and the trace holds {held}")
        }),
        ..Finding::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_on_its_way_is_no_disagreement_and_more_is() {
        assert_eq!(finding("sda", 100_000, 99_000).verdict, "ok");
        let missed = finding("sda", 100_000, 90_000);
        assert_eq!(missed.verdict, "suspect");
        assert!(missed.reason.unwrap().contains("the trace holds 90000"));
    }
}
