//! Shifts between two samples by ranks: Wilcoxon's rank sums (Mann & Whitney) for values that stand
//! apart, his signed ranks for pairs, each with the estimate and the interval of Hodges & Lehmann.
//! Source: Hollander, Wolfe & Chicken, *Nonparametric Statistical Methods* (3rd ed., 2014),
//! sections 3.1 to 3.3 and 4.1 to 4.3. Probabilities are exact, ties included: the distribution is
//! counted over all ways in which chance could have dealt the ranks.
//!
//! Non-goals: many values. The count grows with the fourth power; callers give a dozen or two.

use crate::statistics::{median, median_of_sorted};

/// A shift from A to B.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shift {
    /// The median of all differences (of pairs: of all averages of two differences).
    pub estimate: f64,
    /// Its 95 % interval; none where the values are too few for one.
    pub interval: Option<(f64, f64)>,
    /// How likely so great a difference of the ranks is by chance, both directions together.
    pub probability: f64,
}

/// How the values of two sides belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Design {
    /// Each side by itself.
    Apart,
    /// One of A with one of B, measured next to each other.
    Pairs,
}

const INTERVAL_LEVEL: f64 = 1.0 - crate::statistics::CONFIDENCE;

impl Design {
    /// The shift from `a` to `b`; none without values. Of pairs, those that have a partner count.
    pub fn shift(self, a: &[f64], b: &[f64]) -> Option<Shift> {
        let estimate = median_of_sorted(&self.differences(a, b))?;
        let interval = self.interval(a, b, INTERVAL_LEVEL);
        Some(Shift { estimate, interval, probability: self.probability(a, b) })
    }

    /// How likely so great a difference of the ranks is by chance.
    pub(super) fn probability(self, a: &[f64], b: &[f64]) -> f64 {
        match self {
            Self::Apart => rank_sum_probability(a, b),
            Self::Pairs => {
                signed_rank_probability(&a.iter().zip(b).map(|(a, b)| b - a).collect::<Vec<_>>())
            }
        }
    }

    /// The interval of the shift that misses it with this probability; none where the values are
    /// too few for one.
    pub(super) fn interval(self, a: &[f64], b: &[f64], level: f64) -> Option<(f64, f64)> {
        self.between(a, b, self.cut((a.len().min(b.len()), a.len().max(b.len())), level)?)
    }

    /// The differences without so many at each end.
    pub(super) fn between(self, a: &[f64], b: &[f64], cut: usize) -> Option<(f64, f64)> {
        let sorted = self.differences(a, b);
        Some((*sorted.get(cut)?, *sorted.get(sorted.len().checked_sub(cut + 1)?)?))
    }

    /// The differences whose median is the shift, sorted.
    pub(super) fn differences(self, a: &[f64], b: &[f64]) -> Vec<f64> {
        let mut found: Vec<f64> = match self {
            Self::Apart => b.iter().flat_map(|b| a.iter().map(move |a| b - a)).collect(),
            Self::Pairs => averages(&a.iter().zip(b).map(|(a, b)| b - a).collect::<Vec<_>>()),
        };
        found.sort_by(f64::total_cmp);
        found
    }

    /// How many of the sorted differences are to be left out at each end for an interval of this
    /// level; none where even the whole range is not so sure. The test rejects at that level where
    /// the interval leaves zero out.
    pub(super) fn cut(self, (fewer, more): (usize, usize), level: f64) -> Option<usize> {
        let ranks = match self {
            Self::Apart => (1..=fewer + more).map(|rank| 2 * rank).collect::<Vec<_>>(),
            Self::Pairs => (1..=fewer).map(|rank| 2 * rank).collect(),
        };
        let (counts, least) = match self {
            Self::Apart => (sums_of_subsets(&ranks, fewer), fewer * (fewer + 1)),
            Self::Pairs => (sums_of_all_subsets(&ranks), 0),
        };
        let total: f64 = counts.iter().sum();
        let mut below = 0.0;
        let within = |count: &&f64| {
            below += **count;
            below / total <= level / 2.0
        };
        // Doubled ranks have even sums alone.
        counts.iter().skip(least).step_by(2).take_while(within).count().checked_sub(1)
    }
}

/// The averages of all pairs of values, each with itself too (Walsh's).
fn averages(values: &[f64]) -> Vec<f64> {
    let upto = |i: usize| values.iter().take(i + 1).copied();
    let of = |(i, one): (usize, &f64)| upto(i).map(|o| (one + o) / 2.0).collect::<Vec<_>>();
    values.iter().enumerate().flat_map(of).collect()
}

/// The middle of one side: the median of the averages of its pairs (Hodges & Lehmann). Where the
/// values lie in two groups, it moves with the share of each; a median leaps.
pub(super) fn middle(values: &[f64]) -> Option<f64> {
    median(&averages(values))
}

/// Ranks from the least on, doubled so that the shared ranks of equals are whole numbers.
fn doubled_ranks(values: &[f64]) -> Vec<usize> {
    let rank = |value: &f64| {
        let below = values.iter().filter(|other| *other < value).count();
        let equal = values.iter().filter(|other| *other == value).count();
        2 * below + equal + 1
    };
    values.iter().map(rank).collect()
}

/// In how many ways `size` of the ranks have each sum.
fn sums_of_subsets(ranks: &[usize], size: usize) -> Vec<f64> {
    let most: usize = ranks.iter().sum();
    let mut ways = vec![vec![0.0; most + 1]; size + 1];
    ways[0][0] = 1.0;
    for rank in ranks {
        for taken in (1..=size).rev() {
            for sum in (*rank..=most).rev() {
                ways[taken][sum] += ways[taken - 1][sum - rank];
            }
        }
    }
    ways.swap_remove(size)
}

/// The same for subsets of any size.
fn sums_of_all_subsets(ranks: &[usize]) -> Vec<f64> {
    let most: usize = ranks.iter().sum();
    let mut ways = vec![0.0; most + 1];
    ways[0] = 1.0;
    for rank in ranks {
        for sum in (*rank..=most).rev() {
            ways[sum] += ways[sum - rank];
        }
    }
    ways
}

fn rank_sum_probability(a: &[f64], b: &[f64]) -> f64 {
    let ranks = doubled_ranks(&[a, b].concat());
    let seen: usize = ranks.iter().take(a.len()).sum();
    // The mean of the sum, whatever the ties.
    let mean = (a.len() * (ranks.len() + 1)) as f64;
    as_far(&sums_of_subsets(&ranks, a.len()), seen, mean)
}

fn signed_rank_probability(differences: &[f64]) -> f64 {
    // Wilcoxon's rule: pairs without a difference say nothing.
    let moved: Vec<f64> = differences.iter().copied().filter(|d| *d != 0.0).collect();
    let ranks = doubled_ranks(&moved.iter().map(|d| d.abs()).collect::<Vec<_>>());
    let positive = moved.iter().zip(&ranks).filter(|(d, _)| **d > 0.0);
    let mean = ranks.iter().sum::<usize>() as f64 / 2.0;
    as_far(&sums_of_all_subsets(&ranks), positive.map(|(_, rank)| rank).sum(), mean)
}

/// The share of ways whose sum is as far from the mean as the one that was seen, or farther.
fn as_far(ways: &[f64], seen: usize, mean: f64) -> f64 {
    let distance = (seen as f64 - mean).abs();
    let far = ways.iter().enumerate().filter(|(sum, _)| (*sum as f64 - mean).abs() >= distance);
    far.map(|(_, ways)| ways).sum::<f64>() / ways.iter().sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 5e-4
    }

    #[test]
    fn rank_sums_are_the_books() {
        // Hollander, Wolfe & Chicken, example 4.1: permeability of chorioamnion at term (x) and at
        // 12 to 26 weeks (y): W = 30, P(W >= 30) = P(W <= 20 by symmetry) = .1272 upper; estimate
        // of y - x -.305, interval at 96 % (-.76, .15).
        let x = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
        let y = [1.15, 0.88, 0.90, 0.74, 1.21];
        let found = Design::Apart.shift(&x, &y).unwrap();
        assert!(close(found.probability, 2.0 * 0.1272), "{found:?}");
        assert!(close(found.estimate, -0.305), "{found:?}");
        let (low, high) = found.interval.unwrap();
        assert!(close(low, -0.76) && close(high, 0.15), "{found:?}");
    }

    #[test]
    #[allow(clippy::approx_constant, reason = "a datum of the book")]
    fn signed_ranks_are_the_books() {
        // The same, example 3.1: Hamilton's depression factor before (x) and after (y)
        // tranquilizer: T+ = 5, P = .020 one-sided; estimate -.46, interval at 96.1 % (-.786,
        // -.010).
        let x = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30];
        let y = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29];
        let found = Design::Pairs.shift(&x, &y).unwrap();
        assert!((found.probability - 2.0 * 0.0195).abs() < 1e-3, "{found:?}");
        assert!(close(found.estimate, -0.46), "{found:?}");
        let (low, high) = found.interval.unwrap();
        assert!(close(low, -0.786) && close(high, -0.010), "{found:?}");
    }

    #[test]
    fn ties_are_counted_exactly() {
        // Two of four are 1: of the six ways, one has both in A and one has both in B.
        assert!(close(
            Design::Apart.shift(&[1.0, 1.0], &[2.0, 2.0]).unwrap().probability,
            2.0 / 6.0
        ));
        let same = Design::Apart.shift(&[1.0; 5], &[1.0; 5]).unwrap();
        assert_eq!((same.estimate, same.probability), (0.0, 1.0));
        assert_eq!(Design::Pairs.shift(&[1.0; 5], &[1.0; 5]).unwrap().probability, 1.0);
    }

    #[test]
    fn few_values_have_no_interval_and_none_no_shift() {
        assert_eq!(Design::Apart.shift(&[], &[1.0]), None);
        assert_eq!(Design::Pairs.shift(&[1.0], &[]), None);
        assert_eq!(Design::Apart.shift(&[1.0; 3], &[2.0; 3]).unwrap().interval, None);
        assert!(Design::Apart.shift(&[1.0; 4], &[2.0; 4]).unwrap().interval.is_some());
        assert_eq!(Design::Pairs.shift(&[1.0; 5], &[2.0; 5]).unwrap().interval, None);
        assert!(Design::Pairs.shift(&[1.0; 6], &[2.0; 6]).unwrap().interval.is_some());
    }

    #[test]
    fn intervals_hold_the_truth_in_nineteen_of_twenty_cases() {
        let mut random = Random::new(1963);
        for design in [Design::Apart, Design::Pairs] {
            let mut misses = 0;
            for _ in 0..600 {
                let mut values = |shift: f64| -> Vec<f64> {
                    // Heavy tails: a normal number over the root of another's square.
                    let tail = |r: &mut Random| r.normal() / (0.2 + r.normal().abs());
                    (0..9).map(|_| shift + tail(&mut random)).collect()
                };
                let (a, b) = (values(0.0), values(0.7));
                let found = design.shift(&a, &b).unwrap();
                let (low, high) = found.interval.unwrap();
                misses += usize::from(!(low..=high).contains(&0.7));
                assert_eq!(found.probability <= 0.05, !(low..=high).contains(&0.0), "{found:?}");
            }
            println!("{design:?}: {misses} of 600 intervals miss");
            assert!((8..=40).contains(&misses), "{design:?} {misses}");
        }
    }
}
