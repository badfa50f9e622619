//! Response times of a device's requests of an operation: by bins of time, and of all how many took
//! how long.
//!
//! What is kept of a bin is small, whatever a row has: the sum of the logarithms, so that a bin has
//! a geometric mean, which a few long requests do not move; and how many took very long. All sums
//! are integers, so that they are the same in any order.
//!
//! Non-goals: comparing (`super::kind`).

use crate::merge::Merge;
use model::histogram::{eighth_of, value_of};
use model::history::{HOUR_NS, MINUTE_NS};
use model::record::RollupRow;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// A logarithm of 1 as an integer.
const ONE: f64 = 1024.0;
/// Eighths of octaves: all that there are of 64 bits.
const EIGHTHS: usize = 464;
/// What takes so long or longer is slow, whatever the device.
pub(super) const SLOW_NS: u64 = 250_000_000;
/// Bins are hours up to so many hours in all, and four hours beyond.
const HOURS_MOST: i64 = 8 * 24;

/// How long a bin is.
pub(super) fn bin_ns(from_unix_ns: i64, until_unix_ns: i64) -> i64 {
    match until_unix_ns.saturating_sub(from_unix_ns) / HOUR_NS <= HOURS_MOST {
        true => HOUR_NS,
        false => 4 * HOUR_NS,
    }
}

/// Requests of a bin of time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Bin {
    /// There are a million bins: counts of 32 bits, and whole µs.
    count: u32,
    max_us: u32,
    /// The sum of the logarithms of ns.
    logarithms: i64,
}

impl Bin {
    pub(super) fn count(&self) -> u64 {
        self.count.into()
    }

    /// The longest one, in whole µs.
    pub(super) fn max_ns(&self) -> u64 {
        u64::from(self.max_us) * 1_000
    }

    /// The logarithm of the geometric mean.
    pub(super) fn logarithm(&self) -> f64 {
        self.logarithms as f64 / ONE / f64::from(self.count.max(1))
    }
}

impl Merge for Bin {
    fn merge(&mut self, other: Self) {
        self.count = self.count.saturating_add(other.count);
        self.logarithms = self.logarithms.saturating_add(other.logarithms);
        self.max_us = self.max_us.max(other.max_us);
    }
}

/// How many took how long: by eighths of octaves.
#[derive(Debug, Clone, Default)]
pub(super) struct Times(Vec<u32>);

impl Times {
    fn add(&mut self, eighth: u64, count: u64) {
        let (place, count) = (eighth as usize, u32::try_from(count).unwrap_or(u32::MAX));
        if self.0.is_empty() {
            self.0.resize(EIGHTHS, 0);
        }
        if let Some(sum) = self.0.get_mut(place) {
            *sum = sum.saturating_add(count);
        }
    }

    pub(super) fn count(&self) -> u64 {
        self.0.iter().map(|count| u64::from(*count)).sum()
    }

    /// The mean logarithm of the slowest ones, so large a part of all.
    pub(super) fn slowest(&self, share: f64) -> Option<f64> {
        let wanted = self.count() as f64 * share;
        let mut left = wanted;
        let mut sum = 0.0;
        for (eighth, count) in self.0.iter().enumerate().rev().filter(|(_, count)| **count > 0) {
            let taken = f64::from(*count).min(left);
            sum += taken * logarithm(model::histogram::middle_of(eighth as u64)) / ONE;
            left -= taken;
        }
        (wanted >= 1.0).then(|| sum / wanted)
    }
}

impl Merge for Times {
    fn merge(&mut self, other: Self) {
        let all = other.0.into_iter().enumerate().filter(|(_, count)| *count > 0);
        all.for_each(|(eighth, count)| self.add(eighth as u64, count.into()));
    }
}

/// The logarithm of a bucket's middle.
fn logarithm(bucket: u64) -> f64 {
    static ALL: OnceLock<Vec<i64>> = OnceLock::new();
    let all = ALL.get_or_init(|| {
        let of = |bucket: u64| Some((value_of(bucket)?.max(1) as f64).ln() * ONE);
        (0..).map_while(of).map(|logarithm| logarithm.round() as i64).collect()
    });
    usize::try_from(bucket).ok().and_then(|place| all.get(place)).map_or(0.0, |of| *of as f64)
}

/// A row's time: its first minute, and how many it has.
pub(super) type Minutes = (i64, i64);

/// How many requests took [`SLOW_NS`] or longer, by the times of the rows; by hours where these are
/// many.
#[derive(Debug, Clone, Default)]
pub(super) struct Slow {
    by_time: BTreeMap<Minutes, u64>,
    are_hours: bool,
}

/// Bins for which room is made at once.
const BINS_MORE: usize = 48;
/// Rows with slow requests that are told apart.
const SLOW_MOST: usize = 2_000;
const MINUTES: i64 = HOUR_NS / MINUTE_NS;

impl Slow {
    pub(super) fn iter(&self) -> impl Iterator<Item = (Minutes, u64)> + '_ {
        self.by_time.iter().map(|(time, count)| (*time, *count))
    }

    pub(super) fn sum(&self) -> u64 {
        self.by_time.values().sum()
    }

    pub(super) fn add(&mut self, (from, minutes): Minutes, count: u64) {
        let time = match self.are_hours && minutes < MINUTES {
            true => (from.div_euclid(MINUTES) * MINUTES, MINUTES),
            false => (from, minutes),
        };
        *self.by_time.entry(time).or_default() += count;
        if self.by_time.len() > SLOW_MOST && !self.are_hours {
            self.are_hours = true;
            let all = std::mem::take(&mut self.by_time);
            all.into_iter().for_each(|(time, count)| self.add(time, count));
        }
    }
}

impl Merge for Slow {
    fn merge(&mut self, other: Self) {
        if other.are_hours && !self.are_hours {
            let own = std::mem::replace(self, Self { are_hours: true, ..Self::default() });
            own.by_time.into_iter().for_each(|(time, count)| self.add(time, count));
        }
        other.by_time.into_iter().for_each(|(time, count)| self.add(time, count));
    }
}

/// Requests of an operation.
#[derive(Debug, Clone, Default)]
pub(super) struct Pace {
    /// By their numbers, in ascending order.
    bins: Vec<(i32, Bin)>,
    pub(super) times: Times,
    pub(super) slow: Slow,
}

impl Pace {
    pub(super) fn bins(&self) -> impl Iterator<Item = (i64, Bin)> + '_ {
        self.bins.iter().map(|(number, bin)| (i64::from(*number), *bin))
    }

    fn bin(&mut self, number: i32) -> &mut Bin {
        if self.bins.len() == self.bins.capacity() {
            self.bins.reserve_exact(BINS_MORE);
        }
        // Rows of a key come in the order of their time.
        let place = match self.bins.last() {
            Some((last, _)) if *last == number => self.bins.len() - 1,
            _ => match self.bins.binary_search_by_key(&number, |(number, _)| *number) {
                Ok(place) => place,
                Err(place) => {
                    self.bins.insert(place, (number, Bin::default()));
                    place
                }
            },
        };
        &mut self.bins[place].1
    }

    /// Adds a row's requests, which are of the bin with that number.
    pub(super) fn add(&mut self, number: i64, row: &RollupRow<'_>) {
        let short = |of: u64| u32::try_from(of).unwrap_or(u32::MAX);
        let mut bin = Bin { max_us: short(row.max_ns / 1_000), ..Bin::default() };
        for (bucket, count) in row.buckets.iter().zip(row.counts) {
            bin.count = bin.count.saturating_add(short(*count));
            bin.logarithms += logarithm(*bucket) as i64 * *count as i64;
            self.times.add(eighth_of(*bucket), *count);
        }
        if row.max_ns >= SLOW_NS {
            let is_slow =
                |(bucket, _): &(&u64, &u64)| value_of(**bucket).is_some_and(|ns| ns >= SLOW_NS);
            let slow = row.buckets.iter().zip(row.counts).filter(is_slow);
            let length_ns = row.until_unix_ns.saturating_sub(row.from_unix_ns);
            let minutes = (length_ns / MINUTE_NS).max(1);
            let time = (row.from_unix_ns.div_euclid(MINUTE_NS), minutes);
            self.slow.add(time, slow.map(|(_, count)| count).sum());
        }
        if let (Ok(number), 1..) = (i32::try_from(number), bin.count) {
            self.bin(number).merge(bin);
        }
    }
}

impl Merge for Pace {
    fn merge(&mut self, other: Self) {
        other.bins.into_iter().for_each(|(number, bin)| self.bin(number).merge(bin));
        self.times.merge(other.times);
        self.slow.merge(other.slow);
    }
}
