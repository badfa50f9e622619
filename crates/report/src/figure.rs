//! A finding as it is printed: its number, and what it is worth. Non-goals: which figure stands
//! where.

use model::record::{Finding, Verdict};

/// A number of a cell, and what it is worth.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// The number; none where it was not measured or is not finite.
    pub value: Option<f64>,
    /// Lower end of its interval: that of 95 %, or what draws of a model's uncertain numbers span.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Whether the interval is what draws span.
    pub spans_draws: bool,
    /// How many passes it rests on.
    pub count: u64,
    /// What it is worth.
    pub verdict: Verdict,
    /// Why, where it is not ok.
    pub reason: Option<String>,
}

impl Figure {
    pub(crate) fn of(finding: &Finding) -> Self {
        let finite = |value: Option<f64>| value.filter(|v| v.is_finite());
        let value = finite(finding.value);
        // A verdict of a later version is no licence to trust the number.
        let verdict = Verdict::from_name(&finding.verdict).unwrap_or(Verdict::Suspect);
        Self {
            value: value.filter(|_| verdict != Verdict::NotMeasured),
            low: finite(finding.low),
            high: finite(finding.high),
            spans_draws: finding.spans_draws(),
            count: finding.count,
            verdict: if value.is_none() { Verdict::NotMeasured } else { verdict },
            reason: finding.reason.clone().filter(|reason| !reason.trim().is_empty()),
        }
    }

    /// Half the width of its interval.
    pub fn half_interval(&self) -> Option<f64> {
        Some((self.high? - self.low?) / 2.0).filter(|half| half.is_finite())
    }

    /// Why it is not ok, sentence by sentence. A suspect number never goes without a reason.
    pub fn doubts(&self) -> impl Iterator<Item = &str> {
        let text = match self.verdict {
            Verdict::Ok => None,
            Verdict::Suspect => {
                Some(self.reason.as_deref().unwrap_or("suspect; no reason was recorded"))
            }
            Verdict::NotMeasured => self.reason.as_deref(),
        };
        text.into_iter().flat_map(str::lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_number_is_not_measured_and_an_unknown_verdict_is_suspect() {
        let figure = |value, verdict: &str| {
            Figure::of(&Finding { value, verdict: verdict.into(), ..Finding::default() })
        };
        assert_eq!(figure(Some(1.0), "ok").verdict, Verdict::Ok);
        assert_eq!(figure(Some(f64::NAN), "ok").verdict, Verdict::NotMeasured);
        assert_eq!(figure(None, "suspect").verdict, Verdict::NotMeasured);
        assert_eq!(figure(Some(1.0), "not_measured").value, None);
        assert!(figure(Some(1.0), "splendid").doubts().next().is_some());
    }
}
