//! `make dist`: static programs with pages, completions and unit, as tarballs and as packages of
//! Debian, and the proof that each is whole. What cannot be proved here is said.
//!
//! Packages are made by `dpkg-deb` of what `make install` puts into a directory: so there is one
//! list of files, and it holds for all ways to install.
//!
//! Non-goals: releasing: signatures, uploads.

mod archive;
mod bare;
mod build;
mod check;
mod control;
mod names;
mod notices;
mod origin;
mod tree;

use anyhow::{Context as _, bail, ensure};
use names::{TARGETS, Target};
use origin::Origin;
use std::fs;
use std::path::{Path, PathBuf};
use tree::Parts;

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
    let origin = origin::origin(root)?;
    // Pages of commands that are no more may lie there.
    let _ = fs::remove_dir_all(root.join("target/generated"));
    super::docs::write(root)?;
    let binaries = build::build(root, &built, &targets)?;
    let place = built.join("dist");
    let made = pack_all(root, &place, &targets, &binaries, &origin)?;
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
    origin: &Origin,
) -> anyhow::Result<Vec<PathBuf>> {
    if place.exists() {
        fs::remove_dir_all(place)?;
    }
    fs::create_dir_all(place)?;
    let second = tempfile::tempdir_in(place)?;
    let mut made = Vec::new();
    for (target, binary) in targets.iter().zip(binaries) {
        check::binary(binary, *target).with_context(|| binary.display().to_string())?;
        let notices = &notices::notices(root, &target.triple())?;
        let parts = Parts { root, target: *target, binary, notices, origin };
        let files = pack(&parts, place)?;
        for (file, again) in files.iter().zip(pack(&parts, second.path())?) {
            ensure!(fs::read(file)? == fs::read(again)?, "{} varies", file.display());
        }
        made.extend(files);
    }
    archive::sums(place, &made)?;
    Ok(made)
}

/// The tarball and the package of a target.
fn pack(parts: &Parts<'_>, to: &Path) -> anyhow::Result<[PathBuf; 2]> {
    let trees = tempfile::tempdir_in(to)?;
    let [portable, debian] = ["portable", "debian"].map(|name| trees.path().join(name));
    tree::portable(parts, &portable)?;
    tree::debian(parts, &debian)?;
    Ok([
        archive::tarball(&portable, parts.target, parts.origin, to)?,
        archive::package(&debian, parts.target, parts.origin, to)?,
    ])
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
