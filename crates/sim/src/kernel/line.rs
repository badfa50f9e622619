//! Who waits for a place in the queue, and who is woken when one is free (`lib/sbitmap.c`,
//! `blk_mq_get_tag`).
//!
//! The kernel spreads waiters over eight queues by one index and wakes them by another; with
//! waiters that come again and again this is a line (a simulation of both indices had the same
//! order). Of a large queue several are woken at once, when as many places have become free; until
//! then whoever comes takes them.

use super::Bio;
use std::collections::VecDeque;

/// `SBQ_WAIT_QUEUES` and `SBQ_WAKE_BATCH`.
const QUEUES: u32 = 8;
const BATCH_MOST: u32 = 8;

/// The waiters.
#[derive(Debug, Default)]
pub(super) struct Line {
    waiting: VecDeque<Bio>,
    /// Places that became free since somebody was woken.
    freed: u32,
}

impl Line {
    /// Somebody found no place, and waits.
    pub(super) fn wait(&mut self, bio: Bio) {
        self.waiting.push_back(bio);
    }

    /// One of so many places is free again; adds those that are woken.
    pub(super) fn free(&mut self, places: u32, woken: &mut Vec<Bio>) {
        if self.waiting.is_empty() {
            return;
        }
        let batch = (places / QUEUES).clamp(1, BATCH_MOST);
        self.freed += 1;
        if self.freed >= batch {
            self.freed -= batch;
            let count = self.waiting.len().min(batch as usize);
            woken.extend(self.waiting.drain(..count));
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
