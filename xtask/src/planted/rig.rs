//! One case: its stage is made, its load is recorded, and what lbolt prints is judged.

use super::case::{Case, Cases};
use super::effect;
use super::judge::Outcome;
use super::stage::Stage;
use crate::command::{Child, dying_with_us, output};
use anyhow::{Context as _, ensure};
use host::account::CpuStat;
use std::collections::BTreeMap;
use std::fs::{File, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Who holds it works with the cgroups of the suite, which are the machine's.
const LOCK: &str = "/run/lbolt-planted.lock";
/// No script takes as long.
const AT_MOST: Duration = Duration::from_secs(120);

/// So long it may take until a watch watches.
const PATIENCE: Duration = Duration::from_secs(30);
/// What it says then.
const WATCHING: &str = "watching; ";
/// What a watch keeps, and what is told of it in the end.
const HISTORY: &str = "history";
const HISTORY_TEXT: &str = "history-text";

/// What all cases share.
pub(super) struct Rig {
    at: PathBuf,
    lbolt: PathBuf,
    prelude: String,
    programs: BTreeMap<String, String>,
    stop: Arc<AtomicBool>,
    /// Locked as long as this lives: two runs would undo each other's cgroups.
    _lock: File,
}

impl Rig {
    pub(super) fn new(
        at: PathBuf,
        lbolt: PathBuf,
        cases: &Cases,
        stop: Arc<AtomicBool>,
    ) -> anyhow::Result<Self> {
        std::fs::create_dir_all(&at)?;
        let at = at.canonicalize()?;
        let lock = File::create(LOCK)?;
        lock.try_lock().context("another run works on this machine: cgroups are its own")?;
        let (prelude, programs) = (cases.prelude.clone(), cases.programs.clone());
        Ok(Self { at, lbolt, prelude, programs, stop, _lock: lock })
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Runs a case. What it leaves is in a directory of its name: the text, the records, the logs.
    pub(super) fn run(&self, case: &Case) -> anyhow::Result<Outcome> {
        let missing = case.needs.iter().find(|need| !is_there(need));
        if let Some(missing) = missing {
            return Ok(Outcome::skipped(format!("skipped: there is no {missing}")));
        }
        let kept = self.at.join(&case.name);
        if kept.exists() {
            std::fs::remove_dir_all(&kept)?;
        }
        std::fs::create_dir(&kept)?;
        let stage = Stage::make(&self.at.join("work"), case, &self.lbolt)?;
        let turn = Turn { rig: self, stage, kept: &kept };
        let stolen = turn.play(case)?;
        let printed = std::fs::read_to_string(kept.join("text"))?;
        let history = std::fs::read_to_string(kept.join(HISTORY_TEXT)).ok();
        let disturbances = (stolen, effect::stall_ns(&kept));
        let outcome = Outcome::of(case, &printed, effect::read(&kept), disturbances);
        Ok(outcome.with_watch(case, history.as_deref()))
    }
}

/// Whether a program is installed, or a file there.
fn is_there(need: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&path).chain(["/".into()]);
    places.any(|place| place.join(need).exists())
}

/// A case that runs.
struct Turn<'a> {
    rig: &'a Rig,
    stage: Stage,
    kept: &'a Path,
}

impl Turn<'_> {
    /// What the load was disturbed by: stolen CPU time, in per cent.
    fn play(&self, case: &Case) -> anyhow::Result<f64> {
        self.write_programs()?;
        let outcome = self.script("prepare", &case.prepare).and_then(|()| self.capture(case));
        let cleaned = self.script("clean", &case.clean);
        let stolen = outcome?;
        cleaned.map(|()| stolen)
    }

    fn write_programs(&self) -> anyhow::Result<()> {
        let place = self.kept.join("bin");
        std::fs::create_dir(&place)?;
        for (name, text) in &self.rig.programs {
            let path = place.join(name);
            std::fs::write(&path, text)?;
            std::fs::set_permissions(&path, Permissions::from_mode(0o755))?;
        }
        Ok(())
    }

    fn write(&self, name: &str, text: &str) -> anyhow::Result<PathBuf> {
        let path = self.kept.join(format!("{name}.sh"));
        std::fs::write(&path, format!("{}\n{text}", self.rig.prelude))?;
        Ok(path)
    }

    fn script(&self, name: &str, text: &str) -> anyhow::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        let mut command = Command::new("bash");
        command.arg(self.write(name, text)?);
        self.finish(name, command)
    }

    /// The load, while it is recorded and, if that is wanted, watched.
    fn capture(&self, case: &Case) -> anyhow::Result<f64> {
        if !case.watched {
            return self.record(&case.load);
        }
        let mut watch = self.watch()?;
        let stolen = self.record(&case.load)?;
        let ended = watch.until(|| Ok(true))?;
        ensure!(ended.is_none(), "the watch ended amid the load: {}", watch.last_words());
        watch.stop()?;
        let mut history = Command::new(&self.rig.lbolt);
        history.arg("history").arg(self.kept.join(HISTORY));
        std::fs::write(self.kept.join(HISTORY_TEXT), output(&mut history)?)?;
        Ok(stolen)
    }

    /// A watch that has begun.
    fn watch(&self) -> anyhow::Result<Child> {
        // It ends by nothing else where we are killed, and is in no cgroup that is found later.
        let mut command = dying_with_us(&self.rig.lbolt);
        command.arg("watch").arg(self.kept.join(HISTORY));
        command.arg("--device").arg(&self.stage.device).stdout(Stdio::null());
        let log = self.kept.join("watch.log");
        let (mut watch, begin) = (Child::start("watch", &mut command, &log)?, Instant::now());
        let status = watch.until(|| {
            ensure!(
                !self.rig.is_stopped() && begin.elapsed() < PATIENCE,
                "the watch did not begin"
            );
            Ok(std::fs::read_to_string(&log)?.contains(WATCHING))
        })?;
        ensure!(status.is_none(), "the watch ended: {}", watch.last_words());
        Ok(watch)
    }

    /// The load, while it is recorded; what lbolt prints is in `text`. How much of the
    /// CPUs' time was stolen meanwhile, in per cent.
    fn record(&self, load: &str) -> anyhow::Result<f64> {
        let mut command = Command::new(&self.rig.lbolt);
        command.args(["record", "--device"]).arg(&self.stage.device);
        command.arg("--output").arg(self.kept.join("run"));
        command.args(["--", "bash"]).arg(self.write("load", load)?);
        command.stdout(File::create(self.kept.join("text"))?);
        let (began, before) = (Instant::now(), CpuStat::read()?);
        self.finish("record", command)?;
        let after = CpuStat::read()?;
        let all_ns = began.elapsed().as_nanos() as f64 * f64::from(after.cpus);
        Ok(100.0 * after.stolen_ns.saturating_sub(before.stolen_ns) as f64 / all_ns)
    }

    fn finish(&self, name: &str, mut command: Command) -> anyhow::Result<()> {
        command.envs(self.stage.environment()).env("out", self.kept);
        let log = self.kept.join(format!("{name}.log"));
        let begin = Instant::now();
        Child::start(name, &mut command, &log)?.finish(|| {
            let is_over = self.rig.is_stopped() || begin.elapsed() > AT_MOST;
            ensure!(!is_over, "{name} was stopped after {:.0} s", begin.elapsed().as_secs_f64());
            Ok(())
        })
    }
}
