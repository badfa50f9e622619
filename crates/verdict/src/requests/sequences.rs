//! Flush sequences, put together again. What was requested is one row, which was never issued; the
//! preflush, data and postflush that the device was given for it are rows with its number as their
//! parent, and come after it. The device time of the sequence is that in which one of them was with
//! the device, each moment once.
//!
//! Memory is bounded by what is outstanding: a sequence has no more parts once it is completed.
//!
//! Non-goals: finding out which rows belong together (`trace::pair` does).

use super::traffic::Share;
use hashbrown::HashMap;
use model::record::{CommandId, Flags, Op, Request};

/// Sequences that are kept before those that were completed are looked for.
const FEW: usize = 1024;

/// Sequences that may have more parts, each with what is known of it.
#[derive(Debug, Clone)]
pub(crate) struct Open<T> {
    all: HashMap<u64, Sequence<T>>,
    /// How many there are when those that were completed are let go.
    most: usize,
}

#[derive(Debug, Clone)]
struct Sequence<T> {
    completed_ns: i64,
    known: T,
}

impl<T> Default for Open<T> {
    fn default() -> Self {
        Self { all: HashMap::new(), most: FEW }
    }
}

impl<T> Open<T> {
    /// Notes one that is seen now.
    pub(crate) fn begin(&mut self, id: u64, now_ns: i64, completed_ns: i64, known: T) {
        if self.all.len() >= self.most {
            self.all.retain(|_, sequence| sequence.completed_ns > now_ns);
            self.most = FEW.max(self.all.len() * 2);
        }
        self.all.insert(id, Sequence { completed_ns, known });
    }

    /// What is known of one.
    pub(crate) fn get(&self, id: u64) -> Option<&T> {
        self.all.get(&id).map(|sequence| &sequence.known)
    }

    pub(crate) fn get_mut(&mut self, id: u64) -> Option<&mut T> {
        self.all.get_mut(&id).map(|sequence| &mut sequence.known)
    }
}

/// A sequence's row, and until when its device time is counted.
#[derive(Debug, Clone)]
struct Whole {
    row: Request,
    completed_ns: i64,
    counted_ns: i64,
    has_part: bool,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Sequences(Open<Whole>);

/// Whether the row is what was requested by a flush sequence. The kernel makes them of writes and
/// flushes alone.
#[inline(always)]
pub(crate) fn is_sequence(row: &Request) -> bool {
    let is_durable = row.op == Op::Flush
        || row.flags.0 & (Flags::PREFLUSH.0 | Flags::FUA.0) != 0 && row.op != Op::Read;
    is_durable && row.issued_ns.is_none() && row.parent_id.is_none()
}

impl Sequences {
    /// Takes a row, in the order of arrival. Of a part of a sequence that is known: the sequence's
    /// row, and what the part adds to it.
    #[inline(always)]
    pub(crate) fn see(&mut self, row: &Request) -> Option<(Request, Share)> {
        if is_sequence(row) {
            self.begin(row);
        }
        row.parent_id.and_then(|parent| self.part(row, parent))
    }

    fn begin(&mut self, row: &Request) {
        let Some(first_ns) = row.queued_ns.or(row.started_ns) else { return };
        let Some(completed_ns) = row.completed_ns.filter(|ns| *ns >= first_ns) else { return };
        // Its parts come after its start.
        let counted_ns = first_ns.max(row.started_ns.unwrap_or(first_ns));
        let whole = Whole { row: *row, completed_ns, counted_ns, has_part: false };
        self.0.begin(row.request_id, first_ns, completed_ns, whole);
    }

    fn part(&mut self, part: &Request, parent: u64) -> Option<(Request, Share)> {
        let whole = self.0.get_mut(parent)?;
        let (from_ns, to_ns) = (part.issued_ns?, part.completed_ns?);
        if to_ns < from_ns || from_ns >= whole.completed_ns {
            return None;
        }
        let to_ns = to_ns.min(whole.completed_ns);
        let device_ns = to_ns.saturating_sub(from_ns.max(whole.counted_ns)).max(0);
        whole.counted_ns = whole.counted_ns.max(to_ns);
        let is_first = !std::mem::replace(&mut whole.has_part, true);
        Some((whole.row, Share::of_sequence(&whole.row, device_ns, is_first)))
    }

    /// Goes on with those of the part of the trace that follows, whose commands have other numbers.
    pub(crate) fn follow(&mut self, next: Self, number: &dyn Fn(CommandId) -> CommandId) {
        for (id, mut sequence) in next.0.all {
            let command = &mut sequence.known.row.command;
            *command = command.map(number);
            self.0.all.insert(id, sequence);
        }
    }
}
