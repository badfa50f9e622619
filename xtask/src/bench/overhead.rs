//! The overhead room: whether five runs of the experiment find the same T_call, and whether the
//! accounts of the whole bill agree with the thread's own clock where only it works, and exceed
//! it where others do. fio has no such figures: nothing of it stands beside them.

use super::finding::value;
use super::statistics::{Bound, median};
use super::table::{Row, spread};
use super::{Bench, child};
use anyhow::Context as _;
use serde_json::Value;
use std::ffi::OsString;

/// Runs of the experiment.
const RUNS: usize = 5;
/// T_call of one run over the median of all.
const REPEATABLE: Bound = Bound { low: 0.97, high: 1.03 };
/// The whole bill over the thread's own time, where only the thread works.
const ALONE: Bound = Bound { low: 0.95, high: 1.05 };
/// … and where others work for it: a polling thread alone doubles it.
const HELPED: Bound = Bound::at_least(1.5);

const ACCOUNTS: [&str; 3] = ["difference", "soak", "trace"];

/// What an interface's bill over its own time must be.
struct Helped {
    engine: &'static str,
    access: &'static str,
    bound: Bound,
}

/// Buffered writes on ext4 go to io_uring's own workers (io-wq).
const HELPED_BY: [Helped; 4] = [
    Helped { engine: "psync", access: "randread", bound: ALONE },
    Helped { engine: "threads", access: "randread", bound: HELPED },
    Helped { engine: "io_uring_sqpoll", access: "randread", bound: HELPED },
    Helped { engine: "io_uring", access: "randwrite", bound: HELPED },
];

/// The names of all rows, for `--only`.
fn t_call_name() -> String {
    "psync, cached random reads: T_call of five runs over their median".to_owned()
}

fn bill_name(helped: &Helped, account: &str) -> String {
    let Helped { engine, access, .. } = helped;
    format!("{engine}, cached 4k {access}: bill by {account} over the thread's own time")
}

/// Whether any row's name holds the text.
pub(super) fn is_wanted(only: &str) -> bool {
    let of_bill = |helped: &Helped| ACCOUNTS.iter().any(|a| bill_name(helped, a).contains(only));
    t_call_name().contains(only) || HELPED_BY.iter().any(of_bill)
}

/// All rows whose names hold the text.
///
/// # Errors
/// What a run met; interruption.
pub(super) fn run(bench: &mut Bench, only: &str) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    if t_call_name().contains(only) {
        rows.push(t_call(bench)?);
    }
    let is_wanted = |helped: &Helped| ACCOUNTS.iter().any(|a| bill_name(helped, a).contains(only));
    if HELPED_BY.iter().any(is_wanted) {
        rows.extend(bills(bench)?.into_iter().filter(|row| row.name.contains(only)));
    }
    Ok(rows)
}

/// One run of the experiment with these words besides, as its JSON.
fn experiment(bench: &mut Bench, words: &str) -> anyhow::Result<Value> {
    bench.records.clear()?;
    let records = bench.records.path();
    let mut all: Vec<OsString> = vec!["overhead".into(), bench.directory().into()];
    all.extend(words.split_whitespace().map(OsString::from));
    all.extend(["--format=json".into(), "--output".into(), records.join("run").into()]);
    let done = child::run(&bench.lbolt, &all, &records, &bench.control)?;
    serde_json::from_str(&done.stdout).context("lbolt's JSON is broken")
}

const T_CALL_WORDS: &str =
    "--ioengine psync --rw randread --direct 0 --overlap 0 --iodepth 1 --account none --runs 30";

fn t_call(bench: &mut Bench) -> anyhow::Result<Row> {
    let mut values = Vec::new();
    for run in 0..RUNS {
        let json = experiment(bench, T_CALL_WORDS)?;
        let subject = [("engine", "psync"), ("account", "own")];
        values.push(value(&json, "t_call_ns", &subject)?);
        eprintln!("T_call of cached psync reads: run {}: {values:.1?} ns", run + 1);
    }
    let middle = median(&values).context("no run")?;
    let shares: Vec<f64> = values.iter().map(|value| value / middle).collect();
    // Of five values the extremes are the interval.
    let mut row = Row::judged(&t_call_name(), &shares, REPEATABLE);
    row.lbolt = spread(&values, " ns");
    Ok(row)
}

const BILL_WORDS: &str =
    "--rw randread,randwrite --bs 4k --direct 0 --overlap 0 --iodepth 1 --account soak,trace";

fn bills(bench: &mut Bench) -> anyhow::Result<Vec<Row>> {
    let engines: Vec<&str> = HELPED_BY.iter().map(|helped| helped.engine).collect();
    let words = format!("{BILL_WORDS} --ioengine {}", engines.join(","));
    let runs: Vec<Value> =
        (0..RUNS).map(|_| experiment(bench, &words)).collect::<anyhow::Result<_>>()?;
    let mut rows = Vec::new();
    for helped in &HELPED_BY {
        let subject = [("engine", helped.engine), ("access", helped.access), ("direct", "0")];
        let of = |quantity: &str| -> anyhow::Result<Vec<f64>> {
            runs.iter().map(|json| value(json, quantity, &subject)).collect()
        };
        let own = of("operation_cpu_own_ns")?;
        for account in ACCOUNTS {
            let ratios = of(&format!("bill_{account}_ratio"))?;
            let mut row = Row::judged(&bill_name(helped, account), &ratios, helped.bound);
            row.lbolt = format!("own: {}", spread(&own, " ns"));
            rows.push(row);
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lbolt_itself_understands_the_words() {
        use clap::Parser as _;
        for words in [T_CALL_WORDS, BILL_WORDS] {
            let all = ["lbolt", "overhead", "d"].into_iter().chain(words.split_whitespace());
            if let Err(error) = ::lbolt::cli::Cli::try_parse_from(all) {
                panic!("{words}: {error}");
            }
        }
        let known = |engine: &str| model::engine::ENGINES.iter().any(|facts| facts.name == engine);
        assert!(HELPED_BY.iter().all(|helped| known(helped.engine)));
    }
}
