//! Where both programs work: one fresh ext4 with blocks of 4 KiB, and a file system in
//! memory for their records. Both are mounted on no directory: children reach them
//! through this process's descriptors, and the end of this process, however it comes, is
//! their end. Nothing can be left.

use anyhow::Context as _;
use host::clock::HostClock;
use host::drive::Control;
use host::subject::{FileSystem, Fresh, FreshPlan};
use model::seam::{Subject as _, SubjectError};
use rustix::fs::{Advice, AtFlags, Mode, OFlags};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsconfig_set_string, fsmount,
    fsopen,
};
use sim::random::Random;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Room for one file of 512 MiB, and the file system's own.
const IMAGE_BYTES: u64 = 1280 << 20;
/// Both programs' layouts are written by requests of this size, hence lie in alike extents
/// and alike folios of the page cache.
const LAYOUT_BLOCK_BYTES: usize = 1 << 20;
/// Room for records; perf's of a capture are the largest.
const RECORDS_BYTES: &str = "5g";

/// A file's name for fio; lbolt's is its own.
const FIO_FILE: &str = "fio-file";

/// The path by which a child reaches an open directory of this process.
fn through(directory: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), directory.as_raw_fd()))
}

/// A file system in memory, mounted nowhere.
pub(super) struct Records {
    root: OwnedFd,
}

impl Records {
    pub(super) fn make() -> anyhow::Result<Self> {
        let mounted = || -> rustix::io::Result<OwnedFd> {
            let context = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
            fsconfig_set_string(context.as_fd(), "size", RECORDS_BYTES)?;
            fsconfig_create(context.as_fd())?;
            fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())
        };
        let root = mounted().context("failed to mount a file system in memory; run as root")?;
        Ok(Self { root })
    }

    /// A child's path to it.
    pub(super) fn path(&self) -> PathBuf {
        through(&self.root)
    }

    /// Removes the records of the turn before.
    pub(super) fn clear(&self) -> anyhow::Result<()> {
        for entry in std::fs::read_dir(self.path())? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                std::fs::remove_dir_all(entry.path())?;
            } else {
                std::fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }
}

/// The fresh file system.
pub(super) struct Mounted {
    subject: Fresh,
    root: Arc<OwnedFd>,
}

impl Mounted {
    /// Makes it, with its image in `at`.
    pub(super) fn make(at: &Path, control: Arc<Control>) -> anyhow::Result<Self> {
        let file_system = FileSystem::named("ext4").context("lbolt knows no ext4")?;
        let plan = FreshPlan {
            file_system,
            block_bytes: file_system.default_block_bytes,
            image_bytes: IMAGE_BYTES,
            drives: 1,
            at: vec![at.to_owned()],
            options: vec![],
            device: None,
        };
        let mut subject = Fresh::new(plan, HostClock::new(), control);
        subject.prepare()?;
        let root = only_root(&subject)?;
        Ok(Self { subject, root })
    }

    /// A child's path to it.
    pub(super) fn path(&self) -> PathBuf {
        through(&self.root)
    }

    /// The same file system, unmounted and mounted again: no cache and no journal of the turn
    /// before.
    pub(super) fn remount(self) -> anyhow::Result<Self> {
        let Self { mut subject, root } = self;
        // The last descriptor but the subject's own: closing that unmounts.
        drop(root);
        subject.make_cold(&[])?;
        let root = only_root(&subject)?;
        Ok(Self { subject, root })
    }

    /// Lays out fio's file as lbolt lays out its own: buffered, 1 MiB a write, no fallocate, an
    /// fdatasync at the end.
    pub(super) fn lay_out(&self, bytes: u64) -> anyhow::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.root, FIO_FILE, flags, Mode::from_raw_mode(0o666))?;
        let buffer = noise(LAYOUT_BLOCK_BYTES);
        let mut offset = 0;
        while offset < bytes {
            offset += rustix::io::pwrite(&file, &buffer, offset)? as u64;
        }
        rustix::fs::fdatasync(&file).context("failed to write fio's file")
    }

    /// Takes fio's file out of the page cache exactly as lbolt does its own in a directory:
    /// fsync, POSIX_FADV_DONTNEED, fsync of the directory.
    pub(super) fn cool(&self) -> anyhow::Result<()> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.root, FIO_FILE, flags, Mode::empty())?;
        rustix::fs::fsync(&file)?;
        rustix::fs::fadvise(&file, 0, None, Advice::DontNeed)?;
        self.settle()
    }

    /// Writes back the directory, as lbolt does before every cold pass.
    pub(super) fn settle(&self) -> anyhow::Result<()> {
        // A mount's own descriptor is an O_PATH one, which fsync refuses.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::openat(&self.root, ".", flags, Mode::empty())?;
        rustix::fs::fsync(&directory).context("failed to write back the directory")
    }

    /// Removes fio's file, so that the next turn finds the file system empty.
    pub(super) fn remove(&self) -> anyhow::Result<()> {
        match rustix::fs::unlinkat(&self.root, FIO_FILE, AtFlags::empty()) {
            Err(rustix::io::Errno::NOENT) => Ok(()),
            other => other.context("failed to remove fio's file"),
        }
    }

    /// fio's words for its file.
    pub(super) fn fio_file(&self) -> PathBuf {
        self.path().join(FIO_FILE)
    }
}

fn only_root(subject: &Fresh) -> Result<Arc<OwnedFd>, SubjectError> {
    let root = subject.roots().pop();
    root.ok_or_else(|| SubjectError::Failed("the fresh file system is not mounted".into()))
}

/// Bytes that no layer can compress.
fn noise(length: usize) -> Vec<u8> {
    let mut random = Random::new(1);
    (0..length / 8).flat_map(|_| random.next_u64().to_le_bytes()).collect()
}
