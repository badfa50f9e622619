//! A block device opened by its number alone. Its node in `/dev` may be missing, replaced or of
//! another name, as in a container, so where it is not the device's a node of our own is made: in
//! a tmpfs that is attached to no directory and goes with its descriptor.

use super::{DeviceNumber, Tree};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

impl Tree {
    /// Opens `device` itself, by whatever node.
    /// Errors: the kernel's refusal: busy where it is claimed and `flags` claim it, gone, or no
    /// right to it.
    pub fn open_device(&self, device: DeviceNumber, flags: OFlags) -> rustix::io::Result<OwnedFd> {
        let node = self.name(device).map(|name| self.path("dev").join(name));
        match node.map(|node| open_if(&node, device, flags)) {
            Ok(Some(opened)) => opened,
            Ok(None) => open_private(device, flags),
            Err(_) => Err(Errno::NODEV),
        }
    }
}

/// Whether an open file is this block device.
pub(crate) fn is_device(file: impl AsFd, device: DeviceNumber) -> rustix::io::Result<bool> {
    rustix::fs::fstat(file).map(|stat| is_its_node(&stat, device))
}

fn is_its_node(stat: &rustix::fs::Stat, device: DeviceNumber) -> bool {
    FileType::from_raw_mode(stat.st_mode).is_block_device()
        && DeviceNumber::from_dev(stat.st_rdev) == device
}

/// Opens a node that is of this device before and after; none where it is not.
fn open_if(
    node: &Path,
    device: DeviceNumber,
    flags: OFlags,
) -> Option<rustix::io::Result<OwnedFd>> {
    let stat = rustix::fs::stat(node).ok()?;
    if !is_its_node(&stat, device) {
        return None;
    }
    match rustix::fs::open(node, flags | OFlags::CLOEXEC, Mode::empty()) {
        Err(Errno::NOENT) => None,
        Err(errno) => Some(Err(errno)),
        Ok(opened) => is_device(&opened, device).ok()?.then_some(Ok(opened)),
    }
}

fn open_private(device: DeviceNumber, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let context = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(context.as_fd())?;
    let folder = fsmount(
        context.as_fd(),
        FsMountFlags::FSMOUNT_CLOEXEC,
        MountAttrFlags::MOUNT_ATTR_NOEXEC | MountAttrFlags::MOUNT_ATTR_NOSUID,
    )?;
    let mode = Mode::RUSR | Mode::WUSR;
    rustix::fs::mknodat(&folder, "node", FileType::BlockDevice, mode, device.to_dev())?;
    rustix::fs::openat(&folder, "node", flags | OFlags::CLOEXEC, Mode::empty())
}
