//! What lies where on the devices that are captured: partitions as the kernel knows them, and what
//! their file systems tell of themselves.

use super::devices::{Devices, kernel_number};
use host::device::{DeviceNumber, Mount, MountTable, Tree, space_map};
use model::record::requests::{Area, Provenance};
use std::path::PathBuf;

/// Notes the areas of all devices that are captured with the trace.
pub(crate) fn note(provenance: &mut Provenance, devices: &Devices) {
    let tree = Tree::system();
    let mounts = tree.mount_table().unwrap_or_default();
    for device in devices.captured().filter(|d| tree.is_partition(*d).is_ok_and(|is_one| !is_one)) {
        let partitions = partitions(&tree, device);
        let number = kernel_number(device);
        let named: Vec<Area> = partitions
            .iter()
            .map(|(_, start, length, name)| Area {
                bytes: *start..start + length,
                name: name.clone(),
            })
            .collect();
        provenance.note_areas("partition", number, &named);
        let parts = partitions.iter().map(|(part, start, _, _)| (*part, *start));
        let structures: Vec<Area> = std::iter::once((device, 0))
            .chain(parts)
            .flat_map(|(part, start)| structures(&mounts, part, start))
            .collect();
        provenance.note_areas("structure", number, &structures);
    }
}

/// The partitions of a disk: each one's number, first byte, length and name.
fn partitions(tree: &Tree, disk: DeviceNumber) -> Vec<(DeviceNumber, u64, u64, String)> {
    let known = tree.partitions(disk).unwrap_or_default();
    let found = known.into_iter().filter_map(|part| {
        let (start, length) = (tree.start_bytes(part).ok()?, tree.size_bytes(part).ok()?);
        Some((part, start, length, tree.name(part).ok()?))
    });
    found.collect()
}

/// The path by which we reach a mount, also one in another namespace.
fn path(mount: &Mount) -> PathBuf {
    let below = mount.mount_point.strip_prefix("/").unwrap_or(&mount.mount_point);
    match mount.pid_seen_in {
        Some(pid) => PathBuf::from(format!("/proc/{pid}/root")).join(below),
        None => mount.mount_point.clone(),
    }
}

/// What a file system tells of its own, in bytes of the disk.
fn structures(mounts: &MountTable, device: DeviceNumber, start: u64) -> Vec<Area> {
    let known = mounts.on(device).and_then(|mount| space_map(&path(mount))).unwrap_or_default();
    let area = |(bytes, name): (std::ops::Range<u64>, &str)| Area {
        bytes: start + bytes.start..start + bytes.end,
        name: name.to_owned(),
    };
    known.into_iter().map(area).collect()
}
