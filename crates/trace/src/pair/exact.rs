//! Pairing by identity: the kernel's pointer to the request, which is unique while the request lives.
//!
//! A flush sequence (block/blk-flush.c) is put together here. The request that was asked for starts, and waits.
//! A flush is issued that names the request it serves (by its tag); the data is issued and answered under the
//! request's own pointer; a second flush may follow; at last the request is answered, for the second time.
//! Its row is never issued; those of the flushes and of the data have its number as their parent, and its origin.

use super::open::{Open, orphan};
use super::window::Window;
use crate::event::{Event, Origin, Step};
use hashbrown::HashMap;
use model::record::Flags;
use model::record::requests::Counts;

/// A request, and the data of its flush sequence while that is on its way.
#[derive(Debug)]
struct Tracked {
    open: Open,
    tag: Option<u64>,
    data: Option<Open>,
}

/// What is outstanding, by identity.
#[derive(Debug, Default)]
pub(super) struct Exact {
    tracked: HashMap<u64, Tracked>,
    /// Requests that a flush may name, by their tags.
    tagged: HashMap<u64, u64>,
}

impl Exact {
    pub(super) fn outstanding(&self) -> usize {
        self.tracked.len()
    }

    #[inline]
    pub(super) fn event(
        &mut self,
        identity: u64,
        event: Event,
        window: &mut Window,
        counts: &mut Counts,
    ) {
        match event.step {
            // A tracer that knows identities hands the time of queueing over at the start.
            Step::Queue(origin) => self.start(identity, &event, None, origin, None, window, counts),
            Step::Start { queued_ns, origin, tag } => {
                self.start(identity, &event, queued_ns, origin, tag, window, counts);
            }
            Step::Issue { serves, in_sequence, .. } => {
                self.issue(identity, &event, serves, in_sequence, window, counts);
            }
            Step::Requeue => self.requeue(identity, counts),
            Step::Merge { .. } => self.merge(identity, window, counts),
            Step::Complete { .. } => self.complete(identity, &event, window, counts),
        }
    }

    #[allow(clippy::too_many_arguments, reason = "the fields of one step")]
    fn start(
        &mut self,
        identity: u64,
        event: &Event,
        queued_ns: Option<i64>,
        origin: Origin,
        tag: Option<u64>,
        window: &mut Window,
        counts: &mut Counts,
    ) {
        let mut open = Open::new(event, origin, window);
        open.queued_ns = queued_ns;
        open.started_ns = Some(event.time_ns);
        if let Some(tag) = tag {
            self.tagged.insert(tag, identity);
        }
        self.track(identity, Tracked { open, tag, data: None }, window, counts);
    }

    /// Puts a request among those outstanding. One that was there with its identity was answered unseen.
    fn track(&mut self, identity: u64, tracked: Tracked, window: &mut Window, counts: &mut Counts) {
        if let Some(earlier) = self.tracked.insert(identity, tracked) {
            counts.reused += 1;
            close(&earlier, None, 0, window);
        }
    }

    fn issue(
        &mut self,
        identity: u64,
        event: &Event,
        serves: Option<u64>,
        in_sequence: bool,
        window: &mut Window,
        counts: &mut Counts,
    ) {
        match self.tracked.get_mut(&identity) {
            Some(tracked) if in_sequence => tracked.begin_data(event, window),
            // A flush's pointer is used again and again, and it has no start.
            Some(tracked) if tracked.open.is_unissued() => {
                tracked.open.issue(event.time_ns, event.extent);
            }
            _ => {
                let open = self.unstarted(event, serves, window);
                self.track(identity, Tracked { open, tag: None, data: None }, window, counts);
            }
        }
    }

    /// A request whose start was not seen: a flush, or one from before the trace.
    fn unstarted(&self, event: &Event, serves: Option<u64>, window: &mut Window) -> Open {
        let mut open = Open::new(event, Origin::default(), window);
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

    fn requeue(&mut self, identity: u64, counts: &mut Counts) {
        counts.requeued += 1;
        let Some(tracked) = self.tracked.get_mut(&identity) else { return };
        match &mut tracked.data {
            Some(data) => data.is_requeued = true,
            None => tracked.open.is_requeued = true,
        }
    }

    fn merge(&mut self, identity: u64, window: &mut Window, counts: &mut Counts) {
        counts.merged += 1;
        if let Some(tracked) = self.tracked.remove(&identity) {
            self.forget_tag(tracked.tag, identity);
            window.drop(tracked.open.id);
        }
    }

    fn complete(&mut self, identity: u64, event: &Event, window: &mut Window, counts: &mut Counts) {
        let Step::Complete { error, remaining_bytes, in_sequence, .. } = event.step else { return };
        if remaining_bytes > 0 {
            counts.partially_completed += 1;
            // After an error what remains is issued again or failed as a whole, which is told apart.
            return;
        }
        if in_sequence && let Some(tracked) = self.tracked.get_mut(&identity) {
            tracked.end_data(event.time_ns, error, window);
            return;
        }
        match self.tracked.remove(&identity) {
            Some(tracked) => {
                self.forget_tag(tracked.tag, identity);
                close(&tracked, Some(event.time_ns), error, window);
            }
            None => orphan(event, error, window, counts),
        }
    }

    /// A tag is another request's as soon as it is given again.
    fn forget_tag(&mut self, tag: Option<u64>, identity: u64) {
        let Some(tag) = tag else { return };
        if self.tagged.get(&tag) == Some(&identity) {
            self.tagged.remove(&tag);
        }
    }

    pub(super) fn finish(&mut self, window: &mut Window) {
        let mut rest: Vec<Tracked> = self.tracked.drain().map(|(_, tracked)| tracked).collect();
        rest.sort_by_key(|tracked| tracked.open.id);
        rest.iter().for_each(|tracked| close(tracked, None, 0, window));
        self.tagged.clear();
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
}

/// The row of a request that is done with, and of its data if that was never answered.
fn close(tracked: &Tracked, completed_ns: Option<i64>, error: i32, window: &mut Window) {
    window.done(tracked.open.row(completed_ns, error));
    if let Some(data) = &tracked.data {
        window.done(data.row(None, 0));
    }
}
