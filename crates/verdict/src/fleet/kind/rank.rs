//! Two groups of hosts by the ranks of a figure: the test of Mann and Whitney (Ann. Math. Stat. 18,
//! 1947) and the shift of Hodges and Lehmann with its interval (ibid. 34, 1963).
//!
//! Non-goals: ties, which logarithms of many requests have none of that matter.

use crate::fleet::series::quantile;
use statrs::distribution::{ContinuousCDF, Normal};

/// Up to so many pairs the distribution is counted out; beyond it is near enough to normal.
const EXACT_MOST: usize = 900;

/// One group against another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Shift {
    /// The chance of ranks as high or higher where both groups are alike.
    pub(super) chance: f64,
    /// By how much the first group is above the second,
    pub(super) by: f64,
    /// and its interval.
    pub(super) low: f64,
    pub(super) high: f64,
}

/// How far the first group is above the second; the interval leaves out `mistake` of all cases.
/// None where a group is empty.
pub(super) fn shift(first: &[f64], second: &[f64], mistake: f64) -> Option<Shift> {
    let mut apart: Vec<f64> =
        first.iter().flat_map(|a| second.iter().map(move |b| a - b)).collect();
    apart.sort_by(f64::total_cmp);
    if apart.is_empty() {
        return None;
    }
    let above = apart.iter().filter(|by| **by > 0.0).count();
    let chances = chances(first.len(), second.len());
    let chance = chances.iter().skip(above).sum();
    // The interval's ends are so many pairs from either end.
    let mut sum = 0.0;
    let cut = chances.iter().take_while(|of| {
        sum += **of;
        sum <= mistake / 2.0
    });
    let cut = cut.count();
    let by = quantile(apart.clone(), 0.5);
    let (low, high) = match cut.checked_sub(1) {
        Some(place) => (apart[place], apart[apart.len() - 1 - place]),
        None => (f64::NEG_INFINITY, f64::INFINITY),
    };
    Some(Shift { chance, by, low, high })
}

/// The chance of each number of pairs in which the first is above, where both groups are alike.
fn chances(first: usize, second: usize) -> Vec<f64> {
    let pairs = first * second;
    if pairs > EXACT_MOST {
        let (n, m) = (first as f64, second as f64);
        let deviation = (n * m * (n + m + 1.0) / 12.0).sqrt();
        let Ok(normal) = Normal::new(n * m / 2.0, deviation) else { return Vec::new() };
        let below = |place: f64| normal.cdf(place - 0.5);
        return (0..=pairs).map(|place| below(place as f64 + 1.0) - below(place as f64)).collect();
    }
    // Of all with so many of each: the last one is of the first group, above all of the second, or
    // of the second.
    let mut rows = vec![vec![0.0; pairs + 1]; second + 1];
    rows.iter_mut().for_each(|row| row[0] = 1.0);
    for n in 1..=first {
        for m in 1..=second {
            let total = (n + m) as f64;
            let (of_first, of_second) = (n as f64 / total, m as f64 / total);
            let next: Vec<f64> = (0..=pairs)
                .map(|u| {
                    let last_first = if u >= m { rows[m][u - m] } else { 0.0 };
                    of_first * last_first + of_second * rows[m - 1][u]
                })
                .collect();
            rows[m] = next;
        }
    }
    rows.pop().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R: wilcox.test(c(1.1, 2.2, 3.3, 4.4, 5.5), c(0.5, 1.0, 1.5, 2.0), alternative = "greater")
    /// has W = 18 and p = 0.03175.
    #[test]
    fn ranks_are_those_of_r() {
        let found = shift(&[1.1, 2.2, 3.3, 4.4, 5.5], &[0.5, 1.0, 1.5, 2.0], 0.05).unwrap();
        assert!((found.chance - 0.031746).abs() < 1e-5, "{found:?}");
        assert!((found.by - 2.05).abs() < 1e-9, "{found:?}");
        assert!(found.low < 0.2 && found.high > 3.3, "{found:?}");
        assert_eq!(shift(&[], &[1.0], 0.05), None);
    }

    #[test]
    fn the_chances_sum_to_one_and_are_near_normal_ones() {
        for (n, m) in [(1, 1), (3, 5), (30, 30), (31, 31)] {
            let all = chances(n, m);
            assert!((all.iter().sum::<f64>() - 1.0).abs() < 1e-6, "{n} {m}");
        }
        let (exact, normal) = (chances(30, 30), chances(31, 31));
        let middle = |of: &[f64]| of[of.len() / 2];
        assert!((middle(&exact) / middle(&normal) - 1.049).abs() < 0.01);
    }
}
