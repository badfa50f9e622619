//! A tree as one file: a tarball, or a Debian package. The same tree makes the same bytes.

use super::names::Target;
use super::origin::Origin;
use crate::command::output;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Packs the directory `target.tree()` of `place`.
/// Errors: tar that fails; no room.
pub(super) fn tarball(
    place: &Path,
    target: Target,
    origin: &Origin,
    to: &Path,
) -> anyhow::Result<PathBuf> {
    let name = target.tree();
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--format=gnu", "--owner=0", "--group=0", "--numeric-owner"]);
    let path = to.join(format!("{name}.tar.gz"));
    tar.arg("--use-compress-program=gzip -9n").arg(format!("--mtime=@{}", origin.epoch));
    output(tar.arg("-cf").arg(&path).arg("-C").arg(place).arg(&name))?;
    Ok(path)
}

/// Packs a tree with its DEBIAN.
/// Errors: dpkg-deb that fails.
pub(super) fn package(
    place: &Path,
    target: Target,
    origin: &Origin,
    to: &Path,
) -> anyhow::Result<PathBuf> {
    let path = to.join(target.package());
    let mut deb = Command::new("dpkg-deb");
    // Two threads would cut what they compress elsewhere than one.
    deb.env("SOURCE_DATE_EPOCH", origin.epoch.to_string()).env("DPKG_DEB_THREADS_MAX", "1");
    deb.args(["--root-owner-group", "-Zxz", "--build"]).arg(place).arg(&path);
    output(&mut deb)?;
    Ok(path)
}

/// Writes SHA256SUMS of the files, which lie in `directory`.
/// Errors: files that cannot be read or written.
pub(super) fn sums(directory: &Path, files: &[PathBuf]) -> anyhow::Result<()> {
    let names = files.iter().filter_map(|file| file.file_name());
    let text = output(Command::new("sha256sum").args(names).current_dir(directory))?;
    Ok(std::fs::write(directory.join("SHA256SUMS"), text)?)
}
