//! Who waits for a place in the queue, and who is woken when one is free (`lib/sbitmap.c`,
//! `blk_mq_get_tag`).
//!
//! It is no fair line. Waiters are spread over eight queues by one index, and woken from them by
//! another. Each wait moves the first index by two, so that whoever waits just behind the second
//! one is passed by up to seven times. Of a large queue several are woken at once, when as many
//! places have become free; until then whoever comes takes them.

use super::Bio;
use std::collections::VecDeque;

/// `SBQ_WAIT_QUEUES` and `SBQ_WAKE_BATCH`.
const QUEUES: usize = 8;
const BATCH_MOST: u32 = 8;

/// The waiters.
#[derive(Debug, Default)]
pub(super) struct Line {
    queues: [VecDeque<Bio>; QUEUES],
    wait_index: usize,
    wake_index: usize,
    /// Places that became free since somebody was woken.
    freed: u32,
}

impl Line {
    /// Somebody found no place, and waits.
    pub(super) fn wait(&mut self, bio: Bio) {
        self.queues[self.wait_index].push_back(bio);
        self.wait_index = (self.wait_index + 1) % QUEUES;
    }

    /// One of so many places is free again; adds those that are woken.
    pub(super) fn free(&mut self, places: u32, woken: &mut Vec<Bio>) {
        if self.queues.iter().all(VecDeque::is_empty) {
            return;
        }
        let batch = (places / QUEUES as u32).clamp(1, BATCH_MOST);
        self.freed += 1;
        if self.freed < batch {
            return;
        }
        self.freed -= batch;
        let mut wanted = batch as usize;
        for _ in 0..QUEUES {
            let queue = &mut self.queues[self.wake_index];
            self.wake_index = (self.wake_index + 1) % QUEUES;
            let count = wanted.min(queue.len());
            woken.extend(queue.drain(..count));
            // Each takes a number for its next wait, before it looks for a place.
            self.wait_index = (self.wait_index + count) % QUEUES;
            wanted -= count;
            if wanted == 0 {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Kind;
    use model::record::Op;

    fn bio(number: u64) -> Bio {
        let kind = Kind {
            operation: Op::Read,
            is_sync: true,
            is_background: false,
            is_buffered: false,
            is_idle: false,
        };
        Bio { number, thread: 0, kind, offset_bytes: 0, length_bytes: 4096, file: None }
    }

    fn woken(line: &mut Line, places: u32) -> Vec<u64> {
        let mut woken = Vec::new();
        line.free(places, &mut woken);
        woken.iter().map(|bio| bio.number).collect()
    }

    #[test]
    fn whoever_waits_behind_the_index_is_passed_by() {
        let mut line = Line::default();
        // Two who wait again and again: the second index is soon behind the first one.
        let mut order = Vec::new();
        (0..2).for_each(|number| line.wait(bio(number)));
        for number in 2..40 {
            let first = woken(&mut line, 4);
            order.extend(first);
            line.wait(bio(number));
        }
        let late = order.iter().zip(0..).map(|(number, place)| *number as i64 - place as i64);
        let most = late.clone().max().unwrap();
        assert!(order.len() == 38 && (1..8).contains(&most), "{order:?}");
    }

    #[test]
    fn of_a_large_queue_several_are_woken_when_as_many_places_are_free() {
        let mut line = Line::default();
        assert!(woken(&mut line, 256).is_empty());
        (0..20).for_each(|number| line.wait(bio(number)));
        for _ in 0..7 {
            assert!(woken(&mut line, 256).is_empty());
        }
        assert_eq!(woken(&mut line, 256).len(), 8);
        assert_eq!(woken(&mut line, 4).len(), 1);
    }
}
