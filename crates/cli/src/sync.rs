//! The options of `lbolt sync`.

use super::{OutputOptions, RoundsOptions, fio::zero_or_one, size, time};
use clap::Args;
use clap::builder::PossibleValuesParser;
use experiment::sync::METHODS;
use std::time::Duration;

const HELP: &str = "\
Each method repeatedly writes one block and makes it durable: at the end of a growing file (append)
and over existing blocks (overwrite), with one writer and with several. Each writer has its own
file, so the file system's journal can group the commits.

The rate counts the commits of all writers. The latency covers the write and the sync. A number is
suspect if no flush reached the device, or if the median commit was faster than the medium allows:
2 ms on a rotational disk, 5 µs otherwise.

  lbolt sync .                       every method, 4k, 8k and 64k, 1 and 4 writers
  lbolt sync fresh:xfs --bs 8k       on a fresh file system
  lbolt sync . --bs 8k --numjobs 1 --trace
                                     the phases of a commit: data, flush, commit, flush";

/// `lbolt sync`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = HELP)]
pub struct SyncOptions {
    /// Where to measure: a directory or `fresh:FS[,…]`.
    pub target: String,
    /// Methods to measure [default: all].
    #[arg(long, value_name = "METHOD", value_delimiter = ',', help_heading = "Workload",
        value_parser = PossibleValuesParser::new(METHODS.map(|method| method.name)))]
    pub method: Vec<String>,
    /// Write sizes.
    #[arg(long, value_name = "SIZE", value_delimiter = ',', value_parser = size,
        default_value = "4k,8k,64k", help_heading = "Workload")]
    pub bs: Vec<u64>,
    /// Numbers of concurrent writers, each with its own file.
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1,4",
        value_parser = clap::value_parser!(u32).range(1..=256), help_heading = "Workload")]
    pub numjobs: Vec<u32>,
    /// Through the page cache (0), with O_DIRECT (1), or both.
    #[arg(long, value_name = "0|1", value_delimiter = ',', value_parser = zero_or_one,
        default_value = "0,1", help_heading = "Workload")]
    pub direct: Vec<bool>,
    /// Size of each overwritten file [default: 16m, less if space is short].
    #[arg(long, value_parser = size, help_heading = "Workload")]
    pub size: Option<u64>,
    /// Time of each pass.
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "200ms",
        help_heading = "Passes")]
    pub runtime: Duration,
    /// How often the cells take turns.
    #[command(flatten)]
    pub rounds: RoundsOptions,
    /// Also trace the requests, and show where each commit's time went.
    #[arg(long, help_heading = "Passes")]
    pub trace: bool,
    /// Seed of the order of the cells.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Print the resolved plan and measure nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Where results go.
    #[command(flatten)]
    pub output: OutputOptions,
}
