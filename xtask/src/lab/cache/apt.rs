//! Debian's packages, by apt with the sources that this machine has. A kernel of another suite
//! comes from the same places under that suite's name, with lists of its own.

use crate::command::{output, watch};
use crate::debian::{codename, sources};
use crate::lab::table::Kernel;
use anyhow::{Context as _, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// apt, with the lists of a suite.
struct Apt {
    options: Vec<String>,
    packages: PathBuf,
}

impl Apt {
    fn run(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(&self.options).args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
        command.current_dir(&self.packages);
        command
    }

    /// This machine's own, or those of another suite, which are fetched.
    fn of(suite: Option<&str>, at: &Path) -> anyhow::Result<Self> {
        let packages = at.join("packages");
        std::fs::create_dir_all(&packages)?;
        let mut apt = Self { options: vec![], packages };
        let Some(suite) = suite else { return Ok(apt) };
        let place = at.join(suite);
        for folder in ["lists/partial", "cache/archives/partial"] {
            std::fs::create_dir_all(place.join(folder))?;
        }
        let codename = codename()?;
        let list = place.join("sources.list");
        let lines = sources(&codename)?.into_iter().filter_map(|(address, of)| {
            // The newest suite has neither updates nor security.
            let is_there = suite != "sid" || of == codename;
            is_there.then(|| format!("deb {address} {} main\n", of.replacen(&codename, suite, 1)))
        });
        std::fs::write(&list, lines.collect::<String>())?;
        apt.options = [
            format!("Dir::Etc::sourcelist={}", list.display()),
            "Dir::Etc::sourceparts=-".to_owned(),
            format!("Dir::State::lists={}", place.join("lists").display()),
            format!("Dir::Cache={}", place.join("cache").display()),
        ]
        .into_iter()
        .flat_map(|option| ["-o".to_owned(), option])
        .collect();
        output(&mut apt.run("apt-get", &["update", "-qq"]))?;
        Ok(apt)
    }

    fn knows(&self, package: &str) -> bool {
        let shown = output(&mut self.run("apt-cache", &["policy", package]));
        shown.is_ok_and(|text| text.contains("Candidate: ") && !text.contains("Candidate: (none)"))
    }

    /// What a package that only names others leads to: the kernel itself.
    fn newest(&self, package: &str) -> anyhow::Result<String> {
        let text = output(&mut self.run("apt-cache", &["depends", package]))?;
        let depends = text.lines().filter_map(|line| line.trim().strip_prefix("Depends: "));
        let found = depends.map(str::trim).find(|name| name.starts_with("linux-image-"));
        Ok(found.unwrap_or(package).to_owned())
    }

    /// Unpacks a package below a folder.
    fn unpack(&self, package: &str, place: &Path) -> anyhow::Result<()> {
        output(&mut self.run("apt-get", &["download", "-qq", package]))?;
        let begin = format!("{package}_");
        for entry in std::fs::read_dir(&self.packages)? {
            let path = entry?.path();
            if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&begin)) {
                watch(Command::new("dpkg-deb").arg("-x").arg(&path).arg(place))?;
                std::fs::remove_file(&path)?;
            }
        }
        Ok(())
    }
}

/// Unpacks a kernel: `boot`, `lib/modules`, and its version in `version`.
/// Errors: there is no such package, or it has no such parts.
pub(super) fn unpack(kernel: &Kernel, at: &Path, place: &Path) -> anyhow::Result<()> {
    let apt = Apt::of(kernel.suite.as_deref(), at)?;
    if !apt.knows(&kernel.package) {
        output(&mut apt.run("apt-get", &["update", "-qq"]))?;
    }
    let image = apt.newest(&kernel.package)?;
    let version = image.trim_start_matches("linux-image-");
    std::fs::create_dir_all(place)?;
    apt.unpack(&image, place)?;
    // Newer suites have the kernel, its modules and their lists in packages of their own.
    for part in ["linux-binary", "linux-modules", "linux-base"] {
        let package = format!("{part}-{version}");
        if apt.knows(&package) {
            apt.unpack(&package, place)?;
        }
    }
    gather(place, version)?;
    output(Command::new("depmod").arg("-b").arg(place).arg(version))?;
    std::fs::write(place.join("version"), version)?;
    Ok(())
}

/// Brings what is below /usr to where older packages have it.
fn gather(place: &Path, version: &str) -> anyhow::Result<()> {
    let modules = format!("lib/modules/{version}");
    let (old, new) = (place.join(&modules), place.join("usr").join(&modules));
    if new.join("kernel").exists() && !old.join("kernel").exists() {
        std::fs::create_dir_all(place.join("lib/modules"))?;
        std::fs::rename(&new, &old)?;
    }
    ensure!(old.join("kernel").exists(), "the packages of {version} have no modules");
    let wanted = place.join("boot").join(format!("vmlinuz-{version}"));
    let names = [format!("vmlinuz-{version}"), "vmlinuz".to_owned()];
    let found = ["boot", "usr/lib/linux", &modules].into_iter().flat_map(|folder| {
        let folder = place.join(folder);
        names.iter().map(move |name| folder.join(name)).collect::<Vec<_>>()
    });
    let found = found.into_iter().find(|path| path.is_file());
    let found = found.with_context(|| format!("the packages of {version} have no vmlinuz"))?;
    if found != wanted {
        std::fs::create_dir_all(place.join("boot"))?;
        std::fs::rename(&found, &wanted)?;
    }
    Ok(())
}
