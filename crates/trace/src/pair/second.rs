//! What a second source saw where the first one may be blind: steps without identity, kept until
//! they are needed.
//!
//! - A *start* begins a request at once. What the first source tells of it later, under an identity
//!   that it never saw begin, is found by its place.
//! - Any other step of such a request goes on with it.
//! - Any other step of a request that the first source knows is *held*: it is requested when the
//!   first source shows that it missed one (the identity comes again before its completion, or the
//!   trace ends). What both saw is requested by nobody.
//!
//! So a request is only ever completed by place when its own completion is known to be missing.
//!
//! Non-goals: which steps a source is blind to (`capture::second`).

use super::inexact::{ExtentKey, Inexact};
use super::open::Open;
use super::window::Window;
use crate::event::{Event, Step};
use hashbrown::HashMap;
use model::record::requests::Counts;
use smallvec::SmallVec;

/// Steps that are held at the most; beyond it the older half goes.
const HELD: usize = 1 << 16;

/// The kinds of steps that are held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Merge,
    Complete,
}

impl Kind {
    fn of(step: &Step) -> Option<Self> {
        match step {
            Step::Merge { .. } => Some(Self::Merge),
            Step::Complete { .. } => Some(Self::Complete),
            Step::Queue(_)
            | Step::Start { .. }
            | Step::Above { .. }
            | Step::Became { .. }
            | Step::Issue { .. }
            | Step::Requeue
            | Step::Over => None,
        }
    }
}

/// The second source's requests and steps.
#[derive(Debug, Default)]
pub(super) struct Second {
    /// Those that it saw begin.
    begun: Inexact,
    held: HashMap<ExtentKey, SmallVec<[Event; 1]>>,
    count: usize,
}

impl Second {
    pub(super) fn outstanding(&self) -> usize {
        self.begun.outstanding()
    }

    /// Takes in a step that the second source saw.
    pub(super) fn event(&mut self, event: Event, window: &mut Window, counts: &mut Counts) {
        if self.begun.awaits(&event) {
            counts.recovered += 1;
            return self.begun.event(&event, window, counts);
        }
        if Kind::of(&event.step).is_some() {
            self.hold(event);
        }
    }

    fn hold(&mut self, event: Event) {
        if self.count >= HELD {
            self.forget_the_older_half();
        }
        self.held.entry(ExtentKey::of(event.device, &event.extent)).or_default().push(event);
        self.count += 1;
    }

    fn forget_the_older_half(&mut self) {
        let mut times: Vec<i64> = self.held.values().flatten().map(|event| event.time_ns).collect();
        let middle = times.len() / 2;
        let (_, &mut median_ns, _) = times.select_nth_unstable(middle);
        self.held.retain(|_, there| {
            there.retain(|event| event.time_ns >= median_ns);
            !there.is_empty()
        });
        self.count = self.held.values().map(SmallVec::len).sum();
    }

    /// A request that the second source saw begin, and the first one sees issued.
    pub(super) fn begun(&mut self, issue: &Event) -> Option<Open> {
        self.begun.take_unissued(issue)
    }

    /// Completes a request that the second source saw begin; false if there is none.
    pub(super) fn complete(
        &mut self,
        event: &Event,
        window: &mut Window,
        counts: &mut Counts,
    ) -> bool {
        let is_there = self.begun.awaits(event);
        if is_there {
            self.begun.event(event, window, counts);
        }
        is_there
    }

    /// The first step of a kind that a request took in this time, both ends included; it is taken
    /// out.
    pub(super) fn take(
        &mut self,
        open: &Open,
        kind: Kind,
        from_ns: i64,
        until_ns: i64,
        counts: &mut Counts,
    ) -> Option<Event> {
        if self.count == 0 {
            return None;
        }
        let place = ExtentKey::of(open.device, &open.extent);
        let there = self.held.get_mut(&place)?;
        let is_it = |event: &Event| {
            Kind::of(&event.step) == Some(kind) && (from_ns..=until_ns).contains(&event.time_ns)
        };
        let position = there.iter().position(is_it)?;
        let event = there.remove(position);
        if there.is_empty() {
            self.held.remove(&place);
        }
        self.count -= 1;
        counts.recovered += 1;
        Some(event)
    }

    /// Lets all go that is outstanding.
    pub(super) fn finish(&mut self, window: &mut Window, counts: &mut Counts) {
        self.begun.finish(window, counts);
        self.held.clear();
        self.count = 0;
    }
}
