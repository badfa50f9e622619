//! mq-deadline (`block/mq-deadline.c`): reads before writes, each in batches in the order of
//! places; writes are passed over a few times, and no request waits for longer than it may.
//! Requests of idle priority come after all others.
//!
//! Non-goals: zones, merging, the ageing of idle requests (10 s), `front_merges`.

use super::Elevator;
use crate::kernel::{Bio, Settings};
use model::record::Op;
use std::collections::{BTreeMap, VecDeque};

const READ: usize = 0;
const WRITE: usize = 1;

/// Requests of one priority.
#[derive(Debug, Default)]
struct Level {
    /// By place and number; one map for each direction.
    sorted: [BTreeMap<(u64, u64), Bio>; 2],
    /// In the order of coming: the place, the number, and until when it may wait.
    fifo: [VecDeque<(u64, u64, u64)>; 2],
    /// Where the last request of each direction ended.
    ends_bytes: [u64; 2],
}

impl Level {
    fn has(&self, direction: usize) -> bool {
        !self.sorted[direction].is_empty()
    }

    /// The next behind the last one of that direction; none where that was the last place.
    fn behind(&self, direction: usize) -> Option<(u64, u64)> {
        let from = (self.ends_bytes[direction], 0);
        self.sorted[direction].range(from..).next().map(|(key, _)| *key)
    }

    /// The oldest of a direction, and until when it may wait.
    fn oldest(&mut self, direction: usize) -> Option<((u64, u64), u64)> {
        let sorted = &self.sorted[direction];
        let fifo = &mut self.fifo[direction];
        while fifo
            .front()
            .is_some_and(|(place, number, _)| !sorted.contains_key(&(*place, *number)))
        {
            fifo.pop_front();
        }
        fifo.front().map(|(place, number, until_ns)| ((*place, *number), *until_ns))
    }

    fn take(&mut self, direction: usize, key: (u64, u64)) -> Option<Bio> {
        let bio = self.sorted[direction].remove(&key)?;
        self.ends_bytes[direction] = bio.offset_bytes + bio.length_bytes;
        Some(bio)
    }
}

/// The scheduler.
#[derive(Debug)]
pub(super) struct MqDeadline {
    /// The usual priority, and idle.
    levels: [Level; 2],
    expire_ns: [u64; 2],
    fifo_batch: u32,
    writes_starved: u32,
    direction: usize,
    batched: u32,
    starved: u32,
}

impl MqDeadline {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            levels: [Level::default(), Level::default()],
            expire_ns: [settings.read_expire_ns, settings.write_expire_ns],
            fifo_batch: settings.fifo_batch,
            writes_starved: settings.writes_starved,
            direction: READ,
            batched: 0,
            starved: 0,
        }
    }

    /// `__dd_dispatch_request`.
    fn of_level(&mut self, level: usize, now_ns: u64) -> Option<Bio> {
        let of = &mut self.levels[level];
        // A batch goes on.
        if self.batched < self.fifo_batch
            && let Some(key) = of.behind(self.direction)
        {
            self.batched += 1;
            return of.take(self.direction, key);
        }
        let direction = match (of.has(READ), of.has(WRITE)) {
            (false, false) => return None,
            (true, false) => READ,
            (false, true) => WRITE,
            (true, true) if self.starved < self.writes_starved => {
                self.starved += 1;
                READ
            }
            (true, true) => WRITE,
        };
        if direction == WRITE {
            self.starved = 0;
        }
        let (oldest, until_ns) = of.oldest(direction)?;
        let key = match of.behind(direction) {
            Some(key) if until_ns > now_ns => key,
            _ => oldest,
        };
        (self.direction, self.batched) = (direction, 1);
        of.take(direction, key)
    }
}

impl Elevator for MqDeadline {
    fn insert(&mut self, bio: Bio, now_ns: u64) {
        let direction = usize::from(bio.kind.operation == Op::Write);
        let level = &mut self.levels[usize::from(bio.kind.is_idle)];
        level.sorted[direction].insert((bio.offset_bytes, bio.number), bio);
        let until_ns = now_ns + self.expire_ns[direction];
        level.fifo[direction].push_back((bio.offset_bytes, bio.number, until_ns));
    }

    fn dispatch(&mut self, now_ns: u64) -> Option<Bio> {
        self.of_level(0, now_ns).or_else(|| self.of_level(1, now_ns))
    }
}
