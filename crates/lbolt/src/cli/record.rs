//! The options of `lbolt record`.

use super::help::RECORD_HELP;
use super::{CaptureMethod, Condition};
use super::{OutputOptions, size, time};
use clap::Args;
use std::time::Duration;

/// `lbolt record`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = RECORD_HELP)]
pub struct RecordOptions {
    /// A device to capture: its name (vda), its node, a partition, or a directory on it; may be
    /// given again [default: all].
    #[arg(short, long = "device", value_name = "DEV", help_heading = "Capture")]
    pub devices: Vec<String>,
    /// End after this time; a command that still runs is then asked to end, and killed after 5s.
    #[arg(long, value_name = "TIME", value_parser = time, help_heading = "Capture")]
    pub duration: Option<Duration>,
    /// How: bpf knows each request by its identity; perf, without BPF, matches completions of
    /// requests by place, inexactly.
    #[arg(long, value_name = "TRACER", value_enum, default_value_t = CaptureMethod::Auto,
        help_heading = "Capture")]
    pub tracer: CaptureMethod,
    /// The kernel's buffers for what is not read yet, of all CPUs together [default: 2m a CPU, at
    /// least 16m].
    #[arg(long, value_name = "SIZE", value_parser = ring_size, help_heading = "Capture")]
    pub ring_size: Option<u32>,
    /// By which functions requests were queued, the kernel's and the program's own, for `response
    /// --by stack` and, for flame graphs, `response --folded`. It costs each request about a
    /// microsecond.
    #[arg(long, help_heading = "Capture", conflicts_with = "keep")]
    pub stacks: bool,
    /// Calls that make files durable by their system calls, too: also sync_file_range, syncfs and
    /// msync, and when calls of xfs end. Every system call of the machine then takes 70 to 200 ns
    /// longer.
    #[arg(long, help_heading = "Capture")]
    pub syscalls: bool,
    /// First compare the rate of requests with the tracer and without it, in interleaved pairs of
    /// half a second.
    #[arg(long, help_heading = "Capture", conflicts_with = "keep")]
    pub measure_overhead: bool,

    /// Flight recorder: keep the requests of the last TIME in memory, write nothing until --when or
    /// SIGUSR1, then write them and end.
    #[arg(long, value_name = "TIME", value_parser = time, help_heading = "Flight recorder")]
    pub keep: Option<Duration>,
    /// What the flight recorder waits for, over what ended in the last second: p99>50ms,
    /// max(read)>1s, p99(fsync)>20ms for 10s, depth>64, wait(dd)>1s (one wait of a thread with this
    /// in its name); may be given again, any of them will do.
    #[arg(long, value_name = "CONDITION", requires = "keep", help_heading = "Flight recorder")]
    pub when: Vec<Condition>,
    /// Then go on for TIME before it is written: what came of it.
    #[arg(long, value_name = "TIME", value_parser = time, requires = "keep",
        help_heading = "Flight recorder")]
    pub after: Option<Duration>,
    /// Memory for what is kept; with less than the time needs, the oldest go first.
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "512m",
        requires = "keep", help_heading = "Flight recorder")]
    pub keep_size: u64,

    /// Print the summary of the requests at the end, instead of the verdict.
    #[arg(long)]
    pub all: bool,
    /// What to run meanwhile; the capture ends with it.
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
    /// Print the resolved plan and capture nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Where results go.
    #[command(flatten)]
    pub output: OutputOptions,
}

/// A size that the kernel's buffers can have.
fn ring_size(text: &str) -> Result<u32, String> {
    let bytes = u32::try_from(size(text)?).ok();
    let fits = bytes.filter(|bytes| (4 << 10..=1 << 30).contains(bytes));
    fits.ok_or_else(|| format!("\"{text}\" is not from 4k to 1g"))
}
