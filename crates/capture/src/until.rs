//! Until when a capture of `record` runs: its command's end, a time, a signal, or what the flight
//! recorder waits for.

use super::session::POLL;
use super::{Alarm, Devices, Live, Session};
use crate::load::Load;
use host::drive::Control;
use messages::fault::of_records;
use messages::output::note;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Why a capture was over.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    /// The command ended.
    Command,
    /// The time was over.
    Time,
    /// A signal.
    Signal,
    /// What the flight recorder was waiting for.
    Trigger(String),
}

/// What may end a capture.
pub struct Until<'a> {
    /// The command that runs meanwhile.
    pub load: &'a mut Load,
    /// The longest time.
    pub duration: Option<Duration>,
    /// By which the user stops it.
    pub control: &'a Control,
    /// What the flight recorder waits for.
    pub alarm: Option<&'a Alarm>,
    /// How long it goes on when the alarm has gone off, and since when it has.
    pub after: Duration,
    /// When the alarm went off.
    pub went_off: Option<Instant>,
    /// Called when it is in the kernel.
    pub begun: &'a dyn Fn(),
    /// Where what the alarm waits for is shown.
    pub live: Arc<Live>,
}

impl Until<'_> {
    /// Captures until something ends it. A command that still runs is left running: see
    /// [`Load::end`].
    /// Errors: a kernel that refuses the capture, or a command that cannot be started: nothing was
    /// captured then.
    pub fn run(&mut self, session: &mut Session<'_>, devices: &Devices) -> anyhow::Result<End> {
        let limits = session.resume(devices).map_err(of_records)?;
        limits.sentences().for_each(|sentence| note(&sentence));
        (self.begun)();
        session.aside(|_| self.load.begin())?;
        let began = Instant::now();
        Ok(session.run(|session| {
            let end = self.end(session, began);
            if end.is_none() {
                std::thread::sleep(POLL);
            }
            end
        }))
    }

    /// Why it is over, if it is. Whatever ends it when the alarm has gone off: that is why.
    fn end(&mut self, session: &Session<'_>, began: Instant) -> Option<End> {
        let why = self.alarm.and_then(|alarm| alarm.at(session));
        if let (Some(alarm), Ok(mut condition)) = (self.alarm, self.live.condition.try_lock()) {
            *condition = alarm.describe();
        }
        let ended = self.ended(session, began);
        let Some(why) = why else { return ended };
        let went_off = *self.went_off.get_or_insert_with(Instant::now);
        let is_over = ended.is_some() || went_off.elapsed() >= self.after;
        is_over.then_some(End::Trigger(why))
    }

    fn ended(&mut self, session: &Session<'_>, began: Instant) -> Option<End> {
        if session.is_refused() || self.control.is_stopped() {
            return Some(End::Signal);
        }
        if self.load.is_over() {
            return Some(End::Command);
        }
        let is_over = self.duration.is_some_and(|limit| began.elapsed() >= limit);
        is_over.then_some(End::Time)
    }
}
