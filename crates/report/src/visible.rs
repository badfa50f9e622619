//! Findings as they may be shown: names that others gave are made harmless where they enter a
//! report, so that no name breaks a row, whatever is drawn of it.

use model::record::Finding;
use model::text::{visible, visible_lines};
use serde_json::{Map, Value};

/// The findings with all text harmless. A reason keeps its lines, each of which is a sentence.
pub fn visible_findings(findings: &[Finding]) -> Vec<Finding> {
    let shown = |finding: &Finding| Finding {
        subject: subject(&finding.subject),
        quantity: visible(&finding.quantity).into_owned(),
        unit: visible(&finding.unit).into_owned(),
        method: visible(&finding.method).into_owned(),
        verdict: visible(&finding.verdict).into_owned(),
        reason: finding.reason.as_deref().map(|reason| visible_lines(reason).into_owned()),
        ..finding.clone()
    };
    findings.iter().map(shown).collect()
}

/// A subject with harmless keys and values; a text that is no object is made harmless as it is.
fn subject(text: &str) -> String {
    // Nothing is escaped in it, and nothing is to be.
    if !text.contains('\\') && !text.contains(model::text::is_unsafe) {
        return text.to_owned();
    }
    let Ok(pairs) = serde_json::from_str::<Map<String, Value>>(text) else {
        return visible(text).into_owned();
    };
    let shown = pairs.into_iter().map(|(key, value)| (visible(&key).into_owned(), harmless(value)));
    Value::Object(shown.collect()).to_string()
}

fn harmless(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(visible(&text).into_owned()),
        Value::Array(values) => values.into_iter().map(harmless).collect(),
        Value::Object(pairs) => {
            pairs.into_iter().map(|(key, v)| (visible(&key).into_owned(), harmless(v))).collect()
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_harmless_and_stay_names() {
        let subject = model::record::subject_text([("process", "a\n\x1b[2J\\".into())]);
        let finding = Finding {
            subject,
            reason: Some("one\ntwo \u{202e}".into()),
            value: Some(1.5),
            ..Finding::default()
        };
        let shown = visible_findings(std::slice::from_ref(&finding));
        assert_eq!(shown[0].subject_value("process").unwrap(), r"a\n\x1b[2J\");
        assert_eq!(shown[0].reason.as_deref(), Some("one\ntwo \\u{202e}"));
        assert_eq!(shown[0].value, Some(1.5));
        let plain = Finding { subject: "?\u{7}".into(), ..Finding::default() };
        assert_eq!(visible_findings(&[plain])[0].subject, r"?\x07");
    }
}
