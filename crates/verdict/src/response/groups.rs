//! Rows that are alike in what they are classed by, but for their place: they are put together
//! first ([`Tally`]) and added to each of their classes many at a time. Those of a process are put
//! together apart from those of the other classes: both tables are small, where one by all of them
//! would have thousands of groups in use at once.
//!
//! Non-goals: figures of a group. All of them are added to their classes ([`super::Response`])
//! before anything is known.

use super::Totals;
use super::classes::Combination;
use super::processes::ProcessId;
use crate::requests::{Share, Tally};
use hashbrown::HashTable;

/// Groups that are kept at once: less than a MiB of them.
const MOST: usize = 2048;

/// What the rows of a group have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) combination: Combination,
    /// The slice of time; none where no arrival is known.
    pub(super) period: Option<u8>,
    /// The class of what it found outstanding, of reads.
    pub(super) found: Option<u8>,
}

/// A key in two numbers, which are quick to compare.
type Packed = (u32, u64);

impl Key {
    #[inline(always)]
    fn pack(&self) -> Packed {
        let c = &self.combination;
        // None is a number that no class has.
        let or_none = |class: Option<u8>| u64::from(class.unwrap_or(u8::MAX));
        let what = u64::from(c.flags.0) << 32 | (c.op as u64) << 24 | u64::from(c.size) << 16;
        let what = u64::from(c.is_beneath) << 63 | what;
        let when = or_none(self.period) << 8 | or_none(self.found);
        (c.device, what | when)
    }
}

#[inline(always)]
fn hash((device, what): Packed) -> u64 {
    // Knuth, The Art of Computer Programming, section 6.4: multiplicative hashing.
    let mixed = (what.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from(device))
        .wrapping_mul(0xbf58_476d_1ce4_e5b9);
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
    /// By the places of processes.
    processes: Vec<Tally>,
}

impl Groups {
    /// Adds a row's share to its group, and to its process. What is full is settled.
    #[inline(always)]
    pub(super) fn add(&mut self, key: Key, process: ProcessId, share: &Share, totals: &mut Totals) {
        let packed = key.pack();
        let is_it =
            |place: &usize| self.all.get(*place).is_some_and(|group| group.packed == packed);
        let place = match self.places.find(hash(packed), is_it) {
            Some(place) => *place,
            None => self.begin(key, packed, totals),
        };
        if let Some(Group { tally, .. }) = self.all.get_mut(place)
            && tally.add(share)
        {
            totals.settle(&key, tally);
            tally.clear();
        }
        // Of all devices together each request counts once, at the top of its stack.
        if key.combination.is_beneath {
            return;
        }
        let place = process as usize;
        if self.processes.len() <= place {
            self.processes.resize_with(place + 1, Tally::default);
        }
        let tally = &mut self.processes[place];
        if tally.add(share) {
            totals.processes.settle(process, tally);
            tally.clear();
        }
    }

    #[cold]
    fn begin(&mut self, key: Key, packed: Packed, totals: &mut Totals) -> usize {
        if self.all.len() >= MOST {
            self.settle(totals);
        }
        let place = self.all.len();
        self.all.push(Group { packed, key, tally: Tally::default() });
        let all = &self.all;
        let rehash = |place: &usize| all.get(*place).map_or(0, |group| hash(group.packed));
        self.places.insert_unique(hash(packed), place, rehash);
        place
    }

    /// Settles all groups, and begins anew.
    pub(super) fn settle(&mut self, totals: &mut Totals) {
        self.places.clear();
        self.all.drain(..).for_each(|group| totals.settle(&group.key, &group.tally));
        for (process, tally) in (0..).zip(self.processes.drain(..)) {
            totals.processes.settle(process, &tally);
        }
    }
}
