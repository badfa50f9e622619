//! Ranks of remedies by what they leave, and how far two of them agree.
//!
//! By Kendall's tau (M. G. Kendall, "A New Measure of Rank Correlation", 1938): pairs of remedies
//! that both put in the same order less those that they do not, over all pairs. What a measurement
//! cannot tell apart has no order of its own: so the same is said of the pairs that it does tell
//! apart, round by round (95 %, each pair by itself).

use super::{Logs, Passes, half_of_all, of_rounds};
use model::record::subject::{NO_REMEDY as NONE, Storm, StormStream};
use model::record::{Finding, Subject};
use std::collections::BTreeMap;

/// A pair is told apart if its interval has no zero in it.
const PAIR_CONFIDENCE: f64 = 0.95;

/// Logarithms of what each remedy leaves, by its name and by round.
pub(super) type Gains = BTreeMap<String, Logs>;

/// What each remedy leaves of the victims' tails.
pub(super) fn gains(passes: &Passes<'_>) -> Gains {
    let of = |remedy: &&str| {
        let logs = of_rounds(&passes.victims(remedy));
        (!logs.is_empty()).then(|| ((*remedy).to_owned(), logs))
    };
    passes.remedies.iter().filter(|remedy| **remedy != NONE).filter_map(of).collect()
}

pub(super) fn mean<'a>(values: impl IntoIterator<Item = &'a f64>) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for value in values {
        (sum, count) = (sum + value, count + 1.0);
    }
    sum / f64::max(count, 1.0)
}

/// A pair of remedies: by how much one leaves more than the other, by both, and whether the rounds
/// of the first tell them apart.
pub(super) struct Pair {
    pub(super) of_one: f64,
    pub(super) of_other: f64,
    pub(super) is_told_apart: bool,
}

/// The pairs of the remedies that both have.
pub(super) fn pairs(one: &Gains, other: &Gains) -> Vec<Pair> {
    let both: Vec<_> = one
        .iter()
        .filter_map(|(name, logs)| Some((logs, mean(other.get(name)?.values()))))
        .collect();
    let with = |(place, &(logs, other)): (usize, &(&Logs, f64))| {
        let pair = move |b: &(&Logs, f64)| Pair {
            of_one: mean(logs.values()) - mean(b.0.values()),
            of_other: other - b.1,
            is_told_apart: are_apart(logs, b.0),
        };
        both[..place].iter().map(pair).collect::<Vec<_>>()
    };
    both.iter().enumerate().flat_map(with).collect()
}

/// Whether two remedies are told apart over the rounds that both have.
fn are_apart(a: &Logs, b: &Logs) -> bool {
    let differences: Vec<f64> = a.iter().filter_map(|(round, a)| Some(a - b.get(round)?)).collect();
    let half = half_of_all(&differences, 1, PAIR_CONFIDENCE);
    half.is_some_and(|half| mean(&differences).abs() > half)
}

/// Per cent of the pairs that are told apart that both put in the same order, and of how many; one
/// that has no order by one of both is half.
pub(super) fn alike(pairs: &[Pair]) -> (Option<f64>, usize) {
    let of = |pair: &Pair| match pair.of_one * pair.of_other {
        product if product > 0.0 => 100.0,
        product if product < 0.0 => 0.0,
        _ => 50.0,
    };
    let apart: Vec<f64> = pairs.iter().filter(|pair| pair.is_told_apart).map(of).collect();
    ((!apart.is_empty()).then(|| mean(&apart)), apart.len())
}

/// Kendall's tau-b of pairs; none where one of both has no order at all.
pub(super) fn tau(pairs: &[Pair]) -> Option<f64> {
    let (mut sum, mut one_untied, mut other_untied) = (0.0, 0.0, 0.0);
    let sign = |value: f64| if value == 0.0 { 0.0 } else { value.signum() };
    for pair in pairs {
        let (a, b) = (sign(pair.of_one), sign(pair.of_other));
        (sum, one_untied, other_untied) = (sum + a * b, one_untied + a * a, other_untied + b * b);
    }
    let tau: f64 = sum / f64::sqrt(one_untied * other_untied);
    tau.is_finite().then_some(tau)
}

/// How far one half of the rounds ranks as the other does: every second round is of the other.
pub(super) fn of_halves(passes: &Passes<'_>) -> Option<Finding> {
    let all = gains(passes);
    let half = |of_two: u64| -> Gains {
        let of = |(name, logs): (&String, &Logs)| {
            let logs = logs.iter().filter(|(round, _)| **round % 2 == of_two);
            let logs: Logs = logs.map(|(round, log)| (*round, *log)).collect();
            (!logs.is_empty()).then(|| (name.clone(), logs))
        };
        all.iter().filter_map(of).collect()
    };
    let pairs = pairs(&half(0), &half(1));
    let method = "Kendall's tau-b of what every second round leaves and what the others do";
    let value = tau(&pairs)?;
    let subject = of_all(passes);
    Some(Finding::new(&subject, "rank_stability", Some(value), pairs.len() as u64, method))
}

/// What is said of all remedies together is said of none.
pub(super) fn of_all(passes: &Passes<'_>) -> Subject {
    let (remedy, stream) = (NONE.to_owned(), StormStream::Victims);
    Subject::Storm(Storm { remedy, stream, target: passes.target.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranked(values: &[f64]) -> Gains {
        let named =
            |(place, value): (usize, &f64)| (format!("{place}"), BTreeMap::from([(0, *value)]));
        values.iter().enumerate().map(named).collect()
    }

    fn of(one: &[f64], other: &[f64]) -> Option<f64> {
        tau(&pairs(&ranked(one), &ranked(other)))
    }

    #[test]
    fn tau_is_that_of_the_textbook() {
        assert_eq!(of(&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0]), Some(1.0));
        assert_eq!(of(&[1.0, 2.0, 3.0], &[3.0, 2.0, 1.0]), Some(-1.0));
        // Four ranks with one pair the wrong way: (5 - 1) / 6.
        let one_off = of(&[1.0, 2.0, 3.0, 4.0], &[1.0, 3.0, 2.0, 4.0]).unwrap();
        assert!((one_off - 2.0 / 3.0).abs() < 1e-12, "{one_off}");
        // One of both has no order.
        assert_eq!(of(&[1.0, 2.0], &[1.0, 1.0]), None);
        // Ties of one lower the divisor of that one alone: 2 of 3 pairs, over the root of 3 x 2.
        let tied = of(&[1.0, 2.0, 3.0], &[1.0, 1.0, 2.0]).unwrap();
        assert!((tied - 2.0 / 6f64.sqrt()).abs() < 1e-12, "{tied}");
    }

    #[test]
    fn pairs_are_told_apart_by_their_differences_alone() {
        let noise = [0.5, -0.4, 0.3, -0.5, 0.1];
        let with = |by: [f64; 5]| -> Logs {
            (0..).zip(noise.iter().zip(by).map(|(a, b)| a + b)).collect()
        };
        let noise = with([0.0; 5]);
        assert!(are_apart(&noise, &with([0.1, 0.11, 0.09, 0.1, 0.12])));
        assert!(!are_apart(&noise, &with([0.2, -0.2, 0.1, 0.0, 0.0])));
        // Rounds that one of both has not are none.
        assert!(!are_apart(&noise, &Logs::from([(0, 9.0), (7, 9.1)])));
        let pair = |of_one, of_other, is_told_apart| Pair { of_one, of_other, is_told_apart };
        let pairs = [pair(1.0, 2.0, true), pair(1.0, 0.0, true), pair(1.0, -1.0, false)];
        assert_eq!(alike(&pairs), (Some(75.0), 2));
        assert_eq!(alike(&pairs[2..]), (None, 0));
    }
}
