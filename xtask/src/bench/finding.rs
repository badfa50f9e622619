//! Findings in lbolt's JSON, by quantity and subject.

use anyhow::Context as _;
use serde_json::Value;

/// A finding's value: its quantity, and what its subject says besides.
///
/// # Errors
/// There is none, or it was not measured, with lbolt's reason.
pub(super) fn value(json: &Value, quantity: &str, subject: &[(&str, &str)]) -> anyhow::Result<f64> {
    let is_it = |finding: &&Value| {
        finding["quantity"] == quantity
            && subject.iter().all(|(key, value)| finding["subject"][*key] == *value)
    };
    let mut findings = json["findings"].as_array().into_iter().flatten();
    let finding =
        findings.find(is_it).with_context(|| format!("lbolt has no {quantity} of {subject:?}"))?;
    let reason = finding["reason"].as_str().unwrap_or_default();
    finding["value"].as_f64().with_context(|| format!("lbolt measured no {quantity}: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_found_by_its_subject() {
        let json = serde_json::json!({"findings": [
            {"subject": {"engine": "sync", "account": "own"}, "quantity": "t_call_ns", "value": 1.0},
            {"subject": {"engine": "psync", "account": "own"}, "quantity": "t_call_ns", "value": 2.0},
            {"subject": {"engine": "mmap", "account": "own"}, "quantity": "t_call_ns", "value": null,
             "reason": "because"},
        ]});
        let of = |engine| value(&json, "t_call_ns", &[("engine", engine), ("account", "own")]);
        assert_eq!(of("psync").unwrap(), 2.0);
        assert!(of("mmap").unwrap_err().to_string().contains("because"));
        assert!(of("vsync").unwrap_err().to_string().contains("no t_call_ns"));
    }
}
