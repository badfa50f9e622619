//! The response-time analysis as text: first what matters most, then a table for each thing that
//! requests are classed by, whose rows are box plots, drawn and in figures, with the parts of the
//! response time beside them, as the 1986 paper's figures show them; then devices and storms.
//!
//! Non-goals: computing a figure.

mod chart;
mod classes;
mod plot;
mod said;
mod tables;

use crate::grid::Grid;
use crate::sheet::{Section, Sheet, markdown_paragraphs};
use crate::verdict::{Shown, chosen};
use crate::words::hang;
pub(crate) use chart::all as charts;
use classes::Classes;
use model::record::Finding;
use model::units::counted;
use std::fmt::Write as _;

/// The report for a terminal of `width` columns.
pub fn table(findings: &[Finding], width: Option<u16>) -> String {
    let classes = Classes::of(findings);
    let lines = |lines: Vec<String>| -> String {
        lines.into_iter().map(|line| hang("", &line, width)).collect()
    };
    let first = lines(said::first(findings, &Shown::default(), &classes));
    let last = lines(said::last(findings, &classes));
    let parts = [first, sheet(&classes).text(width), last];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

/// The same as Markdown, of what `shown` selects.
pub fn markdown(findings: &[Finding], shown: &Shown) -> String {
    let chosen = chosen(findings, shown);
    let classes = Classes::of(&chosen);
    let first = markdown_paragraphs(said::first(findings, shown, &classes));
    let last = markdown_paragraphs(said::last(&chosen, &classes));
    [first, vec![sheet(&classes).markdown()], last].concat().join("\n")
}

/// What requests are classed by, as [`by`] takes it.
pub const CLASSES: [&str; 11] = [
    "direction",
    "device",
    "origin",
    "size",
    "process",
    "cgroup",
    "partition",
    "structure",
    "region",
    "start",
    "burst",
];

/// The tables of one kind of classes, each with so many rows at the most.
pub fn by(findings: &[Finding], by: &str, top: usize, width: Option<u16>) -> String {
    let classes = Classes::of(findings);
    let is_wanted = |kind: &str| kind == by || (by == "burst" && kind.starts_with("storm"));
    let tables = tables::some(&classes, is_wanted, top).into_iter();
    let texts = tables.map(|(heading, grid)| format!("{heading}\n{}", grid.text(width)));
    let text = texts.collect::<Vec<_>>().join("\n");
    match text.is_empty() {
        true => format!("The trace tells nothing by {by}.\n"),
        false => text,
    }
}

/// The paper's counts: `7480 responses took 0 ticks.`, or two columns.
pub fn ticks(counts: impl Iterator<Item = (u64, u64)>, is_csv: bool) -> String {
    let mut text = String::from(if is_csv { "ticks,responses\n" } else { "" });
    for (ticks, responses) in counts {
        let _ = match is_csv {
            true => writeln!(text, "{ticks},{responses}"),
            false => {
                let responses = counted(responses, "response{s} took");
                writeln!(text, "{responses} {}.", counted(ticks, "tick{s}"))
            }
        };
    }
    if text.is_empty() {
        text.push_str("The trace tells of no responses.\n");
    }
    text
}

/// What is said of a trace before its tables.
pub(crate) fn sentences(findings: &[Finding]) -> Vec<String> {
    said::first(findings, &Shown::default(), &Classes::of(findings))
}

/// All tables of a trace.
/// Charts draw what a terminal draws in a column.
pub(crate) fn tables(findings: &[Finding]) -> Sheet {
    let sheet = sheet(&Classes::of(findings));
    let undrawn = |section: Section| Section {
        grid: section
            .grid
            .without_figures(|name| name == tables::COUNTS || name.starts_with(tables::PLOT)),
        ..section
    };
    Sheet { sections: sheet.sections.into_iter().map(undrawn).collect(), ..sheet }
}

fn sheet(classes: &Classes) -> Sheet {
    let section = |(heading, grid): (&str, Grid)| Section { heading: heading.to_owned(), grid };
    let sections: Vec<Section> = tables::all(classes).into_iter().map(section).collect();
    let legend = tables::legend(|name| sections.iter().any(|section| section.grid.shows(name)));
    Sheet { title: "Response times".into(), sections, legend, ..Sheet::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sheet::NOT_MEASURED;
    use model::record::{Doubt, Subject};

    #[test]
    fn every_quantity_shown_is_in_the_models_table() {
        for (_, _, quantity, _) in tables::quantities() {
            assert!(model::record::quantity(quantity).is_some(), "{quantity} is no quantity");
        }
    }

    #[test]
    fn ticks_are_told_in_the_papers_words() {
        let counts = || [(0, 7480), (1, 47_922), (9, 1)].into_iter();
        let paper = "7480 responses took 0 ticks.\n47922 responses took 1 tick.\n1 response took \
            9 ticks.\n";
        assert_eq!(ticks(counts(), false), paper);
        assert_eq!(ticks(counts(), true), "ticks,responses\n0,7480\n1,47922\n9,1\n");
        assert_eq!(ticks(std::iter::empty(), false), "The trace tells of no responses.\n");
    }

    #[test]
    fn a_slope_that_is_not_measured_says_why() {
        let found = |class: &str, quantity: &str, reason: Option<&str>| Finding {
            subject: Subject::class("direction", class),
            quantity: quantity.into(),
            value: reason.is_none().then_some(2048.0),
            doubts: reason.map(Doubt::refused).into_iter().collect(),
            ..Finding::default()
        };
        let findings = [
            found("write", "slope_response_ns_per_kib", Some("the line falls")),
            found("write", "slope_wait_ns_per_kib", Some("the line falls")),
            found("write", "slope_device_ns_per_kib", Some("holds zero")),
            found("flush", "requested_count", None),
            found("read", "slope_response_ns_per_kib", None),
            found("read", "slope_device_ns_per_kib", None),
        ];
        let text = table(&findings, None);
        let of_writes =
            "adds to a write, in the response, the queue: the line falls; the device: holds zero";
        assert!(text.contains(of_writes), "{text}");
        assert!(text.contains("Each additional KiB adds 2.05 µs to a read, mostly in the device"));
        let slopes = text.split("each KiB adds").nth(1).unwrap();
        let slopes = slopes.split("\n\n").next().unwrap();
        assert!(slopes.contains("n.m.") && !slopes.contains("flush"), "{text}");
    }

    /// The mean times in the parts sum to the response.
    #[test]
    fn a_part_does_not_stand_beside_parts_of_its_own() {
        let text = |parts: &[&str]| {
            let found = |part: &&str| Finding {
                subject: Subject::class("direction", "read"),
                quantity: format!("{part}_mean_ns"),
                value: Some(2048.0),
                ..Finding::default()
            };
            table(&parts.iter().map(found).collect::<Vec<_>>(), None)
        };
        let split = text(&["response", "wait", "admission", "scheduler", "device"]);
        assert!(split.contains("scheduler  ") && !split.contains("queue  "), "{split}");
        assert!(text(&["response", "wait", "device"]).contains("queue  "));
    }

    #[test]
    fn classes_of_a_kind_are_rows_of_a_table_and_what_is_not_told_has_no_number() {
        let found = |by: &str, class: &str, quantity: &str, value| Finding {
            subject: Subject::class(by, class),
            quantity: quantity.into(),
            value,
            ..Finding::default()
        };
        let findings = [
            found("direction", "read", "response_p99_ns", Some(1.5e6)),
            found("direction", "write", "response_p99_ns", None),
            found("size", "to 4k", "requested_count", Some(7.0)),
        ];
        let text = table(&findings, None);
        let place = |word: &str| text.find(word).unwrap_or_else(|| panic!("{word}: {text}"));
        assert!(
            place("by direction") < place("1.50 ms")
                && place("1.50 ms") < place("by transfer size")
        );
        assert!(
            text.contains(NOT_MEASURED)
                && markdown(&findings, &Shown::default()).contains("| to 4k"),
            "{text}"
        );
    }
}
