//! A COMMAND of the user's, or whatever the machine does by itself.
//!
//! One rule for every command that takes one: it is the user's program on the user's terminal, with
//! the rights that this process has by then, and it does not outlive lbolt. It and all that it
//! started are asked to end (SIGTERM) and, where they do not heed that, ended (SIGKILL): by
//! [`Load::end`], or by the caretaker ([`super::caretaker`]) where lbolt is killed.

use super::caretaker;
use crate::End;
use host::drive::Control;
use messages::fault::{Fault, failure};
use messages::output::note;
use model::process::Started;
use std::ffi::OsStr;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// How long a command may take to end when it is asked to.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// How often it is looked whether one that is waited for has ended.
const LOOK: Duration = Duration::from_millis(50);

/// In the environment of a COMMAND: of which process it is ([`mark`]).
pub const MARK: &str = "LBOLT_COMMAND_OF";

/// How a COMMAND of a process is marked: a process that a forged note names is not.
pub fn mark(of: &Started) -> String {
    format!("{}-{}", of.pid, of.ticks)
}

/// A command that is started when all stands, or none.
pub struct Load {
    program: Option<(String, Command)>,
    child: Option<Child>,
    status: Option<ExitStatus>,
    /// It was killed, and the kernel holds it.
    is_held: bool,
}

impl Load {
    /// A command with its arguments; none where it is empty.
    pub fn new(command: &[String]) -> Self {
        let program = command.split_first().map(|(program, arguments)| {
            let mut command = Command::new(program);
            command.args(arguments);
            (program.clone(), command)
        });
        Self { program, child: None, status: None, is_held: false }
    }

    /// With a variable in its environment.
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        if let Some((_, command)) = &mut self.program {
            command.env(name, value);
        }
        self
    }

    /// In a process group of its own, which tells its threads from others'. It reads nothing, and
    /// what it prints are messages: the terminal is not its.
    pub fn apart(mut self) -> Self {
        if let Some((_, command)) = &mut self.program {
            command.stdin(Stdio::null()).stdout(messages()).process_group(0);
        }
        self
    }

    /// Starts the command; one that was started goes on.
    /// Errors: a command that cannot be started.
    pub fn begin(&mut self) -> anyhow::Result<()> {
        let Some((program, command)) = self.program.as_mut().filter(|_| self.child.is_none())
        else {
            return Ok(());
        };
        if let Ok(own) = Started::own() {
            command.env(MARK, mark(&own));
        }
        host::announced(command, caretaker::begun()?);
        let child = command.spawn().map_err(|e| {
            failure(
                Fault::Usage,
                format!(
                    "failed to run {program}: {e}; check the command and \
                                           PATH"
                ),
            )
        })?;
        self.child = Some(child);
        Ok(())
    }

    /// Its number, where it was started.
    pub fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// Whether there was a command and it has ended; one that is given up has, too.
    pub fn is_over(&mut self) -> bool {
        let Some(child) = &mut self.child else { return false };
        self.status = self.status.or_else(|| child.try_wait().ok().flatten());
        self.status.is_some() || self.is_held
    }

    /// How it ended, where it has.
    pub fn status(&self) -> Option<ExitStatus> {
        self.status
    }

    /// Leaves it to its own end, until the user wants to stop.
    pub fn wait(&mut self, control: &Control) {
        while self.child.is_some() && !self.is_over() && !control.is_stopped() {
            std::thread::sleep(LOOK);
        }
    }

    /// Ends a command that still runs.
    pub fn end(&mut self) {
        if self.is_over() {
            return;
        }
        let Some(child) = &mut self.child else { return };
        let held = host::end_tree(child.id(), PATIENCE);
        if let Some(sentence) = of_held(&held) {
            note(&sentence);
        }
        self.is_held = held.contains(&child.id());
        if !self.is_held {
            self.status = child.wait().ok();
        }
    }

    /// What the command made of it, if that was no success. Ended by us is none.
    pub fn complaint(&self, end: &End) -> Option<String> {
        let status = self.status.filter(|status| !status.success() && *end == End::Command)?;
        let (program, _) = self.program.as_ref()?;
        Some(format!("{program} ended with {status}; the records contain its requests until then"))
    }
}

impl Drop for Load {
    /// A command whose capture failed does not go on alone.
    fn drop(&mut self) {
        self.end();
    }
}

/// What is said of processes that do not end though they were killed.
fn of_held(held: &[u32]) -> Option<String> {
    let numbers: Vec<String> = held.iter().map(u32::to_string).collect();
    (!held.is_empty()).then(|| {
        format!(
            "the command was killed, and the kernel holds what is left of it (process {}), as it \
             does on a disk that does not answer and on a frozen file system: that ends when the \
             kernel lets it go",
            numbers.join(", ")
        )
    })
}

/// Where a command prints to whose output is no result: standard output is for what was found.
fn messages() -> Stdio {
    let duplicate = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stderr(), 3);
    duplicate.map_or_else(|_| Stdio::null(), Stdio::from)
}
