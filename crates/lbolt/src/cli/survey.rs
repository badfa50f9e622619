//! The options of `lbolt survey`, and what its help says.

use super::{OutputOptions, size, time};
use clap::Args;
use std::time::Duration;

const HELP: &str = "\
Five questions, each by an experiment of its own, which its command asks at length:
  Files    how fast do files move, cold, on which file system?      (lbolt throughput)
  Device   how much can it do: latency against rate to the knee?    (lbolt curve)
  Durable  what does it cost to make data durable?                  (lbolt sync)
  Calls    what does a call cost in CPU time, by interface?         (lbolt overhead)
  Storm    what do reads and commits suffer while somebody syncs?   (lbolt storm)

Fresh file systems need root. Another user gets the same without them, and lbolt says what was left
out. What is interrupted goes on with --resume.";

/// `lbolt survey`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = HELP)]
pub struct SurveyOptions {
    /// A directory to measure with the fresh file systems [default: the current one].
    pub target: Option<String>,
    /// One minute: fewer systems, depths and passes.
    #[arg(long, conflicts_with = "full", help_heading = "Passes")]
    pub quick: bool,
    /// Without haste: a quarter of an hour or more, for narrow intervals.
    #[arg(long, help_heading = "Passes")]
    pub full: bool,
    /// Size of each file of the first question [default: from the disk's speed, so that all takes
    /// under four minutes].
    #[arg(long, value_parser = size, help_heading = "Workload")]
    pub size: Option<u64>,
    /// Passes that count, of every question: exactly N [default: 5 of files and 3 of the others,
    /// and more until the rate's 95% interval is within 10% or their time is over].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000),
        help_heading = "Passes")]
    pub runs: Option<u32>,
    /// Begin no more passes of a cell of the first question after this time, its rate known or not
    /// [default: 5s; 2s with --quick, 30s with --full].
    #[arg(long, value_name = "TIME", value_parser = time, conflicts_with = "runs",
        help_heading = "Passes")]
    pub max_time: Option<Duration>,
    /// Go on with a survey that was interrupted: questions that it has answered are not asked
    /// again, and its records are taken over.
    #[arg(long, value_name = "RUN", help_heading = "Passes")]
    pub resume: Option<String>,
    /// Every table, instead of the five answers.
    #[arg(long)]
    pub all: bool,
    /// Print the resolved plan and measure nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Where results go.
    #[command(flatten)]
    pub output: OutputOptions,
}
