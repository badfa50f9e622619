//! What this machine says about its block devices: names, sizes, partitions,
//! what lies on what, what is mounted, what is swap. Everything is read from
//! sysfs and procfs under a root that can be another directory, so that dm, md,
//! multipath and LVM are tested on machines that have none.
//!
//! Non-goals: deciding what may be written (that is [`crate::guard`]), talking
//! to devices, caching: each call reads what is true now.

mod file_map;
#[cfg(test)]
pub(crate) mod fixture;
mod given_name;
mod identity;
mod kernel_threads;
pub(crate) mod loop_info;
mod loops;
pub(crate) mod lvm;
mod mounts;
pub(crate) mod node;
mod space_map;
mod stat;
mod swaps;
mod tree;
mod writers;

pub use file_map::{FileExtent, file_map};
pub use kernel_threads::NamesInThreads;
pub use loops::{BackingFile, FileIdentity, Loop};
pub use mounts::{Mount, MountTable};
pub use space_map::space_map;
pub use stat::BlockStat;
pub use swaps::{Swap, SwapKind};
pub use tree::{PathFacts, Tree};

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The kernel's number of a device, in its two parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceNumber {
    /// The driver; 0 is an anonymous device: no block device at all.
    pub major: u32,
    /// The device of that driver.
    pub minor: u32,
}

impl DeviceNumber {
    /// From its parts.
    pub const fn new(major: u32, minor: u32) -> Self {
        Self { major, minor }
    }

    /// From the `st_dev` or `st_rdev` of a stat.
    pub fn from_dev(dev: rustix::fs::Dev) -> Self {
        Self::new(rustix::fs::major(dev), rustix::fs::minor(dev))
    }

    /// As the `dev_t` of this process's system calls.
    pub fn to_dev(self) -> rustix::fs::Dev {
        rustix::fs::makedev(self.major, self.minor)
    }

    /// Whether it numbers a mount rather than a device: tmpfs, overlay, btrfs.
    pub fn is_anonymous(self) -> bool {
        self.major == 0
    }
}

impl fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

/// Not "major:minor".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not a device number such as 8:1")]
pub struct NotADeviceNumber(String);

impl FromStr for DeviceNumber {
    type Err = NotADeviceNumber;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parse = || {
            let (major, minor) = text.split_once(':')?;
            Some(Self::new(major.parse().ok()?, minor.parse().ok()?))
        };
        parse().ok_or_else(|| NotADeviceNumber(text.to_owned()))
    }
}

/// Why a fact could not be had. Completes "failed to …".
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what each is")]
pub enum DeviceError {
    #[error("{action} {path}: {source}")]
    Io { action: &'static str, path: PathBuf, source: std::io::Error },
    #[error("find block device {0} in sysfs")]
    Unknown(DeviceNumber),
    #[error("find the backing file of {name}: {source}")]
    LoopFile { name: String, source: std::io::Error },
    #[error("parse {path}: {problem}")]
    Malformed { path: PathBuf, problem: String },
}

fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> DeviceError {
    let path = path.to_owned();
    move |source| DeviceError::Io { action, path, source }
}

fn malformed(path: &Path, problem: impl fmt::Display) -> DeviceError {
    DeviceError::Malformed { path: path.to_owned(), problem: problem.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_survives_text_and_dev_t() {
        let number = DeviceNumber::new(259, 1 << 19);
        assert_eq!(number.to_string().parse(), Ok(number));
        assert_eq!(DeviceNumber::from_dev(number.to_dev()), number);
        assert!("8".parse::<DeviceNumber>().is_err());
        assert!("8:x".parse::<DeviceNumber>().is_err());
    }
}
