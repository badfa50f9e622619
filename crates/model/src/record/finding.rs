//! A finding: one published number, in long form, so that comparison and
//! history are joins and a report is drawn without analysing again.

use super::column::{Column, Field as _, Record as _, record};
use super::earlier;
use super::quantity::quantity;
use super::subject::Subject;
use crate::doubt::{Doubt, Judgement, Verdict};
use crate::named::named;

/// The column of earlier versions that held a sentence a line.
macro_rules! reason_column {
    ($record:ty) => {
        $crate::record::column::Column::<$record> {
            name: "reason",
            kind: $crate::record::column::Kind::Text,
            nullable: true,
            why: "what failed, a sentence a line",
            get: |_| $crate::record::column::Value::Text(None),
            set: |row, value| match value {
                $crate::record::column::Value::Text(text) => {
                    let sentences = text.iter().flat_map(|text| text.lines());
                    row.doubts = sentences.map($crate::doubt::Doubt::earlier).collect();
                    true
                }
                _ => false,
            },
        }
    };
}
pub(super) use reason_column;

named! {
    /// What an interval is.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Interval {
        /// 95 % of the mean over passes, by Student's t.
        Passes = "passes",
        /// 95 % of a coefficient of a line, by Student's t.
        Line = "line",
        /// 95 % by ranks.
        Ranks = "ranks",
        /// From the least to the greatest of what was found.
        Extremes = "extremes",
        /// The span over samples of a model's uncertain parameters.
        Parameters = "parameters",
        /// 95 % by the spread of what it is compared with.
        Comparison = "comparison",
    }
}

record! {
    /// One published number. The columns' meanings are in [`Finding::columns`].
    #[derive(Debug, Clone, Default, PartialEq)]
    pub struct Finding, "lbolt.findings/2", earlier version_1 {
        subject: Subject = "what the number describes, as JSON with sorted keys";
        quantity: String = "name of the quantity, listed below; it ends in its unit";
        value: Option<f64> = "the number; null: not measured";
        unit: String = "unit of the number";
        low: Option<f64> = "lower end of the interval, if the method gives one";
        high: Option<f64> = "upper end of the interval";
        interval: Option<Interval> =
            "kind of the interval: passes (95 % of their mean), line (95 % of its coefficient), \
             ranks (95 % by ranks), extremes (minimum to maximum), parameters (span over samples \
             of a model's uncertain parameters; for a change's ratio with the model's error), or \
             comparison (95 % by the spread of the compared numbers)";
        count: u64 = "number of passes or values";
        method: String = "how the number was computed";
        verdict: Verdict = "ok, suspect or not_measured";
        doubts: Vec<Doubt> = "why the verdict is not ok: a JSON list of codes with values";
    }
}

/// Version 1 had no intervals' kinds and sentences in the place of doubts, and other names.
fn version_1() -> (&'static str, Vec<Column<Finding>>) {
    let mut columns = Finding::columns();
    columns.retain(|column| !["interval", "doubts"].contains(&column.name));
    for column in &mut columns {
        column.set = match column.name {
            "subject" => |row, value| {
                let subject = String::from_value(value).and_then(|text| earlier::subject(&text));
                subject.map(|subject| row.subject = subject).is_some()
            },
            "quantity" => |row, value| {
                let name = String::from_value(value).map(earlier::quantity);
                name.map(|name| row.quantity = name).is_some()
            },
            // It said what an interval was that is not of passes; it stands behind the ends.
            "method" => |row, value| {
                let Some(text) = String::from_value(value) else { return false };
                let is_of_parameters = text.contains("the interval spans ");
                row.interval = row.low.or(row.high).map(|_| match is_of_parameters {
                    true => Interval::Parameters,
                    false => Interval::Passes,
                });
                row.method = text;
                true
            },
            _ => continue,
        };
    }
    columns.push(reason_column!(Finding));
    ("lbolt.findings/1", columns)
}

impl Finding {
    /// Whether it is the rate of what was measured, by which that counts as measured.
    pub fn is_rate(&self) -> bool {
        self.subject.rate() == Some(&self.quantity)
    }

    /// A number of the table of quantities. Without a value it is not measured.
    pub fn new(
        subject: &Subject,
        name: &str,
        value: Option<f64>,
        count: u64,
        method: impl Into<String>,
    ) -> Self {
        let verdict = if value.is_some() { Verdict::Ok } else { Verdict::NotMeasured };
        Self {
            subject: subject.clone(),
            quantity: name.to_owned(),
            value,
            unit: quantity(name).map_or("", |quantity| quantity.unit).to_owned(),
            count,
            method: method.into(),
            verdict,
            ..Self::default()
        }
    }

    /// There is no number, for this reason.
    pub fn not_measured(subject: &Subject, name: &str, judgement: Judgement) -> Self {
        Self::new(subject, name, None, 0, "not measured").judged(judgement)
    }

    /// With its interval; an end that is not known is none. Of few passes an interval can reach
    /// below zero, where no time, no share and no rate is: it then begins at zero. One that lies
    /// below zero as a whole stays: what it is of was not measured well.
    #[must_use]
    pub fn within(mut self, kind: Interval, (low, high): (Option<f64>, Option<f64>)) -> Self {
        let is_signed = quantity(&self.quantity).is_none_or(|quantity| quantity.is_signed());
        let is_cut = !is_signed && high.is_none_or(|high| high > 0.0);
        (self.low, self.high) = (low.map(|low| if is_cut { low.max(0.0) } else { low }), high);
        self.interval = low.or(high).map(|_| kind);
        self
    }

    /// With what it is worth.
    #[must_use]
    pub fn judged(self, judgement: Judgement) -> Self {
        Self { verdict: judgement.verdict, doubts: judgement.doubts, ..self }
    }

    /// With one doubt more, which makes it suspect at the least.
    pub fn doubt(&mut self, doubt: Doubt) {
        self.verdict = self.verdict.max(Verdict::Suspect);
        self.doubts.push(doubt);
    }

    /// Whether its interval spans samples of a model's uncertain parameters: it is none of 95 %.
    pub fn spans_parameters(&self) -> bool {
        self.interval == Some(Interval::Parameters)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_doubt_makes_suspect_at_the_least() {
        let of = |value| {
            let mut finding = Finding::new(&Subject::this_run(), "rate_bytes_per_s", value, 1, "m");
            finding.doubt(Doubt::refused("no"));
            (finding.verdict, finding.doubts.len())
        };
        assert_eq!(of(Some(1.0)), (Verdict::Suspect, 1));
        assert_eq!(of(None), (Verdict::NotMeasured, 1));
    }

    #[test]
    fn an_interval_has_its_kind_where_it_has_an_end() {
        let within = |kind, ends| Finding::default().within(kind, ends);
        for (ends, kind) in [
            ((None, None), None),
            ((Some(1.0), None), Some(Interval::Parameters)),
            ((None, Some(2.0)), Some(Interval::Parameters)),
        ] {
            let finding = within(Interval::Parameters, ends);
            assert_eq!(((finding.low, finding.high), finding.interval), (ends, kind));
            assert_eq!(finding.spans_parameters(), kind.is_some());
        }
        assert!(!within(Interval::Passes, (Some(1.0), Some(2.0))).spans_parameters());
    }

    #[test]
    fn no_time_and_no_rate_has_an_interval_that_begins_below_zero() {
        let low = |name, value, high| {
            let found = Finding::new(&Subject::this_run(), name, Some(value), 2, "m");
            found.within(Interval::Passes, (Some(-3.0), Some(high))).low
        };
        for name in ["t_call_ns", "operation_cpu_difference_ns", "cpu_percent", "rate_bytes_per_s"]
        {
            assert_eq!([low(name, 1.0, 5.0), low(name, -1.0, 1.0)], [Some(0.0); 2], "{name}");
            assert_eq!(low(name, -2.0, -1.0), Some(-3.0), "{name}: nothing is hidden");
        }
        for name in ["rate_trend_percent", "operation_remainder_ns", "cpu_error_percent"] {
            assert_eq!(low(name, 1.0, 5.0), Some(-3.0), "{name}");
        }
    }

    #[test]
    fn a_finding_has_the_unit_of_its_quantity_and_what_it_is_worth() {
        let finding =
            Finding::new(&Subject::device("sda"), "rate_bytes_per_s", Some(7.0), 3, "mean");
        let of = (finding.unit.as_str(), finding.value, finding.count, finding.method.as_str());
        assert_eq!(of, ("B/s", Some(7.0), 3, "mean"));
        assert_eq!((&finding.subject, finding.verdict), (&Subject::device("sda"), Verdict::Ok));
        assert_eq!(Finding::new(&Subject::this_run(), "colour", None, 0, "").unit, "");
        let doubt = Doubt::refused("no root");
        let judgement = Judgement::not_measured(doubt.clone());
        let missing = Finding::not_measured(&Subject::this_run(), "cpu_percent", judgement);
        assert_eq!((missing.verdict, missing.value), (Verdict::NotMeasured, None));
        assert_eq!((missing.doubts, missing.unit.as_str()), (vec![doubt], "%"));
        assert_eq!(missing.method, "not measured");
    }
}
