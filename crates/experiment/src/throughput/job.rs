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
use crate::on_file::Measured;
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
    /// From the intended start.
    pub(crate) latency: Histogram,
    /// From the submission; only in an open loop, otherwise it is `latency`.
    pub(crate) service: Option<Box<Histogram>>,
    /// Of the syncs between writes, from the submission; only where there are some.
    pub(crate) sync: Option<Box<Histogram>>,
    /// Time in all syncs, the final one included.
    pub(crate) sync_ns: u64,
    pub(crate) error: Option<StreamError>,
}

impl StreamReport {
    pub(crate) fn service(&self) -> &Histogram {
        self.service.as_deref().unwrap_or(&self.latency)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Open,
    Stream,
    Sync,
    Close,
    Done,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    intended_ns: u64,
    submitted_ns: u64,
    request: Request,
}

/// One stream.
pub(crate) struct Stream {
    phase: Phase,
    /// A request of the present phase (open, final sync, close) is on its way.
    is_edge_sent: bool,
    opening: Operation,
    access: Access,
    block_bytes: u32,
    read_percent: u64,
    /// Between writes: which call, after how many of them (0: never).
    sync: Operation,
    sync_every: u32,
    final_sync: bool,
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
    slots: Vec<Slot>,
    free: Vec<u32>,
    report: StreamReport,
}

const IDLE: Slot = Slot {
    intended_ns: 0,
    submitted_ns: 0,
    request: Request { token: 0, operation: Operation::Close, offset_bytes: 0, length_bytes: 0 },
};

impl Stream {
    pub(crate) fn new(program: &Program, plan: StreamPlan) -> Self {
        let blocks = (plan.file_bytes / program.bs).max(1);
        let is_endless = program.time_based && program.runtime.is_some();
        let (sync, sync_every) = program.sync().unwrap_or((Operation::Fdatasync, 0));
        Self {
            phase: Phase::Open,
            is_edge_sent: false,
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
            slots: vec![IDLE; program.iodepth as usize],
            free: (0..program.iodepth).rev().collect(),
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

    pub(crate) fn into_report(self) -> StreamReport {
        self.report
    }

    /// The requests between open and close.
    #[inline(always)]
    fn stream<C: Clock>(&mut self, clock: &C, completion: Option<TimedCompletion>) -> Turn {
        let mut now_ns = None;
        if let Some(completion) = completion {
            self.complete(completion);
            // At depth 1 the completion was found just now; among several it may have waited.
            now_ns = (self.slots.len() == 1).then_some(completion.found_ns);
        }
        if (self.remaining > 0 || self.owes_sync()) && !self.free.is_empty() {
            return self.send(now_ns.unwrap_or_else(|| clock.now_ns()));
        }
        if self.free.len() < self.slots.len() {
            return Turn::Wait { min: 1, until_ns: u64::MAX };
        }
        self.phase = Phase::Sync;
        self.edge(clock, None)
    }

    #[inline(always)]
    fn complete(&mut self, completion: TimedCompletion) {
        let Some(slot) = self.slots.get(completion.token as usize).copied() else { return };
        let now_ns = completion.found_ns;
        self.free.push(slot.request.token);
        let request = slot.request;
        if request.operation == self.sync {
            self.synced(now_ns.saturating_sub(slot.submitted_ns));
            self.note_error(request, completion.result, 0);
            return;
        }
        if completion.result != i64::from(request.length_bytes) {
            self.note_error(request, completion.result, i64::from(request.length_bytes));
            return;
        }
        self.report.latency.record(now_ns.saturating_sub(slot.intended_ns));
        if let Some(service) = &mut self.report.service {
            service.record(now_ns.saturating_sub(slot.submitted_ns));
        }
        self.report.operations += 1;
        if request.operation == Operation::Read {
            self.report.bytes_read += u64::from(request.length_bytes);
        } else {
            self.report.bytes_written += u64::from(request.length_bytes);
        }
    }

    /// A sync between writes took so long.
    fn synced(&mut self, took_ns: u64) {
        self.report.sync_ns += took_ns;
        if let Some(sync) = &mut self.report.sync {
            sync.record(took_ns);
        }
    }

    /// The next request of the stream, or the wait until it is due.
    #[inline(always)]
    fn send(&mut self, now_ns: u64) -> Turn {
        if self.owes_sync() {
            self.writes_since_sync = 0;
            return self.submit(self.sync, 0, 0, now_ns, now_ns);
        }
        let intended_ns = match self.gap_ns {
            None => now_ns,
            Some(gap_ns) => self.stream_started_ns + (self.sent as f64 * gap_ns) as u64,
        };
        // What was due before the end is sent after it, or the late ones would be those that are
        // missing; but for no longer than the run itself.
        if intended_ns >= self.end_ns || now_ns >= self.end_ns.saturating_add(self.grace_ns()) {
            self.remaining = 0;
            return Turn::Wait {
                min: u32::from(self.free.len() < self.slots.len()),
                until_ns: now_ns,
            };
        }
        if intended_ns > now_ns {
            return Turn::Wait { min: 1, until_ns: intended_ns };
        }
        let operation = self.operation();
        if operation == Operation::Write {
            self.writes_since_sync += 1;
        }
        let offset_bytes =
            self.base_bytes + self.sequence.next_block() * u64::from(self.block_bytes);
        self.remaining -= 1;
        self.sent += 1;
        self.submit(operation, offset_bytes, self.block_bytes, intended_ns, now_ns)
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

    #[inline(always)]
    fn submit(
        &mut self,
        operation: Operation,
        offset_bytes: u64,
        length_bytes: u32,
        intended_ns: u64,
        submitted_ns: u64,
    ) -> Turn {
        let token = self.free.pop().unwrap_or(0);
        let request = Request { token, operation, offset_bytes, length_bytes };
        if let Some(slot) = self.slots.get_mut(token as usize) {
            *slot = Slot { intended_ns, submitted_ns, request };
        }
        Turn::Submit(request)
    }

    /// Keeps the first error and stops sending.
    #[cold]
    fn note_error(&mut self, request: Request, result: i64, wanted: i64) {
        if result == wanted {
            return;
        }
        let errno = i32::try_from(-result.min(0)).unwrap_or(0);
        self.report.error.get_or_insert(StreamError {
            operation: request.operation,
            offset_bytes: request.offset_bytes,
            errno,
        });
        self.remaining = 0;
    }

    /// Open, final sync and close: one request each, waited for.
    #[cold]
    fn edge<C: Clock>(&mut self, clock: &C, completion: Option<TimedCompletion>) -> Turn {
        if let Some(completion) = completion {
            self.edge_done(completion);
        }
        if self.is_edge_sent {
            return Turn::Wait { min: 1, until_ns: u64::MAX };
        }
        let operation = match self.phase {
            Phase::Open => self.opening,
            Phase::Stream => return self.stream(clock, None),
            Phase::Sync if self.final_sync && self.report.error.is_none() => Operation::Fdatasync,
            Phase::Sync | Phase::Close => Operation::Close,
            Phase::Done => return Turn::Done,
        };
        if operation == Operation::Close {
            self.phase = Phase::Close;
        }
        let now_ns = clock.now_ns();
        if self.phase == Phase::Open {
            self.report.started_ns = now_ns;
        }
        self.is_edge_sent = true;
        self.submit(operation, 0, 0, now_ns, now_ns)
    }

    /// An open, the final sync or a close is completed: on to the next phase.
    fn edge_done(&mut self, completion: TimedCompletion) {
        self.is_edge_sent = false;
        let now_ns = completion.found_ns;
        let Some(slot) = self.slots.get(completion.token as usize).copied() else { return };
        self.free.push(slot.request.token);
        self.note_error(slot.request, completion.result.min(0), 0);
        self.report.ended_ns = now_ns;
        self.phase = match self.phase {
            // What could not be opened need not be closed.
            Phase::Open if self.report.error.is_some() => Phase::Done,
            Phase::Open => {
                self.stream_started_ns = now_ns;
                self.end_ns = now_ns.saturating_add(self.runtime_ns);
                Phase::Stream
            }
            Phase::Sync => {
                self.report.sync_ns += now_ns.saturating_sub(slot.submitted_ns);
                Phase::Close
            }
            _ => Phase::Done,
        };
    }
}

impl Job for Stream {
    #[inline(always)]
    fn turn<C: Clock>(&mut self, clock: &C, completion: Option<TimedCompletion>) -> Turn {
        if self.phase == Phase::Stream {
            self.stream(clock, completion)
        } else {
            self.edge(clock, completion)
        }
    }
}

impl Measured for Stream {
    fn error(&self) -> Option<StreamError> {
        self.report.error
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
