//! The table `lab.toml`: kernels, guests, stacks of devices, commands, what must hold of them, and
//! where a kernel is known to lack something.

use anyhow::{Context as _, bail, ensure};
use regex_lite::Regex;
use serde::Deserialize;
use std::collections::BTreeSet;

const TABLE: &str = include_str!("../../lab.toml");

/// All of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    pub(super) machine: Machine,
    pub(super) kernel: Vec<Kernel>,
    pub(super) guest: Vec<Guest>,
    pub(super) stack: Vec<Stack>,
    pub(super) command: Vec<Command>,
    #[serde(default)]
    pub(super) exception: Vec<Exception>,
}

/// What every guest is made of.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Machine {
    pub(super) memory_mib: u64,
    pub(super) disk_mib: u64,
    /// Options of QEMU; `FILE` is the disk's image.
    pub(super) disks: Vec<String>,
    /// Debian's packages in the root image.
    pub(super) packages: Vec<String>,
    /// Programs of this machine in the root of the short lab.
    pub(super) programs: Vec<String>,
}

/// A kernel of Debian.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Kernel {
    pub(super) name: String,
    /// The suite it is from, where not this machine's own.
    pub(super) suite: Option<String>,
    pub(super) package: String,
    #[serde(default)]
    pub(super) short: bool,
}

/// A boot, in which many stacks are tried.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Guest {
    pub(super) name: String,
    /// For the kernel's command line.
    #[serde(default)]
    pub(super) parameters: String,
    #[serde(default = "two")]
    pub(super) cpus: u16,
}

fn two() -> u16 {
    2
}

/// Devices upon devices.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Stack {
    pub(super) name: String,
    pub(super) guest: String,
    /// A stack for each of these words, which scripts find in $each.
    #[serde(default)]
    pub(super) each: Vec<String>,
    #[serde(default)]
    pub(super) modules: Vec<String>,
    /// Sets `device`, `at` and so on.
    pub(super) setup: String,
    #[serde(default)]
    pub(super) teardown: String,
    /// Names of commands.
    pub(super) commands: Vec<String>,
    /// Commands on other devices of the stack.
    #[serde(default)]
    pub(super) on: Vec<On>,
    /// What its delay is, for `delay`.
    pub(super) delay_ms: Option<f64>,
    /// The words of `each` that the short lab has; an empty word is for a stack without.
    #[serde(default)]
    pub(super) short: Vec<String>,
}

/// A command on a device other than the stack's.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct On {
    pub(super) name: String,
    /// A word for the shell.
    pub(super) device: String,
    pub(super) command: String,
}

/// What is run on a stack, and what must hold.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Command {
    pub(super) name: String,
    pub(super) run: String,
    /// Of the command, where not 0.
    #[serde(default)]
    pub(super) exit: u8,
    #[serde(default)]
    pub(super) holds: Vec<Kind>,
    /// What must be printed: all of these.
    #[serde(default)]
    pub(super) says: Vec<Pattern>,
    /// What must not be printed: none of these.
    #[serde(default)]
    pub(super) silent: Vec<Pattern>,
    /// Seconds.
    #[serde(default = "limit")]
    pub(super) limit: u32,
    #[serde(default)]
    pub(super) short: bool,
}

/// A case takes seconds; but the machine may be busy with other things.
fn limit() -> u32 {
    400
}

/// A kind of assertion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    /// Captured by BPF, and not by perf.
    Bpf,
    /// Requests, flushes and discards are what the kernel counted.
    Counts,
    /// Bytes are what the kernel counted.
    Bytes,
    /// What a watch's history counts, requests and bytes, is what the kernel counted.
    Watched,
    /// Many requests were summed up in the kernel.
    Summed,
    /// The requests of fio's own, and their bytes, are what fio counted.
    Fio,
    /// The bytes that were written are what fio counted.
    FioBytes,
    /// Each request is there once, with its begin and its completion.
    Once,
    /// No finding is suspect.
    Trusted,
    /// fio's calls of fsync are what fio counted.
    Fsyncs,
    /// The published p50 is the stack's delay.
    Delay,
    /// The times of the layers sum to the top's.
    Layers,
    /// The device is as it was.
    Unchanged,
    /// The device is no longer as it was.
    Changed,
}

/// Where less can be held, and why.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Exception {
    /// A regular expression for the whole name, as the next.
    #[serde(default)]
    stack: Whole,
    #[serde(default)]
    case: Whole,
    /// All, if none is named.
    #[serde(default)]
    kernels: Vec<String>,
    /// The kernel lacks something: what must be printed.
    pub(super) lacks: Option<Pattern>,
    /// These assertions are not held; where it lacks something and this is empty, none is.
    #[serde(default)]
    pub(super) without: Vec<Kind>,
    /// Why, for those who read the matrix.
    pub(super) why: String,
}

impl Exception {
    pub(super) fn is_of(&self, kernel: &str, stack: &str, case: &str) -> bool {
        let is_kernel = self.kernels.is_empty() || self.kernels.iter().any(|one| one == kernel);
        is_kernel && self.stack.is(stack) && self.case.is(case)
    }
}

/// A regular expression that is searched for; the dot stands for a line's end too.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Pattern(Regex);

impl TryFrom<String> for Pattern {
    type Error = regex_lite::Error;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Regex::new(&format!("(?s){text}")).map(Self)
    }
}

impl Pattern {
    pub(super) fn find<'a>(&self, text: &'a str) -> Option<&'a str> {
        self.0.find(text).map(|found| found.as_str())
    }

    /// As it was written.
    pub(super) fn source(&self) -> &str {
        self.0.as_str().trim_start_matches("(?s)")
    }
}

/// A regular expression for the whole of a name; all names if there is none.
#[derive(Debug, Default, Deserialize)]
#[serde(try_from = "String")]
struct Whole(Option<Regex>);

impl TryFrom<String> for Whole {
    type Error = regex_lite::Error;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Regex::new(&format!("^(?:{text})$")).map(|regex| Self(Some(regex)))
    }
}

impl Whole {
    fn is(&self, name: &str) -> bool {
        self.0.as_ref().is_none_or(|regex| regex.is_match(name))
    }
}

impl Table {
    /// Errors: a table that contradicts itself.
    pub(super) fn read() -> anyhow::Result<Self> {
        let table: Self = toml::from_str(TABLE).context("lab.toml")?;
        table.check().context("lab.toml")?;
        Ok(table)
    }

    /// Errors: there is no such command.
    pub(super) fn command(&self, name: &str) -> anyhow::Result<&Command> {
        let found = self.command.iter().find(|command| command.name == name);
        found.with_context(|| format!("no command is called {name}"))
    }

    fn check(&self) -> anyhow::Result<()> {
        let kernels: BTreeSet<_> = self.kernel.iter().map(|kernel| &kernel.name).collect();
        let guests: BTreeSet<_> = self.guest.iter().map(|guest| &guest.name).collect();
        ensure!(kernels.len() == self.kernel.len(), "two kernels have one name");
        for stack in &self.stack {
            ensure!(guests.contains(&stack.guest), "{}: no guest {}", stack.name, stack.guest);
            for name in stack.commands.iter().chain(stack.on.iter().map(|on| &on.command)) {
                let command = self.command(name).with_context(|| stack.name.clone())?;
                let needs_delay = command.holds.contains(&Kind::Delay);
                ensure!(!needs_delay || stack.delay_ms.is_some(), "{}: no delay_ms", stack.name);
            }
        }
        for exception in &self.exception {
            if let Some(name) = exception.kernels.iter().find(|name| !kernels.contains(name)) {
                bail!("an exception names a kernel {name}, which there is not");
            }
            let is_any = exception.lacks.is_some() || !exception.without.is_empty();
            ensure!(is_any && !exception.why.is_empty(), "an exception excepts nothing, or no why");
        }
        Ok(())
    }
}

impl Stack {
    /// The stacks that it stands for: their names, each with its word of `each`.
    pub(super) fn all(&self) -> Vec<(String, &str)> {
        match &self.each[..] {
            [] => vec![(self.name.clone(), "")],
            all => {
                all.iter().map(|word| (format!("{} {word}", self.name), word.as_str())).collect()
            }
        }
    }

    /// Their names.
    pub(super) fn names(&self) -> Vec<String> {
        self.all().into_iter().map(|(name, _)| name).collect()
    }
}
