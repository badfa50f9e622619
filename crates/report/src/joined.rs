//! Where an operation's time went, as a table for each experiment: its time, the six parts of it
//! that are known, and what they leave; and of what waiting for a journal consists, where any
//! operation did.
//!
//! Non-goals: splitting (the findings hold the parts), printing.

use crate::chart::{Axis, Chart, Entry as Number, Kind, Scale};
use crate::experiments::{Experiment, Named, TimeTable, label};
use crate::footnote::{Footnotes, Note};
use crate::grid::Entry;
use crate::listing::Listing;
use crate::number::significant;
use crate::rows::{Column, Row, plain, rows};
use crate::sheet::{Sheet, lines};
use crate::words::first_seen;
use model::record::{Finding, Subject};
use model::units::show_time_ns;

const COLUMNS: &[Column] = &[
    ("", TIME_HEAD, TIME, show_signed_ns),
    ("", "program", "operation_program_ns", show_signed_ns),
    ("", "kernel", "operation_kernel_ns", show_signed_ns),
    ("", "admission", "operation_admission_ns", show_signed_ns),
    ("", "scheduler", "operation_scheduler_ns", show_signed_ns),
    ("", "device", "operation_device_ns", show_signed_ns),
    ("", JOURNAL_HEAD, JOURNAL, show_signed_ns),
    ("", REMAINDER_HEAD, REMAINDER, show_signed_ns),
    ("", "requests", "operation_requests_ratio", significant),
];
/// What a job in fsync or fdatasync waits for.
const JOURNAL_COLUMNS: &[Column] = &[
    ("", JOURNAL_HEAD, JOURNAL, show_signed_ns),
    ("", "queue", "operation_journal_queue_ns", show_signed_ns),
    ("", "data", "operation_journal_data_ns", show_signed_ns),
    ("", "log", "operation_journal_log_ns", show_signed_ns),
    ("", "preflush", "operation_journal_preflush_ns", show_signed_ns),
    ("", "commit", "operation_journal_commit_ns", show_signed_ns),
    ("", "postflush", "operation_journal_postflush_ns", show_signed_ns),
];
const TIME_HEAD: &str = "time";
const TIME: &str = "operation_time_ns";
const REMAINDER_HEAD: &str = "remainder";
const REMAINDER: &str = "operation_remainder_ns";
const JOURNAL_HEAD: &str = "journal";
const JOURNAL: &str = "operation_journal_ns";

struct Part {
    heading: &'static str,
    columns: &'static [Column],
    legend: &'static [(&'static str, &'static str)],
}

const TIMES: Part = Part { heading: "", columns: COLUMNS, legend: &LEGEND };
const JOURNALS: Part = Part {
    heading: ": waiting for the journal",
    columns: JOURNAL_COLUMNS,
    legend: &JOURNAL_LEGEND,
};

const JOURNAL_LEGEND: [(&str, &str); 3] = [
    (
        "queue",
        "the journal's requests had not reached the device, or a flush sequence was between its \
         parts",
    ),
    ("data, log", "file data before the commit; metadata to the log"),
    (
        "preflush, commit, postflush",
        "the device's cache flushed, the commit block, and flushed again",
    ),
];

const LEGEND: [(&str, &str); 6] = [
    (TIME_HEAD, "from submission to completion, and the share of syncs"),
    ("program, kernel", "CPU time of the job's thread, the harness included"),
    (
        "admission, scheduler, device",
        "waiting for requests of its own: until allocated, until issued, until completed",
    ),
    (JOURNAL_HEAD, "in syncs, for the file system's journal alone: jbd2's requests, xfs's log"),
    (REMAINDER_HEAD, "time less all these: wake-ups, waiting for a CPU, other threads' work"),
    ("requests", "at the device, that an operation waited for"),
];

/// What a remainder below 0 means.
const OVERLAPS: &str = "the parts overlap: the CPU worked while requests were under way";

/// What is less than nothing keeps its sign.
fn show_signed_ns(ns: f64) -> String {
    if ns < 0.0 { format!("-{}", show_time_ns(-ns)) } else { show_time_ns(ns) }
}

/// The tables for a terminal of `width` columns.
pub(crate) fn table(
    findings: &[Finding],
    experiments: &[Experiment],
    width: Option<u16>,
) -> String {
    let texts: Vec<String> =
        sheets(findings, experiments).iter().map(|sheet| sheet.text(width)).collect();
    texts.join("\n")
}

/// The same as Markdown.
pub(crate) fn markdown(findings: &[Finding], experiments: &[Experiment]) -> String {
    let texts: Vec<String> = sheets(findings, experiments).iter().map(Sheet::markdown).collect();
    texts.join("\n")
}

pub(crate) fn sheets(findings: &[Finding], experiments: &[Experiment]) -> Vec<Sheet> {
    let of_experiment = |experiment| {
        let rows = rows_of(experiment, findings);
        let waiting = rows.iter().filter(|row| waits(row)).cloned().collect();
        let journals = sheet(experiment, &JOURNALS, waiting);
        sheet(experiment, &TIMES, rows).into_iter().chain(journals)
    };
    experiments.iter().flat_map(of_experiment).collect()
}

/// The figures of each of an experiment's cells whose time is known, or was to be.
fn rows_of(experiment: &Experiment, findings: &[Finding]) -> Vec<Row<Subject>> {
    let is_shown = |finding: &Finding| {
        let mut columns = COLUMNS.iter().chain(JOURNAL_COLUMNS);
        columns.any(|column| column.2 == finding.quantity) && (experiment.is_cell)(&finding.subject)
    };
    let mut rows = rows(findings, |finding| {
        is_shown(finding).then(|| (finding.subject.clone(), finding.quantity.clone()))
    });
    rows.retain(|row| row.figure(TIME).is_some());
    rows
}

/// Whether it waited for a journal.
fn waits(row: &Row<Subject>) -> bool {
    row.value(JOURNAL).is_some_and(|ns| ns > 0.0)
}

/// The parts of operations' time, stacked, an operation a bar.
pub(crate) fn charts(runs: &[Named<'_>], experiments: &[Experiment]) -> Vec<Chart> {
    let stacks: [(&str, &str, &[Column]); 2] = [
        ("parts", "The parts of an operation's time", &COLUMNS[1..8]),
        ("journal", "Waiting for the journal", &JOURNAL_COLUMNS[1..]),
    ];
    stacks.iter().filter_map(|stack| stacked(runs, experiments, stack)).collect()
}

fn stacked(
    runs: &[Named<'_>],
    experiments: &[Experiment],
    (id, title, columns): &(&str, &str, &[Column]),
) -> Option<Chart> {
    let mut found: Vec<Number> = Vec::new();
    for named in runs {
        for experiment in experiments {
            let Some(table) = &experiment.time else { continue };
            let rows = rows_of(experiment, named.run.findings);
            let labels = labelled(table, &rows).grid().cells().rows;
            for (words, row) in labels.iter().zip(&rows) {
                let category = named.within(&words.join(" "));
                let parts = columns.iter().filter_map(|(_, head, quantity, _)| {
                    Some((category.clone(), (*head).to_owned(), row.figure(quantity)?.clone()))
                });
                found.extend(parts);
            }
        }
    }
    let overlaps = found.iter().any(|(_, head, figure)| {
        *head == REMAINDER_HEAD && figure.value.is_some_and(|ns| ns < 0.0)
    });
    found.retain(|(.., figure)| figure.value.is_some_and(|ns| ns > 0.0));
    let axis = Axis::new("time of an operation", "ns", Scale::Linear);
    let chart = Chart::rows(id, title, Kind::Stack, axis, &found)?;
    let note = overlaps.then(|| format!("Where a bar is longer than its time, {OVERLAPS}."));
    Some(chart.by("Mean times, by joining passes with the requests traced meanwhile.").noted(note))
}

/// What is to be said of a figure; what holds for the whole row stands behind its time alone.
fn doubts(row: &Row<Subject>, quantity: &str) -> Vec<Note> {
    let of_time = if quantity == TIME { Vec::new() } else { row.notes(TIME) };
    let is_below = row.value(quantity).is_some_and(|value| value < 0.0);
    let overlaps = (quantity == REMAINDER && is_below).then(|| Note::said(OVERLAPS));
    let doubts = row.notes(quantity).into_iter().chain(overlaps);
    doubts.filter(|doubt| !of_time.contains(doubt)).collect()
}

/// A table of the experiment's cells.
fn sheet(experiment: &Experiment, part: &Part, rows: Vec<Row<Subject>>) -> Option<Sheet> {
    let time = experiment.time.as_ref().filter(|_| !rows.is_empty())?;
    // Where nobody waited for a journal there is no column of it.
    let has_journal = rows.iter().any(waits);
    let columns = part.columns.iter().filter(|column| has_journal || column.2 != JOURNAL);
    let columns: Vec<Column> = columns.copied().collect();
    let all = rows.iter().flat_map(|row| columns.iter().flat_map(|of| doubts(row, of.2)));
    let notes = Footnotes::of(all);
    let entry = |row: &Row<Subject>, column: &Column| Entry {
        text: plain(row, column),
        mark: notes.mark(doubts(row, column.2)),
    };
    let grid = labelled(time, &rows).columns(&columns, entry).grid();
    let legend = part.legend.iter().filter(|(name, _)| has_journal || *name != JOURNAL_HEAD);
    let legend = lines(legend);
    Some(Sheet { legend, ..Sheet::of(format!("{}{}", time.title, part.heading), grid, notes) })
}

/// The rows with the labels that tell them apart; the first always.
fn labelled<'r>(table: &TimeTable, rows: &'r [Row<Subject>]) -> Listing<'r, Row<Subject>> {
    let listing = table.labels.iter().fold(Listing::of(rows), |listing, (head, key)| {
        listing.label(head, |row| label(&row.key, key))
    });
    let first = table.labels.first().map(|(head, _)| *head);
    listing.labelled_by(|head, texts| Some(head) == first || first_seen(texts).len() > 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::Run;
    use crate::throughput::EXPERIMENT;
    use model::record::Doubt;
    use model::record::subject::{NO_REMEDY, Storm, StormStream};

    fn found(quantity: &str, value: Option<f64>, reason: Option<&str>) -> Finding {
        let subject = Subject::cell("ext4:4k", "randread_4k_direct", 1);
        let doubts = reason.map(Doubt::refused).into_iter().collect();
        Finding { doubts, ..Finding::new(&subject, quantity, value, 1, "") }
    }

    #[test]
    fn every_quantity_shown_is_in_the_models_table() {
        for (_, _, name, _) in COLUMNS.iter().chain(JOURNAL_COLUMNS) {
            assert!(model::record::quantity(name).is_some(), "{name} is no quantity");
        }
    }

    #[test]
    fn a_remainder_below_nothing_says_that_parts_overlap() {
        let mut findings: Vec<Finding> = COLUMNS
            .iter()
            .map(|(_, _, quantity, _)| found(quantity, Some(123_456.0), None))
            .collect();
        findings[7].value = Some(-1500.0);
        findings[6].value = Some(0.0);
        let text = table(&findings, &[EXPERIMENT], Some(100));
        assert!(text.contains("-1.50 µs*") && text.contains("parts overlap"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        // One table: nothing wraps, and what all rows share is no column.
        assert_eq!(text.matches("randread_4k_direct").count(), 1, "{text}");
        assert!(!text.contains("ext4") && !text.contains("journal"), "{text}");
        assert!(markdown(&findings, &[EXPERIMENT]).contains("| randread\\_4k\\_direct |"));
    }

    /// Their findings are in runs of earlier versions, too: times of 0 with less than nothing left.
    #[test]
    fn a_storms_time_is_not_split() {
        let subject = Subject::Storm(Storm {
            remedy: NO_REMEDY.into(),
            stream: StormStream::Read,
            target: None,
        });
        let of = |quantity, value| Finding::new(&subject, quantity, Some(value), 1, "");
        let findings = [of(TIME, 0.0), of("operation_program_ns", 53_700.0)];
        let run = || Named { name: "", run: Run { findings: &findings, rows: &[] } };
        assert_eq!(table(&findings, &crate::EXPERIMENTS, None), "");
        assert_eq!(charts(&[run()], &crate::EXPERIMENTS), []);
    }

    #[test]
    fn a_chart_whose_parts_overlap_says_so() {
        let of = |remainder| {
            let findings: Vec<Finding> = COLUMNS
                .iter()
                .map(|(_, head, quantity, _)| {
                    let value = if *head == REMAINDER_HEAD { remainder } else { 1e5 };
                    found(quantity, Some(value), None)
                })
                .collect();
            let run = Named { name: "", run: Run { findings: &findings, rows: &[] } };
            charts(&[run], &[EXPERIMENT]).remove(0)
        };
        assert!(of(-1.0).notes[0].contains("parts overlap"), "{:?}", of(-1.0).notes);
        assert!(of(1.0).notes.is_empty());
    }

    /// Only rows that waited for it have a row of the journal's parts.
    #[test]
    fn what_waiting_for_the_journal_consists_of_is_a_table_of_its_own() {
        let columns = COLUMNS.iter().chain(JOURNAL_COLUMNS);
        let mut findings: Vec<Finding> =
            columns.map(|(_, _, quantity, _)| found(quantity, Some(123_456.0), None)).collect();
        let mut read = found(TIME, Some(5.0), None);
        read.subject = Subject::cell("ext4:4k", "seqread_4k_direct", 1);
        findings.push(read);
        let text = table(&findings, &[EXPERIMENT], Some(100));
        let (first, second) = text.split_once("waiting for the journal").unwrap();
        assert!(first.contains("seqread") && !second.contains("seqread"), "{text}");
        assert!(second.contains("postflush") && second.contains("123 µs"), "{text}");
    }

    #[test]
    fn what_was_not_captured_is_not_measured_and_says_why() {
        let findings = [
            found(TIME, Some(1000.0), None),
            found("operation_device_ns", None, Some("there is no block device")),
        ];
        let text = table(&findings, &[EXPERIMENT], None);
        assert!(text.contains("n.m.*") && text.contains("no block device"), "{text}");
        assert!(table(&[], &[EXPERIMENT], None).is_empty());
    }
}
