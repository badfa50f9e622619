//! A loop device over an open file: direct, so that its counters mean the disk
//! beneath and nothing is cached twice; autoclear, so that it ends with its last user.
//!
//! Source: include/uapi/linux/loop.h.

use super::failed;
use crate::device::loop_info::LoopInfo;
use model::seam::SubjectError;
use rustix::fs::{Mode, OFlags};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

const LOOP_CTL_GET_FREE: libc::c_ulong = 0x4C82;
const LOOP_CONFIGURE: libc::c_ulong = 0x4C0A;
const LO_FLAGS_AUTOCLEAR: u32 = 4;
const LO_FLAGS_DIRECT_IO: u32 = 16;
/// Another program may take the free device between asking and configuring.
const TRIES: u32 = 64;

/// `struct loop_config`.
#[repr(C)]
struct LoopConfig {
    fd: u32,
    block_size: u32,
    info: LoopInfo,
    reserved: [u64; 8],
}

/// A loop device of our own; it ends when this and its mounts are gone.
pub(crate) struct LoopDevice {
    pub(crate) path: PathBuf,
    open: OwnedFd,
}

impl LoopDevice {
    /// Attaches an open file, and verifies that the kernel took it as direct and autoclear.
    /// Errors: no right to loop devices, none free, or a file system beneath that knows no direct
    /// I/O.
    pub(crate) fn attach(file: BorrowedFd<'_>) -> Result<Self, SubjectError> {
        let control =
            rustix::fs::open("/dev/loop-control", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
                .map_err(|errno| {
                    SubjectError::Unavailable(format!(
                        "fresh: needs root and loop devices (/dev/loop-control: {errno})"
                    ))
                })?;
        for _ in 0..TRIES {
            // SAFETY: LOOP_CTL_GET_FREE takes no argument and returns a number or -1.
            let number = unsafe { libc::ioctl(control.as_raw_fd(), LOOP_CTL_GET_FREE) };
            if number < 0 {
                return Err(failed("find a free loop device")(last_errno()));
            }
            let path = PathBuf::from(format!("/dev/loop{number}"));
            let open = rustix::fs::open(&path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
                .map_err(failed(format!("open {}", path.display())))?;
            match configure(&open, file) {
                Ok(()) => return Self { path, open }.verified(),
                Err(rustix::io::Errno::BUSY) => {}
                Err(errno) => return Err(failed("attach the image to a loop device")(errno)),
            }
        }
        Err(SubjectError::Failed("failed to get a loop device: others were always faster".into()))
    }

    /// Direct I/O is a wish that the kernel may silently not grant: ask what it did.
    fn verified(self) -> Result<Self, SubjectError> {
        let info = LoopInfo::of(&self.open).map_err(failed("read the loop device's status"))?;
        if info.flags & LO_FLAGS_DIRECT_IO == 0 {
            return Err(SubjectError::Unavailable(
                "the file system beneath the image grants the loop device no direct I/O, so that \
                 the page \
                 cache would stand in for the disk; give another directory with at="
                    .into(),
            ));
        }
        if info.flags & LO_FLAGS_AUTOCLEAR == 0 {
            return Err(SubjectError::Failed("the loop device does not clear itself".into()));
        }
        Ok(self)
    }
}

fn last_errno() -> rustix::io::Errno {
    rustix::io::Errno::from_io_error(&std::io::Error::last_os_error())
        .unwrap_or(rustix::io::Errno::IO)
}

fn configure(device: &OwnedFd, file: BorrowedFd<'_>) -> rustix::io::Result<()> {
    let config = LoopConfig {
        fd: file.as_raw_fd().unsigned_abs(),
        block_size: 0,
        info: LoopInfo::with_flags(LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO),
        reserved: [0; 8],
    };
    // SAFETY: LOOP_CONFIGURE reads one `struct loop_config`, whose layout LoopConfig has.
    match unsafe { libc::ioctl(device.as_raw_fd(), LOOP_CONFIGURE, &raw const config) } {
        0 => Ok(()),
        _ => Err(last_errno()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_structure_has_the_kernels_size() {
        assert_eq!(size_of::<LoopConfig>(), 304);
    }
}
