//! A program that runs by itself or around another one: its output is kept where no file outlives
//! this process, it ends when this process ends or is stopped, and its peak of memory is watched.

use anyhow::{Context as _, bail, ensure};
use host::children::children_cpu_ns;
use host::drive::Control;
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How often a child is looked at: rarely, for that costs CPU time of what is measured.
const LOOK: Duration = Duration::from_millis(20);
/// How long a child that was asked to stop may take for it.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a child left.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) stdout: String,
    /// The greatest resident set that was seen, KiB: at most one look before its end.
    pub(super) peak_kib: u64,
    /// CPU time of it and of what it started.
    pub(super) cpu_s: f64,
    pub(super) wall_s: f64,
}

/// A program that was started. It ends with this.
pub(super) struct Child {
    child: std::process::Child,
    name: String,
    out: PathBuf,
    err: PathBuf,
}

/// Runs a program to its end.
pub(super) fn run(
    program: &Path,
    arguments: &[OsString],
    records: &Path,
    control: &Control,
) -> anyhow::Result<Done> {
    let (before_ns, began) = (children_cpu_ns(), Instant::now());
    let mut child = Child::start(program, arguments, records, "")?;
    let peak_kib = child.wait(control)?;
    Ok(Done {
        stdout: read(&child.out)?,
        peak_kib,
        cpu_s: (children_cpu_ns() - before_ns) as f64 / 1e9,
        wall_s: began.elapsed().as_secs_f64(),
    })
}

fn read(path: &Path) -> anyhow::Result<String> {
    Ok(String::from_utf8_lossy(&std::fs::read(path)?).into_owned())
}

impl Child {
    /// Starts a program; its output's files begin with `prefix`.
    pub(super) fn start(
        program: &Path,
        arguments: &[OsString],
        records: &Path,
        prefix: &str,
    ) -> anyhow::Result<Self> {
        let name = program.display().to_string();
        let [out, err] = ["stdout", "stderr"].map(|end| records.join(format!("{prefix}{end}")));
        // setpriv passes our own end on to the child, even where nothing of ours can run any more.
        let child = Command::new("setpriv")
            .args(["--pdeathsig", "TERM", "--"])
            .arg(program)
            .args(arguments)
            .env("LBOLT_STATE", records)
            .env_remove("LBOLT_RUNS")
            .current_dir(records)
            .stdin(Stdio::null())
            .stdout(File::create(&out)?)
            .stderr(File::create(&err)?)
            .spawn()
            .with_context(|| {
                format!("failed to start {name} through setpriv (package util-linux)")
            })?;
        Ok(Self { child, name, out, err })
    }

    /// Waits for its end, and gives back its peak of memory.
    fn wait(&mut self, control: &Control) -> anyhow::Result<u64> {
        let mut peak_kib = 0;
        loop {
            if let Some(status) = self.child.try_wait()? {
                ensure!(status.success(), "{} failed ({status}): {}", self.name, self.last()?);
                return Ok(peak_kib);
            }
            ensure!(!control.is_stopped(), "interrupted");
            // The peak only grows within a program; before exec it is another program's.
            peak_kib = peak(self.child.id()).unwrap_or(peak_kib);
            std::thread::sleep(LOOK);
        }
    }

    /// Waits until it made a file.
    pub(super) fn until(&mut self, ready: &Path, control: &Control) -> anyhow::Result<()> {
        let started = Instant::now();
        while !ready.exists() {
            if let Some(status) = self.child.try_wait()? {
                bail!("{} ended ({status}): {}", self.name, self.last()?);
            }
            ensure!(!control.is_stopped(), "interrupted");
            ensure!(started.elapsed() < PATIENCE, "{} does not come to begin", self.name);
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    /// Asks it to stop, and gives back what it printed.
    pub(super) fn end(mut self) -> anyhow::Result<String> {
        self.stop()?;
        read(&self.out)
    }

    /// Asks it to stop, and insists after a while.
    fn stop(&mut self) -> anyhow::Result<()> {
        if self.child.try_wait()?.is_some() {
            return Ok(());
        }
        let pid = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw);
        if let Some(pid) = pid {
            // It may have ended meanwhile; then there is nobody to ask.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
        let requested = Instant::now();
        while requested.elapsed() < PATIENCE {
            if self.child.try_wait()?.is_some() {
                return Ok(());
            }
            std::thread::sleep(LOOK);
        }
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Its last words, on one line.
    fn last(&self) -> anyhow::Result<String> {
        Ok(last_lines(&(read(&self.err)? + &read(&self.out)?)))
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // It ended already, unless something else failed before.
        let _ = self.stop();
    }
}

/// The greatest resident set so far; none for a process that is over.
fn peak(pid: u32) -> Option<u64> {
    peak_in(&std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?)
}

fn peak_in(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The last words of a program, on one line.
fn last_lines(words: &str) -> String {
    let lines: Vec<&str> = words.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(3)..].join("; ")
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

    #[test]
    fn the_last_words_fit_on_a_line() {
        assert_eq!(last_lines("a\n\n b \nc\nd\n"), "b; c; d");
        assert_eq!(last_lines(""), "");
    }
}
