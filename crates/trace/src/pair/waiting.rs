//! A request that waits at a place for its next step, and which of those at a place a completion is
//! for.

use super::open::Open;
use crate::event::Event;
use model::record::Op;

/// A request and how far it has got.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting {
    pub(super) open: Open,
    /// Of its length, from its front.
    pub(super) completed_bytes: u32,
    /// When its data was completed, if it was to flush first.
    pub(super) data_ns: Option<i64>,
    pub(super) again: Again,
}

/// Whether a request may be another one, issued again without a word of it in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Again {
    No,
    /// The other is outstanding.
    Maybe,
    /// The other was completed.
    Likely,
    /// And a third one was begun at their place, then.
    Surely(i64),
}

impl Waiting {
    pub(super) fn remaining_bytes(&self) -> u32 {
        self.open.extent.length_bytes.saturating_sub(self.completed_bytes)
    }

    pub(super) fn is_queued_only(&self) -> bool {
        self.open.started_ns.is_none() && self.open.issued_ns.is_none()
    }

    pub(super) fn is_unissued(&self) -> bool {
        self.open.is_unissued()
    }

    /// Whether it was another one, again.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.again, Again::Surely(_))
    }

    /// Whether an issue is of what is issued already.
    pub(super) fn is_issued_as(&self, event: &Event) -> bool {
        let bytes = event.extent.length_bytes;
        !self.is_unissued() && self.data_ns.is_none() && self.remaining_bytes() == bytes
    }
}

/// The oldest at a place of which a condition holds: which of those there.
pub(super) fn position(
    all: &[Waiting],
    there: &[u32],
    is_it: impl Fn(&Waiting) -> bool,
) -> Option<usize> {
    there.iter().position(|lies| is_it(&all[*lies as usize]))
}

/// Which request of those at a place a completion is for, and whether another would have fitted as
/// well.
pub(super) fn choose(all: &[Waiting], there: &[u32], op: Op, bytes: u32) -> Option<(usize, bool)> {
    let first = |is_in: &dyn Fn(&Waiting) -> bool| {
        let found = position(all, there, is_in)?;
        // What may be the same request again leaves no choice, until it is completed by itself.
        let is_another = |w: &Waiting| is_in(w) && w.again == Again::No;
        let is_again = all[there[found] as usize].again != Again::No;
        Some((found, is_again || position(all, &there[found + 1..], is_another).is_some()))
    };
    if bytes == 0 && op == Op::Write {
        // The end of a flush sequence, with data or without.
        let ends = |w: &Waiting| w.data_ns.is_some() || w.open.extent.length_bytes == 0;
        return first(&ends);
    }
    let awaits = |w: &Waiting| w.data_ns.is_none() && !w.is_over();
    let fits = |w: &Waiting| awaits(w) && w.remaining_bytes() == bytes;
    let is_part = |w: &Waiting| awaits(w) && w.remaining_bytes() > bytes;
    // What was issued goes first; a stream may tell of queueing alone.
    let is_issued = |w: &Waiting| !w.is_unissued();
    let classes: [&dyn Fn(&Waiting) -> bool; 6] = [
        &|w| fits(w) && is_issued(w),
        &|w| is_part(w) && is_issued(w),
        &|w| fits(w),
        &|w| awaits(w) && is_issued(w),
        &|w| is_part(w),
        &|w| w.is_over() && w.remaining_bytes() == bytes,
    ];
    classes.into_iter().find_map(first)
}
