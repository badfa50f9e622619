//! What runs while it is captured: a command of the user's, or whatever the machine does by itself.

use super::End;
use crate::exit::{Fault, failure};
use anyhow::anyhow;
use rustix::process::{Pid, Signal, kill_process};
use std::process::{Child, Command, ExitStatus};

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
    ///
    /// # Errors
    /// A command that cannot be started.
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

    /// Whether there was a command and it has ended.
    ///
    /// # Errors
    /// A command that cannot be waited for.
    pub(crate) fn is_over(&mut self) -> anyhow::Result<bool> {
        if let Some(child) = &mut self.child
            && self.status.is_none()
        {
            self.status =
                child.try_wait().map_err(|e| anyhow!("failed to wait for the command: {e}"))?;
        }
        Ok(self.status.is_some())
    }

    /// Asks a command that still runs to end, as timeout(1) does, and waits for it. After what it was
    /// waited for, it is left to its end.
    pub(crate) fn end(&mut self, end: &End) {
        let Some(child) = &mut self.child else { return };
        if self.status.is_none()
            && !matches!(end, End::Trigger(_))
            && let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw)
        {
            // Gone already: then there is nobody to ask.
            let _ = kill_process(pid, Signal::TERM);
        }
        self.status = self.status.or_else(|| child.wait().ok());
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
        if self.status.is_none() {
            self.end(&End::Signal);
        }
    }
}
