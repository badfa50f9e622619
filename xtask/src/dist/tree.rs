//! The files of a package, as `make install` puts them: one list of files for all ways to install.

use super::control;
use super::names::Target;
use super::origin::Origin;
use crate::command::output;
use anyhow::Context as _;
use std::fs;
use std::path::Path;
use std::process::Command;

/// What all packages of a target are made of.
pub(super) struct Parts<'a> {
    pub(super) root: &'a Path,
    pub(super) target: Target,
    pub(super) binary: &'a Path,
    pub(super) notices: &'a str,
    pub(super) origin: &'a Origin,
}

/// Where a package has what `make install` has elsewhere.
const DEBIAN: &[&str] = &[
    "PREFIX=/usr",
    // Where zsh looks on Debian.
    "ZSH_DIR=/usr/share/zsh/vendor-completions",
];

/// The scripts of packaging/debian that dpkg runs, and what it reads.
const SCRIPTS: [&str; 3] = ["postinst", "prerm", "postrm"];

/// The tarball's tree below `place`: to be unpacked in /usr/local, or anywhere.
/// Errors: files that cannot be read or written.
pub(super) fn portable(parts: &Parts<'_>, place: &Path) -> anyhow::Result<()> {
    let below = place.join("below");
    install(parts, &below, &["PREFIX=/usr/local"])?;
    let tree = place.join(parts.target.tree());
    fs::rename(below.join("usr/local"), &tree)?;
    fs::remove_dir_all(&below)?;
    let documents = tree.join("share/doc/lbolt");
    for name in ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        fs::copy(parts.root.join(name), documents.join(name)).context(name)?;
    }
    fs::write(documents.join("third-party-licences.txt"), parts.notices)?;
    readable_by_all(&tree)
}

/// The tree of a Debian package: its files, and DEBIAN with what it says of itself.
/// Errors: files that cannot be read or written.
pub(super) fn debian(parts: &Parts<'_>, place: &Path) -> anyhow::Result<()> {
    install(parts, place, DEBIAN)?;
    let (root, documents) = (parts.root, place.join("usr/share/doc/lbolt"));
    let ours = root.join("packaging/debian");
    let news = control::changelog(&parts.origin.maintainer, &parts.origin.date);
    fs::write(documents.join("changelog.Debian"), news)?;
    fs::copy(root.join("CHANGELOG.md"), documents.join("changelog"))?;
    fs::write(documents.join("third-party-licences.txt"), parts.notices)?;
    // Without a name or a time within.
    let compressed = "gzip -9n usr/share/man/man1/* \
                      usr/share/doc/lbolt/changelog* usr/share/doc/lbolt/*.txt";
    output(Command::new("sh").args(["-c", compressed]).current_dir(place))?;
    fs::copy(root.join("README.md"), documents.join("README.md"))?;
    fs::copy(ours.join("copyright"), documents.join("copyright"))?;
    let overrides = place.join("usr/share/lintian/overrides");
    fs::create_dir_all(&overrides)?;
    fs::copy(ours.join("lintian-overrides"), overrides.join("lbolt"))?;
    let (kib, sums) = (installed_kib(place)?, sums(place)?);
    let about = place.join("DEBIAN");
    fs::create_dir(&about)?;
    let control = control::control(parts.target, &parts.origin.maintainer, kib);
    fs::write(about.join("control"), control)?;
    fs::write(about.join("md5sums"), sums)?;
    for script in SCRIPTS {
        fs::copy(ours.join(script), about.join(script)).context(script)?;
    }
    readable_by_all(place)
}

fn install(parts: &Parts<'_>, place: &Path, places: &[&str]) -> anyhow::Result<()> {
    let mut make = Command::new("make");
    make.arg("-C").arg(parts.root).arg("install").args(places);
    make.arg(format!("DESTDIR={}", place.display()));
    make.arg(format!("BINARY={}", parts.binary.display()));
    // What the make that runs us was told is not for this one.
    make.env_remove("MAKEFLAGS").env_remove("MFLAGS");
    output(&mut make).map(|_| ())
}

/// Whatever umask we have.
fn readable_by_all(place: &Path) -> anyhow::Result<()> {
    output(Command::new("chmod").args(["-R", "u=rwX,go=rX"]).arg(place)).map(|_| ())
}

/// Debian Policy 5.6.20: each file in whole KiB, each directory one.
fn installed_kib(place: &Path) -> anyhow::Result<u64> {
    let mut find = Command::new("find");
    let found = output(find.arg(place).args(["-printf", "%y %s\\n"]))?;
    let kib = found.lines().map(|line| match line.split_once(' ') {
        Some(("f", bytes)) => bytes.parse::<u64>().map(|bytes| bytes.div_ceil(1024)),
        _ => Ok(1),
    });
    Ok(kib.sum::<Result<u64, _>>()?)
}

/// deb-md5sums(5).
fn sums(place: &Path) -> anyhow::Result<String> {
    let list = "find . -type f -printf '%P\\0' | LC_ALL=C sort -z | xargs -0 md5sum";
    output(Command::new("sh").args(["-c", list]).current_dir(place))
}
