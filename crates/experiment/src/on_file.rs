//! Jobs on one file: it is opened, worked on and closed. The first error ends the work.
//!
//! Non-goals: streams whose rates the harness's own nanoseconds would change (`throughput::job`,
//! `overhead::channels`).

use crate::failure::StreamError;
use model::histogram::Histogram;
use model::seam::{
    Clock, Job, JobPlacement, Operation, PreparedTarget, Request, TimedCompletion, Turn,
};
use model::workload::EngineKind;
use std::ops::Range;

/// A job that says what stopped it.
pub(crate) trait Measured: Job {
    fn error(&self) -> Option<StreamError>;
}

/// What comes next.
pub(crate) enum Next {
    /// A request: what, where, and how many bytes.
    Do(Operation, u64, u32),
    /// Nothing before a request is complete, or before this moment.
    Wait(u64),
    /// Nothing any more.
    Over,
}

/// Nothing before a request is complete.
pub(crate) const LATER: Next = Next::Wait(u64::MAX);

/// What is done between opening and closing.
pub(crate) trait Work: Send {
    /// By which the file is opened.
    fn opening(&self) -> Operation;
    /// What comes next; asked for as long as a token is free, this one the next.
    fn next(&mut self, token: u32, now_ns: u64) -> Next;
    /// A request was completed as a whole; opening and closing are requests too.
    fn done(&mut self, request: &Request, now_ns: u64);
}

/// What most work has to say when it is over.
#[derive(Debug, Clone, Default)]
pub(crate) struct Report {
    pub(crate) started_ns: u64,
    pub(crate) ended_ns: u64,
    /// Of what the work makes one after the other.
    pub(crate) latency: Histogram,
    /// In what makes data durable.
    pub(crate) sync_ns: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Open,
    Work,
    Close,
    Done,
}

/// Work as a job.
pub(crate) struct OnFile<W> {
    pub(crate) work: W,
    phase: Phase,
    /// By token: the last request.
    sent: Vec<Option<Request>>,
    free: Vec<u32>,
    error: Option<StreamError>,
}

impl<W: Work> OnFile<W> {
    /// With so many requests outstanding at the most.
    pub(crate) fn new(work: W, depth: u32) -> Self {
        let (sent, free) = (vec![None; depth as usize], (0..depth).rev().collect());
        Self { work, phase: Phase::Open, sent, free, error: None }
    }

    fn complete(&mut self, completion: TimedCompletion) {
        let sent = self.sent.get_mut(completion.token as usize);
        let Some(request) = sent.and_then(Option::take) else { return };
        self.free.push(request.token);
        let is_whole = match request.operation {
            Operation::Read | Operation::Write => {
                completion.result == i64::from(request.length_bytes)
            }
            _ => completion.result >= 0,
        };
        if is_whole {
            self.work.done(&request, completion.found_ns);
        } else {
            let Request { operation, offset_bytes, .. } = request;
            let errno = i32::try_from(-completion.result.min(0)).unwrap_or(0);
            self.error.get_or_insert(StreamError { operation, offset_bytes, errno });
        }
        self.phase = match self.phase {
            // What could not be opened need not be closed.
            Phase::Open if is_whole => Phase::Work,
            Phase::Work => Phase::Work,
            _ => Phase::Done,
        };
    }

    fn submit(&mut self, operation: Operation, offset_bytes: u64, length_bytes: u32) -> Turn {
        let token = self.free.pop().unwrap_or(0);
        let request = Request { token, operation, offset_bytes, length_bytes };
        if let Some(sent) = self.sent.get_mut(token as usize) {
            *sent = Some(request);
        }
        Turn::Submit(request)
    }

    fn work(&mut self, token: u32, now_ns: u64) -> Turn {
        let next = match self.error {
            None => self.work.next(token, now_ns),
            Some(_) => Next::Over,
        };
        match next {
            Next::Do(operation, offset_bytes, length_bytes) => {
                self.submit(operation, offset_bytes, length_bytes)
            }
            Next::Wait(until_ns) => Turn::Wait { min: 1, until_ns },
            Next::Over if self.free.len() < self.sent.len() => wait(),
            Next::Over => {
                self.phase = Phase::Close;
                self.submit(Operation::Close, 0, 0)
            }
        }
    }
}

fn wait() -> Turn {
    Turn::Wait { min: 1, until_ns: u64::MAX }
}

impl<W: Work> Job for OnFile<W> {
    fn turn<C: Clock>(&mut self, clock: &C, completion: Option<TimedCompletion>) -> Turn {
        if let Some(completion) = completion {
            self.complete(completion);
        }
        let token = self.free.last().copied();
        match (self.phase, token) {
            (Phase::Open, Some(_)) if self.free.len() == self.sent.len() => {
                self.submit(self.work.opening(), 0, 0)
            }
            (Phase::Work, Some(token)) => self.work(token, clock.now_ns()),
            (Phase::Done, _) => Turn::Done,
            _ => wait(),
        }
    }
}

impl<W: Work> Measured for OnFile<W> {
    fn error(&self) -> Option<StreamError> {
        self.error
    }
}

/// Files are laid out in blocks of this size.
pub(crate) const LAYOUT_BLOCK_BYTES: u64 = 1 << 20;

/// Lays a file out: large blocks one after the other, made durable at the end. Or reads it so, for
/// the cache.
pub(crate) struct Layer {
    opening: Operation,
    operation: Operation,
    bytes: Range<u64>,
    owes_sync: bool,
}

/// A job that lays out these bytes of a file, or of a device.
pub(crate) fn layer(
    place: &PreparedTarget,
    file: &str,
    (direct, bytes): (bool, Range<u64>),
) -> (JobPlacement, OnFile<Layer>) {
    let placement = JobPlacement {
        file: file.to_owned(),
        engine: EngineKind::Psync,
        direct,
        block_bytes: LAYOUT_BLOCK_BYTES as u32,
        file_bytes: bytes.end,
        ..JobPlacement::default()
    };
    let opening = if place.is_device { Operation::OpenReadWrite } else { Operation::Create };
    let layer = Layer { opening, operation: Operation::Write, bytes, owes_sync: true };
    (placement, OnFile::new(layer, 1))
}

impl Layer {
    /// Only reads what is there.
    pub(crate) fn only_read(&mut self) {
        let (opening, operation) = (Operation::OpenRead, Operation::Read);
        *self = Self { opening, operation, bytes: self.bytes.clone(), owes_sync: false };
    }
}

impl Work for Layer {
    fn opening(&self) -> Operation {
        self.opening
    }

    fn next(&mut self, _: u32, _: u64) -> Next {
        let offset_bytes = self.bytes.start;
        let length = LAYOUT_BLOCK_BYTES.min(self.bytes.end.saturating_sub(offset_bytes));
        if length > 0 {
            self.bytes.start += length;
            return Next::Do(self.operation, offset_bytes, length as u32);
        }
        match std::mem::take(&mut self.owes_sync) {
            true => Next::Do(Operation::Fdatasync, 0, 0),
            false => Next::Over,
        }
    }

    fn done(&mut self, _: &Request, _: u64) {}
}
