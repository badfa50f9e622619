//! Two queues, and the one of the reads goes first: what Kridle & McKusick 1983 say of UNIX's
//! drivers, and what Johnson, Smith & Wilson 1986 suggest. Each of the two is a one-way elevator.
//! Writes wait as long as reads come.

use super::sorted::{Sorted, by_block};
use super::{DriverQueue, Position, Waiting};

/// Reads upwards by cylinder; without any, writes so.
#[derive(Debug, Clone, Default)]
pub struct ReadsFirst {
    reads: Sorted,
    writes: Sorted,
}

impl DriverQueue for ReadsFirst {
    fn push(&mut self, waiting: Waiting) {
        let queue = if waiting.is_write { &mut self.writes } else { &mut self.reads };
        queue.insert(by_block(&waiting), waiting);
    }

    fn pop(&mut self, head: Position) -> Option<Waiting> {
        self.reads.pop_sweep(head.cylinder).or_else(|| self.writes.pop_sweep(head.cylinder))
    }

    fn len(&self) -> usize {
        self.reads.len() + self.writes.len()
    }
}
