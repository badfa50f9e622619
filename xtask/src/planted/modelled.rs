//! A modelled drive as a case's device: as slow as its model, however quick this machine's disk is.
//! It is `lbolt device`, which ends with the stage.

use crate::command::Child;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// So long it may take until the device is there: the way through the kernel is measured first.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(super) struct Modelled {
    /// Only to be dropped.
    _child: Child,
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
        command.arg(&told).stdout(Stdio::null());
        let mut child = Child::start("lbolt device", &mut command, &work.join("device.log"))?;
        child.until_made(&told, PATIENCE, || Ok(()))?;
        let device = PathBuf::from(std::fs::read_to_string(&told)?.trim());
        Ok(Self { _child: child, device })
    }
}
