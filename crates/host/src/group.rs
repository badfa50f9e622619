//! A cgroup of a job's own, with limits of its I/O: made, set, read back, and removed.
//!
//! A job is a thread. The controller `blkio` of version 1 takes threads one by one. That of version
//! 2 (`io`) takes whole processes alone (it is no threaded controller: Linux
//! Documentation/admin-guide/cgroup-v2.rst, *Threads*), and moving lbolt as a whole would hold the
//! victims back too: there is none there, and the sentence says why.
//!
//! In version 1 what a thread sends by itself is its own, such as what an fsync writes; what the
//! kernel's threads write back later is nobody's.

use crate::device::{Mount, Tree};
use std::io;
use std::path::{Path, PathBuf};

/// Names of groups of ours begin so.
const PREFIX: &str = "lbolt-";
/// What a hierarchy of version 1 says of itself (statfs(2)).
const CGROUP: u64 = 0x0027_e0eb;
/// The files that a hierarchy's root has if its groups have these limits.
const SHOWN_BY: [(&str, &str); 2] = [
    ("blkio.throttle.write_bps_device", "blkio.throttle.write_bps_device"),
    ("blkio.bfq.weight", "blkio.bfq.io_service_bytes"),
];

/// A limit of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limit {
    /// The file's name.
    pub file: &'static str,
    /// What is written there.
    pub value: String,
}

/// A group; dropping it removes it.
#[derive(Debug)]
pub struct Group {
    path: PathBuf,
}

/// Where the group of a process would be; none is made.
/// Errors: this machine has no controller that takes threads.
pub fn place(pid: u32) -> Result<PathBuf, String> {
    Ok(hierarchy()?.join(format!("{PREFIX}{pid}")))
}

/// Whether groups have this limit.
/// Errors: a sentence that says why not.
pub fn has(file: &str) -> Result<(), String> {
    let root = hierarchy()?;
    let shown = SHOWN_BY.iter().find(|(limit, _)| *limit == file).map_or(file, |(_, shown)| shown);
    match root.join(shown).exists() {
        true => Ok(()),
        false => Err(format!("the cgroups of this kernel have no {file}")),
    }
}

/// The root of version 1's hierarchy of I/O.
fn hierarchy() -> Result<PathBuf, String> {
    let mounts = Tree::system().mounts().unwrap_or_default();
    let is_own = |mount: &&Mount| mount.pid_seen_in.is_none();
    let has_blkio = |mount: &&Mount| {
        mount.fs_type == "cgroup" && mount.options.split(',').any(|option| option == "blkio")
    };
    if let Some(mount) = mounts.iter().filter(is_own).find(has_blkio) {
        return Ok(mount.mount_point.clone());
    }
    let two = mounts.iter().filter(is_own).find(|mount| mount.fs_type == "cgroup2");
    let controllers = two.and_then(|mount| {
        std::fs::read_to_string(mount.mount_point.join("cgroup.controllers")).ok()
    });
    Err(why_not(controllers.as_deref()).into())
}

/// Why there is no group for a thread, by the controllers of version 2.
fn why_not(controllers: Option<&str>) -> &'static str {
    let has_io = controllers.is_some_and(|text| text.split_whitespace().any(|one| one == "io"));
    match has_io {
        true => {
            "cgroups v2 limit the I/O of whole processes, but the writer and its victims are \
             threads of one process"
        }
        false => "this machine has no I/O controller for cgroups",
    }
}

impl Group {
    /// Makes it; one of that name that is there already is taken over.
    /// Errors: a sentence for what the kernel refuses.
    pub fn make(path: &Path) -> Result<Self, String> {
        match std::fs::create_dir(path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(format!("failed to create the cgroup {}: {error}", path.display()))
            }
            _ => Ok(Self { path: path.to_owned() }),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Sets a limit, and looks whether the kernel has it.
    /// Errors: a sentence for what it refuses, or has instead.
    pub fn limit(&self, limit: &Limit) -> Result<(), String> {
        let Limit { file, value } = limit;
        let path = self.path.join(file);
        let failed = |what: &str, error: &dyn std::fmt::Display| {
            format!("failed to {what} {}: {error}", path.display())
        };
        // A file that is not there is none of the kernel's.
        let file = std::fs::OpenOptions::new().write(true).open(&path);
        file.and_then(|mut file| io::Write::write_all(&mut file, value.as_bytes()))
            .map_err(|error| failed(&format!("write {value} to"), &error))?;
        let found = std::fs::read_to_string(&path).map_err(|error| failed("read", &error))?;
        match found.lines().any(|line| line.trim() == *value) {
            true => Ok(()),
            false => Err(failed(&format!("set to {value}"), &format!("it has {}", found.trim()))),
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Whoever was in it has ended; if not, its note stays for `doctor --clean`.
        let _ = remove(&self.path);
    }
}

/// Removes a group that a run noted; one that is gone is removed.
/// Errors: it is no group of ours; somebody is in it.
pub fn remove(path: &Path) -> io::Result<()> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let number = name.strip_prefix(PREFIX).unwrap_or_default();
    let is_named = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let parent = path.parent().unwrap_or(Path::new("/"));
    let is_cgroup = rustix::fs::statfs(parent)
        .is_ok_and(|found| u64::try_from(found.f_type).is_ok_and(|kind| kind == CGROUP));
    if !path.exists() {
        return Ok(());
    }
    if !is_named || !is_cgroup {
        return Err(io::Error::other("it is not an lbolt cgroup"));
    }
    std::fs::remove_dir(path)
}

/// Puts this thread into a group.
/// Errors: what the kernel refuses.
pub(crate) fn join(path: &Path) -> io::Result<()> {
    std::fs::write(path.join("tasks"), "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_threads_have_no_controller_the_reason_is_said() {
        assert!(why_not(Some("cpuset cpu io memory")).contains("whole processes"));
        assert!(why_not(Some("hugetlb")).contains("no I/O controller"));
        assert_eq!(why_not(None), why_not(Some("cpu")));
    }

    #[test]
    fn only_a_cgroup_of_ours_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lbolt-12");
        assert!(remove(&path).is_ok(), "one that is gone");
        std::fs::create_dir(&path).unwrap();
        assert!(remove(&path).unwrap_err().to_string().contains("not an lbolt cgroup"));
        assert!(path.exists());
    }

    #[test]
    fn root_a_group_is_made_limited_joined_and_removed() {
        let Ok(path) = place(4_000_000_000) else {
            return println!("skipped: needs cgroups of version 1 with blkio");
        };
        if !rustix::process::geteuid().is_root() || has("blkio.throttle.write_bps_device").is_err()
        {
            return println!("skipped: needs root, and the throttling of blkio");
        }
        let group = Group::make(&path).unwrap();
        let device = crate::device::Tree::system().by_name("loop0");
        if let Some(device) = device {
            let value = format!("{}:{} 1048576", device.major, device.minor);
            group.limit(&Limit { file: "blkio.throttle.write_bps_device", value }).unwrap();
        }
        let nothing = Limit { file: "blkio.nothing", value: "1".into() };
        assert!(group.limit(&nothing).unwrap_err().starts_with("failed to write"));
        let joined = path.clone();
        let thread = std::thread::spawn(move || {
            join(&joined).unwrap();
            std::fs::read_to_string("/proc/thread-self/cgroup").unwrap()
        });
        assert!(thread.join().unwrap().contains("blkio:/lbolt-4000000000"));
        drop(group);
        assert!(!path.exists());
    }
}
