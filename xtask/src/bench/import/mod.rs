//! What importing costs: lines and records a second of CPU time (user and system, start-up and
//! records included), beside blkparse where it reads the same; and whether the memory that it needs
//! depends on how much is imported.
//!
//! Everything lies in memory, so that no disk is in it.

pub(super) mod blktrace;
mod text;

use super::finding::value;
use super::statistics::Bound;
use super::table::{Row, spread};
use super::{Bench, child, not_told};
use anyhow::{Context as _, ensure};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use text::{TEXTS, Text, Until};

/// Records or lines a second.
const BLKTRACE: Bound = Bound::at_least(5e6);
const BLKPARSE_RATIO: Bound = Bound::at_least(2.0);
const TEXT: Bound = Bound::at_least(2e6);
const TEXT_LINES: u64 = 2_000_000;
/// A short and a long text, and how much more memory the long one may take.
const TEXT_BYTES: [u64; 2] = [100 << 20, 400 << 20];
const MEMORY: Bound = Bound::at_most(1.2);
/// The peak hardly varies.
const MEMORY_PAIRS: usize = 3;

const RATE_NAME: &str = "import blktrace: records a second of CPU time";
const RATIO_NAME: &str = "import blktrace: rate, × blkparse -d";
const MEMORY_NAME: &str = "import: peak memory of 400 MiB of msr, × that of 100 MiB";

fn text_name(text: &Text) -> String {
    format!("import {}: lines a second of CPU time", text.format)
}

/// All rows whose names hold the text.
///
/// # Errors
/// Interruption; what else goes wrong is told in the rows.
pub(super) fn run(bench: &mut Bench, only: &str) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    if [RATE_NAME, RATIO_NAME].iter().any(|name| name.contains(only)) {
        let found = match of_blktrace(bench) {
            Ok(found) => found,
            Err(error) => {
                vec![not_told(RATE_NAME, &BLKTRACE.to_string(), &bench.unless_stopped(error)?)]
            }
        };
        rows.extend(found.into_iter().filter(|row| row.name.contains(only)));
    }
    for text in TEXTS.iter().filter(|text| text_name(text).contains(only)) {
        rows.push(match of_text(bench, text) {
            Ok(row) => row,
            Err(error) => {
                not_told(&text_name(text), &TEXT.to_string(), &bench.unless_stopped(error)?)
            }
        });
    }
    if MEMORY_NAME.contains(only) {
        rows.push(match of_memory(bench) {
            Ok(row) => row,
            Err(error) => not_told(MEMORY_NAME, &MEMORY.to_string(), &bench.unless_stopped(error)?),
        });
    }
    bench.records.clear()?;
    Ok(rows)
}

/// One import.
pub(super) struct Imported {
    cpu_s: f64,
    peak_kib: u64,
    events: u64,
}

/// Imports, and removes the records again.
fn imported(bench: &Bench, format: &str, files: &[PathBuf]) -> anyhow::Result<Imported> {
    let run = bench.records.path().join("run");
    let done = import(bench, format, files, &run)?;
    std::fs::remove_dir_all(&run).context("failed to remove the records of the run before")?;
    Ok(done)
}

/// Runs lbolt, whose records go into a directory.
pub(super) fn import(
    bench: &Bench,
    format: &str,
    files: &[PathBuf],
    run: &Path,
) -> anyhow::Result<Imported> {
    let mut words: Vec<OsString> =
        ["import", "--format=json", "--from", format].map(Into::into).to_vec();
    words.extend(["--output".into(), run.into()]);
    words.extend(files.iter().map(Into::into));
    let done = child::run(&bench.lbolt, &words, &bench.records.path(), &bench.control)?;
    let json = serde_json::from_str(&done.stdout).context("lbolt's JSON is broken")?;
    let of = |quantity| value(&json, quantity, &[("run", "this")]);
    let (events, rejected) = (of("events_count")?, of("rejected_count")?);
    ensure!(rejected == 0.0, "lbolt did not understand {rejected} lines or records");
    Ok(Imported { cpu_s: done.cpu_ns as f64 / 1e9, peak_kib: done.peak_kib, events: events as u64 })
}

/// blkparse's CPU time of the same, merged into one file.
fn blkparse(bench: &Bench, base: &Path) -> anyhow::Result<f64> {
    let records = bench.records.path();
    let merged = records.join("merged");
    let words: Vec<OsString> =
        vec!["-i".into(), base.into(), "-d".into(), merged.clone().into(), "-O".into()];
    let done = child::run(Path::new("blkparse"), &words, &records, &bench.control)
        .context("not measured: install blktrace")?;
    std::fs::remove_file(&merged).context("blkparse merged nothing")?;
    Ok(done.cpu_ns as f64 / 1e9)
}

fn of_blktrace(bench: &mut Bench) -> anyhow::Result<Vec<Row>> {
    bench.records.clear()?;
    let trace = blktrace::make(&bench.data, &bench.records.path())?;
    let per_s = |cpu_s: f64| trace.records as f64 / cpu_s;
    let (mut ours, mut theirs, mut missing) = (vec![], vec![], None);
    for pair in 0..bench.pairs {
        // The one that was first is second in the next pair.
        for is_ours in [pair % 2 == 0, pair % 2 == 1] {
            if is_ours {
                ours.push(per_s(imported(bench, "blktrace", &trace.files)?.cpu_s));
            } else if missing.is_none() {
                match blkparse(bench, &trace.base) {
                    Ok(cpu_s) => theirs.push(per_s(cpu_s)),
                    Err(error) => missing = Some(bench.unless_stopped(error)?),
                }
            }
        }
        eprintln!(
            "{RATE_NAME}: pair {}: lbolt {:.0?}, blkparse {:.0?}",
            pair + 1,
            ours.last(),
            theirs.last()
        );
    }
    let mut rate = Row::judged(RATE_NAME, &ours, BLKTRACE);
    rate.lbolt = format!("{} records: {}", trace.records, trace.what);
    let ratios: Vec<f64> = ours.iter().zip(&theirs).map(|(ours, theirs)| ours / theirs).collect();
    let ratio = match missing {
        Some(reason) => not_told(RATIO_NAME, &BLKPARSE_RATIO.to_string(), &reason),
        None => Row {
            lbolt: spread(&ours, "/s"),
            peer: spread(&theirs, "/s"),
            ..Row::judged(RATIO_NAME, &ratios, BLKPARSE_RATIO)
        },
    };
    Ok(vec![rate, ratio])
}

fn of_text(bench: &mut Bench, text: &Text) -> anyhow::Result<Row> {
    bench.records.clear()?;
    let path = bench.records.path().join("text");
    let (lines, telling) = text.write(&path, Until::Lines(TEXT_LINES))?;
    let mut values = Vec::new();
    for _ in 0..bench.pairs {
        let done = imported(bench, text.format, std::slice::from_ref(&path))?;
        ensure!(done.events == telling, "lbolt found {} in {telling} lines", done.events);
        values.push(lines as f64 / done.cpu_s);
    }
    eprintln!("{}: {values:.0?}", text_name(text));
    let mut row = Row::judged(&text_name(text), &values, TEXT);
    row.lbolt = spread(&values, "/s");
    Ok(row)
}

fn of_memory(bench: &mut Bench) -> anyhow::Result<Row> {
    bench.records.clear()?;
    let text = &TEXTS[0];
    let mut peaks: [Vec<f64>; 2] = [vec![], vec![]];
    for (bytes, peaks) in TEXT_BYTES.into_iter().zip(&mut peaks) {
        let path = bench.records.path().join("text");
        text.write(&path, Until::Bytes(bytes))?;
        for _ in 0..MEMORY_PAIRS.min(bench.pairs) {
            peaks.push(imported(bench, text.format, std::slice::from_ref(&path))?.peak_kib as f64);
        }
    }
    eprintln!("{MEMORY_NAME}: {peaks:?} KiB");
    let [short, long] = &peaks;
    let ratios: Vec<f64> = long.iter().zip(short).map(|(long, short)| long / short).collect();
    let mut row = Row::judged(MEMORY_NAME, &ratios, MEMORY);
    row.lbolt = format!("{}, {}", spread(short, " KiB"), spread(long, " KiB"));
    Ok(row)
}
