//! The box plot of a distribution (Chambers, Cleveland, Kleiner & Tukey 1983, as the 1986 paper
//! cites them): quartiles, whiskers to the last value within 1.5 times their distance, and how many
//! lie beyond; and its high percentiles.

use crate::requests::{at_quantile, found};
use model::histogram::{Buckets, Store};
use model::record::{Finding, Subject};

/// The reach of a whisker, in distances between the quartiles.
const REACH: f64 = 1.5;

const QUANTILES: [(&str, f64); 5] = [
    ("response_p25_ns", 0.25),
    ("response_p75_ns", 0.75),
    ("response_p90_ns", 0.9),
    ("response_p999_ns", 0.999),
    ("response_p9999_ns", 0.9999),
];

/// What lies between the whiskers, and how much does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Whiskers {
    low_ns: u64,
    high_ns: u64,
    outliers: u64,
}

pub(super) fn findings<S: Store>(subject: &Subject, response: Option<&Buckets<S>>) -> Vec<Finding> {
    let count = response.map_or(0, Buckets::count);
    let of = |name, value: Option<u64>, method| {
        found(subject, name, value.map(|ns| ns as f64), count, method)
    };
    let whiskers = response.and_then(whiskers);
    let reach = "1.5 times the distance of the quartiles, by the histogram's buckets";
    QUANTILES
        .iter()
        .map(|(name, quantile)| at_quantile(subject, name, response, *quantile))
        .chain([
            of("response_whisker_low_ns", whiskers.map(|w| w.low_ns), reach),
            of("response_whisker_high_ns", whiskers.map(|w| w.high_ns), reach),
            of("response_outliers_count", whiskers.map(|w| w.outliers), reach),
        ])
        .collect()
}

fn whiskers<S: Store>(response: &Buckets<S>) -> Option<Whiskers> {
    let (q1, q3) = (response.quantile_ns(0.25)? as f64, response.quantile_ns(0.75)? as f64);
    let reach = REACH * (q3 - q1);
    let is_within = |ns: u64| (q1 - reach..=q3 + reach).contains(&(ns as f64));
    let (mut low_ns, mut high_ns, mut within) = (u64::MAX, 0, 0);
    for (ns, count) in response.values().filter(|(ns, _)| is_within(*ns)) {
        (low_ns, high_ns, within) = (low_ns.min(ns), high_ns.max(ns), within + count);
    }
    Some(Whiskers { low_ns, high_ns, outliers: response.count() - within })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whiskers_end_at_the_last_value_within_reach() {
        let mut response = model::histogram::SparseHistogram::default();
        // Quartiles 25 and 75: the whiskers may reach from -50 to 150.
        (0..=100).chain([120, 149, 400, 500]).for_each(|ns| response.record(ns));
        let whiskers = whiskers(&response).unwrap();
        assert_eq!((whiskers.low_ns, whiskers.outliers), (0, 2));
        assert!((148..=150).contains(&whiskers.high_ns), "{whiskers:?}");
    }
}
