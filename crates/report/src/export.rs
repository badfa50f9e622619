//! Findings for machines: CSV in long form, and JSON. Neither rounds, and in neither is a number
//! that is not finite anything but nothing. JSON is the data as they are, its unsafe characters as
//! `\u202e`; a cell of CSV is text for eyes and spreadsheets too, and harmless to both.

use crate::doubt::sentences;
use crate::statement::Statement;
use model::record::{Doubt, Finding, Interval, Record, Subject};
use model::text::{visible, visible_json};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

fn finite(value: Option<f64>) -> Option<f64> {
    value.filter(|v| v.is_finite())
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    run: &'a Value,
    answer: Vec<Said<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cells: Option<&'a Value>,
    #[serde(serialize_with = "rows")]
    findings: &'a [Finding],
}

/// A sentence of the answer, with the row of the finding that it is about.
#[derive(Serialize)]
struct Said<'a> {
    sentence: &'a str,
    finding: Option<Row<'a>>,
}

impl<'a> Said<'a> {
    fn of(statement: &'a Statement<'_>) -> Self {
        Self { sentence: &statement.sentence, finding: statement.finding.map(Row::of) }
    }
}

fn rows<S: Serializer>(findings: &&[Finding], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(findings.iter().map(Row::of))
}

#[derive(Serialize)]
struct Row<'a> {
    subject: &'a Subject,
    quantity: &'a str,
    value: Option<f64>,
    unit: &'a str,
    low: Option<f64>,
    high: Option<f64>,
    interval: Option<&'static str>,
    count: u64,
    method: &'a str,
    verdict: &'static str,
    doubts: &'a [Doubt],
}

impl<'a> Row<'a> {
    fn of(finding: &'a Finding) -> Self {
        Self {
            subject: &finding.subject,
            quantity: &finding.quantity,
            value: finite(finding.value),
            unit: &finding.unit,
            low: finite(finding.low),
            high: finite(finding.high),
            interval: finding.interval.map(Interval::name),
            count: finding.count,
            method: &finding.method,
            verdict: finding.verdict.name(),
            doubts: &finding.doubts,
        }
    }

    /// The cells of a CSV line behind the subject's, in the order of the record's columns.
    fn cells(&self) -> [String; 10] {
        let number = |value: Option<f64>| value.map_or_else(String::new, |v| v.to_string());
        [
            self.quantity.to_owned(),
            number(self.value),
            self.unit.to_owned(),
            number(self.low),
            number(self.high),
            self.interval.unwrap_or_default().to_owned(),
            self.count.to_string(),
            self.method.to_owned(),
            self.verdict.to_owned(),
            sentences(self.doubts),
        ]
    }
}

/// `{"schema":"lbolt.findings/2","run":{…},"answer":[…],"findings":[…]}`, each subject an object.
/// Errors: none that these types can cause; the serializer's own are passed on.
pub fn json(
    run: &Value,
    answer: &[Statement<'_>],
    findings: &[Finding],
) -> serde_json::Result<String> {
    json_with(run, answer, None, findings)
}

/// The same with the times of its cells between the two.
/// Errors: as [`json`].
pub fn json_with(
    run: &Value,
    answer: &[Statement<'_>],
    cells: Option<&Value>,
    findings: &[Finding],
) -> serde_json::Result<String> {
    let answer = answer.iter().map(Said::of).collect();
    let document = Document { schema: Finding::SCHEMA, run, answer, cells, findings };
    let mut text = serde_json::to_string_pretty(&document)?;
    // A trace of many roles has 100 MB of findings: there is one copy of them.
    if let Cow::Owned(changed) = visible_json(&text) {
        text = changed;
    }
    text.push('\n');
    Ok(text)
}

/// Sentences as the answer of a document of another schema: as [`json`] prints them.
pub fn answer(sentences: impl IntoIterator<Item = String>) -> Value {
    let said = |sentence: String| json!({ "sentence": sentence, "finding": null });
    sentences.into_iter().map(said).collect()
}

/// The findings as CSV in long form: the keys of all subjects as the first columns, then the
/// record's other columns. Quoted as RFC 4180 says; lines end in `\n` alone.
pub fn csv(findings: &[Finding]) -> String {
    let rows: Vec<Row> = findings.iter().map(Row::of).collect();
    let subjects: Vec<BTreeMap<String, String>> =
        rows.iter().map(|row| row.subject.entries().into_iter().collect()).collect();
    let keys: BTreeSet<&String> = subjects.iter().flat_map(BTreeMap::keys).collect();
    let columns: Vec<&str> = Finding::columns().iter().map(|c| c.name).skip(1).collect();
    let apart = |key: &String| match columns.contains(&key.as_str()) {
        true => format!("subject.{key}"),
        false => key.clone(),
    };
    let header = keys.iter().map(|key| apart(key)).chain(columns.iter().map(|&c| c.to_owned()));
    let mut text = line(header);
    for (row, subject) in rows.iter().zip(&subjects) {
        let subject = keys.iter().map(|key| subject.get(*key).cloned().unwrap_or_default());
        text.push_str(&line(subject.chain(row.cells())));
    }
    text
}

/// A line of CSV.
pub(crate) fn line(cells: impl Iterator<Item = String>) -> String {
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
    use model::doubt::Code;
    use model::record::subject::Published;

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
        let place = BTreeMap::from([("unit".to_owned(), "y".to_owned())]);
        let subject = Subject::Published(Published { paper: "1983".into(), place });
        let names: Vec<&str> = Finding::columns().iter().map(|c| c.name).collect();
        assert_eq!(names[0], "subject");
        let finding = Finding { subject, ..Finding::default() };
        let header = csv(&[finding]).lines().next().unwrap().to_owned();
        assert_eq!(header, format!("paper,subject.unit,{}", names[1..].join(",")));
        assert_eq!(Row::of(&Finding::default()).cells().len(), names.len() - 1);
    }

    #[test]
    fn what_is_not_finite_is_null_and_doubts_are_codes_with_values() {
        let doubts = vec![Doubt::new(Code::StolenTime, [("percent", 7.5.into())])];
        let (value, low) = (Some(f64::NAN), Some(f64::INFINITY));
        let finding = Finding { value, low, doubts, ..Finding::default() };
        let text = json(&Value::Null, &[], std::slice::from_ref(&finding)).unwrap();
        let back: Value = serde_json::from_str(&text).unwrap();
        let row = &back["findings"][0];
        assert_eq!((&row["value"], &row["low"]), (&Value::Null, &Value::Null));
        assert_eq!(row["subject"]["run"], "this");
        assert_eq!(row["doubts"][0]["code"], "stolen_time");
        assert_eq!(row["doubts"][0]["values"]["percent"], 7.5);
        let text = csv(&[finding]);
        let sentence = "the hypervisor took 8 % of the CPU time";
        assert_eq!(text.lines().nth(1).unwrap(), format!("this,,,,,,,0,,ok,{sentence}"));
    }
}
