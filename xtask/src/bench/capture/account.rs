//! Whether each request is accounted for: fio at full depth on a loop device over a file of the
//! disk, whose requests an interrupt completes, captured while two other tracers come and go. What
//! the kernel counts as completed is to be what the trace holds of that time, and what it says that
//! it lost.

use super::super::statistics::Bound;
use super::super::table::{Row, spread};
use super::super::{Bench, child, not_told};
use super::tracer::Tracing;
use anyhow::Context as _;
use host::subject::LoopDisk;
use serde_json::Value;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Scope;

const IMAGE_BYTES: u64 = 1 << 30;
/// How long fio runs in a round.
const SECONDS: u32 = 5;
/// Of each of its two jobs.
const DEPTH: u32 = 64;

pub(super) const UNACCOUNTED: &str =
    "capture: requests not accounted for, beside two other tracers";
pub(super) const LOST: &str = "capture: answers lost, beside two other tracers";

/// A round's figures.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Account {
    /// Completed, by the kernel's own counters.
    counted: f64,
    /// What the trace holds of that time.
    held: f64,
    lost: f64,
    /// Steps that the second source told.
    recovered: f64,
}

impl Account {
    fn read(json: &Value) -> anyhow::Result<Self> {
        let findings = json["findings"].as_array().context("lbolt's JSON has no findings")?;
        let of = |quantity: &str, field: &str| {
            let found = findings.iter().find(|finding| finding["quantity"] == quantity);
            let number = found.and_then(|finding| finding[field].as_f64());
            number.with_context(|| format!("lbolt's JSON has no {quantity}"))
        };
        Ok(Self {
            counted: of("kernel_answered_count", "value")?,
            held: of("kernel_answered_count", "count")?,
            lost: of("lost_count", "value")?,
            recovered: of("recovered_count", "value")?,
        })
    }

    fn unaccounted(&self) -> f64 {
        (self.counted - self.held - self.lost).abs()
    }
}

/// The rows whose names hold the text.
///
/// # Errors
/// Interruption.
pub(super) fn run(bench: &mut Bench, only: &str) -> anyhow::Result<Vec<Row>> {
    let none = Bound::at_most(0.0);
    let names: Vec<&str> =
        [UNACCOUNTED, LOST].into_iter().filter(|name| name.contains(only)).collect();
    if names.is_empty() {
        return Ok(vec![]);
    }
    let rounds = match rounds(bench) {
        Ok(rounds) => rounds,
        Err(error) => {
            let reason = bench.unless_stopped(error)?;
            return Ok(names
                .iter()
                .map(|name| not_told(name, &none.to_string(), &reason))
                .collect());
        }
    };
    let of = |get: fn(&Account) -> f64| rounds.iter().map(get).collect::<Vec<f64>>();
    let row = |name: &str| {
        let values = if name == LOST { of(|r| r.lost) } else { of(Account::unaccounted) };
        let mut row = Row::judged(name, &values, none);
        row.lbolt = format!(
            "{} requests a round; {} steps told by the second source",
            spread(&of(|r| r.held), ""),
            spread(&of(|r| r.recovered), "")
        );
        row.peer = format!("the kernel's own count: {}", spread(&of(|r| r.counted), ""));
        row
    };
    Ok(names.into_iter().map(row).collect())
}

fn rounds(bench: &mut Bench) -> anyhow::Result<Vec<Account>> {
    let disk = LoopDisk::make(&bench.at, IMAGE_BYTES, &bench.control)?;
    let mut rounds = Vec::new();
    for number in 1..=bench.pairs {
        bench.records.clear()?;
        let is_over = AtomicBool::new(false);
        let account = std::thread::scope(|scope| {
            come_and_go(scope, bench, disk.path(), &is_over);
            let account = round(bench, disk.path());
            is_over.store(true, Ordering::Relaxed);
            account
        })?;
        eprintln!("capture: accounts, round {number} of {}: {account:?}", bench.pairs);
        rounds.push(account);
    }
    bench.records.clear()?;
    Ok(rounds)
}

/// Other tracers of the same device: lbolt, and perf where it is.
fn come_and_go<'scope>(
    scope: &'scope Scope<'scope, '_>,
    bench: &Bench,
    device: &Path,
    is_over: &'scope AtomicBool,
) {
    let records = bench.records.path();
    let mut lbolt = Command::new(&bench.lbolt);
    lbolt.args(["record", "--duration", "200ms", "--device"]).arg(device);
    let mut perf = Command::new("perf");
    perf.args(["stat", "-a", "-e", "block:*", "sleep", "0.2"]);
    for (mut command, name) in [(lbolt, "lbolt"), (perf, "perf")] {
        command.current_dir(&records).env("LBOLT_STATE", &records);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if name == "lbolt" {
            command.args(["--runs-dir", "others"]);
        }
        scope.spawn(move || {
            // A tracer that is not there goes at once.
            while !is_over.load(Ordering::Relaxed) && command.status().is_ok() {}
        });
    }
}

fn round(bench: &Bench, device: &Path) -> anyhow::Result<Account> {
    let tracing = Tracing::start(bench, super::Tracer::Lbolt, device)?;
    let records = bench.records.path();
    child::run(&bench.fio, &fio_words(device), &records, &bench.control)?;
    Account::read(&tracing.end()?.context("lbolt says nothing")?)
}

fn fio_words(device: &Path) -> Vec<OsString> {
    let mut words: Vec<OsString> =
        ["--name=bench", "--rw=randrw", "--bs=4k", "--direct=1", "--ioengine=libaio"]
            .into_iter()
            .chain(["--numjobs=2", "--time_based", "--output-format=json"])
            .map(Into::into)
            .collect();
    words.push(format!("--iodepth={DEPTH}").into());
    words.push(format!("--runtime={SECONDS}").into());
    let mut filename = OsString::from("--filename=");
    filename.push(device);
    words.push(filename);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lbolt_says_is_read_and_what_is_missing_is_counted() {
        let finding = |quantity: &str, value: f64, count: f64| serde_json::json!({"quantity": quantity, "value": value, "count": count});
        let findings = [
            finding("kernel_answered_count", 100.0, 97.0),
            finding("lost_count", 2.0, 1.0),
            finding("recovered_count", 5.0, 1.0),
        ];
        let account = Account::read(&serde_json::json!({ "findings": findings })).unwrap();
        assert_eq!((account.unaccounted(), account.recovered), (1.0, 5.0));
        assert!(Account::read(&serde_json::json!({"findings": findings[..2]})).is_err());
    }
}
