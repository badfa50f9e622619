//! What is mounted, in every mount namespace that can be seen, and on which
//! block devices: `/proc/self/mountinfo` and those of the other processes.
//!
//! Non-goals: namespaces that no process is in, and mounts that were detached
//! lazily. The kernel shows neither; the guard's exclusive opens still meet them.

use super::{DeviceError, DeviceNumber, Tree, io, malformed};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// One mounted file system, at one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// The `st_dev` of its files; anonymous for tmpfs, overlay and btrfs.
    pub device: DeviceNumber,
    /// Which of its directories is mounted; `/` is its root.
    pub root: PathBuf,
    /// Where, as its process sees it.
    pub mount_point: PathBuf,
    /// `ext4`, `btrfs`, `tmpfs`…
    pub fs_type: String,
    /// What was mounted: often a device node, else a word of the file system's.
    pub source: PathBuf,
    /// The options of the mount, then those of the file system besides, with commas.
    pub options: String,
    /// The process in whose namespace it was found; none in our own.
    pub pid_seen_in: Option<u32>,
}

/// Every mount that could be seen at one moment, with its block devices.
#[derive(Debug, Clone, Default)]
pub struct MountTable {
    rows: Vec<(Mount, Vec<DeviceNumber>)>,
}

impl MountTable {
    /// The mounts and the block devices that each occupies.
    pub fn iter(&self) -> impl Iterator<Item = (&Mount, &[DeviceNumber])> {
        self.rows.iter().map(|(mount, devices)| (mount, devices.as_slice()))
    }

    /// A mount that occupies `device`, if any; one of our own namespace first.
    pub fn on(&self, device: DeviceNumber) -> Option<&Mount> {
        let here = self.iter().filter(|(_, devices)| devices.contains(&device));
        here.map(|(mount, _)| mount).min_by_key(|mount| mount.pid_seen_in)
    }

    /// The mount of our own namespace that holds this path without links.
    pub(crate) fn above(&self, canonical: &Path) -> Option<(&Mount, &[DeviceNumber])> {
        nearest(self.iter(), |(mount, _)| mount, canonical)
    }
}

/// A mounted btrfs file system, which may lie on several devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Btrfs {
    /// Its UUID, as sysfs writes it.
    pub(crate) uuid: String,
    /// All of its devices.
    pub(crate) members: Vec<DeviceNumber>,
}

impl Tree {
    /// Every mount in our namespace, and in those of the processes that we may
    /// look at. A process that ends meanwhile, or that is not ours to see, is
    /// passed over.
    /// Errors: our own mounts cannot be read, or some list is not understood.
    pub fn mounts(&self) -> Result<Vec<Mount>, DeviceError> {
        let own = self.path("proc/self/mountinfo");
        let bytes = std::fs::read(&own).map_err(io("read", &own))?;
        let own_view = view(&self.path("proc/self")).unwrap_or_else(|| by_text(&bytes));
        let mut seen = BTreeSet::from([own_view]);
        let mut mounts = parse(&bytes, None).map_err(|problem| malformed(&own, problem))?;
        for pid in self.pids()? {
            let process = self.path("proc").join(pid.to_string());
            let view = view(&process);
            if view.as_ref().is_some_and(|view| seen.contains(view)) {
                continue;
            }
            let path = process.join("mountinfo");
            let Ok(bytes) = std::fs::read(&path) else { continue };
            if seen.insert(view.unwrap_or_else(|| by_text(&bytes))) {
                mounts.extend(parse(&bytes, Some(pid)).map_err(|e| malformed(&path, e))?);
            }
        }
        Ok(mounts)
    }

    /// [`Tree::mounts`], each with the block devices that it occupies.
    /// Errors: as [`Tree::mounts`].
    pub fn mount_table(&self) -> Result<MountTable, DeviceError> {
        let btrfs = self.btrfs()?;
        let with_devices = |mount: Mount| {
            let devices = self.occupied_by(&mount, &btrfs);
            (mount, devices)
        };
        Ok(MountTable { rows: self.mounts()?.into_iter().map(with_devices).collect() })
    }

    /// The block device under the file system whose files have this `st_dev`;
    /// none for tmpfs, overlay, proc and their like. For btrfs, whose subvolumes
    /// have numbers of their own, prefer [`Tree::device_of_path`].
    /// Errors: the mounts cannot be read.
    pub fn device_of_file_system(
        &self,
        st_dev: DeviceNumber,
    ) -> Result<Option<DeviceNumber>, DeviceError> {
        if !st_dev.is_anonymous() {
            return Ok(Some(st_dev));
        }
        let mounts = self.mounts()?;
        Ok(mounts.iter().filter(|m| m.device == st_dev).find_map(|m| self.device_of_source(m)))
    }

    /// The block device under the file system that holds `path`. The files of a
    /// btrfs subvolume bear an `st_dev` that is in no list of mounts, so where
    /// the number is unknown the nearest mount point above the path decides.
    /// Errors: the path cannot be examined, or the mounts cannot be read.
    pub fn device_of_path(&self, path: &Path) -> Result<Option<DeviceNumber>, DeviceError> {
        let facts = self.facts(path).map_err(io("examine", path))?;
        if let Some(device) = self.device_of_file_system(facts.file_system)? {
            return Ok(Some(device));
        }
        let mounts = self.mounts()?;
        let nearest = nearest(mounts.iter(), |mount| mount, &facts.canonical);
        // Only btrfs numbers its files apart from its mount; an unknown number elsewhere is no
        // match.
        Ok(nearest.filter(|m| m.fs_type == "btrfs").and_then(|m| self.device_of_source(m)))
    }

    /// All block devices under the file system that holds `path`: several of a btrfs; none of
    /// tmpfs and its like.
    /// Errors: as [`Tree::device_of_path`].
    pub fn devices_of_path(&self, path: &Path) -> Result<Vec<DeviceNumber>, DeviceError> {
        let Some(first) = self.device_of_path(path)? else { return Ok(Vec::new()) };
        let whole = self.btrfs()?.into_iter().find(|btrfs| btrfs.members.contains(&first));
        Ok(whole.map_or_else(|| vec![first], |btrfs| btrfs.members))
    }

    /// The mounted btrfs file systems; sysfs lists them only while mounted.
    pub(crate) fn btrfs(&self) -> Result<Vec<Btrfs>, DeviceError> {
        let folder = self.path("sys/fs/btrfs");
        let mut found = Vec::new();
        for uuid in super::tree::names(&folder)? {
            let devices = folder.join(&uuid).join("devices");
            let names = super::tree::names(&devices)?;
            let members = names.iter().filter_map(|name| self.by_name(name)).collect();
            // The folder also holds `features` and the like, which have no devices.
            if devices.is_dir() {
                found.push(Btrfs { uuid, members });
            }
        }
        Ok(found)
    }

    /// The block device that a mount's source names, for one whose number is anonymous.
    fn device_of_source(&self, mount: &Mount) -> Option<DeviceNumber> {
        self.devices_of_source(mount).first().copied()
    }

    /// As above; bcachefs names all of its devices, with colons between. What
    /// does not begin with a slash (`server:/export`) is no device.
    fn devices_of_source(&self, mount: &Mount) -> Vec<DeviceNumber> {
        let text = mount.source.to_string_lossy();
        if !text.starts_with('/') {
            return Vec::new();
        }
        let paths = text.split(':').filter(|path| path.starts_with('/'));
        paths.filter_map(|path| self.device_at(Path::new(path))).collect()
    }

    fn occupied_by(&self, mount: &Mount, btrfs: &[Btrfs]) -> Vec<DeviceNumber> {
        if !mount.device.is_anonymous() {
            return vec![mount.device];
        }
        let mut devices = self.devices_of_source(mount);
        if let Some(first) = devices.first()
            && let Some(whole) = btrfs.iter().find(|b| b.members.contains(first))
        {
            devices.extend(&whole.members);
        }
        devices
    }

    pub(super) fn pids(&self) -> Result<Vec<u32>, DeviceError> {
        let names = super::tree::names(&self.path("proc"))?;
        let mut pids: Vec<u32> = names.iter().filter_map(|name| name.parse().ok()).collect();
        pids.sort_unstable();
        Ok(pids)
    }
}

/// Of rows with a mount each, the one whose mount of our own namespace holds a path.
fn nearest<'a, T>(
    rows: impl Iterator<Item = T>,
    mount: impl Fn(&T) -> &'a Mount,
    canonical: &Path,
) -> Option<T> {
    let own = rows.filter(|row| mount(row).pid_seen_in.is_none());
    let above = own.filter(|row| canonical.starts_with(&mount(row).mount_point));
    // Of two mounts at one place the later covers the earlier, and `max_by_key` takes the later.
    above.max_by_key(|row| mount(row).mount_point.components().count())
}

/// Two processes in one namespace and under one root see the same mounts (under
/// another root they do not: mountinfo leaves out what lies outside). None where
/// the links may not be read.
fn view(process: &Path) -> Option<(PathBuf, Vec<u8>)> {
    let link = |name: &str| std::fs::read_link(process.join(name)).ok();
    Some((link("ns/mnt")?, link("root")?.into_os_string().into_vec()))
}

/// There, the text itself tells.
fn by_text(mountinfo: &[u8]) -> (PathBuf, Vec<u8>) {
    (PathBuf::new(), mountinfo.to_vec())
}

fn parse(bytes: &[u8], pid: Option<u32>) -> Result<Vec<Mount>, String> {
    let lines = bytes.split(|&b| b == b'\n').filter(|line| !line.is_empty());
    let parse = |line| {
        parse_line(line, pid)
            .ok_or_else(|| format!("\"{}\" is no mount", String::from_utf8_lossy(line)))
    };
    lines.map(parse).collect()
}

/// `id parent major:minor root mount-point options tags… - type source super-options`,
/// with one space between: a source may be empty.
fn parse_line(line: &[u8], pid: Option<u32>) -> Option<Mount> {
    let mut words = line.split(|&b| b == b' ');
    let device = std::str::from_utf8(words.nth(2)?).ok()?.parse().ok()?;
    let root = PathBuf::from(unescape(words.next()?));
    let mount_point = PathBuf::from(unescape(words.next()?));
    let mount_options = words.next()?;
    words.find(|word| word == b"-")?;
    let fs_type = text(words.next()?);
    let source = PathBuf::from(unescape(words.next()?));
    let (own, of_fs) = (text(mount_options), words.next().map(text).unwrap_or_default());
    let mut options: Vec<&str> = own.split(',').collect();
    // That a file system is writable says nothing of a mount that is not, and else nothing new.
    let is_new = |option: &&str| !option.is_empty() && *option != "rw" && !options.contains(option);
    options.append(&mut of_fs.split(',').filter(is_new).collect());
    let options = options.join(",");
    Some(Mount { device, root, mount_point, fs_type, source, options, pid_seen_in: pid })
}

fn text(escaped: &[u8]) -> String {
    unescape(escaped).to_string_lossy().into_owned()
}

/// Undoes the kernel's `\ooo` for spaces, tabs, newlines and backslashes.
pub(super) fn unescape(escaped: &[u8]) -> OsString {
    let mut plain = Vec::with_capacity(escaped.len());
    let mut rest = escaped;
    while let Some((&first, tail)) = rest.split_first() {
        let octal = (first == b'\\').then(|| octal_byte(tail)).flatten();
        plain.push(octal.unwrap_or(first));
        rest = if octal.is_some() { &tail[3..] } else { tail };
    }
    OsString::from_vec(plain)
}

fn octal_byte(text: &[u8]) -> Option<u8> {
    let digits = std::str::from_utf8(text.get(..3)?).ok()?;
    digits.bytes().all(|b| b.is_ascii_digit()).then(|| u8::from_str_radix(digits, 8).ok())?
}

#[cfg(test)]
mod tests {
    use super::super::fixture::Fixture;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_line_is_taken_apart() {
        let line = b"36 35 98:0 /root /mnt/a\\040b rw,noatime master:1 - ext4 \
            /dev/sd\\134a rw,errors=continue\n";
        let mount = parse(line, Some(7)).unwrap().remove(0);
        assert_eq!(mount.device, DeviceNumber::new(98, 0));
        assert_eq!(mount.root, Path::new("/root"));
        assert_eq!(mount.mount_point, Path::new("/mnt/a b"));
        assert_eq!(mount.source, Path::new("/dev/sd\\a"));
        assert_eq!((mount.fs_type.as_str(), mount.pid_seen_in), ("ext4", Some(7)));
        assert_eq!(mount.options, "rw,noatime,errors=continue");
    }

    #[test]
    fn a_source_may_be_empty_and_tags_may_be_none() {
        let mount = parse(b"1 2 0:5 / /t rw - tmpfs  rw", None).unwrap().remove(0);
        assert_eq!((mount.source.as_os_str().len(), mount.options.as_str()), (0, "rw"));
        assert!(parse(b"1 2 0:5 / /t rw tmpfs none rw", None).is_err());
        let mount = parse(b"1 2 0:5 / /t ro - ext4 /dev/vda ro,errors=continue", None).unwrap();
        assert_eq!(mount[0].options, "ro,errors=continue");
    }

    #[test]
    fn what_is_no_escape_stays() {
        assert_eq!(unescape(b"a\\09"), "a\\09");
        assert_eq!(unescape(b"\\777\\+12"), "\\777\\+12");
        assert_eq!(unescape(b"\\"), "\\");
    }

    #[test]
    fn namespaces_are_read_once_and_others_are_named() {
        let fixture = Fixture::new().disk("sda", 8, 0).mount(8, 0, "/", "ext4", "/dev/sda");
        let own = "1 0 8:0 / / rw - ext4 /dev/sda rw\n";
        let other = "9 0 8:16 / /inner rw - xfs /dev/sdb rw\n";
        let tree = fixture
            .process("self", "mnt:[1]", "/")
            .process_mounts(10, "mnt:[1]", "/", own)
            .process_mounts(11, "mnt:[2]", "/", other)
            .process_mounts(12, "mnt:[2]", "/", other)
            .tree();
        let mounts = tree.mounts().unwrap();
        let seen: Vec<_> = mounts.iter().map(|m| m.pid_seen_in).collect();
        assert_eq!(seen, [None, Some(11)]);
    }

    #[test]
    fn a_chroot_in_the_same_namespace_is_another_view() {
        let tree = Fixture::new()
            .mount(0, 5, "/", "tmpfs", "tmpfs")
            .process("self", "mnt:[1]", "/jail")
            .process_mounts(1, "mnt:[1]", "/", "1 0 8:0 / /data rw - ext4 /dev/sda rw\n")
            .tree();
        assert_eq!(tree.mounts().unwrap().len(), 2);
    }

    #[test]
    fn btrfs_is_resolved_by_its_source_and_lies_on_all_members() {
        let tree = Fixture::new()
            .disk("sda", 8, 0)
            .disk("sdb", 8, 16)
            .btrfs("uuid-1", &["sda", "sdb"])
            .mount(0, 33, "/data", "btrfs", "/dev/sda")
            .mount(0, 34, "/tmp", "tmpfs", "tmpfs")
            .tree();
        let (sda, sdb) = (DeviceNumber::new(8, 0), DeviceNumber::new(8, 16));
        assert_eq!(tree.device_of_file_system(DeviceNumber::new(0, 33)).unwrap(), Some(sda));
        assert_eq!(tree.device_of_file_system(DeviceNumber::new(0, 34)).unwrap(), None);
        assert_eq!(tree.device_of_file_system(sdb).unwrap(), Some(sdb));
        let table = tree.mount_table().unwrap();
        assert_eq!(table.on(sdb).unwrap().mount_point, Path::new("/data"));
    }

    #[test]
    fn sources_with_colons_are_several_devices_or_a_server() {
        let tree = Fixture::new()
            .disk("sda", 8, 0)
            .disk("sdb", 8, 16)
            .disk("sdc", 8, 32)
            .mount(0, 50, "/data", "bcachefs", "/dev/sda:/dev/sdb")
            .mount(0, 51, "/net", "nfs", "server:/dev/sdc")
            .tree();
        let table = tree.mount_table().unwrap();
        let occupied = |minor| table.on(DeviceNumber::new(8, minor)).is_some();
        assert_eq!([0, 16, 32].map(occupied), [true, true, false]);
    }

    #[test]
    fn a_btrfs_subvolume_is_resolved_by_its_path() {
        let tree = Fixture::new()
            .disk("sda", 8, 0)
            .mount(0, 20, "/", "overlay", "overlay")
            .mount(0, 33, "/data", "btrfs", "/dev/sda")
            .file("/data/sub/f", 0, 77, 1)
            .file("/elsewhere", 0, 78, 1)
            .tree();
        let device = tree.device_of_path(Path::new("/data/sub/f")).unwrap();
        assert_eq!(device, Some(DeviceNumber::new(8, 0)));
        assert_eq!(tree.device_of_path(Path::new("/elsewhere")).unwrap(), None);
    }

    #[test]
    fn a_path_lies_on_all_devices_of_a_btrfs() {
        let tree = Fixture::new()
            .disk("sda", 8, 0)
            .disk("sdb", 8, 16)
            .disk("sdc", 8, 32)
            .btrfs("12-34", &["sda", "sdb"])
            .mount(0, 33, "/data", "btrfs", "/dev/sda")
            .mount(8, 32, "/one", "ext4", "/dev/sdc")
            .file("/data/f", 0, 33, 1)
            .file("/one/f", 8, 32, 1)
            .tree();
        let under = |path: &str| {
            let mut devices = tree.devices_of_path(Path::new(path)).unwrap();
            devices.sort_unstable();
            devices.iter().map(|device| device.minor).collect::<Vec<_>>()
        };
        assert_eq!((under("/data/f"), under("/one/f")), (vec![0, 16], vec![32]));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse(&bytes, None);
            let _ = unescape(&bytes);
        }

        #[test]
        fn nothing_like_a_mount_panics(line in "[0-9 :/a-z\\\\-]{0,80}") {
            let _ = parse(line.as_bytes(), None);
        }
    }
}
