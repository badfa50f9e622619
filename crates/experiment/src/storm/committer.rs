//! The committer: it overwrites a block and makes it durable, one commit after the other, as a
//! database's log does.

use super::arrivals::Arrivals;
use super::{Plan, Stream};
use crate::on_file::{At, Next, Report, Work};
use model::job_role::JobRole;
use model::seam::{Durability, JobPlacement, Operation, Request};
use model::workload::EngineKind;

/// The committer.
pub(super) struct Committer {
    stream: Stream,
    seed: u64,
    is_probe: bool,
    pass_ns: u64,
    end_ns: u64,
    arrivals: Option<Arrivals>,
    block: u64,
    due_ns: u64,
    owes_sync: bool,
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
            stream: plan.commit.clone(),
            seed,
            is_probe: false,
            pass_ns: plan.pass_ns(),
            end_ns: u64::MAX,
            arrivals: None,
            block: 0,
            due_ns: 0,
            owes_sync: false,
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
}

impl Work for Committer {
    fn opening(&mut self, _: u64) -> Operation {
        Operation::OpenReadWrite
    }

    fn next(&mut self, _: At, now_ns: u64) -> Next {
        let offset_bytes = self.stream.from_bytes + self.block * self.stream.block_bytes;
        if self.owes_sync {
            return Next::Do(Operation::Fdatasync, offset_bytes, 0);
        }
        let Some(arrivals) = self.arrivals.as_mut() else { return Next::Over };
        let due_ns = if self.is_probe { now_ns } else { arrivals.due_ns() };
        if due_ns >= self.end_ns {
            return Next::Over;
        }
        if due_ns > now_ns {
            return Next::Wait(due_ns);
        }
        arrivals.advance();
        (self.due_ns, self.sync_began_ns) = (due_ns, now_ns);
        Next::Do(Operation::Write, offset_bytes, self.stream.block_bytes as u32)
    }

    fn done(&mut self, request: &Request, now_ns: u64) {
        self.report.ended_ns = now_ns;
        match request.operation {
            Operation::OpenReadWrite => {
                self.report.started_ns = now_ns;
                self.end_ns = now_ns.saturating_add(self.pass_ns);
                self.arrivals = Some(Arrivals::new(self.stream.rate_iops(), self.seed, now_ns));
            }
            Operation::Write if !self.stream.is_durable => {
                (self.owes_sync, self.sync_began_ns) = (true, now_ns);
            }
            Operation::Write | Operation::Fdatasync => {
                self.owes_sync = false;
                self.report.latency.record(now_ns.saturating_sub(self.due_ns));
                self.report.sync_ns += now_ns.saturating_sub(self.sync_began_ns);
                self.block = (self.block + 1) % self.stream.blocks();
            }
            _ => {}
        }
    }
}
