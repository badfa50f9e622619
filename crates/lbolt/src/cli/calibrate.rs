//! The options of `lbolt calibrate`, and what its help says.

use super::{Format, size, time};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use std::path::PathBuf;
use std::time::Duration;

const HELP: &str = "\
Requests in closed loops, random and sequential, of several sizes, 1 to 64 outstanding, in rounds
over all classes in turn. What they take becomes a profile for `lbolt simulate --model`: a time by
direction and order, a rate of bytes, how both change with the number outstanding, how times are
spread. Classes that the fit has not seen judge it; those that it does not predict are named, in
the profile too. Where it predicts none, no profile is written.

Where the kernel says that it turns, single reads find what is inside: revolution, zones, heads,
seeks, cache. Else, or where that fails, it is a black box.

It reads only. With --destroy and the device's name it also writes, and what the device holds is
lost. In a directory it writes a file of its own, which goes away at the end.

From a trace it takes what its requests took: by direction, order, size, and how many were
outstanding. Every tenth stretch of the trace judges.

  lbolt calibrate /data -o my.toml                       a mounted disk, by a scratch file
  lbolt calibrate lbolt-runs/… -o my.toml                a device that only a trace is there of
  lbolt calibrate /dev/sdb -o my.toml                    what it is like to read from
  lbolt calibrate /dev/sdb -o my.toml --destroy /dev/sdb and to write to
  lbolt calibrate model:atlas10k -o my.toml              a modelled one: the truth stands beside
  lbolt simulate TRACE --model my.toml                   what a trace would take on it

Exit codes: 0 fine, 1 I/O error, 2 usage, or it cannot be predicted, 3 refused by the guard,
6 output not printed, 130 interrupted.";

/// `lbolt calibrate`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = HELP)]
pub struct CalibrateOptions {
    /// A block device; a directory, in which a scratch file is written and measured; a modelled
    /// device: model:NAME, whose profile is the truth; or a trace: a run, its requests.parquet, or
    /// a foreign trace that `lbolt import` knows (its files).
    #[arg(required = true, value_name = "TARGET")]
    pub targets: Vec<PathBuf>,
    /// The profile that is written; a file of that name is not replaced.
    #[arg(
        short,
        long,
        value_name = "PATH",
        required_unless_present = "dry_run",
        help_heading = "Output"
    )]
    pub output: Option<PathBuf>,
    /// Name the block device a second time, to allow that it is written.
    #[arg(long, value_name = "TARGET")]
    pub destroy: Option<PathBuf>,
    /// Requests stay within so many first bytes; those of a scratch file, and of a device that is
    /// written, are written first [default: 4g of a directory, a quarter of its free space at the
    /// most; all of a device].
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "Passes")]
    pub size: Option<u64>,
    /// A limit that minutes do not show, as its provider gives it: requests_per_s,
    /// burst_requests, bytes_per_s or burst_bytes; may be given again.
    #[arg(long, value_name = "KEY=NUMBER", value_parser = limit, help_heading = "Model")]
    pub limit: Vec<(String, f64)>,
    /// Of a trace, the device with this name [default: the one with the most requests].
    #[arg(long, value_name = "DEV", value_parser = NonEmptyStringValueParser::new(),
        help_heading = "Trace")]
    pub device: Option<String>,
    /// The format of a foreign trace [default: recognized by its first bytes].
    #[arg(long, value_name = "FORMAT", help_heading = "Trace")]
    pub input_format: Option<String>,
    /// Rounds over all classes: exactly N [default: 18, or as many as end within 5 minutes, but 7;
    /// 7 of a model].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(3..=1000),
        help_heading = "Passes")]
    pub runs: Option<u32>,
    /// Time of each pass [default: 60ms, and longer where a slow device needs it; 250ms of
    /// a model].
    #[arg(long, value_name = "TIME", value_parser = time, help_heading = "Passes")]
    pub runtime: Option<Duration>,
    /// The seed of all places and mixes.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Print the resolved plan and measure nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Every class, instead of those that matter most.
    #[arg(long)]
    pub all: bool,
    /// How results are printed to standard output.
    #[arg(long, value_enum, default_value_t = Format::Table, help_heading = "Output")]
    pub format: Format,
}

/// The keys of a virtual drive's limits.
const LIMITS: [&str; 4] = ["requests_per_s", "burst_requests", "bytes_per_s", "burst_bytes"];

fn limit(text: &str) -> Result<(String, f64), String> {
    let wanted = || format!("\"{text}\" is no limit: give KEY=NUMBER, KEY {}", LIMITS.join(", "));
    let (key, number) = text.split_once('=').ok_or_else(wanted)?;
    let number: f64 = number.parse().map_err(|_| wanted())?;
    match LIMITS.contains(&key) && (1.0..=1e15).contains(&number) {
        true => Ok((key.to_owned(), number)),
        false => Err(wanted()),
    }
}
