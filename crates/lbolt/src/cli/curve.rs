//! The options of `lbolt curve`, and what its help says.

use super::{OutputOptions, RoundsOptions, size, time};
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

const HELP: &str = "\
Closed loops past the page cache, with 1 to 64 requests outstanding: 4 KiB at random places, read,
written, and mixed (70 % reads), and 1 MiB one after the other. As more are outstanding the rate
rises to a ceiling, and behind the knee only the latency rises. The knee is the depth at which rate
over mean latency is greatest.

A block device is only read, unless --destroy names it a second time. In a directory a scratch file
is written, read and overwritten, and is gone at the end.

  lbolt curve .                              the disk beneath this directory
  lbolt curve /dev/sdb                       reads of a device
  lbolt curve /dev/sdb --destroy /dev/sdb    and writes; what it holds is lost
  lbolt curve . --iodepth 1,2,4,8,16 --bs 16k

Exit codes: 0 fine, 1 I/O error, 2 usage, 3 refused by the guard, 6 output not printed, 130
interrupted.";

/// `lbolt curve`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = HELP)]
pub struct CurveOptions {
    /// A directory, a block device, or `fresh:FS[,…]`.
    #[arg(value_name = "TARGET", default_value = ".")]
    pub target: String,
    /// Bytes of a request at random places; a list.
    #[arg(long, value_name = "SIZE", value_delimiter = ',', value_parser = size,
        default_value = "4k", help_heading = "Workload")]
    pub bs: Vec<u64>,
    /// Requests outstanding; a list.
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1,2,4,8,16,32,64",
        value_parser = clap::value_parser!(u32).range(1..=4096), help_heading = "Workload")]
    pub iodepth: Vec<u32>,
    /// Per cent of the mixed requests that read.
    #[arg(long, value_name = "PERCENT", default_value_t = 70,
        value_parser = clap::value_parser!(u8).range(1..=99), help_heading = "Workload")]
    pub rwmixread: u8,
    /// Requests stay within so many bytes, which are written first in a directory [default: 1g, a
    /// quarter of the free space at the most; all of a device].
    #[arg(long, value_parser = size, help_heading = "Workload")]
    pub size: Option<u64>,
    /// Time of a pass; longer where a slow device needs it.
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "200ms",
        help_heading = "Passes")]
    pub runtime: Duration,
    /// How often the depths take turns.
    #[command(flatten)]
    pub rounds: RoundsOptions,
    /// Name the block device a second time, to allow that it is written.
    #[arg(long, value_name = "TARGET")]
    pub destroy: Option<PathBuf>,
    /// The seed of all places.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Print the resolved plan and measure nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Every table, instead of the answer and the main one.
    #[arg(long)]
    pub all: bool,
    /// Where results go.
    #[command(flatten)]
    pub output: OutputOptions,
}
