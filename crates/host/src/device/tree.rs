//! The block devices and how they lie on each other, from sysfs.

use super::stat::SECTOR_BYTES;
use super::{BackingFile, BlockStat, DeviceError, DeviceNumber, FileIdentity, io, malformed};
use crate::kernel_file;
use std::collections::BTreeSet;
use std::fmt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

/// What a `stat` tells about a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathFacts {
    /// The path without links.
    pub canonical: PathBuf,
    /// Its `st_dev`: the file system that holds it.
    pub file_system: DeviceNumber,
    /// Its inode in that file system.
    pub inode: u64,
    /// The device that it is the node of, if it is the node of a block device.
    pub block: Option<DeviceNumber>,
}

type Stat = dyn Fn(&Path) -> std::io::Result<PathFacts> + Send + Sync;
type Contents =
    dyn Fn(&Tree, DeviceNumber, u64, usize) -> rustix::io::Result<Vec<u8>> + Send + Sync;
type Identify = dyn Fn(&Tree, DeviceNumber) -> rustix::io::Result<FileIdentity> + Send + Sync;

/// sysfs and procfs, under a root.
#[derive(Clone)]
pub struct Tree {
    root: PathBuf,
    stat: Arc<Stat>,
    identify: Arc<Identify>,
    contents: Arc<Contents>,
}

impl fmt::Debug for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tree").field("root", &self.root).finish_non_exhaustive()
    }
}

impl Tree {
    /// This machine.
    pub fn system() -> Self {
        Self::new("/")
    }

    /// A tree whose `sys`, `proc` and other paths lie under `root`.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        let root = root.into();
        let under = root.clone();
        let stat = Arc::new(move |path: &Path| stat_under(&under, path));
        let (identify, contents) = (Arc::new(super::loops::ask), Arc::new(super::lvm::read));
        Self { root, stat, identify, contents }
    }

    /// The same tree, but paths outside of sysfs and procfs are examined by
    /// `stat`: a fixture cannot make device nodes.
    pub fn with_stat<F>(self, stat: F) -> Self
    where
        F: Fn(&Path) -> std::io::Result<PathFacts> + Send + Sync + 'static,
    {
        Self { stat: Arc::new(stat), ..self }
    }

    /// The same tree, but loop devices are not asked for their files: `identify` tells.
    pub fn with_loop_files<F>(self, identify: F) -> Self
    where
        F: Fn(DeviceNumber) -> rustix::io::Result<FileIdentity> + Send + Sync + 'static,
    {
        Self { identify: Arc::new(move |_, device| identify(device)), ..self }
    }

    /// The same tree, but devices are not read: `contents` tells what is at an offset.
    pub fn with_contents<F>(self, contents: F) -> Self
    where
        F: Fn(DeviceNumber, u64, usize) -> rustix::io::Result<Vec<u8>> + Send + Sync + 'static,
    {
        let contents = move |_: &Self, device, offset, bytes| contents(device, offset, bytes);
        Self { contents: Arc::new(contents), ..self }
    }

    /// What a `stat` of `path` tells.
    /// Errors: the file system's refusal.
    pub fn facts(&self, path: &Path) -> std::io::Result<PathFacts> {
        (self.stat)(path)
    }

    /// The block device that a node is the node of. A node that cannot be
    /// examined (removed, or of another namespace) is taken by its name.
    pub fn device_at(&self, node: &Path) -> Option<DeviceNumber> {
        match self.facts(node) {
            Ok(facts) => facts.block,
            Err(_) => self.by_name(&node.strip_prefix("/dev").ok()?.to_string_lossy()),
        }
    }

    /// The device that the kernel calls `name`, such as `sda1`.
    pub fn by_name(&self, name: &str) -> Option<DeviceNumber> {
        let kernel_name = name.replace('/', "!");
        let folders = ["sys/class/block", "sys/block"];
        let files = folders.map(|folder| self.path(folder).join(&kernel_name).join("dev"));
        files.iter().find_map(|file| read_number(file).ok())
    }

    /// Every block device, partitions too, in the order of their numbers.
    /// Errors: sysfs cannot be listed.
    pub fn all(&self) -> Result<Vec<DeviceNumber>, DeviceError> {
        let folder = self.path("sys/dev/block");
        let mut devices: Vec<DeviceNumber> =
            names(&folder)?.iter().filter_map(|name| name.parse().ok()).collect();
        devices.sort_unstable();
        Ok(devices)
    }

    /// The kernel's name, as it stands in `/dev`: `sda1`, `dm-0`, `cciss/c0d0`.
    /// Errors: no such device.
    pub fn name(&self, device: DeviceNumber) -> Result<String, DeviceError> {
        let folder = self.folder(device)?;
        let uevent = std::fs::read_to_string(folder.join("uevent")).unwrap_or_default();
        let told = uevent.lines().find_map(|line| line.strip_prefix("DEVNAME="));
        Ok(told.map_or_else(|| file_name(&folder).replace('!', "/"), str::to_owned))
    }

    /// The name that device mapper knows it by, such as `vg-root`.
    /// Errors: no such device.
    pub fn label(&self, device: DeviceNumber) -> Result<Option<String>, DeviceError> {
        self.text(&self.folder(device)?.join("dm/name"))
    }

    /// Its size.
    /// Errors: no such device, or a size that is no number.
    pub fn size_bytes(&self, device: DeviceNumber) -> Result<u64, DeviceError> {
        let sectors: u64 = read_parsed(&self.folder(device)?.join("size"))?;
        Ok(sectors.saturating_mul(SECTOR_BYTES))
    }

    /// The smallest block that it reads or writes.
    /// Errors: no such device, or a size that is no number.
    pub fn logical_block_bytes(&self, device: DeviceNumber) -> Result<u64, DeviceError> {
        read_parsed(&self.queue(device)?.join("logical_block_size"))
    }

    /// Whether it is a part of another device, by a partition table.
    /// Errors: no such device.
    pub fn is_partition(&self, device: DeviceNumber) -> Result<bool, DeviceError> {
        Ok(self.folder(device)?.join("partition").exists())
    }

    /// The device that a partition is a part of; any other device itself.
    /// Errors: no such device, or a partition of none.
    pub fn whole_disk(&self, device: DeviceNumber) -> Result<DeviceNumber, DeviceError> {
        if !self.is_partition(device)? {
            return Ok(device);
        }
        let folder = self.folder(device)?;
        if let Some(number) = folder.parent().and_then(|p| read_number(&p.join("dev")).ok()) {
            return Ok(number);
        }
        self.disk_listing(&self.name(device)?).ok_or(DeviceError::Unknown(device))
    }

    /// The partitions that the kernel knows on it.
    /// Errors: no such device, or one of them has no number.
    pub fn partitions(&self, device: DeviceNumber) -> Result<Vec<DeviceNumber>, DeviceError> {
        let folder = self.folder(device)?;
        let below = names(&folder)?.into_iter().map(|name| folder.join(name));
        let partitions = below.filter(|entry| entry.join("partition").exists());
        sorted(partitions.map(|entry| read_number(&entry.join("dev"))))
    }

    /// What dm, md or bcache built directly on it.
    /// Errors: no such device, or one of them is not to be found.
    pub fn holders(&self, device: DeviceNumber) -> Result<Vec<DeviceNumber>, DeviceError> {
        self.linked(device, "holders")
    }

    /// What it was built on directly, by dm, md or bcache.
    /// Errors: no such device, or one of them is not to be found.
    pub fn slaves(&self, device: DeviceNumber) -> Result<Vec<DeviceNumber>, DeviceError> {
        self.linked(device, "slaves")
    }

    /// What its maker calls it.
    /// Errors: no such device.
    pub fn model(&self, device: DeviceNumber) -> Result<Option<String>, DeviceError> {
        self.text(&self.folder(self.whole_disk(device)?)?.join("device/model"))
    }

    /// The revision of its firmware, as its maker calls it (NVMe, SCSI, ATA).
    /// Errors: no such device.
    pub fn firmware(&self, device: DeviceNumber) -> Result<Option<String>, DeviceError> {
        let folder = self.folder(self.whole_disk(device)?)?.join("device");
        let found = [folder.join("firmware_rev"), folder.join("rev")].map(|path| self.text(&path));
        let [of_nvme, of_scsi] = found;
        Ok(of_nvme?.or(of_scsi?).filter(|text| !text.is_empty()))
    }

    /// The scheduler in force, such as `none` or `mq-deadline`.
    /// Errors: no such device.
    pub fn scheduler(&self, device: DeviceNumber) -> Result<Option<String>, DeviceError> {
        let text = self.text(&self.queue(device)?.join("scheduler"))?;
        Ok(text.map(|all| bracketed(&all).unwrap_or(&all).to_owned()))
    }

    /// Whether it turns.
    /// Errors: no such device.
    pub fn rotational(&self, device: DeviceNumber) -> Result<Option<bool>, DeviceError> {
        let text = self.text(&self.queue(device)?.join("rotational"))?;
        Ok(text.map(|flag| flag == "1"))
    }

    /// The name of its disk's driver, as sysfs has it; of what no bus drives its own name without
    /// the number (`loop`, `zram`).
    /// Errors: no such device.
    pub fn driver(&self, device: DeviceNumber) -> Result<String, DeviceError> {
        let disk = self.whole_disk(device)?;
        let link = std::fs::read_link(self.folder(disk)?.join("device/driver"));
        let name = link.ok().and_then(|to| Some(to.file_name()?.to_string_lossy().into_owned()));
        Ok(match name {
            Some(name) => name,
            None => self.name(disk)?.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned(),
        })
    }

    /// Whether its driver takes bios (dm, md, zram) rather than requests (blk-mq).
    /// Errors: no such device.
    pub fn takes_bios(&self, device: DeviceNumber) -> Result<bool, DeviceError> {
        Ok(!self.folder(self.whole_disk(device)?)?.join("mq").exists())
    }

    /// Whether it is a device of bcache.
    /// Errors: no such device.
    pub fn is_bcache(&self, device: DeviceNumber) -> Result<bool, DeviceError> {
        let folder = self.folder(self.whole_disk(device)?)?.join("bcache");
        // The devices beneath have such a folder, too, with what they are for it.
        Ok(folder.join("cache_mode").exists() && self.takes_bios(device)?)
    }

    /// A setting of its queue, such as `read_ahead_kb`, or `write_cache` (`write back` when it has
    /// a volatile cache that must be flushed); none where it has no such setting.
    /// Errors: no such device.
    pub fn queue_setting(
        &self,
        device: DeviceNumber,
        name: &str,
    ) -> Result<Option<String>, DeviceError> {
        self.text(&self.queue(device)?.join(name))
    }

    /// Its counters.
    /// Errors: no such device, or a line that is not understood.
    pub fn stat(&self, device: DeviceNumber) -> Result<BlockStat, DeviceError> {
        // By the link: to follow it ourselves takes the kernel a look at each folder.
        let path = self.link(device).join("stat");
        let text = self.text(&path)?.ok_or(DeviceError::Unknown(device))?;
        BlockStat::parse(&text).ok_or_else(|| malformed(&path, "not a line of 11 or more counters"))
    }

    /// Flushes that its disk completed, of all partitions, for none is counted of a partition; none
    /// where the kernel counts none, as of what takes bios (block/blk-flush.c, `flush_end_io`).
    /// Errors: no such device, or a line that is not understood.
    pub fn flushes(&self, device: DeviceNumber) -> Result<Option<u64>, DeviceError> {
        match self.takes_bios(device)? {
            true => Ok(None),
            false => Ok(self.stat(self.whole_disk(device)?)?.flush_requests),
        }
    }

    /// The devices at the bottom of what `device` is built on: through loop
    /// devices, dm, md and bcache, down to disks and partitions. A loop device
    /// on an unlinked file, or on a file of tmpfs, is its own bottom.
    /// Errors: no such device, or its stack cannot be read.
    pub fn lowest(&self, device: DeviceNumber) -> Result<Vec<DeviceNumber>, DeviceError> {
        let mut found = BTreeSet::new();
        self.descend(device, &mut BTreeSet::new(), &mut found)?;
        Ok(found.into_iter().collect())
    }

    fn descend(
        &self,
        device: DeviceNumber,
        visited: &mut BTreeSet<DeviceNumber>,
        found: &mut BTreeSet<DeviceNumber>,
    ) -> Result<(), DeviceError> {
        if !visited.insert(device) {
            return Ok(());
        }
        let beneath = self.beneath(device)?;
        if beneath.is_empty() {
            found.insert(device);
        }
        beneath.into_iter().try_for_each(|lower| self.descend(lower, visited, found))
    }

    /// What it lies on directly. A partition lies on what its disk lies on:
    /// a partition of a real disk on nothing, one of a loop device on its file.
    fn beneath(&self, device: DeviceNumber) -> Result<Vec<DeviceNumber>, DeviceError> {
        let disk = self.whole_disk(device)?;
        match self.loop_backing_file(disk)? {
            Some(file) => Ok(self.under_file(&file)?.into_iter().collect()),
            None => self.slaves(disk),
        }
    }

    fn under_file(&self, file: &BackingFile) -> Result<Option<DeviceNumber>, DeviceError> {
        if file.deleted {
            return Ok(None);
        }
        match self.facts(&file.path) {
            Ok(PathFacts { block: Some(device), .. }) => Ok(Some(device)),
            Ok(_) => self.device_of_path(&file.path),
            // A path of another namespace: the loop device is all that we know.
            Err(_) => Ok(None),
        }
    }

    pub(super) fn loop_identity(&self, device: DeviceNumber) -> rustix::io::Result<FileIdentity> {
        (self.identify)(self, device)
    }

    /// So many bytes of a device from an offset; fewer at its end.
    pub(super) fn contents(
        &self,
        device: DeviceNumber,
        offset: u64,
        bytes: usize,
    ) -> rustix::io::Result<Vec<u8>> {
        (self.contents)(self, device, offset, bytes)
    }

    /// Where a path of the tree really lies.
    pub(super) fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    pub(super) fn folder(&self, device: DeviceNumber) -> Result<PathBuf, DeviceError> {
        std::fs::canonicalize(self.link(device)).map_err(|_| DeviceError::Unknown(device))
    }

    fn link(&self, device: DeviceNumber) -> PathBuf {
        self.path("sys/dev/block").join(device.to_string())
    }

    /// Partitions have no queue of their own.
    fn queue(&self, device: DeviceNumber) -> Result<PathBuf, DeviceError> {
        Ok(self.folder(self.whole_disk(device)?)?.join("queue"))
    }

    pub(super) fn text(&self, path: &Path) -> Result<Option<String>, DeviceError> {
        match kernel_file::read(path) {
            Ok(text) => Ok(Some(text.trim().to_owned())),
            Err(e) if is_absent(&e) => Ok(None),
            Err(e) => Err(io("read", path)(e)),
        }
    }

    fn linked(
        &self,
        device: DeviceNumber,
        list: &'static str,
    ) -> Result<Vec<DeviceNumber>, DeviceError> {
        let folder = self.folder(device)?.join(list);
        let number = |name: String| {
            self.by_name(&name)
                .ok_or_else(|| malformed(&folder, format!("{name} is not a block device")))
        };
        sorted(names(&folder)?.into_iter().map(number))
    }

    /// The disk whose folder in `sys/block` lists the partition, for a tree
    /// whose entries in `sys/dev/block` are no links into `sys/devices`.
    fn disk_listing(&self, partition: &str) -> Option<DeviceNumber> {
        let disks = self.path("sys/block");
        let listing = names(&disks).ok()?.into_iter().map(|name| disks.join(name));
        let mut listing = listing.filter(|disk| disk.join(partition).is_dir());
        listing.find_map(|disk| read_number(&disk.join("dev")).ok())
    }
}

fn stat_under(root: &Path, path: &Path) -> std::io::Result<PathFacts> {
    let relative = path.strip_prefix("/").unwrap_or(path);
    let path = root.join(relative);
    // The link of an open file leads to it whatever its text says, so the file is examined first.
    let meta = std::fs::metadata(&path)?;
    let canonical = std::fs::canonicalize(&path).unwrap_or(path);
    let is_block = meta.file_type().is_block_device();
    let inside = canonical.strip_prefix(root).map(|inner| Path::new("/").join(inner));
    Ok(PathFacts {
        canonical: inside.unwrap_or(canonical),
        file_system: DeviceNumber::from_dev(meta.dev()),
        inode: meta.ino(),
        block: is_block.then(|| DeviceNumber::from_dev(meta.rdev())),
    })
}

/// The names in a folder; none when there is no such folder.
pub(super) fn names(folder: &Path) -> Result<Vec<String>, DeviceError> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(e) if is_absent(&e) => return Ok(Vec::new()),
        Err(e) => return Err(io("list", folder)(e)),
    };
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.map(|entry| entry.file_name().to_string_lossy().into_owned())
    };
    entries.map(|entry| name(entry).map_err(io("list", folder))).collect()
}

/// Not there, or there although what it tells of is gone (ENXIO, ENODEV).
fn is_absent(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    let gone = [rustix::io::Errno::NXIO, rustix::io::Errno::NODEV].map(|e| e.raw_os_error());
    matches!(error.kind(), NotFound | NotADirectory)
        || error.raw_os_error().is_some_and(|code| gone.contains(&code))
}

fn read_number(path: &Path) -> Result<DeviceNumber, DeviceError> {
    read_parsed(path)
}

pub(super) fn read_parsed<T: FromStr>(path: &Path) -> Result<T, DeviceError>
where
    T::Err: fmt::Display,
{
    let text = std::fs::read_to_string(path).map_err(io("read", path))?;
    text.trim().parse().map_err(|e| malformed(path, e))
}

fn sorted(
    devices: impl Iterator<Item = Result<DeviceNumber, DeviceError>>,
) -> Result<Vec<DeviceNumber>, DeviceError> {
    let set: BTreeSet<DeviceNumber> = devices.collect::<Result<_, _>>()?;
    Ok(set.into_iter().collect())
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// `none [mq-deadline] kyber` means mq-deadline.
fn bracketed(text: &str) -> Option<&str> {
    text.split_once('[')?.1.split_once(']').map(|(inside, _)| inside)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::Fixture;
    use super::*;

    const SDA: DeviceNumber = DeviceNumber::new(8, 0);
    const SDA1: DeviceNumber = DeviceNumber::new(8, 1);
    const SDB: DeviceNumber = DeviceNumber::new(8, 16);
    const DM0: DeviceNumber = DeviceNumber::new(253, 0);
    const LOOP0: DeviceNumber = DeviceNumber::new(7, 0);

    fn two_disks() -> Fixture {
        Fixture::new().disk("sda", 8, 0).partition("sda", "sda1", 8, 1).disk("sdb", 8, 16)
    }

    #[test]
    fn a_disk_tells_its_facts_and_its_partitions_share_them() {
        let tree = two_disks()
            .attribute("sda", "size", "16\n")
            .attribute("sda", "queue/logical_block_size", "4096\n")
            .attribute("sda", "queue/scheduler", "none [mq-deadline] kyber\n")
            .attribute("sda", "queue/rotational", "1\n")
            .attribute("sda", "queue/write_cache", "write back\n")
            .attribute("sda", "device/model", "RP06    \n")
            .attribute("sda", "device/rev", "3B2Q\n")
            .attribute("sda", "stat", "1 0 8 0 0 0 0 0 0 0 0\n")
            .tree();
        assert_eq!(tree.name(SDA1).unwrap(), "sda1");
        assert_eq!(tree.size_bytes(SDA).unwrap(), 8192);
        assert_eq!(tree.logical_block_bytes(SDA1).unwrap(), 4096);
        assert_eq!(tree.scheduler(SDA1).unwrap().as_deref(), Some("mq-deadline"));
        assert_eq!(tree.rotational(SDA1).unwrap(), Some(true));
        assert_eq!(tree.queue_setting(SDA, "write_cache").unwrap().as_deref(), Some("write back"));
        assert_eq!(tree.model(SDA1).unwrap().as_deref(), Some("RP06"));
        assert_eq!(tree.firmware(SDA1).unwrap().as_deref(), Some("3B2Q"));
        assert_eq!(tree.firmware(SDB).unwrap(), None);
        assert_eq!(tree.stat(SDA).unwrap().read_bytes, 4096);
        assert_eq!(tree.scheduler(SDB).unwrap(), None);
        assert_eq!(tree.all().unwrap(), [SDA, SDA1, SDB]);
    }

    #[test]
    fn flushes_are_a_disks_and_are_not_counted_of_what_takes_bios() {
        let stat = |flushes: u32| format!("1 0 8 0 0 0 0 0 0 0 0 0 0 0 0 {flushes} 0\n");
        let tree = two_disks()
            .attribute("sda", "mq/0/nr_tags", "32\n")
            .attribute("sda", "stat", &stat(7))
            .attribute("sda1", "stat", &stat(0))
            .attribute("sdb", "stat", &stat(0))
            .tree();
        let flushes = [SDA, SDA1, SDB].map(|device| tree.flushes(device).unwrap());
        assert_eq!(flushes, [Some(7), Some(7), None]);
    }

    #[test]
    fn partitions_and_disks_know_each_other() {
        let tree = two_disks().tree();
        assert!(tree.is_partition(SDA1).unwrap() && !tree.is_partition(SDA).unwrap());
        assert_eq!(tree.whole_disk(SDA1).unwrap(), SDA);
        assert_eq!(tree.whole_disk(SDB).unwrap(), SDB);
        assert_eq!(tree.partitions(SDA).unwrap(), [SDA1]);
        assert!(matches!(tree.name(DM0), Err(DeviceError::Unknown(DM0))));
    }

    #[test]
    fn a_tree_of_plain_folders_will_do() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("sys/dev/block/8:1/uevent", "MAJOR=8\nDEVNAME=sda1\n");
        write("sys/dev/block/8:1/partition", "1\n");
        write("sys/block/sda/dev", "8:0\n");
        write("sys/block/sda/sda1/dev", "8:1\n");
        assert_eq!(Tree::new(root.path()).whole_disk(SDA1).unwrap(), SDA);
    }

    #[test]
    fn an_exclamation_mark_is_a_slash() {
        let tree = Fixture::new().disk("cciss!c0d0", 104, 0).tree();
        let device = DeviceNumber::new(104, 0);
        assert_eq!(tree.name(device).unwrap(), "cciss/c0d0");
        assert_eq!(tree.by_name("cciss/c0d0"), Some(device));
    }

    #[test]
    fn a_volume_over_two_disks_lies_on_both() {
        let tree = two_disks().stacked("dm-0", 253, 0, &["sda1", "sdb"]).tree();
        assert_eq!(tree.slaves(DM0).unwrap(), [SDA1, SDB]);
        assert_eq!(tree.holders(SDA1).unwrap(), [DM0]);
        assert_eq!(tree.lowest(DM0).unwrap(), [SDA1, SDB]);
    }

    #[test]
    fn a_raid_over_partitions_lies_on_their_disks_once() {
        let tree = two_disks()
            .partition("sda", "sda2", 8, 2)
            .stacked("md0", 9, 0, &["sda1", "sda2"])
            .stacked("dm-0", 253, 0, &["md0"])
            .partition("md0", "md0p1", 259, 0)
            .tree();
        assert_eq!(tree.lowest(DM0).unwrap(), [SDA1, DeviceNumber::new(8, 2)]);
        let partition = DeviceNumber::new(259, 0);
        assert_eq!(tree.lowest(partition).unwrap(), [SDA1, DeviceNumber::new(8, 2)]);
    }

    #[test]
    fn a_loop_lies_where_its_file_lies() {
        let tree = two_disks()
            .mount(8, 1, "/", "ext4", "/dev/sda1")
            .file("/img", 8, 1, 42)
            .looped("loop0", 0, "/img")
            .looped("loop1", 1, "/dev/loop0")
            .tree();
        assert_eq!(tree.lowest(LOOP0).unwrap(), [SDA1]);
        assert_eq!(tree.lowest(DeviceNumber::new(7, 1)).unwrap(), [SDA1]);
    }

    #[test]
    fn a_loop_without_a_reachable_file_is_its_own_bottom() {
        let tree = two_disks()
            .mount(0, 40, "/tmp", "tmpfs", "tmpfs")
            .file("/tmp/img", 0, 40, 1)
            .looped("loop0", 0, "/gone (deleted)")
            .looped("loop1", 1, "/tmp/img")
            .looped("loop2", 2, "/of/another/namespace")
            .tree();
        let file = tree.loop_backing_file(LOOP0).unwrap().unwrap();
        assert_eq!(file, BackingFile { path: "/gone".into(), deleted: true });
        for minor in 0..3 {
            let device = DeviceNumber::new(7, minor);
            assert_eq!(tree.lowest(device).unwrap(), [device]);
        }
        assert_eq!(tree.loops().unwrap().len(), 3);
    }

    #[test]
    fn this_machine_can_be_read() {
        let tree = Tree::system();
        for device in tree.all().unwrap() {
            // Other tests make and remove devices meanwhile.
            if let Ok(name) = tree.name(device) {
                assert!(!name.is_empty());
            }
        }
        tree.mounts().unwrap();
        tree.swaps().unwrap();
    }
}
