//! What a case stands on: a directory, a loop device whose image is written in full, a file system
//! on it, and a cgroup for its processes. The end of a stage undoes all of it. What a killed run
//! left is found by its place and undone, too: mounts, swap and images under the stage's
//! directory, and the cgroup by its name.

use super::case::Case;
use super::modelled::Modelled;
use crate::command::output;
use anyhow::{Context as _, ensure};
use rustix::process::{Pid, Signal, kill_process};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Every cgroup of a case has this name, in each hierarchy that the case uses.
const GROUP: &str = "lbolt-planted";
const CGROUPS: &str = "/sys/fs/cgroup";
/// Killed processes that wait for a device take a while to end.
const PATIENCE: Duration = Duration::from_secs(20);
/// File systems lie on devices that lie on file systems.
const LAYERS: usize = 3;
/// Of each device before a case and after it; loop devices keep what they were told.
const SETTINGS: [(&str, &str); 2] = [("scheduler", "none"), ("read_ahead_kb", "128")];

#[derive(Debug)]
pub(super) struct Stage {
    work: PathBuf,
    pub(super) device: PathBuf,
    modelled: Option<Modelled>,
}

impl Stage {
    /// `lbolt` is the program that modelled drives come from.
    pub(super) fn make(work: &Path, case: &Case, lbolt: &Path) -> anyhow::Result<Self> {
        undo(work)?;
        std::fs::create_dir_all(work)?;
        let mut stage = Self { work: work.to_owned(), device: PathBuf::new(), modelled: None };
        std::fs::create_dir(group())?;
        if let Some(model) = &case.model {
            let model = format!("{model},size={}m", case.device_mib);
            let modelled = stage.modelled.insert(Modelled::start(lbolt, &model, work)?);
            stage.device = modelled.device.clone();
        } else {
            let place =
                if case.beneath { stage.beneath(case.device_mib)? } else { work.to_owned() };
            stage.device = device(&place.join("image"), case.device_mib)?;
        }
        if case.file_system != "none" {
            mount(&stage.device, &case.file_system, &stage.mounted())?;
        }
        Ok(stage)
    }

    /// A file system on a device of its own, with room for the image.
    fn beneath(&self, mib: u64) -> anyhow::Result<PathBuf> {
        let device = device(&self.work.join("image-beneath"), mib + mib / 8 + 64)?;
        let place = self.work.join("beneath");
        mount(&device, "ext4", &place)?;
        Ok(place)
    }

    /// Where the file system is mounted.
    fn mounted(&self) -> PathBuf {
        self.work.join("mnt")
    }

    /// What scripts find in their environment.
    pub(super) fn environment(&self) -> [(&'static str, PathBuf); 5] {
        [
            ("device", self.device.clone()),
            ("mnt", self.mounted()),
            ("beneath", self.work.join("beneath")),
            ("work", self.work.clone()),
            ("group", group()),
        ]
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // A modelled drive ends behind it, when nothing lies on it any more.
        if let Err(error) = undo(&self.work) {
            eprintln!("not undone: {error:#}");
        }
    }
}

/// A device over a new image, direct to the disk.
fn device(image: &Path, mib: u64) -> anyhow::Result<PathBuf> {
    let (of, count) = (format!("of={}", image.display()), format!("count={mib}"));
    said("dd", &["if=/dev/zero", &of, "bs=1M", &count, "oflag=direct", "status=none"])?;
    let image = image.to_string_lossy();
    let device = said("losetup", &["--direct-io=on", "--find", "--show", &image])?;
    let device = PathBuf::from(device.trim());
    set(&device)?;
    Ok(device)
}

fn set(device: &Path) -> anyhow::Result<()> {
    let name = device.file_name().context("a device without a name")?;
    let queue = Path::new("/sys/block").join(name).join("queue");
    for (setting, value) in SETTINGS {
        std::fs::write(queue.join(setting), value)
            .with_context(|| format!("{setting} of {}", device.display()))?;
    }
    Ok(())
}

fn mount(device: &Path, file_system: &str, place: &Path) -> anyhow::Result<()> {
    let device = device.to_string_lossy();
    // What the file system would initialize later would be a load of its own.
    let options: &[&str] = match file_system {
        "ext4" => &["-F", "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard"],
        _ => &["-K"],
    };
    said(&format!("mkfs.{file_system}"), &[&["-q"], options, &[&device]].concat())?;
    std::fs::create_dir_all(place)?;
    said("mount", &[&device, &place.to_string_lossy()]).map(drop)
}

/// What a program prints; an error, if it fails.
fn said(program: &str, arguments: &[&str]) -> anyhow::Result<String> {
    output(Command::new(program).args(arguments))
}

/// Where a case's processes are counted, in cgroups of either version.
fn group() -> PathBuf {
    let hierarchy = Path::new(CGROUPS).join("pids");
    let hierarchy = if hierarchy.exists() { hierarchy } else { CGROUPS.into() };
    hierarchy.join(GROUP)
}

/// Every cgroup of the case: in the root of version 2, in the hierarchies of version 1.
fn groups() -> Vec<PathBuf> {
    let hierarchies = std::fs::read_dir(CGROUPS).into_iter().flatten().filter_map(Result::ok);
    let all = hierarchies.map(|hierarchy| hierarchy.path()).chain([CGROUPS.into()]);
    all.map(|hierarchy| hierarchy.join(GROUP)).filter(|group| group.exists()).collect()
}

/// Undoes whatever stands in the directory, and removes it.
fn undo(work: &Path) -> anyhow::Result<()> {
    for place in mounts(work) {
        // Most are not frozen.
        said("fsfreeze", &["-u", &place]).ok();
    }
    end_processes()?;
    for area in under(work, &std::fs::read_to_string("/proc/swaps").unwrap_or_default(), 0) {
        said("swapoff", &[&area])?;
    }
    for _ in 0..LAYERS {
        for place in mounts(work).iter().rev() {
            // It is busy while a device lies on it.
            said("umount", &[place]).ok();
        }
        for device in devices(work)? {
            set(Path::new(&device))?;
            said("losetup", &["-d", &device])?;
        }
    }
    let left = mounts(work);
    ensure!(left.is_empty(), "still mounted: {}", left.join(", "));
    match std::fs::remove_dir_all(work) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

/// The columns that are paths under the directory, a line each.
fn under(work: &Path, text: &str, column: usize) -> Vec<String> {
    let column = |line: &str| line.split_whitespace().nth(column).map(str::to_owned);
    let paths = text.lines().filter_map(column);
    paths.filter(|path| Path::new(path).starts_with(work)).collect()
}

fn mounts(work: &Path) -> Vec<String> {
    under(work, &std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default(), 4)
}

/// The loop devices whose images lie in the directory.
fn devices(work: &Path) -> anyhow::Result<Vec<String>> {
    let all = said("losetup", &["--list", "--noheadings", "--raw", "--output", "BACK-FILE,NAME"])?;
    let is_ours = |line: &&str| Path::new(line).starts_with(work);
    let name = |line: &str| line.rsplit(' ').next().map(str::to_owned);
    Ok(all.lines().filter(is_ours).filter_map(name).collect())
}

fn end_processes() -> anyhow::Result<()> {
    let begin = Instant::now();
    for group in groups() {
        while std::fs::remove_dir(&group).is_err() {
            ensure!(begin.elapsed() < PATIENCE, "processes in {} do not end", group.display());
            let pids = std::fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
            for pid in pids.lines().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)) {
                // It may have ended.
                kill_process(pid, Signal::KILL).ok();
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_under_the_directory_is_found() {
        let text =
            "36 25 7:0 / /a/stage/mnt rw\n37 25 7:1 / /a/stages rw\n38 25 7:2 / /a/stage rw\n";
        assert_eq!(under(Path::new("/a/stage"), text, 4), ["/a/stage/mnt", "/a/stage"]);
    }
}
