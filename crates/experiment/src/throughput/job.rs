//! One stream of a program as a state machine: open or create, a stream of
//! requests with up to `iodepth` outstanding, a final fdatasync, close.
//!
//! The published programs are loops of this kind (Kridle & McKusick 1983,
//! appendix A). A stream with `rate_iops` is an open loop: each request has an
//! intended start on a schedule that waits for nobody, and its latency counts
//! from there (no coordinated omission), beside the service time.
//!
//! Stamps: a completion's time is when its subject found it. In a closed loop at depth 1 a request
//! starts at the moment at which its predecessor was found, so that one reading of the clock serves
//! both; the harness's own cost between the two is inside the latency and is published as
//! `harness_ns_per_operation`.

use crate::failure::StreamError;
use crate::on_file::{At, LATER, Measured, Next, OnFile, Work};
use crate::seconds::Seconds;
use crate::sequence::{Sequence, mix};
use model::histogram::Histogram;
use model::seam::{Clock, Job, Operation, Request, TimedCompletion, Turn};
use model::workload::{Access, Program};

/// What a stream does beyond its program: what the plan decides.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StreamPlan {
    pub(crate) file_bytes: u64,
    /// Where the job's own part begins: on a device, several jobs share one file.
    pub(crate) base_bytes: u64,
    /// fdatasync at the end, inside the timed part.
    pub(crate) final_sync: bool,
    /// The seed of this job's order and mix.
    pub(crate) seed: u64,
}

/// What a stream has to say when it is over.
#[derive(Debug, Clone, Default)]
pub(crate) struct StreamReport {
    pub(crate) started_ns: u64,
    pub(crate) ended_ns: u64,
    pub(crate) bytes_read: u64,
    pub(crate) bytes_written: u64,
    pub(crate) operations: u64,
    /// Of these, what each second had.
    pub(crate) seconds: Seconds,
    /// From the intended start.
    pub(crate) latency: Histogram,
    /// From the submission; only in an open loop, otherwise it is `latency`.
    pub(crate) service: Option<Box<Histogram>>,
    /// Of the syncs between writes, from the submission; only where there are some.
    pub(crate) sync: Option<Box<Histogram>>,
    /// Time in all syncs, the final one included.
    pub(crate) sync_ns: u64,
}

impl StreamReport {
    pub(crate) fn service(&self) -> &Histogram {
        self.service.as_deref().unwrap_or(&self.latency)
    }

    /// Bytes and requests so far.
    fn totals(&self) -> [u64; 2] {
        [self.bytes_read + self.bytes_written, self.operations]
    }

    #[cold]
    fn second_over(&mut self, now_ns: u64) {
        self.seconds.pass(now_ns, self.totals());
    }

    #[cold]
    fn end(&mut self, now_ns: u64) {
        self.ended_ns = now_ns;
        self.seconds.end(now_ns, self.totals());
    }
}

/// When a request was to be sent, and when it was.
#[derive(Debug, Clone, Copy, Default)]
struct Sent {
    intended_ns: u64,
    submitted_ns: u64,
}

/// One stream.
pub(crate) struct Stream {
    opening: Operation,
    access: Access,
    block_bytes: u32,
    read_percent: u64,
    /// Between writes: which call, after how many of them (0: never).
    sync: Operation,
    sync_every: u32,
    /// The last sync is to come.
    final_sync: bool,
    /// It is on its way.
    is_final: bool,
    seed: u64,
    base_bytes: u64,
    sequence: Sequence,
    /// Requests still to send.
    remaining: u64,
    sent: u64,
    writes_since_sync: u32,
    runtime_ns: u64,
    end_ns: u64,
    gap_ns: Option<f64>,
    stream_started_ns: u64,
    by_token: Vec<Sent>,
    report: StreamReport,
}

impl Stream {
    /// The job.
    pub(crate) fn job(program: &Program, plan: StreamPlan) -> OnFile<Self> {
        OnFile::new(Self::new(program, plan), program.iodepth)
    }

    fn new(program: &Program, plan: StreamPlan) -> Self {
        let blocks = (plan.file_bytes / program.bs).max(1);
        let is_endless = program.time_based && program.runtime.is_some();
        let (sync, sync_every) = program.sync().unwrap_or((Operation::Fdatasync, 0));
        Self {
            opening: match program.rw {
                Access::Read | Access::RandRead => Operation::OpenRead,
                Access::Write => Operation::Create,
                Access::Rewrite | Access::Rw | Access::RandWrite | Access::RandRw => {
                    Operation::OpenReadWrite
                }
            },
            access: program.rw,
            block_bytes: u32::try_from(program.bs).unwrap_or(u32::MAX),
            read_percent: u64::from(program.rwmixread),
            sync,
            sync_every,
            final_sync: plan.final_sync && program.rw.writes(),
            is_final: false,
            seed: plan.seed,
            base_bytes: plan.base_bytes,
            sequence: Sequence::new(blocks, program.rw.is_random(), plan.seed),
            remaining: if is_endless { u64::MAX } else { blocks },
            sent: 0,
            writes_since_sync: 0,
            runtime_ns: program
                .runtime
                .map_or(u64::MAX, |t| u64::try_from(t.as_nanos()).unwrap_or(u64::MAX)),
            end_ns: u64::MAX,
            gap_ns: program.rate_iops.map(|rate| 1e9 / rate),
            stream_started_ns: 0,
            by_token: vec![Sent::default(); program.iodepth as usize],
            report: StreamReport {
                service: program.rate_iops.map(|_| Box::default()),
                sync: program.sync().map(|_| Box::default()),
                ..StreamReport::default()
            },
        }
    }

    pub(crate) fn report(&self) -> &StreamReport {
        &self.report
    }

    /// The final sync, once all others are complete; then the end.
    #[cold]
    fn last(&mut self, at: At, now_ns: u64) -> Next {
        if !self.final_sync {
            return Next::Over;
        }
        if at.outstanding > 0 {
            return LATER;
        }
        (self.final_sync, self.is_final) = (false, true);
        self.note(at, now_ns, now_ns);
        Next::Do(Operation::Fdatasync, 0, 0)
    }

    /// A request is sent.
    #[inline(always)]
    fn note(&mut self, at: At, intended_ns: u64, submitted_ns: u64) {
        if let Some(sent) = self.by_token.get_mut(at.token as usize) {
            *sent = Sent { intended_ns, submitted_ns };
        }
    }

    /// A sync took so long: between writes, or at the end.
    #[cold]
    fn synced(&mut self, took_ns: u64) {
        self.report.sync_ns += took_ns;
        if let Some(sync) = self.report.sync.as_mut().filter(|_| !self.is_final) {
            sync.record(took_ns);
        }
    }

    /// How long an open loop that is late may go on.
    #[inline(always)]
    fn grace_ns(&self) -> u64 {
        if self.gap_ns.is_some() { self.runtime_ns } else { 0 }
    }

    /// Whether fio's `fsync=N` or `fdatasync=N` is due.
    #[inline(always)]
    fn owes_sync(&self) -> bool {
        self.sync_every > 0 && self.writes_since_sync >= self.sync_every
    }

    /// Read or write, by the access and the mix.
    #[inline(always)]
    fn operation(&self) -> Operation {
        let reads = match self.access {
            Access::Read | Access::RandRead => true,
            Access::Write | Access::Rewrite | Access::RandWrite => false,
            Access::Rw | Access::RandRw => mix(!self.seed, self.sent) % 100 < self.read_percent,
        };
        if reads { Operation::Read } else { Operation::Write }
    }
}

impl Work for Stream {
    fn opening(&mut self, now_ns: u64) -> Operation {
        self.report.started_ns = now_ns;
        self.report.seconds.start(now_ns);
        self.opening
    }

    /// The next request of the stream, or the wait until it is due.
    #[inline(always)]
    fn next(&mut self, at: At, now_ns: u64) -> Next {
        if self.owes_sync() {
            self.writes_since_sync = 0;
            self.note(at, now_ns, now_ns);
            return Next::Do(self.sync, 0, 0);
        }
        if self.remaining == 0 {
            return self.last(at, now_ns);
        }
        let intended_ns = match self.gap_ns {
            None => now_ns,
            Some(gap_ns) => self.stream_started_ns + (self.sent as f64 * gap_ns) as u64,
        };
        // What was due before the end is sent after it, or the late ones would be those that are
        // missing; but for no longer than the run itself.
        if intended_ns >= self.end_ns || now_ns >= self.end_ns.saturating_add(self.grace_ns()) {
            self.remaining = 0;
            return self.last(at, now_ns);
        }
        if intended_ns > now_ns {
            return Next::Wait(intended_ns);
        }
        let operation = self.operation();
        if operation == Operation::Write {
            self.writes_since_sync += 1;
        }
        let offset_bytes =
            self.base_bytes + self.sequence.next_block() * u64::from(self.block_bytes);
        self.remaining -= 1;
        self.sent += 1;
        self.note(at, intended_ns, now_ns);
        Next::Do(operation, offset_bytes, self.block_bytes)
    }

    #[inline(always)]
    fn done(&mut self, request: &Request, now_ns: u64) {
        let sent = self.by_token.get(request.token as usize).copied().unwrap_or_default();
        let bytes = u64::from(request.length_bytes);
        if now_ns > self.report.seconds.ends_ns {
            self.report.second_over(now_ns);
        }
        match request.operation {
            Operation::Read => self.report.bytes_read += bytes,
            Operation::Write => self.report.bytes_written += bytes,
            Operation::Close => return self.report.end(now_ns),
            operation if operation == self.opening => {
                (self.stream_started_ns, self.report.ended_ns) = (now_ns, now_ns);
                self.end_ns = now_ns.saturating_add(self.runtime_ns);
                return;
            }
            _ => return self.synced(now_ns.saturating_sub(sent.submitted_ns)),
        }
        self.report.operations += 1;
        self.report.latency.record(now_ns.saturating_sub(sent.intended_ns));
        if let Some(service) = &mut self.report.service {
            service.record(now_ns.saturating_sub(sent.submitted_ns));
        }
    }
}

/// Removes the job's file: the script's `rm -f`.
#[derive(Default)]
pub(crate) struct Remove {
    is_sent: bool,
    error: Option<StreamError>,
}

impl Job for Remove {
    fn turn<C: Clock>(&mut self, _clock: &C, completion: Option<TimedCompletion>) -> Turn {
        let operation = Operation::Unlink;
        match completion {
            Some(completion) => {
                let errno = i32::try_from(-completion.result.min(0)).unwrap_or(0);
                let error = StreamError { operation, offset_bytes: 0, errno };
                self.error = (errno != 0).then_some(error);
                Turn::Done
            }
            None if std::mem::replace(&mut self.is_sent, true) => {
                Turn::Wait { min: 1, until_ns: u64::MAX }
            }
            None => Turn::Submit(Request { token: 0, operation, offset_bytes: 0, length_bytes: 0 }),
        }
    }
}

impl Measured for Remove {
    fn error(&self) -> Option<StreamError> {
        self.error
    }
}
