//! What a killed run could leave in spite of all: scratch. Every run that has some notes it before
//! it begins, and takes the note back at its end; `doctor --clean` removes what the notes of dead
//! runs name, and just that.
//!
//! A note is data. It is believed only if nobody else can have written it (`host::state`). What it
//! names goes only if it is scratch of this user's that nobody uses (`host::scratch`); what it has
//! of settings is written only where and as the table of settings allows (`host::settings`); of a
//! COMMAND's process the start is looked at, too.

mod dead;

pub use dead::{Cleaned, LeftCommand};

use super::caretaker;
use host::Distrust;
use host::machine::boot_id;
use host::scratch::{Left, ScratchError, direct, in_directory};
use host::settings::Snapshot;
use host::state::{
    FIRST_PID_NAMESPACE, Found, StateDirectory, StatePath, StatePaths, pid_namespace,
};
use model::doubt::{Code, Doubt};
use model::process::{self, Started};
use serde::{Deserialize, Serialize};
use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// A note about a running run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// Its process.
    pub pid: u32,
    /// The process's start time (field 22 of /proc/PID/stat), for numbers are used again.
    pub process_started: u64,
    /// The kernel's name for the time since it was booted, for start times are, too. Earlier
    /// versions noted none.
    #[serde(default)]
    pub boot: String,
    /// The run's directory.
    pub run: PathBuf,
    /// Scratch files and directories.
    pub scratch: Vec<PathBuf>,
    /// Settings of the kernel as they were.
    #[serde(default)]
    pub settings: Snapshot,
    /// In which namespace the number is the process's.
    #[serde(default)]
    pub pid_namespace: u64,
    /// Devices that it made and served.
    #[serde(default)]
    pub loops: Vec<PathBuf>,
    /// Which ones of these names, as far as the kernel tells ([`host::served::sequence`]).
    #[serde(default)]
    pub sequences: Vec<u64>,
    /// Cgroups that it may have made.
    #[serde(default)]
    pub groups: Vec<PathBuf>,
    /// COMMANDs that it started.
    #[serde(default)]
    pub commands: Vec<Started>,
}

impl Note {
    /// Of a device that this process made and serves.
    pub fn of_device(path: &Path) -> Self {
        let sequences = host::served::sequence(path).into_iter().collect();
        Self { loops: vec![path.to_owned()], sequences, ..Self::default() }
    }

    /// Its devices that are there: another boot, and whoever sets one up anew, has others of these
    /// names. One that nobody uses has another sequence, too: its file went, and its name stays.
    pub fn devices(&self) -> impl Iterator<Item = &PathBuf> {
        let sequences = self.sequences.iter().map(Some).chain(std::iter::repeat(None));
        let is_its = |(path, noted): &(&PathBuf, Option<&u64>)| {
            let is_noted = |noted: &u64| host::served::sequence(path) == Some(*noted);
            let is_same = noted.is_none_or(is_noted) || !host::served::is_used(path);
            self.boot == boot_id() && is_same && path.exists()
        };
        self.loops.iter().zip(sequences).filter(is_its).map(|(path, _)| path)
    }

    fn is_of_dead(&self) -> bool {
        let is_before = !self.boot.is_empty() && self.boot != boot_id();
        is_before || !self.may_be_alive()
    }

    /// In another namespace than this one the number says nothing. Whoever sees all namespaces sees
    /// whether there is anybody in that one.
    fn may_be_alive(&self) -> bool {
        let own = pid_namespace("self");
        if self.is_of_namespace(own) {
            return self.process().is_alive();
        }
        let entries = std::fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
        let is_there = |entry: std::fs::DirEntry| {
            entry.file_name().to_str().is_some_and(|name| pid_namespace(name) == self.pid_namespace)
        };
        own != FIRST_PID_NAMESPACE || entries.into_iter().any(is_there)
    }

    /// Whether its numbers are of that namespace.
    fn is_of_namespace(&self, own: u64) -> bool {
        self.pid_namespace == 0 || self.pid_namespace == own
    }

    /// COMMANDs that go on; in another namespace their numbers say nothing.
    fn living_commands(&self) -> Vec<Started> {
        let is_known = self.boot == boot_id() && self.is_of_namespace(pid_namespace("self"));
        // None was there before who started it.
        let is_its = |command: &Started| is_known && command.ticks >= self.process_started;
        let commands = self.commands.iter().copied().filter(is_its);
        commands.filter(Started::is_alive).collect()
    }

    /// What nobody but this user wrote, and what a note may say.
    /// Errors: why it is none, for a sentence.
    fn checked(self, name: &str, place: Place) -> Result<Self, String> {
        let Self { pid, process_started, .. } = self;
        if !name.starts_with(&format!("{pid}-{process_started}")) {
            return Err("it has the name of another process's note".to_owned());
        }
        self.settings.check().map_err(|error| format!("lbolt does not {error}"))?;
        match place {
            Place::Own => Ok(self),
            Place::Earlier => Ok(Self {
                settings: Snapshot::default(),
                loops: vec![],
                sequences: vec![],
                groups: vec![],
                commands: vec![],
                ..self
            }),
        }
    }

    fn process(&self) -> Started {
        Started { pid: self.pid, ticks: self.process_started }
    }
}

/// Whose place of notes it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Where this version notes.
    Own,
    /// Where earlier versions noted scratch, and nothing else.
    Earlier,
}

/// A note on disk; dropping it takes it back.
#[derive(Debug)]
pub struct Kept {
    note: Option<(StateDirectory, String)>,
    noted: Note,
}

impl Kept {
    /// Nothing is noted.
    pub fn nothing() -> Self {
        Self { note: None, noted: Note::default() }
    }

    /// Notes that this process runs `run` and uses this scratch. The note outlives a loss of power,
    /// as scratch does.
    /// Errors: a sentence that says where no note can be written, and why.
    pub fn write(run: &Path, scratch: &[PathBuf]) -> Result<Self, String> {
        let kept = Self::brief(run, scratch)?;
        if let Some((state, name)) = &kept.note {
            state.sync(name).map_err(|e| format!("{}: {e}", state.path().display()))?;
        }
        Ok(kept)
    }

    /// The same for what is there for a moment: the note may be lost with the power.
    /// Errors: as [`Self::write`].
    pub fn brief(run: &Path, scratch: &[PathBuf]) -> Result<Self, String> {
        if scratch.is_empty() {
            return Ok(Self::nothing());
        }
        Self::note(Note {
            run: std::path::absolute(run).unwrap_or_else(|_| run.to_owned()),
            scratch: scratch.iter().map(|path| direct(path)).collect(),
            ..Note::default()
        })
    }

    /// Notes what this process is going to change, or to make, before it does.
    /// Errors: as [`Self::write`].
    pub fn note(note: Note) -> Result<Self, String> {
        Self::note_in(own_state()?, note)
    }

    /// Notes how settings are, for this process is going to change them. To look and to note is one
    /// step: of two that begin at once, the second one finds the first one's note.
    /// Errors: as [`Self::write`]; another run changes settings, or has left them changed; a note
    /// that nobody would find.
    pub fn of_settings(
        note: Note,
        look: impl FnOnce() -> Result<Snapshot, String>,
    ) -> Result<(Self, Snapshot), String> {
        let state = own_state().map_err(|reason| unnoted(&format!("no note in {reason}")))?;
        let failed =
            |error| unnoted(&format!("failed to lock {}: {error}", state.path().display()));
        let lock = state.lock().map_err(failed)?;
        if state.may_end_with_its_container().map_err(failed)? {
            return Err(unnoted(&format!(
                "{} may end with this container; mount the host's /var/lib/lbolt at \
                 /var/lib/lbolt in the container",
                state.path().display()
            )));
        }
        if let Some(why) = settings_of_others() {
            return Err(why);
        }
        let settings = look()?;
        let kept = Self::note_in(state, Note { settings: settings.clone(), ..note });
        drop(lock);
        let kept = kept.map_err(|reason| unnoted(&format!("no note in {reason}")))?;
        Ok((kept, settings))
    }

    fn note_in(state: StateDirectory, note: Note) -> Result<Self, String> {
        // Before the note: whoever is killed after it has somebody who sees to it. Where none can
        // be started, `doctor --clean` does.
        let _ = caretaker::begun();
        let pid = std::process::id();
        let process_started = process::started(pid).unwrap_or(0);
        Self::keep(state, Note { pid, process_started, ..note })
    }

    /// In the caretaker: notes the COMMANDs of the process that it is for.
    /// Errors: as [`Self::write`].
    pub(super) fn commands(of: &Started, commands: Vec<Started>) -> Result<Self, String> {
        let (pid, process_started) = (of.pid, of.ticks);
        Self::keep(own_state()?, Note { pid, process_started, commands, ..Note::default() })
    }

    fn keep(state: StateDirectory, note: Note) -> Result<Self, String> {
        let note = Note { boot: boot_id(), pid_namespace: pid_namespace("self"), ..note };
        let name = write_first_free(&state, &note)
            .map_err(|e| format!("{}: {e}", state.path().display()))?;
        Ok(Self { note: Some((state, name)), noted: note })
    }
}

/// Why settings stay as they are.
fn unnoted(why: &str) -> String {
    format!("settings are not changed, because they cannot be noted for restoring: {why}")
}

/// Where this process's notes go: the first place that will do.
fn own_state() -> Result<StateDirectory, String> {
    let mut refused = Vec::new();
    for place in StatePaths::of_this_process().own {
        match StateDirectory::make(&place) {
            Ok(state) => return Ok(state),
            Err(error) => refused.push(format!("{} (failed to {error})", place.path.display())),
        }
    }
    Err(match refused.as_slice() {
        [] => "any directory: XDG_STATE_HOME, HOME and XDG_RUNTIME_DIR are not set".to_owned(),
        refused => refused.join(", nor in "),
    })
}

/// Where this process's notes go, open; none where no place will do.
pub(super) fn place_of_notes() -> Option<OwnedFd> {
    own_state().ok().map(StateDirectory::into_open)
}

/// A process may have several notes, and a dead one's may have its number and its time.
fn write_first_free(state: &StateDirectory, note: &Note) -> std::io::Result<String> {
    let text = serde_json::to_vec(note)?;
    let mut number = 1u64;
    loop {
        let name = format!("{}-{}-{number}.json", note.pid, note.process_started);
        match state.write(&name, &text) {
            Err(e) if e.kind() == ErrorKind::AlreadyExists => number += 1,
            written => return written.map(|()| name),
        }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // What could not be removed or put back keeps its note, for `doctor --clean`.
        let is_there = |path: &PathBuf| path.symlink_metadata().is_ok();
        let Note { scratch, groups, settings, .. } = &self.noted;
        if scratch.iter().chain(groups).any(is_there)
            || self.noted.devices().next().is_some()
            || !settings.differences().is_empty()
            || !self.noted.living_commands().is_empty()
        {
            return;
        }
        if let Some((state, name)) = &self.note {
            // A note that stays names scratch that is gone: `doctor --clean` takes it back.
            let _ = state.remove(name);
        }
    }
}

/// A note of a dead run.
#[derive(Debug)]
pub struct Dead {
    state: Rc<StateDirectory>,
    name: String,
    /// What it noted.
    pub note: Note,
}

/// What there is of killed runs.
#[derive(Debug, Default)]
pub struct Leftovers {
    /// Runs that were killed.
    pub dead: Vec<Dead>,
    /// The notes of runs that go on.
    living: Vec<Note>,
    /// Scratch that nobody noted: an earlier version's, or of a run that found no place for notes.
    pub unnoted: Vec<Left>,
    /// Instances of the kernel's tracer, by name (`trace::capture::abandoned`).
    pub instances: Vec<String>,
    /// What was seen and is not believed, and why.
    pub distrusted: Vec<String>,
    /// StatePaths that could not be looked into, and why.
    pub unreadable: Vec<String>,
}

/// Why this run must not change settings, if so: another one does, or a killed one did, and what
/// it left would be taken for what was before.
fn settings_of_others() -> Option<String> {
    let found = Leftovers::look(&[]);
    if let Some(why) = found.changer() {
        return Some(why);
    }
    let dead = found.dead.iter().find(|dead| !dead.changed().is_empty())?;
    let pid = dead.note.pid;
    Some(format!(
        "a killed lbolt (process {pid}) left changed settings; run `lbolt doctor --clean` \
                  first"
    ))
}

/// What killed runs left changed of the kernel's settings: what is measured now is measured under
/// these, and nobody may know it. A doubt for each.
pub fn doubts_of_settings() -> Vec<Doubt> {
    let doubts = |dead: Dead| {
        let process = u64::from(dead.note.pid);
        dead.changed().into_iter().map(move |(was, is)| {
            let what = format!("{} from {} to {}", was.path.display(), was.value, is.value);
            Doubt::new(Code::SettingLeft, [("what", what.into()), ("process", process.into())])
        })
    };
    Leftovers::look(&[]).dead.into_iter().flat_map(doubts).collect()
}

impl Leftovers {
    /// Who else changes settings now, if anybody does: a sentence.
    fn changer(&self) -> Option<String> {
        // Its number alone does not tell: each of two containers may have a process 1.
        let (own, namespace) = (Started::own().ok(), pid_namespace("self"));
        let is_own = |note: &Note| Some(note.process()) == own && note.is_of_namespace(namespace);
        let changes = |note: &&Note| !is_own(note) && !note.settings.0.is_empty();
        let pid = self.living.iter().find(changes)?.pid;
        Some(format!("another lbolt (process {pid}) is changing settings; wait for its end"))
    }

    /// Looks at all notes, and for scratch that nobody noted in these directories.
    pub fn look(directories: &[PathBuf]) -> Self {
        let mut found = Self { instances: trace::capture::abandoned(), ..Self::default() };
        let places = StatePaths::of_this_process();
        for place in &places.own {
            found.look_at(place, Place::Own);
        }
        for place in &places.earlier {
            found.look_at(place, Place::Earlier);
        }
        for directory in directories {
            found.look_in(directory);
        }
        found
    }

    fn look_at(&mut self, place: &StatePath, whose: Place) {
        let state = match StateDirectory::open(place) {
            Ok(None) => return,
            Ok(Some(state)) => Rc::new(state),
            Err(error @ Distrust::Foreign { .. }) => {
                let place = place.path.display();
                return self.distrusted.push(format!("{place} is not trusted: failed to {error}"));
            }
            Err(error) => return self.unreadable.push(unreadable(&place.path, &error)),
        };
        let names = match state.names() {
            Ok(names) => names,
            Err(error) => return self.unreadable.push(unreadable(&place.path, &error)),
        };
        for name in names.into_iter().filter(|name| name.ends_with(".json")) {
            let path = place.path.join(&name);
            match state.read(&name) {
                Ok(Found::Own(bytes)) => match note_of(&name, &bytes)
                    .map(|note| note.checked(&name, whose))
                {
                    Some(Ok(note)) if note.is_of_dead() => {
                        self.dead.push(Dead { state: state.clone(), name, note });
                    }
                    Some(Ok(note)) => self.living.push(note),
                    Some(Err(why)) => {
                        self.distrusted
                            .push(format!("{} is not trusted: {why}; remove it", path.display()));
                    }
                    None => self.distrusted.push(format!(
                        "{} is not an lbolt note and is \
                                                          ignored",
                        path.display()
                    )),
                },
                Ok(Found::Distrusted(why)) => {
                    self.distrusted.push(format!("{} is not trusted: {why}", path.display()));
                }
                // Its run has just ended.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => self.unreadable.push(unreadable(&path, &error)),
            }
        }
    }

    fn look_in(&mut self, directory: &Path) {
        let paths = match in_directory(directory) {
            Ok(paths) => paths,
            Err(error) => return self.unreadable.push(unreadable(directory, &error)),
        };
        for path in paths.iter().map(|path| direct(path)) {
            let is_noted = |dead: &Dead| dead.note.scratch.contains(&path);
            if self.dead.iter().any(is_noted) || self.unnoted.iter().any(|left| left.path() == path)
            {
                continue;
            }
            match Left::open(&path) {
                Ok(left) => self.unnoted.extend(left),
                // A run that goes on.
                Err(ScratchError::InUse { .. }) => {}
                Err(error) => {
                    self.distrusted.push(format!("{} is kept: failed to {error}", path.display()))
                }
            }
        }
    }
}

fn unreadable(path: &Path, error: &dyn std::fmt::Display) -> String {
    format!("failed to search {} for leftovers of killed runs: {error}", path.display())
}

/// The note in a file. Of one that was cut short the name says whose it was: nothing was made yet.
fn note_of(name: &str, bytes: &[u8]) -> Option<Note> {
    let of_name = || {
        let mut numbers = name.strip_suffix(".json")?.split('-').map(str::parse::<u64>);
        let pid = u32::try_from(numbers.next()?.ok()?).ok()?;
        Some(Note { pid, process_started: numbers.next()?.ok()?, ..Note::default() })
    };
    serde_json::from_slice(bytes).ok().or_else(of_name)
}

/// The sentence of a device that a killed run left and that somebody uses, with what to do.
pub fn still_used(device: &Path) -> Option<String> {
    let used = host::served::use_and_release(device)?;
    let device = device.display();
    Some(format!("{device} of a killed run {used}, then run `lbolt doctor --clean` again"))
}

/// The sentence of a refusal to remove something.
pub fn failed(error: ScratchError) -> String {
    format!("failed to {error}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::settings::Setting;

    /// Two containers that share the host's notes may both have a process 1.
    #[test]
    fn who_has_the_same_number_elsewhere_or_had_it_before_is_another() {
        let pid = std::process::id();
        let setting = Setting { path: "/proc/sys/vm/dirty_bytes".into(), value: "0".into() };
        let own = Note {
            pid,
            process_started: process::started(pid).unwrap(),
            pid_namespace: pid_namespace("self"),
            settings: Snapshot(vec![setting]),
            ..Note::default()
        };
        let changer = |note: Note| {
            Leftovers { living: vec![note], ..Leftovers::default() }.changer().is_some()
        };
        assert!(!changer(own.clone()));
        assert!(changer(Note { pid_namespace: own.pid_namespace + 1, ..own.clone() }));
        assert!(changer(Note { process_started: own.process_started + 1, ..own.clone() }));
        assert!(!changer(Note { pid: pid + 1, settings: Snapshot::default(), ..own }));
    }
}
