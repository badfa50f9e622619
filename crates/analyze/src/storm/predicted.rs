//! What was predicted of a storm beside what was measured.
//!
//! What is predicted of a remedy has an interval that as many rounds as were measured are to fall
//! into (a prediction interval: 95 %, by the spread of the predicted rounds). How many remedies do
//! is said, too.
//!
//! Non-goals: the prediction itself (`sim::kernel`).

use super::ranks::{Gains, alike, gains, mean, of_all, pairs, tau};
use super::{Logs, Passes, findings};
use crate::statistics::{CONFIDENCE, estimate, student_at};
use model::record::subject::{Storm, StormStream};
use model::record::{Finding, Interval, Sample, Subject};

/// What is predicted: of which quantity, and under which name.
const QUANTITIES: [(&str, &str); 2] = [
    ("latency_p99_ns", "predicted_latency_p99_ns"),
    ("rate_operations_per_s", "predicted_rate_operations_per_s"),
];
const STREAMS: [StormStream; 3] = [StormStream::Read, StormStream::Commit, StormStream::Write];
const METHOD: &str = "the same passes on a modelled kernel and drive, in virtual time";

/// The findings of the predicted passes, under names of their own, and how the ranks agree.
pub fn predicted(measured: &[Sample], predicted: &[Sample]) -> Vec<Finding> {
    let (Some(passes), Some(modelled)) = (Passes::of(measured), Passes::of(predicted)) else {
        return vec![];
    };
    let own = findings(predicted).into_iter().filter_map(|finding| {
        let Subject::Storm(storm) = &finding.subject else { return None };
        let (_, name) = QUANTITIES.iter().find(|(of, _)| *of == finding.quantity)?;
        let is_wanted = finding.value.is_some() && STREAMS.contains(&storm.stream);
        let named = Finding::new(&finding.subject, name, finding.value, finding.count, METHOD);
        is_wanted.then_some(named)
    });
    let (found, model) = (gains(&passes), gains(&modelled));
    let gained = model.iter().map(|(remedy, logs)| {
        let span = span(logs, found.get(remedy).map_or(logs.len(), Logs::len));
        let within = (span.map(|(low, _)| low.exp()), span.map(|(_, high)| high.exp()));
        let (value, count) = (Some(mean(logs.values()).exp()), logs.len() as u64);
        let (remedy, stream) = (remedy.clone(), StormStream::Victims);
        let subject = Subject::Storm(Storm { remedy, stream, target: passes.target.clone() });
        Finding::new(&subject, "predicted_gain_ratio", value, count, METHOD)
            .within(Interval::Comparison, within)
    });
    own.chain(gained).chain(agreement(&of_all(&passes), &found, &model)).collect()
}

/// Where the mean of so many rounds is to fall (95 %), by the spread of the predicted ones.
fn span(logs: &Logs, rounds: usize) -> Option<(f64, f64)> {
    let logs: Vec<f64> = logs.values().copied().collect();
    let found = estimate(&logs)?;
    let n = found.count as f64;
    let spread = found.deviation? * (1.0 / n + 1.0 / rounds.max(1) as f64).sqrt();
    let half = student_at(n - 1.0, CONFIDENCE)? * spread;
    Some((found.mean - half, found.mean + half))
}

/// How far both agree: in the order of the remedies that both have, and by the intervals.
fn agreement(subject: &Subject, found: &Gains, model: &Gains) -> Vec<Finding> {
    let held = found.iter().filter_map(|(name, logs)| {
        let (low, high) = span(model.get(name)?, logs.len())?;
        Some(100.0 * f64::from(u8::from((low..=high).contains(&mean(logs.values())))))
    });
    let held: Vec<f64> = held.collect();
    let holds = (!held.is_empty()).then(|| mean(&held));
    let pairs = pairs(found, model);
    let (told, apart) = alike(&pairs);
    let finding = |name: &str, value: Option<f64>, count: usize, method: &str| {
        value.map(|value| Finding::new(subject, name, Some(value), count as u64, method))
    };
    let of_ranks = "Kendall's tau-b of what was measured and predicted, over all pairs of remedies";
    let of_apart = "pairs that are told apart (95 % each) in the same order; none in any, half";
    let of_held = "remedies whose measured gain is in the prediction's interval";
    [
        finding("rank_agreement", tau(&pairs), pairs.len(), of_ranks),
        finding("ranked_alike_percent", told, apart, of_apart),
        finding("predictions_held_percent", holds, held.len(), of_held),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_rounds_as_were_measured_fall_into_the_interval() {
        let logs: Logs = (0..).zip([0.1, -0.1, 0.2, -0.2, 0.0]).collect();
        let (low, high) = span(&logs, 5).unwrap();
        // t of 4 degrees is 2.776, the deviation 0.1581, and two means of 5 differ by its root of
        // two fifths.
        assert!((high - 2.776 * 0.1581 * 0.4f64.sqrt()).abs() < 1e-3 && (low + high).abs() < 1e-12);
        assert!(span(&logs, 1).unwrap().1 > high && span(&Logs::from([(0, 0.1)]), 5).is_none());
        let all = |values: &[(&str, f64)]| -> Gains {
            values
                .iter()
                .map(|(name, mean)| {
                    ((*name).to_owned(), Logs::from([(0, mean - 0.1), (1, mean + 0.1)]))
                })
                .collect()
        };
        let subject = Subject::Storm(Storm {
            remedy: "none".into(),
            stream: StormStream::Victims,
            target: None,
        });
        let found = all(&[("a", 0.0), ("b", 1.0), ("c", 9.0)]);
        let model = all(&[("a", 0.1), ("b", 0.9), ("c", 5.0)]);
        let value = |quantity: &str| {
            let findings = agreement(&subject, &found, &model);
            findings.iter().find(|of| of.quantity == quantity).and_then(|of| of.value)
        };
        assert_eq!(value("rank_agreement"), Some(1.0));
        assert_eq!(value("ranked_alike_percent"), Some(100.0));
        // Two of three: nine is far from five.
        assert!((value("predictions_held_percent").unwrap() - 200.0 / 3.0).abs() < 1e-9);
    }
}
