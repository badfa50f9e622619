//! Requests in the order in which they were first seen: each has a slot from then on, and is let go
//! when it and all before it are done with.
//!
//! A request that outlasts so many others that the window is full gives its place up, and is let go
//! when it is done: after later ones.

use super::layers::Layers;
use super::open::Open;
use crate::event::{Event, Origin};
use model::record::Request;
use model::room::Room as _;
use std::collections::VecDeque;

/// Slots at the most: each takes some 200 bytes.
const SLOTS: usize = 256 * 1024;

#[derive(Debug, Clone, Copy)]
#[allow(clippy::large_enum_variant, reason = "nearly all become rows; a box would cost each more")]
enum Slot {
    Outstanding,
    Done(Request),
    /// It became a part of another, or left late.
    Gone,
}

#[derive(Debug, Default)]
pub(super) struct Window {
    slots: VecDeque<Slot>,
    /// The number of the first slot's request.
    first: u64,
    /// Done with after their place was given up.
    late: VecDeque<Request>,
    ready: VecDeque<Request>,
    /// What was done with since it was last asked, where somebody watches.
    watched: Option<Vec<Request>>,
    /// Which requests serve those of a device above.
    pub(super) layers: Layers,
}

impl Window {
    /// A number and a slot for a request that is seen for the first time.
    #[inline]
    pub(super) fn open(&mut self) -> u64 {
        if self.slots.len() >= SLOTS {
            self.give_up();
        }
        self.slots.push_back(Slot::Outstanding);
        self.first + self.slots.len() as u64 - 1
    }

    /// A number for a request that is whole already.
    #[inline]
    pub(super) fn next_id_of_a_whole_one(&mut self) -> u64 {
        if self.slots.is_empty() {
            self.first += 1;
            return self.first - 1;
        }
        self.slots.push_back(Slot::Gone);
        self.first + self.slots.len() as u64 - 1
    }

    /// A request is done with.
    #[inline]
    pub(super) fn done(&mut self, mut request: Request) {
        request.above_id = self.layers.end(&request);
        if let Some(watched) = &mut self.watched {
            watched.push(request);
        }
        match self.slot(request.request_id) {
            Some(slot) => *slot = Slot::Done(request),
            None => self.late.push_back(request),
        }
    }

    /// The row of a completion whose request was never seen.
    pub(super) fn orphan(&mut self, event: &Event, error: i32) {
        let open = Open::new(event, Origin::default(), self.open());
        // Where it was completed says nothing of where it was to go.
        let open = Open { cpu: None, ..open };
        self.done(open.row(Some(event.time_ns), error));
    }

    /// From now on, what is done with is kept for [`Self::take_watched`] too.
    pub(super) fn watch(&mut self) {
        self.watched.get_or_insert_default();
    }

    /// What was done with since the last time, in the order in which it was.
    pub(super) fn take_watched(&mut self) -> Vec<Request> {
        self.watched.as_mut().map(std::mem::take).unwrap_or_default()
    }

    pub(super) fn seen(&self) -> u64 {
        self.first + self.slots.len() as u64
    }

    /// How many of them are still to be let go; each is looked at.
    pub(super) fn held(&self) -> usize {
        let is_held = |slot: &&Slot| !matches!(slot, Slot::Gone);
        self.slots.iter().filter(is_held).count() + self.late.len() + self.ready.len()
    }

    /// A request is seen no more, and is no row.
    pub(super) fn drop(&mut self, id: u64) {
        self.layers.forget(id);
        self.slot(id).into_iter().for_each(|slot| *slot = Slot::Gone);
    }

    /// The next one to let go, where it lies; then [`Self::drop_first`].
    #[inline]
    pub(super) fn first(&mut self) -> Option<&Request> {
        if self.ready.is_empty() && self.late.is_empty() {
            while let Some(Slot::Gone) = self.slots.front() {
                self.advance();
            }
        }
        let done = match self.slots.front() {
            Some(Slot::Done(request)) => Some(request),
            _ => None,
        };
        self.ready.front().or(self.late.front()).or(done)
    }

    /// Lets that one go.
    #[inline]
    pub(super) fn drop_first(&mut self) {
        if self.ready.pop_front().is_none() && self.late.pop_front().is_none() {
            self.advance();
        }
    }

    /// What is still outstanding holds no request back any more that arrived before a moment.
    pub(super) fn let_go_before(&mut self, time_ns: i64) {
        loop {
            let mut behind = self.slots.iter().enumerate();
            let next = behind.find_map(|(place, slot)| match slot {
                Slot::Done(request) => Some((place, request.arrival_ns())),
                Slot::Outstanding | Slot::Gone => None,
            });
            match next {
                Some((place, Some(arrival_ns))) if arrival_ns < time_ns => {
                    (0..=place).for_each(|_| self.give_up());
                }
                _ => return,
            }
        }
    }

    /// Nothing that is still outstanding holds others back any more.
    pub(super) fn flush(&mut self) {
        while !self.slots.is_empty() {
            self.give_up();
        }
    }

    /// Gives the room of a burst back.
    pub(super) fn give_room_back(&mut self) {
        [&mut self.late, &mut self.ready].into_iter().for_each(|rows| rows.give_room_back());
        self.slots.give_room_back();
    }

    fn advance(&mut self) {
        self.slots.pop_front();
        self.first += 1;
    }

    /// The first slot's request no longer holds others back.
    fn give_up(&mut self) {
        if let Some(Slot::Done(request)) = self.slots.front() {
            self.ready.push_back(*request);
        }
        self.advance();
    }

    #[inline]
    fn slot(&mut self, id: u64) -> Option<&mut Slot> {
        self.slots.get_mut(id.checked_sub(self.first)? as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Window {
        fn pop(&mut self) -> Option<Request> {
            let first = *self.first()?;
            self.drop_first();
            Some(first)
        }
    }

    fn request(request_id: u64) -> Request {
        Request { request_id, ..Request::default() }
    }

    #[test]
    fn requests_leave_in_the_order_in_which_they_came() {
        let mut window = Window::default();
        let ids: Vec<u64> = (0..4).map(|_| window.open()).collect();
        assert_eq!(ids, [0, 1, 2, 3]);
        window.done(request(2));
        window.done(request(1));
        assert_eq!(window.pop(), None);
        window.drop(0);
        assert_eq!(window.pop().unwrap().request_id, 1);
        assert_eq!(window.pop().unwrap().request_id, 2);
        assert_eq!(window.pop(), None);
        assert_eq!(window.open(), 4);
    }

    #[test]
    fn one_that_is_never_done_holds_so_many_others_back_and_no_more() {
        let mut window = Window::default();
        let stuck = window.open();
        let mut left = 0;
        for _ in 0..SLOTS + 10 {
            let id = window.open();
            window.done(request(id));
            left += std::iter::from_fn(|| window.pop()).count();
        }
        assert_eq!(left, SLOTS + 10);
        window.done(request(stuck));
        assert_eq!(window.pop().unwrap().request_id, stuck);
        window.give_room_back();
        let room = window.slots.capacity() + window.late.capacity() + window.ready.capacity();
        assert!(room < SLOTS / 100, "{room}");
    }

    #[test]
    fn numbers_of_whole_ones_are_among_the_others() {
        let mut window = Window::default();
        assert_eq!((window.next_id_of_a_whole_one(), window.next_id_of_a_whole_one()), (0, 1));
        assert_eq!((window.open(), window.next_id_of_a_whole_one(), window.open()), (2, 3, 4));
        assert_eq!((window.seen(), window.held()), (5, 2));
        window.done(request(4));
        assert_eq!((window.pop(), window.held()), (None, 2));
        window.done(request(2));
        assert_eq!(window.pop().unwrap().request_id, 2);
        assert_eq!(window.pop().unwrap().request_id, 4);
        assert_eq!((window.next_id_of_a_whole_one(), window.seen(), window.held()), (5, 6, 0));
    }

    #[test]
    fn a_place_that_is_given_up_is_left_by_what_is_done_first() {
        let mut window = Window::default();
        let _: Vec<u64> = (0..4).map(|_| window.open()).collect();
        window.done(request(1));
        window.drop(2);
        window.flush();
        // Those that are done with late come behind those that were ready.
        window.done(request(3));
        window.done(request(0));
        window.drop(2);
        assert_eq!((window.held(), window.seen()), (3, 4));
        let left: Vec<u64> = std::iter::from_fn(|| window.pop()).map(|r| r.request_id).collect();
        assert_eq!(left, [1, 3, 0]);
    }

    #[test]
    fn who_watches_sees_what_is_done_at_once() {
        let mut window = Window::default();
        let _: Vec<u64> = (0..3).map(|_| window.open()).collect();
        window.done(request(2));
        assert_eq!(window.take_watched(), []);
        window.watch();
        window.done(request(1));
        assert_eq!(window.take_watched(), [request(1)]);
        assert_eq!(window.take_watched(), []);
        assert_eq!(window.pop(), None);
    }
}
