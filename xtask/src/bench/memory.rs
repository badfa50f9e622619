//! Memory: what a run of lbolt holds does not grow with its length. Its histograms
//! have a fixed size; fio's, too, but its log of single latencies (`--write_lat_log`),
//! the only way to more than its percentiles, grows with every request and stands beside.

use super::cases::{Case, MEMORY_BOUND, MEMORY_CASE, MEMORY_SECONDS, State, Time};
use super::statistics::median;
use super::table::{Row, number, spread};
use super::{Bench, child, fio, lbolt};
use anyhow::Context as _;
use std::ffi::OsString;

/// Pairs of a short and a long run; the figure hardly varies.
const PAIRS: usize = 3;
/// Requests of fio's short and long run: a log of all of a long run would not fit.
const FIO_OPERATIONS: [u32; 2] = [500_000, 2_000_000];

/// Whether the row is asked for.
pub(super) fn is_wanted(only: &str) -> bool {
    "memory".contains(only) || only.contains("memory")
}

/// Runs lbolt short and long, and fio with its log.
///
/// # Errors
/// What either program met; interruption.
pub(super) fn run(bench: &mut Bench) -> anyhow::Result<Row> {
    let mut peaks: [Vec<f64>; 2] = [vec![], vec![]];
    for pair in 0..PAIRS.min(bench.pairs) {
        for (peaks, seconds) in peaks.iter_mut().zip(MEMORY_SECONDS) {
            peaks.push(lbolt_peak_kib(bench, seconds)? as f64);
        }
        eprintln!("memory: pair {}: lbolt {peaks:?} KiB", pair + 1);
    }
    let [short, long] = &peaks;
    let growth: Vec<f64> = long.iter().zip(short).map(|(long, short)| long - short).collect();
    let name = "memory: growth of lbolt's peak from 2 s to 8 s, KiB";
    let mut row = Row::judged(name, &growth, MEMORY_BOUND);
    row.lbolt = format!("2 s: {}, 8 s: {}", spread(short, " KiB"), spread(long, " KiB"));
    row.peer = format!("{} bytes a request, with --write_lat_log", number(fio_growth(bench)?));
    Ok(row)
}

fn lbolt_peak_kib(bench: &mut Bench, seconds: u32) -> anyhow::Result<u64> {
    let case = Case { time: Time::For(seconds), state: State::NoFile, ..*MEMORY_CASE };
    bench.records.clear()?;
    let records = bench.records.path();
    let words = lbolt::arguments(&case, &bench.directory(), &records);
    let done = child::run(&bench.lbolt, &words, &records, &bench.control)?;
    lbolt::parse(&done.stdout)?;
    Ok(done.peak_kib)
}

/// Bytes that fio's peak grows by with each request that it logs.
fn fio_growth(bench: &mut Bench) -> anyhow::Result<f64> {
    let mut grown = Vec::new();
    for operations in FIO_OPERATIONS {
        bench.records.clear()?;
        let records = bench.records.path();
        let case = Case { time: Time::Whole, file_mib: 8192, ..*MEMORY_CASE };
        let mut words = fio::arguments(&case, &records);
        // One process, whose peak is all of it.
        words.push("--thread".into());
        words.push(format!("--number_ios={operations}").into());
        let mut log = OsString::from("--write_lat_log=");
        log.push(records.join("log"));
        words.push(log);
        let done = child::run(&bench.fio, &words, &records, &bench.control)?;
        grown.push((done.peak_kib as f64 * 1024.0, fio::parse(&done.stdout)?.operations as f64));
    }
    bench.records.clear()?;
    let slopes: Vec<f64> = grown.windows(2).filter_map(slope).collect();
    median(&slopes).context("fio did as many requests in its long run as in its short one")
}

/// Bytes a request between two runs.
fn slope(runs: &[(f64, f64)]) -> Option<f64> {
    let [(bytes, operations), (more_bytes, more_operations)] = runs else { return None };
    let apart = more_operations - operations;
    (apart > 0.0).then(|| (more_bytes - bytes) / apart)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_a_slope() {
        assert_eq!(slope(&[(1000.0, 10.0), (1580.0, 20.0)]), Some(58.0));
        assert_eq!(slope(&[(1000.0, 10.0), (1580.0, 10.0)]), None);
        assert_eq!(slope(&[(1000.0, 10.0)]), None);
    }
}
