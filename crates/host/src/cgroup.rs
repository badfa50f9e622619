//! The cgroups of version 2 by their numbers: a cgroup's number is the inode of its directory
//! (kernel: `kernfs_ino`, on machines of 64 bits).
//!
//! Non-goals: version 1, whose hierarchies number the same process in several ways; cgroups that
//! are gone.

use crate::device::{Mount, Tree};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Directories that are looked at, at the most.
const MOST: usize = 100_000;

/// The path of each cgroup below the root of its hierarchy, by its number: `/` is the root itself.
/// None where there is no hierarchy of version 2, or none that may be read.
pub fn paths(tree: &Tree) -> BTreeMap<u64, String> {
    let mounts = tree.mounts().unwrap_or_default();
    let is_it = |mount: &&Mount| mount.fs_type == "cgroup2" && mount.pid_seen_in.is_none();
    mounts.iter().find(is_it).map(|mount| below(&mount.mount_point)).unwrap_or_default()
}

fn below(root: &Path) -> BTreeMap<u64, String> {
    let mut paths = BTreeMap::new();
    let mut open: Vec<PathBuf> = vec![root.to_owned()];
    while let Some(directory) = open.pop().filter(|_| paths.len() < MOST) {
        // One that ends meanwhile is passed over.
        let Ok(metadata) = std::fs::metadata(&directory) else { continue };
        let path = directory.strip_prefix(root).unwrap_or(&directory);
        paths.insert(metadata.ino(), format!("/{}", path.display()));
        let entries = std::fs::read_dir(&directory).into_iter().flatten().flatten();
        let inner = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        open.extend(inner.map(|entry| entry.path()));
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_directory_is_named_from_the_root_by_its_inode() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("system.slice/db.service")).unwrap();
        std::fs::write(root.path().join("system.slice/cgroup.procs"), "").unwrap();
        let number = |path: &str| std::fs::metadata(root.path().join(path)).unwrap().ino();
        let expected = ["", "system.slice", "system.slice/db.service"]
            .map(|path| (number(path), format!("/{path}")));
        assert_eq!(below(root.path()), BTreeMap::from(expected));
        assert!(below(&root.path().join("nowhere")).is_empty());
    }
}
