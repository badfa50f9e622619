//! The response-time analysis: what Johnson, Smith & Wilson (1986, section 3) drew by hand, in one
//! pass over the rows in their order of arrival, in memory that grows with the devices and with
//! what is outstanding, not with the rows.
//!
//! Their figures are classes of requests here ([`classes`]): by drive, by size, by direction, by
//! origin (their block against raw interface), by block region and by start time ([`slices`]), and
//! their conclusion is one more: reads by the writes that they found outstanding ([`outstanding`]).
//! Rows that lbolt itself made are left out.
//!
//! A trace may be analysed by contiguous parts at once: a part begins with what is outstanding at
//! its shard boundary ([`InFlight`]), and [`Response::follow`] makes of two that follow each other
//! what one pass over both would have found.
//!
//! Several traces are put beside each other ([`Response::beside`]).
//!
//! Non-goals: other traces to compare with.

mod areas;
mod beside;
mod boxes;
mod classes;
mod device;
mod doubts;
mod findings;
mod flow;
mod groups;
mod line;
mod names;
mod outstanding;
pub mod over_time;
mod processes;
mod recent;
mod slices;
pub mod sql;
mod storms;
mod summed;
mod taken;
mod ticks;
mod unanswered;

use crate::density::Density;
use crate::merge::Merge as _;
use crate::requests::sequences::{Sequences, is_sequence};
use crate::requests::{ByClass, Share, Tally};
pub use areas::AreaMaps;
use areas::Areas;
pub(crate) use classes::Combination;
use device::{Device, Devices};
pub use doubts::doubt;
use groups::{Groups, Key};
use model::record::{CommandId, Flags, Op, Request};
pub use names::Names;
use outstanding::{Classes, Kind};
use over_time::OverTime;
use processes::{Process, Processes};
use slices::Slices;
use std::collections::HashSet;
use storms::Resolution;
pub use storms::StormSpan;
pub(crate) use storms::period;
use taken::Taken;
pub use ticks::TickCount;
use ticks::Ticks;
use unanswered::Unanswered;

/// Slices of the trace's span, at the most, and the width that they begin with: doubled nine times,
/// it is a second.
const PERIODS: usize = 32;
const PERIOD_NS: u64 = 1_953_125;

/// Rows that are taken at once, one question after the other: each is a short loop over rows and
/// tables that stay in the core's own caches.
const BATCH: usize = 32;

/// What is outstanding at a shard boundary: requests that arrived before it and are completed after
/// it.
#[derive(Debug, Default)]
pub struct InFlight {
    begin_ns: i64,
    outstanding: Vec<(u32, i64, Kind)>,
    /// Flush sequences among them: parts of these come after the shard boundary.
    sequences: HashSet<u64>,
}

impl InFlight {
    /// Of a part whose first row arrives at that time.
    pub fn new(begin_ns: i64) -> Self {
        Self { begin_ns, ..Self::default() }
    }

    /// A row that arrived before the part; whether it matters is found out here.
    #[inline]
    pub fn add(&mut self, row: &Request) {
        let is_counted = row.parent_id.is_none() && !row.flags.contains(Flags::OWN);
        if let Some(until_ns) = row.completed_ns.filter(|ns| *ns > self.begin_ns && is_counted) {
            self.outstanding.push((row.device, until_ns, Kind::of(row)));
            if is_sequence(row) {
                self.sequences.insert(row.request_id);
            }
        }
    }
}

/// What rows are classed by, but for their place: what the groups are settled into.
#[derive(Debug)]
struct Totals {
    joint: ByClass<Combination>,
    processes: Processes,
    periods: Slices,
    behind: Classes,
}

impl Default for Totals {
    fn default() -> Self {
        Self {
            joint: ByClass::default(),
            processes: Processes::default(),
            periods: Slices::new(PERIOD_NS, PERIODS),
            behind: Classes::default(),
        }
    }
}

impl Totals {
    fn settle(&mut self, key: &Key, tally: &Tally) {
        self.joint.of(key.combination).settle(tally);
        // Of all devices together each request counts once, at the top of its stack.
        if key.combination.is_beneath {
            return;
        }
        if let Some(period) = key.period {
            self.periods.settle_into(period.into(), tally);
        }
        if let Some(found) = key.found {
            self.behind.settle(found, tally);
        }
    }
}

/// What the rows so far say of response times.
#[derive(Debug, Default)]
pub struct Response {
    /// Rows that were added and not taken yet.
    pending: Vec<Request>,
    /// What is found out about those that are being taken.
    taken: Vec<Taken>,
    groups: Groups,
    totals: Totals,
    sequences: Sequences,
    /// Sequences that began before the shard boundary, and the parts of theirs that were seen here.
    earlier: HashSet<u64>,
    strays: Vec<Request>,
    areas: Areas,
    devices: Devices,
    resolution: Resolution,
    ticks: Ticks,
    unanswered: Unanswered,
    /// Where requests lie over time, where that is wanted.
    density: Option<Density>,
    /// The first arrival, the last arrival, and the last arrival or completion.
    first_ns: Option<i64>,
    arrived_ns: Option<i64>,
    last_ns: Option<i64>,
    /// From when to when sums are known.
    summed_ns: Option<(i64, i64)>,
    /// Rows that stand after a row that arrived later: the order-sensitive figures are wrong by
    /// them.
    unsorted: u64,
    /// Rows with a step whose time is before that of the step it follows.
    reversed: u64,
    /// The shard boundary that a part begins at.
    begin_ns: Option<i64>,
    /// The time that several traces span.
    told_span_ns: Option<f64>,
}

impl Response {
    /// The same as a part of a trace that begins with what others left outstanding.
    #[must_use]
    pub fn after(mut self, in_flight: &InFlight) -> Self {
        self.begin_ns = Some(in_flight.begin_ns);
        self.earlier.clone_from(&in_flight.sequences);
        for (device, until_ns, kind) in &in_flight.outstanding {
            let outstanding = &mut self.devices.of(*device).outstanding;
            outstanding.begin(in_flight.begin_ns);
            outstanding.enter(*until_ns, *kind);
        }
        self
    }

    /// The same with the areas that requests are classed by.
    #[must_use]
    pub fn with_areas(mut self, maps: AreaMaps) -> Self {
        self.areas = Areas::new(maps);
        self
    }

    /// The same, which keeps each device over time, too, and where its requests lie, in bins that
    /// begin there.
    #[must_use]
    pub fn with_over_time(mut self, from_ns: u64) -> Self {
        self.devices.over_time_from_ns = Some(from_ns);
        self.density = Some(Density::from(from_ns));
        self
    }

    /// The same, with the bins of its grids as wide as another part of the same trace needed them:
    /// the whole needs no finer ones.
    #[must_use]
    pub fn with_width_ns(mut self, width_ns: i64) -> Self {
        self.resolution = Resolution::at_least(width_ns);
        self
    }

    /// How wide the bins of its grids are so far.
    pub fn width_ns(&self) -> i64 {
        self.resolution.width_ns()
    }

    /// Adds a row; rows come in the order of their arrival.
    #[inline]
    pub fn add(&mut self, row: &Request) {
        self.pending.push(*row);
        if self.pending.len() >= BATCH {
            self.take_pending();
        }
    }

    /// Adds rows, which is quicker than one by one.
    pub fn add_all(&mut self, rows: &[Request]) {
        if !self.pending.is_empty() {
            self.take_pending();
        }
        rows.chunks(BATCH).for_each(|rows| self.take(rows));
    }

    fn take_pending(&mut self) {
        let mut rows = std::mem::take(&mut self.pending);
        self.take(&rows);
        rows.clear();
        self.pending = rows;
    }

    fn take(&mut self, rows: &[Request]) {
        let is_own = |row: &Request| row.flags.contains(Flags::OWN);
        if rows.iter().any(is_own) {
            let others: Vec<Request> = rows.iter().copied().filter(|row| !is_own(row)).collect();
            return self.take(&others);
        }
        let mut taken = std::mem::take(&mut self.taken);
        taken.clear();
        taken.extend(rows.iter().map(Taken::of));
        rows.iter().zip(&mut taken).for_each(|(row, taken)| self.place(row, taken));
        rows.iter().zip(&taken).for_each(|(row, taken)| self.class(row, taken));
        rows.iter().zip(&taken).for_each(|(row, taken)| self.storm(row, taken));
        if self.areas.are_known() {
            rows.iter().zip(&taken).for_each(|(row, taken)| self.areas.add(row, &taken.share));
        }
        rows.iter().for_each(|row| self.sequence(row));
        if let Some(density) = &mut self.density {
            rows.iter().for_each(|row| density.add(row));
        }
        while self.resolution.is_too_fine() {
            self.widen();
        }
        self.taken = taken;
    }

    /// Brings a row to its device: where it lies, what it finds outstanding there, and how it
    /// follows the last.
    #[inline(always)]
    fn place(&mut self, row: &Request, taken: &mut Taken) {
        taken.device = self.devices.place(row.device);
        taken.process = self.totals.processes.place(row);
        let Some(device) = self.devices.at(taken.device) else { return };
        if let Some(offset) = row.offset_bytes {
            device.regions.add(offset, &taken.share);
        }
        if let Some(arrival_ns) = taken.asked_ns() {
            taken.found = device.outstanding.arrive(arrival_ns, row.completed_ns, taken.kind);
            device.flow.add(row, arrival_ns);
            if let Some(over_time) = &mut device.outstanding.over_time {
                over_time.add(arrival_ns, row.op == Op::Read, &taken.share);
            }
        }
    }

    /// Brings a row to all that are classed as it is.
    #[inline(always)]
    fn class(&mut self, row: &Request, taken: &Taken) {
        self.reversed += u64::from(taken.share.is_reversed);
        self.unanswered.add(row, taken);
        let is_read = row.op == Op::Read && taken.asked_ns().is_some();
        let key = Key {
            combination: Combination::of(row),
            period: taken.arrival_ns.map(|ns| self.period(ns, row.completed_ns)),
            found: is_read.then(|| Classes::of(&taken.found)),
        };
        self.groups.add(key, taken.process, &taken.share, &mut self.totals);
        if let (Some(_), Some(took)) = (taken.asked_ns(), taken.share.took()) {
            self.ticks.add(took.value_ns());
        }
    }

    /// The slice of time that an arrival is in.
    #[inline(always)]
    fn period(&mut self, arrival_ns: i64, completed_ns: Option<i64>) -> u8 {
        let is_late = self.arrived_ns.is_some_and(|arrived_ns| arrival_ns < arrived_ns);
        self.unsorted += u64::from(is_late);
        self.first_ns = Some(self.first_ns.map_or(arrival_ns, |first_ns| first_ns.min(arrival_ns)));
        self.arrived_ns = self.arrived_ns.max(Some(arrival_ns));
        self.last_ns = self.last_ns.max(completed_ns.max(Some(arrival_ns)));
        let place = u64::try_from(arrival_ns).unwrap_or(0);
        let slice = match self.totals.periods.slice_of(place) {
            Some(slice) => slice,
            None => {
                // The slices are other ones from here on.
                self.settle_groups();
                self.totals.periods.widen_for(place)
            }
        };
        slice as u8
    }

    /// Brings a flush sequence together with its parts.
    #[inline(always)]
    fn sequence(&mut self, row: &Request) {
        let is_stray = |parent| self.earlier.contains(&parent);
        match self.sequences.see(row) {
            Some((sequence, share)) => self.amend(&sequence, &share),
            None if row.parent_id.is_some_and(is_stray) => self.strays.push(*row),
            None => {}
        }
    }

    /// Adds to all classes of a row that was taken before. It is a write or a flush, which found
    /// nothing.
    fn amend(&mut self, row: &Request, share: &Share) {
        let totals = &mut self.totals;
        let place = row.arrival_ns().map(|ns| u64::try_from(ns).unwrap_or(0));
        let key = Key {
            combination: Combination::of(row),
            period: place.and_then(|place| totals.periods.slice_of(place)).map(|slice| slice as u8),
            found: None,
        };
        let process = totals.processes.place(row);
        self.groups.add(key, process, share, totals);
        self.areas.add(row, share);
        if let Some(offset) = row.offset_bytes {
            self.devices.of(row.device).regions.add(offset, share);
        }
    }

    /// Brings what was requested to the grids in which storms are looked for.
    #[inline(always)]
    fn storm(&mut self, row: &Request, taken: &Taken) {
        let Some(arrival_ns) = taken.asked_ns() else { return };
        if let Some(device) = self.devices.at(taken.device) {
            device.grids.add(row, taken, arrival_ns, &mut self.resolution);
        }
    }

    fn settle_groups(&mut self) {
        self.groups.settle(&mut self.totals);
    }

    /// Takes and settles all that was added: before anything is told of it.
    fn settle(&mut self) {
        self.take_pending();
        self.settle_groups();
        self.totals.periods.settle();
        self.devices.iter_mut().for_each(|device| device.regions.settle());
    }

    /// Makes all grids coarser.
    fn widen(&mut self) {
        self.resolution = self.resolution.widened();
        for device in self.devices.iter_mut() {
            device.grids.widen(&mut self.resolution);
        }
    }

    /// Makes the grids of both as coarse as the coarser ones.
    fn as_coarse_as(&mut self, other: &mut Self) {
        while self.resolution.is_finer_than(&other.resolution) {
            self.widen();
        }
        while other.resolution.is_finer_than(&self.resolution) {
            other.widen();
        }
    }

    /// Goes on with the part of the trace that follows, which began with what is outstanding here.
    /// `number` is the number here of each of its commands.
    pub fn follow(&mut self, mut next: Self, number: &dyn Fn(CommandId) -> CommandId) {
        self.settle();
        next.settle();
        self.as_coarse_as(&mut next);
        self.totals.joint.merge(&next.totals.joint);
        let renumbered =
            |process: &Process| Process { command: process.command.map(number), ..*process };
        let places = self.totals.processes.merge(&next.totals.processes, &renumbered);
        self.areas.merge(&next.areas);
        self.totals.periods.merge(next.totals.periods);
        self.totals.behind.merge(&next.totals.behind);
        self.ticks.merge(next.ticks);
        self.unanswered.merge(next.unanswered);
        if let (Some(own), Some(theirs)) = (&mut self.density, next.density) {
            own.merge(theirs);
        }
        let is_late = self.arrived_ns.zip(next.first_ns).is_some_and(|(own, theirs)| theirs < own);
        self.unsorted += next.unsorted + u64::from(is_late);
        self.reversed += next.reversed;
        self.first_ns = self.first_ns.into_iter().chain(next.first_ns).min();
        self.arrived_ns = self.arrived_ns.max(next.arrived_ns);
        self.last_ns = self.last_ns.max(next.last_ns);
        for part in &next.strays {
            self.sequence(part);
        }
        self.sequences.follow(next.sequences, number);
        for theirs in next.devices.into_all() {
            let own = self.devices.of(theirs.number);
            if let Some(begin_ns) = next.begin_ns.or(next.first_ns) {
                own.outstanding.follow(theirs.outstanding, begin_ns);
            }
            own.flow.follow(theirs.flow);
            own.regions.merge(theirs.regions);
            own.grids.merge(theirs.grids, &places, &mut self.resolution);
        }
        while self.resolution.is_too_fine() {
            self.widen();
        }
    }

    /// Rows that stand after a row that arrived later.
    pub fn late(&mut self) -> u64 {
        self.take_pending();
        self.unsorted
    }

    /// Each device over time, if that was kept. What is still outstanding is completed first.
    pub fn over_time(&mut self) -> Vec<(u32, OverTime)> {
        self.settle();
        self.complete();
        let of = |device: &Device| {
            Some((device.number, device.outstanding.over_time.as_deref()?.clone()))
        };
        self.devices.sorted().into_iter().filter_map(of).collect()
    }

    /// Where requests lie over time; empty if that was not kept.
    pub fn density(&mut self) -> Density {
        self.settle();
        self.density.clone().unwrap_or_default()
    }

    /// Lets the time pass to the end of the trace. What was in flight at the beginning of a
    /// selection may outlast it.
    fn complete(&mut self) {
        let last_ns = self.last_ns.unwrap_or(0);
        self.devices.iter_mut().for_each(|device| device.outstanding.advance(last_ns));
    }

    /// How many responses took how many ticks of 1/60 s.
    pub fn ticks(&mut self) -> Vec<TickCount> {
        self.take_pending();
        self.ticks.counts()
    }
}

#[cfg(test)]
mod tests;
