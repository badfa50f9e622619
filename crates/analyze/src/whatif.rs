//! A modelled system before and after a change: response times by class, and their ratios with
//! intervals.
//!
//! Each sample of the model's uncertain parameters is replayed on both sides, so its ratio has
//! nothing of what both have in common. Where the trace tells its own times, the model's error
//! before the change widens the interval ([`widened`]), and so does what two runs of so many
//! requests differ by chance, before and after ([`crate::stretches`]). That error and chance are no
//! greater after the change is an assumption that nothing here can test. A change that leaves
//! count, mean, p50, p99 and max of each class as they are has no interval, and says so
//! ([`UNCHANGED`]).
//!
//! Non-goals: replaying; which classes there are (the replay's findings say it).

use crate::statistics::NORMAL_95;
use crate::stretches::Statistic as Number;
use model::record::subject::{Change, ModelOp, Subject, UNCHANGED};
use model::record::{Finding, Interval};

/// The findings of a sample's two replays: before the change, and after it.
pub type Pair<'a> = (&'a [Finding], &'a [Finding]);

/// By how much a number of a class of the model differs by chance from that of the trace: the
/// standard deviation of its logarithm.
#[derive(Debug, Clone, PartialEq)]
pub struct Noise {
    /// The class, as the replay's findings have it.
    pub subject: Subject,
    /// Of which number.
    pub number: Number,
    /// The standard deviation.
    pub log: f64,
}

/// The numbers of a class's responses, and what stands for each in quantities' names.
const STATISTICS: [(Number, &str); 4] =
    [(Number::Mean, "mean"), (Number::Median, "p50"), (Number::P99, "p99"), (Number::Max, "max")];

/// What a change does to each class. The first pair is the model as it stands, the others are
/// samples of its uncertain parameters. `noises` are the model's as it stands before the change.
pub fn findings(change: &str, pairs: &[Pair<'_>], noises: &[Noise]) -> Vec<Finding> {
    let Some((before, after)) = pairs.first() else { return vec![] };
    let is_idle = responses(before).eq(responses(after));
    let counts = before.iter().filter(|finding| finding.quantity == "simulated_count");
    let of_class = |count: &Finding| {
        let Subject::ModelOp(class) = &count.subject else { return vec![] };
        let subject = subject(change, class);
        let requests = Finding { quantity: "before_count".into(), ..count.clone() };
        let requests = Finding { subject: subject.clone(), ..requests };
        let numbers = STATISTICS.iter().flat_map(|(number, name)| {
            let is_its = |noise: &&Noise| noise.subject == count.subject && noise.number == *number;
            let noise = noises.iter().find(is_its).map(|noise| noise.log);
            compared((&subject, &count.subject), name, (pairs, is_idle), noise)
        });
        std::iter::once(requests).chain(numbers).collect::<Vec<_>>()
    };
    counts.flat_map(of_class).collect()
}

/// The numbers of the responses; the time at the device alone is none of them.
fn responses(side: &[Finding]) -> impl Iterator<Item = (&Subject, &str, Option<f64>)> {
    let is_its = |quantity: &str| {
        let name = quantity.strip_prefix("simulated_").and_then(|of| of.strip_suffix("_ns"));
        quantity == "simulated_count" || STATISTICS.iter().any(|(_, known)| name == Some(*known))
    };
    let is_one = move |finding: &&Finding| {
        matches!(finding.subject, Subject::ModelOp(_)) && is_its(&finding.quantity)
    };
    side.iter().filter(is_one).map(|found| (&found.subject, &*found.quantity, found.value))
}

fn subject(change: &str, class: &ModelOp) -> Subject {
    let ModelOp { device, model, op } = class.clone();
    Subject::Change(Change { change: change.to_owned(), device, model, op })
}

/// One number of one class on both sides.
fn compared(
    (subject, class): (&Subject, &Subject),
    name: &str,
    (pairs, is_idle): (&[Pair<'_>], bool),
    noise: Option<f64>,
) -> Vec<Finding> {
    let of = |side: &str, kind: &str| format!("{side}_{name}_{kind}");
    let simulated = of("simulated", "ns");
    let both = |(before, after): &Pair<'_>| {
        let both = value(before, class, &simulated).zip(value(after, class, &simulated))?;
        (both.0 > 0.0 && both.1 > 0.0).then_some(both)
    };
    let Some((pair, (before, after))) = pairs.first().and_then(|p| Some((p, both(p)?))) else {
        return vec![];
    };
    let ratios: Vec<f64> = pairs.iter().filter_map(both).map(|(b, a)| a / b).collect();
    let measured = value(pair.0, class, &of("measured", "ns")).filter(|measured| *measured > 0.0);
    let error = measured.map(|measured| before / measured);
    let chance = noise.map_or(0.0, |log| NORMAL_95 * log);
    let ratio = widened(&ratios, error, 2f64.sqrt() * chance).filter(|_| !is_idle);
    let samples = ratios.len() as u64 - 1;
    let method = match (samples, error) {
        _ if is_idle => UNCHANGED.to_owned(),
        (0, None) => "not validated here: the trace has no times".to_owned(),
        (0, Some(_)) => format!("the model's error{}", by_chance(noise)),
        (n, None) => format!("{n} paired samples; not validated here: the trace has no times"),
        (n, Some(_)) => format!("{n} paired samples, the model's error{}", by_chance(noise)),
    };
    let number = |name: &str, value: f64| Finding::new(subject, name, Some(value), samples, "");
    let found = Finding { method, ..number(&of("change", "ratio"), after / before) };
    let found = match ratio {
        Some((low, high)) => found.within(Interval::Parameters, (Some(low), Some(high))),
        None => found,
    };
    let error = error.map(|error| {
        let found = number(&of("model", "ratio"), error);
        match noise {
            None => found,
            Some(_) => {
                let ends = [-chance, chance].map(|log| Some(error * log.exp()));
                found.within(Interval::Comparison, ends.into())
            }
        }
    });
    let sides = [number(&of("before", "ns"), before), number(&of("after", "ns"), after)];
    sides.into_iter().chain([found]).chain(error).collect()
}

fn by_chance(noise: Option<f64>) -> &'static str {
    noise.map_or("", |_| " and what two runs differ by chance")
}

fn value(findings: &[Finding], class: &Subject, quantity: &str) -> Option<f64> {
    findings.iter().find(|f| f.quantity == quantity && f.subject == *class)?.value
}

/// The interval of the first of some ratios. `error` is the model over the truth before the change,
/// and after it the model is taken to be no farther from the truth, either way: if the error
/// carries over the truth changes by that ratio, if there is none after the change by the ratio
/// times the error, and if it is reversed by that times the error again. Around these lie the span
/// of the ratios and what is chance, a logarithm, in quadrature. None where there is neither span
/// nor error.
pub fn widened(ratios: &[f64], error: Option<f64>, chance: f64) -> Option<(f64, f64)> {
    let (first, rest) = ratios.split_first()?;
    if rest.is_empty() && error.is_none() {
        return None;
    }
    let reversed = 2.0 * error.map_or(0.0, f64::ln);
    let farthest = |is_beyond: fn(f64) -> bool| {
        let logs = rest.iter().map(|ratio| (ratio / first).ln()).filter(|log| is_beyond(*log));
        logs.fold(0.0, |most: f64, log| most.max(log.abs())).hypot(chance)
    };
    let below = farthest(|log| log < 0.0) - reversed.min(0.0);
    let above = farthest(|log| log > 0.0) + reversed.max(0.0);
    Some((first * (-below).exp(), first * above.exp()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn replay(mean_ns: f64, measured_ns: Option<f64>) -> Vec<Finding> {
        let (device, model, op) = ("0".into(), "m".into(), "read".into());
        let class = Subject::ModelOp(ModelOp { device, model, op });
        let number = |name: &str, value| Finding::new(&class, name, Some(value), 9, "simulated");
        let known = [number("simulated_count", 9.0), number("simulated_mean_ns", mean_ns)];
        let measured = measured_ns.map(|ns| number("measured_mean_ns", ns));
        known.into_iter().chain(measured).collect()
    }

    fn ratio(found: &[Finding]) -> Finding {
        found.iter().find(|f| f.quantity == "change_mean_ratio").unwrap().clone()
    }

    #[test]
    fn an_error_of_the_model_is_in_the_interval_carried_over_and_reversed() {
        let (before, after) = (replay(44.0, Some(40.0)), replay(22.0, Some(40.0)));
        let found = findings("reads-first", &[(&before, &after)], &[]);
        let found = ratio(&found);
        assert_eq!((found.value, found.method.as_str()), (Some(0.5), "the model's error"));
        let near = |a: Option<f64>, b: f64| (a.unwrap() - b).abs() < 1e-9;
        assert!(near(found.low, 0.5) && near(found.high, 0.5 * 1.1 * 1.1), "{found:?}");
    }

    #[test]
    fn chance_is_in_the_interval_of_both_runs() {
        let (before, after) = (replay(40.0, Some(40.0)), replay(20.0, Some(40.0)));
        let subject = before[0].subject.clone();
        let noise = Noise { subject, number: Number::Mean, log: 0.1 };
        let found = findings("reads-first", &[(&before, &after)], &[noise]);
        let change = ratio(&found);
        let half = 0.1 * NORMAL_95 * 2f64.sqrt();
        assert!((change.high.unwrap().ln() - 0.5f64.ln() - half).abs() < 1e-9, "{change:?}");
        assert!(change.method.ends_with("by chance"), "{}", change.method);
        let error = found.iter().find(|f| f.quantity == "model_mean_ratio").unwrap();
        assert!((error.high.unwrap().ln() - 0.196).abs() < 1e-9, "{error:?}");
    }

    #[test]
    fn without_times_and_samples_there_is_no_interval() {
        let (before, after) = (replay(44.0, None), replay(22.0, None));
        let found = ratio(&findings("x", &[(&before, &after)], &[]));
        assert!(found.low.is_none() && found.method.starts_with("not validated"), "{found:?}");
        let pairs = [(&before[..], &after[..]), (&before, &before)];
        let found = ratio(&findings("x", &pairs, &[]));
        assert_eq!((found.low, found.high), (Some(0.5), Some(1.0)));
        assert_eq!(findings("x", &[], &[]), []);
    }

    #[test]
    fn what_leaves_the_responses_as_they_are_has_no_interval() {
        let (before, after) = (replay(44.0, Some(2.0)), replay(22.0, Some(2.0)));
        let found = ratio(&findings("x", &[(&before, &before), (&before, &after)], &[]));
        assert_eq!((found.value, found.low, found.high), (Some(1.0), None, None));
        assert_eq!(found.method, UNCHANGED);
        // What moves from the queue to the device changes no response, and one request more does.
        let with = |name: &str, value| {
            let subject = before[0].subject.clone();
            let found = Finding::new(&subject, name, Some(value), 9, "simulated");
            let others = before.iter().filter(|other| other.quantity != name).cloned();
            others.chain([found]).collect::<Vec<_>>()
        };
        for (name, is_same) in [("simulated_service_mean_ns", true), ("simulated_count", false)] {
            let [before, after] = [1.0, 2.0].map(|value| with(name, value));
            let found = ratio(&findings("x", &[(&before, &after)], &[]));
            assert_eq!((found.method == UNCHANGED, found.low.is_none()), (is_same, is_same));
        }
    }

    proptest! {
        #[test]
        fn no_change_is_a_ratio_of_one_that_no_sample_widens(
            means in proptest::collection::vec(1.0f64..1e9, 2..9), measured in 1.0f64..1e9,
        ) {
            let sides: Vec<Vec<Finding>> = means.iter().map(|mean| replay(*mean, None)).collect();
            let pairs: Vec<Pair<'_>> = sides.iter().map(|s| (&s[..], &s[..])).collect();
            let found = ratio(&findings("drives=1", &pairs, &[]));
            prop_assert_eq!([found.value, found.low, found.high], [Some(1.0), None, None]);
            let ratios = vec![1.0; means.len()];
            prop_assert_eq!(widened(&ratios, None, 0.0), Some((1.0, 1.0)));
            let (low, high) = widened(&[1.0], Some(means[0] / measured), 0.0).unwrap();
            let reversed = 2.0 * (means[0] / measured).ln();
            prop_assert!((high.ln() - reversed.max(0.0)).abs() < 1e-9);
            prop_assert!((low.ln() - reversed.min(0.0)).abs() < 1e-9);
        }

        #[test]
        fn an_interval_holds_every_sample_and_its_own_ratio(
            ratios in proptest::collection::vec(0.01f64..100.0, 1..9), error in 0.1f64..10.0,
        ) {
            let (low, high) = widened(&ratios, Some(error), 0.1).unwrap();
            let holds = |ratio: &f64| low <= ratio * (1.0 + 1e-9) && *ratio <= high * (1.0 + 1e-9);
            prop_assert!(ratios.iter().all(holds), "{low} {high}");
        }
    }
}
