//! What it costs to make a write durable, as a table: a row for each method, pattern, size and
//! number of writers; of each pattern, size and number the quickest first.
//!
//! Non-goals: computing a figure.

mod chart;

use crate::experiments::{Experiment, TimeTable};
use crate::figure::Figure;
use crate::footnote::{Footnotes, Note};
use crate::grid::{Entry, Figures, Grid, Labels};
use crate::number::significant;
use crate::ranking::{Contest, Entrant, upper};
use crate::sheet::{NOT_MEASURED, Sheet};
use model::record::Finding;
use model::record::subject::{Commit, Subject};
use model::units::{show_size, show_time_ns};
use std::collections::BTreeMap;

/// A heading, the quantity, and how it is printed.
type Column = (&'static str, &'static str, fn(f64) -> String);

const COLUMNS: [Column; 6] = [
    (RATE_HEAD, RATE, |value| format!("{value:.0}")),
    ("p50", "latency_p50_ns", show_time_ns),
    ("p99", "latency_p99_ns", show_time_ns),
    ("max", "latency_max_ns", show_time_ns),
    ("CPU", "cpu_operation_ns", show_time_ns),
    ("flushes", "flushes_ratio", significant),
];
const RATE_HEAD: &str = "commits/s";
pub(crate) const RATE: &str = "rate_operations_per_s";

/// The experiment's row.
pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "sync",
    title: "What it costs to make a write durable",
    sentences: |run| answer(run.findings),
    sheets: |run| vec![sheet(run.findings)],
    charts: chart::all,
    is_cell: |subject| matches!(subject, Subject::Commit(_)),
    table: |run, width| sheet(run.findings).text(width),
    screen: None,
    markdown: |run| sheet(run.findings).markdown(),
    time: Some(TimeTable {
        title: "Where a commit's time went",
        labels: &[
            ("method", "method"),
            ("path", "direct"),
            ("pattern", "pattern"),
            ("size", "block_bytes"),
            ("writers", "writers"),
        ],
    }),
};

/// A row: what it is of, and its figures by quantity.
pub(crate) type Row<'a> = (&'a Commit, BTreeMap<&'a str, Figure>);

pub(crate) fn rows(findings: &[Finding]) -> Vec<Row<'_>> {
    let mut rows: BTreeMap<&Commit, BTreeMap<&str, Figure>> = BTreeMap::new();
    for finding in findings {
        if let Subject::Commit(commit) = &finding.subject {
            rows.entry(commit).or_default().insert(&finding.quantity, Figure::of(finding));
        }
    }
    let mut rows: Vec<Row> = rows.into_iter().collect();
    let rate = |row: &Row| row.1.get(RATE).and_then(|figure| figure.value).unwrap_or(0.0);
    rows.sort_by(|a, b| {
        let group = |row: &Row| (row.0.pattern.clone(), row.0.block_bytes, row.0.writers);
        group(b).0.cmp(&group(a).0).then(group(a).cmp(&group(b))).then(rate(b).total_cmp(&rate(a)))
    });
    rows
}

fn method(commit: &Commit) -> String {
    format!("{}{}", commit.method, if commit.direct == 1 { ", O_DIRECT" } else { "" })
}

/// A row by all that it is of: `append, 4 KiB, 2 writers, fsync`.
fn named(commit: &Commit) -> String {
    let Commit { pattern, block_bytes, writers, .. } = commit;
    let several = if *writers == 1 { "" } else { "s" };
    let size = show_size(*block_bytes);
    format!("{pattern}, {size}, {writers} writer{several}, {}", method(commit))
}

/// Of each pattern with one writer and the smallest writes: the quickest method, and how much
/// longer the slowest takes.
fn answer(findings: &[Finding]) -> Vec<String> {
    let rows = rows(findings);
    let patterns = crate::words::first_seen(rows.iter().map(|row| &row.0.pattern));
    let of = |pattern: &String| {
        let own = || rows.iter().filter(|row| row.0.pattern == *pattern);
        let writers = own().map(|row| row.0.writers).min()?;
        let size = own().map(|row| row.0.block_bytes).min()?;
        let is_plain = |row: &&Row<'_>| (row.0.writers, row.0.block_bytes) == (writers, size);
        let entrants =
            own().filter(is_plain).filter_map(|row| Entrant::of(&method(row.0), row.1.get(RATE)?));
        let show = |rate: f64| format!("{} a second", significant(rate));
        let contest = Contest { noun: "rate of commits", is_greatest_first: true, show: &show };
        let told = contest.sentence(entrants.collect())?;
        Some(format!("{}, {}: {told}", upper(pattern), show_size(size)))
    };
    patterns.iter().filter_map(of).collect()
}

/// What is doubted of a row.
fn reasons((_, figures): &Row) -> Vec<Note> {
    figures.get(RATE).into_iter().flat_map(Figure::notes).collect()
}

fn sheet(findings: &[Finding]) -> Sheet {
    let rows = rows(findings);
    let notes = Footnotes::of_cells(
        "rows",
        rows.iter().map(|row| (String::new(), named(row.0), reasons(row))),
    );
    let column = |(head, quantity, show): &Column| Figures {
        group: String::new(),
        head: (*head).to_owned(),
        entries: rows
            .iter()
            .map(|row| Entry {
                text: row
                    .1
                    .get(quantity)
                    .and_then(|figure| figure.value)
                    .map_or_else(|| NOT_MEASURED.to_owned(), show),
                mark: match *quantity {
                    RATE => notes.mark_in("", reasons(row)),
                    _ => String::new(),
                },
            })
            .collect(),
    };
    let label = |head, text: fn(&Commit) -> String| Labels {
        head,
        texts: rows.iter().map(|row| text(row.0)).collect(),
    };
    let labels = vec![
        label("pattern", |commit| commit.pattern.clone()),
        label("size", |commit| show_size(commit.block_bytes)),
        label("writers", |commit| commit.writers.to_string()),
        label("method", method),
    ];
    let grid = Grid::new(labels, COLUMNS.iter().map(column).collect());
    let mut sheet = Sheet::of("Commits: a write made durable".into(), grid, notes);
    sheet.legend = vec![
        ("CPU", "the submitting threads' CPU time of a commit".into()),
        ("flushes", "flushes of the device's cache a commit, by the kernel's counters".into()),
    ];
    sheet
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::doubt::{Code, Doubt};

    #[test]
    fn the_quickest_method_of_a_group_comes_first_and_doubts_are_told() {
        let commit = |method: &str, block_bytes| {
            Subject::Commit(Commit {
                block_bytes,
                direct: 0,
                method: method.into(),
                pattern: "overwrite".into(),
                target: Some("d".into()),
                writers: 1,
            })
        };
        let rate = |subject: &Subject, value| Finding::new(subject, RATE, Some(value), 3, "mean");
        let mut lazy = rate(&commit("fsync", 4096), 900.0);
        lazy.doubt(Doubt::new(Code::NoFlush, [("commits", 900.0.into())]));
        let findings = [
            rate(&commit("O_DSYNC", 8192), 1.0),
            lazy,
            rate(&commit("fdatasync", 4096), 1000.0),
            Finding::new(&commit("fdatasync", 4096), "latency_p99_ns", Some(2.5e6), 3, "mean"),
        ];
        assert!(EXPERIMENT.has_findings(&findings) && !EXPERIMENT.has_findings(&[]));
        let text = sheet(&findings).text(None);
        let place = |word: &str| text.find(word).unwrap_or_else(|| panic!("{word}: {text}"));
        assert!(place("fdatasync") < place("fsync") && place("fsync") < place("O_DSYNC"));
        assert!(text.contains("900*") && text.contains("no flush reached the device"), "{text}");
        assert!(text.contains("2.50 ms") && text.contains(NOT_MEASURED), "{text}");
        let markdown = sheet(&findings).markdown();
        assert!(markdown.contains("| fdatasync |"), "{markdown}");
    }
}
