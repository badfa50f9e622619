//! The committer: it overwrites a block and makes it durable, one commit after the other, as a
//! database's log does.

use super::arrivals::Arrivals;
use super::{Plan, Stream};
use crate::failure::StreamError;
use model::histogram::Histogram;
use model::job_role::JobRole;
use model::seam::{
    Clock, Durability, Job, JobPlacement, Operation, Request, TimedCompletion, Turn,
};
use model::workload::EngineKind;

/// What the committer has to say when it is over.
#[derive(Debug, Clone, Default)]
pub(super) struct Report {
    pub(super) started_ns: u64,
    pub(super) ended_ns: u64,
    /// From when they were due.
    pub(super) latency: Histogram,
    /// In what makes it durable.
    pub(super) sync_ns: u64,
    pub(super) error: Option<StreamError>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Open,
    Idle,
    Write,
    Sync,
    Close,
    Done,
}

/// The committer.
pub(super) struct Committer {
    phase: Phase,
    is_sent: bool,
    stream: Stream,
    seed: u64,
    is_probe: bool,
    pass_ns: u64,
    end_ns: u64,
    arrivals: Option<Arrivals>,
    block: u64,
    due_ns: u64,
    /// When what makes it durable began.
    sync_began_ns: u64,
    pub(super) report: Report,
}

/// Where it writes.
pub(super) fn placement(plan: &Plan) -> JobPlacement {
    JobPlacement {
        role: Some(JobRole::Committer),
        file: super::COMMIT_FILE.to_owned(),
        engine: EngineKind::Psync,
        durability: match plan.commit.is_durable {
            true => Durability::OpenDsync,
            false => Durability::OnRequest,
        },
        block_bytes: plan.commit.block_bytes as u32,
        file_bytes: plan.commit.file_bytes,
        ..JobPlacement::default()
    }
}

impl Committer {
    pub(super) fn new(plan: &Plan, seed: u64) -> Self {
        Self {
            phase: Phase::Open,
            is_sent: false,
            stream: plan.commit.clone(),
            seed,
            is_probe: false,
            pass_ns: plan.pass_ns(),
            end_ns: u64::MAX,
            arrivals: None,
            block: 0,
            due_ns: 0,
            sync_began_ns: 0,
            report: Report::default(),
        }
    }

    /// One commit after the other, for a time: what the target can do.
    pub(super) fn probe(plan: &Plan, pass_ns: u64) -> Self {
        let mut committer = Self::new(plan, plan.seed);
        committer.stream.rate = Some(1e9);
        (committer.is_probe, committer.pass_ns) = (true, pass_ns);
        committer
    }

    fn operation(&self) -> Option<Operation> {
        match self.phase {
            Phase::Open => Some(Operation::OpenReadWrite),
            Phase::Write => Some(Operation::Write),
            Phase::Sync => Some(Operation::Fdatasync),
            Phase::Close => Some(Operation::Close),
            Phase::Idle | Phase::Done => None,
        }
    }

    fn offset_bytes(&self) -> u64 {
        self.stream.from_bytes + self.block * self.stream.block_bytes
    }

    fn complete(&mut self, completion: TimedCompletion) {
        self.is_sent = false;
        let now_ns = completion.found_ns;
        self.report.ended_ns = now_ns;
        let wanted = if self.phase == Phase::Write { self.stream.block_bytes as i64 } else { 0 };
        if completion.result != wanted && self.phase != Phase::Close {
            let errno = i32::try_from(-completion.result.min(0)).unwrap_or(0);
            let offset_bytes = self.offset_bytes();
            let error =
                self.operation().map(|operation| StreamError { operation, offset_bytes, errno });
            self.report.error = self.report.error.or(error);
            self.phase = if self.phase == Phase::Open { Phase::Done } else { Phase::Close };
            return;
        }
        self.phase = match self.phase {
            Phase::Open => {
                self.report.started_ns = now_ns;
                self.end_ns = now_ns.saturating_add(self.pass_ns);
                self.arrivals = Some(Arrivals::new(self.stream.rate_iops(), self.seed, now_ns));
                Phase::Idle
            }
            Phase::Write if !self.stream.is_durable => {
                self.sync_began_ns = now_ns;
                Phase::Sync
            }
            Phase::Write | Phase::Sync => {
                self.report.latency.record(now_ns.saturating_sub(self.due_ns));
                self.report.sync_ns += now_ns.saturating_sub(self.sync_began_ns);
                self.block = (self.block + 1) % self.stream.blocks();
                Phase::Idle
            }
            Phase::Idle | Phase::Close | Phase::Done => Phase::Done,
        };
    }

    /// Whether a commit is due; none where it is over. Else until when to wait.
    fn due(&mut self, now_ns: u64) -> Option<Turn> {
        let arrivals = self.arrivals.as_mut()?;
        let due_ns = if self.is_probe { now_ns } else { arrivals.due_ns() };
        if due_ns >= self.end_ns {
            self.phase = Phase::Close;
            return None;
        }
        if due_ns > now_ns {
            return Some(Turn::Wait { min: 1, until_ns: due_ns });
        }
        self.due_ns = due_ns;
        arrivals.advance();
        self.sync_began_ns = now_ns;
        self.phase = Phase::Write;
        None
    }
}

impl Job for Committer {
    fn turn<C: Clock>(&mut self, clock: &C, completion: Option<TimedCompletion>) -> Turn {
        if let Some(completion) = completion {
            self.complete(completion);
        }
        if self.is_sent {
            return Turn::Wait { min: 1, until_ns: u64::MAX };
        }
        if self.phase == Phase::Idle
            && let Some(wait) = self.due(clock.now_ns())
        {
            return wait;
        }
        let Some(operation) = self.operation() else { return Turn::Done };
        self.is_sent = true;
        let is_write = operation == Operation::Write;
        let length_bytes = if is_write { self.stream.block_bytes as u32 } else { 0 };
        let offset_bytes = self.offset_bytes();
        Turn::Submit(Request { token: 0, operation, offset_bytes, length_bytes })
    }
}
