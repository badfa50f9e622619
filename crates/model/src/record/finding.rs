//! A finding: one published number, in long form, so that comparison and
//! history are joins and a report is drawn without analysing again.

use super::column::{Column, Record, column};
use std::collections::BTreeMap;

/// What a number is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Every check passed.
    Ok,
    /// A check failed; the reason says which.
    Suspect,
    /// There is no number; the reason says why.
    NotMeasured,
}

impl Verdict {
    /// The name in the record.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Suspect => "suspect",
            Self::NotMeasured => "not_measured",
        }
    }

    /// The verdict of a record's text; none if it is no verdict.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Ok, Self::Suspect, Self::NotMeasured].into_iter().find(|v| v.name() == name)
    }
}

/// One published number. The columns' meanings are in [`Finding::columns`].
#[derive(Debug, Clone, Default, PartialEq)]
#[allow(missing_docs, reason = "each field is described where its column is declared")]
pub struct Finding {
    pub subject: String,
    pub quantity: String,
    pub value: Option<f64>,
    pub unit: String,
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub count: u64,
    pub method: String,
    pub verdict: String,
    pub reason: Option<String>,
}

impl Record for Finding {
    const SCHEMA: &'static str = "lbolt.findings/1";

    fn columns() -> Vec<Column<Self>> {
        vec![
            column!(Finding, subject: String, "what the number is about: an object of strings as \
                canonical JSON text (keys sorted)"),
            column!(Finding, quantity: String, "a word of the table below, its unit last"),
            column!(Finding, value: Option<f64>, "the number; null where it was not measured"),
            column!(Finding, unit: String, "its unit"),
            column!(Finding, low: Option<f64>, "lower end of its 95 % interval, where the method \
                gives one"),
            column!(Finding, high: Option<f64>, "upper end"),
            column!(Finding, count: u64, "how many passes or values it rests on"),
            column!(Finding, method: String, "how it was computed"),
            column!(Finding, verdict: String, "ok, suspect or not_measured"),
            column!(Finding, reason: Option<String>, "what failed, a sentence a line, where the \
                verdict is not ok"),
        ]
    }
}

/// A subject's canonical text: JSON, keys sorted, values strings.
pub fn subject_text<'a>(pairs: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let map: BTreeMap<&str, String> = pairs.into_iter().collect();
    serde_json::Value::from_iter(map).to_string()
}

/// What a method says of an interval that spans draws of a model's uncertain numbers.
const SPANS: &str = "the interval spans ";

/// How an interval came about that spans so many draws of a model's uncertain numbers.
pub fn spanning(draws: u64) -> String {
    format!("{SPANS}{draws} draws of the model's uncertain numbers")
}

impl Finding {
    /// Whether its interval spans draws of a model's uncertain numbers: it is none of 95 % then.
    pub fn spans_draws(&self) -> bool {
        self.method.contains(SPANS)
    }

    /// A key of the subject; none if the text is no such object or has no such key.
    pub fn subject_value(&self, key: &str) -> Option<String> {
        let map: BTreeMap<String, String> = serde_json::from_str(&self.subject).ok()?;
        map.get(key).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_is_canonical_json() {
        let text = subject_text([
            ("target", "ext4:4k".into()),
            ("drives", "1".into()),
            ("program", "a".into()),
        ]);
        assert_eq!(text, r#"{"drives":"1","program":"a","target":"ext4:4k"}"#);
        let finding = Finding { subject: text, ..Finding::default() };
        assert_eq!(finding.subject_value("target").as_deref(), Some("ext4:4k"));
        assert_eq!(finding.subject_value("colour"), None);
    }
}
