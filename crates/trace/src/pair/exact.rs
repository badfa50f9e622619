//! Pairing by identity: the kernel's pointer to the request, which is unique while the request
//! lives.
//!
//! A flush sequence (block/blk-flush.c) is put together here. The request itself
//! starts, and waits. A flush is issued that names the request it serves (by its tag); the data is
//! issued and completed under the request's own pointer; a second flush may follow; at last the
//! request is completed, for the second time. Its row is never issued; those of the flushes and of
//! the data have its number as their parent, and its origin.

use super::Around;
use super::layers::Place;
use super::open::Open;
use super::second::Kind;
use super::window::Window;
use crate::event::{Event, Finished, Origin, Step, Unseen};
use hashbrown::{HashMap, HashSet};
use model::record::requests::Counts;
use model::record::{Flags, Op, Request};

/// Identities that are remembered at the most. Those of requests are as many as devices have tags;
/// those of bios come from the kernel's memory, and are more.
const KNOWN: usize = 1 << 20;

/// A request, and the data of its flush sequence while that is on its way.
#[derive(Debug)]
struct Tracked {
    open: Open,
    tag: Option<u64>,
    data: Option<Open>,
    /// It was counted as one from before the trace.
    is_from_before: bool,
}

/// What is outstanding, by identity.
#[derive(Debug, Default)]
pub(super) struct Exact {
    tracked: HashMap<u64, Tracked>,
    /// Requests that a flush may name, by their tags.
    tagged: HashMap<u64, u64>,
    /// Identities that were seen to begin: a completion under another one is of a request from
    /// before the trace.
    known: HashSet<u64>,
    /// From this moment on begins are not seen any more.
    begins_end_ns: Option<i64>,
}

impl Exact {
    pub(super) fn outstanding(&self) -> usize {
        self.tracked.len()
    }

    #[inline]
    pub(super) fn event(&mut self, identity: u64, event: Event, around: &mut Around<'_>) {
        match event.step {
            // A tracer that knows identities hands the time of queueing over at the start.
            Step::Queue(origin) => self.start(identity, &event, (None, origin, None), around),
            Step::Start { queued_ns, origin, tag } => {
                self.start(identity, &event, (queued_ns, origin, tag), around);
            }
            Step::Above { device, offset_bytes } => {
                self.above(identity, (device, offset_bytes), around.window);
            }
            Step::Over => self.end(identity, event.time_ns, around),
            Step::Became { bio, tag } => self.become_request(identity, bio, tag),
            Step::Issue { serves, in_sequence, .. } => {
                self.issue(identity, &event, serves, in_sequence, around);
            }
            Step::Requeue => self.requeue(identity, around),
            Step::Merge { .. } => self.merge(identity, around),
            Step::Complete { .. } => self.complete(identity, &event, around),
        }
    }

    /// The row of one whose steps are told at once; none if more than these is to be thought of:
    /// its identity is another's, or a step is missing that a second source may have seen.
    #[inline]
    pub(super) fn finished(&mut self, finished: &Finished, window: &mut Window) -> Option<Request> {
        let Finished { start, issued_ns, completed_ns, error, has_grown } = *finished;
        let Step::Start { queued_ns, origin, .. } = start.step else { return None };
        let identity = start.identity?;
        let is_whole = issued_ns.is_some() && completed_ns.is_some();
        if !is_whole || self.tracked.contains_key(&identity) {
            return None;
        }
        self.know(identity);
        let mut open = Open::new(&start, origin, window.next_id_of_a_whole_one());
        (open.queued_ns, open.started_ns, open.issued_ns) =
            (queued_ns, Some(start.time_ns), issued_ns);
        open.extent.flags = open.extent.flags.with(Flags::MERGED, has_grown);
        Some(open.row(completed_ns, error))
    }

    fn start(
        &mut self,
        identity: u64,
        event: &Event,
        (queued_ns, origin, tag): (Option<i64>, Origin, Option<u64>),
        around: &mut Around<'_>,
    ) {
        let mut open = Open::new(event, origin, around.window.open());
        open.queued_ns = queued_ns;
        open.started_ns = Some(event.time_ns);
        if let Some(tag) = tag {
            self.tagged.insert(tag, identity);
        }
        around.window.layers.begin(&open);
        let tracked = Tracked { open, tag, data: None, is_from_before: false };
        self.track(identity, tracked, event.time_ns, around);
    }

    /// The kernel tells from where on the device above it was sent on.
    fn above(&mut self, identity: u64, place: Place, window: &mut Window) {
        let Some(Tracked { open, .. }) = self.tracked.get(&identity) else { return };
        let layers = &mut window.layers;
        if layers.learn(open.device, place.0) {
            let known = self.tracked.values().map(|tracked| &tracked.open);
            layers.begin_all(known.filter(|upper| upper.device == place.0));
        }
        layers.tell(open, place);
    }

    /// What began under its bio's address goes on under its request's.
    fn become_request(&mut self, identity: u64, bio: u64, tag: Option<u64>) {
        let Some(mut tracked) = self.tracked.remove(&bio) else { return };
        tracked.tag = tag;
        if let Some(tag) = tag {
            self.tagged.insert(tag, identity);
        }
        self.know(identity);
        self.tracked.insert(identity, tracked);
    }

    /// Puts a request among those outstanding. One that was there with its identity was completed
    /// unseen.
    fn track(&mut self, identity: u64, tracked: Tracked, now_ns: i64, around: &mut Around<'_>) {
        self.know(identity);
        if let Some(earlier) = self.tracked.insert(identity, tracked) {
            end_unseen(earlier, Some(now_ns), around);
        }
    }

    /// It was completed unseen, for its identity is another's now.
    fn end(&mut self, identity: u64, now_ns: i64, around: &mut Around<'_>) {
        if let Some(over) = self.tracked.remove(&identity) {
            end_unseen(over, Some(now_ns), around);
        }
    }

    /// From this moment on begins are not seen any more; none: they are.
    pub(super) fn begins_end(&mut self, time_ns: Option<i64>) {
        self.begins_end_ns = time_ns;
    }

    /// Whether a step of what was not seen to begin is of something that began too late.
    fn is_after(&self, event: &Event) -> bool {
        self.begins_end_ns.is_some_and(|end_ns| event.time_ns >= end_ns)
    }

    /// Whether an identity is seen for the first time.
    fn know(&mut self, identity: u64) -> bool {
        match self.known.len() < KNOWN {
            true => self.known.insert(identity),
            false => !self.known.contains(&identity),
        }
    }

    fn issue(
        &mut self,
        identity: u64,
        event: &Event,
        serves: Option<u64>,
        in_sequence: bool,
        around: &mut Around<'_>,
    ) {
        let is_after = self.is_after(event);
        match self.tracked.get_mut(&identity) {
            Some(tracked) if in_sequence => tracked.begin_data(event, around.window),
            // A flush's pointer is used again and again, and it has no start.
            Some(tracked) if tracked.open.is_unissued() => {
                tracked.open.issue(event.time_ns, event.extent);
            }
            _ if is_after => {}
            _ => {
                let counted = around.counts.before_start;
                let open = self.unstarted(identity, event, serves, around);
                let is_from_before = around.counts.before_start > counted;
                let tracked = Tracked { open, tag: None, data: None, is_from_before };
                self.track(identity, tracked, event.time_ns, around);
            }
        }
    }

    /// A request whose start was not seen: a flush, one that a second source saw begin, or one from
    /// before the trace.
    fn unstarted(
        &mut self,
        identity: u64,
        event: &Event,
        serves: Option<u64>,
        around: &mut Around<'_>,
    ) -> Open {
        let is_flush = event.extent.op == Op::Flush;
        if !is_flush && let Some(mut begun) = around.second.begun(event) {
            begun.issue(event.time_ns, event.extent);
            return begun;
        }
        if !is_flush && self.know(identity) {
            around.counts.before_start += 1;
        }
        let mut open = Open::new(event, Origin::default(), around.window.open());
        open.issued_ns = Some(event.time_ns);
        let parent = serves.and_then(|tag| self.tracked.get(self.tagged.get(&tag)?));
        if let Some(parent) = parent {
            open.parent_id = Some(parent.open.id);
            open.origin = parent.open.origin;
            let own = parent.open.extent.flags.contains(Flags::OWN);
            open.extent.flags = open.extent.flags.with(Flags::OWN, own);
        }
        open
    }

    fn requeue(&mut self, identity: u64, around: &mut Around<'_>) {
        around.counts.requeued += 1;
        let Some(tracked) = self.tracked.get_mut(&identity) else { return };
        match &mut tracked.data {
            Some(data) => data.is_requeued = true,
            None => tracked.open.is_requeued = true,
        }
    }

    fn merge(&mut self, identity: u64, around: &mut Around<'_>) {
        around.counts.merged += 1;
        if let Some(tracked) = self.tracked.remove(&identity) {
            self.forget_tag(tracked.tag, identity);
            around.window.drop(tracked.open.id);
        }
    }

    fn complete(&mut self, identity: u64, event: &Event, around: &mut Around<'_>) {
        let Step::Complete { error, remaining_bytes, in_sequence, unseen, .. } = event.step else {
            return;
        };
        if remaining_bytes > 0 {
            around.counts.partially_completed += 1;
            if let Some(tracked) = self.tracked.get_mut(&identity) {
                tracked.data.as_mut().unwrap_or(&mut tracked.open).complete_a_part(error);
            }
            return;
        }
        if in_sequence && let Some(tracked) = self.tracked.get_mut(&identity) {
            tracked.end_data(event.time_ns, error, around.window);
            return;
        }
        match self.tracked.remove(&identity) {
            Some(mut tracked) => {
                self.forget_tag(tracked.tag, identity);
                if let Some(unseen) = &unseen {
                    tracked.learn(unseen, around.counts);
                }
                tracked.find_unseen_data(event.time_ns, around);
                close(&tracked, Some(event.time_ns), error, around.window);
            }
            None if around.second.complete(event, around.window, around.counts) => {}
            None if self.is_after(event) => {}
            None if let Some(unseen) = &unseen => {
                let open = Open::new(event, unseen.origin, around.window.open());
                // Where it was completed says nothing of where it was to go.
                let open = Open { cpu: None, ..open };
                let (tag, data, is_from_before) = (None, None, false);
                let mut tracked = Tracked { open, tag, data, is_from_before };
                tracked.learn(unseen, around.counts);
                close(&tracked, Some(event.time_ns), error, around.window);
            }
            None => {
                let is_new = self.know(identity);
                around.counts.before_start += u64::from(is_new);
                around.counts.orphaned += u64::from(!is_new);
                around.window.orphan(event, error);
            }
        }
    }

    /// A tag is another request's as soon as it is given again.
    fn forget_tag(&mut self, tag: Option<u64>, identity: u64) {
        let Some(tag) = tag else { return };
        if self.tagged.get(&tag) == Some(&identity) {
            self.tagged.remove(&tag);
        }
    }

    pub(super) fn finish(&mut self, around: &mut Around<'_>) {
        let mut rest: Vec<Tracked> = self.tracked.drain().map(|(_, tracked)| tracked).collect();
        rest.sort_by_key(|tracked| tracked.open.id);
        rest.into_iter().for_each(|tracked| end_unseen(tracked, None, around));
        self.tagged.clear();
        self.known.clear();
    }
}

impl Tracked {
    /// The data of a flush sequence is handed to the driver.
    fn begin_data(&mut self, event: &Event, window: &mut Window) {
        match &mut self.data {
            // Again, after a requeue.
            Some(data) => data.issue(event.time_ns, event.extent),
            None => {
                let mut data = self.open;
                data.id = window.open();
                data.parent_id = Some(self.open.id);
                (data.queued_ns, data.started_ns) = (None, None);
                data.extent.flags = Flags(data.extent.flags.0 & !Flags::PREFLUSH.0);
                data.issue(event.time_ns, event.extent);
                self.data = Some(data);
            }
        }
    }

    fn end_data(&mut self, time_ns: i64, error: i32, window: &mut Window) {
        if let Some(data) = self.data.take() {
            window.done(data.row(Some(time_ns), error));
        }
    }

    /// What the tracer knows of it at its end, where it did not see it begin, or issued.
    fn learn(&mut self, unseen: &Unseen, counts: &mut Counts) {
        let open = &mut self.open;
        // A flush, and what was requested by a flush sequence, have one of the two.
        let flags = open.extent.flags;
        let is_sequence = flags.contains(Flags::PREFLUSH) || flags.contains(Flags::FUA);
        if open.extent.op == Op::Flush || is_sequence {
            return;
        }
        if open.started_ns.is_none() {
            (open.started_ns, open.origin) = (Some(unseen.started_ns), unseen.origin);
            counts.recovered += 1;
            counts.before_start -= u64::from(std::mem::take(&mut self.is_from_before));
        }
        if open.issued_ns.is_none() && unseen.issued_ns.is_some() {
            open.issued_ns = unseen.issued_ns;
            counts.recovered += 1;
        }
    }

    /// The completion of its data, if the second source alone saw that.
    fn find_unseen_data(&mut self, until_ns: i64, around: &mut Around<'_>) {
        let Around { window, counts, second } = around;
        if let Some(data) = self.data
            && let from_ns = data.issued_ns.unwrap_or(i64::MIN)
            && let Some(completion) = second.take(&data, Kind::Complete, from_ns, until_ns, counts)
        {
            self.end_data(completion.time_ns, error(&completion), window);
        }
    }
}

/// A request whose identity came again, or that the trace ended on: where the second source saw its
/// completion, that is its end; where it became a part of another, it is no row. Else, if its
/// identity came again, its completion is lost.
fn end_unseen(mut tracked: Tracked, again_ns: Option<i64>, around: &mut Around<'_>) {
    let until_ns = again_ns.unwrap_or(i64::MAX);
    tracked.find_unseen_data(until_ns, around);
    let open = tracked.open;
    let from_ns = open.issued_ns.or(open.started_ns).unwrap_or(i64::MIN);
    if around.second.take(&open, Kind::Merge, from_ns, until_ns, around.counts).is_some() {
        around.counts.merged += 1;
        return around.window.drop(open.id);
    }
    match around.second.take(&open, Kind::Complete, from_ns, until_ns, around.counts) {
        Some(completion) => {
            close(&tracked, Some(completion.time_ns), error(&completion), around.window);
        }
        None => {
            around.counts.reused += u64::from(again_ns.is_some());
            around.counts.lost += u64::from(again_ns.is_some());
            let mut row = open.row(None, 0);
            row.completed_by_ns = again_ns;
            around.window.done(row);
            close_data(&tracked, around.window);
        }
    }
}

fn error(completion: &Event) -> i32 {
    match completion.step {
        Step::Complete { error, .. } => error,
        _ => 0,
    }
}

/// The row of a request that is done with, and of its data if that was never completed.
fn close(tracked: &Tracked, completed_ns: Option<i64>, error: i32, window: &mut Window) {
    window.done(tracked.open.row(completed_ns, error));
    close_data(tracked, window);
}

fn close_data(tracked: &Tracked, window: &mut Window) {
    if let Some(data) = &tracked.data {
        window.done(data.row(None, 0));
    }
}
