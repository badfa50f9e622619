//! A block device whose requests a program of ours serves: a file of FUSE, which is ours, under a
//! loop device with direct I/O. What comes is given to a [`Timing`], which says when each request
//! is completed; the data lie in a sparse file.
//!
//! Nothing of it outlasts the process: the mount is attached to no directory, the data have no
//! name, and the loop device clears itself with its last user. Whoever still uses it then gets I/O
//! errors.
//!
//! The way through the kernel takes time that the modelled device has not: it is measured before
//! anybody uses the device ([`way`]), and taken off of each request. How much later than that
//! requests are completed is counted ([`Lateness`]).
//!
//! Sources: Linux Documentation/filesystems/fuse; drivers/block/loop.c. A loop device has no FUA
//! (the kernel sends a flush in its place), and serves a flush before what comes after it.
//!
//! Non-goals: what takes how long (`sim`); more than one device in a process.

mod clerk;
mod data;
mod file_system;
mod lateness;
mod mount;
mod real_time;
mod way;

/// Removes the device when it is over and nobody uses it any more.
pub use crate::subject::loop_device::remove;
pub use data::DataPlace;
pub use lateness::Lateness;
pub use way::{Way, WayPart};

use crate::subject::loop_device::LoopDevice;
use clerk::Clerk;
use file_system::DiskFile;
use fuser::{Config, Session, SessionACL};
use model::seam::SubjectError;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a request wants of the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// Read this many bytes.
    Read,
    /// Write this many bytes.
    Write,
    /// Make durable what was written.
    Flush,
}

/// A request that came to the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Came {
    /// Its number; they rise by one.
    pub number: u64,
    /// What it wants.
    pub wanted: Wanted,
    /// Where it begins, bytes; 0 for a flush.
    pub offset_bytes: u64,
    /// How much it moves, bytes; 0 for a flush.
    pub length_bytes: u32,
}

/// Says when requests are completed. Times are those of CLOCK_MONOTONIC, ns.
pub trait Timing: Send + 'static {
    /// A request comes. No later call names an earlier moment.
    fn come(&mut self, now_ns: u64, came: &Came);

    /// When something happens next that nobody knows yet.
    fn next_ns(&self) -> Option<u64>;

    /// Lets happen what does up to now; tells the numbers of requests whose completion is known
    /// now, and when that is.
    fn advance(&mut self, now_ns: u64, known: &mut Vec<(u64, u64)>);
}

/// Requests are completed as they come.
#[derive(Debug, Default)]
pub struct AtOnce(Vec<(u64, u64)>);

impl Timing for AtOnce {
    fn come(&mut self, now_ns: u64, came: &Came) {
        self.0.push((came.number, now_ns));
    }

    fn next_ns(&self) -> Option<u64> {
        self.0.first().map(|(_, at_ns)| *at_ns)
    }

    fn advance(&mut self, _: u64, known: &mut Vec<(u64, u64)>) {
        known.append(&mut self.0);
    }
}

/// How a device is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedOptions {
    /// Its size, bytes; a multiple of its sector.
    pub size_bytes: u64,
    /// Its sector, bytes.
    pub sector_bytes: u32,
    /// Where its data lie.
    pub data: DataPlace,
    /// Whether an arm moves in it.
    pub is_rotational: bool,
    /// Requests that it takes at once; the kernel takes no fewer than 4.
    pub depth: u32,
}

/// The largest request that the kernel sends: FUSE takes it whole.
const REQUEST_KIB_MOST: u32 = 512;
/// The kernel's `BLKDEV_MIN_RQ`.
pub const LEAST_DEPTH: u32 = 4;
/// What a loop device takes at once (its hw_queue_depth).
const MOST_DEPTH: u32 = 128;

/// A device that is served while this lives.
pub struct Served {
    clerk: Arc<Clerk>,
    path: PathBuf,
    device: Option<LoopDevice>,
}

impl Served {
    /// Makes a device. What comes to it waits until [`Self::serve`].
    /// Errors: no FUSE, no loop devices, no right to them; no place for the data.
    pub fn make(options: &ServedOptions) -> Result<Self, SubjectError> {
        real_time::never_wait_for_own_device();
        let store = data::Store::make(&options.data, options.size_bytes)?;
        let clerk = Arc::new(Clerk::default());
        let (fuse, mount) = mount::mount_detached()?;
        let disk = DiskFile::new(clerk.clone(), store);
        let session = Session::from_fd(disk, fuse, SessionACL::Owner, Config::default());
        let failed = |what: &str, error: &dyn std::fmt::Display| {
            SubjectError::Failed(format!("failed to {what}: {error}"))
        };
        let session = session.map_err(|error| failed("speak with the kernel's FUSE", &error))?;
        let run = move || {
            // Its own threads are as prompt as the one that starts them.
            real_time::be_prompt();
            session.run()
        };
        let server = std::thread::Builder::new().name("lbolt-fuse".into()).spawn(run);
        server.map_err(|error| failed("start a thread", &error))?;
        let own = clerk.clone();
        let work = std::thread::Builder::new().name("lbolt-clerk".into());
        work.spawn(move || own.work()).map_err(|error| failed("start a thread", &error))?;
        let file = mount::open_disk(&mount)?;
        let device = LoopDevice::attach_new(file.as_fd(), options.sector_bytes)?;
        let path = device.path.clone();
        let served = Self { clerk, path, device: Some(device) };
        served.set_queue(options)?;
        Ok(served)
    }

    /// What the kernel is to know of the drive, and what its requests are.
    fn set_queue(&self, options: &ServedOptions) -> Result<(), SubjectError> {
        let name = self.path.file_name().unwrap_or_default();
        let queue = Path::new("/sys/block").join(name).join("queue");
        let settings = [
            ("max_sectors_kb", REQUEST_KIB_MOST),
            ("rotational", u32::from(options.is_rotational)),
            ("nr_requests", options.depth.clamp(LEAST_DEPTH, MOST_DEPTH)),
        ];
        for (key, value) in settings {
            let path = queue.join(key);
            std::fs::write(&path, value.to_string()).map_err(|error| {
                let sentence = format!("failed to write {value} to {}: {error}", path.display());
                SubjectError::Failed(sentence)
            })?;
        }
        Ok(())
    }

    /// Its node.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Measures the way through the kernel: requests are completed as they come meanwhile.
    /// Errors: the device's own.
    pub fn measure_way(&self) -> Result<Way, SubjectError> {
        way::measure(&self.path, &self.clerk)
    }

    /// From now on requests are completed when a timing says, less the way.
    pub fn serve(&self, timing: Box<dyn Timing>, way: Way) {
        self.clerk.serve(timing, way);
    }

    /// Lets go of the loop device, which somebody else must hold by then: it ends with its last
    /// user.
    pub fn let_go(&mut self) {
        self.device = None;
    }

    /// How late requests were since the last time; that of requests at once is not counted.
    pub fn lateness(&self) -> Lateness {
        self.clerk.lateness()
    }
}

impl std::fmt::Debug for Served {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Served").field("path", &self.path).finish_non_exhaustive()
    }
}
