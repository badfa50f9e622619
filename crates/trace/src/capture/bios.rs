//! Disks whose bios never become requests (device mapper, md, zram), and whether there are any:
//! what is told of the ends of bios costs every bio of the machine, and tells something of these
//! alone.
//!
//! Source: block/blk-mq-sysfs.c: a disk with requests has a directory `mq`.
//!
//! Non-goals: which of them are looked at (`filter`).

use super::programs::ENDS_OF_BIOS;
use super::raw::{self, kind};
use crate::bpf::{Hook, LoadError, Loaded};
use std::path::Path;

const DISKS: &str = "/sys/block";

/// The programs at the ends of bios, and whether they are attached.
#[derive(Debug, Default)]
pub(super) struct EndsOfBios {
    are_attached: bool,
    are_wanted: bool,
}

impl EndsOfBios {
    /// As programs were attached at the begin of a capture. Those that are not are loaded now:
    /// later the kernel would not find their maps.
    /// Errors: a kernel that refuses.
    pub(super) fn of(attached: &[Hook], loaded: &mut Loaded) -> Result<Self, LoadError> {
        let is_one = |hook: &Hook| hook.program == ENDS_OF_BIOS.program;
        let are_attached = attached.iter().any(is_one);
        if !are_attached {
            loaded.verify(&ENDS_OF_BIOS)?;
            loaded.verify_again(&ENDS_OF_BIOS)?;
        }
        Ok(Self { are_attached, are_wanted: are_attached })
    }

    /// Sees a record.
    #[inline]
    pub(super) fn see(&mut self, record: &[u8]) {
        self.are_wanted |= raw::kind_of(record) == Some(kind::WHOLE_START);
    }

    /// Attaches them if a disk has come meanwhile that needs them. What it completed until now has
    /// no end in the trace, and is counted.
    /// Errors: a kernel that refuses.
    pub(super) fn attach(&mut self, loaded: &mut Loaded) -> Result<Option<Hook>, LoadError> {
        if self.are_attached || !self.are_wanted {
            return Ok(None);
        }
        loaded.attach(&ENDS_OF_BIOS)?;
        loaded.attach_again(&ENDS_OF_BIOS)?;
        self.are_attached = true;
        Ok(Some(ENDS_OF_BIOS))
    }

    /// Removes those that were loaded for nothing.
    /// Errors: a kernel that refuses.
    pub(super) fn remove_unused(&mut self, loaded: &mut Loaded) -> Result<(), LoadError> {
        if self.are_attached {
            return Ok(());
        }
        loaded.remove_again(&ENDS_OF_BIOS)?;
        loaded.remove(&ENDS_OF_BIOS)
    }
}

/// Whether there is such a disk; where that cannot be seen, there may be.
pub(super) fn are_alone_anywhere() -> bool {
    are_alone_in(Path::new(DISKS))
}

fn are_alone_in(disks: &Path) -> bool {
    let Ok(disks) = disks.read_dir() else { return true };
    let has_size = |disk: &Path| {
        let sectors = std::fs::read_to_string(disk.join("size"));
        sectors.ok().and_then(|text| text.trim().parse().ok()) != Some(0_u64)
    };
    let disks = disks.filter_map(Result::ok).map(|disk| disk.path());
    disks.filter(|disk| has_size(disk)).any(|disk| !disk.join("mq").exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_without_requests_has_no_queues_of_them() {
        let disks = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        assert!(!are_alone_in(disks.path()));
        std::fs::create_dir_all(disks.path().join("sda/mq")).unwrap();
        assert!(!are_alone_in(disks.path()));
        let upper = disks.path().join("dm-0");
        std::fs::create_dir(&upper).unwrap();
        std::fs::write(upper.join("size"), "0\n").unwrap();
        assert!(!are_alone_in(disks.path()), "nothing is written to what has no size");
        std::fs::write(upper.join("size"), "8\n").unwrap();
        assert!(are_alone_in(disks.path()));
        assert!(are_alone_in(&disks.path().join("none")));
    }
}
