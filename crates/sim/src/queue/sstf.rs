//! Shortest seek first (Denning 1967): the nearest cylinder, whichever way; of one cylinder the
//! first that came. What is far away may wait long.

use super::sorted::Sorted;
use super::{DriverQueue, Position, Waiting};

/// The nearest cylinder.
#[derive(Debug, Clone, Default)]
pub struct ShortestSeek(Sorted);

impl DriverQueue for ShortestSeek {
    fn push(&mut self, waiting: Waiting) {
        self.0.insert((waiting.cylinder, waiting.number, 0), waiting);
    }

    fn pop(&mut self, head: Position) -> Option<Waiting> {
        let above = self.0.from(head.cylinder);
        // The last below is of the nearest cylinder below; the first of that cylinder came first.
        let below = self.0.below(head.cylinder).and_then(|(cylinder, ..)| self.0.from(cylinder));
        let distance = |place: &(u32, u64, u64)| place.0.abs_diff(head.cylinder);
        let nearest = above.into_iter().chain(below).min_by_key(distance);
        nearest.and_then(|place| self.0.remove(place))
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}
