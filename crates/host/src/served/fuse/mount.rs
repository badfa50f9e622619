//! The mount of the one file that is the disk: attached to no directory, so that it ends with the
//! process.

use crate::subject::failed;
use model::seam::SubjectError;
use rustix::fs::{Mode, OFlags, open, openat};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsconfig_set_string, fsmount,
    fsopen,
};
use rustix::process::{getgid, getuid};
use std::os::fd::{AsRawFd as _, OwnedFd};

/// The name of the file in the mount.
pub(super) const NAME: &str = "disk";

/// The connection to the kernel, and the mount that it serves.
/// Errors: a kernel without FUSE; no right to mount.
pub(super) fn mount_detached() -> Result<(OwnedFd, OwnedFd), SubjectError> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    let fuse = open("/dev/fuse", flags, Mode::empty()).map_err(|errno| {
        SubjectError::Unavailable(format!(
            "a modelled device needs FUSE (/dev/fuse: {errno}); load the module fuse as root"
        ))
    })?;
    let context = fsopen("fuse", FsOpenFlags::FSOPEN_CLOEXEC).map_err(|errno| match errno {
        Errno::PERM => SubjectError::Unavailable(
            "a modelled device needs root, because it mounts a file system; run as root".into(),
        ),
        errno => failed("open a FUSE context")(errno),
    })?;
    let options = [
        ("source", "lbolt".to_owned()),
        ("fd", fuse.as_raw_fd().to_string()),
        ("rootmode", "40755".to_owned()),
        ("user_id", getuid().as_raw().to_string()),
        ("group_id", getgid().as_raw().to_string()),
    ];
    for (key, value) in &options {
        fsconfig_set_string(&context, *key, value.as_str()).map_err(failed("set up FUSE"))?;
    }
    fsconfig_create(&context).map_err(failed("make a FUSE mount"))?;
    let mount = fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())
        .map_err(failed("mount FUSE"))?;
    Ok((fuse, mount))
}

/// Opens the disk's file.
/// Errors: FUSE's own.
pub(super) fn open_disk(mount: &OwnedFd) -> Result<OwnedFd, SubjectError> {
    let flags = OFlags::RDWR | OFlags::DIRECT | OFlags::CLOEXEC;
    openat(mount, NAME, flags, Mode::empty()).map_err(failed("open the modelled disk's file"))
}
