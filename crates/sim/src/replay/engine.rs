//! The events of a replay: requests come, are taken by a controller, served and completed.
//!
//! Rows are kept until they and all that came before them are completed, and are given out in the
//! order in which they came: what is kept is bounded by what is outstanding.

use super::laws;
use super::machine::ReplayMachine;
use super::outcome::{Outcome, ReplayError};
use super::row::{self, Accesses};
use super::station::Station;
use crate::drive::{Access, Operation};
use crate::event::EventQueue;
use crate::queue::Waiting;
use model::record::{Flags, Op, Request};
use std::collections::VecDeque;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// The row of that number comes to its device.
    Arrival(u64),
    /// The row of that number is completed by its drive, or the flush before it.
    Completion(u64),
    /// A write that was held back goes on to the queue of that station.
    Release(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Happened {
    /// It came to its device.
    Came(u64),
    Completed(u64),
    /// Something else.
    Nothing,
}

/// How far a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Waiting,
    /// The drive flushes, as the row asks for that before the rest.
    Flushing,
    Serving,
    Completed,
}

/// A row that is not given out yet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    /// As it is in the trace, and then as it is completed.
    pub(super) request: Request,
    station: usize,
    step: Step,
}

/// Whether a machine may hold a request back: nobody waits for it.
fn is_held(request: &Request) -> bool {
    let is_background = request.flags.contains(Flags::BACKGROUND);
    is_background && request.op == Op::Write && !request.flags.contains(Flags::PREFLUSH)
}

#[derive(Debug)]
pub(super) struct Engine {
    machine: ReplayMachine,
    stations: Vec<Station>,
    pub(super) events: EventQueue<Event>,
    /// By number, from `first` on; none where a row was given out.
    rows: VecDeque<Option<Row>>,
    first: u64,
    /// Numbers in the order of their coming, from the first on that was not given out.
    came: VecDeque<u64>,
    at_controllers: usize,
    completed: u64,
    outcome: Outcome,
    /// Requests whose completion is certain, and when that is, where somebody asks, ns.
    noted: Option<Vec<(u64, u64)>>,
}

impl Engine {
    /// One that notes when requests will be completed, as soon as that is certain.
    pub(super) fn noting(machine: ReplayMachine) -> Self {
        Self { noted: Some(vec![]), ..Self::new(machine) }
    }

    /// Notes that a request will be completed.
    pub(super) fn note(&mut self, request_id: u64, completion_ns: u64) {
        if let Some(noted) = &mut self.noted {
            noted.push((request_id, completion_ns));
        }
    }

    /// What was noted and not taken yet.
    pub(super) fn noted(&mut self) -> &mut Vec<(u64, u64)> {
        self.noted.get_or_insert_default()
    }

    pub(super) fn new(machine: ReplayMachine) -> Self {
        Self {
            machine,
            stations: vec![],
            events: EventQueue::default(),
            rows: VecDeque::new(),
            first: 0,
            came: VecDeque::new(),
            at_controllers: 0,
            completed: 0,
            outcome: Outcome::default(),
            noted: None,
        }
    }

    /// Whether a drive has something to do with a row; counts those that it has not.
    pub(super) fn is_served(&mut self, request: &Request) -> bool {
        let is_served = row::is_served(request);
        self.outcome.left_out += u64::from(!is_served);
        is_served
    }

    /// Keeps a row; returns its number.
    pub(super) fn keep(&mut self, request: &Request) -> Result<u64, ReplayError> {
        let station = self.station(request.device);
        row::check(request, self.stations[station].capacity)?;
        let number = self.first + self.rows.len() as u64;
        self.rows.push_back(Some(Row { request: *request, station, step: Step::Waiting }));
        self.outcome.most_kept = self.outcome.most_kept.max(self.rows.len());
        Ok(number)
    }

    fn station(&mut self, device: u32) -> usize {
        let known = self.stations.iter().position(|station| station.outcome.device == device);
        known.unwrap_or_else(|| {
            self.stations.push(Station::new(device, &self.machine));
            self.stations.len() - 1
        })
    }

    /// The first row that was not given out.
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    fn row_mut(&mut self, number: u64) -> Option<&mut Row> {
        self.rows.get_mut((number - self.first) as usize)?.as_mut()
    }

    /// A row's request comes.
    pub(super) fn arrive(&mut self, number: u64, now_ns: u64) {
        let row = self.rows.get_mut((number - self.first) as usize);
        let Some(Some(Row { request, station: index, .. })) = row else { return };
        request.queued_ns = Some(now_ns as i64);
        request.started_ns = None;
        (request.issued_ns, request.completed_ns) = (None, None);
        let index = *index;
        if self.outcome.requests == 0 {
            self.outcome.began_ns = now_ns;
        }
        self.outcome.requests += 1;
        self.came.push_back(number);
        let interval_ns = self.machine.write_interval_ns;
        let station = &mut self.stations[index];
        let Accesses { flushes_first, main } = Accesses::of(request, station.capacity);
        let (block, is_write, is_held) = (main.block, main.is_write(), is_held(request));
        let cylinder = station.drive.cylinder(block);
        let is_flush = flushes_first || main.operation == Operation::Flush;
        let waiting = Waiting { number, block, cylinder, is_write, arrived_ns: now_ns };
        station.outstanding += 1;
        let outcome = &mut station.outcome;
        outcome.most_outstanding = outcome.most_outstanding.max(station.outstanding);
        if interval_ns > 0 && is_held {
            if station.held.is_empty() {
                self.events.schedule(station.next_release_ns.max(now_ns), Event::Release(index));
            }
            station.held.push_back(waiting);
        } else {
            self.queue(index, waiting, is_flush, now_ns);
        }
    }

    /// A write that was held back goes on.
    fn release(&mut self, index: usize, now_ns: u64) {
        let station = &mut self.stations[index];
        station.next_release_ns = now_ns + self.machine.write_interval_ns;
        let Some(waiting) = station.held.pop_front() else { return };
        if !station.held.is_empty() {
            self.events.schedule(station.next_release_ns, Event::Release(index));
        }
        self.queue(index, waiting, false, now_ns);
    }

    /// A request comes to a driver's queue.
    fn queue(&mut self, index: usize, waiting: Waiting, is_flush: bool, now_ns: u64) {
        self.stations[index].wait(waiting, is_flush);
        if self.has_credit(index) {
            self.take(index, now_ns);
        } else {
            self.stations[index].outcome.queued += 1;
        }
    }

    fn has_credit(&self, index: usize) -> bool {
        let credits = self.machine.credits;
        let had = match credits.is_shared {
            true => self.at_controllers,
            false => self.stations[index].at_controller(),
        };
        had < credits.requests
    }

    /// The controller takes the next of a driver's queue.
    fn take(&mut self, index: usize, now_ns: u64) {
        let station = &mut self.stations[index];
        let Some(waiting) = station.next_waiting(now_ns) else { return };
        station.taken.push(waiting);
        self.at_controllers += 1;
        if let Some(row) = self.row_mut(waiting.number) {
            row.request.issued_ns = Some(now_ns as i64);
        }
        self.serve_next(index, now_ns);
    }

    /// The drive is given what it has a place for of what the controller has.
    fn serve_next(&mut self, index: usize, now_ns: u64) {
        while let Some(waiting) = self.stations[index].next_served(now_ns) {
            self.serve(waiting.number, now_ns);
        }
    }

    /// The drive is given a row, or what is to be done before it.
    fn serve(&mut self, number: u64, now_ns: u64) {
        let row = self.rows.get_mut((number - self.first) as usize);
        let Some(Some(Row { request, station, step })) = row else { return };
        let station = &mut self.stations[*station];
        let Accesses { flushes_first, main } = Accesses::of(request, station.capacity);
        let is_flushing = flushes_first && *step == Step::Waiting;
        *step = if is_flushing { Step::Flushing } else { Step::Serving };
        let access = if is_flushing { Access::FLUSH } else { main };
        let request_id = (!is_flushing).then_some(request.request_id);
        let bus = &mut self.machine.bus;
        bus.forget(now_ns as f64);
        let completion_ns = station.drive.serve(now_ns as f64, access, bus).round() as u64;
        self.events.schedule(completion_ns.max(now_ns), Event::Completion(number));
        if let Some(request_id) = request_id {
            self.note(request_id, completion_ns.max(now_ns));
        }
    }

    /// A drive completes a row, unless it was but the flush before it; returns whether.
    fn complete(&mut self, number: u64, now_ns: u64) -> bool {
        let Some(Row { request, station: index, step }) = self.row_mut(number) else {
            return false;
        };
        if *step == Step::Flushing {
            self.serve(number, now_ns);
            return false;
        }
        *step = Step::Completed;
        request.completed_ns = Some(now_ns as i64);
        let index = *index;
        self.stations[index].complete(now_ns);
        self.at_controllers -= 1;
        self.completed += 1;
        self.outcome.ended_ns = self.outcome.ended_ns.max(now_ns);
        self.serve_next(index, now_ns);
        // Its place at the controller goes to its own drive first, and else to the next that waits.
        let mut turn = (index..self.stations.len()).chain(0..index);
        let next =
            turn.find(|&index| self.stations[index].is_waited_for() && self.has_credit(index));
        if let Some(next) = next {
            self.take(next, now_ns);
        }
        true
    }

    /// Lets the next event happen; returns when it was and what, with the row's number.
    pub(super) fn step(&mut self) -> Option<(u64, Happened)> {
        let (now_ns, event) = self.events.pop()?;
        let happened = match event {
            Event::Arrival(number) => {
                self.arrive(number, now_ns);
                Some(Happened::Came(number))
            }
            Event::Release(index) => {
                self.release(index, now_ns);
                None
            }
            Event::Completion(number) => {
                self.complete(number, now_ns).then_some(Happened::Completed(number))
            }
        };
        Some((now_ns, happened.unwrap_or(Happened::Nothing)))
    }

    /// Gives out the rows that are completed, up to the first that is not.
    pub(super) fn give(&mut self, sink: &mut impl FnMut(&Request)) {
        while let Some(number) = self.came.front() {
            let Some(place) = self.rows.get_mut((number - self.first) as usize) else { break };
            let Some(row) = place.as_ref().filter(|row| row.step == Step::Completed) else { break };
            sink(&row.request);
            *place = None;
            self.came.pop_front();
        }
        while self.rows.front().is_some_and(Option::is_none) {
            self.rows.pop_front();
            self.first += 1;
        }
    }

    /// Checks the whole, and says what it came to.
    pub(super) fn finish(mut self) -> Result<Outcome, ReplayError> {
        let (taken, completed) = (self.outcome.requests, self.completed);
        if !self.rows.is_empty() {
            return Err(ReplayError::Unbalanced { taken, completed });
        }
        self.outcome.devices = self.stations.iter().map(|station| station.outcome).collect();
        laws::check(&self.outcome, (taken, completed), [&self.machine.bus])?;
        Ok(self.outcome)
    }
}
