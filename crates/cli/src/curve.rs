//! The options of `lbolt curve`, and what its help says.

use super::{MeasureOptions, OutputOptions, RoundsOptions, size, time};
use clap::Args;
use std::time::Duration;

const HELP: &str = "\
Closed loops with O_DIRECT at queue depths 1 to 64: 4 KiB random reads, writes and a mix (70 %
reads), and 1 MiB sequential requests. As the queue depth grows, the rate rises to a maximum; beyond
the knee only latency rises. The knee is the queue depth with the greatest ratio of rate to mean
latency.

A block device is only read, unless --destroy repeats its name. In a directory, a scratch file is
written, read, overwritten, and removed at the end.

  lbolt curve .                              the disk beneath this directory
  lbolt curve /dev/sdb                       reads of a device
  lbolt curve /dev/sdb --destroy /dev/sdb    reads and writes; its data is lost
  lbolt curve . --iodepth 1,2,4,8,16 --bs 16k";

/// `lbolt curve`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = HELP)]
pub struct CurveOptions {
    /// A directory, a block device, or `fresh:FS[,…]`.
    #[arg(value_name = "TARGET", default_value = ".")]
    pub target: String,
    /// Size of random requests; a list makes one curve per size.
    #[arg(long, value_name = "SIZE", value_delimiter = ',', value_parser = size,
        default_value = "4k", help_heading = "Workload")]
    pub bs: Vec<u64>,
    /// Queue depths to measure; sequential requests at those up to 64 [default: 1,2,4,8,16,32,64;
    /// 1,4,8 for sequential requests].
    #[arg(long, value_name = "N", value_delimiter = ',',
        value_parser = clap::value_parser!(u32).range(1..=4096), help_heading = "Workload")]
    pub iodepth: Vec<u32>,
    /// Depths of random requests that a survey chooses, where nobody requested any.
    #[arg(skip)]
    pub usual_iodepth: Option<Vec<u32>>,
    /// Percentage of reads in the mixed curve.
    #[arg(long, value_name = "PERCENT", default_value_t = 70,
        value_parser = clap::value_parser!(u8).range(1..=99), help_heading = "Workload")]
    pub rwmixread: u8,
    /// Use only the first SIZE bytes; in a directory they are written first [default: the whole
    /// device; in a directory 1g, at most a quarter of the free space].
    #[arg(long, value_parser = size, help_heading = "Workload")]
    pub size: Option<u64>,
    /// Time of each pass, longer on a slow device.
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "200ms",
        help_heading = "Passes")]
    pub runtime: Duration,
    /// How often the depths take turns.
    #[command(flatten)]
    pub rounds: RoundsOptions,
    /// Permission, seed, and what is printed.
    #[command(flatten)]
    pub measure: MeasureOptions,
    /// Where results go.
    #[command(flatten)]
    pub output: OutputOptions,
}
