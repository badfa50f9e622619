//! `fuzz`: arbitrary bytes against every importer and the reading of records, each for its time,
//! and a table of how that went. The target itself is `fuzz/src/import.rs`; what there is to run is
//! found from the fixtures of crate trace.

mod records;
mod run;
mod seeds;
mod table;
mod target;

use crate::command::{in_turn, output, watch};
use anyhow::{Context as _, ensure};
use clap::Parser;
use run::{Outcome, Runner};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use target::Target;

/// The toolchain that can instrument for a fuzzer.
const TOOLCHAIN: &str = "nightly";

/// Feed importers and the reading of records with arbitrary bytes: no crash, no hang, no runaway
/// memory.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask fuzz")]
pub(crate) struct Options {
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
pub(crate) fn run(root: &Path, options: &Options) -> anyhow::Result<ExitCode> {
    let mut targets = seeds::targets(root)?;
    targets.retain(|target| target.name.contains(&options.only));
    ensure!(!targets.is_empty(), "no target's name holds \"{}\"", options.only);
    // What takes long begins first, so that all ends together.
    targets.sort_by_key(|target| !target.is_binary);
    let runner = Runner { program: build(root)?, home: root.join("fuzz") };
    let outcomes = all(options, targets, &runner)?;
    print!("{}", table::render(&outcomes));
    Ok(crate::code(outcomes.iter().all(|outcome| outcome.finding.is_none())))
}

/// Builds the one target; returns the program.
fn build(root: &Path) -> anyhow::Result<PathBuf> {
    let host = host()?;
    let directory = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| root.join("fuzz/target"), |directory| root.join(directory).join("fuzz"));
    let mut build = Command::new("rustup");
    build.args(["run", TOOLCHAIN, "cargo", "fuzz", "build", "--fuzz-dir", "fuzz"]);
    build.args(["--target", &host, "--target-dir"]).arg(&directory).arg("import").current_dir(root);
    watch(&mut build).context("`make fuzz` installs what the fuzz target needs")?;
    Ok(directory.join(host).join("release/import"))
}

/// The machine as rustc calls it.
fn host() -> anyhow::Result<String> {
    let said = output(Command::new("rustup").args(["run", TOOLCHAIN, "rustc", "-vV"]));
    let said = said.context("no nightly toolchain; `make fuzz` installs it")?;
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc does not say for what it compiles")
}

/// Runs all targets, several at a time; the outcomes are in the order of the targets.
fn all(options: &Options, targets: Vec<Target>, runner: &Runner) -> anyhow::Result<Vec<Outcome>> {
    let cpus = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let count = targets.len();
    in_turn(options.jobs.unwrap_or_else(cpus).get(), &targets, |place, target| {
        let seconds = if target.is_binary { options.binary_seconds } else { options.text_seconds };
        eprintln!("{} of {count}: {}, {seconds} s", place + 1, target.name);
        let outcome = runner.run(target, seconds)?;
        if let Some(finding) = &outcome.finding {
            eprintln!("{}: {finding}", target.name);
        }
        Ok(outcome)
    })
}
