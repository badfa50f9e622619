//! Reads of a disk, one after the other, each with the moments at which it was sent and completed.

use crate::bench::run_work;
use crate::on_file::{At, Next, Work};
use crate::sequence::mix;
use model::engine::{EngineKind, Operation};
use model::seam::{JobPlacement, Request, Subject, SubjectError};

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
        let seen = Vec::with_capacity(asked.len());
        let sector_bytes = self.sector_bytes;
        let series = Series { asked, sector_bytes, next: 0, sent_ns: 0, due_ns: 0, seen };
        Ok(run_work(self.subject, "a series of reads", placement, series)?.seen)
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

struct Series {
    asked: Vec<Ask>,
    sector_bytes: u64,
    next: usize,
    sent_ns: u64,
    due_ns: u64,
    seen: Vec<Seen>,
}

impl Work for Series {
    fn opening(&mut self, _: u64) -> Operation {
        Operation::OpenRead
    }

    fn next(&mut self, _: At, now_ns: u64) -> Next {
        let Some(ask) = self.asked.get(self.next) else { return Next::Over };
        if now_ns < self.due_ns {
            return Next::Wait(self.due_ns);
        }
        self.next += 1;
        self.sent_ns = now_ns;
        let bytes = (ask.blocks * self.sector_bytes) as u32;
        Next::Do(Operation::Read, ask.block * self.sector_bytes, bytes)
    }

    fn done(&mut self, request: &Request, now_ns: u64) {
        if request.operation == Operation::Read {
            self.seen.push(Seen { sent_ns: self.sent_ns, found_ns: now_ns });
        }
        let pause_ns = self.asked.get(self.next).map_or(0, |ask| ask.pause_ns);
        self.due_ns = now_ns + pause_ns;
    }
}
