//! What was predicted of a storm beside what was measured, and whether both rank remedies alike.
//!
//! Ranks are compared by Kendall's tau (M. G. Kendall, "A New Measure of Rank Correlation", 1938):
//! pairs of remedies that both put in the same order less those that they do not, over all pairs.
//! What a measurement cannot tell apart has no order of its own: so the same is said of the pairs
//! that it does tell apart, round by round (95 %, each pair by itself).

use super::{Passes, TAIL_SHARE, VICTIMS, findings, half_of_all, of_rounds};
use model::record::subject::{NO_REMEDY as NONE, Storm, StormStream};
use model::record::{Finding, Sample, Subject};
use std::collections::BTreeMap;

/// What is predicted: of which quantity, and under which name.
const QUANTITIES: [(&str, &str); 3] = [
    ("gain_ratio", "gain_ratio_predicted"),
    ("latency_p99_ns", "latency_p99_ns_predicted"),
    ("rate_operations_per_s", "rate_operations_per_s_predicted"),
];
const STREAMS: [StormStream; 4] =
    [StormStream::Victims, StormStream::Read, StormStream::Commit, StormStream::Write];
const METHOD: &str = "the same passes on a modelled kernel and drive, in virtual time";
/// A pair is told apart if its interval has no zero in it.
const PAIR_CONFIDENCE: f64 = 0.95;

/// The findings of the predicted passes, under names of their own, and how the ranks agree.
pub fn predicted(measured: &[Sample], predicted: &[Sample]) -> Vec<Finding> {
    let own = findings(predicted).into_iter().filter_map(|finding| {
        let Subject::Storm(storm) = &finding.subject else { return None };
        let (_, name) = QUANTITIES.iter().find(|(of, _)| *of == finding.quantity)?;
        let is_wanted = finding.value.is_some() && STREAMS.contains(&storm.stream);
        let named = Finding::new(&finding.subject, name, finding.value, finding.count, METHOD);
        is_wanted.then_some(named)
    });
    own.chain(agreement(measured, predicted)).collect()
}

/// Logarithms of what each remedy leaves, round by round.
fn gains(samples: &[Sample]) -> BTreeMap<String, Vec<f64>> {
    let Some(passes) = Passes::of(samples) else { return BTreeMap::new() };
    let of = |remedy: &&str| {
        let of_victim = |stream: &StormStream| {
            let rounds = passes.streams.get(&(*remedy, *stream))?;
            let tail = |sample: &Sample| sample.latency()?.tail_mean_ns(TAIL_SHARE);
            let logs = passes.logs(*stream, rounds, tail);
            (!logs.is_empty()).then_some(logs)
        };
        let victims: Vec<Vec<f64>> = VICTIMS.iter().filter_map(of_victim).collect();
        let logs = of_rounds(&victims);
        (!logs.is_empty()).then(|| ((*remedy).to_owned(), logs))
    };
    passes.remedies.iter().filter(|remedy| **remedy != NONE).filter_map(of).collect()
}

fn mean(logs: &[f64]) -> f64 {
    logs.iter().sum::<f64>() / logs.len().max(1) as f64
}

/// Whether two remedies are told apart over the rounds that both have.
fn are_apart(a: &[f64], b: &[f64]) -> bool {
    let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    let half = half_of_all(&differences, 1, PAIR_CONFIDENCE);
    half.is_some_and(|half| mean(&differences).abs() > half)
}

/// How far both agree in the order of the remedies that both have.
fn agreement(measured: &[Sample], predicted: &[Sample]) -> Vec<Finding> {
    let (found, model) = (gains(measured), gains(predicted));
    let both: Vec<_> =
        found.iter().filter_map(|(name, logs)| Some((logs, mean(model.get(name)?)))).collect();
    let pairs: Vec<(f64, f64, bool)> = both
        .iter()
        .enumerate()
        .flat_map(|(place, a)| both[..place].iter().map(move |b| (a, b)))
        .map(|(a, b)| (mean(a.0) - mean(b.0), a.1 - b.1, are_apart(a.0, b.0)))
        .collect();
    let target = Passes::of(measured).and_then(|passes| passes.target.clone());
    let of = Storm { remedy: NONE.into(), stream: StormStream::Victims, target };
    let subject = Subject::Storm(of);
    let all = tau(pairs.iter().map(|(a, b, _)| (*a, *b)));
    let apart: Vec<f64> =
        pairs.iter().filter(|pair| pair.2).map(|(a, b, _)| alike(*a, *b)).collect();
    let told = (!apart.is_empty()).then(|| 100.0 * mean(&apart));
    let finding = |name: &str, value: Option<f64>, count: usize, method: &str| {
        value.map(|value| Finding::new(&subject, name, Some(value), count as u64, method))
    };
    let method = "Kendall's tau-b of what was measured and predicted, over all pairs of remedies";
    let of_apart = "pairs that are told apart (95 % each) in the same order; none in any, half";
    [
        finding("rank_agreement", all, pairs.len(), method),
        finding("ranked_alike_percent", told, apart.len(), of_apart),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// 1 for differences of the same sign, 0 for others, and a half where one has none.
fn alike(a: f64, b: f64) -> f64 {
    match a * b {
        product if product > 0.0 => 1.0,
        product if product < 0.0 => 0.0,
        _ => 0.5,
    }
}

/// Kendall's tau-b of the differences of pairs; none where one of both has no order at all.
fn tau(pairs: impl Iterator<Item = (f64, f64)>) -> Option<f64> {
    let (mut sum, mut a_untied, mut b_untied) = (0.0, 0.0, 0.0);
    let sign = |value: f64| if value == 0.0 { 0.0 } else { value.signum() };
    for (a, b) in pairs {
        let (a, b) = (sign(a), sign(b));
        (sum, a_untied, b_untied) = (sum + a * b, a_untied + a * a, b_untied + b * b);
    }
    let tau: f64 = sum / f64::sqrt(a_untied * b_untied);
    tau.is_finite().then_some(tau)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[(f64, f64)]) -> Option<f64> {
        let pairs = values
            .iter()
            .enumerate()
            .flat_map(|(place, a)| values[..place].iter().map(move |b| (a.0 - b.0, a.1 - b.1)));
        tau(pairs)
    }

    #[test]
    fn tau_is_that_of_the_textbook() {
        assert_eq!(of(&[(1.0, 1.0), (2.0, 2.0), (3.0, 3.0)]), Some(1.0));
        assert_eq!(of(&[(1.0, 3.0), (2.0, 2.0), (3.0, 1.0)]), Some(-1.0));
        // Four ranks with one pair the wrong way: (5 - 1) / 6.
        let one_off = of(&[(1.0, 1.0), (2.0, 3.0), (3.0, 2.0), (4.0, 4.0)]).unwrap();
        assert!((one_off - 2.0 / 3.0).abs() < 1e-12, "{one_off}");
        // One of both has no order.
        assert_eq!(of(&[(1.0, 1.0), (2.0, 1.0)]), None);
        // Ties of one lower the divisor of that one alone: 2 of 3 pairs, over the root of 3 x 2.
        let tied = of(&[(1.0, 1.0), (2.0, 1.0), (3.0, 2.0)]).unwrap();
        assert!((tied - 2.0 / 6f64.sqrt()).abs() < 1e-12, "{tied}");
    }

    #[test]
    fn pairs_are_told_apart_by_their_differences_alone() {
        let noise = [0.5, -0.4, 0.3, -0.5, 0.1];
        let with =
            |by: [f64; 5]| -> Vec<f64> { noise.iter().zip(by).map(|(a, b)| a + b).collect() };
        assert!(are_apart(&noise, &with([0.1, 0.11, 0.09, 0.1, 0.12])));
        assert!(!are_apart(&noise, &with([0.2, -0.2, 0.1, 0.0, 0.0])));
        assert!(!are_apart(&noise[..1], &[9.0]));
    }
}
