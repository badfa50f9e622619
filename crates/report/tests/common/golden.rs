//! Golden files, for the tests of this crate and of `lbolt`.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used)]

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
