//! `bench`: holds lbolt against fio and, where it traces, against tracers, side by side in one run,
//! in interleaved rounds. `bench.toml` says what is run and what is wanted, docs/PERFORMANCE.md why
//! that is fair, and how to read it.

mod case;
mod deed;
mod formula;
mod judge;
mod kernel_threads;
mod made;
mod own;
mod place;
mod runner;
mod table;
mod tracer;
mod turn;
mod work;

use crate::command::{self, stop_flag};
use anyhow::{Context as _, ensure};
use clap::Parser;
use host::drive::Control;
use judge::Verdict;
use place::Records;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use table::Found;
use work::Work;

/// Rounds of `--quick`: too few for an interval of 95 %.
const QUICK_PAIRS: u16 = 3;

/// Real traces, from the project's root, where they are.
const DATA: &str = "../shared/data";

/// Hold target/release/lbolt against fio, in interleaved pairs.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask bench")]
pub(crate) struct Options {
    /// Interleaved pairs a case.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=100), default_value = "9")]
    pairs: u16,
    /// Three pairs a case: a look, not a verdict.
    #[arg(long, conflicts_with = "pairs")]
    quick: bool,
    /// Only the rows whose names hold this text.
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// Directory whose disk holds the fresh file system's image [default: target].
    #[arg(long, value_name = "DIR")]
    at: Option<PathBuf>,
    /// The program that is held against fio [default: target/release/lbolt].
    #[arg(long, value_name = "FILE")]
    lbolt: Option<PathBuf>,
}

/// Runs everything that was requested and prints the table.
pub(crate) fn run(root: &Path, options: &Options) -> anyhow::Result<ExitCode> {
    let version = fio_version()?;
    let mut control = Control::default();
    control.stop = stop_flag()?;
    let control = Arc::new(control);
    let done = measure(root, options, &control);
    if control.is_stopped() {
        eprintln!("interrupted; nothing is left behind");
        return Ok(ExitCode::from(130));
    }
    let (rows, mut notes) = done?;
    ensure!(!rows.is_empty(), "no row's name holds \"{}\"", options.only);
    notes.insert(0, closing(&version, options.pairs()));
    print!("{}", table::render(&rows, notes));
    Ok(crate::code(rows.iter().all(|row| row.verdict != Verdict::Missed)))
}

/// fio's name and version.
fn fio_version() -> anyhow::Result<String> {
    let said = command::output(Command::new("fio").arg("--version"));
    let said = said.context("`make bench` installs fio, or install the package fio")?;
    Ok(said.trim().to_owned())
}

/// The rows whose names hold the text, and what lbolt itself doubts. All that was made for them is
/// gone when this returns.
fn measure(
    root: &Path,
    options: &Options,
    control: &Arc<Control>,
) -> anyhow::Result<(Vec<Found>, Vec<String>)> {
    let printed = crate::target().join("bench");
    std::fs::create_dir_all(&printed)?;
    let mut work = options.work(root, control)?;
    let (mut rows, mut notes) = (vec![], vec![]);
    for case in case::with_rows(&options.only)? {
        let rounds = runner::run(&mut work, &case, options.pairs().into(), &printed);
        if let Err(error) = &rounds {
            ensure!(!control.is_stopped(), "interrupted");
            eprintln!("could not tell: {error:#}");
        }
        rows.extend(table::rows(&case, &rounds));
        let doubts = rounds.map(|rounds| rounds.doubts(&case)).unwrap_or_default();
        let note =
            |(doubt, count)| format!("{}: lbolt suspects {count} passes: {doubt}", case.name);
        notes.extend(doubts.into_iter().map(note));
    }
    Ok((rows, notes))
}

/// What the columns mean.
fn closing(version: &str, pairs: u16) -> String {
    format!(
        "{version}, {pairs} interleaved rounds a case, or as many as the case allows. Measured: \
         the shift by signed ranks and its interval (95 %; of fewer than six rounds the extremes); \
         sides: median and extremes."
    )
}

impl Options {
    fn pairs(&self) -> u16 {
        if self.quick { QUICK_PAIRS } else { self.pairs }
    }

    fn work(&self, root: &Path, control: &Arc<Control>) -> anyhow::Result<Work> {
        Ok(Work {
            lbolt: command::lbolt(self.lbolt.as_deref())?,
            control: control.clone(),
            records: Records::make()?,
            scripts: case::scripts()?,
            root: root.to_owned(),
            data: root.join(DATA),
            at: self.at.clone().unwrap_or_else(crate::target),
            place: None,
            devices: Default::default(),
        })
    }
}

/// Make a long trace of so many requests.
#[derive(Debug, clap::Args)]
pub(crate) struct Requests {
    count: u64,
    file: PathBuf,
    /// So many programs, of three kinds.
    #[arg(default_value_t = 3)]
    programs: usize,
}

/// Makes it.
pub(crate) fn make_requests(options: &Requests) -> anyhow::Result<()> {
    let (rows, programs) = (options.count, options.programs);
    made::requests::make(&options.file, made::requests::Wanted { rows, of_files: false, programs })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_understood() {
        let parse = |words: &str| Options::try_parse_from(words.split_whitespace());
        assert_eq!(parse("bench").unwrap().pairs(), 9);
        assert_eq!(parse("bench --quick --only null").unwrap().pairs(), 3);
        assert_eq!(parse("bench --pairs 11").unwrap().pairs(), 11);
        assert!(parse("bench --pairs 0").is_err());
        assert!(parse("bench --quick --pairs 3").is_err());
    }
}
