//! Whatever the findings hold, a report is drawn, and JSON and CSV read back.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used)]

use model::record::{Doubt, Finding, Subject, Verdict};
use model::text::{is_unsafe, visible};
use proptest::prelude::*;
use report::throughput::{Matrix, details, table};
use report::{Run, calibration_line, overhead};

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
fn operation() -> impl Strategy<Value = Subject> {
    let some = |texts: &'static [&'static str]| prop::sample::select(texts);
    let engine = some(&["psync", "libaio", "null"]);
    let access = some(&["randread", "randwrite"]);
    let bytes = prop::sample::select(vec![0, 512, 4096, 65_536, u64::MAX]);
    let channels = prop::sample::select(vec![0u64, 1, 4]);
    let interval =
        prop::option::of(prop::sample::select(vec![0u64, 999, 10_000, 20_000, 30_000, 40_000]));
    let account = prop::option::of(some(&["wall", "thread", "difference", "loops", "?"]));
    (engine, access, 0..=1u64, (bytes, channels), interval, account).prop_map(
        |(engine, access, direct, (bytes, channels), interval, account)| {
            let mut subject = serde_json::json!({
                "engine": engine, "access": access, "direct": direct, "channels": channels,
                "target": "d", "arithmetic": interval.map(|_| "scalar"),
                "test_interval_ns": interval,
            });
            match account {
                Some(name) => subject["account"] = name.into(),
                None => subject["block_bytes"] = bytes.into(),
            }
            Subject::from_text(&subject.to_string()).unwrap()
        },
    )
}

fn finding() -> impl Strategy<Value = Finding> {
    let quantities: Vec<String> = model::record::quantities().map(|q| q.name.to_owned()).collect();
    let quantity = prop_oneof![prop::sample::select(quantities), name()];
    let verdicts = vec![Verdict::Ok, Verdict::Suspect, Verdict::NotMeasured];
    let verdict = prop::sample::select(verdicts);
    let subject = prop_oneof![
        4 => operation(),
        4 => (name(), name(), any::<u64>())
            .prop_map(|(program, target, drives)| Subject::cell(&target, &program, drives)),
        1 => (name(), name()).prop_map(|(by, class)| Subject::class(&by, &class)),
        1 => name().prop_map(|device| Subject::device(&device)),
    ];
    let numbers = (number(), number(), number());
    (subject, quantity, numbers, verdict, prop::option::of(name())).prop_map(
        |(subject, quantity, (value, low, high), verdict, reason)| Finding {
            subject,
            quantity,
            value,
            low,
            high,
            verdict,
            doubts: reason.map(Doubt::refused).into_iter().collect(),
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
        let screen = Run { findings: &findings, rows: &[] }.screen(width, "");
        let texts = [overhead::table(&findings, width), overhead::markdown(&findings), screen];
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
        let run = Run { findings: &findings, rows: &rows };
        let screen = run.screen(width, "");
        let texts = [table(&matrix, width), details(&matrix, width), run.markdown(), screen];
        for text in texts {
            prop_assert!(!text.contains(|c| c != '\n' && is_unsafe(c)));
            prop_assert!(!text.contains("NaN") && !text.contains("inf"), "{}", text);
        }
        // One line a row, so no cell was wrapped; above them perhaps the systems, the head, the
        // rule.
        let whole = table(&matrix, None);
        let lines = whole.lines().skip(2).take_while(|line| !line.is_empty()).count();
        let rows_printed = matrix.rows.len();
        let with_heads = rows_printed + 2..=rows_printed + 3;
        prop_assert!(matrix.columns.is_empty() || with_heads.contains(&lines), "{}", whole);
        let _ = calibration_line(&findings);

        let text = report::json(&serde_json::json!({}), &[], &findings).unwrap();
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
