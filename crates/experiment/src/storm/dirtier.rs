//! The writer: it dirties blocks at random places, evenly over the period, and then makes them
//! durable with one fsync. A remedy may have it send its data on in between (`dribble`).
//!
//! The first sync is half a period after the start, so that a pass of whole periods holds each sync
//! as a whole unless it takes longer than half of one; the blocks of a period are dirtied by then.

use super::reader::Syncing;
use super::{Plan, Stream, Tried};
use crate::failure::StreamError;
use crate::sequence::Sequence;
use model::histogram::Histogram;
use model::job_role::JobRole;
use model::seam::{Clock, Job, JobPlacement, Operation, Request, TimedCompletion, Turn};
use model::workload::{Dribble, EngineKind, Sending};
use std::path::PathBuf;
use std::sync::Arc;

/// What the writer has to say when it is over.
#[derive(Debug, Clone, Default)]
pub(super) struct Report {
    pub(super) started_ns: u64,
    pub(super) ended_ns: u64,
    /// Of the writes, without what makes them durable.
    pub(super) latency: Histogram,
    /// In the period's fsyncs, and in what sends data on in between.
    pub(super) sync_ns: u64,
    pub(super) syncs: u64,
    pub(super) error: Option<StreamError>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Open,
    Idle,
    Write,
    /// Sends data on, as the remedy wants it.
    Send,
    /// The period's end.
    Sync,
    /// The pass is over: what is dirty still is none of the next one's.
    Settle,
    Close,
    Done,
}

/// The writer.
pub(super) struct Dirtier {
    phase: Phase,
    is_sent: bool,
    stream: Stream,
    dribble: Option<Dribble>,
    sequence: Sequence,
    block: u64,
    period_ns: u64,
    pass_ns: u64,
    start_ns: u64,
    /// Blocks of a period, and those dirtied since the last sync.
    blocks: u64,
    dirtied: u64,
    /// Bytes since data were sent on.
    unsent_bytes: u64,
    /// When the next sync is due, and how long its blocks have, ns.
    sync_at_ns: u64,
    stretch_ns: u64,
    began_ns: u64,
    syncing: Arc<Syncing>,
    pub(super) report: Report,
}

/// Where it writes.
pub(super) fn placement(plan: &Plan, tried: &Tried, group: Option<PathBuf>) -> JobPlacement {
    JobPlacement {
        role: Some(JobRole::Writer),
        file: super::WRITE_FILE.to_owned(),
        engine: EngineKind::Psync,
        direct: tried.writer.direct,
        block_bytes: plan.write.block_bytes as u32,
        file_bytes: plan.write.file_bytes,
        priority: tried.writer.priority,
        group,
        ..JobPlacement::default()
    }
}

impl Dirtier {
    pub(super) fn new(plan: &Plan, tried: &Tried, seed: u64, syncing: Arc<Syncing>) -> Self {
        let blocks = plan.write.rate_iops() * plan.period_ns as f64 / 1e9;
        Self {
            phase: Phase::Open,
            is_sent: false,
            stream: plan.write.clone(),
            dribble: tried.writer.dribble,
            sequence: Sequence::new(plan.write.blocks(), true, seed),
            block: 0,
            period_ns: plan.period_ns,
            pass_ns: plan.pass_ns(),
            start_ns: 0,
            blocks: (blocks.round() as u64).max(1),
            dirtied: 0,
            unsent_bytes: 0,
            sync_at_ns: 0,
            stretch_ns: 1,
            began_ns: 0,
            syncing,
            report: Report::default(),
        }
    }

    fn operation(&self) -> Option<Operation> {
        match self.phase {
            Phase::Open => Some(Operation::OpenReadWrite),
            Phase::Write => Some(Operation::Write),
            Phase::Send => Some(match self.dribble.map(|dribble| dribble.by) {
                Some(Sending::Fdatasync) => Operation::Fdatasync,
                _ => Operation::StartWriteback,
            }),
            Phase::Sync | Phase::Settle => Some(Operation::Fsync),
            Phase::Close => Some(Operation::Close),
            Phase::Idle | Phase::Done => None,
        }
    }

    fn complete(&mut self, completion: TimedCompletion) {
        self.is_sent = false;
        let now_ns = completion.found_ns;
        if !matches!(self.phase, Phase::Settle | Phase::Close) {
            self.report.ended_ns = now_ns;
        }
        if matches!(self.phase, Phase::Sync | Phase::Settle) {
            self.syncing.end();
        }
        let wanted = if self.phase == Phase::Write { self.stream.block_bytes as i64 } else { 0 };
        if completion.result != wanted && self.phase != Phase::Close {
            self.fail(completion.result);
            return;
        }
        let took_ns = now_ns.saturating_sub(self.began_ns);
        self.phase = match self.phase {
            Phase::Open => {
                self.report.started_ns = now_ns;
                self.start_ns = now_ns;
                self.stretch_ns = (self.period_ns / 2).max(1);
                self.sync_at_ns = now_ns + self.stretch_ns;
                Phase::Idle
            }
            Phase::Write => {
                self.report.latency.record(took_ns);
                self.dirtied += 1;
                self.unsent_bytes += self.stream.block_bytes;
                self.sent_on()
            }
            Phase::Send => {
                self.report.sync_ns += took_ns;
                self.unsent_bytes = 0;
                Phase::Idle
            }
            Phase::Sync => {
                self.report.sync_ns += took_ns;
                self.report.syncs += 1;
                (self.dirtied, self.unsent_bytes) = (0, 0);
                self.next_period(now_ns);
                Phase::Idle
            }
            Phase::Settle => Phase::Close,
            Phase::Idle | Phase::Close | Phase::Done => Phase::Done,
        };
    }

    /// Whether what was written is to be sent on now.
    fn sent_on(&self) -> Phase {
        let is_due = |dribble: Dribble| self.unsent_bytes >= dribble.every_bytes;
        if self.dribble.is_some_and(is_due) { Phase::Send } else { Phase::Idle }
    }

    /// The sync after one that ended late is a whole period after the one that was due.
    fn next_period(&mut self, now_ns: u64) {
        let due_ns = self.sync_at_ns;
        self.sync_at_ns = (due_ns + self.period_ns).max(now_ns);
        self.stretch_ns = (self.sync_at_ns - now_ns).max(1);
    }

    fn fail(&mut self, result: i64) {
        let errno = i32::try_from(-result.min(0)).unwrap_or(0);
        let offset_bytes = self.stream.from_bytes + self.block * self.stream.block_bytes;
        let of = |operation| StreamError { operation, offset_bytes, errno };
        self.report.error = self.report.error.or(self.operation().map(of));
        self.phase = if self.phase == Phase::Open { Phase::Done } else { Phase::Close };
    }

    /// What to do now; none where something is to be sent.
    fn plan_next(&mut self, now_ns: u64) -> Option<Turn> {
        let end_ns = self.start_ns + self.pass_ns;
        if now_ns >= end_ns {
            self.phase = Phase::Settle;
            return None;
        }
        if self.dirtied >= self.blocks || now_ns >= self.sync_at_ns {
            if now_ns < self.sync_at_ns {
                return Some(Turn::Wait { min: 1, until_ns: self.sync_at_ns.min(end_ns) });
            }
            self.phase = Phase::Sync;
            return None;
        }
        // So much of the stretch has gone that so many blocks are due.
        let share = self.dirtied as f64 / self.blocks as f64;
        let left_ns = (self.stretch_ns as f64 * (1.0 - share)) as u64;
        let due_ns = self.sync_at_ns.saturating_sub(left_ns);
        if due_ns > now_ns {
            return Some(Turn::Wait { min: 1, until_ns: due_ns.min(end_ns) });
        }
        self.block = self.sequence.next_block();
        self.phase = Phase::Write;
        None
    }
}

impl Job for Dirtier {
    fn turn<C: Clock>(&mut self, clock: &C, completion: Option<TimedCompletion>) -> Turn {
        if let Some(completion) = completion {
            self.complete(completion);
        }
        if self.is_sent {
            return Turn::Wait { min: 1, until_ns: u64::MAX };
        }
        if self.phase == Phase::Idle
            && let Some(wait) = self.plan_next(clock.now_ns())
        {
            return wait;
        }
        let Some(operation) = self.operation() else { return Turn::Done };
        self.is_sent = true;
        self.began_ns = clock.now_ns();
        if matches!(self.phase, Phase::Sync | Phase::Settle) {
            self.syncing.begin();
        }
        let is_write = operation == Operation::Write;
        let length_bytes = if is_write { self.stream.block_bytes as u32 } else { 0 };
        let offset_bytes = self.stream.from_bytes + self.block * self.stream.block_bytes;
        Turn::Submit(Request { token: 0, operation, offset_bytes, length_bytes })
    }
}
