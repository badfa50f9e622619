//! What every experiment on a TARGET can be told besides its workload.

use clap::Args;
use std::path::PathBuf;

/// Permission, seed, and what is printed.
#[derive(Debug, Clone, Args)]
pub struct MeasureOptions {
    /// Allow writes to the block device: repeat its name. Its data is lost.
    #[arg(long, value_name = "TARGET")]
    pub destroy: Option<PathBuf>,
    /// Seed of all random choices.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Print the resolved plan and measure nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Print every table, not only the answer and the main table.
    #[arg(long)]
    pub all: bool,
}
