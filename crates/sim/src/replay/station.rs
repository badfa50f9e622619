//! A drive with the queue of its driver, and what its controller has of it.

use super::machine::ReplayMachine;
use super::outcome::DeviceOutcome;
use crate::drive::Drive;
use crate::queue::{DriverQueue, Position, Waiting};
use std::collections::VecDeque;

/// One device of the trace.
#[derive(Debug)]
pub(super) struct Station {
    pub(super) drive: Box<dyn Drive>,
    /// What waits for the controller.
    pub(super) queue: Box<dyn DriverQueue>,
    /// What the controller has and the drive does not serve yet.
    pub(super) taken: Box<dyn DriverQueue>,
    /// Asynchronous writes that are held back, and until when.
    pub(super) held: VecDeque<Waiting>,
    pub(super) next_release_ns: u64,
    pub(super) serving: Option<Waiting>,
    /// The cylinder of the last that it was given.
    pub(super) cylinder: u32,
    pub(super) outstanding: u64,
    pub(super) outcome: DeviceOutcome,
}

impl Station {
    pub(super) fn new(device: u32, machine: &ReplayMachine) -> Self {
        Self {
            drive: machine.drive.fresh(),
            queue: machine.policy.queue(),
            taken: machine.ordering.queue(),
            held: VecDeque::new(),
            next_release_ns: 0,
            serving: None,
            cylinder: 0,
            outstanding: 0,
            outcome: DeviceOutcome { device, ..DeviceOutcome::default() },
        }
    }

    /// What the controller has of this drive.
    pub(super) fn at_controller(&self) -> usize {
        self.taken.len() + usize::from(self.serving.is_some())
    }

    /// Where a driver takes the arm to be.
    pub(super) fn head(&self, now_ns: u64) -> Position {
        Position { cylinder: self.cylinder, now_ns }
    }
}
