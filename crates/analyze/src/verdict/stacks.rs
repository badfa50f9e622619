//! Requests by the functions by which they were queued, where stacks were captured.
//!
//! Non-goals: names of functions (the trace's context has them).

use super::actors::RoleId;
use hashbrown::HashMap;
use model::record::{Flags, Request, Stacks};

/// Ways that are known one by one; the first ones are.
const MOST: usize = 100_000;

/// Who queued requests, where to, and by which functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Way {
    pub(crate) device: u32,
    pub(crate) role: RoleId,
    pub(crate) stacks: Stacks,
}

/// What was queued that way.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Queued {
    pub(crate) requests: u64,
    pub(crate) bytes: u64,
    pub(crate) response_ns: i64,
}

impl Queued {
    pub(crate) fn merge(&mut self, other: &Self) {
        self.requests += other.requests;
        self.bytes += other.bytes;
        self.response_ns += other.response_ns;
    }
}

#[derive(Debug, Default)]
pub(crate) struct Ways(HashMap<Way, Queued>);

impl Ways {
    /// Adds a request that is not lbolt's own, and took from one moment to the other.
    pub(crate) fn add(&mut self, row: &Request, role: RoleId, (begin_ns, end_ns): (i64, i64)) {
        if row.stacks == Stacks::default() || row.flags.contains(Flags::OWN) {
            return;
        }
        let way = Way { device: row.device, role, stacks: row.stacks };
        if self.0.len() < MOST || self.0.contains_key(&way) {
            let (bytes, response_ns) = (u64::from(row.length_bytes), end_ns - begin_ns);
            self.0.entry(way).or_default().merge(&Queued { requests: 1, bytes, response_ns });
        }
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = (&Way, &Queued)> {
        self.0.iter()
    }
}
