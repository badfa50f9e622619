//! A sweep with deadlines: upwards by place, unless the oldest read or the oldest write has waited
//! longer than its limit; then that one. After Linux's `deadline` (`block/deadline-iosched.c`,
//! 2.6), without its batches.

use super::sorted::{SortKey, Sorted, by_block};
use super::{DriverQueue, Position, Waiting};
use std::collections::BTreeMap;

/// How long a request may wait before it goes before all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// A read, ns.
    pub read_ns: u64,
    /// A write, ns.
    pub write_ns: u64,
}

impl Default for Limits {
    /// Linux's: 500 ms and 5 s.
    fn default() -> Self {
        Self { read_ns: 500_000_000, write_ns: 5_000_000_000 }
    }
}

/// Upwards by place, with limits.
#[derive(Debug, Clone, Default)]
pub(super) struct Deadline {
    limits: Limits,
    sorted: Sorted,
    /// Places by the moment of the limit, and the number.
    due: BTreeMap<(u64, u64), SortKey>,
}

impl Deadline {
    /// A queue with these limits.
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    fn due(&self, waiting: &Waiting) -> (u64, u64) {
        let limit_ns = if waiting.is_write { self.limits.write_ns } else { self.limits.read_ns };
        (waiting.arrived_ns.saturating_add(limit_ns), waiting.number)
    }
}

impl DriverQueue for Deadline {
    fn push(&mut self, waiting: Waiting) {
        let place = by_block(&waiting);
        self.due.insert(self.due(&waiting), place);
        self.sorted.insert(place, waiting);
    }

    fn pop(&mut self, head: Position) -> Option<Waiting> {
        let first = self.due.first_key_value();
        let overdue = first.filter(|((due_ns, _), _)| *due_ns < head.now_ns);
        let place = match overdue {
            Some((_, place)) => Some(*place),
            None => self.sorted.sweep(head.cylinder),
        };
        let waiting = place.and_then(|place| self.sorted.remove(place))?;
        self.due.remove(&self.due(&waiting));
        Some(waiting)
    }

    fn len(&self) -> usize {
        self.sorted.len()
    }
}
