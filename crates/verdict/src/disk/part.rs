//! What a wait at a device is made of.
//!
//! Non-goals: how long each part takes (`super::Disk`).

use crate::actors::RoleId;
use model::record::Op;

/// What a request of a role does to others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Act {
    pub(crate) role: RoleId,
    pub(crate) op: Op,
}

/// A part of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Part {
    /// Requests of a role were in flight; of the waiter's own it is his own part.
    Act(Act),
    /// Nothing was in flight at the device.
    Held,
    /// A limit of the waiter's cgroup held it back before it was queued.
    Throttled,
    /// Requests were in flight, no flush, and the device completed none for long.
    Stalled,
}

/// A wait that has ended, or many that are known as a sum.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Waited<C> {
    pub(crate) class: C,
    pub(crate) begin_ns: i64,
    /// How many, and how long together.
    pub(crate) times: (u64, u64),
    /// Whether it is a sum, of whose single waits nothing is known here.
    pub(crate) is_sum: bool,
    /// Their parts in ns, each once, which sum to their time.
    pub(crate) parts: Vec<(PartNumber, f64)>,
}

/// Who holds what somebody waits for: a lock, or a journal.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Holding {
    /// Roles, and how much of it is each one's.
    pub(crate) roles: Vec<(RoleId, f64)>,
    /// Whether they wait meanwhile themselves: then they are in the hands of those whose requests
    /// are in flight.
    pub(crate) have_waited: bool,
}

/// A part of a wait, by its number at its device: [`HELD`], [`STALLED`], [`THROTTLED`], then acts.
pub(crate) type PartNumber = u16;

pub(crate) const HELD: usize = 0;
pub(crate) const STALLED: usize = 1;
pub(crate) const THROTTLED: usize = 2;
pub(super) const ACTS: usize = 3;
/// In a table by act: none of it has come yet.
pub(super) const NO_ACT: PartNumber = 0;
