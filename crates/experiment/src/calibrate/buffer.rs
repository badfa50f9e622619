//! A write buffer from outside: writes as fast as they are taken, first from an empty buffer on,
//! then after pauses. While the buffer has room they are taken as fast as the link allows, and then
//! as fast as it drains; after a pause it has as much room again as drained meanwhile.
//!
//! Method: bursts of writes, as SSDcheck (Kim et al., MICRO 2018) finds a buffer by. Non-goals: the
//! fit (crate `analyze`), buffers that take longer than a burst to fill.

use super::{FILE, Plan};
use crate::failure::StreamError;
use crate::sequence::mix;
use model::calibration::Burst;
use model::engine::EngineKind;
use model::seam::{
    Clock, Job, JobPlacement, Operation, Request, Subject, SubjectError, TimedCompletion, Turn,
};

/// Of each write, and so many outstanding: little against a buffer, enough for a link.
const BLOCK_BYTES: u64 = 64 << 10;
const DEPTH: u32 = 4;
/// The device has so long to become quiet after the flush that empties its buffer.
const QUIET_NS: u64 = 500_000_000;
/// The first burst.
const LONG_NS: u64 = 2_000_000_000;
/// The others, and the pauses before them: drains from tens of MB to tens of GB a second show in
/// some of them.
const SHORT_NS: u64 = 300_000_000;
const PAUSES_NS: [u64; 5] = [2_000_000, 8_000_000, 32_000_000, 128_000_000, 512_000_000];
/// More completions than these say nothing more.
const COUNT_MOST: usize = 200_000;

/// What a round takes.
pub(super) fn round_ns() -> u64 {
    let short_ns: u64 = PAUSES_NS.iter().map(|pause_ns| pause_ns + SHORT_NS).sum();
    QUIET_NS + LONG_NS + short_ns
}

/// Bursts of all rounds.
/// Errors: whatever of the subject's was refused or failed, or an interruption.
pub(super) fn bursts<S: Subject>(
    subject: &mut S,
    plan: &Plan,
    begins: &mut dyn FnMut(&str),
) -> Result<Vec<Burst>, SubjectError> {
    let mut all = Vec::new();
    for round in 0..plan.burst_rounds {
        begins(&format!("the write buffer: round {} of {}", round + 1, plan.burst_rounds));
        let placement = JobPlacement {
            file: FILE.to_owned(),
            engine: EngineKind::Libaio,
            direct: true,
            depth: DEPTH,
            block_bytes: BLOCK_BYTES as u32,
            file_bytes: plan.size_bytes,
            ..JobPlacement::default()
        };
        let job = Bursts::new(plan, round);
        let mut done = subject.run(vec![(placement.clone(), job)])?;
        let job = done.pop().map(|(job, _)| job);
        let job = job.ok_or_else(|| SubjectError::Failed("a burst did not complete".into()))?;
        if let Some(error) = job.error {
            return Err(error.on(&placement, "bursts of writes"));
        }
        all.extend(job.bursts);
    }
    Ok(all)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Open,
    Flush,
    /// Until this time of the clock.
    Pause(u64),
    Write,
    Close,
    Done,
}

/// One round.
struct Bursts {
    round: u32,
    phase: Phase,
    /// The request that opens, flushes or closes is under way.
    is_edge_sent: bool,
    blocks: u64,
    first_block: u64,
    sent: u64,
    free: Vec<u32>,
    began_ns: u64,
    /// The pause that comes next.
    next: usize,
    bursts: Vec<Burst>,
    error: Option<StreamError>,
}

impl Bursts {
    fn new(plan: &Plan, round: u32) -> Self {
        let blocks = (plan.size_bytes / BLOCK_BYTES).max(1);
        Self {
            round,
            phase: Phase::Open,
            is_edge_sent: false,
            blocks,
            first_block: mix(!plan.seed, u64::from(round)) % blocks,
            sent: 0,
            free: (0..DEPTH).rev().collect(),
            began_ns: 0,
            next: 0,
            bursts: vec![],
            error: None,
        }
    }

    fn complete(&mut self, completion: TimedCompletion) {
        let operation = match self.phase {
            Phase::Open => Operation::OpenReadWrite,
            Phase::Flush => Operation::Fdatasync,
            Phase::Close | Phase::Done => Operation::Close,
            Phase::Write | Phase::Pause(_) => Operation::Write,
        };
        let is_write = operation == Operation::Write;
        let wanted = if is_write { BLOCK_BYTES as i64 } else { 0 };
        if completion.result < wanted {
            let errno = i32::try_from(-completion.result.min(0)).unwrap_or(0);
            self.error.get_or_insert(StreamError { operation, offset_bytes: 0, errno });
        }
        self.free.push(completion.token as u32);
        self.is_edge_sent = false;
        self.phase = match self.phase {
            Phase::Open if self.error.is_some() => Phase::Done,
            Phase::Open => Phase::Flush,
            Phase::Flush => Phase::Pause(completion.found_ns + QUIET_NS),
            Phase::Close | Phase::Done => Phase::Done,
            phase => phase,
        };
        if let (true, Some(burst)) = (is_write, self.bursts.last_mut()) {
            burst.taken_ns.push(completion.found_ns.saturating_sub(self.began_ns));
        }
    }

    fn submit(&mut self, operation: Operation) -> Turn {
        let token = self.free.pop().unwrap_or(0);
        let (offset_bytes, length_bytes) = match operation {
            Operation::Write => {
                self.sent += 1;
                let block = (self.first_block + self.sent) % self.blocks;
                (block * BLOCK_BYTES, BLOCK_BYTES as u32)
            }
            _ => (0, 0),
        };
        Turn::Submit(Request { token, operation, offset_bytes, length_bytes })
    }

    fn edge(&mut self, operation: Operation) -> Turn {
        if std::mem::replace(&mut self.is_edge_sent, true) {
            return Turn::Wait { min: 1, until_ns: u64::MAX };
        }
        self.submit(operation)
    }

    fn begin(&mut self, now_ns: u64) {
        let pause_ns = self.next.checked_sub(1).and_then(|place| PAUSES_NS.get(place).copied());
        let block_bytes = BLOCK_BYTES;
        let round = self.round;
        self.bursts.push(Burst { round, pause_ns, block_bytes, taken_ns: vec![] });
        self.began_ns = now_ns;
        self.phase = Phase::Write;
    }

    fn is_over(&self, now_ns: u64) -> bool {
        let length_ns = if self.next == 0 { LONG_NS } else { SHORT_NS };
        let count = self.bursts.last().map_or(0, |burst| burst.taken_ns.len());
        self.error.is_some() || count >= COUNT_MOST || now_ns >= self.began_ns + length_ns
    }

    fn write(&mut self, now_ns: u64) -> Turn {
        let is_over = self.is_over(now_ns);
        match (is_over, self.free.len() == DEPTH as usize) {
            (false, _) if !self.free.is_empty() => self.submit(Operation::Write),
            (true, true) => self.pause(now_ns),
            _ => Turn::Wait { min: 1, until_ns: u64::MAX },
        }
    }

    /// The pause behind a burst, or the end.
    fn pause(&mut self, now_ns: u64) -> Turn {
        let pause_ns = PAUSES_NS.get(self.next).filter(|_| self.error.is_none());
        let Some(pause_ns) = pause_ns else {
            self.phase = Phase::Close;
            return self.edge(Operation::Close);
        };
        self.next += 1;
        let until_ns = now_ns + pause_ns;
        self.phase = Phase::Pause(until_ns);
        Turn::Wait { min: 1, until_ns }
    }
}

impl Job for Bursts {
    fn turn<C: Clock>(&mut self, clock: &C, completion: Option<TimedCompletion>) -> Turn {
        if let Some(completion) = completion {
            self.complete(completion);
        }
        let now_ns = clock.now_ns();
        match self.phase {
            Phase::Open => self.edge(Operation::OpenReadWrite),
            Phase::Flush => self.edge(Operation::Fdatasync),
            Phase::Pause(until_ns) if now_ns < until_ns => Turn::Wait { min: 1, until_ns },
            Phase::Pause(_) => {
                self.begin(now_ns);
                self.write(now_ns)
            }
            Phase::Write => self.write(now_ns),
            Phase::Close => self.edge(Operation::Close),
            Phase::Done => Turn::Done,
        }
    }
}
