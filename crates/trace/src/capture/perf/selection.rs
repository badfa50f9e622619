//! Which steps are requested, and on which disk they are. Requests name their whole disk; bios name
//! the partition that they were given to, though their place is counted from the beginning of the
//! disk.
//!
//! Source: sysfs (Documentation/ABI/stable/sysfs-block).
//!
//! Non-goals: finding a device by its name (crate `host`).

use super::super::filter::{DeviceError, disk_of, path_of};
use crate::event::Extent;
use hashbrown::HashMap;
use std::ffi::CString;
use std::ops::Range;
use std::path::Path;

const SECTOR_BYTES: u64 = 512;
/// The kernel takes no longer filter than a page.
const FILTER_BYTES: usize = 3000;

/// A whole disk or a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Part {
    disk: u32,
    /// Where on the disk; none of a whole one.
    range: Option<Range<u64>>,
}

impl Part {
    /// What has no place is the whole disk's: flushes, empty requests.
    fn has(&self, disk: u32, extent: &Extent) -> bool {
        let is_there = match (&self.range, extent.offset_bytes) {
            (Some(range), Some(offset)) if extent.length_bytes > 0 => range.contains(&offset),
            _ => true,
        };
        disk == self.disk && is_there
    }
}

/// The disk that a device is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Disk {
    pub(super) number: u32,
    /// Whether it goes past requests: device mapper, md, zram.
    pub(super) has_bios_alone: bool,
}

/// What is requested, and the disks met so far.
#[derive(Debug, Default)]
pub(in crate::capture) struct DeviceSelection {
    /// All if there are none.
    parts: Vec<Part>,
    disks: HashMap<u32, Disk>,
}

impl DeviceSelection {
    /// Whole disks and partitions, by the kernel's dev_t.
    /// Errors: a device that is not there.
    pub(in crate::capture) fn new(devices: &[u32]) -> Result<Self, DeviceError> {
        let parts = devices.iter().map(|device| part(*device)).collect::<Result<_, _>>()?;
        Ok(Self { parts, disks: HashMap::new() })
    }

    /// A whole disk, there or not.
    #[cfg(test)]
    pub(super) fn only(disk: u32) -> Self {
        Self { parts: vec![Part { disk, range: None }], disks: HashMap::new() }
    }

    /// The disk of a step's device.
    #[inline]
    pub(super) fn disk(&mut self, device: u32) -> Disk {
        *self.disks.entry(device).or_insert_with(|| look(device))
    }

    /// Whether a step is requested.
    #[inline]
    pub(super) fn has(&self, disk: u32, extent: &Extent) -> bool {
        self.parts.is_empty() || self.parts.iter().any(|part| part.has(disk, extent))
    }

    /// What of it the kernel can leave out by itself; none if nothing.
    pub(in crate::capture) fn filter(&self) -> Option<CString> {
        let mut devices: Vec<u32> = self.parts.iter().flat_map(|part| on_disk(part.disk)).collect();
        devices.sort_unstable();
        devices.dedup();
        let terms: Vec<String> = devices.iter().map(|device| format!("dev == {device}")).collect();
        let text = terms.join(" || ");
        if terms.is_empty() || text.len() > FILTER_BYTES { None } else { CString::new(text).ok() }
    }
}

fn part(device: u32) -> Result<Part, DeviceError> {
    let disk = disk_of(device)?;
    if disk == device {
        return Ok(Part { disk, range: None });
    }
    let bytes = |name| {
        let sectors = std::fs::read_to_string(format!("{}/{name}", path_of(device)));
        let sectors =
            sectors.and_then(|text| text.trim().parse::<u64>().map_err(std::io::Error::other));
        sectors.map(|sectors| sectors.saturating_mul(SECTOR_BYTES))
    };
    let range = || -> std::io::Result<Range<u64>> {
        let start = bytes("start")?;
        Ok(start..start.saturating_add(bytes("size")?))
    };
    let range = range().map_err(|source| DeviceError::new(device, source))?;
    Ok(Part { disk, range: Some(range) })
}

/// A disk with its partitions.
fn on_disk(disk: u32) -> Vec<u32> {
    let within = std::fs::read_dir(path_of(disk)).into_iter().flatten().flatten();
    let number = |entry: std::fs::DirEntry| {
        let is_partition = entry.path().join("partition").exists();
        let text = std::fs::read_to_string(entry.path().join("dev")).ok();
        text.filter(|_| is_partition).and_then(|text| super::super::filter::parse(&text))
    };
    std::iter::once(disk).chain(within.filter_map(number)).collect()
}

/// A device that is gone already is taken to be a whole disk with requests.
fn look(device: u32) -> Disk {
    let number = disk_of(device).unwrap_or(device);
    let path = path_of(number);
    // Disks with requests have hardware queues (since Linux 5.0 all of them).
    let has_bios_alone = Path::new(&path).exists() && !Path::new(&path).join("mq").exists();
    Disk { number, has_bios_alone }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::record::Op;

    fn extent(offset_bytes: Option<u64>, length_bytes: u32) -> Extent {
        Extent { op: Op::Write, offset_bytes, length_bytes, ..Extent::default() }
    }

    #[test]
    fn nothing_asked_for_is_all() {
        let selection = DeviceSelection::new(&[]).unwrap();
        assert!(selection.has(7 << 20, &extent(Some(0), 512)));
        assert_eq!(selection.filter(), None);
    }

    #[test]
    fn a_partition_is_its_range_and_what_has_no_place() {
        let part = Part { disk: 7 << 20, range: Some(4096..8192) };
        let selection = DeviceSelection { parts: vec![part], ..DeviceSelection::default() };
        for (disk, offset, length, has) in [
            (7 << 20, Some(4096), 512, true),
            (7 << 20, Some(8191), 512, true),
            (7 << 20, Some(8192), 512, false),
            (7 << 20, Some(0), 512, false),
            (7 << 20, Some(0), 0, true),
            (7 << 20, None, 0, true),
            (7 << 20 | 1, Some(4096), 512, false),
        ] {
            assert_eq!(selection.has(disk, &extent(offset, length)), has, "{disk} {offset:?}");
        }
    }

    #[test]
    fn the_kernel_leaves_out_what_it_can() {
        let whole = |disk| Part { disk, range: None };
        let of =
            |parts: Vec<Part>| DeviceSelection { parts, ..DeviceSelection::default() }.filter();
        // No such disks: they are known by their numbers alone.
        let two = of(vec![whole(4095 << 20), whole(4095 << 20 | 1), whole(4095 << 20)]);
        assert_eq!(two.unwrap().to_str(), Ok("dev == 4293918720 || dev == 4293918721"));
        assert_eq!(of((0..300).map(|n| whole(4095 << 20 | n)).collect()), None);
    }

    #[test]
    fn a_device_that_is_not_there_is_refused_by_its_number() {
        let refused = DeviceSelection::new(&[4095 << 20 | 7]).unwrap_err();
        assert!(refused.to_string().starts_with("capture device 4095:7: "), "{refused}");
        assert_eq!(look(4095 << 20), Disk { number: 4095 << 20, has_bios_alone: false });
    }
}
