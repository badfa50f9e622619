//! The reader: direct reads at random places, as many at once as are due, each by a thread of its
//! own. It tells those that met a sync from the others. Who comes while reads that met one are
//! still on their way has met it too: their queue is what the sync left.
//!
//! By io_uring all of them would be one program's: where the disk's queue is full, the call that
//! hands a read over waits for a place in it, and the reads behind wait for the call.

use super::arrivals::Arrivals;
use super::{Plan, Stream};
use crate::on_file::{At, Next, Report, Work};
use crate::sequence::Sequence;
use model::histogram::Histogram;
use model::job_role::JobRole;
use model::seam::{JobPlacement, Operation, Request};
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

/// A read on its way.
#[derive(Debug, Clone, Copy, Default)]
struct Sent {
    due_ns: u64,
    met_sync: bool,
}

/// The reader.
pub(super) struct Reader {
    stream: Stream,
    sequence: Sequence,
    seed: u64,
    is_probe: bool,
    pass_ns: u64,
    end_ns: u64,
    arrivals: Option<Arrivals>,
    sent: Vec<Sent>,
    syncing: Arc<Syncing>,
    /// Reads on their way met a sync.
    is_storm: bool,
    pub(super) report: Report,
    /// Of those that met a sync, and of the others.
    pub(super) in_sync: Histogram,
    pub(super) between: Histogram,
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
            stream: plan.read.clone(),
            sequence: Sequence::new(plan.read.blocks(), true, seed),
            seed,
            is_probe: false,
            pass_ns: plan.pass_ns(),
            end_ns: u64::MAX,
            arrivals: None,
            sent: vec![Sent::default(); DEPTH as usize],
            syncing,
            is_storm: false,
            report: Report::default(),
            in_sync: Histogram::default(),
            between: Histogram::default(),
        }
    }

    /// One read after the other, for a time: what the target can do.
    pub(super) fn probe(plan: &Plan, pass_ns: u64) -> Self {
        let mut reader = Self::new(plan, plan.seed, Arc::default());
        // Due at once, always.
        reader.stream.rate = Some(1e9);
        reader.is_probe = true;
        reader.pass_ns = pass_ns;
        reader
    }

    fn read(&mut self, token: u32, now_ns: u64) {
        let Some(Sent { due_ns, met_sync }) = self.sent.get(token as usize) else { return };
        let latency_ns = now_ns.saturating_sub(*due_ns);
        self.report.latency.record(latency_ns);
        self.is_storm |= self.syncing.is_on();
        match *met_sync || self.syncing.is_on() {
            true => self.in_sync.record(latency_ns),
            false => self.between.record(latency_ns),
        }
    }
}

impl Work for Reader {
    fn opening(&mut self, _: u64) -> Operation {
        Operation::OpenRead
    }

    /// The next read, if one is due; else until when to wait.
    fn next(&mut self, at: At, now_ns: u64) -> Next {
        let Some(arrivals) = &mut self.arrivals else { return Next::Over };
        let due_ns = if self.is_probe { now_ns } else { arrivals.due_ns() };
        if due_ns >= self.end_ns {
            return Next::Over;
        }
        if due_ns > now_ns {
            return Next::Wait(due_ns);
        }
        arrivals.advance();
        self.is_storm = self.syncing.is_on() || self.is_storm && at.outstanding > 0;
        if let Some(sent) = self.sent.get_mut(at.token as usize) {
            *sent = Sent { due_ns, met_sync: self.is_storm };
        }
        let offset_bytes = self.sequence.next_block() * self.stream.block_bytes;
        let offset_bytes = self.stream.from_bytes + offset_bytes;
        Next::Do(Operation::Read, offset_bytes, self.stream.block_bytes as u32)
    }

    fn done(&mut self, request: &Request, now_ns: u64) {
        match request.operation {
            Operation::OpenRead => {
                self.report.started_ns = now_ns;
                self.end_ns = now_ns.saturating_add(self.pass_ns);
                self.arrivals = Some(Arrivals::new(self.stream.rate_iops(), self.seed, now_ns));
            }
            Operation::Read => self.read(request.token, now_ns),
            _ => {}
        }
        self.report.ended_ns = now_ns;
    }
}
