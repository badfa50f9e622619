//! The experiments, as their samples name them.

use crate::named::named;
use serde::{Deserialize, Serialize};

named! {
    /// By which experiment a pass was run.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Experiment {
        /// Programs through a file system.
        #[default]
        Throughput = "throughput",
        /// Rate and CPU time of I/O routines.
        Overhead = "overhead",
        /// What it costs to make a write durable.
        Sync = "sync",
        /// What reads and commits suffer while somebody syncs.
        Storm = "storm",
        /// Latency against rate.
        Curve = "curve",
    }
}
