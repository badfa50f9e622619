//! Sums by key in bounded memory, in which the heaviest keys are, whenever they come.
//!
//! Where there is no room, a new key takes the place of the lightest one, and its weight: so each
//! key that has more than the whole over the room is there, and what a key's sums lack is no more
//! than what it took over, which is less than the whole over the room.
//!
//! Source: Metwally, Agrawal, El Abbadi, "Efficient Computation of Frequent and Top-k Elements in
//! Data Streams" (ICDT 2005), the algorithm Space-Saving, here with weights.
//!
//! Non-goals: light keys, of which only the latest are there.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::hash::Hash;

/// The heaviest keys, each with what is summed of it since it is known.
#[derive(Debug, Clone)]
pub struct Heaviest<K, V> {
    room: usize,
    known: HashMap<K, Held<V>>,
    /// Weights as they were, once there was no room; who has become heavier since goes back in.
    lightest: BinaryHeap<Reverse<(u64, K)>>,
    lacking_most: u64,
}

#[derive(Debug, Clone)]
struct Held<V> {
    /// Its own since it is known, and what it took over.
    weight: u64,
    value: V,
}

impl<K: Copy + Eq + Hash + Ord, V: Default> Heaviest<K, V> {
    /// Of nothing yet, with room for so many keys, one at the least.
    pub fn new(room: usize) -> Self {
        Self {
            room: room.max(1),
            known: HashMap::new(),
            lightest: BinaryHeap::new(),
            lacking_most: 0,
        }
    }

    /// Adds weight to a key, and gives what is summed of it, to be added to.
    pub fn add(&mut self, key: K, weight: u64) -> &mut V {
        let is_full = self.known.len() >= self.room && !self.known.contains_key(&key);
        let taken_over = if is_full { self.make_room() } else { 0 };
        if is_full {
            self.lightest.push(Reverse((taken_over, key)));
        }
        let new = || Held { weight: taken_over, value: V::default() };
        let held = self.known.entry(key).or_insert_with(new);
        held.weight = held.weight.saturating_add(weight);
        &mut held.value
    }

    /// Removes the lightest key; its weight.
    fn make_room(&mut self) -> u64 {
        if self.lightest.is_empty() {
            let all = self.known.iter().map(|(key, held)| Reverse((held.weight, *key)));
            self.lightest = all.collect();
        }
        while let Some(Reverse((weight, key))) = self.lightest.pop() {
            let now = self.known.get(&key).map_or(weight, |held| held.weight);
            if now > weight {
                self.lightest.push(Reverse((now, key)));
                continue;
            }
            self.known.remove(&key);
            self.lacking_most = self.lacking_most.max(weight);
            return weight;
        }
        0
    }

    /// The keys and what is summed of each, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.known.iter().map(|(key, held)| (key, &held.value))
    }

    /// What the sums of a key can lack at the most, in its weight: 0 while there was room.
    pub fn lacking_most(&self) -> u64 {
        self.lacking_most
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        *self = Self::new(self.room);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn added(room: usize, stream: &[(u8, u64)]) -> Heaviest<u8, u64> {
        let mut heaviest = Heaviest::new(room);
        for (key, weight) in stream {
            *heaviest.add(*key, *weight) += weight;
        }
        heaviest
    }

    #[test]
    fn who_comes_last_and_is_heaviest_is_there() {
        let mut stream: Vec<(u8, u64)> = (0..100).map(|key| (key, 10)).collect();
        stream.extend([(200, 3000), (201, 1)]);
        let heaviest = added(20, &stream);
        assert_eq!(heaviest.iter().find(|(key, _)| **key == 200), Some((&200, &3000)));
        assert_eq!(heaviest.iter().count(), 20);
        assert!((10..=200).contains(&heaviest.lacking_most()));
    }

    proptest! {
        #[test]
        fn the_heavy_are_there_and_lack_no_more_than_is_said(
            room in 1usize..12,
            stream in proptest::collection::vec((0u8..40, 0u64..1000), 0..300),
        ) {
            let heaviest = added(room, &stream);
            let whole: u64 = stream.iter().map(|(_, weight)| weight).sum();
            let lacking = heaviest.lacking_most();
            prop_assert!(lacking * room as u64 <= whole);
            prop_assert!(heaviest.iter().count() <= room);
            for key in 0..40 {
                let own = stream.iter().filter(|(other, _)| *other == key);
                let truth: u64 = own.map(|(_, weight)| weight).sum();
                match heaviest.iter().find(|(known, _)| **known == key) {
                    Some((_, sum)) => prop_assert!(*sum <= truth && truth <= sum + lacking),
                    None => prop_assert!(truth * room as u64 <= whole),
                }
            }
        }
    }
}
