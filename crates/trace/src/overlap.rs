//! Sorts a stream that is nearly in order, in bounded memory: what comes is kept for so many others, and
//! then let go in order.
//!
//! What comes later than that is let go out of order, and counted.

use std::collections::VecDeque;

/// A window over a stream, sorted by a key.
#[derive(Debug)]
pub(crate) struct Overlap<T, K> {
    key: fn(&T) -> K,
    /// How many are kept at the least.
    span: usize,
    kept: Vec<T>,
    free: VecDeque<T>,
    last: Option<K>,
    late: u64,
}

impl<T, K: Ord + Copy> Overlap<T, K> {
    pub(crate) fn new(span: usize, key: fn(&T) -> K) -> Self {
        let (kept, free) = (Vec::with_capacity(2 * span), VecDeque::with_capacity(span));
        Self { key, span, kept, free, last: None, late: 0 }
    }

    /// Takes one in; then [`Self::pop`] until there is none.
    pub(crate) fn push(&mut self, item: T) {
        self.kept.push(item);
        if self.kept.len() >= 2 * self.span {
            self.let_go(self.span);
        }
    }

    /// The next one that is let go.
    pub(crate) fn pop(&mut self) -> Option<T> {
        self.free.pop_front()
    }

    /// Whether none is kept.
    pub(crate) fn is_empty(&self) -> bool {
        self.kept.is_empty() && self.free.is_empty()
    }

    /// Lets all go.
    pub(crate) fn flush(&mut self) {
        self.let_go(self.kept.len());
    }

    /// How many are in it.
    pub(crate) fn len(&self) -> usize {
        self.kept.len() + self.free.len()
    }

    /// How many were let go after one with a greater key.
    pub(crate) fn late(&self) -> u64 {
        self.late
    }

    /// The sort is stable: what is equal stays in the order in which it came.
    fn let_go(&mut self, count: usize) {
        let key = self.key;
        self.kept.sort_by_key(key);
        for item in self.kept.drain(..count) {
            let this = key(&item);
            match self.last {
                Some(last) if last > this => self.late += 1,
                _ => self.last = Some(this),
            }
            self.free.push_back(item);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sorted(span: usize, items: &[i64]) -> (Vec<i64>, u64) {
        let mut overlap = Overlap::new(span, |item: &i64| *item);
        let mut out = Vec::new();
        for item in items {
            overlap.push(*item);
            out.extend(std::iter::from_fn(|| overlap.pop()));
        }
        overlap.flush();
        out.extend(std::iter::from_fn(|| overlap.pop()));
        (out, overlap.late())
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
