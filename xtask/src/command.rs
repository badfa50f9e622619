//! The one way to run other programs: to their end, or beside us. What is beside us ends with us,
//! however that comes.

use anyhow::{Context as _, bail, ensure};
use rayon::iter::{ParallelBridge as _, ParallelIterator as _};
use rustix::process::{Pid, Signal, kill_process_group};
use std::ffi::OsStr;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// How often a child is looked at: rarely, for that costs CPU time of what is measured.
const LOOK: Duration = Duration::from_millis(20);
/// How long a child that was asked to stop may take for it.
const PATIENCE: Duration = Duration::from_secs(10);
/// Of what a program said last, so many lines are shown.
const LAST_LINES: usize = 5;

/// What a program that must succeed prints. What it complains of is in the error.
/// Errors: it cannot be started, or fails.
pub(crate) fn output(command: &mut Command) -> anyhow::Result<String> {
    let said = command.stdin(Stdio::null()).output();
    let said = said.with_context(|| format!("failed to run {}", name(command)))?;
    let [text, complaint] = [&said.stdout, &said.stderr].map(|all| String::from_utf8_lossy(all));
    ensure!(said.status.success(), "{} failed: {text}{complaint}", name(command));
    Ok(text.into_owned())
}

/// Runs it in sight of the user.
/// Errors: as above.
pub(crate) fn watch(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status();
    let status = status.with_context(|| format!("failed to run {}", name(command)))?;
    ensure!(status.success(), "{} failed: {status}", name(command));
    Ok(())
}

/// Whether a program is there.
pub(crate) fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    places.any(|place| place.join(program).is_file())
}

/// The program that is tried: that of a release, if none is named.
/// Errors: it is not there.
pub(crate) fn lbolt(named: Option<&Path>) -> anyhow::Result<PathBuf> {
    let path = named.map_or_else(|| crate::target().join("release/lbolt"), Path::to_owned);
    let missing = || format!("{} is not there; cargo build --release makes it", path.display());
    path.canonicalize().with_context(missing)
}

/// A script by its own name, which stands behind its text.
fn name(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(OsStr::to_string_lossy).collect();
    match &words[..] {
        [sh, option, _, name, ..] if *sh == "sh" && *option == "-euc" => name.to_string(),
        _ => words.into_iter().take(3).collect::<Vec<_>>().join(" "),
    }
}

/// A text for sh, which ends at the first failure.
pub(crate) fn script(text: &str, name: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-euc", text, name]);
    command
}

/// A flag that SIGINT and SIGTERM set: whoever looks at it ends its children, and undoes all.
pub(crate) fn stop_flag() -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, stop.clone())?;
    }
    Ok(stop)
}

/// Does something with each of many, so many at once and the first ones first; the results are in
/// the order of the many.
/// Errors: the first one; what has begun then is still done.
pub(crate) fn in_turn<T: Sync, R: Send>(
    jobs: usize,
    all: &[T],
    work: impl Fn(usize, &T) -> anyhow::Result<R> + Sync,
) -> anyhow::Result<Vec<R>> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs.max(1)).build()?;
    let each = |(place, one)| work(place, one).map(|result| (place, result));
    let done = || all.iter().enumerate().par_bridge().map(each).collect::<anyhow::Result<Vec<_>>>();
    let mut done = pool.install(done)?;
    done.sort_by_key(|(place, _)| *place);
    Ok(done.into_iter().map(|(_, result)| result).collect())
}

/// A command that is told when we end, even where nothing of ours can run any more.
pub(crate) fn dying_with_us(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "TERM", "--"]).arg(program);
    command
}

/// A program beside us, in a process group of its own. It ends with this.
#[derive(Debug)]
pub(crate) struct Child {
    child: std::process::Child,
    name: String,
    /// What it complains of.
    log: PathBuf,
}

impl Child {
    /// Starts a command, called by a name here, whose complaints go to a file.
    /// Errors: it cannot be started.
    pub(crate) fn start(name: &str, command: &mut Command, log: &Path) -> anyhow::Result<Self> {
        let stderr = std::fs::File::create(log)?;
        let command = command.stdin(Stdio::null()).stderr(stderr).process_group(0);
        let child = command.spawn().with_context(|| format!("failed to start {name}"))?;
        Ok(Self { child, name: name.to_owned(), log: log.to_owned() })
    }

    /// Its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it prints, if that is piped.
    pub(crate) fn stdout(&mut self) -> Option<std::process::ChildStdout> {
        self.child.stdout.take()
    }

    /// Waits until it ends, or until what is looked for now and then is there; how it ended, or
    /// nothing where it goes on.
    /// Errors: those of whoever looks.
    pub(crate) fn until(
        &mut self,
        mut is_enough: impl FnMut() -> anyhow::Result<bool>,
    ) -> anyhow::Result<Option<ExitStatus>> {
        loop {
            let status = self.child.try_wait()?;
            if status.is_some() || is_enough()? {
                return Ok(status);
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Waits until it has made a file, which it must before it ends.
    /// Errors: it does not in time; those of whoever looks.
    pub(crate) fn until_made(
        &mut self,
        file: &Path,
        patience: Duration,
        look: impl Fn() -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let (started, name) = (Instant::now(), self.name.clone());
        let status = self.until(|| {
            look()?;
            ensure!(started.elapsed() < patience, "{name} does not come to begin");
            Ok(file.exists())
        })?;
        let Some(status) = status else { return Ok(()) };
        bail!("{name} ended ({status}): {}", self.last_words())
    }

    /// Waits until it ends, which must be well.
    /// Errors: it fails; those of whoever looks.
    pub(crate) fn finish(
        &mut self,
        mut look: impl FnMut() -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let status = self.until(|| look().map(|()| false))?;
        let is_good = status.is_some_and(|status| status.success());
        let shown = status.map(|status| status.to_string()).unwrap_or_default();
        ensure!(is_good, "{} failed ({shown}): {}", self.name, self.last_words());
        Ok(())
    }

    /// Asks all of its group to stop, and insists after a while.
    /// Errors: the kernel's refusal.
    pub(crate) fn stop(&mut self) -> anyhow::Result<()> {
        if self.child.try_wait()?.is_some() {
            return Ok(());
        }
        let group = Pid::from_child(&self.child);
        // It may have ended meanwhile; then there is nobody to ask.
        let _ = kill_process_group(group, Signal::TERM);
        let requested = Instant::now();
        if self.until(|| Ok(requested.elapsed() > PATIENCE))?.is_none() {
            let _ = kill_process_group(group, Signal::KILL);
            self.child.wait()?;
        }
        Ok(())
    }

    /// What it complained of last, on one line.
    pub(crate) fn last_words(&self) -> String {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> =
            text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        lines[lines.len().saturating_sub(LAST_LINES)..].join("; ")
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // It ended already, unless something else failed before.
        let _ = self.stop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_child_says_last_is_in_the_error_and_one_that_goes_on_ends_with_its_owner() {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("log");
        let start =
            |script: &str| Child::start("sh", Command::new("sh").args(["-c", script]), &log);
        let error = start("echo a >&2; echo; exit 3").unwrap().finish(|| Ok(())).unwrap_err();
        assert!(error.to_string() == ("sh failed (exit status: 3): a"), "{error}");
        let made = directory.path().join("made");
        let mut child = start(&format!(": > {}; exec sleep 60", made.display())).unwrap();
        child.until_made(&made, PATIENCE, || Ok(())).unwrap();
        let id = child.id();
        drop(child);
        assert!(!Path::new(&format!("/proc/{id}/cmdline")).exists());
    }
}
