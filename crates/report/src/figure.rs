//! A finding as it is printed: its number, and what it is worth. Non-goals: which figure stands
//! where.

use crate::doubt::sentences;
use crate::footnote::Note;
use crate::number::{CANNOT_TELL, WOULD_TELL, says_nothing};
use model::record::{Doubt, Finding, Verdict};
use std::collections::BTreeMap;

/// A number of a cell, and what it is worth.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// The number; none where it was not measured or is not finite.
    pub value: Option<f64>,
    /// Lower end of its interval: that of 95 %, or the span over samples of a model's uncertain
    /// parameters.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Whether the interval is the span over samples of uncertain parameters.
    pub spans_parameters: bool,
    /// How many passes it rests on.
    pub count: u64,
    /// Whether it is not told: the interval of the number that decides for its row says nothing.
    pub(crate) is_open: bool,
    /// What it is worth.
    pub verdict: Verdict,
    /// Why, where it is not ok.
    doubts: Vec<Doubt>,
}

impl Figure {
    pub(crate) fn of(finding: &Finding) -> Self {
        let finite = |value: Option<f64>| value.filter(|v| v.is_finite());
        let value = finite(finding.value);
        let verdict = finding.verdict;
        Self {
            value: value.filter(|_| verdict != Verdict::NotMeasured),
            low: finite(finding.low),
            high: finite(finding.high),
            spans_parameters: finding.spans_parameters(),
            count: finding.count,
            is_open: false,
            verdict: if value.is_none() { Verdict::NotMeasured } else { verdict },
            doubts: finding.doubts.clone(),
        }
    }

    /// The number, where it is told.
    pub(crate) fn told(&self) -> Option<f64> {
        self.value.filter(|_| !self.is_open)
    }

    /// The ends of the interval of a number that is told.
    pub(crate) fn told_ends(&self) -> Option<(f64, f64)> {
        self.told().and(self.ends())
    }

    /// The same number of which no interval is known.
    pub(crate) fn without_interval(self) -> Self {
        Self { low: None, high: None, ..self }
    }

    /// Half the width of its interval; where that was cut at zero, what it reaches upwards.
    pub fn half_interval(&self) -> Option<f64> {
        let (low, high) = (self.low?, self.high?);
        let half = if low == 0.0 { high - self.value? } else { (high - low) / 2.0 };
        Some(half).filter(|half| half.is_finite())
    }

    /// The ends of its interval; none where it has no width, for that is none.
    pub(crate) fn ends(&self) -> Option<(f64, f64)> {
        self.low.zip(self.high).filter(|(low, high)| low < high)
    }

    /// What its interval does, so that a number that is above 0 by its nature is not told yet. The
    /// span over a model's parameters is as wide as these are.
    pub(crate) fn says_nothing(&self) -> Option<String> {
        let (low, high) = self.ends().filter(|_| !self.spans_parameters)?;
        says_nothing(low, high)
    }

    /// Why it is not ok. A suspect number never goes without a reason.
    pub fn doubts(&self) -> Vec<Doubt> {
        match (self.verdict, self.doubts.is_empty()) {
            (Verdict::Ok, _) => vec![],
            (Verdict::Suspect, true) => vec![Doubt::refused("suspect; no reason was recorded")],
            _ => self.doubts.clone(),
        }
    }

    /// The same in words, or why it is not told; nothing where it is ok.
    pub(crate) fn reason(&self) -> String {
        let reasons = sentences(&self.doubts());
        match (self.verdict, reasons.is_empty()) {
            _ if self.is_open => format!("{CANNOT_TELL}: {WOULD_TELL}"),
            (Verdict::Ok, _) => String::new(),
            (Verdict::NotMeasured, true) => "not measured".to_owned(),
            (Verdict::NotMeasured, false) => format!("not measured: {reasons}"),
            (Verdict::Suspect, _) => format!("suspect: {reasons}"),
        }
    }

    pub(crate) fn notes(&self) -> impl Iterator<Item = Note> {
        self.doubts().into_iter().map(|doubt| Note::from(&doubt))
    }
}

/// One decision for a row: where the interval of `by` says nothing, that number is not told, nor
/// are those that are the same measure in other words.
pub(crate) fn decide(figures: &mut BTreeMap<String, Figure>, by: &str, with_it: &[&str]) {
    if figures.get(by).and_then(Figure::says_nothing).is_some() {
        let own = figures.iter_mut().filter(|(name, _)| *name == by || with_it.contains(&&***name));
        own.for_each(|(_, figure)| figure.is_open = true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_that_was_cut_at_zero_is_as_uncertain_as_before() {
        let half = |low| {
            let found =
                Finding { value: Some(2.0), low: Some(low), high: Some(7.0), ..Finding::default() };
            Figure::of(&found).half_interval()
        };
        assert_eq!([half(-3.0), half(0.0), half(1.0)], [Some(5.0), Some(5.0), Some(3.0)]);
    }

    #[test]
    fn no_number_is_not_measured_and_a_suspect_one_has_a_reason() {
        let figure = |value, verdict| Figure::of(&Finding { value, verdict, ..Finding::default() });
        assert_eq!(figure(Some(1.0), Verdict::Ok).verdict, Verdict::Ok);
        assert_eq!(figure(Some(f64::NAN), Verdict::Ok).verdict, Verdict::NotMeasured);
        assert_eq!(figure(None, Verdict::Suspect).verdict, Verdict::NotMeasured);
        assert_eq!(figure(Some(1.0), Verdict::NotMeasured).value, None);
        assert_eq!(figure(Some(1.0), Verdict::Suspect).doubts().len(), 1);
        assert!(figure(Some(1.0), Verdict::Ok).doubts().is_empty());
    }
}
