//! The reorder buffer: sorts a stream that is nearly in order, in bounded memory. It keeps an item
//! until so many others have come, and then lets it go in order.
//!
//! An item that comes later than that leaves out of order, and is counted.

use std::collections::VecDeque;

pub(super) trait Ordered: Copy {
    type Key: Ord + Copy + std::fmt::Debug;
    fn key(&self) -> Self::Key;
}

#[derive(Debug)]
pub(super) struct ReorderBuffer<T: Ordered> {
    /// How many are kept at the least.
    span: usize,
    /// Those that came in order, as nearly all do: they are never moved.
    kept: VecDeque<T>,
    /// The greatest key of these: to read it where it was just written would wait for that.
    greatest: Option<T::Key>,
    /// Those that came behind one with a greater key, in order as soon as any may go.
    behind: VecDeque<T>,
    /// How many of the first of all may go.
    free: usize,
    /// Whether the first of all is one of those behind.
    is_first_behind: bool,
    last: Option<T::Key>,
    late: u64,
}

impl<T: Ordered> ReorderBuffer<T> {
    pub(super) fn new(span: usize) -> Self {
        Self {
            span,
            kept: VecDeque::new(),
            greatest: None,
            behind: VecDeque::new(),
            free: 0,
            is_first_behind: false,
            last: None,
            late: 0,
        }
    }

    /// Takes one in, which is copied once; then those that are let go are to be taken out.
    #[inline]
    pub(super) fn push(&mut self, item: &T) {
        let key = item.key();
        match self.greatest {
            Some(greatest) if greatest > key => self.put_behind(item),
            _ => {
                self.greatest = Some(key);
                self.kept.push_back(*item);
            }
        }
        if self.len() >= 2 * self.span {
            self.let_go(self.span);
        }
    }

    #[cold]
    fn put_behind(&mut self, item: &T) {
        self.behind.push_back(*item);
    }

    /// The next one that is let go, where it lies; then [`Self::drop_first`].
    #[inline]
    pub(super) fn first(&mut self) -> Option<&mut T> {
        if self.free == 0 {
            return None;
        }
        // Of equals the one that came first, which lies among those that came in order.
        self.is_first_behind = match (self.kept.front(), self.behind.front()) {
            (Some(kept), Some(behind)) => behind.key() < kept.key(),
            (kept, _) => kept.is_none(),
        };
        let this = self.queue().front()?.key();
        match self.last {
            Some(last) if last > this => self.late += 1,
            _ => self.last = Some(this),
        }
        self.queue().front_mut()
    }

    /// Lets the first one go.
    #[inline]
    pub(super) fn drop_first(&mut self) {
        self.free = self.free.saturating_sub(1);
        self.queue().pop_front();
    }

    /// Where the first one lies.
    #[inline]
    fn queue(&mut self) -> &mut VecDeque<T> {
        if self.is_first_behind { &mut self.behind } else { &mut self.kept }
    }

    /// The next one that is let go.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<T> {
        self.first()?;
        self.free -= 1;
        self.queue().pop_front()
    }

    /// Whether none is kept.
    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Lets all go.
    pub(super) fn flush(&mut self) {
        self.let_go(self.len());
    }

    pub(super) fn len(&self) -> usize {
        self.kept.len() + self.behind.len()
    }

    /// How many were let go after one with a greater key.
    pub(super) fn late(&self) -> u64 {
        self.late
    }

    /// Lets those go whose keys are below one.
    pub(super) fn let_go_below(&mut self, key: &T::Key) {
        self.let_go(0);
        let below = |item: &T| item.key() < *key;
        self.free = self.kept.partition_point(below) + self.behind.partition_point(below);
    }

    /// The sort is stable: what is equal stays in the order in which it came.
    fn let_go(&mut self, count: usize) {
        self.behind.make_contiguous().sort_by_key(T::key);
        self.free = count;
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

    fn sorted(span: usize, items: &[i64]) -> (Vec<i64>, u64) {
        let mut buffer = ReorderBuffer::new(span);
        let mut out = Vec::new();
        for item in items {
            buffer.push(item);
            out.extend(std::iter::from_fn(|| buffer.pop()));
        }
        buffer.flush();
        out.extend(std::iter::from_fn(|| buffer.pop()));
        (out, buffer.late())
    }

    #[test]
    fn those_below_a_key_can_be_let_go_before_their_turn() {
        let mut buffer = ReorderBuffer::new(100);
        [5, 3, 9, 4].iter().for_each(|item| buffer.push(item));
        buffer.let_go_below(&5);
        assert_eq!((buffer.pop(), buffer.pop(), buffer.pop()), (Some(3), Some(4), None));
        buffer.push(&1);
        buffer.let_go_below(&6);
        assert_eq!((buffer.pop(), buffer.pop(), buffer.pop()), (Some(1), Some(5), None));
        assert_eq!((buffer.late(), buffer.len()), (1, 1));
    }

    #[test]
    fn what_comes_too_late_is_counted_and_not_lost() {
        assert_eq!(sorted(2, &[5, 6, 7, 8, 1, 9]), (vec![5, 6, 1, 7, 8, 9], 1));
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
