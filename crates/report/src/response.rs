//! The response-time analysis as tables: one for each thing that requests are classed by, whose rows are box plots in
//! figures with the parts of the response time beside them, as the 1986 paper's figures show them.
//!
//! Non-goals: computing a figure.

use crate::columns::{Column, figures};
use crate::footnote::Footnotes;
use crate::grid::{Grid, Labels};
use crate::requests::{said, show_count};
use crate::sheet::{Section, Sheet};
use crate::words::hang;
use model::record::Finding;
use model::units::show_time_ns;
use std::collections::HashMap;
use std::fmt::Write as _;

/// The columns.
const COLUMNS: &[Column] = &[
    ("", "requests", "asked_count", show_count),
    ("response", "mean", "response_mean_ns", show_time_ns),
    ("response", "q1", "response_p25_ns", show_time_ns),
    ("response", "median", "response_p50_ns", show_time_ns),
    ("response", "q3", "response_p75_ns", show_time_ns),
    ("response", "whisker", "response_whisker_high_ns", show_time_ns),
    ("response", "beyond", "response_outliers_count", show_count),
    ("response", "p90", "response_p90_ns", show_time_ns),
    ("response", "p99", "response_p99_ns", show_time_ns),
    ("response", "p99.9", "response_p999_ns", show_time_ns),
    ("response", "max", "response_max_ns", show_time_ns),
    ("mean time in", "queue", "wait_mean_ns", show_time_ns),
    ("mean time in", "device", "device_mean_ns", show_time_ns),
];

/// What each kind of class is called in a heading.
const HEADINGS: &[(&str, &str)] = &[
    ("whole", "all requests"),
    ("direction", "by direction"),
    ("device", "by device"),
    ("origin", "by origin"),
    ("size", "by transfer size"),
    ("region", "by block region"),
    ("start", "by start time"),
    ("writes outstanding", "reads by the writes that they found outstanding"),
    ("background writes outstanding", "reads by the background writes that they found outstanding"),
];

/// The report for a terminal of `width` columns.
pub fn table(findings: &[Finding], width: Option<u16>) -> String {
    let lines = lines(findings).into_iter().map(|line| hang("", &line, width));
    std::iter::once(sheet(findings).text(width)).chain(lines).collect::<Vec<_>>().join("\n")
}

/// The same as Markdown.
pub fn markdown(findings: &[Finding]) -> String {
    let lines = lines(findings).into_iter().map(|line| format!("{line}\n"));
    std::iter::once(sheet(findings).markdown()).chain(lines).collect::<Vec<_>>().join("\n")
}

/// The paper's counts: `7480 responses took 0 ticks.`, or two columns.
pub fn ticks(counts: impl Iterator<Item = (u64, u64)>, is_csv: bool) -> String {
    let mut text = String::from(if is_csv { "ticks,responses\n" } else { "" });
    for (ticks, responses) in counts {
        let _ = match is_csv {
            true => writeln!(text, "{ticks},{responses}"),
            false => writeln!(text, "{responses} responses took {ticks} ticks."),
        };
    }
    if text.is_empty() {
        text.push_str("The trace tells of no responses.\n");
    }
    text
}

/// Lines on the whole trace.
fn lines(findings: &[Finding]) -> Vec<String> {
    let value = |quantity: &str| findings.iter().find(|f| f.quantity == quantity)?.value;
    let depth = || {
        let (mean, at_arrival) = (value("depth_mean")?, value("depth_at_arrival_mean")?);
        let max = value("depth_max")?;
        Some(format!(
            "Outstanding: {mean:.2} on average, {at_arrival:.2} as the arrivals found them, {max:.0} at most"
        ))
    };
    said(findings).into_iter().chain(depth()).collect()
}

fn sheet(findings: &[Finding]) -> Sheet {
    let mut classes: Vec<(String, String)> = Vec::new();
    let mut values: HashMap<((String, String), &str), f64> = HashMap::new();
    for finding in findings {
        let key = finding.subject_value("by").zip(finding.subject_value("class"));
        let Some(key) = key else { continue };
        if classes.last() != Some(&key) {
            classes.push(key.clone());
        }
        if let Some(value) = finding.value {
            values.insert((key, &finding.quantity), value);
        }
    }
    let sections = HEADINGS.iter().filter_map(|(by, heading)| {
        let rows: Vec<_> = classes.iter().filter(|(kind, _)| kind == by).collect();
        (!rows.is_empty()).then(|| Section {
            heading: (*heading).to_owned(),
            grid: grid(&rows, |row, quantity| values.get(&((*row).clone(), quantity)).copied()),
        })
    });
    Sheet {
        title: "Response times".into(),
        sections: sections.collect(),
        legend: vec![
            (
                "response",
                "from queueing (else the start) to the answer, of what was asked for".into(),
            ),
            (
                "q1, q3",
                "quartiles; whisker: the last within 1.5 times their distance, beyond it: so many"
                    .into(),
            ),
            ("queue", "until the driver got it".into()),
            ("device", "in the driver and the device; of a flush sequence its parts".into()),
        ],
        notes: Footnotes::default(),
    }
}

fn grid(
    rows: &[&(String, String)],
    value: impl Fn(&(String, String), &'static str) -> Option<f64>,
) -> Grid {
    let labels = vec![Labels {
        head: "class",
        texts: rows.iter().map(|(_, class)| class.clone()).collect(),
    }];
    Grid::new(labels, figures(COLUMNS, rows, |row, quantity| value(row, quantity)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sheet::NOT_MEASURED;

    #[test]
    fn every_quantity_shown_is_in_the_models_table() {
        for (_, _, quantity, _) in COLUMNS {
            assert!(model::record::quantity(quantity).is_some(), "{quantity} is no quantity");
        }
    }

    #[test]
    fn ticks_are_told_in_the_papers_words() {
        let counts = || [(0, 7480), (1, 47_922)].into_iter();
        let paper = "7480 responses took 0 ticks.\n47922 responses took 1 ticks.\n";
        assert_eq!(ticks(counts(), false), paper);
        assert_eq!(ticks(counts(), true), "ticks,responses\n0,7480\n1,47922\n");
        assert_eq!(ticks(std::iter::empty(), false), "The trace tells of no responses.\n");
    }

    #[test]
    fn classes_of_a_kind_are_rows_of_a_table_and_what_is_not_told_has_no_number() {
        let found = |by: &str, class: &str, quantity: &str, value| Finding {
            subject: format!(r#"{{"by":"{by}","class":"{class}"}}"#),
            quantity: quantity.into(),
            value,
            ..Finding::default()
        };
        let findings = [
            found("direction", "read", "response_p99_ns", Some(1.5e6)),
            found("direction", "write", "response_p99_ns", None),
            found("size", "to 4k", "asked_count", Some(7.0)),
        ];
        let text = table(&findings, None);
        let place = |word: &str| text.find(word).unwrap_or_else(|| panic!("{word}: {text}"));
        assert!(
            place("by direction") < place("1.50 ms")
                && place("1.50 ms") < place("by transfer size")
        );
        assert!(text.contains(NOT_MEASURED) && markdown(&findings).contains("| to 4k"), "{text}");
    }
}
