//! What is done about a dead run: its settings are put back, what it left is removed, its COMMANDs
//! are ended.
//!
//! Non-goals: which runs are dead, and what is believed of their notes (`super`).

use super::{Dead, Leftovers, failed, still_used};
use crate::load::{MARK, PATIENCE, mark};
use host::machine::boot_id;
use host::scratch::Left;
use host::settings::Setting;
use model::process::Started;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// A COMMAND that outlived lbolt.
#[derive(Debug)]
pub struct LeftCommand {
    process: Started,
    name: String,
    /// Whether its environment says whose it is. Some programs write over theirs.
    pub is_marked: bool,
}

impl LeftCommand {
    fn new(process: Started, of: &Started) -> Self {
        let read = |file: &str| std::fs::read(format!("/proc/{}/{file}", process.pid));
        let mark = format!("{MARK}={}", mark(of)).into_bytes();
        let environment = read("environ").unwrap_or_default();
        let is_marked = environment.split(|byte| *byte == 0).any(|variable| *variable == mark);
        let name = read("comm").unwrap_or_default();
        let name = String::from_utf8_lossy(name.trim_ascii()).into_owned();
        Self { process, name, is_marked }
    }
}

impl std::fmt::Display for LeftCommand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} (process {})", self.name, self.process.pid)
    }
}

impl Dead {
    /// Whether it is of that process.
    pub fn is_of(&self, process: &Started) -> bool {
        self.note.process() == *process
    }

    /// What of the settings that it noted is otherwise now: as it was, and as it is.
    pub fn changed(&self) -> Vec<(Setting, Setting)> {
        match self.note.boot == boot_id() {
            true => self.note.settings.differences(),
            false => vec![],
        }
    }

    /// COMMANDs that it started and that go on.
    pub fn commands(&self) -> Vec<LeftCommand> {
        let of = self.note.process();
        let commands = self.note.living_commands().into_iter();
        commands.map(|process| LeftCommand::new(process, &of)).collect()
    }

    /// Ends one of them and what it started.
    /// Errors: a sentence, with what to do; the note stays.
    pub fn end(&self, command: &LeftCommand) -> Result<(), String> {
        let LeftCommand { process, is_marked, .. } = command;
        if !is_marked {
            let note = self.path();
            return Err(format!(
                "cannot tell whether {command} is the command of a killed run; if so, end it, \
                 otherwise remove {}",
                note.display()
            ));
        }
        host::end_tree(process.pid, PATIENCE);
        match process.is_alive() {
            true => Err(format!("failed to end {command}")),
            false => Ok(()),
        }
    }

    /// Puts back the settings that a dead run changed, and, where none of its COMMANDs goes on,
    /// removes what else it left, then its note. Each part is seen to, whatever became of those
    /// before it; the note stays where any failed. Nobody notes settings meanwhile.
    pub fn clean(&self, is_over: bool) -> Cleaned {
        let mut cleaned = Cleaned::default();
        let lock = (!self.note.settings.0.is_empty()).then(|| self.state.lock());
        match lock.as_ref() {
            Some(Err(error)) => {
                let place = self.state.path().display();
                cleaned.failed.push(format!("failed to lock {place}: {error}"));
            }
            // Somebody else has seen to all.
            _ if self.is_taken_back() => return cleaned,
            _ => self.restore(&mut cleaned),
        }
        if is_over && self.remove(&mut cleaned) && cleaned.failed.is_empty() {
            let removed = self.state.remove(&self.name);
            let failed = |error| format!("failed to remove {}: {error}", self.path().display());
            cleaned.failed.extend(removed.err().map(failed));
        }
        cleaned
    }

    /// The note.
    fn path(&self) -> PathBuf {
        self.state.path().join(&self.name)
    }

    fn is_taken_back(&self) -> bool {
        self.state.read(&self.name).is_err_and(|error| error.kind() == ErrorKind::NotFound)
    }

    fn restore(&self, cleaned: &mut Cleaned) {
        let changed = self.changed();
        if changed.is_empty() {
            return;
        }
        if let Some(why) = Leftovers::look(&[]).changer() {
            return cleaned.failed.push(why);
        }
        let restored = self.note.settings.restore();
        cleaned.failed.extend(restored.err().map(|error| format!("failed to {error}")));
        let left = self.changed();
        let is_back = |was: &Setting| left.iter().all(|(still, _)| still.path != was.path);
        cleaned.restored = changed.into_iter().map(|(was, _)| was).filter(is_back).collect();
    }

    /// What is no setting; whether nothing of it may come again.
    fn remove(&self, cleaned: &mut Cleaned) -> bool {
        let mut is_all = true;
        for scratch in &self.note.scratch {
            if scratch.parent().is_some_and(|parent| !parent.exists()) {
                is_all = false;
                cleaned.kept.push(format!(
                    "{} is not there now, perhaps because its disk is not mounted; if it is gone \
                     for good, remove {}",
                    scratch.display(),
                    self.path().display()
                ));
                continue;
            }
            let removed = Left::open(scratch).and_then(|left| left.map(Left::remove).transpose());
            cleaned.take(scratch, removed.map(|it| it.is_some()).map_err(failed));
        }
        for path in self.note.devices() {
            let unused = |error| still_used(path).unwrap_or_else(|| format!("{error}"));
            cleaned.take(path, host::served::remove(path).map(|()| !path.exists()).map_err(unused));
        }
        let is_here = self.note.boot == boot_id();
        for path in self.note.groups.iter().filter(|path| is_here && path.exists()) {
            let failed = |error| format!("failed to remove {}: {error}", path.display());
            cleaned.take(path, host::group::remove(path).map(|()| true).map_err(failed));
        }
        is_all
    }
}

/// What was seen to of a dead run.
#[derive(Debug, Default)]
pub struct Cleaned {
    /// Settings that are as they were again.
    pub restored: Vec<Setting>,
    /// What was removed.
    pub removed: Vec<PathBuf>,
    /// Sentences on what may come again: its note stays.
    pub kept: Vec<String>,
    /// What could not be seen to: sentences.
    pub failed: Vec<String>,
}

impl Cleaned {
    /// Whether there was nothing to see to.
    pub fn is_nothing(&self) -> bool {
        let Self { restored, removed, kept, failed } = self;
        restored.is_empty() && removed.is_empty() && kept.is_empty() && failed.is_empty()
    }

    fn take(&mut self, path: &Path, removed: Result<bool, String>) {
        match removed {
            Ok(was_there) => self.removed.extend(was_there.then(|| path.to_owned())),
            Err(sentence) => self.failed.push(sentence),
        }
    }
}
