//! Devices on which requests are really made: modelled drives that `lbolt device` serves, and loop
//! devices of this machine.

use anyhow::{Context as _, bail};
use host::drive::Control;
use host::subject::LoopDisk;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A modelled drive: what `lbolt simulate --model` and `lbolt device` are given.
#[derive(Debug, Clone)]
pub(super) struct Modelled {
    /// The profile's file.
    pub(super) model: PathBuf,
    pub(super) slow: f64,
    /// Requests that the kernel gives it at once.
    pub(super) depth: u32,
    /// Other values of its keys.
    pub(super) keys: Vec<String>,
}

/// Where requests are made.
pub(super) enum Device<'a> {
    Modelled(Modelled),
    Real(&'a LoopDisk),
}

const IMAGE_BYTES: u64 = 1 << 30;

/// A loop device with direct I/O over a file in a directory.
pub(super) fn loop_disk(at: &Path) -> anyhow::Result<LoopDisk> {
    Ok(LoopDisk::make(at, IMAGE_BYTES, &Control::default())?)
}

/// A drive by itself as a machine, so that the kernel's queue can be in the model: the controller
/// takes as many as the device at once, and the rest wait in the driver's queue. Limits of time are
/// those of Linux, in the model's own time where the device is slow.
pub(super) fn profile(drive: &str, outstanding: u32, slow: f64) -> String {
    let limits = [("read_limit", 500.0), ("write_limit", 5000.0)]
        .map(|(key, ms)| format!("{key} = \"{} ms\"\n", ms / slow));
    format!(
        "kind = \"machine\"\nuses = {{ drive = \"{drive}\" }}\n\n[queue]\nassumed = \"Linux\"\n\
         policy = \"fifo\"\nwrite_interval = \"0 ms\"\n{}\n[controller]\nassumed = \"what the \
         kernel gives the device at once\"\noutstanding = {outstanding}\nordering = \"fifo\"\n\n\
         [bus]\nassumed = \"none\"\nrate = \"1000000 GB/s\"\n",
        limits.concat(),
    )
}

impl Device<'_> {
    /// Runs a shell's line with the device's node in `$LBOLT_DEVICE`, with a scheduler.
    pub(super) fn run(&self, lbolt: &str, scheduler: &str, line: &str) -> anyhow::Result<()> {
        let line = format!(
            "echo {scheduler} > /sys/block/$(basename $LBOLT_DEVICE)/queue/scheduler || exit 9; \
             {line}"
        );
        let mut command = match self {
            Self::Real(disk) => {
                let mut command = Command::new("sh");
                command.env("LBOLT_DEVICE", disk.path()).args(["-c", &line]);
                command
            }
            Self::Modelled(Modelled { model, slow, depth, keys }) => {
                let parts = [format!("slow={slow}"), format!("depth={depth}")];
                let parts = parts.iter().chain(keys).map(|part| format!(",{part}"));
                let target = format!("model:{}{}", model.display(), parts.collect::<String>());
                let mut command = Command::new(lbolt);
                command.args(["device", &target, "--", "sh", "-c", &line]);
                command
            }
        };
        done(&mut command).map(drop)
    }
}

/// Runs a program to its end; returns what it printed.
pub(super) fn done(command: &mut Command) -> anyhow::Result<String> {
    let shown = format!("{command:?}");
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .with_context(|| format!("failed to run {shown}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{shown} ended with {}: {}", output.status, said.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drives_by_themselves_can_be_replayed_on_and_changed() {
        let folder = tempfile::tempdir().unwrap();
        for drive in ["ra81", "atlas10k", "flash-sata-2021"] {
            let text = profile(drive, 4, 10.0);
            let path = folder.path().join("m.toml");
            std::fs::write(&path, &text).unwrap();
            let profile =
                sim::profile::CATALOG.load_text("m", &path.display().to_string(), &text).unwrap();
            let machine = sim::replay::ReplayMachine::of(&profile).unwrap();
            assert_eq!(machine.credits.requests, 4, "{drive}");
        }
    }
}
