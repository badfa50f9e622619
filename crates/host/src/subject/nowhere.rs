//! No storage at all: what the harness itself costs is measured over it, on the
//! `null` engine.

use super::{Backend, CountedDevice, Host};
use crate::clock::HostClock;
use crate::drive::Control;
use model::seam::{PreparedTarget, SubjectError};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

/// The backend that is nowhere.
pub struct NowhereSite {
    open: Option<Arc<OwnedFd>>,
}

/// No storage, as a subject.
pub type Nowhere = Host<NowhereSite>;

impl Nowhere {
    /// Nothing to make.
    pub fn new(clock: HostClock, control: Arc<Control>) -> Self {
        Host::over(NowhereSite { open: None }, clock, control)
    }
}

impl Backend for NowhereSite {
    fn prepare(&mut self, _control: &Control) -> Result<PreparedTarget, SubjectError> {
        let open = super::directory::open_directory("/".as_ref())
            .map_err(super::failed("open the root directory"))?;
        self.open = Some(Arc::new(open));
        Ok(PreparedTarget { drives: 1, capacity_bytes: u64::MAX, ..PreparedTarget::default() })
    }

    fn file(&self, _drive: usize, _name: &str) -> Result<(Arc<OwnedFd>, PathBuf), SubjectError> {
        let open = self.open.clone().ok_or_else(|| SubjectError::Failed("not prepared".into()))?;
        Ok((open, PathBuf::new()))
    }

    fn make_cold(&mut self, _files: &[(usize, String)]) -> Result<(), SubjectError> {
        Ok(())
    }

    fn devices(&self) -> &[CountedDevice] {
        &[]
    }

    fn clean_up(&mut self) -> Result<(), SubjectError> {
        self.open = None;
        Ok(())
    }
}
