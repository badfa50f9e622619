//! What a number of the storm experiment is about.

use serde::{Deserialize, Serialize};

/// The name of what is without a remedy, against which remedies are held.
pub const NO_REMEDY: &str = "none";

/// Victims are judged by the mean of this share of their requests, the slowest.
pub const TAIL_SHARE: f64 = 0.05;

/// A remedy that leaves more than this of the victims' tails is not worth it.
pub const GAIN_MOST: f64 = 0.95;
/// A remedy under which the writer reaches less than this of its rate costs too much.
pub const WRITER_LEAST: f64 = 0.9;
/// A recommendation is to hold: of a hundred runs of remedies that do nothing, one recommends one
/// (half of the 2 % that an interval of 98 % leaves).
pub const RECOMMENDED_CONFIDENCE: f64 = 0.98;

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
