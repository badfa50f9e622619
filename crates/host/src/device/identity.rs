//! Which device it is, apart from its number and its name: what tells that a device went, came
//! back, or is another one by now.
//!
//! Source: Documentation/ABI/stable/sysfs-block (`diskseq`); drivers/nvme/host/sysfs.c and
//! drivers/scsi/scsi_sysfs.c (`wwid`); include/uapi/linux/dm-ioctl.h (version 4).
//!
//! Non-goals: what a table means.

use super::{DeviceNumber, Tree};
use rustix::fs::{Mode, OFlags};
use rustix::ioctl::{Opcode, Updater, ioctl, opcode};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// Where devices tell who they are, the surest first.
const IDENTITIES: [&str; 7] =
    ["wwid", "device/wwid", "serial", "device/serial", "dm/uuid", "md/uuid", "loop/backing_file"];

/// Bytes of a table that are looked at: its beginning.
const TABLE_BYTES: usize = 16 << 10;
const HEAD_BYTES: usize = 312;

/// `struct dm_ioctl` with room for a table behind it.
#[repr(C)]
struct TableStatus {
    version: [u32; 3],
    data_size: u32,
    data_start: u32,
    target_count: u32,
    open_count: i32,
    flags: u32,
    event_nr: u32,
    padding: u32,
    dev: u64,
    name: [u8; 128],
    uuid: [u8; 129],
    data: [u8; 7],
    table: [u8; TABLE_BYTES],
}

/// `_IOWR(DM_IOCTL, DM_TABLE_STATUS_CMD, struct dm_ioctl)`.
const DM_TABLE_STATUS: Opcode = opcode::read_write::<[u8; HEAD_BYTES]>(0xfd, 12);
/// The table rather than its status; and the kernel clears its copy, for there may be keys in it.
const STATUS_TABLE: u32 = 1 << 4;
const SECURE_DATA: u32 = 1 << 15;

impl Tree {
    /// The sequence that a disk got when it appeared; none before Linux 5.15.
    pub fn sequence(&self, device: DeviceNumber) -> Option<u64> {
        super::tree::read_parsed(&self.folder(device).ok()?.join("diskseq")).ok()
    }

    /// What it says of who it is, if it says anything.
    pub fn identity(&self, device: DeviceNumber) -> Option<String> {
        let folder = self.folder(device).ok()?;
        let texts = IDENTITIES.iter().map(|name| self.text(&folder.join(name)).ok().flatten());
        texts.flatten().find(|text| !text.is_empty())
    }

    /// A digest of its device-mapper table, which is another as soon as the table is; none of
    /// other devices, and without the right to ask.
    pub fn table_digest(&self, device: DeviceNumber) -> Option<u64> {
        let name = self.label(device).ok().flatten()?;
        let control = self.path("dev/mapper/control");
        let flags = OFlags::RDWR | OFlags::CLOEXEC;
        let control = rustix::fs::open(control, flags, Mode::empty()).ok()?;
        let mut status = TableStatus {
            version: [4, 0, 0],
            data_size: size_of::<TableStatus>() as u32,
            data_start: HEAD_BYTES as u32,
            target_count: 0,
            open_count: 0,
            flags: STATUS_TABLE | SECURE_DATA,
            event_nr: 0,
            padding: 0,
            dev: 0,
            name: [0; 128],
            uuid: [0; 129],
            data: [0; 7],
            table: [0; TABLE_BYTES],
        };
        status.name.get_mut(..name.len())?.copy_from_slice(name.as_bytes());
        // SAFETY: the request reads and writes one `struct dm_ioctl` and as much behind it as its
        // data_size says, which is this type's size.
        unsafe { ioctl(&control, Updater::<DM_TABLE_STATUS, _>::new(&mut status)) }.ok()?;
        let mut hasher = DefaultHasher::new();
        (status.target_count, status.table).hash(&mut hasher);
        Some(hasher.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::Fixture;
    use super::*;

    #[test]
    fn the_head_has_the_kernels_size() {
        assert_eq!(std::mem::offset_of!(TableStatus, table), HEAD_BYTES);
    }

    #[test]
    fn a_disk_is_known_by_the_surest_that_it_tells() {
        let disk = DeviceNumber::new(259, 1);
        let machine = || Fixture::new().disk("nvme1n1", 259, 1);
        assert_eq!(machine().tree().identity(disk), None);
        let told = machine().attribute("nvme1n1", "device/serial", "S1 \n");
        assert_eq!(told.tree().identity(disk).as_deref(), Some("S1"));
        let told = machine()
            .attribute("nvme1n1", "wwid", "eui.1\n")
            .attribute("nvme1n1", "device/serial", "S1\n")
            .attribute("nvme1n1", "diskseq", "7\n");
        let tree = told.tree();
        assert_eq!((tree.identity(disk).as_deref(), tree.sequence(disk)), (Some("eui.1"), Some(7)));
        assert_eq!(tree.table_digest(disk), None);
    }
}
