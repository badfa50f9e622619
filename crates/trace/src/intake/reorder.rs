//! The reorder buffer: sorts a stream that is nearly in order, in bounded memory. It keeps an item
//! until so many others have come, and then lets it go in order.
//!
//! An item that comes later than that leaves out of order, and is counted.

use model::room::Room as _;
use std::collections::VecDeque;

pub(super) trait Ordered: Copy {
    type Key: Ord + Copy + std::fmt::Debug;
    fn key(&self) -> Self::Key;
}

/// Items that came behind one with a greater key, in order by their keys. Those and where they lie
/// are put in order, and the items, which are long, are not moved.
#[derive(Debug)]
struct Behind<T: Ordered> {
    /// Their keys, where they lie, and whether they are new ([`ReorderBuffer::take_new`]).
    order: VecDeque<(T::Key, u32, bool)>,
    items: Vec<T>,
    /// Where nothing lies any more.
    vacant: Vec<u32>,
}

impl<T: Ordered> Behind<T> {
    fn put(&mut self, item: &T, is_new: bool) {
        let key = item.key();
        let lies = self.vacant.pop().unwrap_or(self.items.len() as u32);
        match self.items.get_mut(lies as usize) {
            Some(vacant) => *vacant = *item,
            None => self.items.push(*item),
        }
        // What is equal stays in the order in which it came.
        let place = self.order.partition_point(|(known, ..)| *known <= key);
        self.order.insert(place, (key, lies, is_new));
    }

    /// The first one, and how many of it are not new.
    fn first(&mut self) -> Option<(&mut [T], usize)> {
        let (_, lies, is_new) = self.order.front()?;
        let item = self.items.get_mut(*lies as usize)?;
        Some((std::slice::from_mut(item), usize::from(!is_new)))
    }

    fn drop_first(&mut self) {
        self.vacant.extend(self.order.pop_front().map(|(_, lies, _)| lies));
    }

    /// As far as none of the items is moved: if there are any, all stay.
    fn give_room_back(&mut self) {
        if self.order.is_empty() {
            self.items.clear();
            self.vacant.clear();
        }
        self.order.give_room_back();
        self.items.give_room_back();
        self.vacant.give_room_back();
    }
}

#[derive(Debug)]
pub(super) struct ReorderBuffer<T: Ordered> {
    /// How many are kept at the least.
    span: usize,
    /// Those that came in order, as nearly all of most streams do.
    kept: VecDeque<T>,
    /// The greatest key of these: to read it where it was just written would wait for that.
    greatest: Option<T::Key>,
    /// How many of the last of these are new.
    new: usize,
    behind: Behind<T>,
    /// How many of the first of all may go.
    free: usize,
    /// How many came since it was last asked what is still to come.
    unasked: usize,
    /// Whether the first of all is one of those behind.
    is_first_behind: bool,
    /// What is not before it stays for now.
    until: Option<T::Key>,
    last: Option<T::Key>,
    late: u64,
}

/// How many times the span is kept at the most, whatever is still to come.
const HELD: usize = 8;

impl<T: Ordered> ReorderBuffer<T> {
    pub(super) fn new(span: usize) -> Self {
        let behind = Behind { order: VecDeque::new(), items: Vec::new(), vacant: Vec::new() };
        Self {
            span,
            kept: VecDeque::new(),
            greatest: None,
            new: 0,
            behind,
            free: 0,
            unasked: 0,
            is_first_behind: false,
            until: None,
            last: None,
            late: 0,
        }
    }

    /// Takes one in, which is copied once; then those that are let go are to be taken out.
    /// Whether it is new is for [`Self::take_new`]: one that is not, and comes behind one that is,
    /// counts as new.
    #[inline]
    pub(super) fn push(&mut self, item: &T, is_new: bool) {
        let key = item.key();
        self.unasked += 1;
        match self.greatest {
            Some(greatest) if greatest > key => self.behind.put(item, is_new),
            _ => {
                self.greatest = Some(key);
                self.new += usize::from(is_new || self.new > 0);
                if self.kept.len() == self.kept.capacity() {
                    self.grow();
                }
                // Into its place at once: by value it would be copied to the stack first.
                self.kept.extend(std::slice::from_ref(item));
            }
        }
        if self.len() >= 2 * self.span {
            self.let_go(self.span);
        }
    }

    /// What has begun to fill is full soon: to double its room again and again would copy all that
    /// is kept each time, into memory that the kernel has to clear first.
    #[cold]
    fn grow(&mut self) {
        let full = 2 * self.span;
        if (full / 8..full).contains(&self.kept.len()) {
            self.kept.reserve_exact(full - self.kept.len());
        }
    }

    fn let_go(&mut self, count: usize) {
        let held = self.until.filter(|_| self.len() < HELD * self.span);
        self.free = held.map_or(count, |until| count.min(self.below(&until)));
    }

    /// How many have keys below one.
    fn below(&self, key: &T::Key) -> usize {
        self.kept.partition_point(|item| item.key() < *key)
            + self.behind.order.partition_point(|(known, ..)| known < key)
    }

    /// What is not before this key stays, as long as there is not too much of it: something that
    /// belongs before it is still to come.
    pub(super) fn hold_from(&mut self, key: Option<T::Key>) {
        self.until = key;
        self.unasked = 0;
    }

    /// Whether some are let go soon, and enough came since what holds them was last asked for:
    /// what is too early a key holds more.
    pub(super) fn is_to_ask(&self) -> bool {
        self.len() >= self.span + self.span / 2 && self.unasked > self.span / 64
    }

    /// Whether any is let go.
    #[inline]
    pub(super) fn is_any_free(&self) -> bool {
        self.free > 0
    }

    /// The next ones that are let go, where they lie, as many as lie together and at most so many,
    /// and from which of them on they are new; then [`Self::drop_first`].
    #[inline]
    pub(super) fn first(&mut self, most: usize) -> (&mut [T], usize) {
        let most = most.min(self.free);
        if most == 0 {
            return (&mut [], 0);
        }
        let old = self.kept.len() - self.new;
        // Of equals the one that came first, which lies among those that came in order.
        let kept = self.kept.front().map(T::key);
        let behind = self.behind.order.front().map(|(key, ..)| *key);
        self.is_first_behind = behind.is_some_and(|behind| kept.is_none_or(|kept| behind < kept));
        let (first, old) = match self.is_first_behind {
            true => self.behind.first().unwrap_or_default(),
            false => {
                let (front, _) = self.kept.as_mut_slices();
                let front = front.split_at_mut(most.min(front.len())).0;
                let before = |item: &T| behind.is_none_or(|behind| item.key() <= behind);
                let count = front.iter().take_while(|item| before(item)).count();
                (front.split_at_mut(count).0, old)
            }
        };
        for item in first.iter() {
            let this = item.key();
            match self.last {
                Some(last) if last > this => self.late += 1,
                _ => self.last = Some(this),
            }
        }
        (first, old)
    }

    /// Those of all that came since this was last asked.
    pub(super) fn take_new(&mut self) -> impl Iterator<Item = &T> {
        let kept = self.kept.range(self.kept.len() - std::mem::take(&mut self.new)..);
        let Behind { order, items, .. } = &mut self.behind;
        let behind = order.iter_mut().filter(|(.., is_new)| *is_new).filter_map(|place| {
            place.2 = false;
            items.get(place.1 as usize)
        });
        kept.chain(behind)
    }

    /// Lets so many of these go.
    #[inline]
    pub(super) fn drop_first(&mut self, count: usize) {
        self.free = self.free.saturating_sub(count);
        match self.is_first_behind {
            true => self.behind.drop_first(),
            false if count == 1 => _ = self.kept.pop_front(),
            false => _ = self.kept.drain(..count.min(self.kept.len())),
        }
        self.new = self.new.min(self.kept.len());
    }

    /// Lets all go.
    pub(super) fn flush(&mut self) {
        self.free = self.len();
    }

    pub(super) fn len(&self) -> usize {
        self.kept.len() + self.behind.order.len()
    }

    /// How many were let go after one with a greater key.
    pub(super) fn late(&self) -> u64 {
        self.late
    }

    /// Gives the room of a burst back.
    pub(super) fn give_room_back(&mut self) {
        self.kept.give_room_back();
        self.behind.give_room_back();
    }

    /// Lets those go whose keys are below one.
    pub(super) fn let_go_below(&mut self, key: &T::Key) {
        self.free = self.below(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    impl Ordered for i64 {
        type Key = Self;
        fn key(&self) -> Self {
            *self
        }
    }

    impl<T: Ordered> ReorderBuffer<T> {
        fn pop(&mut self) -> Option<T> {
            let first = *self.first(1).0.first()?;
            self.drop_first(1);
            Some(first)
        }
    }

    fn sorted(span: usize, items: &[i64]) -> (Vec<i64>, u64) {
        let mut buffer = ReorderBuffer::new(span);
        let mut out = Vec::new();
        for item in items {
            buffer.push(item, false);
            out.extend(std::iter::from_fn(|| buffer.pop()));
        }
        buffer.flush();
        out.extend(std::iter::from_fn(|| buffer.pop()));
        (out, buffer.late())
    }

    #[test]
    fn those_below_a_key_can_be_let_go_before_their_turn() {
        let mut buffer = ReorderBuffer::new(100);
        [5, 3, 9, 4].into_iter().for_each(|item| buffer.push(&item, false));
        buffer.let_go_below(&5);
        assert_eq!((buffer.pop(), buffer.pop(), buffer.pop()), (Some(3), Some(4), None));
        buffer.push(&1, false);
        buffer.let_go_below(&6);
        assert_eq!((buffer.pop(), buffer.pop(), buffer.pop()), (Some(1), Some(5), None));
        assert_eq!((buffer.late(), buffer.len()), (1, 1));
    }

    #[test]
    fn the_room_of_a_burst_is_given_back_and_nothing_is_lost() {
        let mut buffer = ReorderBuffer::new(1 << 16);
        // Pairs, the later one first.
        let burst: Vec<i64> = (0..1 << 16).map(|item| item ^ 1).collect();
        burst.iter().for_each(|item| buffer.push(item, false));
        buffer.let_go_below(&60_000);
        let first = std::iter::from_fn(|| buffer.pop());
        assert!(first.eq(0..60_000));
        let room = |buffer: &ReorderBuffer<i64>| {
            let Behind { order, items, vacant } = &buffer.behind;
            buffer.kept.capacity() + order.capacity() + items.capacity() + vacant.capacity()
        };
        let most = room(&buffer);
        buffer.give_room_back();
        buffer.flush();
        assert!(std::iter::from_fn(|| buffer.pop()).eq(60_000..1 << 16));
        buffer.give_room_back();
        assert!(room(&buffer) * 2 < most, "{} of {most}", room(&buffer));
        [7, 9, 8].iter().for_each(|item| buffer.push(&(item + 100_000), false));
        buffer.flush();
        let after: Vec<i64> = std::iter::from_fn(|| buffer.pop()).collect();
        assert_eq!(after, [100_007, 100_008, 100_009]);
    }

    #[test]
    fn each_new_one_is_told_once_whether_it_is_here_still_or_leaves() {
        let mut buffer = ReorderBuffer::new(2);
        let mut told: Vec<i64> = Vec::new();
        for (item, is_new) in [(5, false), (6, true), (9, true), (7, true), (8, false)] {
            buffer.push(&item, is_new);
            while let (first, old) = buffer.first(1)
                && !first.is_empty()
            {
                told.extend(first.get(old..).unwrap_or_default());
                buffer.drop_first(1);
            }
        }
        // The first of the two that left was not new.
        assert_eq!(told, [6]);
        assert_eq!(buffer.take_new().copied().collect::<Vec<_>>(), [9, 7]);
        buffer.push(&10, false);
        buffer.push(&2, true);
        assert_eq!(buffer.take_new().copied().collect::<Vec<_>>(), [2]);
        assert_eq!(buffer.take_new().count(), 0);
    }

    #[test]
    fn what_comes_too_late_is_counted_and_not_lost() {
        assert_eq!(sorted(2, &[5, 6, 7, 8, 1, 9]), (vec![5, 6, 1, 7, 8, 9], 1));
    }

    #[test]
    fn what_is_behind_something_that_is_still_to_come_stays_up_to_a_bound() {
        let mut buffer = ReorderBuffer::new(2);
        buffer.hold_from(Some(3));
        let mut out = Vec::new();
        for item in 1..20 {
            buffer.push(&item, false);
            out.extend(std::iter::from_fn(|| buffer.pop()));
            if item == 10 {
                assert_eq!(out, [1, 2]);
            }
        }
        assert_eq!(out[..4], [1, 2, 3, 4], "there were too many");
    }

    #[test]
    fn what_is_still_to_come_is_asked_for_by_how_many_came() {
        let mut buffer = ReorderBuffer::new(128);
        let mut asked_at = Vec::new();
        for item in 0..250 {
            buffer.push(&item, false);
            if buffer.is_to_ask() {
                buffer.hold_from(None);
                asked_at.push(item);
            }
            assert!(!buffer.is_to_ask(), "nothing came since");
        }
        assert!(asked_at[0] >= 190 && asked_at.len() > 15, "{asked_at:?}");
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_a_disorder_within_the_span_is_mended(
            steps in prop::collection::vec(0i64..8, 0..200), span in 8usize..40,
        ) {
            // Each is at most 8 places from where it belongs.
            let items: Vec<i64> = steps.iter().enumerate().map(|(n, s)| n as i64 - s).collect();
            let mut wanted = items.clone();
            wanted.sort_unstable();
            prop_assert_eq!(sorted(span, &items), (wanted, 0));
        }
    }
}
