//! The cgroups of version 2 by their numbers: a cgroup's number is the inode of its directory
//! (kernel: `kernfs_ino`, on machines of 64 bits).
//!
//! Non-goals: version 1, whose hierarchies number the same process in several ways.

use crate::process::harmless;
use std::collections::{BTreeMap, HashMap};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Directories that are looked at, at the most.
const MOST: usize = 100_000;
/// Paths that are remembered.
const KNOWN_MOST: usize = 10_000;
/// The part of the time in which all may be asked for.
const PART: u32 = 500;

/// Paths by numbers as they become known, so that a cgroup has one when it is gone.
#[derive(Debug, Clone, Default)]
pub struct KnownCgroups {
    paths: HashMap<u64, String>,
    /// When all were asked for last, and how long it took.
    asked: Option<(Instant, Duration)>,
}

impl KnownCgroups {
    /// A thread was of the cgroup of this number, and its process is of that of this path now,
    /// which need not be the same.
    pub fn learn(&mut self, number: u64, path: &str) {
        if !self.paths.contains_key(&number) && directory(path).is_some_and(|at| is_it(&at, number))
        {
            self.extend([(number, path.to_owned())]);
        }
    }

    /// The path of a cgroup, if it is known, or there now, and there is time to look.
    pub fn path(&mut self, number: u64) -> Option<&str> {
        let is_soon = |(began, took): (Instant, Duration)| began.elapsed() < took * PART;
        if !self.paths.contains_key(&number) && !self.asked.is_some_and(is_soon) {
            let began = Instant::now();
            self.extend(paths());
            self.asked = Some((began, began.elapsed()));
        }
        self.paths.get(&number).map(String::as_str)
    }
}

/// Those that are known by other means.
impl Extend<(u64, String)> for KnownCgroups {
    fn extend<T: IntoIterator<Item = (u64, String)>>(&mut self, known: T) {
        for (number, path) in known {
            if self.paths.len() >= KNOWN_MOST {
                self.paths.clear();
            }
            self.paths.insert(number, path);
        }
    }
}

/// The path of each cgroup below the root of its hierarchy, by its number: `/` is the root itself.
/// None where there is no hierarchy of version 2, or none that may be read.
pub fn paths() -> BTreeMap<u64, String> {
    hierarchy().map(below).unwrap_or_default()
}

/// The directory of a cgroup, by its path from the root.
pub(crate) fn directory(path: &str) -> Option<PathBuf> {
    Some(hierarchy()?.join(path.trim_start_matches('/')))
}

/// Where they are mounted.
fn hierarchy() -> Option<&'static Path> {
    static HIERARCHY: OnceLock<Option<PathBuf>> = OnceLock::new();
    let mounts = || std::fs::read_to_string("/proc/self/mounts").ok();
    HIERARCHY.get_or_init(|| Some(mounted_at(&mounts()?)?.to_owned())).as_deref()
}

/// The same by proc_pid_mounts(5).
fn mounted_at(mounts: &str) -> Option<&Path> {
    let of = mounts.lines().filter(|line| line.split(' ').nth(2) == Some("cgroup2"));
    of.filter_map(|line| line.split(' ').nth(1).map(Path::new)).next()
}

fn is_it(directory: &Path, number: u64) -> bool {
    std::fs::metadata(directory).is_ok_and(|metadata| metadata.ino() == number)
}

fn below(root: &Path) -> BTreeMap<u64, String> {
    let mut paths = BTreeMap::new();
    let mut open: Vec<PathBuf> = vec![root.to_owned()];
    while let Some(directory) = open.pop().filter(|_| paths.len() < MOST) {
        // One that ends meanwhile is passed over.
        let Ok(metadata) = std::fs::metadata(&directory) else { continue };
        let path = directory.strip_prefix(root).unwrap_or(&directory);
        let path = Path::new("/").join(path);
        paths.insert(metadata.ino(), harmless(path.as_os_str().as_encoded_bytes()));
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
        std::fs::create_dir_all(root.path().join("user\u{1b}.slice")).unwrap();
        std::fs::write(root.path().join("system.slice/cgroup.procs"), "").unwrap();
        let number = |path: &str| std::fs::metadata(root.path().join(path)).unwrap().ino();
        let mut expected = ["", "system.slice", "system.slice/db.service"]
            .map(|path| (number(path), format!("/{path}")))
            .to_vec();
        expected.push((number("user\u{1b}.slice"), "/user .slice".to_owned()));
        assert_eq!(below(root.path()), expected.into_iter().collect());
        assert!(below(&root.path().join("nowhere")).is_empty());
    }

    #[test]
    fn they_are_found_where_they_are_mounted() {
        let mounts = "proc /proc proc rw 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
        assert_eq!(mounted_at(mounts), Some(Path::new("/sys/fs/cgroup/unified")));
        assert_eq!(mounted_at("cgroup /sys/fs/cgroup/cpu cgroup rw 0 0\n"), None);
    }

    #[test]
    fn a_path_is_learned_if_it_is_of_that_number_and_stays_known() {
        let Some(root) = hierarchy() else {
            return println!("skipped: needs cgroups of version 2");
        };
        let number = std::fs::metadata(root).unwrap().ino();
        let an_hour = Duration::from_secs(3600);
        let mut known =
            KnownCgroups { asked: Some((Instant::now(), an_hour)), ..KnownCgroups::default() };
        known.learn(u64::MAX, "/");
        known.learn(number, "/lbolt-no-such");
        assert_eq!(known.path(number), None, "it was asked for");
        assert_eq!(known.path(u64::MAX), None);
        known.learn(number, "/");
        known.learn(number, "/lbolt-no-such");
        assert_eq!(known.path(number), Some("/"));
        let mut asked = KnownCgroups::default();
        assert_eq!(asked.path(number), Some("/"));
        assert_eq!(asked.path(u64::MAX), None);
        assert!(asked.asked.is_some());
        asked.extend((0..KNOWN_MOST as u64).map(|number| (number, "/x".to_owned())));
        assert!(asked.paths.len() <= KNOWN_MOST);
    }
}
