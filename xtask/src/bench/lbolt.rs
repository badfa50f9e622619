//! lbolt's side: the same work in its options, and its JSON.
//!
//! One call is one pass that counts: lbolt lays out its file, makes it cold by itself
//! (fsync, POSIX_FADV_DONTNEED) where the case says so, runs, and removes the file.

use super::cases::{Access, Case, State, Time};
use anyhow::{Context as _, ensure};
use serde_json::Value;
use std::ffi::OsString;
use std::path::Path;

/// lbolt's options for a case in a directory, its records going to `records`.
pub(super) fn arguments(case: &Case, directory: &Path, records: &Path) -> Vec<OsString> {
    let rw = match case.access {
        Access::Read => "read",
        Access::Write => "write",
        Access::Rewrite => "rewrite",
        Access::RandRead => "randread",
    };
    let mut words = vec![
        format!("--rw={rw}"),
        format!("--ioengine={}", case.engine),
        format!("--bs={}", case.block),
        format!("--size={}m", case.file_mib),
        format!("--iodepth={}", case.depth),
        format!("--warmup={}", warmup(case)),
        "--runs=1".to_owned(),
        "--no-ceiling".to_owned(),
        "--format=json".to_owned(),
    ];
    match case.time {
        Time::Whole => {}
        Time::AtMost(seconds) => words.push(format!("--runtime={seconds}s")),
        Time::For(seconds) => {
            words.extend([format!("--runtime={seconds}s"), "--time_based".into()]);
        }
    }
    if case.is_direct {
        words.push("--direct".into());
    }
    if case.state != State::Cold {
        words.push("--no-cold".into());
    }
    let mut all: Vec<OsString> = vec!["throughput".into(), directory.into()];
    all.extend(words.into_iter().map(OsString::from));
    all.extend(["--output".into(), records.join("run").into()]);
    all
}

/// Passes that are left out, of lbolt and fio alike: a warm file is read once before.
pub(super) fn warmup(case: &Case) -> u32 {
    u32::from(case.state == State::Warm)
}

/// What a run of lbolt says.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Said {
    pub(super) operations_per_s: f64,
    /// CPU time a request, of the job's own thread.
    pub(super) cpu_ns: f64,
    /// By its own calibration at the beginning of the run.
    pub(super) harness_ns: f64,
    /// Which clock stamped the requests.
    pub(super) clock: String,
    /// Why it suspects its own rate, a sentence each.
    pub(super) doubts: Vec<String>,
}

/// Reads lbolt's JSON.
///
/// # Errors
/// Text that is not that, or a rate that was not measured, with lbolt's reason.
pub(super) fn parse(text: &str) -> anyhow::Result<Said> {
    let value: Value = serde_json::from_str(text).context("lbolt's JSON is broken")?;
    let schema = value["schema"].as_str().unwrap_or_default();
    ensure!(schema == "lbolt.findings/1", "lbolt printed the schema \"{schema}\"");
    let rate = finding(&value, "rate_operations_per_s")?;
    let reason = rate["reason"].as_str().unwrap_or_default();
    let number = |finding: &Value| {
        let quantity = finding["quantity"].as_str().unwrap_or_default();
        finding["value"].as_f64().with_context(|| format!("lbolt has no {quantity}: {reason}"))
    };
    let clock = value.pointer("/run/calibration/clock").and_then(Value::as_str);
    let operations_per_s = number(rate)?;
    let cpu_percent = number(finding(&value, "cpu_percent")?)?;
    Ok(Said {
        operations_per_s,
        cpu_ns: cpu_percent / 100.0 * 1e9 / operations_per_s,
        harness_ns: number(finding(&value, "harness_ns_per_operation")?)?,
        clock: clock.context("lbolt does not say by which clock")?.to_owned(),
        doubts: reason.lines().map(str::to_owned).collect(),
    })
}

fn finding<'a>(value: &'a Value, quantity: &str) -> anyhow::Result<&'a Value> {
    let mut findings = value["findings"].as_array().into_iter().flatten();
    let found = findings.find(|finding| finding["quantity"] == quantity);
    found.with_context(|| format!("lbolt's JSON has no {quantity}"))
}

#[cfg(test)]
mod tests {
    use super::super::cases::CASES;
    use super::*;

    /// lbolt's JSON, shortened.
    const PRINTED: &str = r#"{"schema": "lbolt.findings/1",
 "run": {"calibration": {"clock": "tsc", "harness_ns_per_operation": 19.5}},
 "findings": [
  {"subject": {"run": "this"}, "quantity": "harness_ns_per_operation", "value": 19.5,
   "verdict": "ok", "reason": null},
  {"subject": {"drives": "1", "program": "p", "target": "d"}, "quantity": "rate_operations_per_s",
   "value": 39358272.0, "verdict": "suspect", "reason": "the page cache served it\nbusy"},
  {"subject": {}, "quantity": "cpu_percent", "value": 100.0, "verdict": "ok", "reason": null}]}"#;

    #[test]
    fn the_rate_comes_with_its_doubts() {
        let said = parse(PRINTED).unwrap();
        assert_eq!((said.operations_per_s, said.harness_ns), (39_358_272.0, 19.5));
        assert_eq!(said.clock, "tsc");
        assert!((said.cpu_ns - 25.408).abs() < 0.001, "{said:?}");
        assert_eq!(said.doubts, ["the page cache served it", "busy"]);
    }

    #[test]
    fn what_is_no_result_is_an_error() {
        for (from, to, sentence) in [
            ("39358272.0", "null", "no rate_operations_per_s: the page cache"),
            ("findings/1", "findings/9", "findings/9"),
            ("rate_operations", "rate_sheep", "no rate_operations_per_s"),
            ("\"clock\"", "\"sundial\"", "which clock"),
        ] {
            let error = parse(&PRINTED.replace(from, to)).unwrap_err().to_string();
            assert!(error.contains(sentence), "{sentence}: {error}");
        }
        assert!(parse("").is_err());
    }

    #[test]
    fn lbolt_itself_understands_every_case() {
        use clap::Parser as _;
        for case in CASES {
            let words = arguments(case, Path::new("d"), Path::new("r"));
            let all = std::iter::once(OsString::from("lbolt")).chain(words);
            if let Err(error) = ::lbolt::cli::Cli::try_parse_from(all) {
                panic!("{case:?}: {error}");
            }
        }
    }
}
