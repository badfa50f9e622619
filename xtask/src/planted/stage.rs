//! What a case stands on: a directory, a loop device whose image is written in full, a file system
//! on it, and a cgroup for its processes. The end of a stage undoes all of it. What a killed run
//! left is found by its place and undone, too: mounts, swap and images under the stage's
//! directory, and the cgroup by its name.

use super::case::Case;
use super::modelled::Modelled;
use crate::command::{output, script};
use std::path::{Path, PathBuf};
use std::process::Command;

const STAGE: &str = include_str!("stage.sh");
/// Every cgroup of a case has this name, in each hierarchy that the case uses.
const GROUP: &str = "lbolt-planted";
const CGROUPS: &str = "/sys/fs/cgroup";

#[derive(Debug)]
pub(super) struct Stage {
    work: PathBuf,
    pub(super) device: PathBuf,
    modelled: Option<Modelled>,
}

impl Stage {
    /// `lbolt` is the program that modelled drives come from.
    pub(super) fn make(work: &Path, case: &Case, lbolt: &Path) -> anyhow::Result<Self> {
        output(&mut of(work, "undo"))?;
        std::fs::create_dir_all(work)?;
        let mut stage = Self { work: work.to_owned(), device: PathBuf::new(), modelled: None };
        let mib = case.device_mib;
        let mut make = of(work, "make");
        make.arg(&case.file_system).arg(mib.to_string());
        make.arg(if case.beneath { "beneath" } else { "" });
        if let Some(model) = &case.model {
            let modelled = Modelled::start(lbolt, &format!("{model},size={mib}m"), work)?;
            make.arg(&stage.modelled.insert(modelled).device);
        } else {
            make.arg("");
        }
        stage.device = PathBuf::from(output(&mut make)?.trim());
        Ok(stage)
    }

    /// What scripts find in their environment.
    pub(super) fn environment(&self) -> [(&'static str, PathBuf); 5] {
        [
            ("device", self.device.clone()),
            ("mnt", self.work.join("mnt")),
            ("beneath", self.work.join("beneath")),
            ("work", self.work.clone()),
            ("group", group()),
        ]
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // A modelled drive ends behind it, when nothing lies on it any more.
        if let Err(error) = output(&mut of(&self.work, "undo")) {
            eprintln!("not undone: {error:#}");
        }
    }
}

/// A part of the script.
fn of(work: &Path, what: &str) -> Command {
    let mut command = script(STAGE, "stage.sh");
    command.arg(what).arg(work).env("group", group());
    command
}

/// Where a case's processes are counted, in cgroups of either version.
fn group() -> PathBuf {
    let hierarchy = Path::new(CGROUPS).join("pids");
    let hierarchy = if hierarchy.exists() { hierarchy } else { CGROUPS.into() };
    hierarchy.join(GROUP)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_under_the_directory_is_found() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text =
            "36 25 7:0 / /a/stage/mnt rw\n37 25 7:1 / /a/stages rw\n38 25 7:2 / /a/stage rw\n";
        std::fs::write(file.path(), text).unwrap();
        let under = STAGE.replace("\"$1\" \"$@\"", "under \"$3\" 5");
        let mut command = script(&under, "stage.sh");
        command.args(["under", "/a/stage"]).arg(file.path());
        assert_eq!(output(&mut command).unwrap(), "/a/stage/mnt\n/a/stage\n");
    }
}
