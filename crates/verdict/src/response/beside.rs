//! Traces beside each other, of several machines or of several times: their devices are others, and
//! so are their clocks. What all have in common is summed; a device keeps the times of its own
//! trace. Processes are known by their commands: their numbers mean nothing elsewhere.
//!
//! Non-goals: parts of one trace (`Response::follow`).

use super::classes::Combination;
use super::device::{Device, Times};
use super::processes::Process;
use super::{Response, Totals};
use crate::merge::Merge as _;
use model::record::CommandId;
use std::ops::Range;

impl Response {
    /// When its requests arrived and were completed.
    pub(super) fn times(&self) -> Option<Times> {
        let (from_ns, until_ns) = self.summed_ns.unzip();
        let first_ns = self.first_ns.into_iter().chain(from_ns).min()?;
        let arrived_ns = self.arrived_ns.max(until_ns)?;
        Some(Times { first_ns, arrived_ns, last_ns: self.last_ns.max(Some(arrived_ns))? })
    }

    /// From the first arrival to the last arrival or completion, in ns from the trace's begin; none
    /// of no request.
    pub fn span(&self) -> Option<Range<i64>> {
        self.times().map(|times| times.first_ns..times.last_ns)
    }

    /// The same, of so much time: that of several traces.
    #[must_use]
    pub fn with_span_ns(mut self, span_ns: f64) -> Self {
        self.told_span_ns = Some(span_ns);
        self
    }

    /// Adds a trace to others. `number` is the number here of each of its commands, `device` that
    /// of each of its devices.
    pub fn beside(
        &mut self,
        mut other: Self,
        number: &dyn Fn(CommandId) -> CommandId,
        device: &dyn Fn(u32) -> u32,
    ) {
        self.settle();
        other.settle();
        other.complete();
        self.as_coarse_as(&mut other);
        let times = other.times();
        let Totals { joint, processes, periods, behind } = &mut self.totals;
        joint.merge_as(&other.totals.joint, |c| Combination { device: device(c.device), ..*c });
        let by_command = |process: &Process| Process {
            command: process.command.map(number),
            ..Process::default()
        };
        let places = processes.merge(&other.totals.processes, &by_command);
        periods.merge(other.totals.periods);
        behind.merge(&other.totals.behind);
        for (kind, of, name, traffic) in other.areas.iter() {
            self.areas.add_other((kind, of.map(device), name, traffic));
        }
        self.ticks.merge(other.ticks);
        other.unanswered.end(other.last_ns);
        self.unanswered.merge(other.unanswered);
        self.unsorted += other.unsorted;
        self.reversed += other.reversed;
        for theirs in other.devices.into_all() {
            let mut own = Device { times, ..Device::new(device(theirs.number), None) };
            own.grids.merge(theirs.grids, &places, &mut self.resolution);
            let Device { outstanding, flow, regions, .. } = theirs;
            self.devices.push(Device { outstanding, flow, regions, ..own });
        }
        while self.resolution.is_too_fine() {
            self.widen();
        }
    }
}
