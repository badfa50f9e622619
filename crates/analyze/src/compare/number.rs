//! How many values a side would find a difference: the least number with which the same test, at
//! the same corrected level and past the same noise floor, finds it in nine cases of ten.
//!
//! Power is not looked up but played (normal noise, 1,000 games a number, always the same ones): a
//! shift is found where it exceeds what the interval of a game without a shift leaves open, so that
//! the shift found with power 0.9 is the 0.9 quantile of that. The deviation is not the one that
//! was seen but its upper 80 % limit, since that of a few values is often too small by chance
//! (Browne, *On the use of a pilot sample for sample size determination*, Statistics in Medicine
//! 14, 1995).
//!
//! Non-goals: noise that is not normal; the ranks forgive most of it.

use super::rank::Design;
use super::test::{Limit, Test, shift};
use super::{MOST_UNITS, halves_differ};
use crate::random::Random;
use statrs::distribution::{ChiSquared, ContinuousCDF};
use std::collections::BTreeMap;

/// The power that a recommended number has.
const POWER: f64 = 0.9;
const GAMES: usize = 1000;
/// How sure the deviation's upper limit is.
const LIMIT: f64 = 0.8;
/// Medians of normal values deviate by so much more than their means.
const MEDIAN_LOSS: f64 = 1.2533;

/// Powers by their design and the number of comparisons, each reckoned when it is first wanted.
#[derive(Debug, Default)]
pub(super) struct Powers(BTreeMap<(bool, usize), Power>);

impl Powers {
    /// At the level that the first of so many comparisons must reach.
    pub(super) fn at(&mut self, design: Design, comparisons: usize) -> &Power {
        let key = (design == Design::Pairs, comparisons);
        let level = super::LEVEL / comparisons.max(1) as f64;
        self.0.entry(key).or_insert_with(|| Power::at(design, level))
    }
}

/// What each number of units finds at a level.
#[derive(Debug, Clone)]
pub(super) struct Power {
    /// A number of units, and the shift that it finds, in standard deviations of a unit.
    finds: Vec<(usize, f64)>,
}

impl Power {
    /// At this level.
    pub(super) fn at(design: Design, level: f64) -> Self {
        let finds = |units: usize| {
            design.cut((units, units), super::LEVEL)?;
            let test = Test::of(design, (units, units), level);
            let mut random = Random::new(units as u64);
            let limit = test.limit((units, units), level)?;
            let mut game = || game((design, test), units, limit, &mut random);
            let mut found: Vec<f64> = (0..GAMES).filter_map(|_| game()).collect();
            found.sort_by(f64::total_cmp);
            Some((units, *found.get((POWER * GAMES as f64) as usize)?))
        };
        Self { finds: (2..=MOST_UNITS).filter_map(finds).collect() }
    }

    /// The least number of units with which anything at all can be found.
    pub(super) fn fewest(&self) -> Option<usize> {
        self.finds.first().map(|(units, _)| *units)
    }

    /// How many units a side find this shift. Where more than [`MOST_UNITS`] are needed, several
    /// become one by their median.
    pub(super) fn needed(&self, shift: f64, deviation: f64) -> Option<usize> {
        if let Some((units, _)) = self.finds.iter().find(|(_, finds)| finds * deviation <= shift) {
            return Some(*units);
        }
        let (units, finds) = self.finds.last()?;
        let values = *units as f64 * (MEDIAN_LOSS * finds * deviation / shift).powi(2);
        // More than this is no recommendation.
        (values < 1e6).then_some(values.ceil() as usize)
    }
}

/// The shift that a game without one would have needed to be found.
fn game(
    (design, test): (Design, Test),
    units: usize,
    limit: Limit,
    random: &mut Random,
) -> Option<f64> {
    let mut side = || (0..units).map(|_| random.normal()).collect::<Vec<f64>>();
    let (a, b) = (side(), side());
    let floor =
        halves_differ(design, &a).unwrap_or(0.0).max(halves_differ(design, &b).unwrap_or(0.0));
    let (low, _) = test.interval_by(&a, &b, limit)?;
    Some((-low).max(floor - shift(&a, &b)?))
}

/// The upper limit of a deviation by these degrees of freedom.
pub(super) fn upper_limit(deviation: f64, degrees: f64) -> Option<f64> {
    let quantile = ChiSquared::new(degrees).ok()?.inverse_cdf(1.0 - LIMIT);
    (quantile > 0.0).then(|| deviation * (degrees / quantile).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_upper_limit_is_chi_squares() {
        // Fisher & Yates, table IV: 20 % of chi-square on 10 degrees lie below 6.179.
        assert!((upper_limit(1.0, 10.0).unwrap() - (10.0f64 / 6.179).sqrt()).abs() < 1e-4);
        assert_eq!(upper_limit(1.0, 0.0), None);
    }

    #[test]
    fn the_fewest_are_those_that_the_level_can_be_reached_with() {
        let fewest = |design, level| Power::at(design, level).fewest();
        assert_eq!(fewest(Design::Apart, 0.05), Some(4));
        assert_eq!(fewest(Design::Pairs, 0.05), Some(6));
        // Where ranks cannot reach the level, Student's t does.
        assert_eq!(fewest(Design::Apart, 0.05 / 20.0), Some(4));
        assert_eq!(fewest(Design::Pairs, 0.05 / 20.0), Some(6));
    }

    #[test]
    fn more_noise_needs_more() {
        let power = Power::at(Design::Apart, 0.05);
        let needed: Vec<usize> =
            [0.1, 1.0, 2.0, 4.0].iter().filter_map(|d| power.needed(1.5, *d)).collect();
        assert!(needed.is_sorted() && needed[0] == 4, "{needed:?}");
        // The t test would need 11 a side for 1.5 deviations at 5 % and power 0.9; ranks and the
        // noise floor need more.
        assert!((12..=24).contains(&needed[1]), "{needed:?}");
        assert_eq!(power.needed(0.0, 1.0), None);
    }
}
