//! The response-time analysis: what Johnson, Smith & Wilson (1986, section 3) drew by hand, in one pass over the rows
//! in their order of arrival, in memory that grows with the devices and with what is outstanding, not with the rows.
//!
//! Their figures are classes of requests here ([`classes`]): by drive, by size, by direction, by origin (their block
//! against raw interface), by block region and by start time ([`slices`]), and their conclusion is one more: reads by
//! the writes that they found outstanding ([`outstanding`]). Rows that lbolt itself made are left out.
//!
//! A trace may be analysed by contiguous parts at once: a part begins with what is outstanding at its seam ([`Carry`]),
//! and [`Response::follow`] makes of two that follow each other what one pass over both would have found.
//!
//! Non-goals: other traces to compare with.

mod areas;
mod boxes;
mod classes;
mod device;
mod doubts;
mod findings;
mod flow;
mod joint;
mod line;
mod outstanding;
mod processes;
mod slices;
pub mod sql;
mod storms;
mod ticks;

use crate::traffic::Times;
pub use areas::AreaMaps;
use areas::Areas;
use device::Devices;
pub use doubts::doubt;
pub use findings::Names;
use joint::Joint;
use model::record::{CommandId, Flags, Op, Request};
use outstanding::{Classes, Kind};
use processes::Processes;
use slices::Slices;
use storms::{Arrived, Resolution};
pub use ticks::TickCount;
use ticks::Ticks;

/// Slices of the trace's span, at the most, and the width that they begin with: doubled nine times, it is a second.
const PERIODS: u64 = 32;
const PERIOD_NS: u64 = 1_953_125;

/// What is outstanding at a seam: requests that arrived before it and are answered after it.
#[derive(Debug, Default)]
pub struct Carry {
    begin_ns: i64,
    outstanding: Vec<(u32, i64, Kind)>,
}

impl Carry {
    /// Of a part whose first row arrives at that time.
    pub fn new(begin_ns: i64) -> Self {
        Self { begin_ns, outstanding: Vec::new() }
    }

    /// A row that arrived before the part; whether it matters is found out here.
    #[inline]
    pub fn add(&mut self, row: &Request) {
        let is_counted = row.parent_id.is_none() && !row.flags.contains(Flags::OWN);
        if let Some(until_ns) = row.completed_ns.filter(|ns| *ns > self.begin_ns && is_counted) {
            self.outstanding.push((row.device, until_ns, Kind::of(row)));
        }
    }
}

/// What the rows so far say of response times.
#[derive(Debug)]
pub struct Response {
    joint: Joint,
    processes: Processes,
    areas: Areas,
    periods: Slices,
    behind: Classes,
    devices: Devices,
    resolution: Resolution,
    ticks: Ticks,
    /// The first arrival, the last arrival, and the last arrival or answer.
    first_ns: Option<i64>,
    arrived_ns: Option<i64>,
    last_ns: Option<i64>,
    /// Rows that stand after a row that arrived later: the order-sensitive figures are wrong by them.
    unsorted: u64,
    /// Rows of which a step is told to be before the one that it follows.
    reversed: u64,
    /// The seam that a part begins at.
    begin_ns: Option<i64>,
}

impl Default for Response {
    fn default() -> Self {
        Self {
            joint: Joint::default(),
            processes: Processes::default(),
            areas: Areas::default(),
            periods: Slices::new(PERIOD_NS, PERIODS),
            behind: Classes::default(),
            devices: Devices::default(),
            resolution: Resolution::default(),
            ticks: Ticks::default(),
            first_ns: None,
            arrived_ns: None,
            last_ns: None,
            unsorted: 0,
            reversed: 0,
            begin_ns: None,
        }
    }
}

impl Response {
    /// A part of a trace that begins with what others left outstanding.
    pub fn after(carry: &Carry) -> Self {
        let mut response = Self { begin_ns: Some(carry.begin_ns), ..Self::default() };
        for (device, until_ns, kind) in &carry.outstanding {
            let outstanding = &mut response.devices.of(*device).outstanding;
            outstanding.begin(carry.begin_ns);
            outstanding.enter(*until_ns, *kind);
        }
        response
    }

    /// The same with the areas that requests are classed by.
    #[must_use]
    pub fn with_areas(mut self, maps: AreaMaps) -> Self {
        self.areas = Areas::new(maps);
        self
    }

    /// Adds a row; rows come in the order of their arrival.
    #[inline]
    pub fn add(&mut self, row: &Request) {
        if row.flags.contains(Flags::OWN) {
            return;
        }
        let times = Times::of(row);
        self.reversed += u64::from(times.is_reversed);
        self.joint.add(row, &times);
        let process = self.processes.add(row, &times);
        let device = self.devices.of(row.device);
        if let Some(offset) = row.offset_bytes {
            device.regions.add(offset, row, &times);
            self.areas.add(offset, row, &times);
        }
        let Some(arrival_ns) = row.arrival_ns() else { return };
        let is_late = self.arrived_ns.is_some_and(|arrived_ns| arrival_ns < arrived_ns);
        self.unsorted += u64::from(is_late);
        self.first_ns = Some(self.first_ns.map_or(arrival_ns, |first_ns| first_ns.min(arrival_ns)));
        self.arrived_ns = self.arrived_ns.max(Some(arrival_ns));
        self.last_ns = self.last_ns.max(row.completed_ns.max(Some(arrival_ns)));
        self.periods.add(u64::try_from(arrival_ns).unwrap_or(0), row, &times);
        if !times.is_asked {
            return;
        }
        // What was asked for finds others outstanding, and is outstanding itself from now on.
        let found = device.outstanding.arrive(row, arrival_ns);
        device.flow.add(row, arrival_ns);
        let arrived = Arrived { row, times: &times, arrival_ns, found, process };
        device.grids.add(&arrived, &mut self.resolution);
        if row.op == Op::Read {
            self.behind.add(&found, row, &times);
        }
        if let Some(response_ns) = times.response_ns {
            self.ticks.add(response_ns);
        }
        if self.resolution.is_too_fine() {
            self.widen();
        }
    }

    /// Makes all grids coarser.
    fn widen(&mut self) {
        self.resolution = self.resolution.widened();
        for device in self.devices.iter_mut() {
            device.grids.widen(&mut self.resolution);
        }
    }

    /// Goes on with the part of the trace that follows, which began with what is outstanding here. `number` is the
    /// number here of each of its commands.
    pub fn follow(&mut self, mut next: Self, number: &dyn Fn(CommandId) -> CommandId) {
        while self.resolution.is_finer_than(&next.resolution) {
            self.widen();
        }
        while next.resolution.is_finer_than(&self.resolution) {
            next.widen();
        }
        self.joint.merge(&next.joint);
        let places = self.processes.merge(&next.processes, number);
        self.areas.merge(&next.areas);
        self.periods.merge(next.periods);
        self.behind.merge(&next.behind);
        self.ticks.merge(&next.ticks);
        let is_late = self.arrived_ns.zip(next.first_ns).is_some_and(|(own, theirs)| theirs < own);
        self.unsorted += next.unsorted + u64::from(is_late);
        self.reversed += next.reversed;
        self.first_ns = self.first_ns.into_iter().chain(next.first_ns).min();
        self.arrived_ns = self.arrived_ns.max(next.arrived_ns);
        self.last_ns = self.last_ns.max(next.last_ns);
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
    pub fn late(&self) -> u64 {
        self.unsorted
    }

    /// How many responses took how many ticks of 1/60 s.
    pub fn ticks(&self) -> Vec<TickCount> {
        self.ticks.counts()
    }
}

#[cfg(test)]
mod tests;
