//! The options of `lbolt top`.

use super::{CaptureMethod, OutputOptions, time};
use clap::Args;
use std::time::Duration;

/// `lbolt top`.
#[derive(Debug, Clone, Args)]
pub struct TopOptions {
    /// A device to watch: its name (vda), its node, a partition, or a directory on it; may be given
    /// again [default: all].
    #[arg(short, long = "device", value_name = "DEV", help_heading = "Capture")]
    pub devices: Vec<String>,
    /// How: bpf knows each request by its identity; perf, without BPF, matches completions of
    /// requests by place, inexactly.
    #[arg(long, value_name = "TRACER", value_enum, default_value_t = CaptureMethod::Auto,
        help_heading = "Capture")]
    pub tracer: CaptureMethod,
    /// Calls that make files durable by their system calls, too: also when calls of xfs end. Every
    /// system call of the machine then takes 70 to 200 ns longer.
    #[arg(long, help_heading = "Capture")]
    pub syscalls: bool,
    /// End after this time.
    #[arg(long, value_name = "TIME", value_parser = time, help_heading = "Capture")]
    pub duration: Option<Duration>,
    /// How many of the last seconds `w` writes as a run.
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "30s",
        help_heading = "Capture")]
    pub keep: Duration,
    /// Print a screen a second as text, as without a terminal.
    #[arg(long)]
    pub batch: bool,
    /// Where runs go.
    #[command(flatten)]
    pub output: OutputOptions,
}
