//! A write buffer from outside: writes as fast as they are taken, first from an empty buffer on,
//! then after pauses. While the buffer has room they are taken as fast as the link allows, and then
//! as fast as it drains; after a pause it has as much room again as drained meanwhile.
//!
//! Method: bursts of writes, as SSDcheck (Kim et al., MICRO 2018) finds a buffer by. Non-goals: the
//! fit (crate `analyze`), buffers that take longer than a burst to fill.

use super::{Ahead, Begins, Plan, placement};
use crate::bench::run_work;
use crate::on_file::{At, LATER, Next, Work};
use crate::sequence::mix;
use model::calibration::Burst;
use model::seam::{Operation, Request, Subject, SubjectError};

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

/// Bursts of all rounds, after passes of so much planned time.
/// Errors: whatever of the subject's was refused or failed, or an interruption.
pub(super) fn bursts<S: Subject>(
    subject: &mut S,
    plan: &Plan,
    before_ns: u64,
    begins: &mut Begins<'_>,
) -> Result<Vec<Burst>, SubjectError> {
    let mut all = Vec::new();
    for round in 0..plan.burst_rounds {
        let done_ns = u64::from(round) * round_ns();
        let left_ns = Some(plan.bursts_ns() - done_ns);
        let ahead = Ahead { done_ns: before_ns + done_ns, left_ns };
        let label = format!("the write buffer: round {} of {}", round + 1, plan.burst_rounds);
        begins(&label, Some(ahead));
        let placement = placement(plan, BLOCK_BYTES, DEPTH);
        let job = Bursts::new(plan, round);
        all.extend(run_work(subject, "bursts of writes", placement, job)?.bursts);
    }
    Ok(all)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Flush,
    /// Until this time of the clock.
    Pause(u64),
    Write,
}

/// One round.
struct Bursts {
    round: u32,
    phase: Phase,
    blocks: u64,
    first_block: u64,
    sent: u64,
    began_ns: u64,
    /// The pause that comes next.
    next: usize,
    bursts: Vec<Burst>,
}

impl Bursts {
    fn new(plan: &Plan, round: u32) -> Self {
        let blocks = (plan.size_bytes / BLOCK_BYTES).max(1);
        Self {
            round,
            phase: Phase::Flush,
            blocks,
            first_block: mix(!plan.seed, u64::from(round)) % blocks,
            sent: 0,
            began_ns: 0,
            next: 0,
            bursts: vec![],
        }
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
        count >= COUNT_MOST || now_ns >= self.began_ns + length_ns
    }

    fn write(&mut self, at: At, now_ns: u64) -> Next {
        match (self.is_over(now_ns), at.outstanding) {
            (false, _) => {
                self.sent += 1;
                let block = (self.first_block + self.sent) % self.blocks;
                Next::Do(Operation::Write, block * BLOCK_BYTES, BLOCK_BYTES as u32)
            }
            (true, 0) => self.pause(now_ns),
            (true, _) => LATER,
        }
    }

    /// The pause behind a burst, or the end.
    fn pause(&mut self, now_ns: u64) -> Next {
        let Some(pause_ns) = PAUSES_NS.get(self.next) else { return Next::Over };
        self.next += 1;
        let until_ns = now_ns + pause_ns;
        self.phase = Phase::Pause(until_ns);
        Next::Wait(until_ns)
    }
}

impl Work for Bursts {
    fn opening(&mut self, _: u64) -> Operation {
        Operation::OpenReadWrite
    }

    fn next(&mut self, at: At, now_ns: u64) -> Next {
        match self.phase {
            Phase::Flush => {
                self.phase = Phase::Pause(u64::MAX);
                Next::Do(Operation::Fdatasync, 0, 0)
            }
            Phase::Pause(until_ns) if now_ns < until_ns => Next::Wait(until_ns),
            Phase::Pause(_) => {
                self.begin(now_ns);
                self.write(at, now_ns)
            }
            Phase::Write => self.write(at, now_ns),
        }
    }

    fn done(&mut self, request: &Request, now_ns: u64) {
        match request.operation {
            Operation::Fdatasync => self.phase = Phase::Pause(now_ns + QUIET_NS),
            Operation::Write => {
                if let Some(burst) = self.bursts.last_mut() {
                    burst.taken_ns.push(now_ns.saturating_sub(self.began_ns));
                }
            }
            _ => {}
        }
    }
}
