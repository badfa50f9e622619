//! Rows that are alike in all that they are classed by, but for their place: they are put together
//! first ([`Tally`]) and added to each of their classes many at a time. Rows come from few
//! processes in few sizes, so that there are few groups in use at once; a new slice of time begins
//! new ones.
//!
//! Non-goals: figures of a group. All of them are added to their classes ([`super::Response`])
//! before anything is known.

use super::classes::Combination;
use super::processes::ProcessId;
use crate::requests::{Share, Tally};
use hashbrown::HashTable;

/// Groups that are kept at once: little more than a MiB of them.
const MOST: usize = 4096;

/// What the rows of a group have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) combination: Combination,
    pub(super) process: ProcessId,
    /// The slice of time; none where no arrival is known.
    pub(super) period: Option<u8>,
    /// The class of what it found outstanding, of reads.
    pub(super) found: Option<u8>,
}

/// A key in two numbers, which are quick to compare.
type Packed = (u64, u64);

impl Key {
    #[inline(always)]
    fn pack(&self) -> Packed {
        let c = &self.combination;
        // None is a number that no class has.
        let or_none = |class: Option<u8>| u64::from(class.unwrap_or(u8::MAX));
        let what = u64::from(c.flags.0) << 32 | (c.op as u64) << 24 | u64::from(c.size) << 16;
        let what = u64::from(c.is_beneath) << 63 | what;
        let when = or_none(self.period) << 8 | or_none(self.found);
        (u64::from(c.device) << 32 | u64::from(self.process), what | when)
    }
}

#[inline(always)]
fn hash((who, what): Packed) -> u64 {
    // Knuth, The Art of Computer Programming, section 6.4: multiplicative hashing.
    let mixed =
        (what.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ who).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ mixed >> 32
}

/// A group: its key, and what its rows amount to.
#[derive(Debug)]
struct Group {
    packed: Packed,
    key: Key,
    tally: Tally,
}

#[derive(Debug, Default)]
pub(super) struct Groups {
    places: HashTable<usize>,
    all: Vec<Group>,
}

impl Groups {
    /// Adds a row's share to its group. A group that is full is settled.
    #[inline(always)]
    pub(super) fn add(&mut self, key: Key, share: &Share, mut settle: impl FnMut(&Key, &Tally)) {
        let packed = key.pack();
        let is_it =
            |place: &usize| self.all.get(*place).is_some_and(|group| group.packed == packed);
        let place = match self.places.find(hash(packed), is_it) {
            Some(place) => *place,
            None => self.begin(key, packed, &mut settle),
        };
        if let Some(Group { tally, .. }) = self.all.get_mut(place)
            && tally.add(share)
        {
            settle(&key, tally);
            tally.clear();
        }
    }

    #[cold]
    fn begin(&mut self, key: Key, packed: Packed, settle: impl FnMut(&Key, &Tally)) -> usize {
        if self.all.len() >= MOST {
            self.settle(settle);
        }
        let place = self.all.len();
        self.all.push(Group { packed, key, tally: Tally::default() });
        let all = &self.all;
        let rehash = |place: &usize| all.get(*place).map_or(0, |group| hash(group.packed));
        self.places.insert_unique(hash(packed), place, rehash);
        place
    }

    /// Settles all groups, and begins anew.
    pub(super) fn settle(&mut self, mut settle: impl FnMut(&Key, &Tally)) {
        self.places.clear();
        self.all.drain(..).for_each(|group| settle(&group.key, &group.tally));
    }
}
