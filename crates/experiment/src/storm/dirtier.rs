//! The writer: it dirties blocks at random places, evenly over the period, and then makes them
//! durable with one fsync. A remedy may have it send its data on in between (`dribble`).
//!
//! The first sync is half a period after the start, so that a pass of whole periods holds each sync
//! as a whole unless it takes longer than half of one; the blocks of a period are dirtied by then.

use super::reader::Syncing;
use super::{Plan, Stream, Tried};
use crate::on_file::{At, Next, Report, Work};
use crate::sequence::Sequence;
use model::job_role::JobRole;
use model::seam::{JobPlacement, Operation, Request};
use model::workload::{Dribble, EngineKind, Sending};
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Dirty,
    /// Sends data on, as the remedy wants it.
    Send,
    /// The period's end.
    Sync,
    /// The pass is over: what is dirty still is none of the next one's.
    Settle,
    Over,
}

/// The writer.
pub(super) struct Dirtier {
    phase: Phase,
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
            phase: Phase::Dirty,
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

    /// Whether what was written is to be sent on now.
    fn sent_on(&self) -> Phase {
        let is_due = |dribble: Dribble| self.unsent_bytes >= dribble.every_bytes;
        if self.dribble.is_some_and(is_due) { Phase::Send } else { Phase::Dirty }
    }

    /// The sync after one that ended late is a whole period after the one that was due.
    fn next_period(&mut self, now_ns: u64) {
        let due_ns = self.sync_at_ns;
        self.sync_at_ns = (due_ns + self.period_ns).max(now_ns);
        self.stretch_ns = (self.sync_at_ns - now_ns).max(1);
    }

    /// The operation of the present phase.
    fn operation(&self) -> Operation {
        match self.phase {
            Phase::Dirty => Operation::Write,
            Phase::Send => match self.dribble.map(|dribble| dribble.by) {
                Some(Sending::Fdatasync) => Operation::Fdatasync,
                _ => Operation::StartWriteback,
            },
            Phase::Sync | Phase::Settle | Phase::Over => Operation::Fsync,
        }
    }

    /// Whether a block is to be dirtied, or which phase it is by now; or until when to wait.
    fn plan_next(&mut self, now_ns: u64) -> Option<Next> {
        let end_ns = self.start_ns + self.pass_ns;
        if now_ns >= end_ns {
            self.phase = Phase::Settle;
            return None;
        }
        if self.dirtied >= self.blocks || now_ns >= self.sync_at_ns {
            if now_ns < self.sync_at_ns {
                return Some(Next::Wait(self.sync_at_ns.min(end_ns)));
            }
            self.phase = Phase::Sync;
            return None;
        }
        // So much of the stretch has gone that so many blocks are due.
        let share = self.dirtied as f64 / self.blocks as f64;
        let left_ns = (self.stretch_ns as f64 * (1.0 - share)) as u64;
        let due_ns = self.sync_at_ns.saturating_sub(left_ns);
        if due_ns > now_ns {
            return Some(Next::Wait(due_ns.min(end_ns)));
        }
        self.block = self.sequence.next_block();
        None
    }
}

impl Work for Dirtier {
    fn opening(&mut self, _: u64) -> Operation {
        Operation::OpenReadWrite
    }

    fn next(&mut self, _: At, now_ns: u64) -> Next {
        if self.phase == Phase::Dirty
            && let Some(wait) = self.plan_next(now_ns)
        {
            return wait;
        }
        self.began_ns = now_ns;
        match self.phase {
            Phase::Over => return Next::Over,
            Phase::Sync | Phase::Settle => self.syncing.begin(),
            Phase::Dirty | Phase::Send => {}
        }
        let is_write = self.phase == Phase::Dirty;
        let length_bytes = if is_write { self.stream.block_bytes as u32 } else { 0 };
        let offset_bytes = self.stream.from_bytes + self.block * self.stream.block_bytes;
        Next::Do(self.operation(), offset_bytes, length_bytes)
    }

    fn done(&mut self, request: &Request, now_ns: u64) {
        if request.operation == Operation::Close {
            return;
        }
        if self.phase != Phase::Settle {
            self.report.ended_ns = now_ns;
        }
        if request.operation == Operation::OpenReadWrite {
            (self.report.started_ns, self.start_ns) = (now_ns, now_ns);
            self.stretch_ns = (self.period_ns / 2).max(1);
            self.sync_at_ns = now_ns + self.stretch_ns;
            return;
        }
        let took_ns = now_ns.saturating_sub(self.began_ns);
        self.phase = match self.phase {
            Phase::Dirty => {
                self.report.latency.record(took_ns);
                self.dirtied += 1;
                self.unsent_bytes += self.stream.block_bytes;
                self.sent_on()
            }
            Phase::Send => {
                self.report.sync_ns += took_ns;
                self.unsent_bytes = 0;
                Phase::Dirty
            }
            Phase::Sync => {
                self.syncing.end();
                self.report.sync_ns += took_ns;
                (self.dirtied, self.unsent_bytes) = (0, 0);
                self.next_period(now_ns);
                Phase::Dirty
            }
            Phase::Settle | Phase::Over => {
                self.syncing.end();
                Phase::Over
            }
        };
    }
}
