//! The target of a replay: whether it is there, how large it is, and whether it may be written. The
//! guard is asked here, before anything is read or opened for writing.

use super::holes::Holes;
use super::place::{Needs, SystemKind, system};
use super::target::Target;
use host::device::{DeviceNumber, Tree};
use host::guard::Permit;
use host::subject::used_by;
use messages::fault::{Fault, failure};
use std::fs::Metadata;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The least block where nothing tells.
const BLOCK_BYTES: u64 = 512;

/// Where requests are to be made.
pub(crate) struct ReplayTarget {
    /// Its name in records.
    pub(crate) name: String,
    /// As it was typed.
    pub(crate) path: PathBuf,
    pub(crate) kind: ReplayTargetKind,
    pub(crate) size_bytes: u64,
    /// What places and lengths are multiples of.
    pub(crate) block_bytes: u64,
    /// What of a file was never written.
    pub(crate) holes: Holes,
}

/// What it is.
pub(crate) enum ReplayTargetKind {
    Device { path: PathBuf, number: DeviceNumber, permit: Option<Permit> },
    File { path: PathBuf, may_write: bool },
}

impl ReplayTarget {
    /// Whether it may be written.
    pub(crate) fn may_write(&self) -> bool {
        match &self.kind {
            ReplayTargetKind::Device { permit, .. } => permit.is_some(),
            ReplayTargetKind::File { may_write, .. } => *may_write,
        }
    }
}

/// Resolves a target, and the leave to write it.
/// Errors: a sentence for what it is not, or what the guard refuses.
pub(crate) fn resolve(path: &Path, destroy: Option<&Path>) -> anyhow::Result<ReplayTarget> {
    let usage = |message: String| failure(Fault::Usage, message);
    let shown = path.display();
    let metadata = std::fs::metadata(path).map_err(|e| {
        usage(format!("--on {shown}: {e}; name a block device or an existing regular file"))
    })?;
    let is_device = metadata.file_type().is_block_device();
    let target = match () {
        () if is_device => device(path, destroy)?,
        () if metadata.is_file() => file(path, &metadata, destroy)?,
        () => {
            let sentence = format!(
                "--on {shown} is neither a block device nor a regular file; \
                                    name one of these"
            );
            return Err(usage(sentence));
        }
    };
    if target.size_bytes < target.block_bytes {
        return Err(usage(format!("--on {shown} is empty; name a larger target")));
    }
    Ok(target)
}

fn device(path: &Path, destroy: Option<&Path>) -> anyhow::Result<ReplayTarget> {
    let usage = |e: &dyn std::fmt::Display| failure(Fault::Usage, e.to_string());
    let target = [Target::Path(path.to_owned())];
    let needs = Needs { bytes: 0, writes: destroy.is_some(), destroy };
    let SystemKind::Device { path: node, number, permit } =
        system(&target[0], &target, &needs, Path::new("."))?.kind
    else {
        return Err(usage(&format!(
            "--on {} is no longer a block device; try \
                                   again",
            path.display()
        )));
    };
    let tree = Tree::system();
    Ok(ReplayTarget {
        name: tree.name(number).map_err(|e| usage(&e))?,
        path: path.to_owned(),
        size_bytes: tree.size_bytes(number).map_err(|e| usage(&e))?,
        block_bytes: tree.logical_block_bytes(number).unwrap_or(BLOCK_BYTES),
        holes: Holes::default(),
        kind: ReplayTargetKind::Device { path: node, number, permit },
    })
}

fn file(path: &Path, metadata: &Metadata, destroy: Option<&Path>) -> anyhow::Result<ReplayTarget> {
    let tree = Tree::system();
    let shown = path.display();
    let guarded = |message: String| failure(Fault::Guard, message);
    if let Some(consent) = destroy {
        let named = std::fs::metadata(consent).ok();
        let is_it = named.is_some_and(|m| (m.dev(), m.ino()) == (metadata.dev(), metadata.ino()));
        if !is_it {
            let consent = consent.display();
            return Err(guarded(format!(
                "--destroy {consent} and --on {shown} are different files; name the same file"
            )));
        }
        let told = used_by(&tree, path);
        let told = told.map_err(|e| {
            guarded(format!(
                "cannot tell whether {shown} is in use: \
                                                     {e}"
            ))
        })?;
        if let Some(user) = told {
            return Err(guarded(format!(
                "{shown} is in use by {user} and is never written then; choose another file"
            )));
        }
    }
    let beneath = tree.device_of_path(&std::path::absolute(path)?).ok().flatten();
    let block_bytes = beneath.and_then(|device| tree.logical_block_bytes(device).ok());
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    Ok(ReplayTarget {
        name,
        path: path.to_owned(),
        kind: ReplayTargetKind::File { path: path.to_owned(), may_write: destroy.is_some() },
        size_bytes: metadata.len(),
        block_bytes: block_bytes.unwrap_or(BLOCK_BYTES),
        holes: Holes::of_file(path, metadata.len()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_taken_as_it_is_and_written_only_where_it_is_named_twice() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("a"), vec![1; 8192]).unwrap();
        std::fs::write(path("b"), vec![1; 8192]).unwrap();
        std::fs::write(path("empty"), "").unwrap();
        let target = resolve(&path("a"), None).unwrap();
        assert_eq!((target.size_bytes, target.may_write()), (8192, false));
        assert!(resolve(&path("a"), Some(&path("a"))).unwrap().may_write());
        let refused = |name: &str, destroy: Option<&str>| {
            let destroy = destroy.map(path);
            resolve(&path(name), destroy.as_deref()).err().unwrap().to_string()
        };
        assert!(refused("a", Some("b")).contains("are different files"));
        assert!(refused("missing", None).contains("name a block device"));
        assert!(refused("empty", None).contains("is empty"));
        assert!(refused(".", None).contains("neither"));
    }
}
