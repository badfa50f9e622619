//! Passes that the machine disturbed, set aside before fitting: Bucher & Hayes's
//! "occasional skewed values caused by system disturbances were discarded", as a rule.
//!
//! A pass is set aside if it is further from the median of its block size than
//! [`DEVIATIONS_BOUND`] standard deviations, estimated from the median absolute deviation
//! (Hampel 1974) of all sizes together, or of its own size if that is greater. The median
//! deviation of three passes says next to nothing; that of thirty does. If that
//! would leave less than half of a size's passes, none of them is: such a size is
//! unsteady and not disturbed.
//!
//! Non-goals: deciding that a routine is unsteady.

use super::sizes::{Observation, by_size};
use crate::statistics::median;

/// How many standard deviations from its median a pass may be. With normal noise
/// none of a million is further; a pass at three times the rest is, up to a noise of 25 %.
pub const DEVIATIONS_BOUND: f64 = 8.0;
/// A pass this near to its median, as a share of it, is never set aside: identical passes,
/// as a coarse clock gives, would otherwise make a disturbance of its next tick.
const HARMLESS: f64 = 0.01;
/// Fewest passes of a size that have a median worth the name.
const FEWEST_PASSES: usize = 3;
/// Standard deviation of a normal distribution over its median absolute deviation.
const NORMAL_RATIO: f64 = 1.4826;

/// Observations in two parts, each in the order in which they came.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sorted {
    /// To be fitted.
    pub kept: Vec<Observation>,
    /// Disturbed, to be counted and shown.
    pub set_aside: Vec<Observation>,
}

/// Sets the disturbed passes aside.
pub fn set_aside_disturbed(observations: &[Observation]) -> Sorted {
    let groups = by_size(observations);
    let shared = deviation(groups.values().flat_map(|values| informative(values)).collect());
    let mut sorted = Sorted::default();
    for observation in observations {
        let values = groups.get(&observation.block_bytes).map_or(&[][..], Vec::as_slice);
        if is_disturbed(observation.value_ns, values, shared) {
            sorted.set_aside.push(*observation);
        } else {
            sorted.kept.push(*observation);
        }
    }
    sorted
}

fn is_disturbed(value: f64, values: &[f64], shared: f64) -> bool {
    let middle = middle(values);
    let bound = HARMLESS.max(DEVIATIONS_BOUND * shared.max(deviation(deviations(values))));
    let is_far = |value: &f64| (value / middle - 1.0).abs() > bound;
    let far = values.iter().filter(|value| is_far(value)).count();
    is_far(&value) && values.len() >= FEWEST_PASSES && 2 * far < values.len()
}

/// Each pass's distance from the median, as a share of it.
fn deviations(values: &[f64]) -> Vec<f64> {
    let middle = middle(values);
    values.iter().map(|value| (value / middle - 1.0).abs()).collect()
}

/// The same less the smallest: an odd number of passes has one at the median itself,
/// which says nothing of their spread and would be a third of all where there are three.
fn informative(values: &[f64]) -> Vec<f64> {
    let mut found = deviations(values);
    found.sort_by(f64::total_cmp);
    found.split_off(found.len().min(1))
}

/// The standard deviation that a median of deviations implies.
fn deviation(deviations: Vec<f64>) -> f64 {
    NORMAL_RATIO * middle(&deviations)
}

/// Zero of nothing.
fn middle(values: &[f64]) -> f64 {
    median(values).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn passes(block_bytes: u64, values: &[f64]) -> Vec<Observation> {
        values.iter().map(|value_ns| Observation { block_bytes, value_ns: *value_ns }).collect()
    }

    #[test]
    fn a_pass_at_three_times_the_rest_is_set_aside() {
        let mut all = passes(512, &[100.0, 101.0, 300.0]);
        all.extend(passes(4096, &[200.0, 198.0, 203.0]));
        all.extend(passes(65_536, &[990.0, 1000.0, 1015.0]));
        let sorted = set_aside_disturbed(&all);
        assert_eq!(sorted.set_aside, passes(512, &[300.0]));
        assert_eq!(sorted.kept.len(), 8);
    }

    #[test]
    fn two_disturbed_of_five_are_set_aside_and_three_are_not() {
        let steady = passes(4096, &[100.0, 101.0, 99.0, 100.0, 102.0]);
        let sorted = |values: &[f64]| {
            set_aside_disturbed(&[steady.clone(), passes(512, values)].concat()).set_aside.len()
        };
        assert_eq!(sorted(&[50.0, 51.0, 50.0, 150.0, 160.0]), 2);
        assert_eq!(sorted(&[20.0, 40.0, 60.0, 80.0, 100.0]), 0);
    }

    #[test]
    fn little_is_never_set_aside() {
        assert_eq!(set_aside_disturbed(&passes(512, &[100.0, 300.0])).set_aside, []);
        assert_eq!(set_aside_disturbed(&passes(512, &[100.0, 100.0, 100.5])).set_aside, []);
        assert_eq!(set_aside_disturbed(&[]), Sorted::default());
    }

    #[test]
    fn clean_noise_is_left_alone() {
        // Nine sizes of three passes, and five of five, 1,000 times over each.
        let count = |sizes: u64, passes: u64| -> usize {
            let mut random = Random::new(7);
            let mut run = || -> usize {
                let one = |pass: u64| Observation {
                    block_bytes: 512 << (pass % sizes),
                    value_ns: 100.0 * (1.0 + 0.05 * random.normal()),
                };
                let all: Vec<Observation> = (0..sizes * passes).map(one).collect();
                set_aside_disturbed(&all).set_aside.len()
            };
            (0..1000).map(|_| run()).sum()
        };
        let found = (count(9, 3), count(5, 5));
        println!("set aside of 27,000 and of 25,000 clean passes: {found:?}");
        assert!(found.0 <= 3 && found.1 <= 3, "{found:?}");
    }
}
