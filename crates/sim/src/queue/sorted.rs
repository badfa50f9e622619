//! Requests by their place, and C-SCAN over them: upwards from the arm, then again from the lowest
//! (Seaman, Lind & Wilson 1966; HP-UX's `cscan`).

use super::{DriverQueue, Position, Waiting};
use std::collections::BTreeMap;

/// Cylinder, then what tells requests of one cylinder apart, then the number.
pub(super) type SortKey = (u32, u64, u64);

/// Requests in the order of their places.
#[derive(Debug, Clone, Default)]
pub(super) struct Sorted(BTreeMap<SortKey, Waiting>);

impl Sorted {
    pub(super) fn insert(&mut self, place: SortKey, waiting: Waiting) {
        self.0.insert(place, waiting);
    }

    pub(super) fn remove(&mut self, place: SortKey) -> Option<Waiting> {
        self.0.remove(&place)
    }

    /// The first from a cylinder upwards.
    pub(super) fn from(&self, cylinder: u32) -> Option<SortKey> {
        self.0.range((cylinder, 0, 0)..).next().map(|(place, _)| *place)
    }

    /// The last below a cylinder.
    pub(super) fn below(&self, cylinder: u32) -> Option<SortKey> {
        self.0.range(..(cylinder, 0, 0)).next_back().map(|(place, _)| *place)
    }

    /// The next of a sweep that goes up only.
    pub(super) fn sweep(&self, cylinder: u32) -> Option<SortKey> {
        // Most often one waits, or none.
        if self.0.len() < 2 {
            return self.0.first_key_value().map(|(place, _)| *place);
        }
        self.from(cylinder).or_else(|| self.from(0))
    }

    /// Takes the next of a sweep that goes up only.
    pub(super) fn pop_sweep(&mut self, cylinder: u32) -> Option<Waiting> {
        self.sweep(cylinder).and_then(|place| self.remove(place))
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

/// By the place of a request: requests of one cylinder by their blocks.
pub(super) fn by_block(waiting: &Waiting) -> SortKey {
    (waiting.cylinder, waiting.block, waiting.number)
}

/// Upwards by cylinder and block, then again from the lowest.
#[derive(Debug, Clone, Default)]
pub struct CircularScan(Sorted);

impl DriverQueue for CircularScan {
    fn push(&mut self, waiting: Waiting) {
        self.0.insert(by_block(&waiting), waiting);
    }

    fn pop(&mut self, head: Position) -> Option<Waiting> {
        self.0.pop_sweep(head.cylinder)
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}
