//! A simulation's findings as a table: each device's requests by operation, the trace's times
//! beside the model's, in as many variants as there are.
//!
//! Non-goals: computing (the findings hold the numbers), printing.

mod chart;
mod screen;

use crate::listing::{FigureColumn, Listing};
use crate::number::significant;
use crate::sheet::NOT_MEASURED;
pub(crate) use chart::all as charts;
use model::record::Finding;
use model::units::show_time_ns;
pub use screen::screen;
use std::collections::HashMap;

/// The variants of a model, each with what sets it apart and its findings.
pub type Variants<'a> = [(&'a str, &'a [Finding])];

/// A column: its group, its heading, the quantity, how it is shown.
type Shown = (&'static str, &'static str, &'static str, fn(f64) -> String);

fn count(value: f64) -> String {
    format!("{value:.0}")
}

/// Of requests of one operation.
const COLUMNS: &[Shown] = &[
    ("", "requests", "simulated_count", count),
    ("measured response", "mean", "measured_mean_ns", show_time_ns),
    ("measured response", "p50", "measured_p50_ns", show_time_ns),
    ("measured response", "p99", "measured_p99_ns", show_time_ns),
    ("measured response", "max", "measured_max_ns", show_time_ns),
    ("simulated response", "mean", "simulated_mean_ns", show_time_ns),
    ("simulated response", "p50", "simulated_p50_ns", show_time_ns),
    ("simulated response", "p99", "simulated_p99_ns", show_time_ns),
    ("simulated response", "max", "simulated_max_ns", show_time_ns),
    ("demerit", "", "demerit_ns", show_time_ns),
    ("demerit", "%", "demerit_percent", significant),
    ("demerit of service", "", "service_demerit_ns", show_time_ns),
    ("demerit of service", "%", "service_demerit_percent", significant),
    ("", "busy %", "simulated_busy_percent", significant),
];

/// Columns that say nothing new where nobody waits in a queue: a time is then the service time.
const OF_SERVICE: &str = "demerit of service";

/// A row: the variant, the device, the operation.
type Row = (String, String, String);

/// The table of variants.
pub fn listing(variants: &Variants<'_>) -> Listing {
    let mut rows: Vec<Row> = Vec::new();
    let mut values: HashMap<(Row, &str), &Finding> = HashMap::new();
    for (label, findings) in variants {
        for finding in *findings {
            let of = |key: &str| finding.subject.get(key).unwrap_or_default();
            let op = finding.subject.get("op").unwrap_or_else(|| "all".into());
            let row = ((*label).to_owned(), of("device"), op);
            if !rows.contains(&row) {
                rows.push(row.clone());
            }
            values.insert((row, finding.quantity.as_str()), finding);
        }
    }
    let value = |row: &Row, quantity: &'static str| {
        values.get(&(row.clone(), quantity)).and_then(|finding| finding.value)
    };
    let is_known = |column: &&Shown| rows.iter().any(|row| value(row, column.2).is_some());
    let waits = rows.iter().any(|row| {
        let pair = (value(row, "demerit_ns"), value(row, "service_demerit_ns"));
        matches!(pair, (Some(response), Some(service)) if (response - service).abs() > 1.0)
    });
    let is_wanted = |column: &&Shown| is_known(column) && (waits || column.0 != OF_SERVICE);
    let figures = COLUMNS.iter().filter(is_wanted).map(|(group, head, quantity, show)| {
        let is_time_of_op = *quantity != "simulated_busy_percent";
        let text = |row: &Row| match value(row, quantity) {
            Some(value) => show(value),
            None if is_time_of_op => NOT_MEASURED.to_owned(),
            None => String::new(),
        };
        FigureColumn {
            group: (*group).to_owned(),
            head: (*head).to_owned(),
            texts: rows.iter().map(text).collect(),
        }
    });
    let figures = figures.collect();
    let mut labels: Vec<(&'static str, Vec<String>)> = vec![
        ("device", rows.iter().map(|row| row.1.clone()).collect()),
        ("op", rows.iter().map(|row| row.2.clone()).collect()),
    ];
    if variants.len() > 1 {
        labels.insert(0, ("variant", rows.iter().map(|row| row.0.clone()).collect()));
    }
    Listing { title: title(variants), labels, figures, remarks: None, notes: notes(&values) }
}

fn title(variants: &Variants<'_>) -> String {
    let first = variants.first().and_then(|(_, findings)| findings.first());
    let model = first.and_then(|finding| finding.subject.get("model")).unwrap_or_default();
    match variants.len() {
        0 | 1 => format!("A trace on the model {model}"),
        several => format!("A trace on {several} variants of a model; the first: {model}"),
    }
}

/// How far the means can be trusted.
fn notes(values: &HashMap<(Row, &str), &Finding>) -> Vec<String> {
    let whole = values
        .iter()
        .filter(|((row, quantity), _)| *quantity == "simulated_mean_ns" && row.2 == "all");
    let mut notes: Vec<String> = whole
        .filter_map(|((row, _), finding)| {
            let (low, high) = finding.low.zip(finding.high)?;
            let head = if row.0.is_empty() { String::new() } else { format!("{}, ", row.0) };
            Some(format!(
                "{head}device {}: mean response from {} to {} over samples of the model's \
                 uncertain parameters",
                row.1,
                show_time_ns(low),
                show_time_ns(high)
            ))
        })
        .collect();
    notes.sort();
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::record::subject::{ModelOp, Subject};

    fn finding(op: &str, quantity: &str, value: f64) -> Finding {
        let (device, model, op) = ("0".into(), "m".into(), op.into());
        let subject = Subject::ModelOp(ModelOp { device, model, op });
        Finding { subject, quantity: quantity.into(), value: Some(value), ..Finding::default() }
    }

    #[test]
    fn what_the_trace_does_not_tell_has_no_column() {
        let all =
            [finding("all", "simulated_count", 5.0), finding("all", "simulated_mean_ns", 5e6)];
        let text = listing(&[("", &all)]).text(None);
        assert!(text.contains("5.00 ms") && !text.contains("measured"), "{text}");
        let more =
            [finding("all", "measured_mean_ns", 4e6), finding("read", "simulated_count", 3.0)];
        let both = [all.to_vec(), more.to_vec()].concat();
        let text = listing(&[("a=1", &both), ("a=2", &all)]).text(None);
        assert!(
            text.contains("measured") && text.contains("a=2") && text.contains("n.m."),
            "{text}"
        );
    }
}
