//! The driver's queue: which of the waiting requests a drive is given next.
//!
//! Each policy answers the same few questions, so that a new one is a row of [`POLICIES`], and a
//! file where it is more than an order of places.
//!
//! Non-goals: what a controller does with several requests that it was given (its own module);
//! merging of neighbours.

mod deadline;
pub(crate) mod mq_deadline;
mod reads_first;
mod sorted;

#[cfg(test)]
mod tests;

pub use deadline::Limits;

use deadline::Deadline;
use mq_deadline::MqDeadline;
use reads_first::ReadsFirst;
use sorted::{ByPlace, Sorted, by_arrival, by_block};
use std::collections::VecDeque;

use crate::profile::{ProfileError, Reader};

/// A request that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    /// Its number; they rise in the order of arrival.
    pub number: u64,
    /// Its first block on the drive.
    pub block: u64,
    /// The cylinder of that block.
    pub cylinder: u32,
    /// Whether it writes.
    pub is_write: bool,
    /// When it came to the queue, ns.
    pub arrived_ns: u64,
}

/// Where the drive is when it is given the next request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Position {
    /// The cylinder of the request before; what a driver takes for the arm's place.
    pub cylinder: u32,
    /// The time, ns.
    pub now_ns: u64,
}

/// An order of service.
pub trait DriverQueue: std::fmt::Debug + Send {
    /// A request comes.
    fn push(&mut self, waiting: Waiting);

    /// Takes the request to serve next; none only where nothing waits.
    fn pop(&mut self, head: Position) -> Option<Waiting>;

    /// How many wait.
    fn len(&self) -> usize;

    /// Whether nothing waits.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// In the order of arrival.
impl DriverQueue for VecDeque<Waiting> {
    fn push(&mut self, waiting: Waiting) {
        self.push_back(waiting);
    }

    fn pop(&mut self, _: Position) -> Option<Waiting> {
        self.pop_front()
    }

    fn len(&self) -> usize {
        Self::len(self)
    }
}

/// What makes an empty queue.
pub type Constructor = fn(Limits) -> Box<dyn DriverQueue>;

/// The policies by the words of the profiles' `queue.policy`.
pub const POLICIES: &[(&str, Constructor)] = &[
    // First come, first served: 4.2BSD's `uda.c`, Linux's `none` and `noop`.
    ("fifo", |_| Box::<VecDeque<Waiting>>::default()),
    // 4.2BSD's `disksort` (`ufs_disksubr.c` 6.1, 29 July 1983): a one-way elevator by cylinder;
    // reads have no priority, whatever Kridle & McKusick's text says. The kernel keeps two
    // ascending lists, one from the active request upwards and one for the next sweep. Since the
    // active request is the one that was served last, taking the first from its cylinder upwards,
    // or else the lowest, is the same order.
    ("disksort", |_| Box::new(ByPlace::new(by_arrival, Sorted::sweep))),
    ("c-scan", |_| Box::new(ByPlace::new(by_block, Sorted::sweep))),
    ("reads-first", |_| Box::<ReadsFirst>::default()),
    // Shortest seek first (Denning 1967). What is far away may wait long.
    ("sstf", |_| Box::new(ByPlace::new(by_arrival, Sorted::nearest))),
    ("deadline", |limits| Box::new(Deadline::new(limits))),
    ("mq-deadline", |limits| Box::new(MqDeadline::new(limits))),
];

/// A policy as a profile chose it: it makes as many queues as there are drives.
#[derive(Debug, Clone, Copy)]
pub struct Policy {
    constructor: Constructor,
    limits: Limits,
}

impl Policy {
    /// Reads `policy`, and `read_limit` and `write_limit` where they are given.
    pub fn read(reader: &Reader) -> Result<Self, ProfileError> {
        Self::read_key(reader, "policy")
    }

    /// As [`Self::read`], with the policy under another key.
    pub fn read_key(reader: &Reader, key: &str) -> Result<Self, ProfileError> {
        let default = Limits::default();
        let limits = Limits {
            read_ns: reader.time_ns_or("read_limit", default.read_ns as f64)? as u64,
            write_ns: reader.time_ns_or("write_limit", default.write_ns as f64)? as u64,
        };
        Ok(Self { constructor: reader.one_of(key, POLICIES)?, limits })
    }

    /// The policy of that name, with the usual limits.
    pub fn named(name: &str) -> Option<Self> {
        let (_, constructor) = POLICIES.iter().find(|(known, _)| *known == name)?;
        Some(Self { constructor: *constructor, limits: Limits::default() })
    }

    /// An empty queue.
    pub fn queue(&self) -> Box<dyn DriverQueue> {
        (self.constructor)(self.limits)
    }
}
