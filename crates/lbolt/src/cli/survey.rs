//! The options of `lbolt survey`.

use super::{OutputOptions, size, time};
use clap::Args;
use std::time::Duration;

/// `lbolt survey`.
#[derive(Debug, Clone, Args)]
pub struct SurveyOptions {
    /// A directory to measure with the fresh file systems [default: the current one].
    pub target: Option<String>,
    /// Size of each job's file [default: from the disk's speed, so that all takes under two
    /// minutes].
    #[arg(long, value_parser = size, help_heading = "Workload")]
    pub size: Option<u64>,
    /// Passes that count: just so many [default: 5, and more until the rate's 95% interval is
    /// within 10% or --max-time is over].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000),
        help_heading = "Passes")]
    pub runs: Option<u32>,
    /// Begin no more passes of a cell after this time, its rate known or not.
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "5s",
        conflicts_with = "runs", help_heading = "Passes")]
    pub max_time: Duration,
    /// Print the resolved plan and measure nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Where results go.
    #[command(flatten)]
    pub output: OutputOptions,
}
