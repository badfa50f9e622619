//! The experiments, as their samples name them.

use crate::named::named;
use serde::{Deserialize, Serialize};

/// By which experiment a pass was run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Experiment {
    /// Programs through a file system.
    #[default]
    Throughput,
    /// Rate and CPU time of I/O routines.
    Overhead,
    /// What it costs to make a write durable.
    Sync,
    /// What reads and commits suffer while somebody syncs.
    Storm,
    /// Latency against rate.
    Curve,
}

named!(Experiment {
    Throughput "throughput",
    Overhead "overhead",
    Sync "sync",
    Storm "storm",
    Curve "curve",
});
