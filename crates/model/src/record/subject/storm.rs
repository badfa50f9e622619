//! What a number of the storm experiment is about.

use serde::{Deserialize, Serialize};

/// The name of what is without a remedy, against which remedies are held.
pub const NO_REMEDY: &str = "none";

/// Victims are judged by the mean of this share of their requests, the slowest.
pub const TAIL_SHARE: f64 = 0.05;

/// A stream of requests beside a storm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StormStream {
    /// All reads.
    Read,
    /// Reads that met a sync.
    ReadInSync,
    /// Reads that met none.
    ReadBetween,
    /// Commits: a write and what makes it durable.
    Commit,
    /// The writer who syncs.
    Write,
    /// Reads and commits together.
    Victims,
}
