//! 4.2BSD's `disksort` (`ufs_disksubr.c` 6.1, 29 July 1983): one list, a one-way elevator by
//! cylinder; requests of one cylinder stay in the order of their arrival. Reads have no priority,
//! whatever Kridle & McKusick's text says.
//!
//! The kernel keeps two ascending lists, one from the active request upwards and one for the next
//! sweep. Since the active request is the one that was served last, taking the first from its
//! cylinder upwards, or else the lowest, is the same order.

use super::sorted::Sorted;
use super::{DriverQueue, Position, Waiting};

/// Upwards by cylinder, then by arrival.
#[derive(Debug, Clone, Default)]
pub struct Disksort(Sorted);

impl DriverQueue for Disksort {
    fn push(&mut self, waiting: Waiting) {
        self.0.insert((waiting.cylinder, waiting.number, 0), waiting);
    }

    fn pop(&mut self, head: Position) -> Option<Waiting> {
        self.0.pop_sweep(head.cylinder)
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}
