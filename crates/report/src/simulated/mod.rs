//! A simulation's findings as a table: each device's requests by operation, the trace's times
//! beside the model's, in as many variants as there are.
//!
//! Non-goals: computing (the findings hold the numbers), printing.

mod chart;
mod screen;

use crate::listing::Listing;
use crate::number::significant;
use crate::rows::{Column, Row, plain, rows};
use crate::sheet::Sheet;
pub(crate) use chart::all as charts;
use model::record::Finding;
use model::units::show_time_ns;
pub use screen::{answer, screen};

/// The variants of a model, each with what sets it apart and its findings.
pub type Variants<'a> = [(&'a str, &'a [Finding])];

fn count(value: f64) -> String {
    format!("{value:.0}")
}

const BUSY: &str = "simulated_busy_percent";

/// Of requests of one operation.
const COLUMNS: &[Column] = &[
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
    ("", "busy %", BUSY, significant),
];

/// Columns that say nothing new where nobody waits in a queue: a time is then the service time.
const OF_SERVICE: &str = "demerit of service";

/// What a row is of: the variant, the device, the operation.
type Of = (String, String, String);

fn all_rows(variants: &Variants<'_>) -> Vec<Row<Of>> {
    let of_variant = |(label, findings): &(&str, &[Finding])| {
        rows(findings, |finding| {
            let of = |key: &str| finding.subject.get(key);
            let op = of("op").unwrap_or_else(|| "all".into());
            let row = ((*label).to_owned(), of("device").unwrap_or_default(), op);
            Some((row, finding.quantity.clone()))
        })
    };
    variants.iter().flat_map(of_variant).collect()
}

/// The table of variants.
pub fn sheet(variants: &Variants<'_>) -> Sheet {
    let rows = all_rows(variants);
    let notes = notes(&rows);
    table(&rows, |_| true, title(variants)).with_notes(notes)
}

/// A table of some rows; `has_label` is of a label that some tables are without.
fn table(rows: &[Row<Of>], has_label: impl Fn(&str) -> bool, title: String) -> Sheet {
    let is_known = |column: &&Column| rows.iter().any(|row| row.value(column.2).is_some());
    let waits = rows.iter().any(|row| {
        let pair = (row.value("demerit_ns"), row.value("service_demerit_ns"));
        matches!(pair, (Some(response), Some(service)) if (response - service).abs() > 1.0)
    });
    let is_wanted = |column: &&Column| is_known(column) && (waits || column.0 != OF_SERVICE);
    let text = |row: &Row<Of>, column: &Column| match column.2 {
        // Of a device, and not of its operations.
        BUSY => row.value(BUSY).map_or_else(String::new, column.3),
        _ => plain(row, column),
    };
    let has_variants = rows.iter().any(|row| !row.key.0.is_empty());
    Listing::of(rows)
        .label("variant", |row| row.key.0.clone())
        .label("device", |row| row.key.1.clone())
        .label("op", |row| row.key.2.clone())
        .labelled_by(|head, _| has_label(head) && (has_variants || head != "variant"))
        .columns(COLUMNS.iter().filter(is_wanted), text)
        .sheet(title)
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
fn notes(rows: &[Row<Of>]) -> Vec<String> {
    let note = |row: &Row<Of>| {
        let (variant, device, _) = &row.key;
        let mean = row.figure("simulated_mean_ns")?;
        let (low, high) = mean.low.zip(mean.high)?;
        let head = if variant.is_empty() { String::new() } else { format!("{variant}, ") };
        Some(format!(
            "{head}device {device}: mean response {} to {} over samples of the model's uncertain \
             parameters",
            show_time_ns(low),
            show_time_ns(high)
        ))
    };
    let mut notes: Vec<String> =
        rows.iter().filter(|row| row.key.2 == "all").filter_map(note).collect();
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
        let text = sheet(&[("", &all)]).text(None);
        assert!(text.contains("5.00 ms") && !text.contains("measured"), "{text}");
        let more =
            [finding("all", "measured_mean_ns", 4e6), finding("read", "simulated_count", 3.0)];
        let both = [all.to_vec(), more.to_vec()].concat();
        let text = sheet(&[("a=1", &both), ("a=2", &all)]).text(None);
        assert!(
            text.contains("measured") && text.contains("a=2") && text.contains("n.m."),
            "{text}"
        );
    }
}
