//! What runs while it is captured: a command of the user's, or whatever the machine does by itself.

use super::End;
use crate::print::exit::{Fault, failure};
use rustix::process::{Pid, Signal, kill_process};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

/// How long a command may take to end when it is asked to.
const PATIENCE: Duration = Duration::from_secs(5);

/// A command that is started when the capture stands, or none.
pub(crate) struct Load {
    command: Vec<String>,
    child: Option<Child>,
    status: Option<ExitStatus>,
}

impl Load {
    pub(crate) fn new(command: &[String]) -> Self {
        Self { command: command.to_vec(), child: None, status: None }
    }

    /// Starts the command.
    /// Errors: a command that cannot be started.
    pub(crate) fn begin(&mut self) -> anyhow::Result<()> {
        let Some((program, arguments)) = self.command.split_first() else { return Ok(()) };
        if self.child.is_some() {
            return Ok(());
        }
        let child = Command::new(program).args(arguments).spawn().map_err(|e| {
            failure(Fault::Usage, format!("failed to run {program}: {e}; is it in the PATH?"))
        })?;
        self.child = Some(child);
        Ok(())
    }

    /// Whether there was a command and it has ended; one that cannot be waited for has, too.
    pub(crate) fn is_over(&mut self) -> bool {
        let Some(child) = &mut self.child else { return false };
        self.status = self.status.or_else(|| child.try_wait().ok().flatten());
        self.status.is_some()
    }

    /// When the records are written: asks a command that still runs to end, and waits for it. One
    /// that does not heed that is killed; one that a flight recorder watched is left to its own
    /// end.
    pub(crate) fn end(&mut self, end: &End) {
        if self.is_over() {
            return;
        }
        let Some(child) = &mut self.child else { return };
        if matches!(end, End::Trigger(_)) {
            self.status = child.wait().ok();
            return;
        }
        if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
            // Gone already: then there is nobody to ask.
            let _ = kill_process(pid, Signal::TERM);
        }
        let requested = Instant::now();
        while requested.elapsed() < PATIENCE && !self.is_over() {
            std::thread::sleep(Duration::from_millis(10));
        }
        if let Some(child) = self.child.as_mut().filter(|_| self.status.is_none()) {
            let _ = child.kill();
            self.status = child.wait().ok();
        }
    }

    /// What the command made of it, if that was no success. Ended by us is none.
    pub(crate) fn complaint(&self, end: &End) -> Option<String> {
        let status = self.status.filter(|status| !status.success() && *end == End::Command)?;
        Some(format!(
            "{} ended with {status}; what it did until then is in the records",
            self.command[0]
        ))
    }
}

impl Drop for Load {
    /// A command whose capture failed does not go on alone.
    fn drop(&mut self) {
        self.end(&End::Signal);
    }
}
