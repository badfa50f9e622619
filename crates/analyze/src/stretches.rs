//! Response times of a class by stretches of a trace, and how far a number of them may be off by
//! chance: two runs of the same requests are held against each other stretch by stretch, and the
//! stretches are drawn again and again (block bootstrap: Kunsch 1989). A stretch is so many
//! requests in a row, so what waits for each other stays together.
//!
//! What both runs have in common, when requests come and how large they are, is in no difference
//! of theirs. What is left is what differs from run to run, and an error of one of them that comes
//! and goes.
//!
//! Non-goals: which runs are compared.

use crate::random::Random;
use model::histogram::Histogram;

/// At most so many stretches; of more, neighbours are put together.
const STRETCHES_MAX: usize = 32;
/// Fewer tell nothing of how stretches differ.
const STRETCHES_MIN: usize = 8;
/// How often stretches are drawn.
const DRAWS: usize = 200;

/// A number of response times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Statistic {
    /// Their mean.
    Mean,
    /// Their median.
    Median,
    /// One in a hundred is greater.
    P99,
    /// The greatest.
    Max,
}

impl Statistic {
    fn of(self, times: &Histogram) -> Option<f64> {
        let quantile = |share| times.quantile_ns(share).map(|ns| ns as f64);
        match self {
            Self::Mean => times.mean_ns(),
            Self::Median => quantile(0.5),
            Self::P99 => quantile(0.99),
            Self::Max => Some(times.max_ns() as f64),
        }
    }
}

/// Response times in the order in which requests came.
#[derive(Debug, Clone, PartialEq)]
pub struct Stretches {
    each: Vec<Histogram>,
    /// Requests of a stretch.
    length: u64,
}

impl Default for Stretches {
    fn default() -> Self {
        Self { each: Vec::new(), length: 1 }
    }
}

impl Stretches {
    /// Adds the next one.
    pub fn add(&mut self, response_ns: u64) {
        if self.each.last().is_none_or(|last| last.count() >= self.length) {
            if self.each.len() == STRETCHES_MAX {
                self.each = self.each.chunks(2).map(merged).collect();
                self.length *= 2;
            }
            self.each.push(Histogram::default());
        }
        self.each.iter_mut().last().into_iter().for_each(|last| last.record(response_ns));
    }

    /// The standard deviation of the logarithm of this run's number over that of another run of the
    /// same requests, by chance; none of runs of other requests, or of too few.
    pub fn log_noise(&self, other: &Self, statistic: Statistic) -> Option<f64> {
        let counts = |of: &Self| of.each.iter().map(Histogram::count).collect::<Vec<_>>();
        if self.each.len() < STRETCHES_MIN || counts(self) != counts(other) {
            return None;
        }
        let mut random = Random::new(1);
        let drawn = (0..DRAWS).filter_map(|_| {
            let pick = |_| random.below(self.each.len() as u64) as usize;
            let places: Vec<usize> = (0..self.each.len()).map(pick).collect();
            let number = |of: &Self| {
                let picked = places.iter().filter_map(|place| of.each.get(*place));
                let mut all = Histogram::default();
                picked.for_each(|times| all.merge(times));
                statistic.of(&all).filter(|number| *number > 0.0)
            };
            Some((number(self)? / number(other)?).ln())
        });
        let drawn: Vec<f64> = drawn.collect();
        let count = drawn.len() as f64;
        let mean = drawn.iter().sum::<f64>() / count;
        let squares = drawn.iter().map(|log| (log - mean).powi(2)).sum::<f64>();
        (count > 1.0).then(|| (squares / (count - 1.0)).sqrt())
    }
}

fn merged(of: &[Histogram]) -> Histogram {
    let mut all = Histogram::default();
    of.iter().for_each(|times| all.merge(times));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Statistic; 4] =
        [Statistic::Mean, Statistic::Median, Statistic::P99, Statistic::Max];

    fn of(times_ns: impl Iterator<Item = u64>) -> Stretches {
        let mut stretches = Stretches::default();
        times_ns.for_each(|ns| stretches.add(ns));
        stretches
    }

    #[test]
    fn a_constant_factor_is_no_noise() {
        let time_ns = |n: u64| 1_000_000 + n * 7919 % 1_000_000;
        let (once, twice) = (of((0..1000).map(time_ns)), of((0..1000).map(|n| 2 * time_ns(n))));
        for statistic in ALL {
            assert!(twice.log_noise(&once, statistic).unwrap() < 0.01, "{statistic:?}");
        }
        assert!(once.each.len() <= STRETCHES_MAX && once.each.len() > STRETCHES_MAX / 2);
        assert_eq!(once.each.iter().map(Histogram::count).sum::<u64>(), 1000);
    }

    #[test]
    fn what_differs_by_chance_is_noise_that_falls_with_the_root_of_the_count() {
        let run = |seed: u64, count: u64| {
            let mut random = Random::new(seed);
            of((0..count).map(move |_| 1_000_000 + random.below(1_000_000)))
        };
        let noise = |count| run(1, count).log_noise(&run(2, count), Statistic::Mean).unwrap();
        // The deviation of one over the mean is 0.19: of the ratio of two means of n,
        // 0.27 / sqrt n.
        for count in [400u64, 6400] {
            let expected = 0.2722 / (count as f64).sqrt();
            let found = noise(count) / expected;
            assert!((0.5..2.0).contains(&found), "{count}: {found}");
        }
    }

    #[test]
    fn other_requests_and_too_few_of_them_tell_nothing() {
        let few = of(0..7);
        assert_eq!(few.log_noise(&few, Statistic::Mean), None);
        assert_eq!(of(1..100).log_noise(&of(1..99), Statistic::Mean), None);
    }
}
