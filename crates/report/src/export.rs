//! Findings for machines: CSV in long form, and JSON. Neither rounds, and in neither is a number
//! that is not finite anything but nothing. JSON is the data as they are, its unsafe characters as
//! `\u202e`; a cell of CSV is text for eyes and spreadsheets too, and harmless to both.

use model::record::{Finding, Record};
use model::text::{visible, visible_json};
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// A finding's subject as an object. A text that is none is kept under `text`.
fn subject(finding: &Finding) -> Map<String, Value> {
    serde_json::from_str(&finding.subject).unwrap_or_else(|_| {
        let text = ("text".to_owned(), Value::from(finding.subject.as_str()));
        Map::from_iter([text])
    })
}

fn finite(value: Option<f64>) -> Option<f64> {
    value.filter(|v| v.is_finite())
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    run: &'a Value,
    findings: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    subject: Map<String, Value>,
    quantity: &'a str,
    value: Option<f64>,
    unit: &'a str,
    low: Option<f64>,
    high: Option<f64>,
    count: u64,
    method: &'a str,
    verdict: &'a str,
    reason: Option<&'a str>,
}

impl<'a> Row<'a> {
    fn of(finding: &'a Finding) -> Self {
        Self {
            subject: subject(finding),
            quantity: &finding.quantity,
            value: finite(finding.value),
            unit: &finding.unit,
            low: finite(finding.low),
            high: finite(finding.high),
            count: finding.count,
            method: &finding.method,
            verdict: &finding.verdict,
            reason: finding.reason.as_deref(),
        }
    }

    /// The cells of a CSV line behind the subject's, in the order of the record's columns.
    fn cells(&self) -> [String; 9] {
        let number = |value: Option<f64>| value.map_or_else(String::new, |v| v.to_string());
        [
            self.quantity.to_owned(),
            number(self.value),
            self.unit.to_owned(),
            number(self.low),
            number(self.high),
            self.count.to_string(),
            self.method.to_owned(),
            self.verdict.to_owned(),
            // A sentence a line.
            self.reason.unwrap_or_default().replace('\n', "; "),
        ]
    }
}

/// `{"schema":"lbolt.findings/1","run":{…},"findings":[…]}`, each subject an object.
///
/// # Errors
/// None that these types can cause; the serializer's own are passed on.
pub fn json(run: &Value, findings: &[Finding]) -> serde_json::Result<String> {
    let findings = findings.iter().map(Row::of).collect();
    let document = Document { schema: Finding::SCHEMA, run, findings };
    serde_json::to_string_pretty(&document).map(|text| visible_json(&text).into_owned() + "\n")
}

/// The findings as CSV in long form: the keys of all subjects as the first columns, then the
/// record's other columns. Quoted as RFC 4180 says; lines end in `\n` alone.
pub fn csv(findings: &[Finding]) -> String {
    let rows: Vec<Row> = findings.iter().map(Row::of).collect();
    let keys: BTreeSet<&String> = rows.iter().flat_map(|row| row.subject.keys()).collect();
    let columns: Vec<&str> = Finding::columns().iter().map(|c| c.name).skip(1).collect();
    let apart = |key: &String| match columns.contains(&key.as_str()) {
        true => format!("subject.{key}"),
        false => key.clone(),
    };
    let header = keys.iter().map(|key| apart(key)).chain(columns.iter().map(|&c| c.to_owned()));
    let mut text = line(header);
    for row in &rows {
        let subject = keys.iter().map(|key| plain(row.subject.get(*key)));
        text.push_str(&line(subject.chain(row.cells())));
    }
    text
}

/// A subject's value without JSON's quotes.
fn plain(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

fn line(cells: impl Iterator<Item = String>) -> String {
    cells.map(|text| cell(&text)).collect::<Vec<_>>().join(",") + "\n"
}

/// What a spreadsheet takes for the beginning of a formula.
const FORMULAS: [char; 8] = ['=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}'];

/// A cell on one line: unsafe characters as escapes, an apostrophe before what a spreadsheet would
/// compute, numbers as they are; in quotes where RFC 4180 wants them.
pub(crate) fn cell(text: &str) -> String {
    let text = visible(text);
    let guard = if text.starts_with(FORMULAS) && !is_number(&text) { "'" } else { "" };
    if text.contains(['"', ',']) {
        format!("\"{guard}{}\"", text.replace('"', "\"\""))
    } else {
        format!("{guard}{text}")
    }
}

/// Whether a text is a number and nothing else, not even infinite.
fn is_number(text: &str) -> bool {
    text.ends_with(|last: char| last.is_ascii_digit()) && text.parse::<f64>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_harmless_and_quoted_only_where_needed() {
        for (text, expected) in [
            ("a", "a"),
            ("a,b", "\"a,b\""),
            ("a\"b", "\"a\"\"b\""),
            ("", ""),
            ("a\r\nb\x1b", r"a\r\nb\x1b"),
            ("=1+2", "'=1+2"),
            ("=HYPERLINK(\"x\",1)", "\"'=HYPERLINK(\"\"x\"\",1)\""),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("+1-2", "'+1-2"),
            ("-cmd", "'-cmd"),
            ("-inf", "'-inf"),
            ("-", "'-"),
            ("\t=1", r"\t=1"),
            ("-1.5", "-1.5"),
            ("-1.5e-7", "-1.5e-7"),
            ("+3", "+3"),
        ] {
            assert_eq!(cell(text), expected);
        }
    }

    #[test]
    fn the_columns_are_the_records() {
        let finding = Finding { subject: r#"{"run":"x","unit":"y"}"#.into(), ..Finding::default() };
        let names: Vec<&str> = Finding::columns().iter().map(|c| c.name).collect();
        assert_eq!(names[0], "subject");
        let header = csv(&[finding]).lines().next().unwrap().to_owned();
        assert_eq!(header, format!("run,subject.unit,{}", names[1..].join(",")));
        assert_eq!(Row::of(&Finding::default()).cells().len(), names.len() - 1);
    }

    #[test]
    fn what_is_not_finite_is_null() {
        let value = Some(f64::NAN);
        let finding =
            Finding { value, low: Some(f64::INFINITY), subject: "?".into(), ..Finding::default() };
        let text = json(&Value::Null, std::slice::from_ref(&finding)).unwrap();
        let back: Value = serde_json::from_str(&text).unwrap();
        let row = &back["findings"][0];
        assert_eq!((&row["value"], &row["low"]), (&Value::Null, &Value::Null));
        assert_eq!(row["subject"]["text"], "?");
        assert_eq!(csv(&[finding]).lines().nth(1).unwrap(), "?,,,,,,0,,,");
    }
}
