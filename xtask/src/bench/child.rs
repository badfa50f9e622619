//! A program that runs by itself: its output is kept where no file
//! outlives this process, it ends when this process ends or is stopped, and its peak of
//! memory is watched. Or one that runs beside another, until it is stopped.

use anyhow::{Context as _, bail, ensure};
use host::children::children_cpu_ns;
use host::drive::Control;
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How often a child is looked at: rarely, for that costs CPU time beside what is measured.
const LOOK: Duration = Duration::from_millis(20);
/// How long a child that was asked to stop may take for it.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a child left.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) stdout: String,
    /// The greatest resident set that was seen, KiB: at most one look before its end.
    pub(super) peak_kib: u64,
    /// CPU time of it and of what it started, ns.
    pub(super) cpu_ns: u64,
}

/// Runs a program to its end.
///
/// # Errors
/// A program that is not there or fails, with its last words; interruption.
pub(super) fn run(
    program: &Path,
    arguments: &[OsString],
    records: &Path,
    control: &Control,
) -> anyhow::Result<Done> {
    let words = Words::in_directory(records, "");
    let before_ns = children_cpu_ns();
    let mut child = start(program, arguments, records, &words)?;
    let mut peak_kib = 0;
    let status = watch(&mut child, &mut peak_kib, control)?;
    let cpu_ns = children_cpu_ns() - before_ns;
    if !status.success() {
        bail!("{} failed ({status}): {}", program.display(), words.last()?);
    }
    Ok(Done { stdout: words.stdout()?, peak_kib, cpu_ns })
}

/// Where a program's output goes.
struct Words {
    out: PathBuf,
    err: PathBuf,
}

impl Words {
    fn in_directory(records: &Path, prefix: &str) -> Self {
        let of = |name| records.join(format!("{prefix}{name}"));
        Self { out: of("stdout"), err: of("stderr") }
    }

    fn stdout(&self) -> anyhow::Result<String> {
        Ok(String::from_utf8_lossy(&std::fs::read(&self.out)?).into_owned())
    }

    /// The last of them, on one line.
    fn last(&self) -> anyhow::Result<String> {
        let err = std::fs::read(&self.err)?;
        Ok(last_lines(&(String::from_utf8_lossy(&err).into_owned() + &self.stdout()?)))
    }
}

fn start(
    program: &Path,
    arguments: &[OsString],
    records: &Path,
    words: &Words,
) -> anyhow::Result<Child> {
    let name = program.display();
    // setpriv passes our own end on to the child, even where nothing of ours can run any more.
    Command::new("setpriv")
        .args(["--pdeathsig", "TERM", "--"])
        .arg(program)
        .args(arguments)
        .env("LBOLT_STATE", records)
        .env_remove("LBOLT_RUNS")
        .current_dir(records)
        .stdin(Stdio::null())
        .stdout(File::create(&words.out)?)
        .stderr(File::create(&words.err)?)
        .spawn()
        .with_context(|| format!("failed to start {name} through setpriv (package util-linux)"))
}

/// A program that runs beside another one. It ends with this.
pub(super) struct Beside {
    child: Child,
    words: Words,
    name: String,
}

impl Beside {
    /// Starts it.
    ///
    /// # Errors
    /// A program that cannot be started.
    pub(super) fn start(
        program: &Path,
        arguments: &[OsString],
        records: &Path,
    ) -> anyhow::Result<Self> {
        let words = Words::in_directory(records, "beside-");
        let child = start(program, arguments, records, &words)?;
        Ok(Self { child, words, name: program.display().to_string() })
    }

    /// Waits until it made a file.
    ///
    /// # Errors
    /// A program that ends before, or does not come to it; interruption.
    pub(super) fn until(&mut self, ready: &Path, control: &Control) -> anyhow::Result<()> {
        let started = Instant::now();
        while !ready.exists() {
            if let Some(status) = self.child.try_wait()? {
                bail!("{} ended ({status}): {}", self.name, self.words.last()?);
            }
            ensure!(!control.is_stopped(), "interrupted");
            ensure!(started.elapsed() < PATIENCE, "{} does not come to begin", self.name);
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    /// Asks it to stop, and gives back what it printed.
    ///
    /// # Errors
    /// A program that cannot be stopped, or that printed nothing that can be read.
    pub(super) fn end(mut self) -> anyhow::Result<String> {
        stop(&mut self.child)?;
        self.words.stdout()
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        // It was stopped already, unless something else failed before.
        let _ = stop(&mut self.child);
    }
}

/// Waits for the end, or brings it about.
fn watch(child: &mut Child, peak_kib: &mut u64, control: &Control) -> anyhow::Result<ExitStatus> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if control.is_stopped() {
            stop(child)?;
            bail!("interrupted");
        }
        // The peak only grows within a program; before exec it is another program's.
        if let Some(kib) = peak(child.id()) {
            *peak_kib = kib;
        }
        std::thread::sleep(LOOK);
    }
}

/// Asks the child to stop, and insists after a while.
fn stop(child: &mut Child) -> anyhow::Result<()> {
    if child.try_wait()?.is_some() {
        return Ok(());
    }
    let pid = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
    if let Some(pid) = pid {
        // It may have ended meanwhile; then there is nobody to ask.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
    }
    let asked = Instant::now();
    while asked.elapsed() < PATIENCE {
        if child.try_wait()?.is_some() {
            return Ok(());
        }
        std::thread::sleep(LOOK);
    }
    child.kill()?;
    child.wait()?;
    Ok(())
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
