//! Where a run's directory is made: where the user says, or under the first free name of its time
//! and command.

use capture::leftover::Kept;
use cli::OutputOptions;
use messages::fault::{Fault, failure};
use model::run::{RunDirectory, RunError, RunInfo, hidden_in, parent_of};
use std::path::{Path, PathBuf};

/// A run by its name in the runs' directory, or by its own directory.
pub(crate) fn open(runs_dir: &Path, run: &Path) -> anyhow::Result<(RunDirectory, RunInfo)> {
    let in_runs = runs_dir.join(run);
    let path: PathBuf = if in_runs.join("run.json").exists() { in_runs } else { run.to_owned() };
    RunDirectory::open(&path).map_err(|e| {
        failure(
            Fault::Usage,
            format!("failed to {e}; `lbolt runs list` shows the runs of --runs-dir"),
        )
    })
}

/// A place for a run.
#[derive(Debug, Clone)]
pub(crate) struct RunPlace {
    path: PathBuf,
    /// Whether another name does as well.
    is_default: bool,
}

impl From<&Path> for RunPlace {
    /// A directory that the user has named.
    fn from(path: &Path) -> Self {
        Self { path: path.to_owned(), is_default: false }
    }
}

impl AsRef<Path> for RunPlace {
    fn as_ref(&self) -> &Path {
        &self.path
    }
}

impl From<&RunPlace> for RunPlace {
    fn from(place: &RunPlace) -> Self {
        place.clone()
    }
}

impl RunPlace {
    /// As the options say; without them named after the time and the command.
    pub(crate) fn of(output: &OutputOptions, command: &str) -> Self {
        match &output.output {
            Some(path) => Self { path: path.clone(), is_default: false },
            None => Self::at_now(&output.runs_dir, command),
        }
    }

    /// Named after the time and the command.
    pub(crate) fn at_now(runs: &Path, command: &str) -> Self {
        let time = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
        Self::within(runs, &format!("{time}-{command}"))
    }

    /// Of this name in a directory, or the first free one of this name and a number.
    pub(crate) fn within(directory: &Path, name: &str) -> Self {
        Self { path: directory.join(name), is_default: true }
    }

    /// Makes the directory; the run is named after it.
    /// Errors: a directory that cannot be made, or is there already.
    pub(crate) fn create(&self, info: &mut RunInfo) -> anyhow::Result<RunDirectory> {
        let parent = parent_of(&self.path);
        // What is refused here is refused, and told, again below.
        let _ = std::fs::create_dir_all(parent);
        // It has another name for a moment. No run is refused, and nothing told, for want of this
        // note.
        let _kept = Kept::brief(&self.path, &[hidden_in(parent)]);
        let created = match self.is_default {
            true => self.create_first_free(info),
            false => RunDirectory::create(&self.path, info),
        };
        created.map_err(|e| {
            let remedy = match e {
                RunError::Taken { .. } => "",
                _ => "; choose another --output or --runs-dir",
            };
            failure(Fault::Usage, format!("failed to {e}{remedy}"))
        })
    }

    /// Two runs can begin in one second, and at the same moment.
    fn create_first_free(&self, info: &mut RunInfo) -> Result<RunDirectory, RunError> {
        let name = info.name.clone();
        let later = (2u64..).map(|number| format!("{name}-{number}"));
        for name in std::iter::once(name.clone()).chain(later) {
            let path = self.path.with_file_name(&name);
            if path.symlink_metadata().is_ok() {
                continue;
            }
            info.name = name;
            match RunDirectory::create(&path, info) {
                Err(RunError::Taken { .. }) => {}
                created => return created,
            }
        }
        Err(RunError::Taken { path: self.path.clone() })
    }
}
