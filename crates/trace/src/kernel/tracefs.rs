//! The tracing file system, where tracepoints have their numbers and formats: as it is mounted, or
//! mounted detached, where nobody else sees it and it goes with its descriptor.

use rustix::fs::{Access, AtFlags, CWD, Dir, Mode, OFlags, accessat, openat};
use rustix::io::Errno;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};

/// No flags.
const FLAGS: AtFlags = AtFlags::empty();

/// Where it is mounted by custom.
const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

#[derive(Debug)]
pub(crate) struct Tracefs(OwnedFd);

/// What this process has mounted.
static OWN: Mutex<Option<OwnedFd>> = Mutex::new(None);

impl Tracefs {
    /// Opens it where it is mounted, or mounts it. What was mounted stays open: the right to mount
    /// is needed once.
    /// Errors: what the mount was refused with.
    pub(crate) fn open() -> io::Result<Self> {
        let is_it = |root: &OwnedFd| open(root, "events/block").is_ok();
        let mounted = PLACES.iter().filter_map(|place| open(CWD, place).ok()).find(is_it);
        if let Some(root) = mounted {
            return Ok(Self(root));
        }
        let mut own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
        let root = match own.take() {
            Some(root) => root,
            None => Self::mount()?,
        };
        Ok(Self(own.insert(root).try_clone()?))
    }

    fn mount() -> io::Result<OwnedFd> {
        let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_create(&context)?;
        Ok(fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())?)
    }

    /// Whether there is a tracepoint of this name, of whichever system.
    pub(crate) fn has(&self, tracepoint: &str) -> bool {
        let Ok(systems) = open(&self.0, "events").and_then(Dir::read_from) else { return false };
        systems.filter_map(Result::ok).any(|system| {
            let system = system.file_name().to_string_lossy();
            accessat(&self.0, format!("events/{system}/{tracepoint}"), Access::EXISTS, FLAGS)
                .is_ok()
        })
    }

    pub(crate) fn root(&self) -> &OwnedFd {
        &self.0
    }

    /// The text of a file of a tracepoint of the block layer; none if the kernel has no such
    /// tracepoint.
    /// Errors: a file that is there and cannot be read.
    pub(crate) fn read(&self, tracepoint: &str, file: &str) -> io::Result<Option<String>> {
        match open(&self.0, &format!("events/block/{tracepoint}/{file}")) {
            Ok(file) => io::read_to_string(std::fs::File::from(file)).map(Some),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }
}

fn open(root: impl std::os::fd::AsFd, path: &str) -> Result<OwnedFd, Errno> {
    openat(root, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
}
