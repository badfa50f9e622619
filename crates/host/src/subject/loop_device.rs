//! A loop device over an open file: direct, so that its counters mean the disk
//! beneath and nothing is cached twice; autoclear, so that it ends with its last user.
//!
//! Source: include/uapi/linux/loop.h.

use super::failed;
use crate::device::loop_info::LoopInfo;
use crate::engine::last_errno;
use model::seam::SubjectError;
use rustix::fs::{FileType, Mode, OFlags};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

const LOOP_CTL_ADD: libc::Ioctl = 0x4C80;
const LOOP_CTL_REMOVE: libc::Ioctl = 0x4C81;
const LOOP_CTL_GET_FREE: libc::Ioctl = 0x4C82;
const LOOP_CONFIGURE: libc::Ioctl = 0x4C0A;
const LO_FLAGS_AUTOCLEAR: u32 = 4;
const LO_FLAGS_DIRECT_IO: u32 = 16;
/// So many loop devices are looked through for a number that is free.
const NUMBERS: libc::c_int = 1024;
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
#[derive(Debug)]
pub(crate) struct LoopDevice {
    pub(crate) path: PathBuf,
    open: OwnedFd,
}

impl LoopDevice {
    /// Attaches an open file, and verifies that the kernel took it as direct and autoclear.
    /// Errors: no right to loop devices, none free, or a file system beneath that knows no direct
    /// I/O.
    pub(crate) fn attach(file: BorrowedFd<'_>) -> Result<Self, SubjectError> {
        let control = control()?;
        for _ in 0..TRIES {
            // SAFETY: LOOP_CTL_GET_FREE takes no argument and returns a number or -1.
            let number = unsafe { libc::ioctl(control.as_raw_fd(), LOOP_CTL_GET_FREE) };
            if number < 0 {
                return Err(failed("find a free loop device")(last_errno()));
            }
            if let Some(device) = Self::attach_to(number, file, 0)? {
                return Ok(device);
            }
        }
        let sentence = "failed to get a free loop device: other programs took each one first; try \
                        again";
        Err(SubjectError::Failed(sentence.into()))
    }

    /// The same on a new device, with a logical block of so many bytes, so that nobody else's
    /// settings are on it; [`remove`] is for when it is over.
    /// Errors: as [`Self::attach`].
    pub(crate) fn attach_new(file: BorrowedFd<'_>, block_bytes: u32) -> Result<Self, SubjectError> {
        let control = control()?;
        let number = add(&control).map_err(failed("make a loop device"))?;
        match Self::attach_to(number, file, block_bytes) {
            Ok(Some(device)) => Ok(device),
            refused => {
                let _ = remove(&PathBuf::from(format!("/dev/loop{number}")));
                let busy = "failed to attach the file: another program took the loop device; try \
                            again";
                Err(refused.err().unwrap_or_else(|| SubjectError::Failed(busy.into())))
            }
        }
    }

    /// None where another program was faster.
    fn attach_to(
        number: libc::c_int,
        file: BorrowedFd<'_>,
        block_bytes: u32,
    ) -> Result<Option<Self>, SubjectError> {
        let path = PathBuf::from(format!("/dev/loop{number}"));
        let open = rustix::fs::open(&path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
            .map_err(failed(format!("open {}", path.display())))?;
        check_node(&path, &open)?;
        match configure(&open, file, block_bytes) {
            // To be kept it need not be open for writing, which looks like somebody who writes.
            Ok(()) => {
                let open = rustix::fs::open(&path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
                    .map_err(failed(format!("open {}", path.display())))?;
                Self { path, open }.verified().map(Some)
            }
            Err(rustix::io::Errno::BUSY) => Ok(None),
            Err(errno) => Err(failed("attach the image to a loop device")(errno)),
        }
    }

    /// Direct I/O is a wish that the kernel may silently not grant: ask what it did.
    fn verified(self) -> Result<Self, SubjectError> {
        let info = LoopInfo::of(&self.open).map_err(failed("read the loop device's status"))?;
        if info.flags & LO_FLAGS_DIRECT_IO == 0 {
            return Err(SubjectError::Unavailable(
                "the file system of the image does not support direct I/O on the loop device, so \
                 the page cache would be measured instead of the disk; give another directory with \
                 at="
                .into(),
            ));
        }
        if info.flags & LO_FLAGS_AUTOCLEAR == 0 {
            return Err(SubjectError::Failed("the loop device does not clear itself".into()));
        }
        Ok(self)
    }
}

/// A program that writes to a device that is gone makes a file of its name, and the kernel makes no
/// node where one is.
/// Errors: something else has the device's name.
fn check_node(path: &Path, open: &OwnedFd) -> Result<(), SubjectError> {
    let stat = rustix::fs::fstat(open).map_err(failed(format!("look at {}", path.display())))?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::BlockDevice => Ok(()),
        _ => Err(SubjectError::Unavailable(format!(
            "{} is not a block device: a program created a file with the name of a loop device; \
             remove it",
            path.display()
        ))),
    }
}

/// Removes a loop device that nobody uses any more, with all its settings. One that is gone is
/// fine.
/// Errors: one that is still in use; no right to.
pub(crate) fn remove(path: &Path) -> Result<(), SubjectError> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let number = name.strip_prefix("loop").and_then(|number| number.parse::<libc::c_int>().ok());
    let Some(number) = number else {
        let sentence = format!("{} is not a loop device", path.display());
        return Err(SubjectError::Unavailable(sentence));
    };
    let control = control()?;
    // SAFETY: LOOP_CTL_REMOVE takes a number.
    match unsafe { libc::ioctl(control.as_raw_fd(), LOOP_CTL_REMOVE, number) } {
        0.. => Ok(()),
        _ => match last_errno() {
            rustix::io::Errno::NODEV => Ok(()),
            errno => Err(failed(format!("remove {}", path.display()))(errno)),
        },
    }
}

/// In a request for a new device: of whatever number.
const ANY: libc::c_int = -1;

/// Makes a loop device that was not there, and gives its number. Before Linux 5.14 a request for
/// any is refused with EEXIST where there is a free one (drivers/block/loop.c,
/// `loop_control_ioctl`, `loop_lookup`): then each number is tried.
fn add(control: &OwnedFd) -> rustix::io::Result<libc::c_int> {
    let mut refused = rustix::io::Errno::EXIST;
    for number in std::iter::once(ANY).chain(0..NUMBERS) {
        // SAFETY: LOOP_CTL_ADD takes a number and returns that of the new device, or -1.
        let made =
            unsafe { libc::ioctl(control.as_raw_fd(), LOOP_CTL_ADD, libc::c_long::from(number)) };
        if made >= 0 {
            return Ok(made);
        }
        refused = last_errno();
        if refused != rustix::io::Errno::EXIST {
            break;
        }
    }
    Err(refused)
}

fn control() -> Result<OwnedFd, SubjectError> {
    rustix::fs::open("/dev/loop-control", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).map_err(
        |errno| {
            SubjectError::Unavailable(format!(
                "needs root and loop devices (/dev/loop-control: {errno})"
            ))
        },
    )
}

fn configure(device: &OwnedFd, file: BorrowedFd<'_>, block_size: u32) -> rustix::io::Result<()> {
    let info = LoopInfo::with_flags(LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO);
    // Only modelled devices have blocks of a size of their own.
    let info = if block_size == 0 { info } else { info.served() };
    let config =
        LoopConfig { fd: file.as_raw_fd().unsigned_abs(), block_size, info, reserved: [0; 8] };
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
    fn a_file_of_a_device_s_name_is_told() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let open = OwnedFd::from(file.reopen().unwrap());
        let refused = check_node(file.path(), &open).unwrap_err().to_string();
        assert!(refused.contains("is not a block device") && refused.ends_with("remove it"));
    }

    #[test]
    fn the_structure_has_the_kernels_size() {
        assert_eq!(size_of::<LoopConfig>(), 304);
    }
}
