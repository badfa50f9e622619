//! What is usual at an hour of the day, from the same hour of earlier days: the p99 of each minute,
//! by device and operation. What is clearly above nearly all of them stands out.
//!
//! No distribution is assumed: the bound is a multiple of what one minute of a hundred exceeded.
//!
//! Non-goals: trends, and days of the week.

use model::histogram::SparseHistogram;
use model::history::MINUTE_NS;
use model::record::{Counted, Rollup};
use std::collections::{BTreeMap, BTreeSet};

/// Days and minutes of them below which nothing is usual.
const DAYS_LEAST: usize = 3;
const MINUTES_LEAST: usize = 100;
/// Times in a minute below which its p99 says nothing.
const TIMES_LEAST: u64 = 100;
/// What one minute of a hundred exceeded, and how far above it is above all that is usual.
const QUANTILE: f64 = 0.99;
const ABOVE: f64 = 1.5;
/// Nobody minds what is shorter, in ns.
const SHORT_NS: f64 = 1e6;

const DAY_NS: i64 = 86_400_000_000_000;

/// A device and what was requested or called.
type Key = (String, String);

/// What is usual.
#[derive(Debug, Clone, Default)]
pub struct Usual {
    bounds_ns: BTreeMap<Key, f64>,
}

/// A minute that stands out.
#[derive(Debug, Clone, PartialEq)]
pub struct Unusual {
    /// Where, and what.
    pub device: String,
    /// What was requested or called.
    pub operation: String,
    /// Its p99, and what nearly all earlier ones were below.
    pub p99_ns: f64,
    /// See [`Self::p99_ns`].
    pub usual_ns: f64,
}

impl Usual {
    /// From the rows of the same hour of earlier days.
    pub fn of(rows: &[Rollup]) -> Self {
        let mut minutes: BTreeMap<(Key, i64), SparseHistogram> = BTreeMap::new();
        for row in rows.iter().filter(|row| is_of_a_minute(row)) {
            let Some((key, responses)) = responses_of(row) else { continue };
            minutes.entry((key, row.from_unix_ns)).or_default().merge(&responses);
        }
        let mut by_key: BTreeMap<Key, (Vec<u64>, BTreeSet<i64>)> = BTreeMap::new();
        for ((key, from_unix_ns), responses) in minutes {
            if let Some(p99_ns) = p99_of(&responses) {
                let (all, days) = by_key.entry(key).or_default();
                all.push(p99_ns);
                days.insert(from_unix_ns.div_euclid(DAY_NS));
            }
        }
        let is_enough = |all: &[u64], days: &BTreeSet<i64>| {
            all.len() >= MINUTES_LEAST && days.len() >= DAYS_LEAST
        };
        let known = by_key.into_iter().filter(|(_, (all, days))| is_enough(all, days));
        Self { bounds_ns: known.map(|(key, (all, _))| (key, bound_of(all))).collect() }
    }

    /// Whether anything is known.
    pub fn is_empty(&self) -> bool {
        self.bounds_ns.is_empty()
    }
}

/// Rows of hours and days have lost what a minute was.
fn is_of_a_minute(row: &Rollup) -> bool {
    row.until_unix_ns.saturating_sub(row.from_unix_ns) <= MINUTE_NS
}

fn responses_of(row: &Rollup) -> Option<(Key, SparseHistogram)> {
    let is_wanted = matches!(row.counted, Counted::Requests | Counted::Calls);
    let key = (row.device.clone().filter(|_| is_wanted)?, row.operation.clone());
    Some((key, row.responses()?))
}

fn p99_of(responses: &SparseHistogram) -> Option<u64> {
    responses.quantile_ns(0.99).filter(|_| responses.count() >= TIMES_LEAST)
}

fn bound_of(mut all: Vec<u64>) -> f64 {
    all.sort_unstable();
    let rank = (QUANTILE * all.len() as f64).ceil() as usize;
    let usual_ns = rank.checked_sub(1).and_then(|place| all.get(place)).copied().unwrap_or(0);
    usual_ns as f64
}

/// The last minute, in parts: what stands out in it.
#[derive(Debug, Default)]
pub struct LastMinute {
    parts: std::collections::VecDeque<BTreeMap<Key, SparseHistogram>>,
    part: BTreeMap<Key, SparseHistogram>,
}

/// Parts of a minute.
const PARTS: usize = 6;

impl LastMinute {
    /// Takes rows of what came.
    pub fn add(&mut self, rows: &[Rollup]) {
        for row in rows {
            if let Some((key, responses)) = responses_of(row) {
                self.part.entry(key).or_default().merge(&responses);
            }
        }
    }

    /// A sixth of a minute is over: what stands out in the last minute, the farthest first. It is
    /// forgotten then, so that it is told once.
    pub fn turn(&mut self, usual: &Usual) -> Option<Unusual> {
        self.parts.push_back(std::mem::take(&mut self.part));
        if self.parts.len() > PARTS {
            self.parts.pop_front();
        }
        let mut found: Vec<Unusual> = usual
            .bounds_ns
            .iter()
            .filter_map(|(key, usual_ns)| self.exceeds(key, *usual_ns))
            .collect();
        found.sort_by(|a, b| (b.p99_ns / b.usual_ns).total_cmp(&(a.p99_ns / a.usual_ns)));
        if !found.is_empty() {
            self.parts.clear();
        }
        found.into_iter().next()
    }

    fn exceeds(&self, key: &Key, usual_ns: f64) -> Option<Unusual> {
        let mut whole = SparseHistogram::default();
        self.parts.iter().filter_map(|part| part.get(key)).for_each(|part| whole.merge(part));
        let p99_ns = p99_of(&whole)? as f64;
        let (device, operation) = key.clone();
        let is_above = p99_ns > ABOVE * usual_ns.max(SHORT_NS / ABOVE);
        is_above.then_some(Unusual { device, operation, p99_ns, usual_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::record::RollupKey;

    fn row(minute: i64, p99_ns: u64) -> Rollup {
        let mut responses = SparseHistogram::default();
        (0..200).for_each(|n| responses.record(if n >= 190 { p99_ns } else { 100_000 }));
        let key = RollupKey {
            device: Some("sda".into()),
            operation: "read".into(),
            ..RollupKey::default()
        };
        let mut row = Rollup::of(key, minute * MINUTE_NS, (minute + 1) * MINUTE_NS);
        row.count = 200;
        row.set_responses(&responses);
        row
    }

    /// An hour of each of some days, between 2 and 4 ms, one minute of all with 9.
    fn days(count: i64) -> Vec<Rollup> {
        let minutes = (0..count).flat_map(|day| (0..60).map(move |minute| day * 1440 + minute));
        minutes
            .map(|minute| {
                let p99_us = if minute == 7 { 9000 } else { 2000 + (minute * 7919 % 2000) as u64 };
                row(minute, p99_us * 1000)
            })
            .collect()
    }

    #[test]
    fn what_is_far_above_the_same_hour_of_earlier_days_stands_out_once() {
        let usual = Usual::of(&days(5));
        let mut last = LastMinute::default();
        let see = |last: &mut LastMinute, p99_ns: u64| {
            last.add(&[row(0, p99_ns)]);
            last.turn(&usual)
        };
        for _ in 0..20 {
            assert_eq!(see(&mut last, 4_500_000), None, "within what is usual");
        }
        let found = (0..6).find_map(|_| see(&mut last, 20_000_000)).unwrap();
        assert_eq!((found.device.as_str(), found.operation.as_str()), ("sda", "read"));
        assert!((found.p99_ns / 20e6 - 1.0).abs() < 0.01 && found.usual_ns < 4.1e6, "{found:?}");
        assert_eq!(last.turn(&usual), None, "it is told once");
    }

    #[test]
    fn nothing_is_usual_after_too_few_days_or_of_coarser_rows() {
        assert!(Usual::of(&days(1)).is_empty());
        let coarse: Vec<Rollup> = days(5)
            .into_iter()
            .map(|row| Rollup { until_unix_ns: row.from_unix_ns + 60 * MINUTE_NS, ..row })
            .collect();
        assert!(Usual::of(&coarse).is_empty());
    }
}
