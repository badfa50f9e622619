//! `lbolt survey`: the main job. A small matrix of the battery that takes under two
//! minutes: two fresh file systems, and the directory that was named.

use super::{note, print, throughput};
use crate::cli::{Cli, Command, SurveyOptions, ThroughputOptions};
use crate::exit::{Fault, failure};
use clap::Parser;

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

/// A survey is a throughput run with its targets and sizes chosen.
fn as_throughput(options: &SurveyOptions) -> anyhow::Result<ThroughputOptions> {
    let directory = options.target.clone().unwrap_or_else(|| ".".to_owned());
    let words = ["lbolt", "throughput"].into_iter().chain(FRESH.iter().copied());
    let parsed = Cli::try_parse_from(words.chain([directory.as_str()]))
        .map_err(|e| failure(Fault::Usage, e))?;
    match parsed.command {
        Command::Throughput(mut resolved) => {
            resolved.size = Some(options.size);
            resolved.runs = Some(options.runs);
            resolved.dry_run = options.dry_run;
            resolved.output = options.output.clone();
            Ok(*resolved)
        }
        _ => Err(failure(Fault::Usage, "the survey is no throughput run")),
    }
}
