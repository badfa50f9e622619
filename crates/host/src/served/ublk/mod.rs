//! The way to the server by ublk, where the kernel has the driver (`modprobe ublk_drv`; Linux 6.5
//! or later, Debian 13): a block device whose requests come to this process as they are, with no
//! file and no loop device between.
//!
//! If the process ends, the kernel fails what is under way and takes the block device away. What is
//! left of it is a number, which [`remove`] gives back.
//!
//! Sources: Documentation/block/ublk.rst; drivers/block/ublk_drv.c. The device has a volatile cache
//! and no FUA, as a loop device has.
//!
//! Non-goals: more than one queue; discards; a server that is replaced while the device is in use.

mod abi;
mod control;
mod queue;

use super::clerk::Clerk;
use super::data::Store;
use super::{REQUEST_KIB_MOST, ServedOptions};
use crate::subject::failed;
use abi::{ATTR_ROTATIONAL, ATTR_VOLATILE_CACHE, DeviceInfo, FLAGS, LIVE, OURS, Parameters};
use control::Control;
use model::seam::SubjectError;
use queue::Queue;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How a device's name begins, before its number.
pub(super) const NAME: &str = "ublkb";
/// How long its nodes may take to be there, and its last user to let go of it.
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(5);

/// A device that is served while this lives.
pub(super) struct Ublk {
    control: Control,
    number: u32,
    server: Option<JoinHandle<()>>,
}

/// A driver, and the number that it gave.
pub(super) struct Place(Ublk);

impl Place {
    /// None where the kernel has no ublk that is fit for this: none is loaded, it cannot copy data
    /// by reads and writes (before Linux 6.5), io_uring is not allowed, or there is no right to it.
    pub(super) fn find(options: &ServedOptions) -> Option<Self> {
        let mut control = Control::open()?;
        let wanted = DeviceInfo {
            queues: 1,
            depth: options.queue_depth(),
            request_bytes_most: REQUEST_KIB_MOST << 10,
            flags: FLAGS,
            server_flags: OURS,
            ..DeviceInfo::default()
        };
        let made = control.add(wanted).ok()?;
        let ublk = Ublk { control, number: made.device, server: None };
        // One that is not fit is removed as it is dropped.
        (made.flags & FLAGS == FLAGS).then_some(Self(ublk))
    }

    /// Makes the device, and the thread that serves it.
    /// Errors: the driver's own.
    pub(super) fn make(
        self,
        options: &ServedOptions,
        store: Store,
        clerk: &Arc<Clerk>,
    ) -> Result<Ublk, SubjectError> {
        let Self(mut ublk) = self;
        let turns = if options.is_rotational { ATTR_ROTATIONAL } else { 0 };
        let parameters = Parameters::new(
            ATTR_VOLATILE_CACHE | turns,
            options.sector_bytes,
            options.size_bytes / 512,
            REQUEST_KIB_MOST * 2,
        );
        ublk.control
            .set(ublk.number, parameters)
            .map_err(failed("tell ublk what the device is"))?;
        let flags = OFlags::RDWR | OFlags::CLOEXEC;
        let path = format!("/dev/ublkc{}", ublk.number);
        let device = patiently(|| open(&path, flags, Mode::empty()))
            .map_err(failed(format!("open {path}")))?;
        let queue = Queue::new(device, options.queue_depth(), store, clerk.clone())
            .map_err(failed("set up the queue of ublk"))?;
        let (asked, answer) = channel();
        let run = move || queue.work(&asked);
        let server = std::thread::Builder::new().name("lbolt-ublk".into()).spawn(run);
        let server = server
            .map_err(|error| SubjectError::Failed(format!("failed to start a thread: {error}")))?;
        ublk.server = Some(server);
        answer.recv().unwrap_or(Err(Errno::IO)).map_err(failed("ask ublk for requests"))?;
        ublk.control.start(ublk.number).map_err(failed("start the device of ublk"))?;
        let path = ublk.path();
        patiently(|| open(&path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()))
            .map_err(failed(format!("open {}", path.display())))?;
        Ok(ublk)
    }
}

/// Until it is no longer refused because the node is not there yet, or is open for another moment.
fn patiently<T>(mut attempt: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    let began = Instant::now();
    loop {
        match attempt() {
            Err(Errno::NOENT | Errno::BUSY | Errno::NXIO) if began.elapsed() < PATIENCE => {
                std::thread::sleep(LOOK);
            }
            ended => return ended,
        }
    }
}

impl Ublk {
    /// Its block device.
    pub(super) fn path(&self) -> PathBuf {
        PathBuf::from(format!("/dev/{NAME}{}", self.number))
    }
}

impl Drop for Ublk {
    fn drop(&mut self) {
        // It may be gone already; what is left `remove` takes.
        let _ = self.control.stop(self.number);
        if let Some(server) = self.server.take() {
            let _ = server.join();
        }
        let _ = self.control.remove(self.number);
    }
}

/// Gives the number of a device back whose server has ended. One that is gone, or is somebody
/// else's by now, is fine.
/// Errors: one that is still served; no right to.
pub(super) fn remove(number: u32) -> Result<(), SubjectError> {
    // Without a driver there is no device.
    let Some(mut control) = Control::open() else { return Ok(()) };
    let path = format!("/dev/{NAME}{number}");
    let began = Instant::now();
    loop {
        match control.info(number) {
            Err(Errno::NODEV | Errno::INVAL) => return Ok(()),
            Err(errno) => return Err(failed(format!("look at {path}"))(errno)),
            Ok(info) if info.server_flags != OURS => return Ok(()),
            // The kernel takes a while to notice that a server has ended.
            Ok(info) if info.state == LIVE && is_there(info.server_pid) => {
                if began.elapsed() > PATIENCE {
                    let sentence = format!("{path} is still served by process {}", info.server_pid);
                    return Err(SubjectError::Unavailable(sentence));
                }
                std::thread::sleep(LOOK);
            }
            Ok(_) => break,
        }
    }
    match control.remove(number) {
        Ok(()) | Err(Errno::NODEV | Errno::INVAL) => Ok(()),
        Err(errno) => Err(failed(format!("remove {path}"))(errno)),
    }
}

fn is_there(pid: i32) -> bool {
    std::path::Path::new("/proc").join(pid.to_string()).exists()
}
