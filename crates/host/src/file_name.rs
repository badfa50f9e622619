//! Files by their numbers: who has them open, and what they are called.
//!
//! First by the files that processes have open, which names also those that are deleted; then by
//! walking the directories of the file systems that they are on, whose entries tell their inodes,
//! for a limited time.
//!
//! Source: proc(5): /proc/PID/fd and fdinfo; readdir(3).
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

/// A file as it was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// A name, if one was found.
    pub path: Option<PathBuf>,
    /// The processes that have it open for writing.
    pub writers: BTreeSet<u32>,
}

/// Looks for files among those that are open.
pub fn find_open(wanted: &BTreeSet<FileNumber>, found: &mut BTreeMap<FileNumber, Found>) {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    for process in processes {
        let Some(pid) = process.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let open = std::fs::read_dir(process.path().join("fd")).into_iter().flatten().flatten();
        open.for_each(|entry| look_at(pid, &entry.path(), wanted, found));
    }
}

fn look_at(
    pid: u32,
    entry: &Path,
    wanted: &BTreeSet<FileNumber>,
    found: &mut BTreeMap<FileNumber, Found>,
) {
    // Sockets and pipes are no paths; to ask a file of another machine could take for ever.
    let Some(path) = std::fs::read_link(entry).ok().filter(|path| path.is_absolute()) else {
        return;
    };
    let is_special = |start: &&str| path.starts_with(start);
    if ["/dev", "/proc", "/sys"].iter().any(is_special) {
        return;
    }
    let Some(number) = std::fs::metadata(entry).ok().and_then(|data| number_of(&data)) else {
        return;
    };
    if !wanted.contains(&number) {
        return;
    }
    let file = found.entry(number).or_default();
    file.path.get_or_insert(path);
    if is_for_writing(entry) {
        file.writers.insert(pid);
    }
}

fn number_of(data: &Metadata) -> Option<FileNumber> {
    let dev = data.dev();
    let device = device_number(rustix::fs::major(dev), rustix::fs::minor(dev))?;
    Some((device, data.ino()))
}

/// By fdinfo's flags, which are octal: the last digit says whether it is more than read.
fn is_for_writing(entry: &Path) -> bool {
    let info = entry.to_string_lossy().replace("/fd/", "/fdinfo/");
    let text = std::fs::read_to_string(info).unwrap_or_default();
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"));
    flags.is_some_and(|flags| matches!(flags.trim().bytes().last(), Some(b'1' | b'2')))
}

/// Looks for the names of files on mounted file systems, for so long; whether all was looked at.
pub fn find_named(
    tree: &Tree,
    wanted: &BTreeSet<FileNumber>,
    most: Duration,
    found: &mut BTreeMap<FileNumber, Found>,
) -> bool {
    let deadline = Instant::now() + most;
    let mounts = tree.mounts().unwrap_or_default();
    let devices: BTreeSet<u32> = wanted.iter().map(|(device, _)| *device).collect();
    let mut is_whole = true;
    for device in devices {
        let is_it = |mount: &&Mount| {
            mount.pid_seen_in.is_none()
                && device_number(mount.device.major, mount.device.minor) == Some(device)
        };
        let inodes = wanted.iter().filter(|(of, _)| *of == device).map(|(_, inode)| *inode);
        let mut inodes: BTreeSet<u64> = inodes
            .filter(|inode| found.get(&(device, *inode)).is_none_or(|file| file.path.is_none()))
            .collect();
        for mount in mounts.iter().filter(is_it) {
            let named = |inode, path| {
                found.entry((device, inode)).or_default().path = Some(path);
            };
            is_whole &= walk(&mount.mount_point, device, &mut inodes, deadline, named);
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
    fn an_open_file_has_its_writers_even_when_it_is_deleted() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let file = std::fs::File::create(&path).unwrap();
        let number = number_of(&file.metadata().unwrap()).unwrap();
        std::fs::remove_file(&path).unwrap();
        let mut found = BTreeMap::new();
        find_open(&BTreeSet::from([number]), &mut found);
        let it = &found[&number];
        assert!(it.path.as_ref().unwrap().to_string_lossy().ends_with("log (deleted)"));
        assert_eq!(it.writers, BTreeSet::from([std::process::id()]));
        drop(file);
        found.clear();
        find_open(&BTreeSet::from([number]), &mut found);
        assert!(found.is_empty());
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
