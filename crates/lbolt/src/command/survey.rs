//! `lbolt survey`: the main job. A small matrix of the battery that takes under two
//! minutes: two fresh file systems, and the directory that was named.

use super::{note, print, throughput};
use crate::cli::{Cli, Command, SurveyOptions, ThroughputOptions};
use crate::exit::{Fault, failure};
use clap::Parser;
use host::subject::probe_write_bytes_per_s;
use std::path::Path;

/// The fresh file systems of the matrix.
const FRESH: &[&str] = &["fresh:ext4", "fresh:xfs"];

/// What is to come, so that nobody takes the survey for the whole.
const LATER: &str = "later rooms will add to the survey: the CPU cost of a call and of a byte for each I/O \
interface (overhead), and where each request's time went (response)";

/// Runs the command.
///
/// # Errors
/// What could not be done, with its exit code.
pub fn run(options: &SurveyOptions) -> anyhow::Result<()> {
    let resolved = as_throughput(options)?;
    let Some(outcome) = throughput::measure(&resolved, "survey")? else { return Ok(()) };
    print(&throughput::render(&outcome.info, &outcome.findings, options.output.format)?)?;
    note(LATER);
    throughput::conclude(&outcome, None)
}

/// The time that the passes may take, and what the disk is asked for to learn its speed.
const BUDGET_SECONDS: f64 = 60.0;
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

/// A survey is a throughput run with its targets and sizes chosen.
fn as_throughput(options: &SurveyOptions) -> anyhow::Result<ThroughputOptions> {
    let directory = options.target.clone().unwrap_or_else(|| ".".to_owned());
    if !Path::new(&directory).is_dir() {
        let sentence =
            format!("TARGET {directory} is no directory; `lbolt throughput` measures devices too");
        return Err(failure(Fault::Usage, sentence));
    }
    let words = ["lbolt", "throughput"].into_iter().chain(FRESH.iter().copied());
    let parsed = Cli::try_parse_from(words.chain([directory.as_str()]))
        .map_err(|e| failure(Fault::Usage, e))?;
    match parsed.command {
        Command::Throughput(mut resolved) => {
            resolved.size = Some(options.size.unwrap_or_else(|| match options.dry_run {
                // A dry run writes nothing, so that it cannot know the disk's speed.
                true => SIZE_MIN,
                false => size_for(&directory, options.runs),
            }));
            resolved.size_reason = options
                .size
                .is_none()
                .then(|| "from the disk's speed, for two minutes at most".into());
            resolved.runs = Some(options.runs);
            resolved.dry_run = options.dry_run;
            resolved.output = options.output.clone();
            Ok(*resolved)
        }
        _ => Err(failure(Fault::Usage, "the survey is no throughput run")),
    }
}
