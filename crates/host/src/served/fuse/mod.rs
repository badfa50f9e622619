//! The way to the server by FUSE, which all kernels have: a file that is ours, under a loop device
//! with direct I/O.
//!
//! Sources: Linux Documentation/filesystems/fuse; drivers/block/loop.c. A loop device has no FUA
//! (the kernel sends a flush in its place), and serves a flush before what comes after it.

mod file_system;
mod mount;

use super::ServedOptions;
use super::clerk::Clerk;
use super::data::Store;
use super::real_time::be_prompt;
use crate::subject::loop_device::LoopDevice;
use file_system::DiskFile;
use fuser::{Config, Session, SessionACL};
use model::seam::SubjectError;
use std::os::fd::AsFd as _;
use std::sync::Arc;

/// Makes the device, and the threads that serve its file.
/// Errors: no FUSE, no loop devices, no right to them.
pub(super) fn make(
    options: &ServedOptions,
    store: Store,
    clerk: &Arc<Clerk>,
) -> Result<LoopDevice, SubjectError> {
    let (fuse, mount) = mount::mount_detached()?;
    let disk = DiskFile::new(clerk.clone(), store);
    let session = Session::from_fd(disk, fuse, SessionACL::Owner, Config::default());
    let session = session.map_err(|error| failed("speak with the kernel's FUSE", &error))?;
    let run = move || {
        // Its own threads are as prompt as the one that starts them.
        be_prompt();
        session.run()
    };
    let server = std::thread::Builder::new().name("lbolt-fuse".into()).spawn(run);
    server.map_err(|error| failed("start a thread", &error))?;
    let file = mount::open_disk(&mount)?;
    LoopDevice::attach_new(file.as_fd(), options.sector_bytes)
}

fn failed(what: &str, error: &dyn std::fmt::Display) -> SubjectError {
    SubjectError::Failed(format!("failed to {what}: {error}"))
}
