//! Response times of a class of requests, and the numbers of them that are compared.

use model::record::{Flags, Op, Request};
use std::collections::BTreeMap;

/// Fewer requests have no 99th percentile that is worth a comparison: ten of them are beyond it.
pub(super) const P99_COUNT_MIN: usize = 1000;

/// What a request is called in the findings of `whatif`.
pub(super) fn class(row: &Request) -> &'static str {
    match row.op {
        Op::Write if row.flags.contains(Flags::BACKGROUND) => "async write",
        Op::Write => "sync write",
        other => other.name(),
    }
}

/// Response times by class, ns.
#[derive(Debug, Default, Clone)]
pub(super) struct Times(BTreeMap<&'static str, Vec<f64>>);

impl Times {
    pub(super) fn add(&mut self, class: &'static str, response_ns: f64) {
        self.0.entry(class).or_default().push(response_ns);
    }

    pub(super) fn classes(&self) -> impl Iterator<Item = &'static str> {
        self.0.keys().copied()
    }

    pub(super) fn count(&self, class: &str) -> usize {
        self.0.get(class).map_or(0, Vec::len)
    }

    /// The mean, or the time that a share of them does not exceed (`p50`, `p99`).
    pub(super) fn number(&self, class: &str, number: &str) -> Option<f64> {
        let times = self.0.get(class).filter(|times| !times.is_empty())?;
        let share = match number {
            "p50" => 0.5,
            "p99" => 0.99,
            _ => return Some(times.iter().sum::<f64>() / times.len() as f64),
        };
        let mut sorted = times.clone();
        sorted.sort_by(f64::total_cmp);
        let rank = (share * sorted.len() as f64).ceil() as usize;
        sorted.get(rank.max(1) - 1).copied()
    }
}

/// Geometric mean and extremes of ratios.
pub(super) fn spread(ratios: &[f64]) -> (f64, f64, f64) {
    let mean = ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len().max(1) as f64;
    let (low, high) = crate::bench::judge::extremes(ratios);
    (mean.exp(), low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_of_a_class() {
        let mut times = Times::default();
        (1..=200).for_each(|n| times.add("read", f64::from(n)));
        times.add("flush", 7.0);
        assert_eq!(times.number("read", "mean"), Some(100.5));
        assert_eq!(times.number("read", "p50"), Some(100.0));
        assert_eq!(times.number("read", "p99"), Some(198.0));
        assert_eq!(times.number("flush", "p99"), Some(7.0));
        assert_eq!((times.number("async write", "mean"), times.count("read")), (None, 200));
        assert_eq!(times.classes().collect::<Vec<_>>(), ["flush", "read"]);
        let (mean, low, high) = spread(&[0.5, 2.0]);
        assert!((mean - 1.0).abs() < 1e-12 && (low, high) == (0.5, 2.0));
    }
}
