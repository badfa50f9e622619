//! A table of routines under construction: cells that know what is to be doubted of them, and the
//! sheet that numbers the doubts. A suspect figure has a `*`; the last column says which
//! footnotes its row has.

use super::routine::{Group, Key};
use crate::figure::Figure;
use crate::footnote::{Footnotes, Note};
use crate::grid::{Entry, Figures, Grid, Labels};
use crate::number::{CANNOT_TELL, interval, plus_minus};
use crate::sheet::{NOT_MEASURED, Section, Sheet};
use model::record::Verdict;
use model::units::show_size;

/// A cell with its doubts. The empty cell was not requested.
#[derive(Debug, Clone, Default)]
pub(super) struct Cell {
    text: String,
    is_suspect: bool,
    doubts: Vec<Note>,
}

impl Cell {
    pub(super) fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// A figure of a routine, as `show` prints it.
    pub(super) fn of(
        key: &Key,
        figure: Option<&Figure>,
        show: impl Fn(f64, &Figure) -> String,
    ) -> Self {
        let Some(figure) = figure else { return Self::default() };
        Self {
            text: figure.value.map_or_else(|| NOT_MEASURED.into(), |value| show(value, figure)),
            is_suspect: figure.verdict == Verdict::Suspect,
            doubts: figure.notes().map(|note| key.shorten(note)).collect(),
        }
    }
}

/// A number with half its interval. The span over a model's parameters is as wide as they are.
pub(super) fn with_interval(value: f64, figure: &Figure) -> String {
    match figure.spans_parameters {
        true => plus_minus(value, figure.half_interval()),
        false => interval(value, figure.half_interval()),
    }
}

/// A figure for a chart: not told where a table prints that it cannot tell it.
pub(super) fn decided(figure: &Figure) -> Figure {
    let mut decided = figure.clone();
    decided.is_open = figure.value.is_some_and(|value| with_interval(value, figure) == CANNOT_TELL);
    decided
}

/// In order, each once.
pub(super) fn distinct<T: Ord>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut items: Vec<T> = items.collect();
    items.sort_unstable();
    items.dedup();
    items
}

#[derive(Debug)]
pub(super) struct Column {
    pub(super) group: String,
    pub(super) head: String,
    pub(super) cells: Vec<Cell>,
}

/// A section before its footnotes have numbers.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) heading: String,
    pub(super) labels: Vec<Labels>,
    pub(super) columns: Vec<Column>,
}

impl Draft {
    fn rows(&self) -> usize {
        self.labels.first().map_or(0, |labels| labels.texts.len())
    }

    /// The doubts of a row, each column's in turn.
    fn doubts(&self, row: usize) -> impl Iterator<Item = Note> {
        let cells = self.columns.iter().filter_map(move |column| column.cells.get(row));
        cells.flat_map(|cell| cell.doubts.iter().cloned())
    }

    /// What a row is called where a footnote names it.
    fn name(&self, row: usize) -> String {
        let texts =
            self.labels.iter().filter_map(|labels| labels.texts.get(row)).map(String::as_str);
        texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ")
    }

    fn section(self, notes: &Footnotes) -> Section {
        let heading = self.heading.clone();
        let marks: Vec<String> =
            (0..self.rows()).map(|row| notes.mark_in(&heading, self.doubts(row))).collect();
        // What all share is a note, and no mark of a cell.
        let is_own = |cell: &Cell| !notes.mark_in(&heading, cell.doubts.iter().cloned()).is_empty();
        let entry = |cell: Cell| Entry {
            mark: if cell.is_suspect && is_own(&cell) { "*" } else { "" }.into(),
            text: cell.text,
        };
        let is_empty = |column: &Column| column.cells.iter().all(|cell| cell.text.is_empty());
        let figures = self.columns.into_iter().filter(|column| !is_empty(column)).map(|column| {
            let entries = column.cells.into_iter().map(entry).collect();
            Figures { group: column.group, head: column.head, entries }
        });
        let grid = Grid::new(self.labels, figures.collect());
        let has_marks = marks.iter().any(|mark| !mark.is_empty());
        let notes = Labels { head: "Notes", texts: marks };
        let grid = if has_marks { grid.with_notes(notes) } else { grid };
        Section { heading: self.heading, grid }
    }
}

/// The sheet of these sections, with one set of footnotes; none without sections.
pub(super) fn sheet(title: String, drafts: Vec<Draft>) -> Option<Sheet> {
    let rows = drafts.iter().flat_map(|draft| (0..draft.rows()).map(move |row| (draft, row)));
    let notes = Footnotes::of_cells(
        "rows",
        rows.map(|(draft, row)| {
            (draft.heading.clone(), draft.name(row), draft.doubts(row).collect())
        }),
    );
    let sections: Vec<Section> = drafts.into_iter().map(|draft| draft.section(&notes)).collect();
    (!sections.is_empty()).then(|| Sheet { title, sections, notes, ..Sheet::default() })
}

/// A row's name: a routine, at one of its request sizes where that sets it apart.
pub(super) type Row<'a> = (&'a Key, Option<u64>);

/// The columns that name rows, but those in which all rows are as one expects.
pub(super) fn labels(rows: &[Row<'_>]) -> Vec<Labels> {
    type Text = fn(Row<'_>) -> String;
    /// Left out where each row has one of these texts.
    type Expected = &'static [&'static str];
    const COLUMNS: &[(&str, Text, Expected)] = &[
        ("Engine", |(key, _)| key.engine.name().to_owned(), &[]),
        ("B", |(_, size)| size.map_or_else(String::new, show_size), &[""]),
        ("N", |(key, _)| key.channels.to_string(), &["1"]),
        ("Computing", |(key, _)| computing(key, |(what, _)| what.clone()), &["", "scalar"]),
        ("Test every", |(key, _)| computing(key, |(_, ns)| show_interval(*ns)), &[""]),
    ];
    let columns = COLUMNS.iter().map(|(head, text, expected)| {
        let texts: Vec<String> = rows.iter().map(|row| text(*row)).collect();
        (Labels { head, texts }, *expected)
    });
    let says = |(labels, expected): &(Labels, Expected)| {
        labels.texts.iter().any(|text| !expected.contains(&text.as_str()))
    };
    columns.filter(says).map(|(labels, _)| labels).collect()
}

/// A heading that names the request size which all rows have; otherwise each row names its own.
pub(super) fn sized(
    group: &Group<'_>,
    sizes: impl Iterator<Item = u64>,
) -> (String, Vec<Option<u64>>) {
    let sizes: Vec<u64> = sizes.collect();
    match sizes.first() {
        Some(first) if sizes.iter().all(|size| size == first) => {
            let heading = format!("{}, B = {}", group.heading, show_size(*first));
            (heading, vec![None; sizes.len()])
        }
        _ => (group.heading.clone(), sizes.into_iter().map(Some).collect()),
    }
}

fn computing(key: &Key, text: fn(&(String, u64)) -> String) -> String {
    key.computing.as_ref().map_or_else(String::new, text)
}

/// A test interval: `20 us`, `2 ms`.
pub(super) fn show_interval(ns: u64) -> String {
    [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)]
        .into_iter()
        .find(|(_, unit)| ns > 0 && ns.is_multiple_of(*unit))
        .map_or_else(|| format!("{ns} ns"), |(name, unit)| format!("{} {name}", ns / unit))
}
