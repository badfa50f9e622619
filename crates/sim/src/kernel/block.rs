//! The block layer: throttling, the queue's requests, the scheduler, one flush at a time, the loop
//! device's worker, and the drive.
//!
//! Whoever submits a request waits for a place in the queue; without a scheduler the queue is as
//! long as the drive takes requests at once.

use super::elevator::{self, Elevator};
use super::line::Line;
use super::wbt::Wbt;
use super::{Bio, Settings, ThreadId};
use crate::replay::{Live, ReplayError};
use model::record::{Op, Request};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

/// What the drive did, by the block layer's own count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Traffic {
    pub(super) read_bytes: u64,
    pub(super) write_bytes: u64,
    pub(super) requests: u64,
    pub(super) flushes: u64,
    pub(super) in_flight_ns: u64,
}

/// The layer above one drive.
#[derive(Debug)]
pub(super) struct Block {
    settings: Settings,
    wbt: Wbt,
    line: Line,
    /// Requests that are taken of the queue, and that the driver has.
    held: u32,
    driven: u32,
    elevator: Option<Box<dyn Elevator>>,
    /// Flushes that wait for the one on its way, and those that it is for.
    flushes_waiting: Vec<Bio>,
    flushing: Vec<Bio>,
    /// A flush may begin, and waits for a place at the driver.
    is_flush_due: bool,
    /// What the loop device's worker has not handed on: a flush in front stops it.
    worker: VecDeque<Bio>,
    is_worker_waiting: bool,
    drive: Live,
    /// When requests will be completed, by number.
    due: BinaryHeap<Reverse<(u64, u64)>>,
    known: Vec<(u64, u64)>,
    /// What the drive has, and since when.
    issued: HashMap<u64, (Bio, u64)>,
    /// Whose request came to the queue, and which were completed, since they were taken last.
    pub(super) entered: Vec<ThreadId>,
    pub(super) completed: Vec<Bio>,
    pub(super) traffic: Traffic,
    /// Requests that came, for the laws.
    pub(super) came: u64,
    failed: Option<ReplayError>,
}

impl Block {
    pub(super) fn new(settings: &Settings, drive: Live) -> Self {
        Self {
            settings: settings.clone(),
            wbt: Wbt::new(settings.wbt_latency_ns),
            line: Line::default(),
            held: 0,
            driven: 0,
            elevator: elevator::of(settings),
            flushes_waiting: vec![],
            flushing: vec![],
            is_flush_due: false,
            worker: VecDeque::new(),
            is_worker_waiting: false,
            drive,
            due: BinaryHeap::new(),
            known: vec![],
            issued: HashMap::new(),
            entered: vec![],
            completed: vec![],
            traffic: Traffic::default(),
            came: 0,
            failed: None,
        }
    }

    /// Other settings and another drive, while nothing is on its way.
    pub(super) fn set(&mut self, settings: &Settings, drive: Live) {
        self.drive = drive;
        self.settings = settings.clone();
        self.elevator = elevator::of(settings);
        self.wbt.set_latency(settings.wbt_latency_ns);
    }

    /// Why the drive refused a request, if it did.
    pub(super) fn failed(&self) -> Option<&ReplayError> {
        self.failed.as_ref()
    }

    /// Somebody had to wait for dirty pages.
    pub(super) fn dirty_wait(&mut self, now_ns: u64) {
        self.wbt.dirty_wait(now_ns);
    }

    /// A request is submitted. Its thread is among the `entered` when the queue has it: at once, or
    /// later.
    pub(super) fn submit(&mut self, bio: Bio, now_ns: u64) {
        self.came += 1;
        if self.wbt.enter(bio, now_ns) {
            self.enter(bio, now_ns);
        }
        self.go_on(now_ns);
    }

    /// Requests that the queue holds at the most.
    fn places(&self) -> u32 {
        match self.elevator {
            Some(_) => self.settings.scheduler_requests,
            None => self.settings.hardware_requests,
        }
    }

    /// A request takes a place in the queue, or waits for one.
    fn enter(&mut self, bio: Bio, now_ns: u64) {
        if self.held >= self.places() {
            self.line.wait(bio);
            return;
        }
        self.held += 1;
        self.entered.push(bio.thread);
        if bio.kind.operation == Op::Flush {
            self.flushes_waiting.push(bio);
            self.begin_flush();
        } else if let Some(elevator) = &mut self.elevator {
            elevator.insert(bio, now_ns);
        } else {
            self.drive(bio, now_ns);
        }
    }

    /// A place in the queue is free.
    fn leave(&mut self, now_ns: u64) {
        self.held -= 1;
        let mut woken = Vec::new();
        self.line.free(self.places(), &mut woken);
        woken.into_iter().for_each(|bio| self.enter(bio, now_ns));
    }

    /// The driver gets what it has places for.
    fn go_on(&mut self, now_ns: u64) {
        while self.driven < self.settings.hardware_requests {
            let flush = std::mem::take(&mut self.is_flush_due).then(|| self.flushing[0]);
            let dispatched = || self.elevator.as_mut().and_then(|of| of.dispatch(now_ns));
            let Some(bio) = flush.or_else(dispatched) else { break };
            self.drive(bio, now_ns);
        }
        self.work(now_ns);
    }

    fn begin_flush(&mut self) {
        if self.flushing.is_empty() && !self.flushes_waiting.is_empty() {
            self.flushing = std::mem::take(&mut self.flushes_waiting);
            self.is_flush_due = true;
        }
    }

    fn drive(&mut self, bio: Bio, now_ns: u64) {
        self.driven += 1;
        self.wbt.issue(&bio, now_ns);
        self.issued.insert(bio.number, (bio, now_ns));
        self.worker.push_back(bio);
    }

    /// The loop device's worker hands on what comes, and waits for each flush.
    fn work(&mut self, now_ns: u64) {
        while !self.is_worker_waiting {
            let Some(bio) = self.worker.pop_front() else { break };
            let is_flush = bio.kind.operation == Op::Flush;
            self.is_worker_waiting = is_flush;
            let request = Request {
                request_id: bio.number,
                op: bio.kind.operation,
                offset_bytes: (!is_flush).then_some(bio.offset_bytes),
                length_bytes: u32::try_from(bio.length_bytes).unwrap_or(u32::MAX),
                queued_ns: i64::try_from(now_ns).ok(),
                ..Request::default()
            };
            if let Err(error) = self.drive.come(now_ns, request) {
                self.failed = Some(error);
                self.due.push(Reverse((now_ns, bio.number)));
            }
            self.look(now_ns);
        }
    }

    /// Takes what the drive knows by now.
    fn look(&mut self, now_ns: u64) {
        self.drive.advance(now_ns, &mut self.known);
        let known = self.known.drain(..);
        self.due.extend(known.map(|(number, at_ns)| Reverse((at_ns, number))));
    }

    /// When something happens here next.
    pub(super) fn next_ns(&self) -> Option<u64> {
        let due_ns = self.due.peek().map(|due| due.0.0);
        [due_ns, self.drive.next_ns(), self.wbt.next_ns()].into_iter().flatten().min()
    }

    /// Lets happen what does at this moment.
    pub(super) fn advance(&mut self, now_ns: u64) {
        self.look(now_ns);
        while self.due.peek().is_some_and(|due| due.0.0 <= now_ns) {
            let Some(Reverse((_, number))) = self.due.pop() else { break };
            self.complete(number, now_ns);
        }
        if self.wbt.next_ns().is_some_and(|at_ns| at_ns <= now_ns) {
            let mut go_on = Vec::new();
            self.wbt.window_ends(now_ns, &mut go_on);
            go_on.into_iter().for_each(|bio| self.enter(bio, now_ns));
        }
        self.go_on(now_ns);
    }

    fn complete(&mut self, number: u64, now_ns: u64) {
        let Some((bio, since_ns)) = self.issued.remove(&number) else { return };
        self.driven -= 1;
        let traffic = &mut self.traffic;
        traffic.in_flight_ns += now_ns - since_ns;
        match bio.kind.operation {
            Op::Read => traffic.read_bytes += bio.length_bytes,
            Op::Write => traffic.write_bytes += bio.length_bytes,
            _ => traffic.flushes += 1,
        }
        if bio.kind.operation == Op::Flush {
            self.is_worker_waiting = false;
            let flushed = std::mem::take(&mut self.flushing);
            for bio in flushed {
                self.completed.push(bio);
                self.leave(now_ns);
            }
            self.begin_flush();
        } else {
            traffic.requests += 1;
            self.completed.push(bio);
            self.leave(now_ns);
            let mut go_on = Vec::new();
            self.wbt.complete(&bio, (now_ns, now_ns - since_ns), &mut go_on);
            go_on.into_iter().for_each(|bio| self.enter(bio, now_ns));
        }
    }
}
