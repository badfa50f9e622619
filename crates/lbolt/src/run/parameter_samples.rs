//! What a model's uncertain numbers do to its predictions: an experiment again on draws of them, on
//! all cores, and for each finding the least and the most that came out.

use crate::resolve::modelled::Drawable;
use crate::resolve::place::System;
use crate::run::subject::Ran;
use experiment::throughput::{Observer, PassStart};
use model::record::{Finding, Interval, Sample, Subject};
use rayon::prelude::*;
use sim::subject::ModelSubject;
use std::collections::BTreeMap;

/// Draws of a model's uncertain numbers.
const DRAWS: u64 = 8;

/// What draws gave for a finding.
#[derive(Debug, Clone, Copy)]
struct Range {
    low: f64,
    high: f64,
    /// Draws that gave it; some cannot be run, or come to no such finding.
    draws: u64,
}

/// The ranges of findings by their subject and quantity.
#[derive(Debug, Default)]
pub(super) struct Ranges(BTreeMap<(Subject, String), Range>);

impl Ranges {
    /// Runs an experiment on draws of a modelled system that has uncertain numbers: `run` on a
    /// draw's machine, whose samples come to findings.
    pub(super) fn find(
        &mut self,
        system: &System,
        run: impl Fn(&mut ModelSubject, &mut Samples) -> Ran + Sync,
        findings: impl Fn(&[Sample]) -> Vec<Finding> + Sync,
    ) {
        let Some(drawable) = system.drawable().filter(Drawable::is_uncertain) else { return };
        let draws: Vec<u64> = (1..=DRAWS).collect();
        let drawn = draws.par_iter().with_max_len(1).map(|draw| {
            let mut samples = Samples::default();
            // A draw that cannot be run has nothing to say; one that fails says what came before.
            if let Ok(mut subject) = drawable.subject(*draw) {
                let _ = run(&mut subject, &mut samples);
            }
            findings(&samples.0)
        });
        let drawn: Vec<Vec<Finding>> = drawn.collect();
        drawn.iter().flatten().for_each(|finding| self.widen(finding));
    }

    fn widen(&mut self, finding: &Finding) {
        let Some(value) = finding.value.filter(|value| value.is_finite()) else { return };
        let key = (finding.subject.clone(), finding.quantity.clone());
        let range = self.0.entry(key).or_insert(Range { low: value, high: value, draws: 0 });
        (range.low, range.high) = (range.low.min(value), range.high.max(value));
        range.draws += 1;
    }

    /// The findings with their ranges.
    pub(super) fn applied_to(&self, mut findings: Vec<Finding>) -> Vec<Finding> {
        for finding in &mut findings {
            let key = (finding.subject.clone(), finding.quantity.clone());
            if let (Some(range), Some(value)) = (self.0.get(&key), finding.value) {
                (finding.low, finding.high) =
                    (Some(range.low.min(value)), Some(range.high.max(value)));
                finding.interval = Some(Interval::Parameters);
                finding.method.push_str(&format!("; over {} samples of parameters", range.draws));
            }
        }
        findings
    }
}

/// An observer that keeps the samples.
#[derive(Default)]
pub(crate) struct Samples(pub(crate) Vec<Sample>);

impl Observer for Samples {
    fn pass_starts(&mut self, _: &PassStart<'_>) {}

    fn pass_done(&mut self, sample: Sample) {
        self.0.push(sample);
    }

    fn cell_done(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_spans_what_its_draws_gave() {
        let of = |value: f64| Finding {
            quantity: "rate_bytes_per_s".into(),
            value: Some(value),
            ..Finding::default()
        };
        let mut ranges = Ranges::default();
        [3.0, 5.0].iter().for_each(|value| ranges.widen(&of(*value)));
        let spanned =
            ranges.applied_to(vec![of(6.0), Finding { quantity: "other".into(), ..of(1.0) }]);
        assert_eq!((spanned[0].low, spanned[0].high), (Some(3.0), Some(6.0)));
        assert!(
            spanned[0].spans_parameters()
                && spanned[0].method.contains("over 2 samples of parameters")
        );
        assert!(spanned[1].low.is_none());
    }
}
