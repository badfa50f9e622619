//! The options of `lbolt top`.

use super::{CaptureOptions, OutputOptions, time};
use clap::Args;
use std::time::Duration;

/// `lbolt top`.
#[derive(Debug, Clone, Args)]
pub struct TopOptions {
    /// What is captured, and how.
    #[command(flatten)]
    pub capture: CaptureOptions,
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
