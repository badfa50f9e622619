//! The survey: from its options to those of the five experiments that answer its questions, at the
//! pace that was requested.

use super::overhead::ResolvedOverhead;
use super::rounds::Rounds;
use super::storm::ResolvedStorm;
use super::throughput::ResolvedThroughput;
use super::{Resolved, curve, overhead, storm, sync, throughput};
use clap::Parser;
use cli::{Cli, Command, SurveyOptions};
use host::subject::probe_write_bytes_per_s;
use messages::fault::{Fault, failure};
use serde::Serialize;
use std::path::Path;
use std::time::Duration;

/// What is left to a pace: words for each experiment, as a user would give them.
struct Pace {
    /// Fresh file systems beside the directory.
    fresh: &'static [&'static str],
    /// The time that the passes of files may take before their rates are looked at, s.
    files_s: f64,
    /// … and more of a cell.
    max_time: Duration,
    curve: &'static str,
    sync: &'static str,
    overhead: &'static str,
    storm: &'static str,
}

const QUICK: Pace = Pace {
    fresh: &["fresh:ext4"],
    files_s: 10.0,
    max_time: Duration::from_secs(2),
    curve: "--iodepth 1,4,16,64 --min-runs 2 --runtime 100ms --max-time 6s --size 256m",
    sync: "--method fdatasync,O_DSYNC --bs 4k --direct 0 --runtime 100ms --max-time 5s",
    overhead: "--ioengine psync,mmap,threads,libaio,io_uring,io_uring_fixed --rw randread \
               --bs 4k,64k --iodepth 1 --overlap 0 --account none --min-runs 3 --max-time 4s",
    storm: "--period 2s --periods 1 --runs 3",
};
const USUAL: Pace = Pace {
    fresh: &["fresh:ext4", "fresh:xfs"],
    files_s: 40.0,
    max_time: Duration::from_secs(5),
    curve: "--min-runs 3 --runtime 150ms --max-time 25s --size 512m",
    sync: "--bs 4k,8k --direct 0 --runtime 100ms --max-time 25s",
    overhead: "--ioengine psync,mmap,threads,libaio,io_uring,io_uring_fixed --rw randread \
               --bs 4k,16k,64k,256k --iodepth 1 --overlap 0 --account none --min-runs 3 \
               --max-time 10s",
    storm: "--period 5s --periods 2 --runs 3",
};
const FULL: Pace = Pace {
    fresh: &["fresh:ext4", "fresh:xfs"],
    files_s: 240.0,
    max_time: Duration::from_secs(30),
    curve: "--min-runs 5 --runtime 500ms --max-time 3m",
    sync: "--min-runs 5 --runtime 200ms --max-time 4m",
    overhead: "--ioengine psync,mmap,threads,libaio,io_uring,io_uring_fixed \
               --rw randread,randwrite --iodepth 1 --overlap 0 --account none --min-runs 5 \
               --max-time 1m",
    storm: "--period 30s --periods 2 --runs 3",
};

/// A whole survey, resolved.
pub(crate) struct ResolvedSurvey {
    pub(crate) files: ResolvedThroughput,
    pub(crate) curve: Rounds<experiment::curve::Plan>,
    pub(crate) sync: Rounds<experiment::sync::Plan>,
    pub(crate) routines: ResolvedOverhead,
    pub(crate) storm: ResolvedStorm,
    /// The directory that was named.
    pub(crate) directory: String,
}

/// The plan: what `--dry-run` prints and run.json keeps. That of the files comes first, as of a
/// throughput run.
#[derive(Debug, Serialize)]
struct Plan<'a> {
    #[serde(flatten)]
    files: &'a experiment::throughput::Plan,
    directory: &'a str,
    curve: &'a experiment::curve::Plan,
    sync: &'a experiment::sync::Plan,
    overhead: &'a experiment::overhead::Plan,
    storm: &'a experiment::storm::Plan,
}

impl Resolved for ResolvedSurvey {
    fn plan(&self) -> serde_json::Result<serde_json::Value> {
        serde_json::to_value(Plan {
            files: &self.files.plan,
            directory: &self.directory,
            curve: &self.curve.plan,
            sync: &self.sync.plan,
            overhead: &self.routines.plan,
            storm: &self.storm.plan,
        })
    }

    fn announcement(&self) -> String {
        let parts: [(&str, &dyn Resolved); 5] = [
            ("files", &self.files),
            ("device", &self.curve),
            ("durable", &self.sync),
            ("calls", &self.routines),
            ("storm", &self.storm),
        ];
        let lines = parts.map(|(name, part)| format!("{name}: {}", part.announcement()));
        lines.join("\n")
    }
}

/// Resolves the options.
/// Errors: a sentence for whatever cannot be done as requested.
pub(crate) fn resolve(options: &SurveyOptions, output: &Path) -> anyhow::Result<ResolvedSurvey> {
    let pace = match (options.quick, options.full) {
        (true, _) => QUICK,
        (_, true) => FULL,
        _ => USUAL,
    };
    let directory = directory(options)?;
    Ok(ResolvedSurvey {
        files: files(options, &pace, &directory, output)?,
        curve: match words(&["curve", &directory], pace.curve)? {
            Command::Curve(mut own) => {
                own.size = options.size.map(|size| size.max(LEAST_BYTES)).or(own.size);
                own.rounds.runs = options.runs.map(|runs| runs.max(2));
                curve::resolve(&own, output)?
            }
            _ => return Err(strange()),
        },
        sync: match words(&["sync", &directory], pace.sync)? {
            Command::Sync(mut own) => {
                own.rounds.runs = options.runs;
                sync::resolve(&own, output)?
            }
            _ => return Err(strange()),
        },
        routines: match words(&["overhead", &directory], pace.overhead)? {
            Command::Overhead(mut own) => {
                own.size = options.size.map_or(own.size, |size| size.min(own.size));
                own.rounds.runs = options.runs.map(|runs| runs.max(2));
                overhead::resolve(&own, output)?
            }
            _ => return Err(strange()),
        },
        storm: match words(&["storm", &directory], pace.storm)? {
            Command::Storm(mut own) => {
                own.runs = options.runs.or(own.runs);
                storm::resolve(&own, output)?
            }
            _ => return Err(strange()),
        },
        directory,
    })
}

/// Random places and large requests need so many.
const LEAST_BYTES: u64 = 64 << 20;

/// A command of those words.
fn words(command: &[&str], options: &str) -> anyhow::Result<Command> {
    let words = ["lbolt"].into_iter().chain(command.iter().copied());
    let parsed = Cli::try_parse_from(words.chain(options.split_whitespace()));
    Ok(parsed.map_err(|error| failure(Fault::Usage, error))?.command)
}

fn strange() -> anyhow::Error {
    failure(Fault::Usage, "a part of the survey is another command")
}

fn directory(options: &SurveyOptions) -> anyhow::Result<String> {
    let directory = options.target.clone().unwrap_or_else(|| ".".to_owned());
    if Path::new(&directory).is_dir() {
        return Ok(directory);
    }
    let sentence = format!(
        "TARGET {directory} is not a directory; name one (`lbolt throughput` also measures \
                 devices)"
    );
    Err(failure(Fault::Usage, sentence))
}

/// Passes of each cell before its rate is looked at; and of a disk that became slower since its
/// speed was requested.
const LEAST_PASSES: u32 = 5;
const FEWEST_PASSES: u32 = 3;
/// What the disk is tried with to learn its speed.
const PROBE_BYTES: u64 = 64 << 20;
/// Four programs and four ceilings of two passes, on each system, and their images.
const PASSES_BESIDE_RUNS: u64 = 4 + 8 + 2;
const SIZE_MIN: u64 = 32 << 20;
const SIZE_MAX: u64 = 512 << 20;

/// The size of a file with which all passes fit into the time: a power of two from 32m to 512m.
fn size_for(directory: &str, runs: u32, pace: &Pace) -> u64 {
    let control = host::drive::Control::default();
    let speed = probe_write_bytes_per_s(Path::new(directory), PROBE_BYTES, &control);
    // A directory that takes no direct writes will say so itself: small files then.
    let budget_bytes = speed.unwrap_or(0.0) * pace.files_s;
    let systems = pace.fresh.len() as u64 + 1;
    let files = systems * (4 * u64::from(runs) + PASSES_BESIDE_RUNS);
    let size = (budget_bytes / files as f64) as u64;
    // The greatest power of two that is not above it.
    (1u64 << size.max(1).ilog2()).clamp(SIZE_MIN, SIZE_MAX)
}

/// The throughput experiment, with targets and sizes chosen.
fn files(
    options: &SurveyOptions,
    pace: &Pace,
    directory: &str,
    output: &Path,
) -> anyhow::Result<ResolvedThroughput> {
    let targets: Vec<&str> =
        ["throughput"].into_iter().chain(pace.fresh.iter().copied()).chain([directory]).collect();
    let Command::Throughput(mut own) = words(&targets, "")? else { return Err(strange()) };
    own.size = Some(options.size.unwrap_or_else(|| match options.dry_run {
        // A dry run writes nothing, so that it cannot know the disk's speed.
        true => SIZE_MIN,
        false => size_for(directory, options.runs.unwrap_or(LEAST_PASSES), pace),
    }));
    let reason = "from the disk's speed and the time of the survey";
    own.size_reason = options.size.is_none().then(|| reason.into());
    own.runs = options.runs;
    own.max_time = Some(options.max_time.unwrap_or(pace.max_time));
    own.fewest = Some(FEWEST_PASSES);
    throughput::resolve(&own, output)
}
