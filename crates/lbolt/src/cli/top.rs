//! The options of `lbolt top`.

use super::{CaptureMethod, OutputOptions, time};
use clap::Args;
use std::time::Duration;

/// `lbolt top`.
#[derive(Debug, Clone, Args)]
pub struct TopOptions {
    /// Device to watch: its name (vda), its node, a partition, or a directory on it; repeatable
    /// [default: all].
    #[arg(short, long = "device", value_name = "DEV", help_heading = "Capture")]
    pub devices: Vec<String>,
    /// How requests are captured. bpf identifies each request exactly; perf needs no BPF, but pairs
    /// completions with requests by sector, which is inexact.
    #[arg(long, value_name = "TRACER", value_enum, default_value_t = CaptureMethod::Auto,
        help_heading = "Capture")]
    pub tracer: CaptureMethod,
    /// Trace durability calls as system calls: adds the end of calls on xfs. Slows every system
    /// call of the machine by 70 to 200 ns.
    #[arg(long, help_heading = "Capture")]
    pub syscalls: bool,
    /// Stop after this time.
    #[arg(long, value_name = "TIME", value_parser = time, help_heading = "Capture")]
    pub duration: Option<Duration>,
    /// The last TIME is written as a run when you press `w`.
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "30s",
        help_heading = "Capture")]
    pub keep: Duration,
    /// Print one screen per second as text, as without a terminal.
    #[arg(long)]
    pub batch: bool,
    /// Where runs go.
    #[command(flatten)]
    pub output: OutputOptions,
}
