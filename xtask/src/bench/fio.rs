//! fio's side: the options that make it do lbolt's work, and its JSON.
//!
//! fio's defaults are kept but where they would be other work: `--fallocate=none` and
//! `--fadvise_hint=0`, for lbolt neither preallocates nor advises (a preallocated file is written
//! without allocating, and advice doubles or ends read-ahead); `--invalidate=0`, for the state
//! before the pass is made outside of it, for both alike (fio would empty the cache inside the time
//! that it measures); `--scramble_buffers=0`, for lbolt writes the same random buffer too;
//! `--iomem_align=4k`, for lbolt's buffers begin at a page, and copying is faster from there (fio
//! wrote up to 7 % faster); `--end_fsync=1`, for lbolt's writing passes end with fdatasync. fio's
//! `runtime` covers that fsync: do_io() of its backend.c syncs before it returns and the time is
//! taken behind it; under strace the write latencies and the fsync add up to `runtime` within 3 ms.
//! Both random orders visit each block once (fio's random map). Time stamps: fio takes the
//! processor's counter too, where it finds it reliable.

use super::cases::{Access, Case, State, Time};
use anyhow::{Context as _, ensure};
use serde_json::Value;
use std::ffi::OsString;
use std::path::Path;

/// What makes fio use a file as lbolt does.
const FILE_WORDS: [&str; 4] =
    ["--fallocate=none", "--fadvise_hint=0", "--invalidate=0", "--iomem_align=4k"];

/// fio's options for a case. Where the engine does no I/O all else is fio's default.
pub(super) fn arguments(case: &Case, file: &Path) -> Vec<OsString> {
    let rw = match case.access {
        Access::Read => "read",
        Access::Write | Access::Rewrite => "write",
        Access::RandRead => "randread",
    };
    let mut words = vec![
        "--name=bench".to_owned(),
        format!("--rw={rw}"),
        format!("--bs={}", case.block),
        format!("--size={}m", case.file_mib),
        "--output-format=json".to_owned(),
    ];
    words.extend(engine(case.engine));
    match case.time {
        Time::Whole => {}
        Time::AtMost(seconds) => words.push(format!("--runtime={seconds}")),
        Time::For(seconds) => words.extend([format!("--runtime={seconds}"), "--time_based".into()]),
    }
    if case.depth > 1 {
        words.push(format!("--iodepth={}", case.depth));
    }
    if case.is_direct {
        words.push("--direct=1".into());
    }
    if case.access == Access::Write || case.access == Access::Rewrite {
        words.extend(["--end_fsync=1".into(), "--scramble_buffers=0".into()]);
    }
    let mut words: Vec<OsString> = words.into_iter().map(OsString::from).collect();
    if case.state != State::NoFile {
        words.extend(FILE_WORDS.map(Into::into));
        let mut filename = OsString::from("--filename=");
        filename.push(file);
        words.push(filename);
    }
    words
}

/// An engine in fio's words: what are engines of their own with lbolt are options there.
fn engine(name: &str) -> Vec<String> {
    match name {
        "io_uring_fixed" => ["--ioengine=io_uring", "--registerfiles=1", "--fixedbufs=1"]
            .map(str::to_owned)
            .to_vec(),
        name => vec![format!("--ioengine={name}")],
    }
}

/// Requests and their rate in fio's JSON, which notes may precede.
///
/// # Errors
/// Text that is not fio's JSON, a job that failed, a job that did nothing.
pub(super) fn parse(text: &str) -> anyhow::Result<Rate> {
    let start = text.find('{').context("fio printed no JSON")?;
    let value: Value = serde_json::from_str(&text[start..]).context("fio's JSON is broken")?;
    let job = value.pointer("/jobs/0").context("fio's JSON has no job")?;
    let error = job["error"].as_i64().context("fio's JSON does not say how the job ended")?;
    ensure!(error == 0, "fio's job ended with error {error}");
    let done = |direction: &str| {
        let part = &job[direction];
        let operations = part["total_ios"].as_u64().filter(|operations| *operations > 0)?;
        let operations_per_s = part["iops"].as_f64()?;
        let percent = job["usr_cpu"].as_f64()? + job["sys_cpu"].as_f64()?;
        // Of the job's run time, by its own rusage.
        let cpu_ns = percent / 100.0 * part["runtime"].as_f64()? * 1e6 / operations as f64;
        Some(Rate { operations, operations_per_s, cpu_ns })
    };
    done("read").or_else(|| done("write")).context("fio's job did nothing")
}

/// What a job did.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rate {
    pub(super) operations: u64,
    pub(super) operations_per_s: f64,
    /// CPU time a request, of the job's own process.
    pub(super) cpu_ns: f64,
}

#[cfg(test)]
mod tests {
    use super::super::cases::CASES;
    use super::*;

    /// fio 3.33, shortened.
    const PRINTED: &str = r#"note: both iodepth >= 1 and synchronous I/O engine are selected
{"fio version": "fio-3.33", "jobs": [{"jobname": "a", "error": 0,
  "read": {"io_bytes": 0, "bw_bytes": 0, "iops": 0.0, "runtime": 0, "total_ios": 0},
  "write": {"io_bytes": 268435456, "bw_bytes": 464421204, "iops": 56692.041522, "runtime": 578,
    "total_ios": 32768}, "job_runtime": 577, "usr_cpu": 10.0, "sys_cpu": 40.0}]}"#;

    #[test]
    fn the_direction_that_moved_is_read() {
        let rate = parse(PRINTED).unwrap();
        assert_eq!((rate.operations, rate.operations_per_s), (32768, 56692.041522));
        // Half of 578 ms over the requests.
        assert!((rate.cpu_ns - 8819.6).abs() < 0.1, "{rate:?}");
    }

    #[test]
    fn what_is_no_result_is_an_error() {
        for (from, to, sentence) in [
            ("\"error\": 0", "\"error\": 5", "error 5"),
            ("\"total_ios\": 32768", "\"total_ios\": 0", "did nothing"),
            ("\"jobs\"", "\"tasks\"", "no job"),
            ("{", "[", "no JSON"),
        ] {
            let error = parse(&PRINTED.replace(from, to)).unwrap_err().to_string();
            assert!(error.contains(sentence), "{sentence}: {error}");
        }
        assert!(parse("fio: failed parsing fadvise_hint=none\n").is_err());
    }

    #[test]
    fn files_are_used_as_lbolt_uses_them() {
        for case in CASES {
            let words: Vec<_> = arguments(case, Path::new("d/f"))
                .into_iter()
                .map(|word| word.to_string_lossy().into_owned())
                .collect();
            let has = |word: &str| words.iter().any(|w| w == word);
            let has_file = case.engine != "null";
            assert_eq!(has("--fallocate=none"), has_file, "{words:?}");
            assert_eq!(has("--fadvise_hint=0"), has_file, "{words:?}");
            assert_eq!(has("--filename=d/f"), has_file, "{words:?}");
            assert_eq!(has("--end_fsync=1"), has("--rw=write"), "{words:?}");
            assert_eq!(has("--time_based"), matches!(case.time, Time::For(_)), "{words:?}");
        }
    }
}
