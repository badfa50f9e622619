//! The driver's queue: which of the waiting requests a drive is given next.
//!
//! One policy a file. Each answers the same few questions, so that a new one is a file and a row of
//! [`POLICIES`].
//!
//! Non-goals: what a controller does with several requests that it was given (its own module);
//! merging of neighbours.

mod deadline;
mod disksort;
mod fifo;
pub(crate) mod mq_deadline;
mod reads_first;
mod sorted;
mod sstf;

#[cfg(test)]
mod tests;

pub use deadline::{Deadline, Limits};
pub use disksort::Disksort;
pub use fifo::Fifo;
pub use mq_deadline::MqDeadline;
pub use reads_first::ReadsFirst;
pub use sorted::CircularScan;
pub use sstf::ShortestSeek;

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

/// What makes an empty queue.
pub type Constructor = fn(Limits) -> Box<dyn DriverQueue>;

/// The policies by the words of the profiles' `queue.policy`.
pub const POLICIES: &[(&str, Constructor)] = &[
    ("fifo", |_| Box::<Fifo>::default()),
    ("disksort", |_| Box::<Disksort>::default()),
    ("c-scan", |_| Box::<CircularScan>::default()),
    ("reads-first", |_| Box::<ReadsFirst>::default()),
    ("sstf", |_| Box::<ShortestSeek>::default()),
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
