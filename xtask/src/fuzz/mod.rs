//! `fuzz`: arbitrary bytes against every importer and the reading of records, each for its time,
//! and a table of how that went. The target itself is `fuzz/src/import.rs`; what there is to run is
//! found from the fixtures of crate trace.

mod records;
mod run;
mod seeds;
mod table;

use anyhow::{Context as _, ensure};
use clap::Parser;
use run::{Outcome, Runner};
use seeds::Target;
use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::{Mutex, PoisonError};

/// The toolchain that can instrument for a fuzzer.
const TOOLCHAIN: &str = "nightly";

/// Arbitrary bytes against every importer and the reading of records: no crash, no hang, no runaway
/// memory.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask fuzz")]
struct Options {
    /// Seconds for each binary format, for records, for guessing and for decompressing.
    #[arg(long, default_value_t = 600)]
    binary_seconds: u32,
    /// Seconds for each format of text.
    #[arg(long, default_value_t = 60)]
    text_seconds: u32,
    /// How many run at the same time [default: one a CPU].
    #[arg(long)]
    jobs: Option<NonZeroUsize>,
    /// Only the targets whose names hold this text.
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
}

/// Builds the target, runs all that was requested, and prints the table.
/// Errors: what keeps all of it from being run: no nightly toolchain, no cargo-fuzz.
pub(crate) fn run(root: &Path, words: impl Iterator<Item = String>) -> anyhow::Result<ExitCode> {
    let words = std::iter::once("fuzz".to_owned()).chain(words);
    let options = match Options::try_parse_from(words) {
        Ok(options) => options,
        Err(error) => {
            error.print()?;
            return Ok(ExitCode::from(if error.use_stderr() { 2 } else { 0 }));
        }
    };
    let mut targets = seeds::targets(root)?;
    targets.retain(|target| target.name.contains(&options.only));
    ensure!(!targets.is_empty(), "no target's name holds \"{}\"", options.only);
    // What takes long begins first, so that all ends together.
    targets.sort_by_key(|target| !target.is_binary);
    let runner = Runner { program: build(root)?, home: root.join("fuzz") };
    let outcomes = all(&options, targets, &runner)?;
    print!("{}", table::render(&outcomes));
    let is_clean = outcomes.iter().all(|outcome| outcome.finding.is_none());
    Ok(if is_clean { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Builds the one target; returns the program.
fn build(root: &Path) -> anyhow::Result<PathBuf> {
    let host = host()?;
    let directory = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| root.join("fuzz/target"), |directory| root.join(directory).join("fuzz"));
    let status = Command::new("rustup")
        .args(["run", TOOLCHAIN, "cargo", "fuzz", "build", "--fuzz-dir", "fuzz"])
        .args(["--target", &host, "--target-dir"])
        .arg(&directory)
        .arg("import")
        .current_dir(root)
        .status()
        .context("failed to run rustup, which the nightly toolchain is run by")?;
    ensure!(
        status.success(),
        "failed to build the fuzz target; `make fuzz` installs what it needs"
    );
    Ok(directory.join(host).join("release/import"))
}

/// The machine as rustc calls it.
fn host() -> anyhow::Result<String> {
    let said = Command::new("rustup").args(["run", TOOLCHAIN, "rustc", "-vV"]).output();
    let said = said.context("failed to run rustup, which the nightly toolchain is run by")?;
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("no nightly toolchain; `make fuzz` installs it")
}

/// Runs all targets, several at a time; the outcomes are in the order of the targets.
fn all(options: &Options, targets: Vec<Target>, runner: &Runner) -> anyhow::Result<Vec<Outcome>> {
    let cpus = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let jobs = options.jobs.unwrap_or_else(cpus).get();
    let count = targets.len();
    let waiting: Mutex<VecDeque<(usize, Target)>> =
        Mutex::new(targets.into_iter().enumerate().collect());
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    let work = || {
        let mut done = Vec::new();
        while let Some((place, target)) = next() {
            let seconds =
                if target.is_binary { options.binary_seconds } else { options.text_seconds };
            eprintln!("{} of {count}: {}, {seconds} s", place + 1, target.name);
            let outcome = runner.run(&target, seconds)?;
            if let Some(finding) = &outcome.finding {
                eprintln!("{}: {finding}", target.name);
            }
            done.push((place, outcome));
        }
        anyhow::Ok(done)
    };
    let mut done = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs).map(|_| scope.spawn(work)).collect();
        let mut done = Vec::new();
        for worker in workers {
            let part = worker.join().map_err(|_| anyhow::anyhow!("a worker panicked"))?;
            done.extend(part?);
        }
        anyhow::Ok(done)
    })?;
    done.sort_by_key(|(place, _)| *place);
    Ok(done.into_iter().map(|(_, outcome)| outcome).collect())
}
