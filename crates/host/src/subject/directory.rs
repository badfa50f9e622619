//! A directory of an existing file system: files in a scratch directory of our
//! own, cold by fsync and POSIX_FADV_DONTNEED (the file system stays mounted, so that
//! its own metadata stay warm).

use super::{Backend, CountedDevice, Host, drop_cached, failed};
use crate::clock::HostClock;
use crate::device::{DeviceNumber, Tree};
use crate::drive::Control;
use crate::scratch::Scratch;
use model::doubt::{Code, Doubt};
use model::run::SCRATCH_PREFIX;
use model::seam::{DeviceRole, PreparedTarget, SubjectError};
use rustix::fs::{Mode, OFlags};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A directory's backend.
pub struct DirectorySite {
    directory: PathBuf,
    path: PathBuf,
    scratch: Option<Scratch>,
    devices: Vec<CountedDevice>,
}

/// A directory as a subject.
pub type Directory = Host<DirectorySite>;

impl Directory {
    /// Files go into a new directory in `directory`, named after the run.
    pub fn new(directory: &Path, run: &str, clock: HostClock, control: Arc<Control>) -> Self {
        // The process's number too: a killed run of the same name may have left its own.
        let path = directory.join(format!("{SCRATCH_PREFIX}{run}-{}", std::process::id()));
        let backend =
            DirectorySite { directory: directory.to_owned(), path, scratch: None, devices: vec![] };
        Host::over(backend, clock, control)
    }

    /// The scratch directory, for the record of what a killed run leaves.
    pub fn scratch(&self) -> &Path {
        &self.backend.path
    }
}

pub(crate) fn open_directory(path: &Path) -> rustix::io::Result<OwnedFd> {
    rustix::fs::open(path, OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
}

/// The block devices to count for the file system that holds a path: itself, and the lowest
/// ones beneath.
pub(crate) fn counted(path: &Path) -> Vec<CountedDevice> {
    let tree = Tree::system();
    // The tree knows no working directory.
    let Ok(path) = std::path::absolute(path) else { return vec![] };
    // A mount that is attached nowhere is in no table, but its device number is the device's own.
    let by_number = || {
        let number = DeviceNumber::from_dev(rustix::fs::stat(&path).ok()?.st_dev);
        tree.name(number).is_ok().then_some(number)
    };
    let Some(device) = tree.device_of_path(&path).ok().flatten().or_else(by_number) else {
        return vec![];
    };
    with_lowest(&tree, device)
}

/// A device, and the lowest ones beneath.
pub(crate) fn with_lowest(tree: &Tree, device: DeviceNumber) -> Vec<CountedDevice> {
    let lowest = tree.lowest(device).unwrap_or_else(|_| vec![device]);
    let with = |role| move |number| CountedDevice { number, role };
    let tested = std::iter::once(device).map(with(DeviceRole::Tested));
    tested.chain(lowest.into_iter().map(with(DeviceRole::Lowest))).collect()
}

/// What is doubtful where no disk is seen: there is no device, or the lowest is a loop device over
/// a file of no disk, whose requests the page cache answers.
pub(crate) fn unseen(devices: &[CountedDevice]) -> Vec<Doubt> {
    let tree = Tree::system();
    let mut lowest = devices.iter().filter(|device| device.role == DeviceRole::Lowest);
    match lowest.any(|device| !tree.is_cached_loop(device.number).unwrap_or(false)) {
        true => vec![],
        false => vec![Doubt::new(Code::NoDeviceBeneath, [])],
    }
}

/// Space for ordinary users in the file system of an open file or directory.
pub(crate) fn free_bytes(file: &OwnedFd) -> rustix::io::Result<u64> {
    let fs = rustix::fs::fstatvfs(file)?;
    Ok(fs.f_bavail.saturating_mul(fs.f_frsize))
}

impl Backend for DirectorySite {
    fn prepare(&mut self, _control: &Control) -> Result<PreparedTarget, SubjectError> {
        let made = Scratch::make(&self.path).map_err(|e| {
            SubjectError::Unavailable(match e.kind() {
                std::io::ErrorKind::AlreadyExists => format!(
                    "{} already exists, from a killed or running lbolt; `lbolt doctor --clean` \
                     removes leftovers of killed runs",
                    self.path.display()
                ),
                _ => format!(
                    "{} cannot hold scratch files ({e}); choose a writable directory",
                    self.directory.display()
                ),
            })
        })?;
        let scratch = self.scratch.insert(made);
        let free = free_bytes(scratch.open()).map_err(failed("read the free space"))?;
        self.devices = counted(&self.path);
        let doubts = unseen(&self.devices);
        Ok(PreparedTarget { drives: 1, capacity_bytes: free, doubts, ..PreparedTarget::default() })
    }

    fn file(&self, _drive: usize, name: &str) -> Result<(Arc<OwnedFd>, PathBuf), SubjectError> {
        let scratch = self.scratch.as_ref();
        let scratch = scratch.ok_or_else(|| SubjectError::Failed("not prepared".into()))?;
        Ok((scratch.open().clone(), PathBuf::from(name)))
    }

    fn make_cold(&mut self, files: &[(usize, String)]) -> Result<(), SubjectError> {
        let Some(directory) = self.scratch.as_ref().map(Scratch::open) else { return Ok(()) };
        for (_, name) in files {
            let flags = OFlags::RDONLY | OFlags::CLOEXEC;
            match rustix::fs::openat(directory, name, flags, Mode::empty()) {
                Ok(file) => drop_cached(&file)?,
                Err(rustix::io::Errno::NOENT) => {}
                Err(errno) => return Err(failed(format!("open {name}"))(errno)),
            }
        }
        // What a removal left for the journal must not be written inside the next pass.
        rustix::fs::fsync(directory).map_err(failed("write back the scratch directory"))
    }

    fn devices(&self) -> &[CountedDevice] {
        &self.devices
    }

    fn clean_up(&mut self) -> Result<(), SubjectError> {
        let removed = self.scratch.take().map_or(Ok(()), Scratch::remove);
        removed.map_err(|e| {
            SubjectError::Failed(format!("failed to remove {}: {e}", self.path.display()))
        })
    }
}

impl Drop for DirectorySite {
    fn drop(&mut self) {
        // An error was reported by `clean_up` if that was called; here nobody is left to hear it.
        let _ = self.clean_up();
    }
}
