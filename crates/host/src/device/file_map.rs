//! Where a file lies on its device, as the file system tells: `FS_IOC_FIEMAP`
//! (include/uapi/linux/fiemap.h; ext4, xfs, btrfs and others).
//!
//! Non-goals: file systems over several devices, whose places are logical (btrfs): nobody tells
//! them apart here.

use rustix::fs::{Mode, OFlags};
use std::os::fd::AsRawFd;
use std::path::Path;

/// `_IOWR('f', 11, struct fiemap)`.
const FS_IOC_FIEMAP: libc::Ioctl = 0xc020_660b_u32 as libc::Ioctl;
/// What is only in memory is written before.
const FIEMAP_FLAG_SYNC: u32 = 1;
/// No extent follows.
const FIEMAP_EXTENT_LAST: u32 = 1;
/// The place is unknown, or is none of the device: unknown, not yet allocated, encoded, inline.
const NO_PLACE: u32 = 2 | 4 | 8 | 0x200;
/// Extents requested at once, and told at the most.
const EXTENTS: usize = 256;
const MOST: usize = 1 << 16;

/// Bytes of a file, and where they are on its device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileExtent {
    /// The first of them in the file.
    pub logical_bytes: u64,
    /// The first of them on the device.
    pub physical_bytes: u64,
    /// How many.
    pub length_bytes: u64,
}

/// `struct fiemap_extent`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Record {
    logical: u64,
    physical: u64,
    length: u64,
    reserved: [u64; 2],
    flags: u32,
    reserved_end: [u32; 3],
}

/// `struct fiemap` with its extents behind it.
#[repr(C)]
struct Request {
    start: u64,
    length: u64,
    flags: u32,
    mapped: u32,
    count: u32,
    reserved: u32,
    records: [Record; EXTENTS],
}

/// The extents of a file, in order. None where the file system does not tell, where a part has no
/// place on the device, or where there are too many.
pub fn file_map(path: &Path) -> Option<Vec<FileExtent>> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::empty()).ok()?;
    let mut request = Box::new(Request {
        start: 0,
        length: u64::MAX,
        flags: FIEMAP_FLAG_SYNC,
        mapped: 0,
        count: EXTENTS as u32,
        reserved: 0,
        records: [Record::default(); EXTENTS],
    });
    let mut extents: Vec<FileExtent> = Vec::new();
    loop {
        // SAFETY: the kernel reads one `struct fiemap`, whose layout Request begins with, and
        // writes at most `count` extents behind it, for which there is room; the box lives until
        // the call returns.
        if unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_FIEMAP, &raw mut *request) } < 0 {
            return None;
        }
        let told = request.records.get(..request.mapped as usize)?;
        let Some(last) = told.last().copied() else { return Some(extents) };
        for record in told {
            if record.flags & NO_PLACE != 0 {
                return None;
            }
            push(&mut extents, record);
        }
        if last.flags & FIEMAP_EXTENT_LAST != 0 {
            return Some(extents);
        }
        if extents.len() > MOST {
            return None;
        }
        request.start = last.logical.saturating_add(last.length);
        request.length = u64::MAX - request.start;
    }
}

/// Neighbours in the file and on the device are one extent.
fn push(extents: &mut Vec<FileExtent>, record: &Record) {
    let extent = FileExtent {
        logical_bytes: record.logical,
        physical_bytes: record.physical,
        length_bytes: record.length,
    };
    if let Some(last) = extents.last_mut()
        && last.logical_bytes + last.length_bytes == extent.logical_bytes
        && last.physical_bytes + last.length_bytes == extent.physical_bytes
    {
        last.length_bytes += extent.length_bytes;
        return;
    }
    extents.push(extent);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_on_the_device_are_one_extent() {
        let record =
            |logical, physical, length| Record { logical, physical, length, ..Record::default() };
        let mut extents = Vec::new();
        for of in [record(0, 100, 10), record(10, 110, 5), record(15, 50, 5), record(30, 55, 5)] {
            push(&mut extents, &of);
        }
        let found: Vec<_> =
            extents.iter().map(|e| (e.logical_bytes, e.physical_bytes, e.length_bytes)).collect();
        // The last one lies behind the one before it, with a hole in the file between.
        assert_eq!(found, [(0, 100, 15), (15, 50, 5), (30, 55, 5)]);
    }

    #[test]
    fn a_file_that_is_none_or_is_on_no_device_has_no_map() {
        assert_eq!(file_map(Path::new("/nonexistent/file")), None);
        assert_eq!(file_map(Path::new("/proc/self/status")), None);
    }
}
