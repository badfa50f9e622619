//! Pairing: events in, requests out, pure. What Johnson, Smith & Wilson (1986, section 2.3) did by
//! a program over two traces, with what they had to guess made explicit.
//!
//! Events with an identity are paired by it, exactly ([`exact`]). Those without are paired by what
//! they say: device, operation, offset and length, the oldest first ([`inexact`]); how often that
//! left a choice is counted. What a second source saw is requested where the first one shows that
//! it missed something ([`second`]).
//!
//! Which request of the device above a request serves is found by [`layers`].
//!
//! A request keeps its place among the others from when it was first seen, so that rows come out in
//! that order ([`window`]), and memory is bounded by what is outstanding.
//!
//! Non-goals: the order of events (their source's, or [`crate::intake`]'s); what the rows mean.

mod exact;
mod inexact;
mod layers;
mod open;
mod second;
mod waiting;
mod window;

#[cfg(test)]
mod tests;

use crate::event::{Event, Finished};
use exact::Exact;
use inexact::Inexact;
use model::record::Request;
use model::record::requests::Counts;
use second::Second;
use window::Window;

/// What pairing by identity works with: where rows go, what is counted, and what a second source
/// saw.
struct Around<'a> {
    window: &'a mut Window,
    counts: &'a mut Counts,
    second: &'a mut Second,
}

/// Pairs events to requests.
#[derive(Debug, Default)]
pub struct Pairing {
    exact: Exact,
    inexact: Inexact,
    second: Second,
    window: Window,
    was_exact: bool,
    was_inexact: bool,
}

impl Pairing {
    /// Takes an event in; then [`Self::pop`] until there is none.
    #[inline]
    pub fn event(&mut self, event: &Event, counts: &mut Counts) {
        self.window.layers.look(event.time_ns);
        match event.identity {
            Some(identity) => {
                self.was_exact = true;
                let Self { exact, second, window, .. } = self;
                exact.event(identity, *event, &mut Around { window, counts, second });
            }
            None => {
                self.was_inexact = true;
                self.inexact.event(event, &mut self.window, counts);
            }
        }
        self.window.layers.count(counts);
    }

    /// The row of a request whose steps are told at once, if nothing else is known of it and no
    /// other request is concerned: one that is pushed back by nobody. Else none: its steps are to
    /// be taken in one by one.
    #[inline]
    pub fn finished(&mut self, finished: &Finished) -> Option<Request> {
        if self.window.layers.are_there() {
            return None;
        }
        self.was_exact = true;
        self.exact.finished(finished, &mut self.window)
    }

    /// From this moment on begins are not seen any more: the tracer is being stopped. What comes
    /// later and was not seen to begin is of no request of this trace. None: they are seen again.
    pub fn begins_end(&mut self, time_ns: Option<i64>) {
        self.exact.begins_end(time_ns);
    }

    /// Says that a device lies directly on others.
    pub fn lies_on(&mut self, upper: u32, lowers: &[u32]) {
        lowers.iter().for_each(|lower| _ = self.window.layers.learn(*lower, upper));
    }

    /// Takes a step in that a second source saw, where the first may have been blind.
    pub fn second(&mut self, event: Event, counts: &mut Counts) {
        self.second.event(event, &mut self.window, counts);
    }

    /// The next request that is done with, in the order in which they were first seen; then
    /// [`Self::drop_first`].
    #[inline]
    pub fn first(&mut self) -> Option<&Request> {
        self.window.first()
    }

    /// Lets that one go.
    #[inline]
    pub fn drop_first(&mut self) {
        self.window.drop_first();
    }

    /// What is outstanding holds no request back any more that arrived before a moment.
    pub fn let_go_before(&mut self, time_ns: i64) {
        self.window.let_go_before(time_ns);
    }

    /// Gives the room of a burst back.
    pub fn give_room_back(&mut self) {
        self.window.give_room_back();
    }

    /// A number for a request that needs no pairing.
    #[inline]
    pub fn next_id(&mut self) -> u64 {
        self.window.next_id_of_a_whole_one()
    }

    /// From now on, what is done with is shown by [`Self::take_watched`] at once, before its turn.
    pub fn watch(&mut self) {
        self.window.watch();
    }

    /// What was done with since the last time.
    pub fn take_watched(&mut self) -> Vec<Request> {
        self.window.take_watched()
    }

    /// How many requests have been seen.
    pub fn seen(&self) -> u64 {
        self.window.seen()
    }

    /// How many requests would be rows if all were let go now.
    pub fn held(&self) -> usize {
        self.window.held()
    }

    /// How many are outstanding.
    pub fn outstanding(&self) -> usize {
        self.exact.outstanding() + self.inexact.outstanding() + self.second.outstanding()
    }

    /// Lets all go that is outstanding: its completion is not in the trace.
    pub fn finish(&mut self, counts: &mut Counts) {
        let Self { exact, second, window, .. } = self;
        window.layers.look(i64::MAX);
        exact.finish(&mut Around { window, counts, second });
        self.inexact.finish(&mut self.window, counts);
        self.second.finish(&mut self.window, counts);
        self.window.layers.count(counts);
        self.window.flush();
    }

    /// How the events were matched, in the words of the footer; none if there were none.
    pub fn matching(&self) -> Option<&'static str> {
        match (self.was_exact, self.was_inexact) {
            (true, false) => Some("by identity"),
            (false, true) => Some("by place (inexact)"),
            (true, true) => Some("by identity and by place (inexact)"),
            (false, false) => None,
        }
    }
}
