//! kyber (`block/kyber-iosched.c`): reads and writes in queues of their own, by turns: up to 16
//! reads, then up to 8 writes.
//!
//! Non-goals: how many requests of a kind it lets through at once, which it changes by their
//! latency. On a drive that takes a few at once those limits (256 and 128) are never met.

use super::Elevator;
use crate::kernel::Bio;
use model::record::Op;
use std::collections::VecDeque;

/// Requests of a kind in a row (`kyber_batch_size`).
const BATCHES: [u32; 2] = [16, 8];

/// The scheduler.
#[derive(Debug, Default)]
pub(super) struct Kyber {
    queues: [VecDeque<Bio>; 2],
    turn: usize,
    batched: u32,
}

impl Elevator for Kyber {
    fn insert(&mut self, bio: Bio, _: u64) {
        self.queues[usize::from(bio.kind.operation == Op::Write)].push_back(bio);
    }

    fn dispatch(&mut self, _: u64) -> Option<Bio> {
        if self.batched >= BATCHES[self.turn] || self.queues[self.turn].is_empty() {
            (self.turn, self.batched) = ((self.turn + 1) % 2, 0);
            if self.queues[self.turn].is_empty() {
                self.turn = (self.turn + 1) % 2;
            }
        }
        self.batched += 1;
        self.queues[self.turn].pop_front()
    }
}
