//! Findings as they may be shown: names that others gave are made harmless where they enter a
//! report, so that no name breaks a row, whatever is drawn of it.

use model::doubt::{Doubt, Value};
use model::record::Finding;
use model::text::{visible, visible_lines};

/// The findings with all text harmless.
pub fn visible_findings(findings: &[Finding]) -> Vec<Finding> {
    let harmless = |text: &str| visible(text).into_owned();
    let shown = |finding: &Finding| Finding {
        subject: finding.subject.clone().with_names(harmless),
        quantity: harmless(&finding.quantity),
        unit: harmless(&finding.unit),
        method: harmless(&finding.method),
        doubts: finding.doubts.iter().map(visible_doubt).collect(),
        ..finding.clone()
    };
    findings.iter().map(shown).collect()
}

fn visible_doubt(doubt: &Doubt) -> Doubt {
    let mut shown = doubt.clone();
    for value in shown.values.values_mut() {
        match value {
            Value::Text(text) => *text = visible_lines(text).replace('\n', "; "),
            Value::Names(names) => {
                names.iter_mut().for_each(|name| *name = visible_lines(name).replace('\n', " "))
            }
            Value::Number(_) => {}
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::record::Subject;

    #[test]
    fn names_are_harmless_and_stay_names() {
        let finding = Finding {
            subject: Subject::class("process", "a\n\x1b[2J\\"),
            doubts: vec![Doubt::refused("one\ntwo \u{202e}")],
            value: Some(1.5),
            ..Finding::default()
        };
        let shown = visible_findings(std::slice::from_ref(&finding));
        assert_eq!(shown[0].subject.get("class").unwrap(), r"a\n\x1b[2J\");
        assert_eq!(shown[0].doubts, [Doubt::refused("one; two \\u{202e}")]);
        assert_eq!(shown[0].value, Some(1.5));
    }
}
