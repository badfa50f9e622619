//! What parts of a whole came to, added up: numbers by their sums, tables key by key, structs field
//! by field ([`merged`]). In whichever order parts are added, the whole is the same.
//!
//! Non-goals: what depends on an order (`response::flow`), and sums of a hot loop.

use hashbrown::HashMap;
use model::histogram::{Buckets, Store};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hash;

/// What is added up.
pub(crate) trait Merge {
    /// Adds what another part came to.
    fn merge(&mut self, other: Self);
}

/// All parts together.
pub(crate) fn sum<T: Merge + Default>(parts: impl IntoIterator<Item = T>) -> T {
    let mut whole = T::default();
    parts.into_iter().for_each(|part| whole.merge(part));
    whole
}

/// Adds up a struct's fields; of those behind `max` it keeps the greater.
macro_rules! merged {
    ($kind:ty { $($field:ident),* } $(max { $($most:ident),* })?) => {
        impl $crate::merge::Merge for $kind {
            fn merge(&mut self, other: Self) {
                $($crate::merge::Merge::merge(&mut self.$field, other.$field);)*
                $($(self.$most = self.$most.max(other.$most);)*)?
            }
        }
    };
}
pub(crate) use merged;

/// Whole numbers stop at their greatest.
macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl Merge for $number {
            fn merge(&mut self, other: Self) {
                *self = self.saturating_add(other);
            }
        }
    )*};
}
numbers!(u64, u128, i64);

impl Merge for f64 {
    fn merge(&mut self, other: Self) {
        *self += other;
    }
}

impl Merge for bool {
    fn merge(&mut self, other: Self) {
        *self |= other;
    }
}

impl<T: Merge, const N: usize> Merge for [T; N] {
    fn merge(&mut self, other: Self) {
        self.iter_mut().zip(other).for_each(|(own, theirs)| own.merge(theirs));
    }
}

impl<A: Merge, B: Merge> Merge for (A, B) {
    fn merge(&mut self, other: Self) {
        self.0.merge(other.0);
        self.1.merge(other.1);
    }
}

impl<T> Merge for Vec<T> {
    fn merge(&mut self, other: Self) {
        self.extend(other);
    }
}

impl<T: Ord> Merge for BTreeSet<T> {
    fn merge(&mut self, other: Self) {
        self.extend(other);
    }
}

impl<K: Ord, T: Merge + Default> Merge for BTreeMap<K, T> {
    fn merge(&mut self, other: Self) {
        other.into_iter().for_each(|(key, part)| self.entry(key).or_default().merge(part));
    }
}

impl<K: Eq + Hash, T: Merge + Default> Merge for HashMap<K, T> {
    fn merge(&mut self, other: Self) {
        other.into_iter().for_each(|(key, part)| self.entry(key).or_default().merge(part));
    }
}

impl<S: Store> Merge for Buckets<S> {
    fn merge(&mut self, other: Self) {
        Self::merge(self, &other);
    }
}
