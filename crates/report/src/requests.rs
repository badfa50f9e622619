//! What a trace holds, as a table: each device's requests by operation, the parts of their response time, and
//! a line of what is missing from them or doubtful.
//!
//! Non-goals: counting (the findings hold the numbers), printing.

use crate::columns::{Column, figures};
use crate::footnote::Footnotes;
use crate::grid::{Grid, Labels};
use crate::number::significant;
use crate::sheet::Sheet;
use crate::words::hang;
use model::record::Finding;
use model::units::show_time_ns;
use std::collections::HashMap;

/// The columns.
const COLUMNS: &[Column] = &[
    ("", "requests", "asked_count", show_count),
    ("", "1/s", "asked_per_s", significant),
    ("", "bytes", "asked_bytes", show_bytes),
    ("response", "mean", "response_mean_ns", show_time_ns),
    ("response", "p50", "response_p50_ns", show_time_ns),
    ("response", "p99", "response_p99_ns", show_time_ns),
    ("response", "max", "response_max_ns", show_time_ns),
    ("mean time in", "admission", "admission_mean_ns", show_time_ns),
    ("mean time in", "scheduler", "scheduler_mean_ns", show_time_ns),
    ("mean time in", "device", "device_mean_ns", show_time_ns),
    ("", "failed", "failed_count", show_count),
];

/// What is said of a whole trace: always, or only if it is not 0.
const COUNTS: &[(&str, &str, bool)] = &[
    ("requests_count", "requests", true),
    ("events_count", "events", true),
    ("lost_count", "events lost", true),
    ("unwritten_count", "requests for which there was no room on the disk", false),
    ("rejected_count", "lines or records not understood", false),
    ("orphaned_count", "answers never seen to be asked for", false),
    ("unanswered_count", "never answered", false),
    ("ambiguous_count", "paired ambiguously", false),
    ("reused_count", "identities reused before an answer", false),
    ("requeued_count", "requeued", false),
    ("partially_completed_count", "answered in part", false),
    ("merged_count", "merged", false),
    ("queue_time_missed_count", "without their time of queueing", false),
    ("out_of_order_count", "events out of order", false),
    ("unsorted_count", "rows out of order", false),
    ("own_count", "of lbolt's own, left out", false),
];

/// The kernel's own count, which stands beside the trace's.
const WITNESS: &str = "kernel_answered_count";

/// What the tracer cost, where it was measured: before the number, quantity, behind it.
const COSTS: &[(&str, &str, &str)] = &[
    ("the BPF programs took ", "tracer_ns_per_event", " ns an event"),
    ("", "tracer_percent", " % of a CPU"),
    ("lbolt itself ", "consumer_ns_per_request", " ns a request"),
    ("requests a second less with the tracer: ", "tracer_slowdown_percent", " %"),
];

pub(crate) fn show_count(value: f64) -> String {
    format!("{value:.0}")
}

/// Bytes to three digits, in powers of two.
fn show_bytes(value: f64) -> String {
    let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let unit = units.iter().find(|(_, shift)| value >= (1u64 << shift) as f64);
    match unit {
        Some((name, shift)) => format!("{} {name}", significant(value / (1u64 << shift) as f64)),
        None => format!("{value:.0} B"),
    }
}

/// The report for a terminal of `width` columns.
pub fn table(findings: &[Finding], width: Option<u16>) -> String {
    let sheet = sheet(findings).map(|sheet| sheet.text(width));
    let said = said(findings).into_iter().map(|line| hang("", &line, width));
    sheet.into_iter().chain(said).collect::<Vec<_>>().join("\n")
}

/// The same as Markdown.
pub fn markdown(findings: &[Finding]) -> String {
    let sheet = sheet(findings).map(|sheet| sheet.markdown());
    let said = said(findings).into_iter().map(|line| format!("{line}\n"));
    sheet.into_iter().chain(said).collect::<Vec<_>>().join("\n")
}

/// A device and what its requests do.
type Traffic = (String, String);

/// Of which device and operation a finding is; none if it is of neither.
fn traffic(finding: &Finding) -> Option<Traffic> {
    let has_both = finding.subject.contains("\"device\"") && finding.subject.contains("\"op\"");
    has_both.then(|| Some((finding.subject_value("device")?, finding.subject_value("op")?)))?
}

fn sheet(findings: &[Finding]) -> Option<Sheet> {
    let mut rows: Vec<Traffic> = Vec::new();
    let mut values: HashMap<(Traffic, &str), f64> = HashMap::new();
    for finding in findings {
        let Some(row) = traffic(finding) else { continue };
        if rows.last() != Some(&row) {
            rows.push(row.clone());
        }
        if let Some(value) = finding.value {
            values.insert((row, &finding.quantity), value);
        }
    }
    if rows.is_empty() {
        return None;
    }
    let labels = vec![
        Labels { head: "device", texts: rows.iter().map(|(device, _)| device.clone()).collect() },
        Labels { head: "op", texts: rows.iter().map(|(_, op)| op.clone()).collect() },
    ];
    let value = |row: &Traffic, quantity| values.get(&(row.clone(), quantity)).copied();
    let grid = Grid::new(labels, figures(COLUMNS, &rows, value));
    let mut sheet =
        Sheet::of("Requests by device and operation".into(), grid, Footnotes::default());
    sheet.legend = vec![
        ("admission", "until a request was allocated for it".into()),
        ("scheduler", "from there until the driver got it".into()),
        ("device", "in the driver and the device; of a flush sequence its parts".into()),
    ];
    Some(sheet)
}

/// Lines on the whole trace: what is in it, and what it cost to take.
pub(crate) fn said(findings: &[Finding]) -> Vec<String> {
    let value = |quantity: &str| findings.iter().find(|f| f.quantity == quantity)?.value;
    let counts = COUNTS.iter().filter_map(|(quantity, words, always)| {
        let count = value(quantity).filter(|count| *always || *count > 0.0)?;
        Some(format!("{count:.0} {words}"))
    });
    let costs = COSTS.iter().filter_map(|(before, quantity, behind)| {
        Some(format!("{before}{}{behind}", significant(value(quantity)?)))
    });
    let line = |head: &str, parts: Vec<String>| {
        (!parts.is_empty()).then(|| format!("{head}: {}", parts.join(", ")))
    };
    let doubts = findings.iter().filter_map(|f| f.reason.clone().filter(|_| f.quantity == WITNESS));
    let witnesses = findings.iter().filter(|f| f.quantity == WITNESS).filter_map(|f| {
        Some(format!("{} {:.0} ({} in the trace)", f.subject_value("device")?, f.value?, f.count))
    });
    let is_unknown = |quantity: &str| {
        let counted = findings.iter().find(|finding| finding.quantity == quantity);
        counted.is_some_and(|finding| finding.value.is_none())
    };
    let unknown = COUNTS.iter().filter(|(quantity, ..)| is_unknown(quantity));
    let unknown = unknown.map(|(_, words, _)| (*words).to_owned());
    [
        line("In the trace", counts.collect()),
        line("Unknown, for the file's footer does not tell", unknown.collect()),
        line("Answered by the kernel's own count", witnesses.collect()),
        line("Suspect", doubts.collect()),
        line("Tracer", costs.collect()),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sheet::NOT_MEASURED;

    #[test]
    fn every_quantity_shown_is_in_the_models_table() {
        let shown = COLUMNS.iter().map(|(_, _, quantity, _)| quantity);
        let counted = COUNTS.iter().map(|(quantity, ..)| quantity);
        for name in shown.chain(counted).chain(COSTS.iter().map(|(_, quantity, _)| quantity)) {
            assert!(model::record::quantity(name).is_some(), "{name} is no quantity");
        }
    }

    #[test]
    fn a_loss_is_always_told_and_what_was_not_measured_has_no_number() {
        let found = |subject: &str, quantity: &str, value| Finding {
            subject: subject.into(),
            quantity: quantity.into(),
            value,
            ..Finding::default()
        };
        let traffic = r#"{"device":"sda","op":"read"}"#;
        let findings = [
            found(r#"{"run":"this"}"#, "lost_count", Some(0.0)),
            found(r#"{"run":"this"}"#, "orphaned_count", Some(0.0)),
            found(traffic, "asked_count", Some(3.0)),
            found(traffic, "response_p99_ns", Some(1.5e6)),
            found(traffic, "device_mean_ns", None),
        ];
        let text = table(&findings, None);
        assert!(text.contains("0 events lost") && !text.contains("never seen"), "{text}");
        assert!(text.contains("1.50 ms") && text.contains(NOT_MEASURED), "{text}");
        assert!(markdown(&findings).contains("| sda"), "{}", markdown(&findings));
        let untold = [found(r#"{"run":"this"}"#, "lost_count", None)];
        let text = table(&untold, None);
        assert!(text.contains("Unknown") && text.contains(": events lost"), "{text}");
        assert!(!text.contains('0'), "{text}");
    }
}
