//! Until when a capture of `record` runs: its command's end, a time, a signal, or what the flight
//! recorder waits for.

use super::session::POLL;
use super::{Alarm, Devices, Load, Session};
use crate::print::exit::of_records;
use crate::print::output::note;
use host::drive::Control;
use std::time::{Duration, Instant};

/// Why a capture was over.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum End {
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
pub(crate) struct Until<'a> {
    pub(crate) load: &'a mut Load,
    pub(crate) duration: Option<Duration>,
    pub(crate) control: &'a Control,
    pub(crate) alarm: Option<&'a Alarm>,
}

impl Until<'_> {
    /// Captures until something ends it. A command that still runs is left running: see
    /// [`Load::end`].
    /// Errors: a kernel that refuses the capture, or a command that cannot be started: nothing was
    /// captured then.
    pub(crate) fn run(
        &mut self,
        session: &mut Session<'_>,
        devices: &Devices,
    ) -> anyhow::Result<End> {
        if let Some(why) = session.resume(devices).map_err(of_records)? {
            note(&format!(
                "captured by perf, whose events name no requests: they are matched by place, \
                 which is inexact. BPF would be exact, but failed to {why}"
            ));
        }
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

    /// Why it is over, if it is.
    fn end(&mut self, session: &Session<'_>, began: Instant) -> Option<End> {
        if session.is_refused() || self.control.is_stopped() {
            return Some(End::Signal);
        }
        if self.load.is_over() {
            return Some(End::Command);
        }
        if self.duration.is_some_and(|limit| began.elapsed() >= limit) {
            return Some(End::Time);
        }
        self.alarm?.happened().map(End::Trigger)
    }
}
