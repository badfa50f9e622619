//! A fresh file system on each of several drives: image file, loop device, mkfs,
//! mount, run, unmount, detach. By construction nothing outlives the process: the image
//! has no name, the loop device clears itself, the mount is attached nowhere.
//!
//! A pass is cold because the file system was not mounted a moment before.

use super::directory::counted;
use super::image;
use super::loop_device::LoopDevice;
use super::mkfs::FileSystem;
use super::mount::mount_detached;
use super::{Backend, CountedDevice, Host, failed};
use crate::account::LoopWorkers;
use crate::clock::HostClock;
use crate::device::{DeviceNumber, Tree};
use crate::drive::Control;
use model::doubt::{Code, Doubt};
use model::seam::{DeviceRole, PreparedTarget, SubjectError};
use std::collections::BTreeSet;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;

/// What to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FreshPlan {
    /// Which file system.
    pub file_system: &'static FileSystem,
    /// Its block size in bytes.
    pub block_bytes: u64,
    /// Bytes of each drive's image.
    pub image_bytes: u64,
    /// How many drives run at once.
    pub drives: usize,
    /// Where the images lie: one directory a drive, begun anew when there are fewer.
    pub at: Vec<PathBuf>,
    /// Mount options.
    pub options: Vec<String>,
    /// The device of the one drive, in the place of an image: whoever names it has made it, and
    /// nobody else's data are on it.
    pub device: Option<PathBuf>,
}

/// One drive: its image, its loop device, its mount.
struct Drive {
    /// Dropped before the device: closing it unmounts.
    mounted: Option<Arc<OwnedFd>>,
    /// Where the device is.
    path: PathBuf,
    /// The loop device over an image, where there is one.
    image: Option<Image>,
}

/// An image under its loop device.
struct Image {
    _device: LoopDevice,
    _file: OwnedFd,
    /// Where the image's bytes end up.
    directory: PathBuf,
}

/// A fresh file system's backend.
pub struct FreshSite {
    plan: FreshPlan,
    drives: Vec<Drive>,
    devices: Vec<CountedDevice>,
    /// None where this machine does not let us see what the loop devices' workers cost.
    workers: Option<LoopWorkers>,
}

/// A fresh file system as a subject.
pub type Fresh = Host<FreshSite>;

impl Fresh {
    /// A fresh file system, made when it is prepared.
    pub fn new(plan: FreshPlan, clock: HostClock, control: Arc<Control>) -> Self {
        Host::over(
            FreshSite { plan, drives: vec![], devices: vec![], workers: None },
            clock,
            control,
        )
    }

    /// The root directories of the mounted drives, for a peer that is to measure the same place.
    pub fn roots(&self) -> Vec<Arc<OwnedFd>> {
        self.backend.drives.iter().filter_map(|drive| drive.mounted.clone()).collect()
    }
}

/// Whether this user may make a fresh file system.
/// Errors: `Unavailable`, with what to do.
pub fn may_be_made() -> Result<(), SubjectError> {
    let sentence =
        "fresh: needs root for a loop device and a mount; run as root or name a directory";
    match rustix::process::geteuid().is_root() {
        true => Ok(()),
        false => Err(SubjectError::Unavailable(sentence.into())),
    }
}

impl FreshSite {
    fn make_drive(&self, number: usize, control: &Control) -> Result<Drive, SubjectError> {
        let plan = &self.plan;
        may_be_made()?;
        // Before the image, which takes long to write.
        plan.file_system.installed()?;
        let (path, image) = match &plan.device {
            Some(path) => (path.clone(), None),
            None => self.make_image(number, control)?,
        };
        plan.file_system.make(plan.block_bytes, &path)?;
        let mut drive = Drive { mounted: None, path, image };
        drive.mount(plan)?;
        Ok(drive)
    }

    fn make_image(
        &self,
        number: usize,
        control: &Control,
    ) -> Result<(PathBuf, Option<Image>), SubjectError> {
        let plan = &self.plan;
        let directory = plan
            .at
            .get(number % plan.at.len().max(1))
            .ok_or_else(|| SubjectError::Unavailable("at= names no directory".into()))?;
        let image = image::make(directory, plan.image_bytes, control)?;
        let device = LoopDevice::attach(image.as_fd())?;
        let path = device.path.clone();
        let directory = directory.clone();
        Ok((path, Some(Image { _device: device, _file: image, directory })))
    }

    /// Each drive's loop device, and the lowest devices beneath all images.
    fn count_devices(&mut self) -> Result<Vec<Doubt>, SubjectError> {
        let mut doubts = Vec::new();
        let mut beneath = Vec::new();
        self.devices.clear();
        for drive in &self.drives {
            let stat = rustix::fs::stat(&drive.path).map_err(failed("look at the loop device"))?;
            let number = DeviceNumber::from_dev(stat.st_rdev);
            self.devices.push(CountedDevice { number, role: DeviceRole::Tested });
            let Some(image) = &drive.image else { continue };
            let lowest: Vec<_> = counted(&image.directory)
                .into_iter()
                .filter(|device| device.role == DeviceRole::Lowest)
                .collect();
            if lowest.is_empty() {
                let directory = image.directory.display().to_string();
                let values = [("directory", directory.into())];
                doubts.push(Doubt::new(Code::NoDeviceBeneathImage, values));
            }
            beneath.push(lowest);
        }
        let tree = Tree::system();
        let mut disks = BTreeSet::new();
        let mut lowest = BTreeSet::new();
        for device in beneath.into_iter().flatten() {
            let is_new = lowest.insert(device.number);
            let disk = tree.whole_disk(device.number).unwrap_or(device.number);
            disks.insert(disk);
            if is_new {
                self.devices.push(device);
            }
        }
        let has_images = self.drives.iter().all(|drive| drive.image.is_some());
        if has_images && self.drives.len() > 1 && disks.len() < self.drives.len() {
            let names: Vec<String> = disks
                .iter()
                .map(|disk| tree.name(*disk).unwrap_or_else(|_| disk.to_string()))
                .collect();
            let names =
                if names.is_empty() { "no disk that can be seen".into() } else { names.join(", ") };
            let values = [("drives", self.drives.len().into()), ("disks", names.into())];
            doubts.push(Doubt::new(Code::DrivesShareDisks, values));
        }
        Ok(doubts)
    }
}

impl Drive {
    fn mount(&mut self, plan: &FreshPlan) -> Result<(), SubjectError> {
        let root = mount_detached(
            plan.file_system.kernel_name,
            &self.path,
            plan.block_bytes,
            &plan.options,
        )?;
        self.mounted = Some(Arc::new(root));
        Ok(())
    }

    /// Unmounts by closing the last descriptor; a descriptor kept elsewhere would be a bug.
    fn unmount(&mut self) -> Result<(), SubjectError> {
        match self.mounted.take().map(Arc::try_unwrap) {
            Some(Err(_)) => Err(SubjectError::Failed("the file system is still in use".into())),
            _ => Ok(()),
        }
    }
}

impl Backend for FreshSite {
    fn prepare(&mut self, control: &Control) -> Result<PreparedTarget, SubjectError> {
        for number in 0..self.plan.drives {
            // ^C ends mkfs too, which then seems to refuse.
            let stopped =
                |error| if control.is_stopped() { SubjectError::Interrupted } else { error };
            let drive = self.make_drive(number, control).map_err(stopped)?;
            self.drives.push(drive);
        }
        let doubts = self.count_devices()?;
        // Not measured where it cannot be traced; `doctor` says why.
        self.workers = LoopWorkers::start().ok();
        let free = self
            .drives
            .iter()
            .filter_map(|drive| super::directory::free_bytes(drive.mounted.as_deref()?).ok());
        let root = self.drives.first().and_then(|drive| drive.mounted.as_ref());
        let mounted = root.map(|root| PathBuf::from(format!("/proc/self/fd/{}", root.as_raw_fd())));
        Ok(PreparedTarget {
            mounted,
            drives: self.drives.len(),
            capacity_bytes: free.min().unwrap_or(0),
            is_device: false,
            remounts: true,
            doubts,
            ..PreparedTarget::default()
        })
    }

    fn file(&self, drive: usize, name: &str) -> Result<(Arc<OwnedFd>, PathBuf), SubjectError> {
        let mounted = self.drives.get(drive).and_then(|drive| drive.mounted.clone());
        let root =
            mounted.ok_or_else(|| SubjectError::Failed("the drive is not mounted".into()))?;
        Ok((root, PathBuf::from(name)))
    }

    fn make_cold(&mut self, _files: &[(usize, String)]) -> Result<(), SubjectError> {
        for drive in &mut self.drives {
            drive.unmount()?;
            drive.mount(&self.plan)?;
        }
        Ok(())
    }

    fn devices(&self) -> &[CountedDevice] {
        &self.devices
    }

    fn has_test_bed(&self) -> bool {
        true
    }

    fn test_bed_ns(&self) -> Option<u64> {
        self.workers.as_ref()?.read_ns()
    }

    fn clean_up(&mut self) -> Result<(), SubjectError> {
        self.workers = None;
        self.devices.clear();
        self.drives.drain(..).try_for_each(|mut drive| drive.unmount())
    }
}
