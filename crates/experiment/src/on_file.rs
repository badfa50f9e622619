//! Jobs on one file: it is opened, worked on and closed. The first error ends the work.
//!
//! Non-goals: computing between requests (`overhead::channels`); errors that end nothing
//! (`replay`).

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

/// How far the work is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct At {
    /// The token of the request that may be sent.
    pub(crate) token: u32,
    /// Requests on their way.
    pub(crate) outstanding: u32,
}

/// What is done between opening and closing.
pub(crate) trait Work: Send {
    /// By which the file is opened, now.
    fn opening(&mut self, now_ns: u64) -> Operation;
    /// What comes next; asked for as long as a token is free.
    fn next(&mut self, at: At, now_ns: u64) -> Next;
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
    /// An error ended the work: what is on its way still is waited for.
    Failed,
    Close,
    Done,
}

const NONE: Request =
    Request { token: 0, operation: Operation::Close, offset_bytes: 0, length_bytes: 0 };

/// Work as a job.
pub(crate) struct OnFile<W> {
    pub(crate) work: W,
    phase: Phase,
    /// By token: the last request.
    sent: Vec<Request>,
    free: Vec<u32>,
    error: Option<StreamError>,
}

impl<W: Work> OnFile<W> {
    /// With so many requests outstanding at the most.
    pub(crate) fn new(work: W, depth: u32) -> Self {
        let (sent, free) = (vec![NONE; depth as usize], (0..depth).rev().collect());
        Self { work, phase: Phase::Open, sent, free, error: None }
    }

    #[inline(always)]
    fn complete(&mut self, completion: TimedCompletion) {
        let Some(request) = self.sent.get(completion.token as usize).copied() else { return };
        self.free.push(request.token);
        let wanted = match request.operation {
            Operation::Read | Operation::Write => i64::from(request.length_bytes),
            // A descriptor is no failure.
            _ => completion.result.max(0),
        };
        if completion.result == wanted {
            self.work.done(&request, completion.found_ns);
        }
        if completion.result != wanted || self.phase != Phase::Work {
            self.edge(request, completion.result, wanted);
        }
    }

    /// An opening or a closing is over, or something failed.
    #[cold]
    fn edge(&mut self, request: Request, result: i64, wanted: i64) {
        let is_whole = result == wanted;
        if !is_whole {
            let Request { operation, offset_bytes, .. } = request;
            let errno = i32::try_from(-result.min(0)).unwrap_or(0);
            self.error.get_or_insert(StreamError { operation, offset_bytes, errno });
        }
        self.phase = match self.phase {
            Phase::Open if is_whole => Phase::Work,
            Phase::Work | Phase::Failed => Phase::Failed,
            // What could not be opened need not be closed.
            Phase::Open | Phase::Close | Phase::Done => Phase::Done,
        };
    }

    #[inline(always)]
    fn submit(&mut self, operation: Operation, offset_bytes: u64, length_bytes: u32) -> Turn {
        let token = self.free.pop().unwrap_or(0);
        let request = Request { token, operation, offset_bytes, length_bytes };
        if let Some(sent) = self.sent.get_mut(token as usize) {
            *sent = request;
        }
        Turn::Submit(request)
    }

    #[inline(always)]
    fn work(&mut self, token: u32, now_ns: u64) -> Turn {
        let outstanding = (self.sent.len() - self.free.len()) as u32;
        match self.work.next(At { token, outstanding }, now_ns) {
            Next::Do(operation, offset_bytes, length_bytes) => {
                self.submit(operation, offset_bytes, length_bytes)
            }
            Next::Wait(until_ns) => Turn::Wait { min: 1, until_ns },
            Next::Over => self.close(),
        }
    }

    /// Closes the file once all is complete.
    #[cold]
    fn close(&mut self) -> Turn {
        if self.free.len() < self.sent.len() {
            return wait();
        }
        self.phase = Phase::Close;
        self.submit(Operation::Close, 0, 0)
    }
}

fn wait() -> Turn {
    Turn::Wait { min: 1, until_ns: u64::MAX }
}

impl<W: Work> Job for OnFile<W> {
    #[inline(always)]
    fn turn<C: Clock>(&mut self, clock: &C, completion: Option<TimedCompletion>) -> Turn {
        let mut found_ns = None;
        if let Some(completion) = completion {
            self.complete(completion);
            // At depth 1 it was found just now: one reading of the clock serves both. Among several
            // it may have waited.
            found_ns = (self.sent.len() == 1).then_some(completion.found_ns);
        }
        let now_ns = || found_ns.unwrap_or_else(|| clock.now_ns());
        match (self.phase, self.free.last().copied()) {
            (Phase::Work, Some(token)) => self.work(token, now_ns()),
            (Phase::Open, Some(_)) if self.free.len() == self.sent.len() => {
                let opening = self.work.opening(now_ns());
                self.submit(opening, 0, 0)
            }
            (Phase::Failed, _) => self.close(),
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

/// About how long it takes to lay out so many bytes where nothing is known of the target yet: at
/// 250 MB/s.
pub(crate) fn laid_out_ns(bytes: u64) -> u64 {
    bytes.saturating_mul(4)
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
    fn opening(&mut self, _: u64) -> Operation {
        self.opening
    }

    fn next(&mut self, _: At, _: u64) -> Next {
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
