//! A block device whose requests a program of ours serves. They come by [`ublk`] where the kernel
//! has it, and else by [`fuse`]. What comes is given to a [`Timing`], which says when each request
//! is completed; the data lie in a sparse file.
//!
//! Nothing of it outlasts the process: the data have no name, FUSE's mount is attached to no
//! directory, the loop device clears itself with its last user, and a device of ublk ends with its
//! server. Whoever still uses it then gets I/O errors.
//!
//! The way through the kernel takes time that the modelled device has not: it is measured before
//! anybody uses the device ([`measured`]), and taken off of each request. How much later than that
//! requests are completed is counted ([`Lateness`]).
//!
//! Non-goals: what takes how long (`sim`); more than one device in a process.

mod clerk;
mod data;
mod fuse;
mod lateness;
mod measured;
mod real_time;
mod ublk;
mod way;

pub use data::DataPlace;
pub use lateness::Lateness;
pub use way::{Way, WayPart};

use crate::device::Tree;
use crate::guard;
use crate::subject::loop_device::{self, LoopDevice};
use clerk::Clerk;
use model::seam::SubjectError;
use rustix::fs::{Mode, OFlags, open};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use ublk::Ublk;

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

impl ServedOptions {
    /// What the kernel is to give it at once.
    fn queue_depth(&self) -> u16 {
        self.depth.clamp(LEAST_DEPTH, MOST_DEPTH) as u16
    }
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
    /// None where there is no such device, and when somebody else holds it.
    held: Option<LoopDevice>,
    /// Takes the device away as it is dropped.
    _ublk: Option<Ublk>,
}

impl Served {
    /// Makes a device. What comes to it waits until [`Self::serve`].
    /// Errors: neither ublk nor FUSE and loop devices, no right to them; no place for the data.
    pub fn make(options: &ServedOptions) -> Result<Self, SubjectError> {
        real_time::never_wait_for_own_device();
        let store = data::Store::make(&options.data, options.size_bytes)?;
        let clerk = Arc::new(Clerk::default());
        let own = clerk.clone();
        let work = std::thread::Builder::new().name("lbolt-clerk".into());
        work.spawn(move || own.work())
            .map_err(|error| SubjectError::Failed(format!("failed to start a thread: {error}")))?;
        let served = match ublk::Place::find(options) {
            Some(place) => {
                let device = place.make(options, store, &clerk)?;
                Self { clerk, path: device.path(), held: None, _ublk: Some(device) }
            }
            None => {
                let device = fuse::make(options, store, &clerk)?;
                Self { clerk, path: device.path.clone(), held: Some(device), _ublk: None }
            }
        };
        served.set_queue(options)?;
        Ok(served)
    }

    /// What the kernel is to know of the drive, and what its requests are.
    fn set_queue(&self, options: &ServedOptions) -> Result<(), SubjectError> {
        let name = self.path.file_name().unwrap_or_default();
        let queue = Path::new("/sys/block").join(name).join("queue");
        // The drive orders what comes; by default the kernel does, too, for a device of one queue.
        let settings = [
            ("scheduler", "none".to_owned()),
            ("max_sectors_kb", REQUEST_KIB_MOST.to_string()),
            ("rotational", u32::from(options.is_rotational).to_string()),
            ("nr_requests", options.queue_depth().to_string()),
        ];
        for (key, value) in settings {
            let path = queue.join(key);
            std::fs::write(&path, &value).map_err(|error| {
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
        measured::measure(&self.path, &self.clerk)
    }

    /// From now on requests are completed when a timing says, less the way.
    pub fn serve(&self, timing: Box<dyn Timing>, way: Way) {
        self.clerk.serve(timing, way);
    }

    /// Lets go of the device, which somebody else must hold by then: a loop device ends with its
    /// last user.
    pub fn let_go(&mut self) {
        self.held = None;
    }

    /// How late requests were since the last time; that of requests at once is not counted.
    pub fn lateness(&self) -> Lateness {
        self.clerk.lateness()
    }
}

impl Drop for Served {
    /// What the kernel still writes is completed as it comes.
    fn drop(&mut self) {
        self.serve(Box::new(AtOnce::default()), Way::default());
    }
}

/// Removes a device when it is over and nobody uses it any more, with all its settings. One that is
/// gone is fine.
/// Errors: one that is still in use; no right to.
pub fn remove(path: &Path) -> Result<(), SubjectError> {
    match number_of_ublk(path) {
        Some(number) => ublk::remove(number),
        None => loop_device::remove(path),
    }
}

/// Why a device that is over cannot be removed, and what to do: completes "the device …". None
/// where nobody uses it.
pub fn use_and_release(path: &Path) -> Option<String> {
    let other = || "is in use by an unknown program; find it with `fuser -v` and end it";
    guard::user(&Tree::system(), path).or_else(|| is_used(path).then(|| other().to_owned()))
}

/// The sequence that the device got when it appeared, or was set up anew: another one is another
/// device of that name. None before Linux 5.15, and where there is none.
pub fn sequence(path: &Path) -> Option<u64> {
    let tree = Tree::system();
    tree.sequence(tree.device_at(path)?)
}

/// Whether somebody uses the device, who need not be this process. A loop device tells of all; of
/// ublk's those count who have it for themselves (a mount, swap, another device) or open.
pub fn is_used(path: &Path) -> bool {
    match number_of_ublk(path) {
        None => {
            let name = path.file_name().unwrap_or_default();
            Path::new("/sys/block").join(name).join("loop/backing_file").exists()
        }
        Some(_) => {
            let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC;
            let alone = open(path, flags, Mode::empty());
            alone.is_err_and(|errno| errno == rustix::io::Errno::BUSY) || is_open(path)
        }
    }
}

fn number_of_ublk(path: &Path) -> Option<u32> {
    path.file_name()?.to_str()?.strip_prefix(ublk::NAME)?.parse().ok()
}

/// Whether a process has it open that we may look into.
fn is_open(path: &Path) -> bool {
    let entries = |path: &Path| std::fs::read_dir(path).into_iter().flatten().flatten();
    let is_it =
        |link: std::fs::DirEntry| std::fs::read_link(link.path()).is_ok_and(|to| to == path);
    entries(Path::new("/proc")).any(|process| entries(&process.path().join("fd")).any(is_it))
}

impl std::fmt::Debug for Served {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Served").field("path", &self.path).finish_non_exhaustive()
    }
}
