//! Requests by a key, and the policies that pick the next by where the arm is: one way, C-SCAN
//! (upwards from the arm, then again from the lowest: Seaman, Lind & Wilson 1966; HP-UX's `cscan`)
//! or the nearest.

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
    fn from(&self, cylinder: u32) -> Option<SortKey> {
        self.0.range((cylinder, 0, 0)..).next().map(|(place, _)| *place)
    }

    /// The last below a cylinder.
    fn below(&self, cylinder: u32) -> Option<SortKey> {
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

    /// The nearest cylinder, whichever way; of one cylinder the first.
    pub(super) fn nearest(&self, cylinder: u32) -> Option<SortKey> {
        let above = self.from(cylinder);
        // The last below is of the nearest cylinder below, of which the first is taken.
        let below = self.below(cylinder).and_then(|(nearest, ..)| self.from(nearest));
        let distance = |place: &SortKey| place.0.abs_diff(cylinder);
        above.into_iter().chain(below).min_by_key(distance)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

/// By the place of a request: requests of one cylinder by their blocks.
pub(super) fn by_block(waiting: &Waiting) -> SortKey {
    (waiting.cylinder, waiting.block, waiting.number)
}

/// Requests of one cylinder by their arrival.
pub(super) fn by_arrival(waiting: &Waiting) -> SortKey {
    (waiting.cylinder, waiting.number, 0)
}

/// A queue whose next request depends on the arm's cylinder alone.
#[derive(Debug, Clone)]
pub(super) struct ByPlace {
    key: fn(&Waiting) -> SortKey,
    next: fn(&Sorted, u32) -> Option<SortKey>,
    /// The one that waits by itself, as most do: it is next wherever the arm is.
    alone: Option<Waiting>,
    sorted: Sorted,
}

impl ByPlace {
    /// In the order of that key, by that way of picking.
    pub(super) fn new(
        key: fn(&Waiting) -> SortKey,
        next: fn(&Sorted, u32) -> Option<SortKey>,
    ) -> Self {
        Self { key, next, alone: None, sorted: Sorted::default() }
    }
}

impl DriverQueue for ByPlace {
    fn push(&mut self, waiting: Waiting) {
        if self.is_empty() {
            self.alone = Some(waiting);
            return;
        }
        for waiting in self.alone.take().into_iter().chain([waiting]) {
            self.sorted.insert((self.key)(&waiting), waiting);
        }
    }

    fn pop(&mut self, head: Position) -> Option<Waiting> {
        let sorted = || {
            let place = (self.next)(&self.sorted, head.cylinder)?;
            self.sorted.remove(place)
        };
        self.alone.take().or_else(sorted)
    }

    fn len(&self) -> usize {
        self.sorted.len() + usize::from(self.alone.is_some())
    }
}
