//! Two queues, and the one of the reads goes first: what Kridle & McKusick 1983 say of UNIX's
//! drivers, and what Johnson, Smith & Wilson 1986 suggest. Each of the two is a one-way elevator.
//! Writes wait as long as reads come.

use super::sorted::{ByPlace, Sorted, by_block};
use super::{DriverQueue, Position, Waiting};

/// Reads upwards by cylinder; without any, writes so.
#[derive(Debug, Clone)]
pub(super) struct ReadsFirst([ByPlace; 2]);

impl Default for ReadsFirst {
    fn default() -> Self {
        Self([(); 2].map(|()| ByPlace::new(by_block, Sorted::sweep)))
    }
}

impl DriverQueue for ReadsFirst {
    fn push(&mut self, waiting: Waiting) {
        self.0[usize::from(waiting.is_write)].push(waiting);
    }

    fn pop(&mut self, head: Position) -> Option<Waiting> {
        self.0.iter_mut().find_map(|queue| queue.pop(head))
    }

    fn len(&self) -> usize {
        self.0.iter().map(ByPlace::len).sum()
    }
}
