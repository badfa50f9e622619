//! The exclusive claim to a device. What is mounted where no list shows it, an external journal,
//! swap whose node is gone, a program with the device open for itself: all have claimed it from
//! the kernel, whatever the namespace, and nobody gets a second claim. A loop device claims
//! neither its file nor the device that it lies on, so the twins and what lies beneath are
//! claimed one by one.
//!
//! Once claimed, nothing of the family can be mounted until the claim is dropped, except through
//! a loop device that is set up meanwhile: so the holder looks again before each pass.

use super::{Part, Permit, Refusal, refuse_what_is_in_use};
use crate::device::node::is_device;
use crate::device::{DeviceNumber, Tree};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// A device that is open for writing, and nobody else's as long as this lives.
#[derive(Debug)]
pub struct Claim {
    node: PathBuf,
    device: DeviceNumber,
    open: Arc<OwnedFd>,
    /// The rest of the family, held so that nobody mounts it meanwhile.
    others: Vec<(DeviceNumber, OwnedFd)>,
}

/// Claims the device of a permit by its node at `path`, claims what shares its
/// blocks, and then examines everything once more: what was mounted since the
/// permit was given is seen now, and from now on nothing can be.
/// Errors: the device, or one of its family, is held by the kernel or another program; the node is
/// another device's by now; it cannot be opened; or it is in use after all.
pub fn claim(tree: &Tree, path: &Path, permit: &Permit) -> Result<Claim, Refusal> {
    let open = Arc::new(open_exclusively(path, permit.device())?);
    let (node, device) = (path.to_owned(), permit.device());
    let mut claim = Claim { node, device, open, others: Vec::new() };
    claim.look_again(tree)?;
    Ok(claim)
}

impl Claim {
    /// The device, open for reading and writing.
    pub fn file(&self) -> &Arc<OwnedFd> {
        &self.open
    }

    /// Examines the device again, and claims what has joined its family.
    /// Errors: it is in use by now.
    pub fn look_again(&mut self, tree: &Tree) -> Result<(), Refusal> {
        loop {
            let claims = refuse_what_is_in_use(tree, self.device, &self.node)?;
            let news: Vec<Part> =
                claims.into_iter().filter(|part| !self.has(part.device)).collect();
            if news.is_empty() {
                return Ok(());
            }
            // After the last was claimed all are looked at once more.
            for part in news {
                self.add(tree, part)?;
            }
        }
    }

    fn has(&self, device: DeviceNumber) -> bool {
        device == self.device || self.others.iter().any(|(other, _)| *other == device)
    }

    fn add(&mut self, tree: &Tree, part: Part) -> Result<(), Refusal> {
        match patiently(|| tree.open_device(part.device, OFlags::RDONLY | OFlags::EXCL)) {
            Ok(open) => self.others.push((part.device, open)),
            Err(Errno::BUSY) => return Err(Refusal::Busy { node: self.node.clone(), part }),
            // Gone since it was listed: the next look tells.
            Err(Errno::NXIO | Errno::NODEV) => {}
            Err(errno) => {
                return Err(Refusal::CannotClaim {
                    node: self.node.clone(),
                    part,
                    source: errno.into(),
                });
            }
        }
        Ok(())
    }
}

/// Half a second in all.
const TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(10);

/// Tries a claim for a while. Some claims are over in a moment: of a program that was handed the
/// same free loop device and came second, of one that probes, of a child that has not yet closed
/// what it inherited.
fn patiently(mut open: impl FnMut() -> rustix::io::Result<OwnedFd>) -> rustix::io::Result<OwnedFd> {
    for _ in 0..TRIES {
        match open() {
            Err(Errno::BUSY) => std::thread::sleep(PAUSE),
            other => return other,
        }
    }
    open()
}

/// Opens the node, and makes sure that it is the device that was examined: it may have been
/// replaced since.
pub(super) fn open_exclusively(path: &Path, device: DeviceNumber) -> Result<OwnedFd, Refusal> {
    let node = path.to_owned();
    let flags = OFlags::RDWR | OFlags::EXCL | OFlags::CLOEXEC;
    let opened = match patiently(|| rustix::fs::open(path, flags, Mode::empty())) {
        Ok(opened) => opened,
        Err(Errno::BUSY) => {
            let part = Part { device, phrase: "it".to_owned() };
            return Err(Refusal::Busy { node, part });
        }
        Err(error) => return Err(Refusal::Open { node, source: error.into() }),
    };
    match is_device(&opened, device) {
        Ok(true) => Ok(opened),
        Ok(false) => Err(Refusal::Replaced { node, expected: device }),
        Err(error) => Err(Refusal::Open { node, source: error.into() }),
    }
}
