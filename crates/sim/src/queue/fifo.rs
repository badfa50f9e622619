//! First come, first served: 4.2BSD's `uda.c`, Linux's `none` and `noop`.

use super::{DriverQueue, Position, Waiting};
use std::collections::VecDeque;

/// In the order of arrival.
#[derive(Debug, Clone, Default)]
pub struct Fifo {
    waiting: VecDeque<Waiting>,
}

impl DriverQueue for Fifo {
    fn push(&mut self, waiting: Waiting) {
        self.waiting.push_back(waiting);
    }

    fn pop(&mut self, _: Position) -> Option<Waiting> {
        self.waiting.pop_front()
    }

    fn len(&self) -> usize {
        self.waiting.len()
    }
}
