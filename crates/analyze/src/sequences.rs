//! Flush sequences, put together again. What was asked for is one row, which was never issued; the
//! preflush, data and postflush that the device was given for it are rows with its number as their
//! parent, and come after it. The device time of the sequence is that in which one of them was with
//! the device, each moment once.
//!
//! Memory is bounded by what is outstanding: a sequence has no more parts once it is answered.
//!
//! Non-goals: finding out which rows belong together (`trace::pair` does).

use crate::traffic::Share;
use hashbrown::HashMap;
use model::record::{CommandId, Flags, Op, Request};

/// Sequences that are kept before those that were answered are looked for.
const FEW: usize = 1024;

/// A sequence, and until when its device time is counted.
#[derive(Debug, Clone)]
struct Sequence {
    row: Request,
    completed_ns: i64,
    counted_ns: i64,
    has_part: bool,
}

/// Sequences that may have more parts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sequences {
    open: HashMap<u64, Sequence>,
    /// How many there are when those that were answered are let go.
    most: usize,
}

/// Whether the row is what was asked for by a flush sequence. The kernel makes them of writes and
/// flushes alone.
#[inline(always)]
pub(crate) fn is_sequence(row: &Request) -> bool {
    let is_durable = row.op == Op::Flush
        || row.flags.0 & (Flags::PREFLUSH.0 | Flags::FUA.0) != 0 && row.op != Op::Read;
    is_durable && row.issued_ns.is_none() && row.parent_id.is_none()
}

impl Sequences {
    /// Notes a row that [`is_sequence`].
    pub(crate) fn begin(&mut self, row: &Request) {
        let Some(first_ns) = row.queued_ns.or(row.started_ns) else { return };
        let Some(completed_ns) = row.completed_ns.filter(|ns| *ns >= first_ns) else { return };
        if self.open.len() >= self.most.max(FEW) {
            self.open.retain(|_, sequence| sequence.completed_ns > first_ns);
            self.most = self.open.len() * 2;
        }
        // Its parts come after its start.
        let counted_ns = first_ns.max(row.started_ns.unwrap_or(first_ns));
        let sequence = Sequence { row: *row, completed_ns, counted_ns, has_part: false };
        self.open.insert(row.request_id, sequence);
    }

    /// The sequence that a row is a part of, and what it adds to that; none where the sequence is
    /// not known.
    pub(crate) fn part(&mut self, part: &Request) -> Option<(Request, Share)> {
        let sequence = self.open.get_mut(&part.parent_id?)?;
        let (from_ns, to_ns) = (part.issued_ns?, part.completed_ns?);
        if to_ns < from_ns || from_ns >= sequence.completed_ns {
            return None;
        }
        let to_ns = to_ns.min(sequence.completed_ns);
        let device_ns = to_ns.saturating_sub(from_ns.max(sequence.counted_ns)).max(0);
        sequence.counted_ns = sequence.counted_ns.max(to_ns);
        let is_first = !std::mem::replace(&mut sequence.has_part, true);
        Some((sequence.row, Share::of_sequence(&sequence.row, device_ns, is_first)))
    }

    /// Goes on with those of the part of the trace that follows, whose commands have other numbers.
    pub(crate) fn follow(&mut self, next: Self, number: &dyn Fn(CommandId) -> CommandId) {
        for (id, mut sequence) in next.open {
            sequence.row.command = sequence.row.command.map(number);
            self.open.insert(id, sequence);
        }
    }
}
