//! Files by their numbers: what they are called.
//!
//! First by the files that processes have open, which names also those that are deleted; then by
//! walking the directories of the file systems that they are on, whose entries tell their inodes,
//! for a limited time.
//!
//! Source: proc(5): /proc/PID/fd; readdir(3).
//!
//! Non-goals: all names of a file that has several.

use crate::device::{Mount, Tree};
use model::record::device_number;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::os::unix::fs::{DirEntryExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A file: its file system's number, as `st_dev` has it in the kernel's form, and its inode.
pub type FileNumber = (u32, u64);

/// A name of each file for which one was found.
pub type Names = BTreeMap<FileNumber, PathBuf>;

/// Looks for files among those that are open.
pub fn find_open(wanted: &BTreeSet<FileNumber>, names: &mut Names) {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let number = |name: std::ffi::OsString| name.to_str().and_then(|name| name.parse().ok());
    for process in processes.filter_map(|process| number(process.file_name())) {
        find_open_in(process, wanted, names);
    }
}

/// The same among those that one process has open.
pub fn find_open_in(process: u32, wanted: &BTreeSet<FileNumber>, names: &mut Names) {
    let open = std::fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
    open.for_each(|entry| look_at(&entry.path(), wanted, names));
}

fn look_at(entry: &Path, wanted: &BTreeSet<FileNumber>, names: &mut Names) {
    // Sockets and pipes are no paths; to ask a file of another machine could take for ever.
    let path = std::fs::read_link(entry).ok().filter(|path| path.is_absolute());
    let Some(path) = path else { return };
    let is_in = |start| path.starts_with(start);
    if ["/dev", "/proc", "/sys"].into_iter().any(is_in) {
        return;
    }
    let number = std::fs::metadata(entry).ok().and_then(|data| number_of(&data));
    if let Some(number) = number.filter(|number| wanted.contains(number)) {
        names.entry(number).or_insert(path);
    }
}

fn number_of(data: &Metadata) -> Option<FileNumber> {
    let dev = data.dev();
    let device = device_number(rustix::fs::major(dev), rustix::fs::minor(dev))?;
    Some((device, data.ino()))
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
    let devices: BTreeSet<u32> = wanted.iter().map(|(device, _)| *device).collect();
    let mut is_whole = true;
    for device in devices {
        let is_it =
            |mount: &&Mount| device_number(mount.device.major, mount.device.minor) == Some(device);
        let inodes = wanted.iter().filter(|(of, _)| *of == device).map(|(_, inode)| *inode);
        let mut inodes: BTreeSet<u64> =
            inodes.filter(|inode| !names.contains_key(&(device, *inode))).collect();
        for mount in mounts.iter().filter(is_it) {
            // Of another namespace: as its processes see it.
            let base = mount
                .pid_seen_in
                .map_or(PathBuf::new(), |pid| PathBuf::from(format!("/proc/{pid}/root")));
            let inside = mount.mount_point.strip_prefix("/").unwrap_or(&mount.mount_point);
            let root =
                if base == Path::new("") { mount.mount_point.clone() } else { base.join(inside) };
            let named = |inode, path: PathBuf| {
                let path = path.strip_prefix(&base).map(|path| Path::new("/").join(path));
                names.extend(path.ok().map(|path| ((device, inode), path)));
            };
            is_whole &= walk(&root, device, &mut inodes, deadline, named);
        }
    }
    is_whole
}

/// Walks one file system until all inodes are found; whether time was enough.
fn walk(
    root: &Path,
    device: u32,
    inodes: &mut BTreeSet<u64>,
    deadline: Instant,
    mut named: impl FnMut(u64, PathBuf),
) -> bool {
    let is_of_device = |path: &Path| {
        let data = std::fs::symlink_metadata(path).ok();
        data.and_then(|data| number_of(&data)).is_some_and(|(of, _)| of == device)
    };
    let mut open = vec![root.to_owned()];
    while let Some(directory) = open.pop().filter(|_| !inodes.is_empty()) {
        if Instant::now() > deadline {
            return false;
        }
        if !is_of_device(&directory) {
            continue;
        }
        for entry in std::fs::read_dir(&directory).into_iter().flatten().flatten() {
            if inodes.remove(&entry.ino()) {
                named(entry.ino(), entry.path());
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

    #[test]
    fn an_open_file_has_its_name_even_when_it_is_deleted() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let file = std::fs::File::create(&path).unwrap();
        let number = number_of(&file.metadata().unwrap()).unwrap();
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
        let (device, inode) = number_of(&std::fs::metadata(path.join("heap")).unwrap()).unwrap();
        let mut names = Vec::new();
        let far = Instant::now() + Duration::from_secs(60);
        let mut wanted = BTreeSet::from([inode]);
        assert!(walk(directory.path(), device, &mut wanted, far, |inode, path| names
            .push((inode, path))));
        assert_eq!(names, [(inode, path.join("heap"))]);
        let mut wanted = BTreeSet::from([inode]);
        let past = Instant::now() - Duration::from_secs(1);
        assert!(!walk(directory.path(), device, &mut wanted, past, |_, _| ()));
    }
}
