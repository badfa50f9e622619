//! The loop devices and the files under them. A file is known by what `LOOP_GET_STATUS64` tells
//! of it: the path in sysfs is of the namespace that set the device up, and may lead elsewhere or
//! nowhere by now. It serves to be shown, and to find the device beneath for counting.

use super::loop_info::LoopInfo;
use super::{DeviceError, DeviceNumber, PathFacts, Tree};
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::path::PathBuf;
use std::time::Duration;

/// Which file it is, by whatever path and in whatever namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileIdentity {
    /// The `st_dev` of the file system that holds it.
    pub file_system: DeviceNumber,
    /// Its inode in that file system.
    pub inode: u64,
    /// The device that it is the node of, if it is the node of a block device.
    pub block: Option<DeviceNumber>,
    /// It is what lbolt itself serves as a modelled device: no other file is it.
    pub is_served: bool,
}

impl From<&PathFacts> for FileIdentity {
    fn from(facts: &PathFacts) -> Self {
        Self {
            file_system: facts.file_system,
            inode: facts.inode,
            block: facts.block,
            is_served: false,
        }
    }
}

/// What sysfs calls the file under a loop device.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct BackingFile {
    /// Its path when the loop device was set up.
    pub path: PathBuf,
    /// Whether that path was unlinked since: the file lives, its name does not.
    pub deleted: bool,
}

/// A loop device that is set up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loop {
    /// Which device.
    pub device: DeviceNumber,
    /// Its file, as sysfs calls it.
    pub file: BackingFile,
    /// Which file that is.
    pub identity: FileIdentity,
}

impl Tree {
    /// Whether it is a loop device whose requests go through the page cache of its file.
    /// Errors: no such device.
    pub fn is_cached_loop(&self, device: DeviceNumber) -> Result<bool, DeviceError> {
        let direct = self.folder(self.whole_disk(device)?)?.join("loop/dio");
        Ok(self.text(&direct)?.as_deref() == Some("0"))
    }

    /// The file under a loop device; none for other devices and for a loop
    /// device that is not set up.
    /// Errors: no such device.
    pub fn loop_backing_file(
        &self,
        device: DeviceNumber,
    ) -> Result<Option<BackingFile>, DeviceError> {
        let path = self.folder(device)?.join("loop/backing_file");
        let Some(text) = self.text(&path)? else { return Ok(None) };
        Ok(Some(match text.strip_suffix(" (deleted)") {
            Some(path) => BackingFile { path: path.into(), deleted: true },
            None => BackingFile { path: text.into(), deleted: false },
        }))
    }

    /// Every loop device that is set up, with its file.
    /// Errors: sysfs cannot be read, or one of them does not tell which file it lies on.
    pub fn loops(&self) -> Result<Vec<Loop>, DeviceError> {
        let mut loops = Vec::new();
        for device in self.all()? {
            match self.loop_at(device) {
                Ok(found) => loops.extend(found),
                // Taken down since it was listed.
                Err(DeviceError::Unknown(_)) => {}
                Err(other) => return Err(other),
            }
        }
        Ok(loops)
    }

    fn loop_at(&self, device: DeviceNumber) -> Result<Option<Loop>, DeviceError> {
        let mut tries = 0;
        loop {
            let Some(file) = self.loop_backing_file(device)? else { return Ok(None) };
            match self.loop_identity(device) {
                Ok(identity) => return Ok(Some(Loop { device, file, identity })),
                // Just being set up or taken down: a moment later it is either.
                Err(Errno::NXIO | Errno::NODEV) if tries < TRIES => {
                    tries += 1;
                    std::thread::sleep(PAUSE);
                }
                Err(errno) => {
                    let name = self.name(device)?;
                    return Err(DeviceError::LoopFile { name, source: errno.into() });
                }
            }
        }
    }
}

/// A second in all.
const TRIES: u32 = 200;
const PAUSE: Duration = Duration::from_millis(5);

/// Asks the device itself.
pub(super) fn ask(tree: &Tree, device: DeviceNumber) -> rustix::io::Result<FileIdentity> {
    let info = LoopInfo::of(tree.open_device(device, OFlags::RDONLY)?)?;
    // The kernel's encoding of 64 bits, in which its device numbers of 32 bits look as in `stat`.
    let [file_system, block] = [info.device, info.rdevice].map(DeviceNumber::from_dev);
    match (file_system, info.inode) {
        (DeviceNumber { major: 0, minor: 0 }, 0) => Err(Errno::NODATA),
        (file_system, inode) => {
            let is_served = info.is_served() && file_system.is_anonymous();
            let block = (info.rdevice != 0).then_some(block);
            Ok(FileIdentity { file_system, inode, block, is_served })
        }
    }
}
