//! The reader: direct reads at random places, as many at once as are due, each by a thread of its
//! own. It tells those that met a sync from the others. Who comes while reads that met one are
//! still on their way has met it too: their queue is what the sync left.
//!
//! By io_uring all of them would be one program's: where the disk's queue is full, the call that
//! hands a read over waits for a place in it, and the reads behind wait for the call.

use super::arrivals::Arrivals;
use super::{Plan, Stream};
use crate::failure::StreamError;
use crate::sequence::Sequence;
use model::histogram::Histogram;
use model::job_role::JobRole;
use model::seam::{Clock, Job, JobPlacement, Operation, Request, TimedCompletion, Turn};
use model::workload::EngineKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Reads at once: those that are due while so many are on their way wait for one of them.
pub(super) const DEPTH: u32 = 64;

/// What the writer lets the reader know: how many syncs have begun, and how many have ended.
#[derive(Debug, Default)]
pub(super) struct Syncing {
    begun: AtomicU64,
    ended: AtomicU64,
}

impl Syncing {
    pub(super) fn begin(&self) {
        self.begun.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn end(&self) {
        self.ended.fetch_add(1, Ordering::Relaxed);
    }

    /// A sync goes on.
    fn is_on(&self) -> bool {
        self.begun.load(Ordering::Relaxed) > self.ended.load(Ordering::Relaxed)
    }
}

/// What the reader has to say when it is over.
#[derive(Debug, Clone, Default)]
pub(super) struct Report {
    pub(super) started_ns: u64,
    pub(super) ended_ns: u64,
    /// From when they were due.
    pub(super) latency: Histogram,
    /// Of those that met a sync, and of the others.
    pub(super) in_sync: Histogram,
    pub(super) between: Histogram,
    pub(super) error: Option<StreamError>,
}

/// A read on its way.
#[derive(Debug, Clone, Copy, Default)]
struct Sent {
    due_ns: u64,
    offset_bytes: u64,
    met_sync: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Open,
    Opening,
    Reading,
    Closing,
    Done,
}

/// The reader.
pub(super) struct Reader {
    phase: Phase,
    stream: Stream,
    sequence: Sequence,
    seed: u64,
    is_probe: bool,
    pass_ns: u64,
    end_ns: u64,
    arrivals: Option<Arrivals>,
    free: Vec<u32>,
    sent: Vec<Sent>,
    syncing: Arc<Syncing>,
    /// Reads on their way met a sync.
    is_storm: bool,
    pub(super) report: Report,
}

/// Where it reads.
pub(super) fn placement(plan: &Plan) -> JobPlacement {
    JobPlacement {
        role: Some(JobRole::Reader),
        file: super::READ_FILE.to_owned(),
        engine: EngineKind::Threads,
        direct: true,
        depth: DEPTH,
        block_bytes: plan.read.block_bytes as u32,
        file_bytes: plan.read.file_bytes,
        ..JobPlacement::default()
    }
}

impl Reader {
    pub(super) fn new(plan: &Plan, seed: u64, syncing: Arc<Syncing>) -> Self {
        Self {
            phase: Phase::Open,
            stream: plan.read.clone(),
            sequence: Sequence::new(plan.read.blocks(), true, seed),
            seed,
            is_probe: false,
            pass_ns: plan.pass_ns(),
            end_ns: u64::MAX,
            arrivals: None,
            free: (0..DEPTH).rev().collect(),
            sent: vec![Sent::default(); DEPTH as usize],
            syncing,
            is_storm: false,
            report: Report::default(),
        }
    }

    /// One read after the other, for a time: what the target can do.
    pub(super) fn probe(plan: &Plan, pass_ns: u64) -> Self {
        let mut reader = Self::new(plan, plan.seed, Arc::default());
        // Due at once, always.
        reader.stream.rate = Some(1e9);
        (reader.free, reader.sent) = (vec![0], vec![Sent::default()]);
        reader.is_probe = true;
        reader.pass_ns = pass_ns;
        reader
    }

    fn complete(&mut self, completion: TimedCompletion) {
        let now_ns = completion.found_ns;
        match self.phase {
            Phase::Opening if completion.result >= 0 => {
                self.report.started_ns = now_ns;
                self.end_ns = now_ns.saturating_add(self.pass_ns);
                self.arrivals = Some(Arrivals::new(self.stream.rate_iops(), self.seed, now_ns));
                self.phase = Phase::Reading;
            }
            Phase::Reading => self.read(completion, now_ns),
            Phase::Opening => {
                self.fail(Operation::OpenRead, 0, completion.result);
                self.phase = Phase::Done;
            }
            _ => self.phase = Phase::Done,
        }
        self.report.ended_ns = now_ns;
    }

    fn read(&mut self, completion: TimedCompletion, now_ns: u64) {
        let Sent { due_ns, offset_bytes, met_sync } = self.sent[completion.token as usize];
        self.free.push(completion.token as u32);
        if completion.result != self.stream.block_bytes as i64 {
            self.fail(Operation::Read, offset_bytes, completion.result);
            self.end_ns = 0;
            return;
        }
        let latency_ns = now_ns.saturating_sub(due_ns);
        self.report.latency.record(latency_ns);
        self.is_storm |= self.syncing.is_on();
        match met_sync || self.syncing.is_on() {
            true => self.report.in_sync.record(latency_ns),
            false => self.report.between.record(latency_ns),
        }
    }

    fn fail(&mut self, operation: Operation, offset_bytes: u64, result: i64) {
        let errno = i32::try_from(-result.min(0)).unwrap_or(0);
        self.report.error.get_or_insert(StreamError { operation, offset_bytes, errno });
    }

    /// The next read, if one is due; else until when to wait.
    fn next(&mut self, now_ns: u64) -> Turn {
        let Some(arrivals) = &mut self.arrivals else { return Turn::Done };
        let due_ns = if self.is_probe { now_ns } else { arrivals.due_ns() };
        let is_over = due_ns >= self.end_ns;
        let on_their_way = self.sent.len() - self.free.len();
        if is_over && on_their_way == 0 {
            self.phase = Phase::Closing;
            return request(0, Operation::Close, 0, 0);
        }
        if is_over || self.free.is_empty() {
            return Turn::Wait { min: 1, until_ns: u64::MAX };
        }
        if due_ns > now_ns {
            return Turn::Wait { min: 1, until_ns: due_ns };
        }
        arrivals.advance();
        let Some(token) = self.free.pop() else { return Turn::Done };
        let from_bytes = self.stream.from_bytes;
        let offset_bytes = from_bytes + self.sequence.next_block() * self.stream.block_bytes;
        self.is_storm = self.syncing.is_on() || self.is_storm && on_their_way > 0;
        let met_sync = self.is_storm;
        self.sent[token as usize] = Sent { due_ns, offset_bytes, met_sync };
        request(token, Operation::Read, offset_bytes, self.stream.block_bytes as u32)
    }
}

fn request(token: u32, operation: Operation, offset_bytes: u64, length_bytes: u32) -> Turn {
    Turn::Submit(Request { token, operation, offset_bytes, length_bytes })
}

impl Job for Reader {
    fn turn<C: Clock>(&mut self, clock: &C, completion: Option<TimedCompletion>) -> Turn {
        if let Some(completion) = completion {
            self.complete(completion);
        }
        match self.phase {
            Phase::Open => {
                self.phase = Phase::Opening;
                request(0, Operation::OpenRead, 0, 0)
            }
            Phase::Opening | Phase::Closing => Turn::Wait { min: 1, until_ns: u64::MAX },
            Phase::Reading => self.next(clock.now_ns()),
            Phase::Done => Turn::Done,
        }
    }
}
