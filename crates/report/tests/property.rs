//! Whatever the findings hold, a report is drawn, and JSON and CSV read back.

use model::record::Finding;
use model::text::{is_unsafe, visible};
use proptest::prelude::*;
use report::throughput::{Matrix, details, markdown, table};
use report::{calibration_line, overhead};

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        "\\PC{0,12}",
        ".{0,6}",
        "[a-c]",
        Just(String::new()),
        Just("東京\u{200d}\u{1f469}\t\"|,\r\n".to_owned()),
    ]
}

fn number() -> impl Strategy<Value = Option<f64>> {
    prop_oneof![
        prop::option::of(any::<f64>()),
        prop::option::of(0.0..1e12),
        Just(Some(f64::NAN)),
        Just(Some(f64::INFINITY)),
    ]
}

/// The subject of a routine, at a request size or by an account.
fn operation() -> impl Strategy<Value = String> {
    let some = |texts: &'static [&'static str]| prop::sample::select(texts);
    let engine =
        prop_oneof![3 => some(&["psync", "libaio", "null"]).prop_map(String::from), 1 => name()];
    let access =
        prop_oneof![3 => some(&["randread", "randwrite"]).prop_map(String::from), 1 => name()];
    let numbers = (
        some(&["0", "512", "4096", "65536", "18446744073709551615", "?"]),
        some(&["1", "4", "0", "-1"]),
    );
    let computing = some(&["none", "0", "999", "10000", "20000", "30000", "40000"]);
    let account = prop::option::of(some(&["wall", "own", "difference", "loops", "?"]));
    (engine, access, some(&["0", "1"]), numbers, computing, account).prop_map(
        |(engine, access, direct, (bytes, channels), interval, account)| {
            let arithmetic = if interval == "none" { "none" } else { "scalar" };
            let mut subject = serde_json::json!({
                "engine": engine, "access": access, "direct": direct, "channels": channels, "target": "d",
                "arithmetic": arithmetic, "test_interval_ns": interval,
            });
            let (key, value) = account.map_or(("block_bytes", bytes), |name| ("account", name));
            subject[key] = value.into();
            subject.to_string()
        },
    )
}

fn finding() -> impl Strategy<Value = Finding> {
    let quantities: Vec<String> = model::record::quantities().map(|q| q.name.to_owned()).collect();
    let quantity = prop_oneof![prop::sample::select(quantities), name()];
    let verdict = prop::sample::select(vec!["ok", "suspect", "not_measured", "", "good"]);
    let subject = prop_oneof![
        4 => operation(),
        4 => (name(), name(), name()).prop_map(|(program, target, drives)| {
            serde_json::json!({"program": program, "target": target, "drives": drives}).to_string()
        }),
        1 => name(),
        1 => Just(r#"{"value":1,"run":null}"#.to_owned()),
    ];
    let numbers = (number(), number(), number());
    (subject, quantity, numbers, verdict, prop::option::of(name())).prop_map(
        |(subject, quantity, (value, low, high), verdict, reason)| Finding {
            subject,
            quantity,
            value,
            low,
            high,
            verdict: verdict.into(),
            reason,
            ..Finding::default()
        },
    )
}

/// Fields of a text quoted as RFC 4180 says: a reader of our own, simple and slow.
fn csv_fields(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut field) = (Vec::new(), Vec::new(), String::new());
    let mut quoted = false;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' if quoted && characters.peek() == Some(&'"') => field.extend(characters.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut field)),
            '\n' if !quoted => {
                row.push(std::mem::take(&mut field));
                rows.push(std::mem::take(&mut row));
            }
            other => field.push(other),
        }
    }
    rows
}

proptest! {
    #[test]
    fn any_findings_make_an_overhead_report(
        findings in prop::collection::vec(finding(), 0..40),
        width in prop::option::of(0u16..200),
    ) {
        let texts = [overhead::table(&findings, width), overhead::markdown(&findings)];
        for text in texts {
            prop_assert!(!text.contains(|c| c != '\n' && is_unsafe(c)), "{:?}", text);
            // "inf" is in R_inf.
            prop_assert!(!text.contains("NaN") && !text.contains(" inf"), "{}", text);
        }
    }

    #[test]
    fn any_findings_make_a_report(
        findings in prop::collection::vec(finding(), 0..12),
        rows in prop::collection::vec(name(), 0..3),
        width in prop::option::of(0u16..200),
    ) {
        let matrix = Matrix::from_findings(&findings, &rows);
        let texts = [table(&matrix, width), details(&matrix, width), markdown(&matrix)];
        for text in texts {
            prop_assert!(!text.contains(|c| c != '\n' && is_unsafe(c)));
            prop_assert!(!text.contains("NaN") && !text.contains("inf"), "{}", text);
        }
        // One line a row, so no cell was wrapped; above them perhaps the systems, the head, the
        // rule.
        let whole = table(&matrix, None);
        let lines = whole.lines().skip(2).take_while(|line| !line.is_empty()).count();
        let rows_printed = matrix.rows.len();
        prop_assert!(matrix.columns.is_empty() || (rows_printed + 2..=rows_printed + 3).contains(&lines), "{}", whole);
        let _ = calibration_line(&findings);

        let text = report::json(&serde_json::json!({}), &findings).unwrap();
        let back: serde_json::Value = serde_json::from_str(&text).unwrap();
        let rows = back["findings"].as_array().unwrap();
        prop_assert_eq!(rows.len(), findings.len());
        for (row, finding) in rows.iter().zip(&findings) {
            prop_assert!(row["subject"].is_object());
            // serde_json's reader may err in the last bit.
            let expected = finding.value.filter(|v| v.is_finite());
            prop_assert_eq!(row["value"].is_null(), expected.is_none());
            let (got, expected) = (row["value"].as_f64().unwrap_or(0.0), expected.unwrap_or(0.0));
            prop_assert!((got - expected).abs() <= expected.abs() * 1e-15 + f64::MIN_POSITIVE);
            prop_assert_eq!(row["quantity"].as_str(), Some(finding.quantity.as_str()));
        }

        let lines = csv_fields(&report::csv(&findings));
        prop_assert_eq!(lines.len(), findings.len() + 1);
        prop_assert!(lines.iter().all(|line| line.len() == lines[0].len()));
        let quantity = lines[0].iter().position(|name| name == "quantity").unwrap();
        for (line, finding) in lines[1..].iter().zip(&findings) {
            let shown = visible(&finding.quantity);
            let cell = &line[quantity];
            prop_assert!(*cell == shown || cell.strip_prefix('\'') == Some(&*shown), "{}", cell);
        }
        let is_formula = |cell: &&String| {
            cell.starts_with(['=', '+', '-', '@']) && cell.parse::<f64>().is_err()
        };
        prop_assert_eq!(lines.iter().flatten().find(is_formula), None);
        prop_assert!(!lines.iter().flatten().any(|cell| cell.contains(is_unsafe)));
    }
}
