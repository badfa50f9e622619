//! The files under loop devices, and whether two of them are one: by file system and inode, which
//! hold in every mount namespace, and never by path.
//!
//! A layered or remote file system has numbers of its own for files that another file system
//! holds (overlay shows its upper directory's file by another device, and perhaps by another
//! inode). Two such files may be one, and are taken for one.

use crate::device::{DeviceNumber, FileIdentity, Loop, Mount, MountTable, Tree};
use std::path::Path;

/// File systems without a device number whose files are their own and nobody else's.
const SELF_CONTAINED: &[&str] =
    &["bcachefs", "btrfs", "devtmpfs", "hugetlbfs", "ramfs", "rootfs", "tmpfs", "zfs"];

/// A loop device and what is known of its file.
#[derive(Debug, Clone)]
pub(super) struct LoopFile {
    pub(super) device: DeviceNumber,
    pub(super) identity: FileIdentity,
    /// The block devices of the file system that holds it, as far as they are known.
    pub(super) on: Vec<DeviceNumber>,
    path: std::path::PathBuf,
    is_self_contained: bool,
}

/// Whether two loop devices lie on one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Likeness {
    Same,
    Perhaps,
    Other,
}

impl LoopFile {
    pub(super) fn new(tree: &Tree, mounts: &MountTable, found: Loop) -> Self {
        let Loop { device, file, identity } = found;
        let mount = mount_of(tree, mounts, &identity, &file.path);
        let number = identity.file_system;
        let is_known = mount.is_some_and(|(m, _)| SELF_CONTAINED.contains(&m.fs_type.as_str()));
        Self {
            device,
            identity,
            on: match number.is_anonymous() {
                true => mount.map(|(_, devices)| devices.to_vec()).unwrap_or_default(),
                false => vec![number],
            },
            path: file.path,
            is_self_contained: is_known || identity.is_served || !number.is_anonymous(),
        }
    }

    pub(super) fn likeness(&self, other: &Self) -> Likeness {
        let (a, b) = (&self.identity, &other.identity);
        match (a.file_system == b.file_system, a.inode == b.inode) {
            (true, true) => Likeness::Same,
            (true, false) => Likeness::Other,
            (false, _) if a.block.is_some() || b.block.is_some() => Likeness::Other,
            (false, _) if self.is_self_contained && other.is_self_contained => Likeness::Other,
            (false, _) => Likeness::Perhaps,
        }
    }

    /// Whether `path` is this file. One that cannot be examined from here is compared by name,
    /// which suffices: the kernel itself refuses writes to a swap file.
    pub(super) fn is(&self, tree: &Tree, path: &Path) -> bool {
        match tree.facts(path) {
            Ok(facts) => FileIdentity::from(&facts) == self.identity,
            Err(_) => self.path == path,
        }
    }
}

/// The mount that shows the file: one of that number in any namespace; else, for btrfs and its
/// like, which number their files apart from their mounts, the one above the file's path, where
/// that path still leads to this very file.
fn mount_of<'a>(
    tree: &Tree,
    mounts: &'a MountTable,
    identity: &FileIdentity,
    path: &Path,
) -> Option<(&'a Mount, &'a [DeviceNumber])> {
    let numbered = mounts.iter().find(|(mount, _)| mount.device == identity.file_system);
    numbered.or_else(|| {
        let facts = tree.facts(path).ok()?;
        let is_it = FileIdentity::from(&facts) == *identity;
        is_it.then(|| mounts.above(&facts.canonical)).flatten()
    })
}
