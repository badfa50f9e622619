//! What a killed run could leave in spite of all: scratch. Every run that has some notes it before
//! it begins, and takes the note back at its end; `doctor --clean` removes what the notes of dead
//! runs name, and just that.
//!
//! A note deletes nothing by itself: it is believed only if nobody else can have written it
//! (`host::state`), and what it names goes only if it is scratch of this user's that nobody uses
//! (`host::scratch`).

use super::caretaker;
use host::Distrust;
use host::machine::boot_id;
use host::scratch::{Left, ScratchError, direct, in_directory};
use host::settings::{Setting, Snapshot};
use host::state::{Found, StateDirectory, StatePath, StatePaths};
use model::doubt::{Code, Doubt};
use model::process::{self, Started};
use serde::{Deserialize, Serialize};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
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
    /// Settings of the kernel as they were. They are every container's, so the kernel keeps this
    /// note, too ([`host::kernel_notes`]).
    #[serde(default)]
    pub settings: Snapshot,
    /// In which namespace the number is the process's.
    #[serde(default)]
    pub pid_namespace: u64,
    /// Devices that it made and served.
    #[serde(default)]
    pub loops: Vec<PathBuf>,
    /// Cgroups that it may have made.
    #[serde(default)]
    pub groups: Vec<PathBuf>,
}

impl Note {
    fn is_of_dead(&self) -> bool {
        let is_before = !self.boot.is_empty() && self.boot != boot_id();
        is_before || !self.may_be_alive()
    }

    /// In another namespace than this one the number says nothing. Whoever sees all namespaces sees
    /// whether there is anybody in that one.
    fn may_be_alive(&self) -> bool {
        let own = pid_namespace("self");
        if self.pid_namespace == 0 || self.pid_namespace == own {
            return self.process().is_alive();
        }
        let entries = std::fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
        let is_there = |entry: std::fs::DirEntry| {
            entry.file_name().to_str().is_some_and(|name| pid_namespace(name) == self.pid_namespace)
        };
        own != OF_ALL || entries.into_iter().any(is_there)
    }

    fn process(&self) -> Started {
        Started { pid: self.pid, ticks: self.process_started }
    }
}

/// The namespace of processes that all others are in (include/linux/proc_ns.h,
/// `PROC_PID_INIT_INO`).
const OF_ALL: u64 = 0xEFFF_FFFC;

/// The namespace of a process's number; 0 where it cannot be seen.
fn pid_namespace(process: &str) -> u64 {
    std::fs::metadata(format!("/proc/{process}/ns/pid")).map_or(0, |metadata| metadata.ino())
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
        // Before the note: whoever is killed after it has somebody who sees to it. Where none can
        // be started, `doctor --clean` does.
        let _ = caretaker::begun();
        let pid = std::process::id();
        let process_started = process::started(pid).unwrap_or(0);
        let pid_namespace = pid_namespace("self");
        let note = Note { pid, process_started, boot: boot_id(), pid_namespace, ..note };
        let state = own_state()?;
        let name = write_first_free(&state, &note)
            .map_err(|e| format!("{}: {e}", state.path().display()))?;
        if !note.settings.0.is_empty() {
            // Where it keeps none, the file is all there is.
            let _ = serde_json::to_vec(&note).map(|text| host::kernel_notes::keep(&name, &text));
        }
        Ok(Self { note: Some((state, name)), noted: note })
    }
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
        let Note { scratch, loops, groups, settings, .. } = &self.noted;
        if scratch.iter().chain(loops).chain(groups).any(is_there)
            || !settings.differences().is_empty()
        {
            return;
        }
        if let Some((state, name)) = &self.note {
            // A note that stays names scratch that is gone: `doctor --clean` takes it back.
            let _ = state.remove(name);
            if !settings.0.is_empty() {
                host::kernel_notes::remove(name);
            }
        }
    }
}

/// A note of a dead run.
#[derive(Debug)]
pub struct Dead {
    /// Where it is a file; none of one that the kernel alone keeps.
    state: Option<Rc<StateDirectory>>,
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
pub fn settings_of_others() -> Option<String> {
    let found = Leftovers::look(&[]);
    let own = std::process::id();
    let changes = |note: &&Note| note.pid != own && !note.settings.0.is_empty();
    if let Some(other) = found.living.iter().find(changes) {
        return Some(format!(
            "another lbolt (process {}) is changing settings; wait for its \
                             end",
            other.pid
        ));
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
    /// Looks at all notes, and for scratch that nobody noted in these directories.
    pub fn look(directories: &[PathBuf]) -> Self {
        let mut found = Self { instances: trace::capture::abandoned(), ..Self::default() };
        let places = StatePaths::of_this_process();
        for place in places.own.iter().chain(&places.earlier) {
            found.look_at(place);
        }
        found.look_at_kernel();
        for directory in directories {
            found.look_in(directory);
        }
        found
    }

    /// Notes that the kernel keeps, where their files are not to be seen from here.
    fn look_at_kernel(&mut self) {
        for (name, bytes) in host::kernel_notes::all() {
            let Ok(note) = serde_json::from_slice::<Note>(&bytes) else { continue };
            let known = self.dead.iter().map(|dead| &dead.note).chain(&self.living);
            if known.into_iter().any(|known| *known == note) {
                continue;
            }
            match note.is_of_dead() {
                true => self.dead.push(Dead { state: None, name, note }),
                false => self.living.push(note),
            }
        }
    }

    fn look_at(&mut self, place: &StatePath) {
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
                Ok(Found::Own(bytes)) => match note_of(&name, &bytes) {
                    Some(note) if note.is_of_dead() => {
                        let state = Some(state.clone());
                        self.dead.push(Dead { state, name, note });
                    }
                    Some(note) => self.living.push(note),
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

    /// Puts back the settings that a dead run changed; says which.
    /// Errors: a sentence that names one that could not be; the note stays.
    pub fn restore(&self) -> Result<Vec<Setting>, String> {
        match self.note.boot == boot_id() {
            true => self.note.settings.restore().map_err(|error| format!("failed to {error}")),
            false => Ok(vec![]),
        }
    }

    /// Removes what a dead run left, then its note. Gives back what was removed.
    /// Errors: a sentence that names what cannot be removed; the note stays.
    pub fn clean(&self) -> Result<Vec<PathBuf>, String> {
        let mut removed = Vec::new();
        for scratch in &self.note.scratch {
            if scratch.parent().is_some_and(|parent| !parent.exists()) {
                // Its disk may not be mounted just now: the note stays.
                return Ok(removed);
            }
            let Some(left) = Left::open(scratch).map_err(failed)? else { continue };
            left.remove().map_err(failed)?;
            removed.push(scratch.clone());
        }
        // Another boot has other devices, and settings of its own.
        if self.note.boot == boot_id() {
            for path in &self.note.loops {
                host::served::remove(path).map_err(|error| error.to_string())?;
            }
            for path in self.note.groups.iter().filter(|path| path.exists()) {
                host::group::remove(path)
                    .map_err(|error| format!("failed to remove {}: {error}", path.display()))?;
                removed.push(path.clone());
            }
        }
        if let Some(state) = &self.state {
            let note = state.path().join(&self.name);
            let failed = |e| format!("failed to remove {}: {e}", note.display());
            state.remove(&self.name).map_err(failed)?;
        }
        if !self.note.settings.0.is_empty() {
            host::kernel_notes::remove(&self.name);
        }
        Ok(removed)
    }
}

/// The sentence of a refusal to remove something.
pub fn failed(error: ScratchError) -> String {
    format!("failed to {error}")
}
