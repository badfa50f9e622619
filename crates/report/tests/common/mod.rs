//! What the tests share: findings made by hand, and golden files.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used)]

mod golden;

pub(crate) use golden::golden;
use model::record::{Doubt, Finding, Subject, Verdict};
use std::collections::BTreeMap;

/// A finding of a cell.
pub(crate) fn finding(cell: (&str, &str, &str), name: &str, value: Option<f64>) -> Finding {
    let (program, target, drives) = cell;
    let pairs = [("program", program), ("target", target), ("drives", drives)];
    about(&pairs.map(|(key, value)| (key, value.to_owned())), name, value)
}

/// A finding of a subject.
pub(crate) fn about(pairs: &[(&str, String)], name: &str, value: Option<f64>) -> Finding {
    let keys: BTreeMap<&str, String> = pairs.iter().cloned().collect();
    let text = serde_json::to_string(&keys).unwrap();
    Finding::new(&Subject::from_text(&text).unwrap(), name, value, 2, "mean")
}

/// The same, doubted.
pub(crate) fn doubted(finding: Finding, verdict: Verdict, reason: &str) -> Finding {
    let doubts = reason.lines().map(Doubt::refused).collect();
    Finding { verdict, doubts, ..finding }
}
