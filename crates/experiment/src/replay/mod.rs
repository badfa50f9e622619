//! A trace's requests made again: when each is due, and the job that makes them.
//!
//! A request is due at a moment of its own or so long after something of another (its coming, its
//! completion). Moments are absolute from the replay's start, so that what comes late makes nothing
//! behind it late: fio counts from the last issue, and its error adds up (iolog.c; issues 772 and
//! 1540). Who waited for whom is inferred from think times, after Haghdoost et al., "hfplayer"
//! (FAST 2017), as `sim::replay` does it.
//!
//! Non-goals: reading traces, what a target may be written (crates `trace`, `host`), findings.

mod blocked;
mod follow;
mod job;
#[cfg(test)]
mod tests;

pub use follow::{FollowError, Followed, THINK_MAX_NS, closed, dependent, open};
pub use job::{Replay, Times};

use model::seam::Operation;

/// A request as it is to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Planned {
    /// Its number in the trace.
    pub request_id: u64,
    /// Read, write or make durable.
    pub operation: Operation,
    /// Its place on the target, bytes.
    pub offset_bytes: u64,
    /// Its length, bytes.
    pub length_bytes: u32,
    /// When it is due.
    pub due: Due,
}

/// When a request is due. Times are ns from the replay's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// Then.
    At(u64),
    /// After something of an earlier request.
    After {
        /// The place of that request among all.
        request: u32,
        /// What of it.
        of: Happened,
        /// So long after it.
        think_ns: u64,
        /// And not before then.
        not_before_ns: u64,
    },
}

/// What others come after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Happened {
    /// It was due.
    Came,
    /// It was completed.
    Completed,
}
