//! The proof that a package is whole: it is installed in a root that has nothing but Debian's
//! smallest set of packages, used, and purged (`bare.sh`). The root is made by debootstrap from the
//! mirror that this machine's apt has, once; each proof has a copy of it.

use crate::command::{is_there, output, watch};
use crate::debian::{codename, make_root, private};
use model::record::TOOL_VERSION;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const SCRIPT: &str = include_str!("bare.sh");
/// Why it cannot be proved here; none where it can.
pub(super) fn obstacle() -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        return Some("it needs root".to_owned());
    }
    let programs = ["debootstrap", "unshare", "chroot", "apt-get", "dpkg"];
    let missing: Vec<&str> = programs.into_iter().filter(|program| !is_there(program)).collect();
    (!missing.is_empty()).then(|| format!("it needs {}", missing.join(", ")))
}

/// Proves a package of this machine's own kind; roots are kept in `place`.
/// Errors: no bare root can be made; what the script found.
pub(super) fn prove(place: &Path, package: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(place)?;
    let kept = kept_root(place)?;
    let copies = tempfile::tempdir_in(place)?;
    let copy = copies.path().join("root");
    output(Command::new("cp").args(["-a", "--reflink=auto"]).arg(&kept).arg(&copy))?;
    let mut script = private();
    script.args(["sh", "-euc", SCRIPT, "bare.sh"]).args([&copy, package]).arg(TOOL_VERSION);
    watch(&mut script)
}

/// The bare root of this machine's release, made where it is not there yet.
fn kept_root(place: &Path) -> anyhow::Result<PathBuf> {
    let kept = place.join(codename()?);
    if !kept.exists() {
        println!("making a bare root of Debian");
        let begun = tempfile::tempdir_in(place)?;
        let root = begun.path().join("root");
        make_root(&root, &[])?;
        fs::rename(&root, &kept)?;
    }
    Ok(kept)
}
