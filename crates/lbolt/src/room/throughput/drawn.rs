//! What a model's uncertain numbers do to its predictions: the battery again on draws of them, on all cores, and for each
//! finding the least and the most that came out.

use crate::cores;
use crate::modelled::Drawable;
use crate::place::System;
use analyze::throughput::findings;
use experiment::throughput::{Calibration, Observer, PassStart, Plan, run_system};
use model::record::{Finding, Sample};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Draws of a model's uncertain numbers.
const DRAWS: u64 = 8;

type Range = (f64, f64);

/// The ranges of findings by their subject and quantity; clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct Ranges(Rc<RefCell<BTreeMap<(String, String), Range>>>);

impl Ranges {
    /// Runs the battery on draws of every modelled system that has uncertain numbers.
    pub(super) fn find(&self, systems: &[System], plan: &Plan, calibration: &Calibration) {
        let plan = Plan { runs: 1, ..plan.clone() };
        for system in systems {
            let Some(drawable) = system.drawable().filter(Drawable::is_uncertain) else { continue };
            let name = &system.name;
            let draws: Vec<u64> = (1..=DRAWS).collect();
            let drawn = cores::map(&draws, |draw| {
                let mut samples = Samples::default();
                // A draw that cannot be run has nothing to say.
                if let Ok(mut subject) = drawable.subject(*draw) {
                    let clock = subject.clock();
                    let _ =
                        run_system(&mut subject, name, &plan, calibration, &clock, &mut samples);
                }
                findings(&samples.0, &[])
            });
            drawn.iter().flatten().for_each(|finding| self.widen(finding));
        }
    }

    fn widen(&self, finding: &Finding) {
        let Some(value) = finding.value else { return };
        let mut ranges = self.0.borrow_mut();
        let key = (finding.subject.clone(), finding.quantity.clone());
        let range = ranges.entry(key).or_insert((value, value));
        *range = (range.0.min(value), range.1.max(value));
    }

    /// The findings with their ranges.
    pub(super) fn applied_to(&self, mut findings: Vec<Finding>) -> Vec<Finding> {
        let ranges = self.0.borrow();
        for finding in &mut findings {
            let key = (finding.subject.clone(), finding.quantity.clone());
            if let (Some((low, high)), Some(value)) = (ranges.get(&key), finding.value) {
                (finding.low, finding.high) = (Some(low.min(value)), Some(high.max(value)));
                finding.method.push_str(&format!(
                    "; the interval spans {DRAWS} draws of the model's uncertain numbers"
                ));
            }
        }
        findings
    }
}

/// An observer that keeps the samples.
#[derive(Default)]
struct Samples(Vec<Sample>);

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
            subject: "{}".into(),
            quantity: "rate_bytes_per_s".into(),
            value: Some(value),
            ..Finding::default()
        };
        let ranges = Ranges::default();
        [3.0, 5.0].iter().for_each(|value| ranges.widen(&of(*value)));
        let spanned =
            ranges.applied_to(vec![of(6.0), Finding { quantity: "other".into(), ..of(1.0) }]);
        assert_eq!((spanned[0].low, spanned[0].high), (Some(3.0), Some(6.0)));
        assert!(spanned[0].method.contains("8 draws") && spanned[1].low.is_none());
    }
}
