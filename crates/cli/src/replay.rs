//! The options of `lbolt replay`, and what its help says. Names are those of btreplay and fio where
//! they have one: `--acc-factor`, `--iodepth`, `--runtime`.

use super::{Arrivals, OutputOptions, TraceOptions, time};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use std::path::PathBuf;
use std::time::Duration;

/// `lbolt replay`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = REPLAY_HELP)]
pub struct ReplayOptions {
    /// The trace.
    #[command(flatten)]
    pub trace: TraceOptions,
    /// Where to replay: a block device or an existing regular file.
    #[arg(long = "on", required = true, value_name = "TARGET")]
    pub target: PathBuf,
    /// When requests are due.
    #[arg(long, visible_alias = "pace", value_enum, default_value_t = Arrivals::Open,
        help_heading = "Pace")]
    pub arrivals: Arrivals,
    /// Multiple of the trace's rate: arrival times or think times are divided by FACTOR.
    #[arg(long, visible_alias = "acc-factor", value_name = "FACTOR", default_value = "1",
        value_parser = factor, help_heading = "Pace")]
    pub scale: f64,
    /// Only the first TIME of the trace.
    #[arg(long, value_name = "TIME", value_parser = time, help_heading = "Pace")]
    pub runtime: Option<Duration>,
    /// Maximum number of outstanding requests; fewer if their buffers would exceed 256 MiB.
    #[arg(long, value_name = "N", default_value_t = 1024,
        value_parser = clap::value_parser!(u32).range(1..=4096), help_heading = "Pace")]
    pub iodepth: u32,
    /// Only this device of the trace [default: the one with the most requests].
    #[arg(long, value_name = "DEV", value_parser = NonEmptyStringValueParser::new(),
        help_heading = "Requests")]
    pub device: Option<String>,
    /// Take offsets beyond the target's end modulo its size.
    #[arg(long, help_heading = "Requests")]
    pub wrap: bool,
    /// Allow writes to the target: repeat its name. Without it, writes and flushes are left out.
    #[arg(long, value_name = "TARGET", help_heading = "Requests")]
    pub destroy: Option<PathBuf>,
    /// Maximum median lateness of a faithful replay.
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "50us",
        help_heading = "Faithfulness")]
    pub lateness_p50: Duration,
    /// Maximum p99 lateness of a faithful replay.
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "1ms",
        help_heading = "Faithfulness")]
    pub lateness_p99: Duration,
    /// Print every column.
    #[arg(long)]
    pub all: bool,
    /// Where results go.
    #[command(flatten)]
    pub output: OutputOptions,
}

/// A factor of a rate.
fn factor(text: &str) -> Result<f64, String> {
    let factor = text.parse().ok().filter(|f: &f64| (1e-6..=1e6).contains(f));
    factor.ok_or_else(|| format!("\"{text}\" is not a factor from 0.000001 to 1000000"))
}

/// What `replay` does, for `--help`.
const REPLAY_HELP: &str = "\
lbolt replay lbolt-runs/… --on /dev/sdx                    the reads, at their original times
lbolt replay week.srt --on /dev/sdx --destroy /dev/sdx     writes and flushes too
lbolt replay week.srt --on image --wrap --scale 10         at ten times the rate, on a file
lbolt replay lbolt-runs/… --on /dev/sdx --arrivals dependent
                                                           requests wait as they did in the trace

Requests are issued with O_DIRECT through io_uring, each at its scheduled time. The run's records
show the lateness of each request: queued_ns is the due time, issued_ns the submission; response
times count from issued_ns. If requests were too late, the load was not the trace's load: the replay
is called unfaithful, nothing is compared, and the exit code is 5.

From btreplay: -x is --scale, -W is --destroy, -N (no stalls) is --scale 1000000 or --arrivals
closed. From fio: replay_time_scale=200 is --scale 2.";
