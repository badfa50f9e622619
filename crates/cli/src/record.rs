//! The options of `lbolt record`.

use super::help::RECORD_HELP;
use super::{CaptureOptions, Condition, OutputOptions, size, time};
use clap::Args;
use std::time::Duration;

/// `lbolt record`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = RECORD_HELP)]
pub struct RecordOptions {
    /// What is captured, and how.
    #[command(flatten)]
    pub capture: CaptureOptions,
    /// Total size of the kernel's event buffers [default: 2m per CPU, at least 16m].
    #[arg(long, value_name = "SIZE", value_parser = ring_size, help_heading = "Capture")]
    pub ring_size: Option<u32>,
    /// Record the kernel and user stacks that queued each request, for `response --by stack` and
    /// for flame graphs (`response --folded`). Costs about 1 µs per request.
    #[arg(long, help_heading = "Capture", conflicts_with = "keep")]
    pub stacks: bool,
    /// Keep only requests that take TIME or longer, from queued to completed. The others are summed
    /// by who asked for them (summed.parquet), most of them in the kernel, which costs less.
    #[arg(long, value_name = "TIME", value_parser = threshold, help_heading = "Capture",
        conflicts_with = "keep")]
    pub slower_than: Option<Duration>,
    /// First compare the request rate with and without the tracer, in interleaved pairs of half a
    /// second.
    #[arg(long, help_heading = "Capture", conflicts_with = "keep")]
    pub measure_overhead: bool,

    /// Flight recorder: keep the requests of the last TIME in memory. When --when holds or on
    /// SIGUSR1, write them and stop.
    #[arg(long, value_name = "TIME", value_parser = time, help_heading = "Flight recorder")]
    pub keep: Option<Duration>,
    /// Condition of the flight recorder, checked over the last second: p99>50ms, max(read)>1s,
    /// p99(fsync)>20ms for 10s, depth>64, wait(dd)>1s (one wait of a thread whose name contains
    /// dd); repeatable, any condition triggers.
    #[arg(long, value_name = "CONDITION", requires = "keep", help_heading = "Flight recorder")]
    pub when: Vec<Condition>,
    /// Continue for TIME after the condition holds, then write.
    #[arg(long, value_name = "TIME", value_parser = time, requires = "keep",
        help_heading = "Flight recorder")]
    pub after: Option<Duration>,
    /// Memory for the kept requests; if it is too small for TIME, the oldest requests are dropped.
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "512m",
        requires = "keep", help_heading = "Flight recorder")]
    pub keep_size: u64,

    /// Print the summary of the requests at the end, instead of the verdict.
    #[arg(long)]
    pub all: bool,
    /// Command to run during the capture, which ends with it. At --duration a command that still
    /// runs is terminated, and killed after 5s.
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
    /// Print the resolved plan and capture nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Where results go.
    #[command(flatten)]
    pub output: OutputOptions,
}

/// Of more, none was meant.
const THRESHOLD_MOST: Duration = Duration::from_secs(100);

/// A response time that separates slow requests from quick ones.
fn threshold(text: &str) -> Result<Duration, String> {
    let fits = Duration::from_micros(1)..=THRESHOLD_MOST;
    let time = Some(time(text)?).filter(|time| fits.contains(time));
    let most_s = THRESHOLD_MOST.as_secs();
    time.ok_or_else(|| format!("\"{text}\" is not a time from 1us to {most_s} s"))
}

/// A size that the kernel's buffers can have.
fn ring_size(text: &str) -> Result<u32, String> {
    let bytes = u32::try_from(size(text)?).ok();
    let fits = bytes.filter(|bytes| (4 << 10..=1 << 30).contains(bytes));
    fits.ok_or_else(|| format!("\"{text}\" is not a size from 4k to 1g"))
}
