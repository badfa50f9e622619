//! Which devices are captured, as the program in the kernel is known.
//!
//! A device's number here is the kernel's own dev_t: major << 20 | minor, which is how events
//! carry it too. What programs are shown by `stat` has another order of bits ([`device_number`]).
//!
//! Non-goals: finding a device by its name (crate `host`).

use super::CaptureError;
use model::record::{self, major_minor};

/// How many devices can be requested: `FILTERS` of device.h.
pub const DEVICES_MOST: usize = 16;

/// A device that is not there. A clause with its remedy.
#[derive(Debug, thiserror::Error)]
#[error("capture device {major}:{minor}: {source}; /sys/dev/block lists the devices")]
pub struct DeviceError {
    /// Its major number.
    pub major: u32,
    /// Its minor number.
    pub minor: u32,
    /// What was found instead.
    pub source: std::io::Error,
}

impl DeviceError {
    pub(super) fn new(device: u32, source: std::io::Error) -> Self {
        let (major, minor) = major_minor(device);
        Self { major, minor, source }
    }
}

/// The kernel's dev_t of a device that a program knows by its `st_rdev`.
pub fn device_number(st_rdev: u64) -> u32 {
    let (major, minor) = (rustix::fs::major(st_rdev), rustix::fs::minor(st_rdev));
    // The kernel tells no number that it could not have itself.
    record::device_number(major, minor).unwrap_or_default()
}

/// `filters` of device.h: each device and the whole disk that it is on; and `filter_extents`:
/// the sectors there that it has, first and behind the last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Filter {
    pub(super) used: u32,
    pub(super) words: [u32; 2 * DEVICES_MOST],
    pub(super) extents: [u64; 2 * DEVICES_MOST],
}

impl Filter {
    /// Of no device is: of all.
    pub(super) fn new(devices: &[u32]) -> Result<Self, CaptureError> {
        if devices.len() > DEVICES_MOST {
            return Err(CaptureError::TooManyDevices(devices.len()));
        }
        let mut filter = Self { used: devices.len() as u32, ..Self::default() };
        let places = filter.words.chunks_exact_mut(2).zip(filter.extents.chunks_exact_mut(2));
        for ((numbers, sectors), &device) in places.zip(devices) {
            numbers.copy_from_slice(&[device, disk_of(device)?]);
            sectors.copy_from_slice(&extent_of(device));
        }
        Ok(filter)
    }

    /// With file systems that lie on the devices and name none, as many as there is room for; where
    /// no device is named, nothing is left out anyway.
    pub(super) fn with_file_systems(mut self, numbers: &[u32]) -> Self {
        let first = self.used as usize;
        let room = if first == 0 { 0 } else { DEVICES_MOST - first };
        for (place, number) in numbers.iter().take(room).enumerate() {
            let at = 2 * (first + place);
            self.words[at..at + 2].fill(*number);
            self.used += 1;
        }
        self
    }
}

/// The directory of a device in sysfs.
pub(super) fn path_of(device: u32) -> String {
    let (major, minor) = major_minor(device);
    format!("/sys/dev/block/{major}:{minor}")
}

/// The whole disk that a device is on, which may be itself.
pub(super) fn disk_of(device: u32) -> Result<u32, DeviceError> {
    let path = path_of(device);
    let unknown = |source| DeviceError::new(device, source);
    std::fs::metadata(&path).map_err(unknown)?;
    // A partition lies in the directory of its disk.
    let disk = match std::fs::exists(format!("{path}/partition")).map_err(unknown)? {
        true => format!("{path}/../dev"),
        false => format!("{path}/dev"),
    };
    let text = std::fs::read_to_string(disk).map_err(unknown)?;
    parse(&text).ok_or_else(|| {
        let source = std::io::Error::new(std::io::ErrorKind::InvalidData, "not major:minor");
        unknown(source)
    })
}

/// The sectors of its disk that a device has: a partition some, a disk all.
fn extent_of(device: u32) -> [u64; 2] {
    let path = path_of(device);
    let sectors = |file: &str| {
        let text = std::fs::read_to_string(format!("{path}/{file}")).ok()?;
        text.trim().parse::<u64>().ok()
    };
    match sectors("start").zip(sectors("size")) {
        Some((start, size)) => [start, start.saturating_add(size)],
        None => [0, u64::MAX],
    }
}

/// A device's number as sysfs writes it.
pub(super) fn parse(text: &str) -> Option<u32> {
    let (major, minor) = text.trim().split_once(':')?;
    record::device_number(major.parse().ok()?, minor.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn no_device_is_no_filter() {
        assert_eq!(Filter::new(&[]).unwrap(), Filter::default());
    }

    #[test]
    fn file_systems_are_added_to_devices_and_not_to_all() {
        let none = Filter::default().with_file_systems(&[43]);
        assert_eq!(none, Filter::default());
        let one = Filter { used: 1, ..Filter::default() };
        let both = one.with_file_systems(&[43]);
        assert_eq!((both.used, &both.words[..4]), (2, &[0, 0, 43, 43][..]));
        let full = one.with_file_systems(&[7; 2 * DEVICES_MOST]);
        assert_eq!(full.used as usize, DEVICES_MOST);
    }

    #[test]
    fn the_kernels_order_of_bits_is_not_that_of_programs() {
        assert_eq!(device_number(rustix::fs::makedev(7, 0)), 7 << 20);
        assert_eq!(device_number(rustix::fs::makedev(259, 300)), 259 << 20 | 300);
        assert_ne!(u64::from(device_number(rustix::fs::makedev(8, 1))), rustix::fs::makedev(8, 1));
    }

    #[test]
    fn a_number_of_sysfs_is_read_or_refused() {
        assert_eq!(parse("7:3\n"), Some(7 << 20 | 3));
        assert_eq!(parse("4095:1048575"), Some(u32::MAX));
        for bad in ["", "7", "7:", ":3", "7:3:1", "4096:0", "0:1048576", "-1:2", "sda"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn every_number_survives(major in 0u32..4096, minor in 0u32..1 << 20) {
            prop_assert_eq!(parse(&format!("{major}:{minor}")), Some(major << 20 | minor));
            let device = device_number(rustix::fs::makedev(major, minor));
            prop_assert_eq!(device, major << 20 | minor);
        }
    }
}
