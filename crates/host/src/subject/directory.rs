//! A directory of an existing file system: files in a scratch directory of our
//! own, cold by fsync and POSIX_FADV_DONTNEED (the file system stays mounted, so that
//! its own metadata stay warm).

use super::{CountedDevice, Host, SCRATCH_PREFIX, Site, drop_cached, failed};
use crate::clock::HostClock;
use crate::device::{DeviceNumber, Tree};
use crate::drive::Control;
use model::seam::{DeviceRole, Place, SubjectError};
use rustix::fs::{CWD, Mode, OFlags};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A directory's site.
pub struct DirectorySite {
    directory: PathBuf,
    scratch: PathBuf,
    is_made: bool,
    open: Option<Arc<OwnedFd>>,
    devices: Vec<CountedDevice>,
}

/// A directory as a subject.
pub type Directory = Host<DirectorySite>;

impl Directory {
    /// Files go into a new directory in `directory`, named after the run.
    pub fn new(directory: &Path, run: &str, clock: HostClock, control: Arc<Control>) -> Self {
        // The process's number too: a killed run of the same name may have left its own.
        let scratch = directory.join(format!("{SCRATCH_PREFIX}{run}-{}", std::process::id()));
        let site = DirectorySite {
            directory: directory.to_owned(),
            scratch,
            is_made: false,
            open: None,
            devices: vec![],
        };
        Host::over(site, clock, control)
    }

    /// The scratch directory, for the record of what a killed run leaves.
    pub fn scratch(&self) -> &Path {
        &self.site.scratch
    }
}

/// Opens a directory.
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
    let lowest = tree.lowest(device).unwrap_or_else(|_| vec![device]);
    let with = |role| move |number| CountedDevice { number, role };
    let tested = std::iter::once(device).map(with(DeviceRole::Tested));
    tested.chain(lowest.into_iter().map(with(DeviceRole::Lowest))).collect()
}

/// Room for ordinary users in the file system of an open file or directory.
pub(crate) fn room_bytes(file: &OwnedFd) -> rustix::io::Result<u64> {
    let fs = rustix::fs::fstatvfs(file)?;
    Ok(fs.f_bavail.saturating_mul(fs.f_frsize))
}

impl Site for DirectorySite {
    fn prepare(&mut self, _control: &Control) -> Result<Place, SubjectError> {
        std::fs::create_dir(&self.scratch).map_err(|e| {
            SubjectError::Unavailable(match e.kind() {
                std::io::ErrorKind::AlreadyExists => format!(
                    "{} is there already, of a killed run or of one that goes on; `lbolt doctor --clean` removes the \
                     former",
                    self.scratch.display()
                ),
                _ => format!(
                    "{} cannot hold scratch files ({e}); choose a directory that you may write to",
                    self.directory.display()
                ),
            })
        })?;
        self.is_made = true;
        let open = open_directory(&self.scratch).map_err(failed("open the scratch directory"))?;
        let room = room_bytes(&open).map_err(failed("ask for the room left"))?;
        self.devices = counted(&self.scratch);
        self.open = Some(Arc::new(open));
        let unseen =
            "no block device can be seen beneath: whether a cache answered for it is not known";
        let doubts = self.devices.is_empty().then(|| unseen.to_owned()).into_iter().collect();
        Ok(Place { drives: 1, capacity_bytes: room, doubts, ..Place::default() })
    }

    fn file(&self, _drive: usize, name: &str) -> Result<(Arc<OwnedFd>, PathBuf), SubjectError> {
        let open = self.open.clone().ok_or_else(|| SubjectError::Failed("not prepared".into()))?;
        Ok((open, PathBuf::from(name)))
    }

    fn make_cold(&mut self, files: &[(usize, String)]) -> Result<(), SubjectError> {
        let Some(directory) = &self.open else { return Ok(()) };
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
        self.open = None;
        if !std::mem::take(&mut self.is_made) {
            return Ok(());
        }
        remove_scratch(&self.scratch).map_err(|e| {
            SubjectError::Failed(format!("failed to remove {}: {e}", self.scratch.display()))
        })
    }
}

impl Drop for DirectorySite {
    fn drop(&mut self) {
        // An error was reported by `clean_up` if that was called; here nobody is left to hear it.
        let _ = self.clean_up();
    }
}

/// Removes a scratch directory: the files of our own names in it, then itself.
///
/// # Errors
/// A path that is not named like ours, or what the file system refuses. One that is gone is fine.
pub fn remove_scratch(path: &Path) -> std::io::Result<()> {
    let is_ours = path
        .file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| name.starts_with(SCRATCH_PREFIX));
    if !is_ours {
        return Err(std::io::Error::other("its name is not one of lbolt's"));
    }
    // Through the open directory, so that a scratch path that became a link is not followed.
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC;
    let directory = match rustix::fs::openat(CWD, path, flags, Mode::empty()) {
        Err(rustix::io::Errno::NOENT) => return Ok(()),
        other => other?,
    };
    for entry in rustix::fs::Dir::read_from(&directory)? {
        let entry = entry?;
        let name = entry.file_name();
        if name.to_bytes().starts_with(b"file.") {
            rustix::fs::unlinkat(&directory, name, rustix::fs::AtFlags::empty())?;
        }
    }
    std::fs::remove_dir(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_scratch_of_our_own_is_removed() {
        let root = tempfile::tempdir().unwrap();
        let foreign = root.path().join("precious");
        std::fs::create_dir(&foreign).unwrap();
        assert!(remove_scratch(&foreign).is_err());
        let ours = root.path().join(format!("{SCRATCH_PREFIX}x"));
        std::fs::create_dir(&ours).unwrap();
        std::fs::write(ours.join("file.0"), "x").unwrap();
        std::fs::write(ours.join("notes.txt"), "mine").unwrap();
        assert!(remove_scratch(&ours).is_err(), "a foreign file keeps the directory");
        assert!(ours.join("notes.txt").exists());
        std::fs::remove_file(ours.join("notes.txt")).unwrap();
        remove_scratch(&ours).unwrap();
        assert!(!ours.exists());
        remove_scratch(&ours).unwrap();
        std::os::unix::fs::symlink(&foreign, &ours).unwrap();
        std::fs::write(foreign.join("file.0"), "mine").unwrap();
        assert!(remove_scratch(&ours).is_err(), "a link is not followed");
        assert!(foreign.join("file.0").exists());
    }
}
