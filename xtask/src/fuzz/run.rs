//! One target's run: its corpus, its limits, and what libFuzzer says at the end.

use super::target::Target;
use crate::command::dying_with_us;
use anyhow::Context as _;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Instant;

/// An input that takes longer is a hang.
const TIMEOUT_SECONDS: u32 = 10;
/// More is runaway memory.
const MEMORY_MIB: u32 = 1024;

/// How a target's run went.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) name: String,
    pub(super) executions: u64,
    pub(super) seconds: u64,
    pub(super) peak_mib: u64,
    /// What was found, and how to see it again.
    pub(super) finding: Option<String>,
}

/// Runs targets.
#[derive(Debug)]
pub(super) struct Runner {
    /// The one program for all.
    pub(super) program: PathBuf,
    /// Where corpora and findings are kept.
    pub(super) home: PathBuf,
}

impl Runner {
    /// Runs a target for so long, or until something is found.
    /// Errors: a program that cannot be started, a directory that cannot be written.
    pub(super) fn run(&self, target: &Target, seconds: u32) -> anyhow::Result<Outcome> {
        let corpus = self.home.join("corpus").join(&target.name);
        let artifacts = self.home.join("artifacts").join(&target.name);
        for directory in [&corpus, &artifacts] {
            let made = std::fs::create_dir_all(directory);
            made.with_context(|| format!("failed to make {}", directory.display()))?;
        }
        for (name, bytes) in &target.seeds {
            std::fs::write(corpus.join(format!("seed-{name}")), bytes)?;
        }
        let log = artifacts.join("log");
        let begun = Instant::now();
        let status = dying_with_us(&self.program)
            .arg(&corpus)
            .arg(format!("-artifact_prefix={}/", artifacts.display()))
            .arg(format!("-max_total_time={seconds}"))
            .arg(format!("-timeout={TIMEOUT_SECONDS}"))
            .arg(format!("-rss_limit_mb={MEMORY_MIB}"))
            .arg("-print_final_stats=1")
            .env("LBOLT_FUZZ_TARGET", &target.name)
            .env("RUST_BACKTRACE", "1")
            // Freed memory is kept for a while, to find its use; that is not the importer's own.
            .env("ASAN_OPTIONS", "quarantine_size_mb=32")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log)?)
            .status()
            .context("failed to run the fuzz target through setpriv (package util-linux)")?;
        let said = String::from_utf8_lossy(&std::fs::read(&log)?).into_owned();
        let executions = number(&said, "number_of_executed_units").unwrap_or(0);
        let finding = (!status.success() || executions == 0)
            .then(|| finding(&said, &self.program, &target.name, &log));
        Ok(Outcome {
            name: target.name.clone(),
            executions,
            seconds: begun.elapsed().as_secs(),
            peak_mib: number(&said, "peak_rss_mb").unwrap_or(0),
            finding,
        })
    }
}

/// A number of libFuzzer's at the end: `stat::peak_rss_mb: 71`.
fn number(said: &str, name: &str) -> Option<u64> {
    let found = said.lines().rev().find_map(|line| line.strip_prefix("stat::")?.strip_prefix(name));
    found?.strip_prefix(':')?.trim().parse().ok()
}

/// What happened, and how to see it again.
fn finding(said: &str, program: &Path, name: &str, log: &Path) -> String {
    let panic = said.lines().skip_while(|line| !line.contains("panicked at")).take(2);
    let panic = panic.map(str::trim).collect::<Vec<_>>().join(" ");
    let summary = said.lines().find(|line| line.starts_with("SUMMARY: ")).unwrap_or_default();
    let what = if panic.is_empty() { summary } else { &panic };
    let written = said.lines().find_map(|line| line.split_once("Test unit written to "));
    match written {
        Some((_, path)) => {
            format!("{what}; again: LBOLT_FUZZ_TARGET={name} {} {path}", program.display())
        }
        None => format!("ended before its time {what}; see {}", log.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "#2 INITED cov: 5\n\nthread '<unnamed>' panicked at \
        crates/trace/src/x.rs:1:2:\n\
        attempt to add with overflow\nstack backtrace:\nSUMMARY: libFuzzer: deadly signal\n\
        artifact_prefix='a/'; Test unit written to a/crash-1\nstat::number_of_executed_units: \
        1234\n\
        stat::average_exec_per_sec:     0\nstat::peak_rss_mb:              71\n";

    #[test]
    fn the_numbers_at_the_end_are_read() {
        assert_eq!(number(SAID, "number_of_executed_units"), Some(1234));
        assert_eq!(number(SAID, "peak_rss_mb"), Some(71));
        assert_eq!(number(SAID, "peak"), None);
        assert_eq!(number("", "peak_rss_mb"), None);
    }

    #[test]
    fn a_finding_says_what_it_is_and_how_to_see_it_again() {
        let of = |said| finding(said, Path::new("p"), "srt", Path::new("log"));
        let panic = "thread '<unnamed>' panicked at crates/trace/src/x.rs:1:2: \
                     attempt to add with overflow; again: LBOLT_FUZZ_TARGET=srt p a/crash-1";
        assert_eq!(of(SAID), panic);
        let memory = "SUMMARY: libFuzzer: out-of-memory\nTest unit written to a/oom-1\n";
        let again = "SUMMARY: libFuzzer: out-of-memory; again: LBOLT_FUZZ_TARGET=srt p a/oom-1";
        assert_eq!(of(memory), again);
        assert_eq!(of(""), "ended before its time ; see log");
    }
}
