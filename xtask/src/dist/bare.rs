//! The proof that a package is whole: it is installed in a root that has nothing but Debian's
//! smallest set of packages, used, and purged (`bare.sh`). The root is made by debootstrap from the
//! mirror that this machine's apt has, once; each proof has a copy of it.

use crate::command::{is_there, output, watch};
use anyhow::Context as _;
use model::record::TOOL_VERSION;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const SCRIPT: &str = include_str!("bare.sh");
/// What lists each of apt's sources: origin, suite's name, component, address.
const SOURCES: [&str; 5] = [
    "indextargets",
    "--format",
    "$(ORIGIN)\t$(CODENAME)\t$(COMPONENT)\t$(SITE)",
    "Created-By: Packages",
    "Component: main",
];

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

/// A namespace whose mounts nobody else sees, and whose processes end with the first.
fn private() -> Command {
    let mut unshare = Command::new("unshare");
    unshare.args(["--mount", "--pid", "--fork", "--kill-child", "--"]);
    unshare
}

/// The bare root of this machine's release, made where it is not there yet.
fn kept_root(place: &Path) -> anyhow::Result<PathBuf> {
    let release = fs::read_to_string("/etc/os-release")?;
    let suite = value(&release, "VERSION_CODENAME").context("this Debian has no code name")?;
    let kept = place.join(suite);
    if kept.exists() {
        return Ok(kept);
    }
    let sources = output(Command::new("apt-get").args(SOURCES))?;
    let mirror = mirror(&sources, suite);
    let mirror = mirror.with_context(|| format!("apt has no source of Debian {suite}"))?;
    println!("making a bare root of Debian {suite}");
    let begun = tempfile::tempdir_in(place)?;
    let root = begun.path().join("root");
    let mut debootstrap = private();
    debootstrap.args(["debootstrap", "--variant=minbase", suite]).arg(&root).arg(mirror);
    output(&mut debootstrap)?;
    fs::rename(&root, &kept)?;
    Ok(kept)
}

/// A value of os-release(5).
fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let lines = text.lines().filter_map(|line| line.split_once('='));
    let mut values = lines.filter(|(name, _)| *name == key);
    values.next().map(|(_, value)| value.trim_matches('"'))
}

/// Where apt gets the suite from.
fn mirror<'a>(sources: &'a str, suite: &str) -> Option<&'a str> {
    let rows = sources.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let mut sites = rows.filter_map(|row| match row[..] {
        ["Debian", name, "main", site] if name == suite => Some(site),
        _ => None,
    });
    sites.next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mirror_is_the_one_of_this_release() {
        let sources = "Debian\tbookworm-updates\tmain\thttp://a.example/debian\n\
            Other\tbookworm\tmain\thttp://b.example\n\
            Debian\tbookworm\tmain\thttp://c.example/debian\n";
        assert_eq!(mirror(sources, "bookworm"), Some("http://c.example/debian"));
        assert_eq!(mirror(sources, "trixie"), None);
    }

    #[test]
    fn a_release_says_its_name() {
        let text = "NAME=\"A B\"\nVERSION_CODENAME=bookworm\n";
        assert_eq!(value(text, "VERSION_CODENAME"), Some("bookworm"));
        assert_eq!((value(text, "NAME"), value(text, "ID")), (Some("A B"), None));
    }
}
