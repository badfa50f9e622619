//! `bench`: holds lbolt against fio and, where it traces, against tracers, side by side in one run,
//! in interleaved pairs. docs/PERFORMANCE.md says what is compared, why that is fair, and how to
//! read it.

mod capture;
mod cases;
mod child;
mod finding;
mod fio;
mod import;
mod lbolt;
mod memory;
mod overhead;
mod pairs;
mod place;
mod response;
mod simulate;
mod statistics;
mod table;

use anyhow::{Context as _, ensure};
use cases::{Access, CASES, Case, State};
use clap::Parser;
use host::drive::Control;
use place::{Place, Records};
use statistics::Verdict;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::Duration;
use table::Row;

/// Pairs a case, where nothing else is asked.
const PAIRS: usize = 9;
/// Pairs of `--quick`: too few for an interval of 95 %.
const QUICK_PAIRS: usize = 3;

/// Real traces, from the project's root, where they are.
const DATA: &str = "../shared/data/formats";

/// After each mount, so that what unmounting set off ends before the turn: lbolt calibrates for a
/// while before it writes, fio writes at once.
const REST: Duration = Duration::from_millis(500);

/// Holds target/release/lbolt against fio, in interleaved pairs.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask bench")]
struct Options {
    /// Interleaved pairs a case [default: 9].
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pairs: Option<u16>,
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

/// What every case needs.
struct Bench {
    lbolt: PathBuf,
    fio: PathBuf,
    pairs: usize,
    control: Arc<Control>,
    records: Records,
    /// Where real traces would lie.
    data: PathBuf,
    /// A directory whose disk holds images.
    at: PathBuf,
    /// None only while it is being mounted again, or where that failed, or where no row needs it.
    place: Option<Place>,
}

/// Runs everything that was asked for and prints the table.
///
/// # Errors
/// What keeps all of it from being run: no fio, no lbolt, no root; interruption.
pub(crate) fn run(root: &Path, words: impl Iterator<Item = String>) -> anyhow::Result<ExitCode> {
    let words = std::iter::once("bench".to_owned()).chain(words);
    let options = match Options::try_parse_from(words) {
        Ok(options) => options,
        Err(error) => {
            error.print()?;
            return Ok(ExitCode::from(if error.use_stderr() { 2 } else { 0 }));
        }
    };
    let fio = PathBuf::from("fio");
    let version = fio_version(&fio)?;
    let control = stoppable()?;
    let done = measure(root, &options, fio, &version, &control);
    if control.is_stopped() {
        eprintln!("interrupted; nothing is left behind");
        return Ok(ExitCode::from(130));
    }
    let (rows, notes, pairs) = done?;
    ensure!(!rows.is_empty(), "no row's name holds \"{}\"", options.only);
    print!("{}", table::render(&rows));
    println!("\n{}", closing(&rows, &version, pairs));
    notes.iter().for_each(|note| println!("- {note}"));
    let is_missed = rows.iter().any(|row| row.verdict == Verdict::Missed);
    Ok(if is_missed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// A control that SIGINT and SIGTERM stop: children are stopped, and all is undone.
fn stoppable() -> anyhow::Result<Arc<Control>> {
    let control = Arc::new(Control::default());
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, control.stop.clone())?;
    }
    Ok(control)
}

/// Makes the place, runs all, and gives back rows, doubts and the pairs a case. The place is gone
/// when this returns.
fn measure(
    root: &Path,
    options: &Options,
    fio: PathBuf,
    version: &str,
    control: &Arc<Control>,
) -> anyhow::Result<(Vec<Row>, Vec<String>, usize)> {
    let mut bench = Bench::new(root, options, fio, control)?;
    eprintln!("{version} against {}, {} pairs a case", bench.lbolt.display(), bench.pairs);
    let (rows, notes) = all(&mut bench, &options.only)?;
    Ok((rows, notes, bench.pairs))
}

/// fio's name and version.
fn fio_version(fio: &Path) -> anyhow::Result<String> {
    let output = Command::new(fio).arg("--version").output();
    let output = output
        .context("fio is not installed; `make bench` installs it, or install the package fio")?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// All rows whose names hold the text, and what lbolt itself doubts.
fn all(bench: &mut Bench, only: &str) -> anyhow::Result<(Vec<Row>, Vec<String>)> {
    let (mut rows, mut notes) = (Vec::new(), Vec::new());
    for case in CASES {
        let claims: Vec<_> = case.claims.iter().filter(|c| c.name.contains(only)).collect();
        let Some(first) = claims.first() else { continue };
        match pairs::run(bench, case) {
            Ok(pairs) => {
                rows.extend(claims.iter().map(|claim| pairs.row(claim)));
                notes.extend(pairs.notes(case).iter().map(|n| format!("{}: {n}", first.name)));
            }
            Err(error) => {
                let reason = bench.unless_stopped(error)?;
                let open = claims.iter().map(|c| not_told(c.name, &c.bound.to_string(), &reason));
                rows.extend(open);
            }
        }
    }
    if memory::is_wanted(only) {
        rows.push(match memory::run(bench) {
            Ok(row) => row,
            Err(error) => {
                let reason = bench.unless_stopped(error)?;
                not_told("memory", &cases::MEMORY_BOUND.to_string(), &reason)
            }
        });
    }
    match overhead::run(bench, only) {
        Ok(found) => rows.extend(found),
        Err(error) => {
            let reason = bench.unless_stopped(error)?;
            rows.push(not_told("the overhead room", "-", &reason));
        }
    }
    rows.extend(capture::run(bench, only)?);
    rows.extend(import::run(bench, only)?);
    rows.extend(response::run(bench, only)?);
    rows.extend(simulate::run(bench, only)?);
    Ok((rows, notes))
}

/// Whether any row needs the fresh file system.
fn needs_place(only: &str) -> bool {
    let is_wanted = |case: &Case| case.claims.iter().any(|claim| claim.name.contains(only));
    CASES.iter().any(is_wanted) || memory::is_wanted(only) || overhead::is_wanted(only)
}

/// A row without figures.
fn not_told(name: &str, wanted: &str, reason: &str) -> Row {
    Row {
        name: name.to_owned(),
        measured: "-".into(),
        wanted: wanted.to_owned(),
        verdict: Verdict::CouldNotTell(reason.to_owned()),
        lbolt: "-".into(),
        peer: "-".into(),
    }
}

/// How many claims were reached, and what the brackets mean.
fn closing(rows: &[Row], version: &str, pairs: usize) -> String {
    let reached = rows.iter().filter(|row| row.verdict == Verdict::Reached).count();
    let missed = rows.iter().filter(|row| row.verdict == Verdict::Missed).count();
    let open = rows.len() - reached - missed;
    let values = vec![0.0; pairs];
    let confidence = statistics::median_interval(&values).map_or(0.0, |i| i.confidence);
    format!(
        "{reached} reached, {missed} missed, {open} could not be told. {version}, {pairs} \
         interleaved \
         pairs a case (memory: up to 3). Measured: the median over pairs and, in brackets, its \
         interval by order statistics ({:.0} %); lbolt and fio: median and extremes.",
        confidence * 100.0
    )
}

impl Bench {
    fn new(
        root: &Path,
        options: &Options,
        fio: PathBuf,
        control: &Arc<Control>,
    ) -> anyhow::Result<Self> {
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), Into::into);
        let lbolt = options.lbolt.clone().unwrap_or_else(|| target.join("release/lbolt"));
        let lbolt = lbolt.canonicalize().with_context(|| {
            format!("{} is not there; cargo build --release makes it", lbolt.display())
        })?;
        let records = Records::make()?;
        let at = options.at.clone().unwrap_or(target);
        let place = match needs_place(&options.only) {
            true => {
                eprintln!("making a fresh ext4 of 4 KiB blocks, its image in {}", at.display());
                Some(Place::make(&at, control.clone())?)
            }
            false => None,
        };
        let pairs = if options.quick { QUICK_PAIRS } else { PAIRS };
        let pairs = options.pairs.map_or(pairs, usize::from);
        let control = control.clone();
        let data = root.join(DATA);
        Ok(Self { lbolt, fio, pairs, control, records, data, at, place })
    }

    /// Gives back why a case failed, unless the user stopped it all.
    fn unless_stopped(&self, error: anyhow::Error) -> anyhow::Result<String> {
        if self.control.is_stopped() {
            return Err(error);
        }
        eprintln!("could not tell: {error:#}");
        Ok(format!("{error:#}").replace('\n', "; "))
    }

    fn place(&self) -> anyhow::Result<&Place> {
        self.place.as_ref().context("the fresh file system could not be mounted again")
    }

    /// Where both work, as a child reaches it.
    fn directory(&self) -> PathBuf {
        self.place.as_ref().map_or_else(|| self.records.path(), Place::path)
    }

    /// Before a turn: the records of the turn before are gone, and the file system is
    /// empty and newly mounted.
    fn begin(&mut self, case: &Case) -> anyhow::Result<()> {
        self.records.clear()?;
        if case.state == State::NoFile {
            return Ok(());
        }
        self.place()?.remove()?;
        let place = self.place.take().context("the fresh file system is gone")?;
        self.place = Some(place.remount()?);
        std::thread::sleep(REST);
        Ok(())
    }

    /// fio's file in the state that lbolt gives its own.
    fn lay_out(&self, case: &Case) -> anyhow::Result<PathBuf> {
        let place = self.place()?;
        if case.state != State::NoFile && case.access != Access::Write {
            place.lay_out(case.file_mib << 20)?;
            if case.state == State::Cold {
                place.cool()?;
            }
        } else if case.state == State::Cold {
            place.settle()?;
        }
        Ok(place.fio_file())
    }

    /// After fio's turn.
    fn end(&self, case: &Case) -> anyhow::Result<()> {
        if case.state == State::NoFile { Ok(()) } else { self.place()?.remove() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use statistics::Bound;

    #[test]
    fn options_are_understood() {
        let parse = |words: &str| Options::try_parse_from(words.split_whitespace());
        assert!(parse("bench --quick --only null").unwrap().quick);
        assert_eq!(parse("bench --pairs 11").unwrap().pairs, Some(11));
        assert!(parse("bench --pairs 0").is_err());
        assert!(parse("bench --quick --pairs 3").is_err());
    }

    #[test]
    fn the_closing_line_counts() {
        let row = |values: &[f64]| Row::judged("x", values, Bound::at_most(1.0));
        let rows = [row(&[0.5]), row(&[2.0]), row(&[0.5, 2.0]), not_told("y", "≤ 1", "no root")];
        let text = closing(&rows, "fio-3.33", 9);
        assert!(text.starts_with("1 reached, 1 missed, 2 could not be told."), "{text}");
        assert!(text.contains("(96 %)"), "{text}");
    }
}
