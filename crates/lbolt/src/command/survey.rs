//! `lbolt survey`: the main job, in under two minutes. A small matrix of the battery (two fresh
//! file systems, and the directory that was named), and the short version of the overhead
//! experiment there.

use super::measure::{Extent, conclude, show};
use super::{note, print_json};
use crate::cli::{Cli, Command, OverheadOptions, SurveyOptions, ThroughputOptions};
use crate::print::exit::{Fault, failure};
use crate::resolve::{self, Resolved};
use crate::run::{self, directory::RunPlace};
use clap::Parser;
use host::subject::probe_write_bytes_per_s;
use std::path::Path;

/// The fresh file systems of the matrix.
const FRESH: &[&str] = &["fresh:ext4", "fresh:xfs"];

/// The overhead experiment's short version: the interfaces that most programs choose between.
const ROUTINES: &str = "--ioengine psync,mmap,threads,libaio,io_uring,io_uring_fixed --rw randread \
                        --bs 4k,16k,64k,256k --iodepth 1 --overlap 0 --account none --runs 3";

/// What is to come, so that nobody takes the survey for the whole.
const LATER: &str = "lbolt overhead measures more interfaces, writes, and computing during \
requests; lbolt record traces each request of a load";

/// Runs the command.
/// Errors: what could not be done, with its exit code.
pub(super) fn run(options: &SurveyOptions) -> anyhow::Result<()> {
    let place = RunPlace::of(&options.output, "survey");
    // Absolute: where the images lie decides which disk is beneath them.
    let output_directory = std::path::absolute(&place)?;
    let directory = directory(options)?;
    let files =
        resolve::throughput::resolve(&as_throughput(options, &directory)?, &output_directory)?;
    let routines =
        resolve::overhead::resolve(&as_overhead(&directory, options.size)?, &output_directory)?;
    if options.dry_run {
        let plan = run::survey::Plan::of(&files, &routines);
        return print_json(&serde_json::to_value(plan)?);
    }
    note(&files.announcement());
    note(&routines.announcement());
    let outcome = run::survey::run(&files, &routines, &place)?;
    let printed = show(&outcome, options.output.format, Extent::Whole);
    note(LATER);
    conclude(&outcome, &options.output, None).and(printed)
}

fn directory(options: &SurveyOptions) -> anyhow::Result<String> {
    let directory = options.target.clone().unwrap_or_else(|| ".".to_owned());
    if Path::new(&directory).is_dir() {
        return Ok(directory);
    }
    let sentence =
        format!("TARGET {directory} is no directory; `lbolt throughput` measures devices too");
    Err(failure(Fault::Usage, sentence))
}

/// The overhead experiment's options on the directory.
fn as_overhead(directory: &str, size: Option<u64>) -> anyhow::Result<OverheadOptions> {
    let words = ["lbolt", "overhead", directory].into_iter().chain(ROUTINES.split_whitespace());
    match Cli::try_parse_from(words).map_err(|e| failure(Fault::Usage, e))?.command {
        Command::Overhead(mut options) => {
            options.size = size.map_or(options.size, |size| size.min(options.size));
            Ok(*options)
        }
        _ => Err(failure(Fault::Usage, "the survey's short version is no overhead run")),
    }
}

/// Passes of each cell before its rate is looked at; and of a disk that became slower since its
/// speed was requested.
const LEAST_PASSES: u32 = 5;
const FEWEST_PASSES: u32 = 3;
/// The time that these passes may take (more of them go on until `--max-time`), and what the disk
/// is tried with to learn its speed.
const BUDGET_SECONDS: f64 = 40.0;
const PROBE_BYTES: u64 = 64 << 20;
/// Four programs and four ceilings of two passes, on each of three systems, and their images.
const PASSES_BESIDE_RUNS: u64 = 4 + 8 + 2;
const SYSTEMS: u64 = 3;
const SIZE_MIN: u64 = 32 << 20;
const SIZE_MAX: u64 = 512 << 20;

/// The size of a file with which all passes fit into the budget: a power of two from 32m to 512m.
fn size_for(directory: &str, runs: u32) -> u64 {
    let control = host::drive::Control::default();
    let speed = probe_write_bytes_per_s(Path::new(directory), PROBE_BYTES, &control);
    // A directory that takes no direct writes will say so itself: small files then.
    let budget_bytes = speed.unwrap_or(0.0) * BUDGET_SECONDS;
    let files = SYSTEMS * (4 * u64::from(runs) + PASSES_BESIDE_RUNS);
    let size = (budget_bytes / files as f64) as u64;
    // The greatest power of two that is not above it.
    (1u64 << size.max(1).ilog2()).clamp(SIZE_MIN, SIZE_MAX)
}

/// The throughput experiment's options, with targets and sizes chosen.
fn as_throughput(options: &SurveyOptions, directory: &str) -> anyhow::Result<ThroughputOptions> {
    let words = ["lbolt", "throughput"].into_iter().chain(FRESH.iter().copied());
    let parsed =
        Cli::try_parse_from(words.chain([directory])).map_err(|e| failure(Fault::Usage, e))?;
    match parsed.command {
        Command::Throughput(mut resolved) => {
            resolved.size = Some(options.size.unwrap_or_else(|| match options.dry_run {
                // A dry run writes nothing, so that it cannot know the disk's speed.
                true => SIZE_MIN,
                false => size_for(directory, options.runs.unwrap_or(LEAST_PASSES)),
            }));
            resolved.size_reason = options
                .size
                .is_none()
                .then(|| "from the disk's speed, for two minutes at most".into());
            resolved.runs = options.runs;
            resolved.max_time = Some(options.max_time);
            resolved.fewest = Some(FEWEST_PASSES);
            Ok(*resolved)
        }
        _ => Err(failure(Fault::Usage, "the survey is no throughput run")),
    }
}
