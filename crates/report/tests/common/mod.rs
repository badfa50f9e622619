//! What the tests share: findings made by hand, and golden files.

use model::record::{Finding, quantity, subject_text};
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
    Finding {
        subject: subject_text(pairs.iter().cloned()),
        quantity: name.into(),
        value,
        unit: quantity(name).map_or("", |q| q.unit).into(),
        count: 2,
        method: "mean".into(),
        verdict: if value.is_some() { "ok" } else { "not_measured" }.into(),
        ..Finding::default()
    }
}

/// The same, doubted.
pub(crate) fn doubted(finding: Finding, verdict: &str, reason: &str) -> Finding {
    Finding { verdict: verdict.into(), reason: Some(reason.into()), ..finding }
}
