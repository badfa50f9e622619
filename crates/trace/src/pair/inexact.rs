//! Pairing without identity, by what the events say: the heuristics of Johnson, Smith & Wilson
//! (1986, section 2.3), made explicit.
//!
//! - A step belongs to the oldest request with its device, operation and offset that has not taken
//!   the step yet; a completion of one of the same length, if there is any.
//! - Where two or more fit equally, the pairing is *ambiguous*, and counted. (Oldest first leaves
//!   the mean of the times right, whichever of them it was, and the extremes too small.)
//! - A completion that is shorter than its request completes a part of it; the rest is looked for
//!   behind
//!   that part.
//! - A completion of no bytes to a write that was to flush first is the end of its flush sequence.
//!
//! Non-goals: to guess whose a flush is. Parents stay null.

use super::open::Open;
use super::window::Window;
use crate::event::{Event, Extent, Origin, Step};
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use model::record::requests::Counts;
use model::record::{Flags, Op};
use smallvec::SmallVec;

/// Outstanding requests at the most; the oldest half is then taken to be never completed.
const OUTSTANDING: usize = if cfg!(test) { 1 << 12 } else { 1 << 21 };

/// Outstanding requests at one place at the most, of which the oldest is then taken to be never
/// completed: more than any device has tags, and few enough to look through.
const OUTSTANDING_AT_A_PLACE: usize = 1024;

/// Where requests are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ExtentKey {
    device: u32,
    op: Op,
    offset_bytes: Option<u64>,
}

impl ExtentKey {
    pub(super) fn of(device: u32, extent: &Extent) -> Self {
        Self { device, op: extent.op, offset_bytes: extent.offset_bytes }
    }
}

/// A request and how far it has got.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    open: Open,
    /// Of its length, from its front.
    completed_bytes: u32,
    /// When its data was completed, if it was to flush first.
    data_ns: Option<i64>,
}

impl Waiting {
    fn remaining_bytes(&self) -> u32 {
        self.open.extent.length_bytes.saturating_sub(self.completed_bytes)
    }

    fn is_queued_only(&self) -> bool {
        self.open.started_ns.is_none() && self.open.issued_ns.is_none()
    }

    fn is_unissued(&self) -> bool {
        self.open.is_unissued()
    }
}

/// What is outstanding, by place, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Inexact {
    waiting: HashMap<ExtentKey, SmallVec<[Waiting; 1]>>,
    outstanding: usize,
}

impl Inexact {
    pub(super) fn outstanding(&self) -> usize {
        self.outstanding
    }

    pub(super) fn event(&mut self, event: &Event, window: &mut Window, counts: &mut Counts) {
        let place = ExtentKey::of(event.device, &event.extent);
        match event.step {
            Step::Queue(origin) => {
                let mut open = Open::new(event, origin, window.open());
                open.queued_ns = Some(event.time_ns);
                self.add(place, &open, window);
            }
            Step::Start { queued_ns, origin, .. } => {
                self.start(place, event, queued_ns, origin, window);
            }
            Step::Above { device, offset_bytes } => {
                if let Some(waiting) = self.waiting.get(&place).and_then(|there| there.last()) {
                    window.layers.tell(&waiting.open, (device, offset_bytes));
                }
            }
            Step::Issue { origin, .. } => self.issue(place, event, origin, window),
            Step::Requeue => {
                counts.requeued += 1;
                if let Some(waiting) = self.find(place, |w| !w.is_unissued()) {
                    waiting.open.is_requeued = true;
                }
            }
            Step::Merge { in_front } => self.merge(place, event, in_front, window, counts),
            Step::Complete { error, .. } => self.complete(place, event, error, window, counts),
            // Of tracers that know identities.
            Step::Became { .. } => {}
        }
    }

    /// Whether there is a request that a step can belong to.
    pub(super) fn awaits(&self, event: &Event) -> bool {
        let place = ExtentKey::of(event.device, &event.extent);
        let is_there =
            |is: fn(&Waiting) -> bool| self.waiting.get(&place).is_some_and(|w| w.iter().any(is));
        match event.step {
            Step::Queue(_) | Step::Start { .. } => true,
            Step::Issue { .. } | Step::Merge { .. } => is_there(Waiting::is_unissued),
            Step::Requeue => is_there(|w| !w.is_unissued()),
            Step::Above { .. } | Step::Became { .. } => false,
            Step::Complete { .. } => self
                .waiting
                .get(&place)
                .is_some_and(|there| choose(there, place.op, event.extent.length_bytes).is_some()),
        }
    }

    /// Takes the oldest request out that waits at a place to be issued: somebody else knows it
    /// better.
    pub(super) fn take_unissued(&mut self, event: &Event) -> Option<Open> {
        let place = ExtentKey::of(event.device, &event.extent);
        Some(self.remove(place, |there| there.iter().position(Waiting::is_unissued))?.open)
    }

    fn add(&mut self, place: ExtentKey, open: &Open, window: &mut Window) {
        if self.outstanding >= OUTSTANDING {
            self.give_up_the_older_half(window);
        }
        window.layers.begin(open);
        self.put(place, &Waiting { open: *open, completed_bytes: 0, data_ns: None }, window);
    }

    /// Among those at a place, by age.
    fn put(&mut self, place: ExtentKey, waiting: &Waiting, window: &mut Window) {
        self.outstanding += 1;
        let there = self.waiting.entry(place).or_default();
        let older = there.partition_point(|w| w.open.id < waiting.open.id);
        there.insert(older, *waiting);
        if there.len() > OUTSTANDING_AT_A_PLACE {
            let mut oldest = there.remove(0);
            self.outstanding -= 1;
            close(&mut oldest, None, 0, window);
        }
    }

    /// The oldest request there of which a condition holds.
    fn find(&mut self, place: ExtentKey, is_it: impl Fn(&Waiting) -> bool) -> Option<&mut Waiting> {
        self.waiting.get_mut(&place)?.iter_mut().find(|w| is_it(w))
    }

    /// Takes one of those at a place out.
    fn remove(
        &mut self,
        place: ExtentKey,
        which: impl FnOnce(&[Waiting]) -> Option<usize>,
    ) -> Option<Waiting> {
        let Entry::Occupied(mut there) = self.waiting.entry(place) else { return None };
        let removed = which(there.get()).map(|position| there.get_mut().remove(position))?;
        if there.get().is_empty() {
            there.remove();
        }
        self.outstanding -= 1;
        Some(removed)
    }

    fn start(
        &mut self,
        place: ExtentKey,
        event: &Event,
        queued_ns: Option<i64>,
        origin: Origin,
        window: &mut Window,
    ) {
        match self.find(place, Waiting::is_queued_only) {
            Some(waiting) => {
                waiting.open.started_ns = Some(event.time_ns);
                waiting.open.queued_ns = waiting.open.queued_ns.or(queued_ns);
                // Less than was queued, if that was split.
                if event.extent.length_bytes > 0 {
                    waiting.open.extent.length_bytes = event.extent.length_bytes;
                }
            }
            None => {
                let mut open = Open::new(event, origin, window.open());
                open.queued_ns = queued_ns;
                open.started_ns = Some(event.time_ns);
                self.add(place, &open, window);
            }
        }
    }

    fn issue(&mut self, place: ExtentKey, event: &Event, origin: Origin, window: &mut Window) {
        match self.find(place, Waiting::is_unissued) {
            Some(waiting) => waiting.open.issue(event.time_ns, event.extent),
            None => {
                // A flush is handed over for others.
                let is_requested = place.op != Op::Flush;
                let origin = if is_requested { origin } else { Origin::default() };
                let mut open = Open::new(event, origin, window.open());
                open.issued_ns = Some(event.time_ns);
                self.add(place, &open, window);
            }
        }
    }

    /// A queued bio becomes a part of a request that lies before it, or behind it; or, if none is
    /// queued there, a whole request that was not issued yet.
    fn merge(
        &mut self,
        place: ExtentKey,
        event: &Event,
        in_front: bool,
        window: &mut Window,
        counts: &mut Counts,
    ) {
        counts.merged += 1;
        let part = self.remove(place, |there| {
            let bio = there.iter().rposition(Waiting::is_queued_only);
            bio.or_else(|| there.iter().rposition(Waiting::is_unissued))
        });
        if let Some(part) = part {
            window.drop(part.open.id);
        }
        let Some(offset) = event.extent.offset_bytes.filter(|_| in_front) else { return };
        let behind = ExtentKey {
            offset_bytes: offset.checked_add(u64::from(event.extent.length_bytes)),
            ..place
        };
        let grown = self.remove(behind, |there| there.iter().position(Waiting::is_unissued));
        if let Some(mut grown) = grown {
            grown.open.extent.offset_bytes = Some(offset);
            grown.open.extent.flags |= Flags::MERGED;
            self.put(place, &grown, window);
        }
    }

    fn complete(
        &mut self,
        place: ExtentKey,
        event: &Event,
        error: i32,
        window: &mut Window,
        counts: &mut Counts,
    ) {
        let bytes = event.extent.length_bytes;
        let mut place = place;
        let mut take = |place: ExtentKey| {
            self.remove(place, |there| {
                let (position, is_ambiguous) = choose(there, place.op, bytes)?;
                counts.ambiguous += u64::from(is_ambiguous);
                Some(position)
            })
        };
        let mut chosen = take(place);
        if chosen.is_none() && bytes == 0 {
            // Of an empty request; its completion may have a place, at sector 0.
            place.offset_bytes = None;
            chosen = take(place);
        }
        let Some(mut chosen) = chosen else {
            counts.orphaned += 1;
            return window.orphan(event, error);
        };
        if bytes > 0 && bytes < chosen.remaining_bytes() {
            counts.partially_completed += 1;
            chosen.completed_bytes += bytes;
            chosen.open.complete_a_part(error);
            let offset_bytes = place.offset_bytes.and_then(|o| o.checked_add(u64::from(bytes)));
            return self.put(ExtentKey { offset_bytes, ..place }, &chosen, window);
        }
        if bytes > 0 && place.op == Op::Write && chosen.open.extent.flags.contains(Flags::PREFLUSH)
        {
            chosen.data_ns = Some(event.time_ns);
            let offset_bytes = chosen.open.extent.offset_bytes;
            return self.put(ExtentKey { offset_bytes, ..place }, &chosen, window);
        }
        close(&mut chosen, Some(event.time_ns), error, window);
    }

    /// So that a stream of requests that nobody completes does not fill the memory.
    fn give_up_the_older_half(&mut self, window: &mut Window) {
        let mut ids: Vec<u64> = self.waiting.values().flatten().map(|w| w.open.id).collect();
        let middle = ids.len() / 2;
        let (_, &mut median, _) = ids.select_nth_unstable(middle);
        self.waiting.retain(|_, there| {
            there.retain(|w| {
                let stays = w.open.id >= median;
                if !stays {
                    close(w, None, 0, window);
                }
                stays
            });
            !there.is_empty()
        });
        self.outstanding = self.waiting.values().map(SmallVec::len).sum();
    }

    pub(super) fn finish(&mut self, window: &mut Window) {
        let mut rest: Vec<Waiting> = self.waiting.drain().flat_map(|(_, there)| there).collect();
        rest.sort_by_key(|w| w.open.id);
        rest.iter_mut().for_each(|w| close(w, None, 0, window));
        self.outstanding = 0;
    }
}

/// Which request a completion is for, and whether another would have fitted as well.
fn choose(there: &[Waiting], op: Op, bytes: u32) -> Option<(usize, bool)> {
    if bytes == 0 && op == Op::Write {
        // The end of a flush sequence, with data or without.
        let ends = |w: &Waiting| w.data_ns.is_some() || w.open.extent.length_bytes == 0;
        let position = there.iter().position(ends)?;
        return Some((position, there[position + 1..].iter().any(ends)));
    }
    let awaits = |w: &Waiting| w.data_ns.is_none();
    let fits = |w: &Waiting| awaits(w) && w.remaining_bytes() == bytes;
    let is_part = |w: &Waiting| awaits(w) && w.remaining_bytes() > bytes;
    // What was issued goes first; a stream may tell of queueing alone.
    let is_issued = |w: &Waiting| !w.is_unissued();
    let classes: [&dyn Fn(&Waiting) -> bool; 5] = [
        &|w| fits(w) && is_issued(w),
        &|w| is_part(w) && is_issued(w),
        &|w| fits(w),
        &|w| awaits(w) && is_issued(w),
        &|w| is_part(w),
    ];
    classes.iter().find_map(|is_in| {
        let position = there.iter().position(is_in)?;
        Some((position, there[position + 1..].iter().any(is_in)))
    })
}

/// The row of a request that is done with. Of a flush sequence: one for what was requested, and one
/// for its data; without an end to the sequence the completion of the data is all that is known.
fn close(waiting: &mut Waiting, completed_ns: Option<i64>, error: i32, window: &mut Window) {
    let whole = &mut waiting.open;
    let requested = &mut whole.extent;
    if requested.op == Op::Write
        && requested.length_bytes == 0
        && requested.flags.contains(Flags::PREFLUSH)
    {
        // What fsync asks for where there is nothing to write.
        requested.op = Op::Flush;
    }
    match (waiting.data_ns, completed_ns) {
        (Some(data_ns), Some(_)) => {
            let mut data = *whole;
            data.id = window.open();
            data.parent_id = Some(whole.id);
            (data.queued_ns, data.started_ns) = (None, None);
            data.extent.flags = Flags(data.extent.flags.0 & !Flags::PREFLUSH.0);
            window.done(data.row(Some(data_ns), error));
            whole.issued_ns = None;
            window.done(whole.row(completed_ns, error));
        }
        (data_ns, _) => window.done(whole.row(completed_ns.or(data_ns), error)),
    }
}
