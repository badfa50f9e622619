//! Where commands run, and what their words mean there.

use super::child::{self, Child};
use super::place::{Mounted, Records};
use super::turn::Turn;
use super::{case::Case, own};
use anyhow::Context as _;
use host::drive::Control;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// After each mount, so that what unmounting set off ends before the turn: lbolt calibrates for a
/// while before it writes, fio writes at once.
const REST: Duration = Duration::from_millis(500);

/// What every command needs.
pub(super) struct Work {
    pub(super) lbolt: PathBuf,
    pub(super) control: Arc<Control>,
    pub(super) records: Records,
    /// The workspace's directory.
    pub(super) root: PathBuf,
    /// Where real traces would lie.
    pub(super) data: PathBuf,
    /// A directory whose disk holds images.
    pub(super) at: PathBuf,
    /// None until a case needs it, and where it could not be mounted again.
    pub(super) place: Option<Mounted>,
    /// The device of the case.
    pub(super) device: PathBuf,
}

/// A command with its places filled in.
struct Command<'a> {
    name: &'a str,
    program: PathBuf,
    arguments: Vec<OsString>,
}

impl Work {
    fn command<'a>(&self, text: &'a str) -> anyhow::Result<Command<'a>> {
        let mut words = text.split_whitespace();
        let name = words.next().context("a command without a program")?;
        let program = if name == "lbolt" { self.lbolt.clone() } else { name.into() };
        Ok(Command { name, program, arguments: words.map(|word| self.filled(word)).collect() })
    }

    /// A word with the places that it names.
    fn filled(&self, word: &str) -> OsString {
        let records = self.records.path();
        let place = self.place.as_ref().map_or_else(|| records.clone(), Mounted::path);
        let file = self.place.as_ref().map_or_else(|| records.clone(), Mounted::fio_file);
        let places = [
            ("{place}", place),
            ("{file}", file),
            ("{run}", records.join("run")),
            ("{records}", records),
            ("{root}", self.root.clone()),
            ("{data}", self.data.clone()),
            ("{device}", self.device.clone()),
            ("{lbolt}", self.lbolt.clone()),
            ("{at}", self.at.clone()),
        ];
        let fill = |word: String, (name, path): &(&str, PathBuf)| {
            word.replace(name, &path.to_string_lossy())
        };
        places.iter().fold(word.to_owned(), fill).into()
    }

    /// Runs a command to its end; gives back what it printed too.
    pub(super) fn run(&self, text: &str) -> anyhow::Result<(Turn, String)> {
        let Command { name, program, arguments } = self.command(text)?;
        if let Some(own) = own::named(name) {
            return Ok((own(&arguments)?, String::new()));
        }
        let done = child::run(&program, &arguments, &self.records.path(), &self.control)?;
        let mut turn = Turn::of(name, &done.stdout)?;
        turn.add("cpu_s", done.cpu_s);
        turn.add("wall_s", done.wall_s);
        turn.add("peak_kib", done.peak_kib as f64);
        turn.add("cores", std::thread::available_parallelism()?.get() as f64);
        Ok((turn, done.stdout))
    }

    /// Starts a command that goes on beside others; `more` are its last words.
    pub(super) fn start(&self, text: &str, more: &[&str]) -> anyhow::Result<Child> {
        let Command { program, mut arguments, .. } = self.command(text)?;
        arguments.extend(more.iter().map(OsString::from));
        Child::start(&program, &arguments, &self.records.path(), "beside-")
    }

    /// Before a turn: the file system is empty and newly mounted, and the run that the command
    /// makes is not there yet.
    pub(super) fn begin(&mut self, case: &Case, command: &str) -> anyhow::Result<()> {
        let run = self.records.path().join("run");
        let makes = |command: &String| command.contains("--output {run}");
        let makes_run = command.contains("--output {run}") || case.beside.values().any(makes);
        if makes_run && run.exists() {
            std::fs::remove_dir_all(&run)?;
        }
        if !case.uses_place() {
            return Ok(());
        }
        let place = match self.place.take() {
            Some(place) => {
                place.remove()?;
                place.remount()?
            }
            None => {
                eprintln!(
                    "making a fresh ext4 of 4 KiB blocks, its image in {}",
                    self.at.display()
                );
                Mounted::make(&self.at, self.control.clone())?
            }
        };
        self.place = Some(place);
        std::thread::sleep(REST);
        Ok(())
    }

    /// fio's file in the state that lbolt gives its own.
    pub(super) fn lay_out(&self, case: &Case) -> anyhow::Result<()> {
        let place = self.place.as_ref().context("the fresh file system is not mounted")?;
        match case.file_mib {
            Some(mib) => {
                place.lay_out(mib << 20)?;
                if case.cold { place.cool() } else { Ok(()) }
            }
            None => place.settle(),
        }
    }

    /// A file of the case, in memory.
    pub(super) fn record(&self, name: &str) -> PathBuf {
        self.records.path().join(name)
    }

    /// The device's name.
    pub(super) fn device_name(&self) -> anyhow::Result<&str> {
        let name = Path::file_name(&self.device).and_then(|name| name.to_str());
        name.context("the case has no device")
    }
}

impl Case {
    fn uses_place(&self) -> bool {
        self.run.values().any(|c| c.contains("{file}") || c.contains("{place}"))
    }
}
