//! A modelled drive as a case's device: as slow as its model, however quick this machine's disk is.
//! It is `lbolt device`, in a process group of its own, which ends with the stage.

use anyhow::{Context as _, bail};
use rustix::process::{Pid, Signal, kill_process_group};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// So long it may take until the device is there: the way through the kernel is measured first.
const PATIENCE: Duration = Duration::from_secs(60);
const TICK: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(super) struct Modelled {
    child: Child,
    pub(super) device: PathBuf,
}

impl Modelled {
    /// `model` as for `lbolt device`; the device's name goes through a file in `work`.
    pub(super) fn start(lbolt: &Path, model: &str, work: &Path) -> anyhow::Result<Self> {
        let told = work.join("device");
        let mut command = Command::new(lbolt);
        // The shell goes on as the program that waits: no other process stays behind.
        command.args(["device", model, "--", "sh", "-c"]);
        command.arg("echo $LBOLT_DEVICE >\"$0.new\"; mv \"$0.new\" \"$0\"; exec sleep infinity");
        command.arg(&told).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.process_group(0).spawn().context("lbolt device")?;
        let mut modelled = Self { child, device: PathBuf::new() };
        let begin = Instant::now();
        loop {
            if let Ok(name) = std::fs::read_to_string(&told) {
                modelled.device = PathBuf::from(name.trim());
                return Ok(modelled);
            }
            if let Some(status) = modelled.child.try_wait()? {
                bail!("lbolt device {model} ended: {status}");
            }
            if begin.elapsed() > PATIENCE {
                bail!("lbolt device {model} made no device");
            }
            std::thread::sleep(TICK);
        }
    }
}

impl Drop for Modelled {
    fn drop(&mut self) {
        // It may have ended; then there is nothing to wait for.
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::TERM);
        let _ = self.child.wait();
    }
}
