//! Reads of a disk, one after the other, each with the moments at which it was sent and completed.

use crate::failure::StreamError;
use crate::sequence::mix;
use model::engine::{EngineKind, Operation};
use model::seam::{
    Clock, Job, JobPlacement, Request, Subject, SubjectError, TimedCompletion, Turn,
};

/// A read that is to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ask {
    pub(super) block: u64,
    pub(super) blocks: u64,
    /// How long after the completion of the one before.
    pub(super) pause_ns: u64,
}

/// A read that was made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Seen {
    pub(super) sent_ns: u64,
    pub(super) found_ns: u64,
}

impl Seen {
    pub(super) fn time_ns(&self) -> f64 {
        self.found_ns.saturating_sub(self.sent_ns) as f64
    }
}

/// A disk that is read.
pub(super) struct Reader<'a, S> {
    subject: &'a mut S,
    pub(super) sector_bytes: u64,
    /// Its sectors.
    pub(super) blocks: u64,
    seed: u64,
    drawn: u64,
}

impl<'a, S: Subject> Reader<'a, S> {
    pub(super) fn new(subject: &'a mut S, (sector_bytes, bytes): (u64, u64), seed: u64) -> Self {
        Self { subject, sector_bytes, blocks: bytes / sector_bytes, seed, drawn: 0 }
    }

    /// A number below `count`, evenly.
    pub(super) fn below(&mut self, count: u64) -> u64 {
        self.drawn += 1;
        mix(self.seed, self.drawn) % count.max(1)
    }

    /// Reads, in turn.
    /// Errors: whatever of the subject's was refused or failed.
    pub(super) fn read(&mut self, asked: Vec<Ask>) -> Result<Vec<Seen>, SubjectError> {
        let most = asked.iter().map(|ask| ask.blocks).max().unwrap_or(1) * self.sector_bytes;
        let placement = JobPlacement {
            engine: EngineKind::Libaio,
            direct: true,
            depth: 1,
            block_bytes: most as u32,
            file_bytes: self.blocks * self.sector_bytes,
            ..JobPlacement::default()
        };
        let series = Series::new(asked, self.sector_bytes);
        let mut done = self.subject.run(vec![(placement.clone(), series)])?;
        let series = done.pop().map(|(series, _)| series);
        let series = series.ok_or_else(|| SubjectError::Failed("no reads completed".into()))?;
        match series.error {
            Some(error) => Err(error.on(&placement, "a series of reads")),
            None => Ok(series.seen),
        }
    }

    /// Reads single sectors, in turn.
    pub(super) fn sectors(
        &mut self,
        blocks: impl IntoIterator<Item = u64>,
    ) -> Result<Vec<Seen>, SubjectError> {
        let last = self.blocks - 1;
        let ask = |block: u64| Ask { block: block.min(last), blocks: 1, pause_ns: 0 };
        self.read(blocks.into_iter().map(ask).collect())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Open,
    Read,
    Close,
    Done,
}

struct Series {
    asked: Vec<Ask>,
    sector_bytes: u64,
    phase: Phase,
    next: usize,
    is_sent: bool,
    sent_ns: u64,
    due_ns: u64,
    seen: Vec<Seen>,
    error: Option<StreamError>,
}

impl Series {
    fn new(asked: Vec<Ask>, sector_bytes: u64) -> Self {
        Self {
            seen: Vec::with_capacity(asked.len()),
            asked,
            sector_bytes,
            phase: Phase::Open,
            next: 0,
            is_sent: false,
            sent_ns: 0,
            due_ns: 0,
            error: None,
        }
    }

    fn complete(&mut self, completion: TimedCompletion) {
        self.is_sent = false;
        let before = self.next.checked_sub(1).and_then(|at| self.asked.get(at));
        let (operation, wanted, offset_bytes) = match (self.phase, before) {
            (Phase::Read, Some(ask)) => (
                Operation::Read,
                (ask.blocks * self.sector_bytes) as i64,
                ask.block * self.sector_bytes,
            ),
            _ => (Operation::OpenRead, completion.result.max(0), 0),
        };
        if completion.result != wanted {
            let errno = i32::try_from(-completion.result.min(0)).unwrap_or(0);
            self.error.get_or_insert(StreamError { operation, offset_bytes, errno });
        }
        match self.phase {
            Phase::Open => self.phase = Phase::Read,
            Phase::Read => {
                let seen = Seen { sent_ns: self.sent_ns, found_ns: completion.found_ns };
                self.seen.push(seen);
            }
            Phase::Close | Phase::Done => self.phase = Phase::Done,
        }
        let pause_ns = self.asked.get(self.next).map_or(0, |ask| ask.pause_ns);
        self.due_ns = completion.found_ns + pause_ns;
    }

    fn submit(&mut self, operation: Operation, (offset_bytes, length_bytes): (u64, u32)) -> Turn {
        self.is_sent = true;
        Turn::Submit(Request { token: 0, operation, offset_bytes, length_bytes })
    }
}

impl Job for Series {
    fn turn<C: Clock>(&mut self, clock: &C, completion: Option<TimedCompletion>) -> Turn {
        if let Some(completion) = completion {
            self.complete(completion);
        }
        if self.is_sent {
            return Turn::Wait { min: 1, until_ns: u64::MAX };
        }
        let next = self.asked.get(self.next).filter(|_| self.error.is_none()).copied();
        match (self.phase, next) {
            (Phase::Open, _) => self.submit(Operation::OpenRead, (0, 0)),
            (Phase::Read, Some(ask)) => {
                let now_ns = clock.now_ns();
                if now_ns < self.due_ns {
                    return Turn::Wait { min: 1, until_ns: self.due_ns };
                }
                self.next += 1;
                self.sent_ns = now_ns;
                let bytes = (ask.blocks * self.sector_bytes) as u32;
                self.submit(Operation::Read, (ask.block * self.sector_bytes, bytes))
            }
            (Phase::Read, None) => {
                self.phase = Phase::Close;
                self.submit(Operation::Close, (0, 0))
            }
            (Phase::Close | Phase::Done, _) => Turn::Done,
        }
    }
}
