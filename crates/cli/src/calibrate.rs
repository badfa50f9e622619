//! The options of `lbolt calibrate`, and what its help says.

use super::{Format, MeasureOptions, ReadAs, size, time};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use std::path::PathBuf;
use std::time::Duration;

const HELP: &str = "\
Closed loops measure random and sequential requests of several sizes at queue depths 1 to 64, in
rounds over all classes. The fit becomes a profile for `lbolt simulate --model`: service times by
direction and order, bandwidth, their change with queue depth, and the spread of times. Held-out
classes test the fit. Classes that it mispredicts are named in the output and in the profile. If it
predicts no class, no profile is written.

If the kernel reports the disk as rotational, single reads find its geometry: revolution time,
zones, heads, seeks, cache. Otherwise, or if that fails, the device is modelled as a black box.

A device is only read by default. `--destroy DEVICE` allows writes too; its data is lost. In a
directory, lbolt writes a scratch file and removes it at the end.

A trace is fitted by the response times of its requests, by direction, order, size and queue depth.
Every tenth section of the trace is held out to test the fit.

  lbolt calibrate /data -o my.toml                        a mounted disk, with a scratch file
  lbolt calibrate lbolt-runs/… -o my.toml                 a device known only from a trace
  lbolt calibrate /dev/sdb -o my.toml                     reads of a device
  lbolt calibrate /dev/sdb -o my.toml --destroy /dev/sdb  reads and writes
  lbolt calibrate model:atlas10k -o my.toml               a modelled drive: also true values
  lbolt simulate TRACE --model my.toml                    replay a trace on the fitted model";

/// `lbolt calibrate`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = HELP,
    mut_arg("all", |arg| arg.help("Print every class, not only the most important ones")))]
pub struct CalibrateOptions {
    /// A block device; a directory, where a scratch file is written and measured; a modelled device
    /// (model:NAME), whose profile is known; or a trace: a run, its requests.parquet, or the files
    /// of a foreign trace that `lbolt import` can read.
    #[arg(required = true, value_name = "TARGET")]
    pub targets: Vec<PathBuf>,
    /// Profile to write; an existing file is not replaced.
    #[arg(
        short,
        long,
        value_name = "PATH",
        required_unless_present = "dry_run",
        help_heading = "Output"
    )]
    pub output: Option<PathBuf>,
    /// Directory that holds the runs; the calibration is kept there as a run.
    #[arg(
        long,
        value_name = "RUNS",
        default_value = "lbolt-runs",
        env = "LBOLT_RUNS",
        help_heading = "Output"
    )]
    pub runs_dir: PathBuf,
    /// Use only the first SIZE bytes. A scratch file, and a device that is written, is filled first
    /// [default: the whole device; in a directory 4g, at most a quarter of the free space].
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "Passes")]
    pub size: Option<u64>,
    /// A limit from the provider that a short test cannot show: requests_per_s, burst_requests,
    /// bytes_per_s or burst_bytes; repeatable.
    #[arg(long, value_name = "KEY=NUMBER", value_parser = limit, help_heading = "Model")]
    pub limit: Vec<(String, f64)>,
    /// Only this device of the trace [default: the one with the most requests].
    #[arg(long, value_name = "DEV", value_parser = NonEmptyStringValueParser::new(),
        help_heading = "Trace")]
    pub device: Option<String>,
    /// How a foreign trace is read.
    #[command(flatten, next_help_heading = "Trace")]
    pub read_as: ReadAs,
    /// Rounds over all classes: exactly N [default: 18, or as many as fit into 5 minutes, at least
    /// 7; 7 for a model].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(3..=1000),
        help_heading = "Passes")]
    pub runs: Option<u32>,
    /// Time of each pass [default: 60ms, longer on a slow device; 250ms for a model].
    #[arg(long, value_name = "TIME", value_parser = time, help_heading = "Passes")]
    pub runtime: Option<Duration>,
    /// Permission, seed, and what is printed.
    #[command(flatten)]
    pub measure: MeasureOptions,
    /// Format of the results on standard output.
    #[arg(long, value_enum, default_value_t = Format::Table, help_heading = "Output")]
    pub format: Format,
}

/// The keys of a virtual drive's limits.
const LIMITS: [&str; 4] = ["requests_per_s", "burst_requests", "bytes_per_s", "burst_bytes"];

fn limit(text: &str) -> Result<(String, f64), String> {
    let keys = LIMITS.join(", ");
    let wanted = || format!("\"{text}\" is not a limit; write KEY=NUMBER with a KEY of {keys}");
    let (key, number) = text.split_once('=').ok_or_else(wanted)?;
    let number: f64 = number.parse().map_err(|_| wanted())?;
    match LIMITS.contains(&key) && (1.0..=1e15).contains(&number) {
        true => Ok((key.to_owned(), number)),
        false => Err(wanted()),
    }
}
