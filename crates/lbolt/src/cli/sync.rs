//! The options of `lbolt sync`.

use super::{OutputOptions, RoundsOptions, fio::zero_or_one, size, time};
use clap::Args;
use experiment::sync::METHODS;
use std::time::Duration;

const HELP: &str = "\
Each method writes one block and makes it durable, over and over: at the end of a growing file
(append) and in the place of old blocks (overwrite), with one writer and with several at once, each
in a file of its own, whose commits the file system's journal can make together.

The rate counts commits of all writers. A latency is that of the write and of what makes it durable.
A number is suspect where no flush reached the device, or where half of the commits came back
quicker than such a medium can make anything durable: 2 ms where it turns, 5 µs elsewhere.

  lbolt sync .                       every method, 4k, 8k and 64k, 1 and 4 writers
  lbolt sync fresh:xfs --bs 8k       on a fresh file system of its own
  lbolt sync . --bs 8k --numjobs 1 --trace
                                     where a commit's time went: data, flush, commit, flush";

/// `lbolt sync`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = HELP)]
pub struct SyncOptions {
    /// Where to measure: a directory, or `fresh:FS[,…]`.
    pub target: String,
    /// Only these methods; a list.
    #[arg(
        long,
        value_name = "METHOD",
        value_delimiter = ',',
        value_parser = clap::builder::PossibleValuesParser::new(METHODS.map(|method| method.name)),
        help_heading = "Workload"
    )]
    pub method: Vec<String>,
    /// Bytes a write; a list.
    #[arg(
        long,
        value_name = "SIZE",
        value_delimiter = ',',
        value_parser = size,
        default_value = "4k,8k,64k",
        help_heading = "Workload"
    )]
    pub bs: Vec<u64>,
    /// Writers at once, each with its own file; a list.
    #[arg(
        long,
        value_name = "N",
        value_delimiter = ',',
        value_parser = clap::value_parser!(u32).range(1..=256),
        default_value = "1,4",
        help_heading = "Workload"
    )]
    pub numjobs: Vec<u32>,
    /// Through the page cache (0), past it (1), or both.
    #[arg(
        long,
        value_name = "0|1",
        value_delimiter = ',',
        value_parser = zero_or_one,
        default_value = "0,1",
        help_heading = "Workload"
    )]
    pub direct: Vec<bool>,
    /// Size of each file that is overwritten [default: 16m, less where there is little space].
    #[arg(long, value_parser = size, help_heading = "Workload")]
    pub size: Option<u64>,
    /// Time of each pass.
    #[arg(
        long,
        value_name = "TIME",
        value_parser = time,
        default_value = "200ms",
        help_heading = "Passes"
    )]
    pub runtime: Duration,
    /// How often the cells take turns.
    #[command(flatten)]
    pub rounds: RoundsOptions,
    /// Capture the requests, and say where a commit's time went.
    #[arg(long, help_heading = "Passes")]
    pub trace: bool,
    /// The seed of the order in which the cells take turns.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Print the resolved plan and measure nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Where results go.
    #[command(flatten)]
    pub output: OutputOptions,
}
