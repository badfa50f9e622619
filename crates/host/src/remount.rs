//! Options of a mounted file system, changed while it is mounted: what `mount -o remount` does, for
//! mounts that are attached nowhere (`fspick`, `fsconfig`).
//!
//! Non-goals: mounts that are not ours. Whoever calls this has made the file system.

use crate::device::{DeviceNumber, Tree};
use crate::subject::{kernels_words, set_option};
use rustix::fd::AsFd;
use rustix::fs::CWD;
use rustix::mount::{FsPickFlags, fsconfig_reconfigure, fspick};
use std::path::{Path, PathBuf};

/// Changes an option of the file system whose root directory this is, and looks whether the kernel
/// has it, if the file system tells (ext4 does: /proc/fs/ext4).
/// Errors: it is not on this device; the kernel's own words where it has any.
pub fn set(root: &Path, device: &str, option: &str) -> Result<(), String> {
    is_on(root, device)?;
    let context = fspick(CWD, root, FsPickFlags::FSPICK_CLOEXEC)
        .map_err(|error| format!("failed to pick the mounted file system: {error}"))?;
    set_option(&context, option).and_then(|()| fsconfig_reconfigure(context.as_fd())).map_err(
        |errno| {
            let words = kernels_words(&context).unwrap_or_else(|| errno.to_string());
            format!("the kernel refuses to remount with {option}: {words}")
        },
    )?;
    match now(device, option) {
        Some(found) if found != option => {
            Err(format!("failed to remount with {option}: the file system has {found}"))
        }
        _ => Ok(()),
    }
}

/// A descriptor's number is used again: what is mounted there must be on the very device.
fn is_on(root: &Path, device: &str) -> Result<(), String> {
    let found = rustix::fs::stat(root).map(|stat| DeviceNumber::from_dev(stat.st_dev));
    match (found, Tree::system().by_name(device)) {
        (Ok(found), Some(own)) if found == own => Ok(()),
        _ => Err(format!("{} is not a file system on {device}", root.display())),
    }
}

/// The option of the same key as it is now; none where the file system does not tell.
pub fn now(device: &str, option: &str) -> Option<String> {
    let (key, _) = option.split_once('=')?;
    let path = PathBuf::from("/proc/fs/ext4").join(device).join("options");
    let text = std::fs::read_to_string(path).ok()?;
    let is_it = |line: &&str| line.split_once('=').is_some_and(|(known, _)| known == key);
    text.lines().find(is_it).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::HostClock;
    use crate::drive::Control;
    use crate::subject::{FILE_SYSTEMS, Fresh, FreshPlan};
    use model::seam::Subject;
    use std::sync::Arc;

    #[test]
    fn root_options_of_a_mount_that_is_attached_nowhere_are_changed_and_put_back() {
        let folder = tempfile::tempdir().unwrap();
        let plan = FreshPlan {
            file_system: &FILE_SYSTEMS[0],
            block_bytes: 4096,
            image_bytes: 16 << 20,
            drives: 1,
            at: vec![folder.path().to_owned()],
            options: vec![],
            device: None,
        };
        let mut fresh = Fresh::new(plan, HostClock::new(), Arc::new(Control::default()));
        let Ok(target) = fresh.prepare() else {
            return println!("skipped: needs root, mkfs.ext4 and loop devices");
        };
        let (root, device) = (target.mounted.unwrap(), &target.devices[0]);
        let before = now(device, "commit=").unwrap();
        set(&root, device, "commit=60").unwrap();
        assert_eq!(now(device, "commit=").as_deref(), Some("commit=60"));
        set(&root, device, &before).unwrap();
        assert_eq!(now(device, "commit="), Some(before));
        set(&root, device, "lazytime").unwrap();
        set(&root, device, "nolazytime").unwrap();
        let refused = set(&root, device, "data=writeback").unwrap_err();
        assert!(refused.starts_with("the kernel refuses to remount with data=writeback"));
        let elsewhere = set(Path::new("/"), device, "lazytime").unwrap_err();
        assert!(elsewhere.contains("is not a file system on"), "{elsewhere}");
        fresh.clean_up().unwrap();
        assert!(set(&root, device, "lazytime").is_err(), "it is gone");
    }
}
