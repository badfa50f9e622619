//! ftrace's `blk` tracer, the hooks of blktrace itself, which work where lockdown forbids
//! blktrace's own files: on for one device, and as it was before when this is dropped, however the
//! measuring ended.
//!
//! Its records are blktrace's own (`bin`, without the text of the context): the cheapest that it
//! can do.

use super::child::Child;
use super::work::Work;
use anyhow::{Context as _, ensure};
use rustix::fs::{Mode, OFlags};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

/// As much for both CPUs of a small machine as lbolt's ring, 16 MiB.
const BUFFER_KB: &str = "8192";

/// Files of tracefs and what is to stand in them; what stood there is put back in the opposite
/// order.
const SETTINGS: [(&str, &str); 5] = [
    ("buffer_size_kb", BUFFER_KB),
    ("current_tracer", "blk"),
    ("options/bin", "1"),
    ("options/context-info", "0"),
    ("tracing_on", "1"),
];

/// The tracer, while it is on.
pub(super) struct Ftrace {
    /// Mounted on no directory: it ends with this.
    root: OwnedFd,
    /// What is to be put back: files and what stood in them.
    before: Vec<(PathBuf, String)>,
    reader: Option<Child>,
}

impl Ftrace {
    /// Turns it on for a device and reads what it says to nowhere.
    pub(super) fn start(work: &Work) -> anyhow::Result<Self> {
        let mut ftrace = Self { root: mount()?, before: vec![], reader: None };
        let used = std::fs::read_to_string(ftrace.path("current_tracer"))?;
        ensure!(used.trim() == "nop", "somebody else uses ftrace's tracer {}", used.trim());
        for (file, text) in SETTINGS {
            ftrace.set(ftrace.path(file), text)?;
        }
        let pipe = format!("if={}", ftrace.path("trace_pipe").display());
        ftrace.reader = Some(work.start("dd of=/dev/null bs=64k", &[&pipe])?);
        ftrace.set(Path::new("/sys/block").join(work.device_name()?).join("trace/enable"), "1")?;
        Ok(ftrace)
    }

    fn path(&self, file: &str) -> PathBuf {
        let root = format!("/proc/{}/fd/{}", std::process::id(), self.root.as_raw_fd());
        Path::new(&root).join(file)
    }

    /// Writes a setting, and keeps what it was.
    fn set(&mut self, path: PathBuf, text: &str) -> anyhow::Result<()> {
        let before = std::fs::read_to_string(&path)
            .with_context(|| format!("failed to read {}", path.display()))?;
        std::fs::write(&path, text)
            .with_context(|| format!("failed to write {text} to {}", path.display()))?;
        self.before.push((path, value(&before).to_owned()));
        Ok(())
    }
}

/// The value of what a setting says of itself: a buffer that was not used yet says `7 (expanded:
/// 1408)`, and has 1408 as soon as it is used.
fn value(text: &str) -> &str {
    let text = text.split_once("expanded:").map_or(text, |(_, expanded)| expanded);
    text.trim().trim_end_matches(')')
}

impl Drop for Ftrace {
    fn drop(&mut self) {
        // A tracer that is being read cannot be changed.
        drop(self.reader.take());
        for (path, text) in self.before.drain(..).rev() {
            if let Err(error) = std::fs::write(&path, &text) {
                eprintln!("failed to put {text} back into {}: {error}", path.display());
            }
        }
    }
}

/// The file system of settings, mounted nowhere.
fn mount() -> anyhow::Result<OwnedFd> {
    let mounted = || -> rustix::io::Result<OwnedFd> {
        let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_create(context.as_fd())?;
        let mount =
            fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::openat(&mount, ".", flags, Mode::empty())
    };
    mounted().context("failed to mount tracefs")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_back_is_the_value_alone() {
        assert_eq!(value("7 (expanded: 1408)\n"), "1408");
        assert_eq!(value("8192\n"), "8192");
        assert_eq!(value("nop\n"), "nop");
        assert_eq!(value(""), "");
    }
}
