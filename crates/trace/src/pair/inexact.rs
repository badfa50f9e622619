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
//! - An issue where a request of the same extent was issued already is that request *again*, where
//!   the stream tells of begins: another would have begun. Where it does not, only completions
//!   tell: what was issued once more and is not completed was the same request.
//! - An issue that is longer than its request has others in it that lie there and were not issued:
//!   schedulers merge whole requests, and kernels before 5.12 do not say so.
//!
//! Non-goals: to guess whose a flush is. Parents stay null.

use super::open::Open;
use super::waiting::{Again, Waiting, choose, position};
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

/// So long after a third was begun a completion is no more that of one which was surely another.
const AGAIN_NS: i64 = 1_000_000_000;

/// Requests begin at multiples of it.
const SECTOR_BYTES: u64 = 512;
/// Sectors at the most at which none of a request's parts begins: 4 MiB of them. What became a part
/// of it lies side by side, and a claim of 4 GiB is not searched sector by sector.
const EMPTY_MOST: u32 = 8192;

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
    /// Whether the stream tells when requests begin.
    tells_begins: bool,
    /// How many of those outstanding may be others again.
    again: usize,
    /// How many were, and were not counted yet.
    issued_again: u64,
}

/// Where the requests of a place lie.
type There = SmallVec<[u32; 2]>;

impl Inexact {
    pub(super) fn outstanding(&self) -> usize {
        self.outstanding
    }

    pub(super) fn event(&mut self, event: &Event, window: &mut Window, counts: &mut Counts) {
        let place = ExtentKey::of(event.device, &event.extent);
        let begins = matches!(event.step, Step::Queue(_) | Step::Start { .. });
        self.tells_begins |= begins;
        if self.again > 0 && (begins || matches!(event.step, Step::Issue { .. })) {
            self.begin_anew(place, event.time_ns, window);
        }
        self.step(place, event, window, counts);
        counts.requeued += std::mem::take(&mut self.issued_again);
    }

    fn step(&mut self, place: ExtentKey, event: &Event, window: &mut Window, counts: &mut Counts) {
        match event.step {
            Step::Queue(origin) => {
                let mut open = Open::new(event, origin, window.open());
                open.queued_ns = Some(event.time_ns);
                _ = self.add(place, &open, window);
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
            Step::Issue { origin, .. } => self.issue(place, event, origin, window, counts),
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

    fn add(&mut self, place: ExtentKey, open: &Open, window: &mut Window) -> u32 {
        if self.outstanding >= OUTSTANDING {
            self.give_up_the_older_half(window);
        }
        window.layers.begin(open);
        let lies = self.vacant.pop().unwrap_or(self.requests.len() as u32);
        match self.requests.get_mut(lies as usize) {
            // It is long: a whole one that is put there would be copied twice.
            Some(vacant) => {
                vacant.open = *open;
                (vacant.completed_bytes, vacant.data_ns, vacant.again) = (0, None, Again::No);
            }
            None => {
                let (open, again) = (*open, Again::No);
                self.requests.push(Waiting { open, completed_bytes: 0, data_ns: None, again });
            }
        }
        self.put(place, lies, window);
        lies
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

    /// A request that is at no place any more is done with. One that is not completed, and may be
    /// another again that was, is no row.
    fn close(&mut self, lies: u32, completed_ns: Option<i64>, error: i32, window: &mut Window) {
        let waiting = &mut self.requests[lies as usize];
        self.again -= usize::from(waiting.again != Again::No);
        let is_again = waiting.again == Again::Likely || waiting.is_over();
        if is_again && completed_ns.is_none() {
            self.issued_again += 1;
            window.drop(waiting.open.id);
        } else {
            close(waiting, completed_ns, error, window);
        }
        self.vacant.push(lies);
    }

    /// Something begins at a place: what may be again there what was completed before, surely is.
    fn begin_anew(&mut self, place: ExtentKey, now_ns: i64, window: &mut Window) {
        let Some(there) = self.waiting.get(&place) else { return };
        for lies in there {
            let again = &mut self.requests[*lies as usize].again;
            if *again == Again::Likely {
                *again = Again::Surely(now_ns);
            }
        }
        let is_over = |w: &Waiting| match w.again {
            Again::Surely(since_ns) => now_ns.saturating_sub(since_ns) > AGAIN_NS,
            _ => false,
        };
        while let Some(over) = self.remove(place, |all, there| position(all, there, is_over)) {
            self.close(over, None, 0, window);
        }
    }

    /// A request was completed: what may be it again at its place is likely to be.
    fn end_at(&mut self, place: ExtentKey) {
        for lies in self.waiting.get(&place).into_iter().flatten() {
            let again = &mut self.requests[*lies as usize].again;
            if *again == Again::Maybe {
                *again = Again::Likely;
            }
        }
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
        // It is put into the queue again.
        if self.find(place, |waiting| waiting.open.is_requeued).is_some() {
            return;
        }
        match self.find(place, Waiting::is_queued_only) {
            Some(waiting) => {
                waiting.open.started_ns = Some(event.time_ns);
                waiting.open.queued_ns = waiting.open.queued_ns.or(queued_ns);
                // Less than was queued, if that was split; what is more was merged, which the issue
                // tells.
                let (known, told) = (waiting.open.extent.length_bytes, event.extent.length_bytes);
                if told > 0 && (known == 0 || told < known) {
                    waiting.open.extent.length_bytes = event.extent.length_bytes;
                }
            }
            None => {
                let mut open = Open::new(event, origin, window.open());
                open.queued_ns = queued_ns;
                open.started_ns = Some(event.time_ns);
                _ = self.add(place, &open, window);
            }
        }
    }

    fn issue(
        &mut self,
        place: ExtentKey,
        event: &Event,
        origin: Origin,
        window: &mut Window,
        counts: &mut Counts,
    ) {
        let Event { time_ns, extent, .. } = *event;
        if let Some(waiting) = self.find(place, Waiting::is_unissued) {
            let known_bytes = waiting.open.extent.length_bytes;
            waiting.open.issue(time_ns, extent);
            return self.take_in(place, (known_bytes, extent.length_bytes), window, counts);
        }
        // A flush is handed over for others.
        let is_requested = place.op != Op::Flush;
        let is_same = |w: &Waiting| is_requested && !w.is_over() && w.is_issued_as(event);
        let tells_begins = self.tells_begins;
        let same = self.find(place, is_same);
        let is_again = same.is_some();
        if let Some(same) = same.filter(|_| tells_begins) {
            counts.requeued += 1;
            return same.open.issue(time_ns, extent);
        }
        let origin = if is_requested { origin } else { Origin::default() };
        let mut open = Open::new(event, origin, window.open());
        open.issued_ns = Some(time_ns);
        let lies = self.add(place, &open, window);
        if is_again {
            self.again += 1;
            self.requests[lies as usize].again = Again::Maybe;
        }
    }

    /// Lets those go that became a part of a request, which was known to be shorter than it is.
    fn take_in(
        &mut self,
        place: ExtentKey,
        (known_bytes, bytes): (u32, u32),
        window: &mut Window,
        counts: &mut Counts,
    ) {
        let Some(begin) = place.offset_bytes.filter(|_| known_bytes < bytes) else { return };
        if self.outstanding < 2 || known_bytes == 0 {
            return;
        }
        let end = begin.saturating_add(u64::from(bytes));
        let is_within = |w: &Waiting| {
            let offset = w.open.extent.offset_bytes.unwrap_or(u64::MAX);
            let is_new = w.is_unissued() && !w.open.is_requeued;
            is_new && offset.saturating_add(u64::from(w.open.extent.length_bytes)) <= end
        };
        let (mut offset, mut empty) = (begin.saturating_add(SECTOR_BYTES), 0);
        while offset < end && empty < EMPTY_MOST {
            let there = ExtentKey { offset_bytes: Some(offset), ..place };
            let mut behind = offset;
            while let Some(part) = self.remove(there, |all, t| position(all, t, is_within)) {
                counts.merged += 1;
                let open = &self.requests[part as usize].open;
                behind = behind.max(offset.saturating_add(u64::from(open.extent.length_bytes)));
                window.drop(open.id);
                self.vacant.push(part);
            }
            empty += u32::from(behind == offset);
            offset = behind.max(offset.saturating_add(SECTOR_BYTES));
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
        if lies.is_none() {
            lies = self.take_merged(place, bytes);
        }
        let Some(lies) = lies else {
            counts.orphaned += 1;
            return window.orphan(event, error);
        };
        if self.again > 0 {
            self.end_at(place);
        }
        let chosen = &mut self.requests[lies as usize];
        let known_bytes = chosen.remaining_bytes();
        if bytes > known_bytes && known_bytes > 0 && chosen.is_unissued() {
            let length_bytes = &mut chosen.open.extent.length_bytes;
            *length_bytes = length_bytes.saturating_add(bytes - known_bytes);
            chosen.open.extent.flags |= Flags::MERGED;
            self.take_in(place, (known_bytes, bytes), window, counts);
        }
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

    /// Takes a request out that a longer completion is for: of a stream that tells of queueing
    /// alone, if the one behind it became a part of it.
    fn take_merged(&mut self, place: ExtentKey, bytes: u32) -> Option<u32> {
        let is_shorter = |w: &Waiting| w.is_unissued() && w.remaining_bytes() < bytes;
        let known_bytes = self.find(place, is_shorter)?.remaining_bytes();
        let offset_bytes = place.offset_bytes?.checked_add(u64::from(known_bytes));
        let behind = ExtentKey { offset_bytes, ..place };
        self.find(behind, Waiting::is_unissued).filter(|_| known_bytes > 0)?;
        self.remove(place, |all, there| position(all, there, is_shorter))
    }

    /// So that a stream of requests that nobody completes does not fill the memory.
    fn give_up_the_older_half(&mut self, window: &mut Window) {
        self.last = None;
        let all = &self.requests;
        let there = self.waiting.values().flatten();
        let mut ids: Vec<u64> = there.map(|lies| all[*lies as usize].open.id).collect();
        let middle = ids.len() / 2;
        let (_, &mut median, _) = ids.select_nth_unstable(middle);
        let mut given_up = Vec::new();
        self.waiting.retain(|_, there| {
            there.retain(|lies| {
                let waiting = &all[*lies as usize];
                let stays = waiting.open.id >= median;
                if !stays {
                    given_up.push(*lies);
                }
                stays
            });
            !there.is_empty()
        });
        given_up.into_iter().for_each(|lies| self.close(lies, None, 0, window));
        self.outstanding = self.waiting.values().map(There::len).sum();
    }

    pub(super) fn finish(&mut self, window: &mut Window, counts: &mut Counts) {
        let mut rest: Vec<u32> = self.waiting.drain().flat_map(|(_, there)| there).collect();
        rest.sort_by_key(|lies| self.requests[*lies as usize].open.id);
        rest.into_iter().for_each(|lies| self.close(lies, None, 0, window));
        counts.requeued += std::mem::take(&mut self.issued_again);
        (self.outstanding, self.last) = (0, None);
    }
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
