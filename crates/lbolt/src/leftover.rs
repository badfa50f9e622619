//! What a killed run could leave in spite of all: its scratch directory. Every
//! run that has one notes it here before it begins, and takes the note back at its
//! end; `doctor --clean` removes what the notes of dead runs name, and just that.

use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// A note about a running run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Note {
    pub(crate) pid: u32,
    /// The process's start time (field 22 of /proc/PID/stat), for numbers are used again.
    pub(crate) process_started: u64,
    pub(crate) run: PathBuf,
    pub(crate) scratch: Vec<PathBuf>,
}

/// Where the notes are.
fn notes_directory() -> PathBuf {
    let variable = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let state = variable("XDG_STATE_HOME").or_else(|| Some(variable("HOME")?.join(".local/state")));
    state.unwrap_or_else(|| PathBuf::from("/var/tmp")).join("lbolt/running")
}

/// When a process started, in the kernel's own ticks; none if there is no such process.
fn process_started(pid: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = text.rsplit_once(')')?;
    rest.split_whitespace().nth(22 - 3)?.parse().ok()
}

/// A note on disk; dropping it takes it back.
pub(crate) struct Kept {
    path: Option<PathBuf>,
    scratch: Vec<PathBuf>,
}

impl Kept {
    /// Nothing is noted.
    pub(crate) fn nothing() -> Self {
        Self { path: None, scratch: vec![] }
    }

    /// Notes that this process runs `run` and uses these scratch directories.
    ///
    /// # Errors
    /// A sentence that names where the note cannot be written.
    pub(crate) fn write(run: &Path, scratch: &[PathBuf]) -> Result<Self, String> {
        if scratch.is_empty() {
            return Ok(Self::nothing());
        }
        let directory = notes_directory();
        let refused = |e: std::io::Error| format!("{}: {e}", directory.display());
        Self::write_in(&directory, run, scratch).map_err(refused)
    }

    fn write_in(directory: &Path, run: &Path, scratch: &[PathBuf]) -> std::io::Result<Self> {
        let pid = std::process::id();
        std::fs::create_dir_all(directory)?;
        let note = Note {
            pid,
            process_started: process_started(pid).unwrap_or(0),
            run: std::path::absolute(run)?,
            scratch: scratch.iter().map(std::path::absolute).collect::<Result<_, _>>()?,
        };
        // The start time too, for a process number that comes again must not take the name of
        // a dead run's note.
        let path = directory.join(format!("{pid}-{}.json", note.process_started));
        std::fs::write(&path, serde_json::to_string(&note)?)?;
        Ok(Self { path: Some(path), scratch: note.scratch })
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // Scratch that could not be removed keeps its note, for `doctor --clean`.
        if self.scratch.iter().any(|scratch| scratch.symlink_metadata().is_ok()) {
            return;
        }
        if let Some(path) = &self.path {
            // A note that stays names scratch that is gone: `doctor --clean` takes it back.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// The notes of runs whose process is dead, with their files.
///
/// # Errors
/// A sentence that names where the notes cannot be read.
pub(crate) fn of_dead_runs() -> Result<Vec<(PathBuf, Note)>, String> {
    let directory = notes_directory();
    let entries = match std::fs::read_dir(&directory) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(vec![]),
        entries => entries.map_err(|e| {
            format!("the notes of running runs cannot be read from {}: {e}", directory.display())
        })?,
    };
    let notes = entries.filter_map(Result::ok).filter_map(|entry| {
        let text = std::fs::read_to_string(entry.path()).ok()?;
        Some((entry.path(), serde_json::from_str::<Note>(&text).ok()?))
    });
    let is_dead = |note: &Note| process_started(note.pid) != Some(note.process_started);
    Ok(notes.filter(|(_, note)| is_dead(note)).collect())
}

/// Removes what a dead run left, then its note. Gives back what was removed.
///
/// # Errors
/// A sentence that names what cannot be removed; the note stays.
pub(crate) fn clean(path: &Path, note: &Note) -> Result<Vec<PathBuf>, String> {
    let failed = |path: &Path| format!("failed to remove {}", path.display());
    let mut removed = Vec::new();
    for scratch in &note.scratch {
        if scratch.parent().is_some_and(|parent| !parent.exists()) {
            // Its disk may not be mounted just now: the note stays.
            return Ok(removed);
        }
        if scratch.symlink_metadata().is_err() {
            continue;
        }
        host::subject::remove_scratch(scratch).map_err(|e| format!("{}: {e}", failed(scratch)))?;
        removed.push(scratch.clone());
    }
    std::fs::remove_file(path).map_err(|e| format!("{}: {e}", failed(path)))?;
    Ok(removed)
}
