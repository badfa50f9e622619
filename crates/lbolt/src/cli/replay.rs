//! The options of `lbolt replay`, and what its help says. Names are those of btreplay and fio where
//! they have one: `--acc-factor`, `--iodepth`, `--runtime`.

use super::{Arrivals, OutputOptions, time};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use std::path::PathBuf;
use std::time::Duration;

/// `lbolt replay`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = REPLAY_HELP)]
pub struct ReplayOptions {
    /// A run, its requests.parquet, or a foreign trace that `lbolt import` knows (its files).
    #[arg(required = true, value_name = "TRACE")]
    pub traces: Vec<PathBuf>,
    /// Where the requests are made: a block device, or a regular file that is there.
    #[arg(long = "on", required = true, value_name = "TARGET")]
    pub target: PathBuf,
    /// The format of a foreign trace [default: recognized by its first bytes].
    #[arg(long, value_name = "FORMAT")]
    pub input_format: Option<String>,
    /// When requests are due.
    #[arg(long, visible_alias = "pace", value_enum, default_value_t = Arrivals::Open,
        help_heading = "Pace")]
    pub arrivals: Arrivals,
    /// So many times the trace's rate: its times, or its think times, are divided by it.
    #[arg(long, visible_alias = "acc-factor", value_name = "FACTOR", default_value = "1",
        value_parser = factor, help_heading = "Pace")]
    pub scale: f64,
    /// Only what came in the trace's first TIME.
    #[arg(long, value_name = "TIME", value_parser = time, help_heading = "Pace")]
    pub runtime: Option<Duration>,
    /// At most so many requests outstanding; less where their buffers would exceed 256 MiB.
    #[arg(long, value_name = "N", default_value_t = 1024,
        value_parser = clap::value_parser!(u32).range(1..=4096), help_heading = "Pace")]
    pub iodepth: u32,
    /// Only the device with this name in the trace [default: the one with the most requests].
    #[arg(long, value_name = "DEV", value_parser = NonEmptyStringValueParser::new(),
        help_heading = "Requests")]
    pub device: Option<String>,
    /// Places beyond the target's end are taken modulo its size.
    #[arg(long, help_heading = "Requests")]
    pub wrap: bool,
    /// Name the target a second time, to allow that it is written: without it writes and flushes
    /// are left out.
    #[arg(long, value_name = "TARGET", help_heading = "Requests")]
    pub destroy: Option<PathBuf>,
    /// How late half of the requests may be in a faithful replay.
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "50us",
        help_heading = "Faithfulness")]
    pub lateness_p50: Duration,
    /// How late 99 % of them may be.
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "1ms",
        help_heading = "Faithfulness")]
    pub lateness_p99: Duration,
    /// Every column.
    #[arg(long)]
    pub all: bool,
    /// Where results go.
    #[command(flatten)]
    pub output: OutputOptions,
}

/// A factor of a rate.
fn factor(text: &str) -> Result<f64, String> {
    let factor = text.parse().ok().filter(|f: &f64| (1e-6..=1e6).contains(f));
    factor.ok_or_else(|| format!("\"{text}\" is no factor from 0.000001 to 1000000"))
}

/// What `replay` does, for `--help`.
const REPLAY_HELP: &str = "\
lbolt replay lbolt-runs/… --on /dev/sdx                    the reads, at their times
lbolt replay week.srt --on /dev/sdx --destroy /dev/sdx     the writes and flushes too
lbolt replay week.srt --on image --wrap --scale 10         ten times the rate, on a file
lbolt replay lbolt-runs/… --on /dev/sdx --arrivals dependent
                                                           who waited in the trace waits here

Requests are made past the page cache (O_DIRECT) by io_uring, each at its moment from the replay's \
start. How late each one was is in the run's records: queued_ns is when it was due, issued_ns when \
it was handed over, and a response counts from there. A replay whose requests were late is \
another load than the trace's: it is called unfaithful, nothing is compared, and the exit code is \
5.

Those who know btreplay: -x is --scale, -W is --destroy, -N (no stalls) is --scale 1000000 or \
--arrivals closed. Those who know fio: replay_time_scale=200 is --scale 2.

Exit codes: 0 fine, 1 I/O error, 2 usage, 3 refused by the guard, 5 unfaithful, 6 output not \
printed, 130 interrupted.";
