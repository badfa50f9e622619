//! A block device. Reading needs no consent; writing goes through the guard, which
//! refuses what is in use or bears data, and claims the device for as long as it is prepared. Jobs
//! reopen the very inode that was examined. The guard looks again before each cold pass.

use super::directory::{unseen, with_lowest};
use super::{Backend, CountedDevice, Host, by_descriptor, drop_cached, failed};
use crate::clock::HostClock;
use crate::device::{DeviceNumber, Tree};
use crate::drive::Control;
use crate::guard;
use model::seam::{PreparedTarget, SubjectError};
use rustix::fs::{Mode, OFlags};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

/// A device's backend.
pub struct BlockDeviceSite {
    path: PathBuf,
    number: DeviceNumber,
    permit: Option<guard::Permit>,
    claim: Option<guard::Claim>,
    open: Option<Arc<OwnedFd>>,
    devices: Vec<CountedDevice>,
}

/// A block device as a subject.
pub type BlockDevice = Host<BlockDeviceSite>;

impl BlockDevice {
    /// The device at `path`, of that number; writable only with the guard's permit.
    pub fn new(
        path: PathBuf,
        number: DeviceNumber,
        permit: Option<guard::Permit>,
        clock: HostClock,
        control: Arc<Control>,
    ) -> Self {
        let backend =
            BlockDeviceSite { path, number, permit, claim: None, open: None, devices: vec![] };
        Host::over(backend, clock, control)
    }
}

impl BlockDeviceSite {
    /// Claims the device, where it may be written, and opens it.
    fn open(&mut self) -> Result<Arc<OwnedFd>, SubjectError> {
        let Some(permit) = &self.permit else { return self.open_to_read().map(Arc::new) };
        let claim = guard::claim(&Tree::system(), &self.path, permit);
        let claim = claim.map_err(refused)?;
        let open = claim.file().clone();
        self.claim = Some(claim);
        Ok(open)
    }

    fn open_to_read(&self) -> Result<OwnedFd, SubjectError> {
        let open = rustix::fs::open(&self.path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
            .map_err(|errno| {
                SubjectError::Unavailable(format!(
                    "{} cannot be opened: {errno}",
                    self.path.display()
                ))
            })?;
        let stat = rustix::fs::fstat(&open).map_err(failed("look at the opened device"))?;
        if DeviceNumber::from_dev(stat.st_rdev) != self.number {
            return Err(SubjectError::Failed(format!(
                "{} changed to another device; try again",
                self.path.display()
            )));
        }
        Ok(open)
    }
}

impl Backend for BlockDeviceSite {
    fn prepare(&mut self, _control: &Control) -> Result<PreparedTarget, SubjectError> {
        let open = self.open()?;
        let tree = Tree::system();
        let gone = |e: &dyn std::fmt::Display| SubjectError::Failed(e.to_string());
        let capacity_bytes = tree.size_bytes(self.number).map_err(|e| gone(&e))?;
        self.devices = with_lowest(&tree, self.number);
        self.open = Some(open);
        Ok(PreparedTarget {
            drives: 1,
            capacity_bytes,
            is_device: true,
            doubts: unseen(&self.devices),
            ..PreparedTarget::default()
        })
    }

    fn file(&self, _drive: usize, _name: &str) -> Result<(Arc<OwnedFd>, PathBuf), SubjectError> {
        by_descriptor(self.open.as_ref())
    }

    /// A job opens the device by its node again, for which root needs no descriptor that
    /// writes: so the permit is requested here too.
    fn is_writable(&self) -> bool {
        self.permit.is_some()
    }

    fn make_cold(&mut self, _files: &[(usize, String)]) -> Result<(), SubjectError> {
        if let Some(claim) = &mut self.claim {
            claim.look_again(&Tree::system()).map_err(refused)?;
        }
        self.open.as_ref().map_or(Ok(()), |open| drop_cached(open))
    }

    fn devices(&self) -> &[CountedDevice] {
        &self.devices
    }

    fn clean_up(&mut self) -> Result<(), SubjectError> {
        self.open = None;
        self.claim = None;
        Ok(())
    }
}

fn refused(refusal: guard::Refusal) -> SubjectError {
    SubjectError::Refused(refusal.to_string())
}
