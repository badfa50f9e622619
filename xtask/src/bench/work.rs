//! Where commands run, and what their words mean there.

use super::case::Case;
use super::own;
use super::place::{Mounted, Records};
use super::turn::Turn;
use crate::command::{Child, dying_with_us};
use anyhow::{Context as _, ensure};
use host::children::children_cpu_ns;
use host::drive::Control;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// After each mount, so that what unmounting set off ends before the turn: lbolt calibrates for a
/// while before it writes, fio writes at once.
const REST: Duration = Duration::from_millis(500);

/// What is between the steps of a command.
pub(super) const STEPS: &str = "&&";

/// What every command needs.
pub(super) struct Work {
    pub(super) lbolt: PathBuf,
    pub(super) control: Arc<Control>,
    pub(super) records: Records,
    /// Programs as text for sh, by name.
    pub(super) scripts: BTreeMap<String, String>,
    /// The workspace's directory.
    pub(super) root: PathBuf,
    /// Where real traces would lie.
    pub(super) data: PathBuf,
    /// A directory whose disk holds images.
    pub(super) at: PathBuf,
    /// None until a case needs it, and where it could not be mounted again.
    pub(super) place: Option<Mounted>,
    /// The device of the case, and a second one.
    pub(super) devices: [PathBuf; 2],
}

impl Work {
    /// What stands for a place in a command, and is a variable of scripts.
    fn places(&self) -> [(&'static str, PathBuf); 10] {
        let records = self.records.path();
        let place = self.place.as_ref().map_or_else(|| records.clone(), Mounted::path);
        let file = self.place.as_ref().map_or_else(|| records.clone(), Mounted::fio_file);
        let [device, other] = self.devices.clone();
        [
            ("place", place),
            ("file", file),
            ("run", records.join("run")),
            ("records", records),
            ("root", self.root.clone()),
            ("data", self.data.clone()),
            ("device", device),
            ("other", other),
            ("lbolt", self.lbolt.clone()),
            ("at", self.at.clone()),
        ]
    }

    /// The words of a command with their places filled in.
    fn words(&self, text: &str) -> Vec<String> {
        let places = self.places();
        let fill = |word: String, (name, path): &(&str, PathBuf)| {
            word.replace(&format!("{{{name}}}"), &path.to_string_lossy())
        };
        text.split_whitespace().map(|word| places.iter().fold(word.to_owned(), fill)).collect()
    }

    /// A command that can be started: a program's, or a script's, whose mounts are its own.
    pub(super) fn command(&self, text: &str) -> anyhow::Result<Command> {
        let words = self.words(text);
        let (name, arguments) = words.split_first().context("a command without a program")?;
        let mut command = match self.scripts.get(name) {
            Some(script) => {
                let mut command = dying_with_us("unshare");
                command.args(["--mount", "--propagation", "private", "sh", "-euc", script, name]);
                command.envs(self.places());
                command
            }
            None if name == "lbolt" => dying_with_us(&self.lbolt),
            None => dying_with_us(name),
        };
        let records = self.records.path();
        command.args(arguments).env("LBOLT_STATE", &records).env_remove("LBOLT_RUNS");
        command.current_dir(records);
        Ok(command)
    }

    /// Runs the steps of a command to their ends; gives back what they printed too.
    pub(super) fn run(&self, text: &str) -> anyhow::Result<(Turn, String)> {
        let (mut turn, mut printed) = (Turn::default(), String::new());
        for step in text.split(STEPS) {
            let words = self.words(step);
            match words.split_first().and_then(|(name, more)| Some((own::named(name)?, more))) {
                Some((own, more)) => {
                    own(&more.iter().map(String::as_str).collect::<Vec<_>>(), &mut turn)?;
                }
                None => printed += &self.child(step, &mut turn)?,
            }
        }
        Ok((turn, printed))
    }

    /// Runs a program to its end, and adds its figures, its CPU time and that of what it started,
    /// and the greatest resident set that was seen, at most one look before its end.
    fn child(&self, step: &str, turn: &mut Turn) -> anyhow::Result<String> {
        let (before_ns, began) = (children_cpu_ns(), Instant::now());
        let out = self.record("stdout");
        let name = step.split_whitespace().next().unwrap_or_default();
        let mut command = self.command(step)?;
        command.stdout(std::fs::File::create(&out)?);
        let mut child = Child::start(name, &mut command, &self.record("stderr"))?;
        let (id, mut peak_kib) = (child.id(), 0);
        child.finish(|| {
            // The peak only grows within a program; before exec it is another program's.
            peak_kib = peak(id).unwrap_or(peak_kib);
            self.go_on()
        })?;
        let printed = String::from_utf8_lossy(&std::fs::read(out)?).into_owned();
        turn.join(Turn::of(name, &printed)?);
        turn.add("cpu_s", (children_cpu_ns() - before_ns) as f64 / 1e9);
        turn.add("wall_s", began.elapsed().as_secs_f64());
        turn.add("peak_kib", peak_kib as f64);
        turn.add("cores", std::thread::available_parallelism()?.get() as f64);
        Ok(printed)
    }

    /// Errors: whoever started this wants it to end.
    pub(super) fn go_on(&self) -> anyhow::Result<()> {
        ensure!(!self.control.is_stopped(), "interrupted");
        Ok(())
    }

    /// Before a turn: the file system is empty and newly mounted, and the run that the command
    /// makes is not there yet.
    pub(super) fn begin(&mut self, case: &Case, command: &str) -> anyhow::Result<()> {
        let run = self.record("run");
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
        let name = Path::file_name(&self.devices[0]).and_then(|name| name.to_str());
        name.context("the case has no device")
    }
}

/// The greatest resident set of a process so far; none where it is over.
fn peak(pid: u32) -> Option<u64> {
    peak_in(&std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?)
}

fn peak_in(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

impl Case {
    fn uses_place(&self) -> bool {
        self.run.values().any(|c| c.contains("{file}") || c.contains("{place}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_read_from_the_status() {
        let status =
            "Name:\tlbolt\nVmPeak:\t  90000 kB\nVmHWM:\t   11264 kB\nVmRSS:\t    9000 kB\n";
        assert_eq!(peak_in(status), Some(11264));
        assert_eq!(peak_in("Name:\tlbolt\nState:\tZ (zombie)\n"), None);
    }
}
