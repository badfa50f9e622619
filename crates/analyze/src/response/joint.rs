//! Requests by what they have in common in several ways at once: device, operation, origin and
//! size. A row is added once; what is asked of one of the four, or of all, is merged from the
//! combinations at the end.

use super::classes::{ORIGIN_FLAGS, size};
use crate::traffic::{Tally, Traffic};
use hashbrown::HashMap;
use model::record::{Flags, Op, Request};

/// One combination.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Combination {
    pub(super) device: u32,
    pub(super) op: Op,
    /// Those that tell the origin.
    pub(super) flags: Flags,
    pub(super) size: u8,
}

impl Combination {
    #[inline(always)]
    pub(super) fn of(row: &Request) -> Self {
        let flags = Flags(row.flags.0 & ORIGIN_FLAGS);
        Self { device: row.device, op: row.op, flags, size: size(row.length_bytes) }
    }
}

/// Traffic by combination.
#[derive(Debug, Default)]
pub(super) struct Joint {
    places: HashMap<Combination, usize>,
    traffic: Vec<Traffic>,
}

impl Joint {
    pub(super) fn settle(&mut self, combination: Combination, tally: &Tally) {
        let place = self.place(combination);
        if let Some(traffic) = self.traffic.get_mut(place) {
            traffic.settle(tally);
        }
    }

    fn place(&mut self, combination: Combination) -> usize {
        *self.places.entry(combination).or_insert_with(|| {
            self.traffic.push(Traffic::default());
            self.traffic.len() - 1
        })
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (combination, place) in &other.places {
            let own = self.place(*combination);
            if let Some((own, theirs)) = self.traffic.get_mut(own).zip(other.traffic.get(*place)) {
                own.merge(theirs);
            }
        }
    }

    /// The traffic of each class, in order of the classes' numbers.
    pub(super) fn by(&self, class: impl Fn(&Combination) -> u64) -> Vec<(u64, Traffic)> {
        let mut merged: std::collections::BTreeMap<u64, Traffic> = Default::default();
        for (combination, place) in &self.places {
            if let Some(traffic) = self.traffic.get(*place) {
                merged.entry(class(combination)).or_default().merge(traffic);
            }
        }
        merged.into_iter().collect()
    }
}
