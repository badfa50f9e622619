//! mq-deadline in the modelled kernel: that of the drivers' queues ([`crate::queue::mq_deadline`]),
//! with the settings of the machine. Requests of idle priority come after all others.
//!
//! Non-goals: the ageing of idle requests (10 s).

use super::Elevator;
use crate::kernel::{Bio, Settings};
use crate::queue::mq_deadline::{Batching, Level, Placed, Turns};
use model::record::Op;

/// The scheduler.
#[derive(Debug)]
pub(super) struct MqDeadline {
    /// The usual priority, and idle.
    levels: [Level<Bio>; 2],
    turns: Turns,
}

impl MqDeadline {
    pub(super) fn new(settings: &Settings) -> Self {
        let turns = Turns::new(Batching {
            expire_ns: [settings.read_expire_ns, settings.write_expire_ns],
            fifo_batch: settings.fifo_batch,
            writes_starved: settings.writes_starved,
        });
        Self { levels: Default::default(), turns }
    }
}

impl Placed for Bio {
    fn key(&self) -> (u64, u64) {
        (self.offset_bytes, self.number)
    }

    fn end(&self) -> u64 {
        self.offset_bytes + self.length_bytes
    }

    fn is_write(&self) -> bool {
        self.kind.operation == Op::Write
    }
}

impl Elevator for MqDeadline {
    fn insert(&mut self, bio: Bio, now_ns: u64) {
        self.levels[usize::from(bio.kind.is_idle)].insert(bio, now_ns, &self.turns.batching);
    }

    fn dispatch(&mut self, now_ns: u64) -> Option<Bio> {
        let Self { levels, turns } = self;
        levels.iter_mut().find_map(|level| turns.take(level, now_ns))
    }
}
