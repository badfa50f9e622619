//! What waits of a class take in calm: in slices of time in which others were hardly busy at the
//! device, or, where there are too few of these, in the quietest tenth. Slices are kept by how far
//! they are from calm and by how long a wait took in them, as sums of integers: so calm can be
//! chosen over any time, and is the same however its parts were put together.
//!
//! Of these slices, those whose waits took many times the middle one's are no calm, whatever the
//! cause.
//!
//! Non-goals: who is to blame for what took longer (`super::blame`).

use crate::merge::{merged, sum};
use model::histogram::{Binned, eighth_of, middle_of, value_of};
use std::collections::BTreeMap;

/// In calm, others are busy for less than this part of the time.
pub(crate) const CALM: f64 = 0.02;
/// The least number of waits that make a comparison, and their least part of all.
pub(crate) const LEAST: u64 = 20;
const LEAST_PART: f64 = 0.01;
/// Without calm: the quietest part of all waits.
const QUIETEST: f64 = 0.1;
/// Others that are busy for more than this part even then leave no calm at all.
const NO_CALM: f64 = 0.5;
/// Slices whose waits took so many times the middle one's are not what is usual in calm.
const UNUSUAL: f64 = 5.0;
/// Beyond calm: so many steps of unrest.
const STEPS: f64 = 128.0;
/// What others' business is counted in: millionths.
const MILLIONTHS: f64 = 1e6;

/// What the parts of a wait come to that are nobody else's request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OwnPart {
    Own,
    Held,
    Stalled,
    Throttled,
}

/// In ns, by [`OwnPart`].
pub(crate) type OwnParts = [u64; 4];

/// Slices that are alike: by steps from calm, and by the mean length of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Alike {
    unrest: u8,
    length: u16,
}

impl Alike {
    /// `unrest` is for which part of the time others were busy; the mean length in ns.
    pub(crate) fn of(unrest: f64, mean_ns: u64) -> Self {
        let steps = (unrest.clamp(0.0, 1.0) * STEPS) as u8;
        let unrest = if unrest < CALM { 0 } else { steps + 1 };
        Self { unrest, length: length_of(mean_ns) }
    }
}

/// An eighth of an octave.
fn length_of(mean_ns: u64) -> u16 {
    eighth_of(Binned::new(mean_ns).bucket().into()) as u16
}

/// Sums over slices, of a slice's count of waits n and the sum of their times s.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Slices {
    pub(crate) count: u64,
    pub(crate) sum_ns: u64,
    counts2: u128,
    products: u128,
    sums2: u128,
    /// Of each wait, for how many millionths of the time others were busy.
    others: u64,
    parts_ns: OwnParts,
}

merged!(Slices { count, sum_ns, counts2, products, sums2, others, parts_ns });

impl Slices {
    /// A slice's waits, and for which part of it others were busy.
    pub(crate) fn of(count: u64, sum_ns: u64, others: f64, parts_ns: OwnParts) -> Self {
        let (n, s) = (u128::from(count), u128::from(sum_ns));
        Self {
            count,
            sum_ns,
            counts2: n * n,
            products: n * s,
            sums2: s * s,
            others: (others * count as f64 * MILLIONTHS).round() as u64,
            parts_ns,
        }
    }
}

/// What a class of waits takes in calm; by default, where there are none.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Calm {
    pub(crate) count: u64,
    pub(crate) mean_ns: f64,
    pub(crate) error_ns: f64,
    /// The variance of a sum of waits over how many they are.
    pub(crate) chance_ns2: f64,
    /// What of a wait is nobody else's request.
    pub(crate) parts_ns: [f64; 4],
    /// For which part of the time others were busy even then.
    others: f64,
    unrest_most: u8,
    length_most: u16,
}

impl Calm {
    /// Whether others were busy so much that there is nothing to compare with.
    pub(crate) fn is_none(&self) -> bool {
        self.others > NO_CALM
    }

    /// Whether slices are of it.
    pub(crate) fn has(&self, alike: Alike) -> bool {
        alike.unrest <= self.unrest_most && alike.length <= self.length_most
    }

    /// Of all slices of a class; `least` waits make a comparison.
    pub(crate) fn of(all: &BTreeMap<Alike, Slices>, least: u64) -> Option<Self> {
        let unrest_most = unrest_most(all, least)?;
        let quiet = || all.iter().filter(move |(alike, _)| alike.unrest <= unrest_most);
        let mut lengths: BTreeMap<u16, u64> = BTreeMap::new();
        quiet().for_each(|(alike, of)| *lengths.entry(alike.length).or_default() += of.count);
        let half = lengths.values().sum::<u64>().div_ceil(2);
        let mut seen = 0;
        let middle = lengths.iter().find_map(|(length, count)| {
            seen += count;
            (seen >= half).then_some(*length)
        })?;
        let middle_ns = value_of(middle_of(middle.into())).map_or(f64::MAX, |ns| ns as f64);
        let length_most = length_of((UNUSUAL * middle_ns) as u64);
        let usual = quiet().filter(|(alike, _)| alike.length <= length_most);
        let usual: Slices = sum(usual.map(|(_, of)| *of));
        let count = usual.count as f64;
        let mean_ns = usual.sum_ns as f64 / count;
        let spread_ns2 = (usual.sums2 as f64 - 2.0 * mean_ns * usual.products as f64
            + mean_ns * mean_ns * usual.counts2 as f64)
            .max(0.0);
        Some(Self {
            count: usual.count,
            mean_ns,
            error_ns: spread_ns2.sqrt() / count,
            chance_ns2: spread_ns2 / count,
            parts_ns: usual.parts_ns.map(|ns| ns as f64 / count),
            others: usual.others as f64 / MILLIONTHS / count,
            unrest_most,
            length_most,
        })
    }
}

/// How far from calm slices may be: none of them where calm has enough waits.
fn unrest_most(all: &BTreeMap<Alike, Slices>, least: u64) -> Option<u8> {
    let whole: u64 = all.values().map(|slices| slices.count).sum();
    let part = |part: f64| least.max((part * whole as f64).ceil() as u64);
    let in_calm = all.iter().take_while(|(alike, _)| alike.unrest == 0);
    if in_calm.map(|(_, slices)| slices.count).sum::<u64>() >= part(LEAST_PART) {
        return Some(0);
    }
    let mut seen = 0;
    let last = all.iter().find(|(_, slices)| {
        seen += slices.count;
        seen >= part(QUIETEST)
    });
    last.map(|(alike, _)| alike.unrest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merge::Merge as _;
    use proptest::prelude::*;

    fn slices(all: &[(f64, u64, u64)]) -> BTreeMap<Alike, Slices> {
        let mut rows: BTreeMap<Alike, Slices> = BTreeMap::new();
        for (unrest, count, mean_ns) in all {
            let sum_ns = count * mean_ns;
            let of = Slices::of(*count, sum_ns, *unrest, [sum_ns, 0, 0, 0]);
            rows.entry(Alike::of(*unrest, *mean_ns)).or_default().merge(of);
        }
        rows
    }

    #[test]
    fn calm_is_where_others_are_hardly_busy_else_the_quietest_tenth() {
        let calm = |all: &[(f64, u64, u64)]| Calm::of(&slices(all), LEAST);
        let enough = calm(&[(0.0, 30, 1000), (0.9, 900, 5000)]).unwrap();
        assert_eq!((enough.count, enough.mean_ns, enough.is_none()), (30, 1000.0, false));
        // 19 are too few; a tenth is of two steps.
        let quietest = calm(&[(0.0, 19, 1000), (0.3, 181, 2000), (0.9, 1800, 9000)]).unwrap();
        assert_eq!((quietest.count, quietest.mean_ns), (200, 1905.0));
        assert_eq!(calm(&[(0.0, 19, 1000)]), None);
        let busy = calm(&[(0.8, 100, 1000), (0.9, 100, 1000)]).unwrap();
        assert!(busy.is_none());
        assert_eq!(Calm::of(&slices(&[(0.0, 1, 70)]), 1).unwrap().mean_ns, 70.0);
    }

    #[test]
    fn a_few_bad_slices_in_calm_are_not_what_is_usual() {
        let calm = Calm::of(&slices(&[(0.0, 500, 1000), (0.01, 3, 90_000)]), LEAST).unwrap();
        assert_eq!((calm.count, calm.mean_ns, calm.error_ns), (500, 1000.0, 0.0));
        assert!(!calm.has(Alike::of(0.0, 90_000)) && calm.has(Alike::of(0.01, 2000)));
    }

    proptest! {
        /// The mean and its error are those of the slices themselves.
        #[test]
        fn spread_is_that_of_slices(
            all in prop::collection::vec((20u64..200, 900u64..1100), 1..40),
        ) {
            let rows: Vec<_> = all.iter().map(|(count, mean_ns)| (0.0, *count, *mean_ns)).collect();
            let calm = Calm::of(&slices(&rows), LEAST).unwrap();
            let count: f64 = all.iter().map(|(count, _)| *count as f64).sum();
            let sum: f64 = all.iter().map(|(count, mean_ns)| (count * mean_ns) as f64).sum();
            prop_assert!((calm.mean_ns - sum / count).abs() < 1e-9);
            let off = |(n, mean): &(u64, u64)| (*n as f64 * (*mean as f64 - sum / count)).powi(2);
            let error_ns = all.iter().map(off).sum::<f64>().sqrt() / count;
            prop_assert!((calm.error_ns - error_ns).abs() < 1e-3, "{} {error_ns}", calm.error_ns);
        }
    }
}
