//! A mount that nobody else sees and that ends with its descriptor: `fsopen`,
//! `fsmount`, and no `move_mount`. The tree is attached to no directory; files are
//! opened relative to the descriptor. Closing it unmounts, and so does the end of
//! the process, however it comes: nothing can be left.

use super::failed;
use model::seam::SubjectError;
use model::units::show_size;
use rustix::fd::AsFd;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsconfig_set_flag,
    fsconfig_set_string, fsmount, fsopen,
};
use std::os::fd::OwnedFd;
use std::path::Path;

/// Mounts a device detached; the descriptor is the root directory.
/// Errors: the kernel's refusal, in its own words where it has any.
pub(crate) fn mount_detached(
    kernel_name: &str,
    device: &Path,
    block_bytes: u64,
    options: &[String],
) -> Result<OwnedFd, SubjectError> {
    let context =
        fsopen(kernel_name, FsOpenFlags::FSOPEN_CLOEXEC).map_err(|errno| match errno {
            rustix::io::Errno::NODEV => {
                SubjectError::Unavailable(format!("this kernel has no {kernel_name}"))
            }
            rustix::io::Errno::PERM => {
                SubjectError::Unavailable("mounting needs root (CAP_SYS_ADMIN)".into())
            }
            errno => failed("open a file system context")(errno),
        })?;
    let refused = |what: &str, errno: rustix::io::Errno| {
        let words = kernels_words(&context).unwrap_or_else(|| errno.to_string());
        SubjectError::Unavailable(format!("the kernel refuses {what}: {words}"))
    };
    for option in options {
        set_option(&context, option)
            .map_err(|errno| refused(&format!("the mount option {option}"), errno))?;
    }
    fsconfig_set_string(context.as_fd(), "source", device)
        .and_then(|()| fsconfig_create(context.as_fd()))
        .map_err(|errno| {
            refused(&format!("to mount {kernel_name} with block={}", show_size(block_bytes)), errno)
        })?;
    fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())
        .map_err(failed("mount"))
}

/// Sets an option of a mount that is being made or changed: a flag, or a key with its value.
pub(crate) fn set_option(context: &OwnedFd, option: &str) -> rustix::io::Result<()> {
    match option.split_once('=') {
        Some((key, value)) => fsconfig_set_string(context.as_fd(), key, value),
        None => fsconfig_set_flag(context.as_fd(), option),
    }
}

/// What the kernel says of a refusal: its messages, errors first.
pub(crate) fn kernels_words(context: &OwnedFd) -> Option<String> {
    let mut words = Vec::new();
    let mut buffer = [0u8; 1024];
    while let Ok(length) = rustix::io::read(context, &mut buffer) {
        if length == 0 {
            break;
        }
        let text = String::from_utf8_lossy(&buffer[..length]);
        let (level, message) = text.split_once(' ').unwrap_or(("e", &text));
        words.push((level != "e", message.trim().to_owned()));
    }
    words.sort();
    words.into_iter().map(|(_, message)| message).next()
}
