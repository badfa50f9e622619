//! Files by their numbers: what they are called; and where a path of a file system is seen.
//!
//! First by the files that processes have open, which names also those that are deleted; then by
//! walking the directories of the file systems that they are on, whose entries tell their inodes,
//! for a limited time.
//!
//! Source: proc(5): /proc/PID/fd; readdir(3).
//!
//! Non-goals: all names of a file that has several.

use crate::device::{Mount, Tree};
use crate::generation::generation;
use crate::pod::on_volume;
use crate::process::numbers;
use model::record::{FileNumber, device_number};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::os::unix::fs::{DirEntryExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A name of each file for which one was found.
pub type Names = BTreeMap<FileNumber, PathBuf>;

/// Looks for files among those that are open.
pub fn find_open(wanted: &BTreeSet<FileNumber>, names: &mut Names) {
    numbers().for_each(|process| find_open_in(process, wanted, names));
}

/// The same among those that one process has open.
pub fn find_open_in(process: u32, wanted: &BTreeSet<FileNumber>, names: &mut Names) {
    let open = std::fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
    open.for_each(|entry| look_at(&entry.path(), wanted, names));
}

/// Where the file systems are mounted whose files were asked for, as it was when each was first.
#[derive(Debug, Clone, Default)]
pub struct Mounted(BTreeMap<u32, Vec<Mount>>);

impl Mounted {
    /// A path within a file system as it is seen: where a directory above it is mounted, in our
    /// own namespace if it is, and at the whole file system's mount rather than at a part's. A
    /// volume of a pod is called by its name. Of what is mounted nowhere it is left as it is.
    pub fn seen(&mut self, tree: &Tree, file_system: u32, path: &str) -> String {
        let mounts = self.0.entry(file_system).or_insert_with(|| {
            let mut mounts = tree.mounts().unwrap_or_default();
            mounts.retain(|mount| number_of(mount) == Some(file_system));
            mounts.sort_by_key(|mount| {
                let is_volume = on_volume(&mount.mount_point.to_string_lossy()).is_some();
                (!is_volume, mount.pid_seen_in.is_some(), mount.root.components().count())
            });
            mounts
        });
        let at = |mount: &Mount| {
            let below = Path::new(path).strip_prefix(&mount.root).ok()?;
            Some(match below == Path::new("") {
                true => mount.mount_point.clone(),
                false => mount.mount_point.join(below),
            })
        };
        let seen = mounts.iter().find_map(at);
        let seen = seen.map_or_else(|| path.to_owned(), |seen| seen.to_string_lossy().into_owned());
        on_volume(&seen).unwrap_or(seen)
    }
}

/// The number of the file system that is mounted.
fn number_of(mount: &Mount) -> Option<u32> {
    device_number(mount.device.major, mount.device.minor)
}

fn look_at(entry: &Path, wanted: &BTreeSet<FileNumber>, names: &mut Names) {
    // Sockets and pipes are no paths; to ask a file of another machine could take for ever.
    let path = std::fs::read_link(entry).ok().filter(|path| path.is_absolute());
    let Some(path) = path else { return };
    let is_in = |start| path.starts_with(start);
    if ["/dev", "/proc", "/sys"].into_iter().any(is_in) {
        return;
    }
    let Ok(data) = std::fs::metadata(entry) else { return };
    let Some(file_system) = file_system_of(&data) else { return };
    for number in meant(wanted, file_system, data.ino(), entry) {
        names.entry(number).or_insert_with(|| path.clone());
    }
}

fn file_system_of(data: &Metadata) -> Option<u32> {
    let dev = data.dev();
    device_number(rustix::fs::major(dev), rustix::fs::minor(dev))
}

/// Which of the wanted files have this inode: the one of its generation, where that is known.
fn meant(
    wanted: &BTreeSet<FileNumber>,
    file_system: u32,
    inode: u64,
    path: &Path,
) -> Vec<FileNumber> {
    let of = |generation| FileNumber { file_system, inode, generation };
    let alike: Vec<FileNumber> = wanted.range(of(0)..=of(u32::MAX)).copied().collect();
    let known = if alike.is_empty() { None } else { generation(path) };
    let is_it = |number: &FileNumber| known.is_none_or(|known| known == number.generation);
    alike.into_iter().filter(is_it).collect()
}

/// Looks for the names of files on mounted file systems, for so long; whether all was looked at.
pub fn find_named(
    tree: &Tree,
    wanted: &BTreeSet<FileNumber>,
    most: Duration,
    names: &mut Names,
) -> bool {
    let deadline = Instant::now() + most;
    let mounts = tree.mounts().unwrap_or_default();
    let devices: BTreeSet<u32> = wanted.iter().map(|number| number.file_system).collect();
    let mut is_whole = true;
    for device in devices {
        let is_it = |mount: &&Mount| number_of(mount) == Some(device);
        let is_left = |n: &&FileNumber| n.file_system == device && !names.contains_key(*n);
        let mut left: BTreeSet<FileNumber> = wanted.iter().filter(is_left).copied().collect();
        for mount in mounts.iter().filter(is_it) {
            // Of another namespace: as its processes see it.
            let base = mount
                .pid_seen_in
                .map_or(PathBuf::new(), |pid| PathBuf::from(format!("/proc/{pid}/root")));
            let inside = mount.mount_point.strip_prefix("/").unwrap_or(&mount.mount_point);
            let root =
                if base == Path::new("") { mount.mount_point.clone() } else { base.join(inside) };
            let named = |number, path: PathBuf| {
                let path = path.strip_prefix(&base).map(|path| Path::new("/").join(path));
                names.extend(path.ok().map(|path| (number, path)));
            };
            is_whole &= walk(&root, device, &mut left, deadline, named);
        }
    }
    is_whole
}

/// Walks one file system until all files are found; whether time was enough.
fn walk(
    root: &Path,
    device: u32,
    left: &mut BTreeSet<FileNumber>,
    deadline: Instant,
    mut named: impl FnMut(FileNumber, PathBuf),
) -> bool {
    let is_of_device = |path: &Path| {
        let data = std::fs::symlink_metadata(path).ok();
        data.and_then(|data| file_system_of(&data)) == Some(device)
    };
    let mut open = vec![root.to_owned()];
    while let Some(directory) = open.pop().filter(|_| !left.is_empty()) {
        if Instant::now() > deadline {
            return false;
        }
        if !is_of_device(&directory) {
            continue;
        }
        for entry in std::fs::read_dir(&directory).into_iter().flatten().flatten() {
            for number in meant(left, device, entry.ino(), &entry.path()) {
                left.remove(&number);
                named(number, entry.path());
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push(entry.path());
            }
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::fixture::Fixture;

    fn number_at(path: &Path) -> FileNumber {
        let data = std::fs::metadata(path).unwrap();
        FileNumber {
            file_system: file_system_of(&data).unwrap(),
            inode: data.ino(),
            generation: generation(path).unwrap_or(0),
        }
    }

    #[test]
    fn a_path_is_seen_where_its_file_system_is_mounted() {
        let other = "9 0 8:0 / /hidden rw - ext4 /dev/sda rw\n\
            9 0 8:16 /part /part rw - xfs /dev/sdb rw\n\
            9 0 8:16 / /there rw - xfs /dev/sdb rw\n\
            9 0 0:40 /@sub /sub rw - btrfs /dev/sdc rw\n\
            9 0 8:48 / /var/lib/kubelet/plugins/x/globalmount rw - ext4 /dev/sdd rw\n\
            9 0 8:48 / /var/lib/kubelet/pods/u/volumes/kubernetes.io~csi/pvc-1/mount rw - ext4 \
            /dev/sdd rw\n";
        let tree = Fixture::new()
            .process("self", "mnt:[1]", "/")
            .mount(8, 0, "/mnt\\040a", "ext4", "/dev/sda")
            .process_mounts(10, "mnt:[2]", "/", other)
            .tree();
        let number = |major, minor| device_number(major, minor).unwrap();
        let mut mounted = Mounted::default();
        let mut seen = |of, path| mounted.seen(&tree, of, path);
        assert_eq!(seen(number(8, 0), "/data/f"), "/mnt a/data/f", "in our own");
        assert_eq!(seen(number(8, 0), "/"), "/mnt a");
        let deleted = "/part/f (deleted)";
        assert_eq!(seen(number(8, 16), deleted), format!("/there{deleted}"), "by the whole one");
        assert_eq!(seen(number(0, 40), "/@sub/f"), "/sub/f");
        assert_eq!(seen(number(0, 40), "/@subs/f"), "/@subs/f", "of another part");
        assert_eq!(seen(number(8, 48), "/base/1"), "pvc-1:/base/1", "on a pod's volume");
        assert_eq!(seen(number(8, 32), "/f"), "/f", "nowhere");
    }

    #[test]
    fn an_open_file_has_its_name_even_when_it_is_deleted() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let file = std::fs::File::create(&path).unwrap();
        let number = number_at(&path);
        std::fs::remove_file(&path).unwrap();
        let mut names = Names::new();
        find_open(&BTreeSet::from([number]), &mut names);
        assert!(names[&number].to_string_lossy().ends_with("log (deleted)"));
        drop(file);
        names.clear();
        find_open(&BTreeSet::from([number]), &mut names);
        assert!(names.is_empty());
    }

    #[test]
    fn a_closed_file_is_found_by_its_inode_within_the_time() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a/b");
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join("heap"), "").unwrap();
        let number = number_at(&path.join("heap"));
        let another = FileNumber { generation: !number.generation, ..number };
        let mut names = Vec::new();
        let far = Instant::now() + Duration::from_secs(60);
        let mut left = BTreeSet::from([number, another]);
        let device = number.file_system;
        assert!(walk(directory.path(), device, &mut left, far, |n, path| names.push((n, path))));
        if generation(&path.join("heap")).is_some() {
            assert_eq!(names, [(number, path.join("heap"))]);
            assert_eq!(left, BTreeSet::from([another]), "it has only had the same inode");
        }
        let mut left = BTreeSet::from([number]);
        let past = Instant::now() - Duration::from_secs(1);
        assert!(!walk(directory.path(), device, &mut left, past, |_, _| ()));
    }
}
