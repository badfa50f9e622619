//! What lies where on a device: where a partition begins, and what a file system keeps where, as it
//! tells itself: `FS_IOC_GETFSMAP` (include/uapi/linux/fsmap.h; ext4 since 4.14, xfs since 4.12).
//! Owners that are files are not distinguished.
//!
//! Non-goals: btrfs (it has no such call, and its places are logical); the extents of a file
//! (`file_map`).

use super::stat::SECTOR_BYTES;
use super::tree::read_parsed;
use super::{DeviceError, DeviceNumber, Tree};
use rustix::fs::{Mode, OFlags};
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::path::Path;

/// `_IOWR('X', 59, struct fsmap_head)`.
const FS_IOC_GETFSMAP: libc::Ioctl = 0xc0c0_583b_u32 as libc::Ioctl;
/// The owner is a code of [`OWNERS`].
const FMR_OF_SPECIAL_OWNER: u32 = 0x10;
/// No record follows.
const FMR_OF_LAST: u32 = 0x20;
/// Records requested at once, and extents that are told at the most: a map of more is none that a
/// report could use.
const RECORDS: usize = 1024;
const MOST: usize = 8192;

/// Owners by type and code (`FMR_OWNER`): those of all file systems, of xfs and ext4, and of ext4.
const OWNERS: [(u8, u32, &str); 15] = [
    (0, 3, "metadata"),
    (b'X', 1, "superblocks"),
    (b'X', 2, "journal"),
    (b'X', 3, "allocation group headers"),
    (b'X', 4, "inode index"),
    (b'X', 5, "inodes"),
    (b'X', 6, "reference counts"),
    (b'X', 7, "copy on write"),
    (b'X', 8, "defective"),
    (b'f', 1, "group descriptors"),
    (b'f', 2, "group descriptors"),
    (b'f', 3, "block bitmaps"),
    (b'f', 4, "inode bitmaps"),
    (0, 1, "data"),
    (0, 2, "data"),
];

/// `struct fsmap`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Record {
    device: u32,
    flags: u32,
    physical: u64,
    owner: u64,
    offset: u64,
    length: u64,
    reserved: [u64; 3],
}

/// `struct fsmap_head` with its records behind it.
#[repr(C)]
struct Request {
    flags_in: u32,
    flags_out: u32,
    count: u32,
    entries: u32,
    reserved: [u64; 6],
    keys: [Record; 2],
    records: [Record; RECORDS],
}

impl Tree {
    /// Where a partition begins on its disk, in bytes.
    /// Errors: no such device, or one that is no partition.
    pub fn start_bytes(&self, device: DeviceNumber) -> Result<u64, DeviceError> {
        let sectors: u64 = read_parsed(&self.folder(device)?.join("start"))?;
        Ok(sectors.saturating_mul(SECTOR_BYTES))
    }
}

/// The extents of a mounted file system that are not files' data, in bytes of its device, in order:
/// neighbours of one kind are one. None where it does not tell, or has too many.
pub fn space_map(mount_point: &Path) -> Option<Vec<(Range<u64>, &'static str)>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::open(mount_point, flags, Mode::empty()).ok()?;
    let last = Record {
        device: u32::MAX,
        flags: u32::MAX,
        physical: u64::MAX,
        owner: u64::MAX,
        ..Record::default()
    };
    let last = Record { offset: u64::MAX, ..last };
    let mut request = Box::new(Request {
        flags_in: 0,
        flags_out: 0,
        count: RECORDS as u32,
        entries: 0,
        reserved: [0; 6],
        keys: [Record::default(), last],
        records: [Record::default(); RECORDS],
    });
    let mut extents: Vec<(Range<u64>, &'static str)> = Vec::new();
    loop {
        // SAFETY: the kernel reads one `struct fsmap_head`, whose layout Request begins with, and
        // writes at most `count` records behind it, for which there is room; the box lives until
        // the call returns.
        if unsafe { libc::ioctl(root.as_raw_fd(), FS_IOC_GETFSMAP, &raw mut *request) } < 0 {
            return None;
        }
        let told = request.records.get(..request.entries as usize)?;
        told.iter().for_each(|record| push(&mut extents, record));
        let end = told.last().copied().filter(|record| record.flags & FMR_OF_LAST == 0);
        let Some(end) = end else { break };
        if extents.len() > MOST {
            return None;
        }
        // The next call goes on behind the last record.
        let behind = end.physical.saturating_add(end.length);
        request.keys[0] =
            Record { device: end.device, flags: end.flags, physical: behind, ..Record::default() };
    }
    extents.retain(|(_, name)| *name != "data");
    (extents.len() <= MOST).then_some(extents)
}

fn push(extents: &mut Vec<(Range<u64>, &'static str)>, record: &Record) {
    let (kind, code) = ((record.owner >> 32) as u8, record.owner as u32);
    let is_special = record.flags & FMR_OF_SPECIAL_OWNER != 0;
    let known = OWNERS.iter().find(|(of, number, _)| is_special && (*of, *number) == (kind, code));
    let name = known.map_or("data", |(_, _, name)| *name);
    let end = record.physical.saturating_add(record.length);
    match extents.last_mut() {
        Some((bytes, last)) if *last == name && bytes.end == record.physical => bytes.end = end,
        _ => extents.push((record.physical..end, name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_of_one_kind_are_one_extent() {
        let owner = |kind: u8, code: u64| u64::from(kind) << 32 | code;
        let record = |physical, length, owner| Record {
            flags: FMR_OF_SPECIAL_OWNER,
            physical,
            length,
            owner,
            ..Record::default()
        };
        let mut extents = Vec::new();
        for record in [
            record(0, 4096, owner(b'X', 1)),
            record(4096, 4096, owner(b'X', 5)),
            record(8192, 4096, owner(b'X', 5)),
            Record { flags: 0, ..record(12288, 4096, 77) },
            record(20480, 4096, owner(b'X', 5)),
        ] {
            push(&mut extents, &record);
        }
        let names: Vec<_> =
            extents.iter().map(|(bytes, name)| (bytes.start, bytes.end, *name)).collect();
        assert_eq!(
            names,
            [
                (0, 4096, "superblocks"),
                (4096, 12288, "inodes"),
                (12288, 16384, "data"),
                (20480, 24576, "inodes")
            ]
        );
        assert_eq!(std::mem::size_of::<Record>(), 64);
        assert_eq!(std::mem::offset_of!(Request, records), 192);
    }

    #[test]
    fn a_file_system_that_does_not_tell_has_no_map() {
        assert!(space_map(Path::new("/proc")).is_none());
        assert!(space_map(Path::new("/there/is/nothing")).is_none());
    }
}
