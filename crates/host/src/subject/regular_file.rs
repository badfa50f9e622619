//! A regular file that is there: its blocks are read, and with its user's leave written, in place.
//! It never grows and is never removed. A file that something else lies on (a loop device, swap) is
//! written by nobody.
//!
//! Non-goals: making files (a directory does), devices.

use super::directory::counted;
use super::{Backend, CountedDevice, Host, by_descriptor, drop_cached, failed};
use crate::clock::HostClock;
use crate::device::{FileIdentity, SwapKind, Tree};
use crate::drive::Control;
use model::seam::{PreparedTarget, SubjectError};
use rustix::fs::{FileType, Mode, OFlags};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file's backend.
pub struct RegularFileSite {
    path: PathBuf,
    is_writable: bool,
    open: Option<Arc<OwnedFd>>,
    devices: Vec<CountedDevice>,
}

/// A regular file as a subject.
pub type RegularFile = Host<RegularFileSite>;

impl RegularFile {
    /// The file at `path`, writable only with its user's leave.
    pub fn new(path: PathBuf, is_writable: bool, clock: HostClock, control: Arc<Control>) -> Self {
        let backend = RegularFileSite { path, is_writable, open: None, devices: vec![] };
        Host::over(backend, clock, control)
    }
}

/// What uses a file, so that nobody may write it: a loop device, swap; none where nothing does.
/// Errors: it cannot be found out.
pub fn used_by(tree: &Tree, path: &Path) -> std::io::Result<Option<String>> {
    let facts = tree.facts(&std::path::absolute(path)?)?;
    let own = FileIdentity::from(&facts);
    let loops = tree.loops().map_err(std::io::Error::other)?;
    let is_over = |identity: &FileIdentity| {
        identity.file_system == own.file_system && identity.inode == own.inode
    };
    if let Some(found) = loops.iter().find(|found| is_over(&found.identity)) {
        let name = tree.name(found.device).unwrap_or_else(|_| found.device.to_string());
        return Ok(Some(format!("the loop device {name}")));
    }
    let swaps = tree.swaps().map_err(std::io::Error::other)?;
    let mut files = swaps.iter().filter(|swap| swap.kind == SwapKind::File);
    let is_it = |path: &Path| tree.facts(path).is_ok_and(|of| is_over(&FileIdentity::from(&of)));
    Ok(files.any(|swap| is_it(&swap.path)).then(|| "swap".to_owned()))
}

impl RegularFileSite {
    fn refuse_what_is_in_use(&self) -> Result<(), SubjectError> {
        let shown = self.path.display();
        match used_by(&Tree::system(), &self.path) {
            Ok(None) => Ok(()),
            Ok(Some(user)) => Err(SubjectError::Refused(format!("{shown} is in use by {user}"))),
            Err(error) => Err(SubjectError::Refused(format!(
                "cannot tell whether {shown} is in use ({error}), so it is not written"
            ))),
        }
    }
}

impl Backend for RegularFileSite {
    fn prepare(&mut self, _control: &Control) -> Result<PreparedTarget, SubjectError> {
        if self.is_writable {
            self.refuse_what_is_in_use()?;
        }
        let access = if self.is_writable { OFlags::RDWR } else { OFlags::RDONLY };
        let flags = access | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let open = rustix::fs::open(&self.path, flags, Mode::empty()).map_err(|errno| {
            SubjectError::Unavailable(format!("{} cannot be opened: {errno}", self.path.display()))
        })?;
        let stat = rustix::fs::fstat(&open).map_err(failed("look at the opened file"))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            let sentence = format!("{} is no longer a regular file", self.path.display());
            return Err(SubjectError::Failed(sentence));
        }
        self.devices = counted(&self.path);
        self.open = Some(Arc::new(open));
        Ok(PreparedTarget {
            drives: 1,
            capacity_bytes: u64::try_from(stat.st_size).unwrap_or(0),
            is_device: true,
            ..PreparedTarget::default()
        })
    }

    fn file(&self, _drive: usize, _name: &str) -> Result<(Arc<OwnedFd>, PathBuf), SubjectError> {
        by_descriptor(self.open.as_ref())
    }

    fn is_writable(&self) -> bool {
        self.is_writable
    }

    fn make_cold(&mut self, _files: &[(usize, String)]) -> Result<(), SubjectError> {
        self.open.as_ref().map_or(Ok(()), |open| drop_cached(open))
    }

    fn devices(&self) -> &[CountedDevice] {
        &self.devices
    }

    fn clean_up(&mut self) -> Result<(), SubjectError> {
        self.open = None;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::seam::Subject as _;

    #[test]
    fn a_file_is_prepared_as_it_is_and_nothing_else_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, vec![7; 8192]).unwrap();
        let of = |path: &Path| {
            let control = Arc::new(Control::default());
            RegularFile::new(path.to_owned(), true, HostClock::by_kernel(), control)
        };
        let prepared = of(&path).prepare().unwrap();
        assert_eq!((prepared.capacity_bytes, prepared.is_device), (8192, true));
        assert!(of(folder.path()).prepare().is_err());
        assert!(of(&folder.path().join("missing")).prepare().is_err());
        assert_eq!(std::fs::read(&path).unwrap(), vec![7; 8192]);
        assert_eq!(used_by(&Tree::system(), &path).unwrap(), None);
    }
}
