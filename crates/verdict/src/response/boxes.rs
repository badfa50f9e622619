//! The box plot of a distribution (Chambers, Cleveland, Kleiner & Tukey 1983, as the 1986 paper
//! cites them): quartiles, whiskers to the last value within 1.5 times their distance, and how many
//! lie beyond; and its high percentiles.

use crate::requests::{at_quantile, found};
use model::histogram::{Buckets, Store};
use model::record::{Finding, Subject};

/// The reach of a whisker, in distances between the quartiles.
const REACH: f64 = 1.5;

const QUANTILES: [f64; 5] = [0.25, 0.75, 0.9, 0.999, 0.9999];

/// The quantities of these, of the lower and the upper whisker, and of what lies beyond.
type Quantities = ([&'static str; 5], [&'static str; 3]);

const OF_RESPONSES: Quantities = (
    [
        "response_p25_ns",
        "response_p75_ns",
        "response_p90_ns",
        "response_p999_ns",
        "response_p9999_ns",
    ],
    ["response_whisker_low_ns", "response_whisker_high_ns", "response_outliers_count"],
);
const OF_DEVICE: Quantities = (
    ["done_p25_ns", "done_p75_ns", "done_p90_ns", "done_p999_ns", "done_p9999_ns"],
    ["done_whisker_low_ns", "done_whisker_high_ns", "done_outliers_count"],
);

/// What lies between the whiskers, and how much does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Whiskers {
    low_ns: u64,
    high_ns: u64,
    outliers: u64,
}

/// Of response times.
pub(super) fn of_responses<S: Store>(
    subject: &Subject,
    responses: Option<&Buckets<S>>,
) -> Vec<Finding> {
    findings(subject, &OF_RESPONSES, responses)
}

/// Of device times.
pub(super) fn of_device<S: Store>(subject: &Subject, done: Option<&Buckets<S>>) -> Vec<Finding> {
    findings(subject, &OF_DEVICE, done)
}

fn findings<S: Store>(
    subject: &Subject,
    (quantiles, [low, high, outliers]): &Quantities,
    times: Option<&Buckets<S>>,
) -> Vec<Finding> {
    let count = times.map_or(0, Buckets::count);
    let whiskers = times.and_then(whiskers);
    let of = |name, value: fn(Whiskers) -> u64| {
        let reach = "1.5 times the distance of the quartiles, by the histogram's buckets";
        found(subject, name, whiskers.map(|whiskers| value(whiskers) as f64), count, reach)
    };
    quantiles
        .iter()
        .zip(QUANTILES)
        .map(|(name, quantile)| at_quantile(subject, name, times, quantile))
        .chain([of(low, |w| w.low_ns), of(high, |w| w.high_ns), of(outliers, |w| w.outliers)])
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
