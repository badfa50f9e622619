//! `make dist`: static programs with pages, completions and unit, as tarballs and as packages of
//! Debian, and the proof that each is whole. What cannot be proved here is said.
//!
//! `pack.sh` makes them of what `make install` puts into a directory: so there is one list of
//! files, and it holds for all ways to install.
//!
//! Non-goals: releasing: signatures, uploads.

mod bare;
mod build;
mod check;
mod names;
mod notices;

use crate::command::{output, script};
use anyhow::{Context as _, bail, ensure};
use host::subject::FILE_SYSTEMS;
use names::{TARGETS, Target};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const PACK: &str = include_str!("pack.sh");

/// Make static programs, tarballs and packages of Debian, and prove them
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// For these processors alone [default: all]
    #[arg(value_name = "PROCESSOR", value_parser = TARGETS.map(|target| target.processor))]
    processors: Vec<String>,
}

/// Makes and proves everything in `target/dist`, or for the processors named alone.
/// Errors: what cannot be built, packed or installed.
pub(crate) fn run(root: &Path, options: &Options) -> anyhow::Result<()> {
    let named = &options.processors;
    let is_chosen =
        |target: &Target| named.is_empty() || named.iter().any(|n| n == target.processor);
    let targets: Vec<Target> = TARGETS.into_iter().filter(is_chosen).collect();
    let (root, built) = (&root.canonicalize()?, crate::target());
    // Pages of commands that are no more may lie there.
    let _ = fs::remove_dir_all(root.join("target/generated"));
    super::docs::write(root)?;
    let binaries = build::build(root, &built, &targets)?;
    let place = built.join("dist");
    let made = pack_all(root, &place, &targets, &binaries)?;
    for line in prove(&built, &targets, &binaries, &made)? {
        println!("{line}");
    }
    Ok(())
}

/// Packs everything twice, which must make the same bytes; the files that were made, a tarball and
/// a package for each target.
fn pack_all(
    root: &Path,
    place: &Path,
    targets: &[Target],
    binaries: &[PathBuf],
) -> anyhow::Result<Vec<PathBuf>> {
    if place.exists() {
        fs::remove_dir_all(place)?;
    }
    fs::create_dir_all(place)?;
    let second = tempfile::tempdir_in(place)?;
    let mut made = Vec::new();
    for (target, binary) in targets.iter().zip(binaries) {
        check::binary(binary, *target).with_context(|| binary.display().to_string())?;
        let notices = notices::notices(root, &target.triple())?;
        let files = pack(root, *target, binary, &notices, place)?;
        for (file, again) in files.iter().zip(pack(root, *target, binary, &notices, second.path())?)
        {
            ensure!(fs::read(file)? == fs::read(again)?, "{} varies", file.display());
        }
        made.extend(files);
    }
    let names = made.iter().filter_map(|file| file.file_name());
    let sums = output(Command::new("sha256sum").args(names).current_dir(place))?;
    fs::write(place.join("SHA256SUMS"), sums)?;
    Ok(made)
}

/// The tarball and the package of a target.
fn pack(
    root: &Path,
    target: Target,
    binary: &Path,
    notices: &str,
    to: &Path,
) -> anyhow::Result<[PathBuf; 2]> {
    let linked = tempfile::NamedTempFile::new()?;
    fs::write(linked.path(), notices)?;
    let recommended: BTreeSet<&str> = FILE_SYSTEMS.iter().map(|system| system.package).collect();
    let (tree, package) = (target.tree(), target.package());
    let mut pack = script(PACK, "pack.sh");
    pack.arg(to).env("root", root).env("binary", binary).env("notices", linked.path());
    pack.env("recommended", recommended.into_iter().collect::<Vec<_>>().join(", "));
    pack.env("tree", &tree).env("package", &package);
    pack.env("version", names::version()).env("architecture", target.debian);
    output(&mut pack)?;
    Ok([to.join(format!("{tree}.tar.gz")), to.join(package)])
}

/// What was made, and how far it is proved: lines for the user.
fn prove(
    built: &Path,
    targets: &[Target],
    binaries: &[PathBuf],
    made: &[PathBuf],
) -> anyhow::Result<Vec<String>> {
    let mut lines: Vec<String> = made.iter().map(|file| format!("{}", file.display())).collect();
    let native = targets.iter().zip(binaries).find(|(target, _)| target.is_native());
    let native = native.map(|(_, binary)| binary.as_path());
    for (target, binary) in targets.iter().zip(binaries) {
        let file = made.iter().find(|file| file.ends_with(target.package()));
        let Some(package) = file else { bail!("there is no {}", target.package()) };
        let name = target.package();
        lines.push(format!("{name}: {}", check::lintian(package)?));
        let ran = if target.is_native() {
            installed(built, package)?
        } else {
            emulated(binary, *target, native)?
        };
        lines.push(format!("{name}: {ran}"));
    }
    Ok(lines)
}

fn installed(built: &Path, package: &Path) -> anyhow::Result<String> {
    if let Some(obstacle) = bare::obstacle() {
        return Ok(format!("not installed in a bare root of Debian: {obstacle}"));
    }
    bare::prove(&built.join("bare"), package)?;
    Ok("installs and runs in a bare root of Debian, and a purge leaves nothing".to_owned())
}

fn emulated(binary: &Path, target: Target, native: Option<&Path>) -> anyhow::Result<String> {
    if !crate::command::is_there(target.emulator) {
        return Ok(format!("not run: {} is not installed", target.emulator));
    }
    check::emulated(binary, target, native)?;
    Ok(format!(
        "the program runs under {}; not installed, and no disk was measured and no BPF loaded: \
         that needs such a machine",
        target.emulator
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_says_what_it_is_needs_nothing_and_recommends_what_makes_file_systems() {
        if !crate::command::is_there("dpkg-deb") {
            return println!("skipped: needs dpkg-deb");
        }
        let directory = tempfile::tempdir().unwrap();
        let binary = directory.path().join("program");
        fs::write(&binary, "#!/bin/sh").unwrap();
        let root = crate::root().canonicalize().unwrap();
        let packed = pack(&root, TARGETS[1], &binary, "licences", directory.path()).unwrap();
        let said = |words: &[&str]| output(Command::new("dpkg-deb").args(words)).unwrap();
        let package = packed[1].to_str().unwrap();
        let control = said(&["--field", package]);
        let field = |name: &str| control.lines().find_map(|line| line.strip_prefix(name));
        assert_eq!(field("Package: "), Some("lbolt"));
        assert_eq!(field("Version: "), Some(&*names::version()));
        assert_eq!(field("Architecture: "), Some("arm64"));
        assert_eq!(field("Recommends: "), Some("btrfs-progs, e2fsprogs, xfsprogs"));
        assert_eq!(field("Depends: "), None);
        assert!(field("Maintainer: ").is_some_and(|who| who.ends_with('>')));
        let files = said(&["--contents", package]);
        for name in ["bin/lbolt", "doc/lbolt/changelog.Debian.gz", "lintian/overrides/lbolt"] {
            assert!(files.contains(name), "{name}: {files}");
        }
        assert!(files.lines().all(|line| line.contains("root/root")), "{files}");
        let listed = output(Command::new("tar").arg("-tf").arg(&packed[0])).unwrap();
        let tree = TARGETS[1].tree();
        assert!(listed.contains(&format!("{tree}/share/doc/lbolt/third-party-licences.txt")));
        assert!(listed.lines().all(|line| line.starts_with(&tree)), "{listed}");
    }
}
