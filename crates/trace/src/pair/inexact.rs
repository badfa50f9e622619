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
use std::hash::{Hash, Hasher};

/// Outstanding requests at the most; the oldest half is then taken to be never completed.
const OUTSTANDING: usize = if cfg!(test) { 1 << 12 } else { 1 << 21 };

/// Outstanding requests at one place at the most, of which the oldest is then taken to be never
/// completed: more than any device has tags, and few enough to look through.
const OUTSTANDING_AT_A_PLACE: usize = 1024;

/// Where requests are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ExtentKey {
    device: u32,
    op: Op,
    offset_bytes: Option<u64>,
}

/// In two words, where each member by itself would cost as much as one.
impl Hash for ExtentKey {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.offset_bytes.unwrap_or(u64::MAX));
        state.write_u64(u64::from(self.device) << 8 | self.op as u64);
    }
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

/// What is outstanding. Requests stay where they lie until they are done with: they are long, and
/// places come and go.
#[derive(Debug, Default)]
pub(super) struct Inexact {
    requests: Vec<Waiting>,
    /// Where nothing lies any more.
    vacant: Vec<u32>,
    /// Those at each place, the oldest first.
    waiting: HashMap<ExtentKey, There>,
    outstanding: usize,
    /// The place where a request was put last, and where that lies, if it is the only one there:
    /// its next steps often follow at once.
    last: Option<(ExtentKey, u32)>,
}

/// Where the requests of a place lie.
type There = SmallVec<[u32; 2]>;

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
                if let Some(lies) = self.waiting.get(&place).and_then(|there| there.last()) {
                    let waiting = &self.requests[*lies as usize];
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
            Step::Became { .. } | Step::Over => {}
        }
    }

    /// Whether there is a request that a step can belong to.
    pub(super) fn awaits(&self, event: &Event) -> bool {
        let place = ExtentKey::of(event.device, &event.extent);
        let is_there = |is: fn(&Waiting) -> bool| {
            let there = self.waiting.get(&place);
            there.is_some_and(|there| position(&self.requests, there, is).is_some())
        };
        match event.step {
            Step::Queue(_) | Step::Start { .. } => true,
            Step::Issue { .. } | Step::Merge { .. } => is_there(Waiting::is_unissued),
            Step::Requeue => is_there(|w| !w.is_unissued()),
            Step::Above { .. } | Step::Became { .. } | Step::Over => false,
            Step::Complete { .. } => self.waiting.get(&place).is_some_and(|there| {
                choose(&self.requests, there, place.op, event.extent.length_bytes).is_some()
            }),
        }
    }

    /// Takes the oldest request out that waits at a place to be issued: somebody else knows it
    /// better.
    pub(super) fn take_unissued(&mut self, event: &Event) -> Option<Open> {
        let place = ExtentKey::of(event.device, &event.extent);
        let lies = self.remove(place, |all, there| position(all, there, Waiting::is_unissued))?;
        self.vacant.push(lies);
        Some(self.requests[lies as usize].open)
    }

    fn add(&mut self, place: ExtentKey, open: &Open, window: &mut Window) {
        if self.outstanding >= OUTSTANDING {
            self.give_up_the_older_half(window);
        }
        window.layers.begin(open);
        let lies = self.vacant.pop().unwrap_or(self.requests.len() as u32);
        match self.requests.get_mut(lies as usize) {
            // It is long: a whole one that is put there would be copied twice.
            Some(vacant) => {
                vacant.open = *open;
                (vacant.completed_bytes, vacant.data_ns) = (0, None);
            }
            None => {
                self.requests.push(Waiting { open: *open, completed_bytes: 0, data_ns: None });
            }
        }
        self.put(place, lies, window);
    }

    /// Among those at a place, by age.
    fn put(&mut self, place: ExtentKey, lies: u32, window: &mut Window) {
        self.outstanding += 1;
        let id = |lies: u32| self.requests[lies as usize].open.id;
        let there = self.waiting.entry(place).or_default();
        let older = there.partition_point(|other| id(*other) < id(lies));
        there.insert(older, lies);
        self.last = (there.len() == 1).then_some((place, lies));
        if there.len() > OUTSTANDING_AT_A_PLACE {
            let oldest = there.remove(0);
            self.outstanding -= 1;
            self.close(oldest, None, 0, window);
        }
    }

    /// A request that is at no place any more is done with.
    fn close(&mut self, lies: u32, completed_ns: Option<i64>, error: i32, window: &mut Window) {
        close(&mut self.requests[lies as usize], completed_ns, error, window);
        self.vacant.push(lies);
    }

    /// The oldest request there of which a condition holds.
    fn find(&mut self, place: ExtentKey, is_it: impl Fn(&Waiting) -> bool) -> Option<&mut Waiting> {
        if let Some((last, lies)) = self.last
            && last == place
        {
            return self.requests.get_mut(lies as usize).filter(|waiting| is_it(waiting));
        }
        let there = self.waiting.get(&place)?;
        let lies = there.get(position(&self.requests, there, is_it)?)?;
        self.requests.get_mut(*lies as usize)
    }

    /// Takes one of those at a place away from there; returns where it lies.
    fn remove(
        &mut self,
        place: ExtentKey,
        which: impl FnOnce(&[Waiting], &[u32]) -> Option<usize>,
    ) -> Option<u32> {
        self.last = None;
        let Entry::Occupied(mut there) = self.waiting.entry(place) else { return None };
        let position = which(&self.requests, there.get())?;
        let removed = there.get_mut().remove(position);
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
        let part = self.remove(place, |all, there| {
            let last =
                |is: fn(&Waiting) -> bool| there.iter().rposition(|lies| is(&all[*lies as usize]));
            last(Waiting::is_queued_only).or_else(|| last(Waiting::is_unissued))
        });
        if let Some(part) = part {
            window.drop(self.requests[part as usize].open.id);
            self.vacant.push(part);
        }
        let Some(offset) = event.extent.offset_bytes.filter(|_| in_front) else { return };
        let behind = ExtentKey {
            offset_bytes: offset.checked_add(u64::from(event.extent.length_bytes)),
            ..place
        };
        let grown = self.remove(behind, |all, there| position(all, there, Waiting::is_unissued));
        if let Some(grown) = grown {
            let extent = &mut self.requests[grown as usize].open.extent;
            extent.offset_bytes = Some(offset);
            extent.flags |= Flags::MERGED;
            self.put(place, grown, window);
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
            self.remove(place, |all, there| {
                let (position, is_ambiguous) = choose(all, there, place.op, bytes)?;
                counts.ambiguous += u64::from(is_ambiguous);
                Some(position)
            })
        };
        let mut lies = take(place);
        if lies.is_none() && bytes == 0 {
            // Of an empty request; its completion may have a place, at sector 0.
            place.offset_bytes = None;
            lies = take(place);
        }
        let Some(lies) = lies else {
            counts.orphaned += 1;
            return window.orphan(event, error);
        };
        let chosen = &mut self.requests[lies as usize];
        if bytes > 0 && bytes < chosen.remaining_bytes() {
            counts.partially_completed += 1;
            chosen.completed_bytes += bytes;
            chosen.open.complete_a_part(error);
            let offset_bytes = place.offset_bytes.and_then(|o| o.checked_add(u64::from(bytes)));
            return self.put(ExtentKey { offset_bytes, ..place }, lies, window);
        }
        if bytes > 0 && place.op == Op::Write && chosen.open.extent.flags.contains(Flags::PREFLUSH)
        {
            chosen.data_ns = Some(event.time_ns);
            let offset_bytes = chosen.open.extent.offset_bytes;
            return self.put(ExtentKey { offset_bytes, ..place }, lies, window);
        }
        self.close(lies, Some(event.time_ns), error, window);
    }

    /// So that a stream of requests that nobody completes does not fill the memory.
    fn give_up_the_older_half(&mut self, window: &mut Window) {
        self.last = None;
        let all = &mut self.requests;
        let there = self.waiting.values().flatten();
        let mut ids: Vec<u64> = there.map(|lies| all[*lies as usize].open.id).collect();
        let middle = ids.len() / 2;
        let (_, &mut median, _) = ids.select_nth_unstable(middle);
        self.waiting.retain(|_, there| {
            there.retain(|lies| {
                let waiting = &mut all[*lies as usize];
                let stays = waiting.open.id >= median;
                if !stays {
                    close(waiting, None, 0, window);
                    self.vacant.push(*lies);
                }
                stays
            });
            !there.is_empty()
        });
        self.outstanding = self.waiting.values().map(There::len).sum();
    }

    pub(super) fn finish(&mut self, window: &mut Window) {
        let mut rest: Vec<u32> = self.waiting.drain().flat_map(|(_, there)| there).collect();
        rest.sort_by_key(|lies| self.requests[*lies as usize].open.id);
        rest.into_iter().for_each(|lies| self.close(lies, None, 0, window));
        (self.outstanding, self.last) = (0, None);
    }
}

/// The oldest at a place of which a condition holds: which of those there.
fn position(all: &[Waiting], there: &[u32], is_it: impl Fn(&Waiting) -> bool) -> Option<usize> {
    there.iter().position(|lies| is_it(&all[*lies as usize]))
}

/// Which request of those at a place a completion is for, and whether another would have fitted as
/// well.
fn choose(all: &[Waiting], there: &[u32], op: Op, bytes: u32) -> Option<(usize, bool)> {
    let first = |is_in: &dyn Fn(&Waiting) -> bool| {
        let found = position(all, there, is_in)?;
        Some((found, position(all, &there[found + 1..], is_in).is_some()))
    };
    if bytes == 0 && op == Op::Write {
        // The end of a flush sequence, with data or without.
        let ends = |w: &Waiting| w.data_ns.is_some() || w.open.extent.length_bytes == 0;
        return first(&ends);
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
    classes.into_iter().find_map(first)
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
