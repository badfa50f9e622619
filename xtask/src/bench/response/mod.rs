//! What the analysis of response times costs: requests a second of CPU time (user and system,
//! start-up and reading included) over a trace of 100 million, the memory that it needs, and its
//! rate beside btt's on the same requests.
//!
//! Everything lies in memory, so that no disk is in it.

mod made;

use super::finding::value;
use super::import::{blktrace, import};
use super::statistics::Bound;
use super::table::{Row, spread};
use super::{Bench, child, not_told};
use anyhow::{Context as _, ensure};
use std::ffi::OsString;
use std::path::Path;

/// Requests of the long trace.
const REQUESTS: u64 = 100_000_000;
/// Requests a second.
const RATE: Bound = Bound::at_least(5e6);
const MEMORY_MIB: Bound = Bound::at_most(512.0);
const RATIO: Bound = Bound::at_least(4.0);
/// A run takes half a minute.
const LONG_PAIRS: usize = 5;

const RATE_NAME: &str = "response: requests a second of CPU time, 100 million";
const WALL_NAME: &str = "response: requests a second on all cores, 100 million";
const MEMORY_NAME: &str = "response: peak memory, MiB, 100 million";
const RATIO_NAME: &str = "response: rate, × btt on the same requests";

/// All rows whose names hold the text.
///
/// # Errors
/// Interruption; what else goes wrong is told in the rows.
pub(super) fn run(bench: &mut Bench, only: &str) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    if [RATE_NAME, WALL_NAME, MEMORY_NAME].iter().any(|name| name.contains(only)) {
        rows.extend(match of_long(bench) {
            Ok(found) => found,
            Err(error) => {
                vec![not_told(RATE_NAME, &RATE.to_string(), &bench.unless_stopped(error)?)]
            }
        });
    }
    if RATIO_NAME.contains(only) {
        rows.push(match of_btt(bench) {
            Ok(row) => row,
            Err(error) => not_told(RATIO_NAME, &RATIO.to_string(), &bench.unless_stopped(error)?),
        });
    }
    bench.records.clear()?;
    rows.retain(|row| row.name.contains(only));
    Ok(rows)
}

/// One analysis.
struct Analysed {
    requests: f64,
    cpu_s: f64,
    wall_s: f64,
    peak_kib: u64,
}

fn analyse(bench: &Bench, trace: &Path) -> anyhow::Result<Analysed> {
    let words: Vec<OsString> =
        vec!["response".into(), "--format=json".into(), trace.as_os_str().to_owned()];
    let began = std::time::Instant::now();
    let done = child::run(&bench.lbolt, &words, &bench.records.path(), &bench.control)?;
    let wall_s = began.elapsed().as_secs_f64();
    let json = serde_json::from_str(&done.stdout).context("lbolt's JSON is broken")?;
    let requests = value(&json, "asked_count", &[("by", "whole"), ("class", "all")])?;
    Ok(Analysed { requests, cpu_s: done.cpu_ns as f64 / 1e9, wall_s, peak_kib: done.peak_kib })
}

fn of_long(bench: &mut Bench) -> anyhow::Result<Vec<Row>> {
    bench.records.clear()?;
    let trace = bench.records.path().join("requests.parquet");
    eprintln!("{RATE_NAME}: making the trace");
    made::make(&trace, REQUESTS)?;
    let (mut rates, mut walls, mut peaks) = (vec![], vec![], vec![]);
    for _ in 0..bench.pairs.min(LONG_PAIRS) {
        let done = analyse(bench, &trace)?;
        ensure!(done.requests == REQUESTS as f64, "lbolt found {} requests", done.requests);
        rates.push(done.requests / done.cpu_s);
        walls.push(done.requests / done.wall_s);
        peaks.push(done.peak_kib as f64 / 1024.0);
        eprintln!("{RATE_NAME}: {:.0?}, {:.0?} MiB", rates.last(), peaks.last());
    }
    let mut rate = Row::judged(RATE_NAME, &rates, RATE);
    rate.lbolt = spread(&rates, "/s");
    // Nothing was promised of it.
    let mut wall = Row::judged(WALL_NAME, &walls, Bound::at_least(0.0));
    wall.lbolt = spread(&walls, "/s");
    let mut memory = Row::judged(MEMORY_NAME, &peaks, MEMORY_MIB);
    memory.lbolt = spread(&peaks, " MiB");
    Ok(vec![rate, wall, memory])
}

/// btt's CPU time of the trace that blkparse merges; the merging is not counted.
fn btt(bench: &Bench, merged: &Path) -> anyhow::Result<f64> {
    let records = bench.records.path();
    let words: Vec<OsString> = vec!["-i".into(), merged.into()];
    let done = child::run(Path::new("btt"), &words, &records, &bench.control)
        .context("not measured: install blktrace")?;
    Ok(done.cpu_ns as f64 / 1e9)
}

fn of_btt(bench: &mut Bench) -> anyhow::Result<Row> {
    bench.records.clear()?;
    let records = bench.records.path();
    let trace = blktrace::make(&bench.data, &records)?;
    let merged = records.join("merged");
    let words: Vec<OsString> = ["-i".into(), trace.base.clone().into(), "-d".into()]
        .into_iter()
        .chain([merged.clone().into(), "-O".into()])
        .collect();
    child::run(Path::new("blkparse"), &words, &records, &bench.control)
        .context("not measured: install blktrace")?;
    let run = records.join("run");
    import(bench, "blktrace", &trace.files, &run)?;
    let (mut ours, mut theirs, mut ratios) = (vec![], vec![], vec![]);
    for pair in 0..bench.pairs {
        let mut pair_s = [0.0; 2];
        // The one that was first is second in the next pair.
        for is_ours in [pair % 2 == 0, pair % 2 == 1] {
            let cpu_s = match is_ours {
                true => analyse(bench, &run.join("requests.parquet"))?.cpu_s,
                false => btt(bench, &merged)?,
            };
            pair_s[usize::from(is_ours)] = cpu_s;
        }
        let [their_s, our_s] = pair_s;
        ours.push(our_s);
        theirs.push(their_s);
        ratios.push(their_s / our_s);
        eprintln!("{RATIO_NAME}: pair {}: lbolt {our_s:.2} s, btt {their_s:.2} s", pair + 1);
    }
    Ok(Row {
        lbolt: spread(&ours, " s"),
        peer: spread(&theirs, " s"),
        ..Row::judged(RATIO_NAME, &ratios, RATIO)
    })
}
