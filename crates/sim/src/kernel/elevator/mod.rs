//! Schedulers: which of the requests that a queue holds the drive is given next. One is one file.

mod kyber;
mod mq_deadline;

use super::{Bio, Scheduler, Settings};
use kyber::Kyber;
use mq_deadline::MqDeadline;

/// A scheduler.
pub(super) trait Elevator: std::fmt::Debug {
    /// A request comes.
    fn insert(&mut self, bio: Bio, now_ns: u64);

    /// Takes the one that the drive is given next; none where none is held.
    fn dispatch(&mut self, now_ns: u64) -> Option<Bio>;
}

/// The scheduler of the settings; none where requests go as they come.
pub(super) fn of(settings: &Settings) -> Option<Box<dyn Elevator>> {
    match settings.scheduler {
        Scheduler::Nothing => None,
        Scheduler::MqDeadline => Some(Box::new(MqDeadline::new(settings))),
        Scheduler::Kyber => Some(Box::<Kyber>::default()),
    }
}
