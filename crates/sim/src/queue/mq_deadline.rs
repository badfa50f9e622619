//! mq-deadline (`block/mq-deadline.c`): reads before writes, each in batches in the order of
//! places; writes are passed over a few times, and no request waits for longer than it may. It
//! serves the driver's queue of a replay and the modelled kernel.
//!
//! Non-goals: zones, merging, priorities, `front_merges`, the limit on asynchronous requests
//! (`async_depth`, three quarters of `nr_requests`).

use super::{DriverQueue, Limits, Position, Waiting};
use std::collections::{BTreeMap, VecDeque};

const READ: usize = 0;
const WRITE: usize = 1;

/// Two reads' batches, and then the writes have their turn (`writes_starved`).
const WRITES_STARVED: u32 = 2;
/// Requests of one direction in a row (`fifo_batch`).
const FIFO_BATCH: u32 = 16;

/// What the scheduler looks at.
pub(crate) trait Placed {
    /// Its place, and its number, which no other has.
    fn key(&self) -> (u64, u64);
    /// The first place behind it.
    fn end(&self) -> u64;
    /// Whether it writes.
    fn is_write(&self) -> bool;
}

/// Its tunables.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Batching {
    /// How long a read and a write may be passed over, ns.
    pub(crate) expire_ns: [u64; 2],
    pub(crate) fifo_batch: u32,
    pub(crate) writes_starved: u32,
}

/// Requests of one priority.
#[derive(Debug)]
pub(crate) struct Level<T> {
    /// By place and number; one map for each direction.
    sorted: [BTreeMap<(u64, u64), T>; 2],
    /// In the order of coming: place and number, and until when it may wait.
    fifo: [VecDeque<((u64, u64), u64)>; 2],
    /// Where the last request of each direction ended.
    ends: [u64; 2],
}

impl<T> Default for Level<T> {
    fn default() -> Self {
        Self { sorted: Default::default(), fifo: Default::default(), ends: [0; 2] }
    }
}

impl<T: Placed> Level<T> {
    /// A request comes, that may be passed over for so long.
    pub(crate) fn insert(&mut self, request: T, now_ns: u64, batching: &Batching) {
        let direction = usize::from(request.is_write());
        let key = request.key();
        self.sorted[direction].insert(key, request);
        self.fifo[direction].push_back((key, now_ns.saturating_add(batching.expire_ns[direction])));
    }

    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        self.sorted.iter().map(BTreeMap::len).sum()
    }

    fn has(&self, direction: usize) -> bool {
        !self.sorted[direction].is_empty()
    }

    /// The next behind the last one of that direction; none where that was the last place.
    fn behind(&self, direction: usize) -> Option<(u64, u64)> {
        let from = (self.ends[direction], 0);
        self.sorted[direction].range(from..).next().map(|(key, _)| *key)
    }

    /// The oldest of a direction, and until when it may wait.
    fn oldest(&mut self, direction: usize) -> Option<((u64, u64), u64)> {
        let (sorted, fifo) = (&self.sorted[direction], &mut self.fifo[direction]);
        while fifo.front().is_some_and(|(key, _)| !sorted.contains_key(key)) {
            fifo.pop_front();
        }
        fifo.front().copied()
    }

    fn take(&mut self, direction: usize, key: (u64, u64)) -> Option<T> {
        let request = self.sorted[direction].remove(&key)?;
        self.ends[direction] = request.end();
        Some(request)
    }
}

/// Whose turn it is, over all priorities.
#[derive(Debug)]
pub(crate) struct Turns {
    pub(crate) batching: Batching,
    direction: usize,
    batched: u32,
    starved: u32,
}

impl Turns {
    pub(crate) fn new(batching: Batching) -> Self {
        Self { batching, direction: READ, batched: 0, starved: 0 }
    }

    /// Takes the next of a level (`__dd_dispatch_request`).
    pub(crate) fn take<T: Placed>(&mut self, level: &mut Level<T>, now_ns: u64) -> Option<T> {
        // A batch goes on.
        if self.batched < self.batching.fifo_batch
            && let Some(key) = level.behind(self.direction)
        {
            self.batched += 1;
            return level.take(self.direction, key);
        }
        let direction = match (level.has(READ), level.has(WRITE)) {
            (false, false) => return None,
            (true, false) => READ,
            (false, true) => WRITE,
            (true, true) if self.starved < self.batching.writes_starved => {
                self.starved += 1;
                READ
            }
            (true, true) => WRITE,
        };
        if direction == WRITE {
            self.starved = 0;
        }
        let (oldest, until_ns) = level.oldest(direction)?;
        let key = match level.behind(direction) {
            Some(key) if until_ns > now_ns => key,
            _ => oldest,
        };
        (self.direction, self.batched) = (direction, 1);
        level.take(direction, key)
    }
}

/// The scheduler as a driver's queue.
#[derive(Debug)]
pub(super) struct MqDeadline {
    level: Level<Waiting>,
    turns: Turns,
}

impl MqDeadline {
    /// A queue with these limits, and the kernel's other defaults.
    pub(super) fn new(limits: Limits) -> Self {
        let turns = Turns::new(Batching {
            expire_ns: [limits.read_ns, limits.write_ns],
            fifo_batch: FIFO_BATCH,
            writes_starved: WRITES_STARVED,
        });
        Self { level: Level::default(), turns }
    }
}

impl Placed for Waiting {
    fn key(&self) -> (u64, u64) {
        (self.block, self.number)
    }

    fn end(&self) -> u64 {
        self.block + 1
    }

    fn is_write(&self) -> bool {
        self.is_write
    }
}

impl DriverQueue for MqDeadline {
    fn push(&mut self, waiting: Waiting) {
        self.level.insert(waiting, waiting.arrived_ns, &self.turns.batching);
    }

    fn pop(&mut self, head: Position) -> Option<Waiting> {
        self.turns.take(&mut self.level, head.now_ns)
    }

    fn len(&self) -> usize {
        self.level.len()
    }
}
