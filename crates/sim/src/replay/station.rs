//! A drive with the queue of its driver, and what its controller has of it.

use super::machine::ReplayMachine;
use super::outcome::DeviceOutcome;
use crate::drive::{Capacity, Drive};
use crate::queue::{DriverQueue, Position, Waiting};
use std::collections::VecDeque;

/// One device of the trace.
#[derive(Debug)]
pub(super) struct Station {
    pub(super) drive: Box<dyn Drive>,
    /// The drive's, which do not change.
    pub(super) capacity: Capacity,
    depth: usize,
    /// What waits for the controller.
    queue: Box<dyn DriverQueue>,
    /// Flushes, and writes that ask for one first: no driver sorts them (Linux's `blk-flush.c`
    /// hands them over past the scheduler).
    flushes: VecDeque<Waiting>,
    /// What the controller has and the drive does not serve yet.
    pub(super) taken: Box<dyn DriverQueue>,
    /// Asynchronous writes that are held back, and until when.
    pub(super) held: VecDeque<Waiting>,
    pub(super) next_release_ns: u64,
    /// How many the drive serves, and since when there is any, ns.
    serving: usize,
    busy_since_ns: u64,
    /// The cylinder of the last that it was given.
    pub(super) cylinder: u32,
    pub(super) outstanding: u64,
    pub(super) outcome: DeviceOutcome,
}

impl Station {
    pub(super) fn new(device: u32, machine: &ReplayMachine) -> Self {
        let drive = machine.drive.fresh();
        Self {
            capacity: drive.capacity(),
            depth: drive.depth(),
            drive,
            queue: machine.policy.queue(),
            flushes: VecDeque::new(),
            taken: machine.ordering.queue(),
            held: VecDeque::new(),
            next_release_ns: 0,
            serving: 0,
            busy_since_ns: 0,
            cylinder: 0,
            outstanding: 0,
            outcome: DeviceOutcome { device, ..DeviceOutcome::default() },
        }
    }

    /// What the controller has of this drive.
    pub(super) fn at_controller(&self) -> usize {
        self.taken.len() + self.serving
    }

    /// Where a driver takes the arm to be.
    pub(super) fn head(&self, now_ns: u64) -> Position {
        Position { cylinder: self.cylinder, now_ns }
    }

    /// A request waits for the controller.
    pub(super) fn wait(&mut self, waiting: Waiting, is_flush: bool) {
        match is_flush {
            true => self.flushes.push_back(waiting),
            false => self.queue.push(waiting),
        }
    }

    /// Whether any waits for the controller.
    pub(super) fn is_waited_for(&self) -> bool {
        !self.flushes.is_empty() || !self.queue.is_empty()
    }

    /// The next that the controller is to take.
    pub(super) fn next_waiting(&mut self, now_ns: u64) -> Option<Waiting> {
        match self.flushes.pop_front() {
            // It is sorted as though the arm were there.
            Some(flush) => Some(Waiting { cylinder: self.cylinder, ..flush }),
            None => self.queue.pop(self.head(now_ns)),
        }
    }

    /// The next that the drive is to serve, where it has a place.
    pub(super) fn next_served(&mut self, now_ns: u64) -> Option<Waiting> {
        if self.serving >= self.depth {
            return None;
        }
        let waiting = self.taken.pop(self.head(now_ns))?;
        if self.serving == 0 {
            self.busy_since_ns = now_ns;
        }
        self.serving += 1;
        self.cylinder = waiting.cylinder;
        Some(waiting)
    }

    /// The drive has completed one.
    pub(super) fn complete(&mut self, now_ns: u64) {
        self.serving -= 1;
        self.outstanding -= 1;
        self.outcome.requests += 1;
        if self.serving == 0 {
            self.outcome.busy_ns += now_ns - self.busy_since_ns;
        }
    }
}
