//! What the tests share: findings made by hand, and golden files.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used)]

use model::record::{Doubt, Finding, Subject, Verdict};
use std::collections::BTreeMap;
use std::path::Path;

/// Compares with `tests/expected/NAME` byte for byte; writes it when `LBOLT_BLESS=1`.
pub(crate) fn golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/expected").join(name);
    if std::env::var_os("LBOLT_BLESS").is_some_and(|value| value == "1") {
        std::fs::write(&path, text).unwrap_or_else(|e| panic!("write {name}: {e}"));
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        text == expected,
        "{name} differs; if it should, run the tests with LBOLT_BLESS=1\n--- \
         expected\n{expected}\n--- got\n{text}"
    );
}

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
