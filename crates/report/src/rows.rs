//! Findings as rows, and rows as tables by data: of each column a heading, the quantity that it
//! shows, and how a number is printed.
//!
//! Non-goals: which rows there are, and their order.

use crate::figure::{Figure, decide};
use crate::footnote::{Footnotes, Note};
use crate::grid::Entry;
pub(crate) use crate::listing::Column;
use crate::listing::Listing;
use crate::number::{CANNOT_TELL, span};
use crate::sheet::{NOT_MEASURED, Sheet, lines};
use model::record::{Finding, Verdict};
use std::collections::BTreeMap;

/// A label of rows: its head, and its text of a row's key.
pub(crate) type Label<K> = (&'static str, fn(&K) -> String);

/// The figures of one key, by quantity.
#[derive(Debug, Clone)]
pub(crate) struct Row<K> {
    pub(crate) key: K,
    figures: BTreeMap<String, Figure>,
}

impl<K> Row<K> {
    pub(crate) fn figure(&self, quantity: &str) -> Option<&Figure> {
        self.figures.get(quantity)
    }

    pub(crate) fn value(&self, quantity: &str) -> Option<f64> {
        self.figure(quantity)?.value
    }

    /// `*` behind a number that failed a check.
    pub(crate) fn mark(&self, quantity: &str) -> &'static str {
        let verdict = self.figure(quantity).map(|figure| figure.verdict);
        if verdict == Some(Verdict::Suspect) { "*" } else { "" }
    }

    /// The number, where it is told.
    pub(crate) fn told(&self, quantity: &str) -> Option<f64> {
        self.figure(quantity)?.told()
    }

    /// As it is printed; `n.m.` where it was not measured.
    pub(crate) fn shown(&self, quantity: &str, show: fn(f64) -> String) -> String {
        match self.figure(quantity) {
            Some(figure) if figure.is_open => CANNOT_TELL.to_owned(),
            figure => figure.and_then(|of| of.value).map_or_else(|| NOT_MEASURED.to_owned(), show),
        }
    }

    /// Leaves these numbers untold where the interval of `by` says nothing ([`decide`]).
    pub(crate) fn decide(&mut self, by: &str, with_it: &[&str]) {
        decide(&mut self.figures, by, with_it);
    }

    /// The same with another key.
    pub(crate) fn with_key<T>(self, key: impl FnOnce(K) -> T) -> Row<T> {
        Row { key: key(self.key), figures: self.figures }
    }

    /// Why a quantity is doubted.
    pub(crate) fn notes(&self, quantity: &str) -> Vec<Note> {
        self.figure(quantity).into_iter().flat_map(Figure::notes).collect()
    }
}

/// The findings that `of` has a key and a quantity for, a row for each key, as they are first seen.
pub(crate) fn rows<K: PartialEq>(
    findings: &[Finding],
    of: impl Fn(&Finding) -> Option<(K, String)>,
) -> Vec<Row<K>> {
    let mut rows: Vec<Row<K>> = Vec::new();
    for finding in findings {
        let Some((key, quantity)) = of(finding) else { continue };
        let place = rows.iter().rposition(|row| row.key == key).unwrap_or_else(|| {
            rows.push(Row { key, figures: BTreeMap::new() });
            rows.len() - 1
        });
        rows[place].figures.insert(quantity, Figure::of(finding));
    }
    rows
}

/// A table of rows.
pub(crate) struct View<K: 'static> {
    pub(crate) title: &'static str,
    pub(crate) labels: &'static [Label<K>],
    pub(crate) columns: &'static [Column],
    /// The quantity whose doubts are those of the row.
    pub(crate) judged: &'static str,
    /// The quantity in whose column they are marked.
    pub(crate) marked: &'static str,
    /// A row in a footnote.
    pub(crate) name: fn(&K) -> String,
    /// How a row's figure of a column is printed.
    pub(crate) show: fn(&Row<K>, &Column) -> String,
    /// What the columns mean: a name and a sentence. Of [`INTERVAL`] only where there is one.
    pub(crate) legend: &'static [(&'static str, &'static str)],
}

/// An interval in a legend.
pub(crate) const INTERVAL: (&str, &str) = ("[ ]", "95 % interval of the mean over passes");

/// A figure as its column prints it.
pub(crate) fn plain<K>(row: &Row<K>, (_, _, quantity, show): &Column) -> String {
    row.shown(quantity, *show)
}

/// The same with the interval, where there is one: `90.7k [85.2k–96.2k]`.
pub(crate) fn within<K>(row: &Row<K>, column: &Column) -> String {
    let (_, _, quantity, show) = *column;
    let text = plain(row, column);
    let ends = row.figure(quantity).and_then(Figure::told_ends);
    match ends.and_then(|(low, high)| span(&text, &show(low), &show(high))) {
        Some(span) => format!("{text} [{span}]"),
        None => text,
    }
}

impl<K> View<K> {
    pub(crate) fn sheet(&self, rows: &[Row<K>]) -> Sheet {
        let cells =
            rows.iter().map(|row| (String::new(), (self.name)(&row.key), row.notes(self.judged)));
        let notes = Footnotes::of_cells("rows", cells);
        let entry = |row: &Row<K>, column: &Column| Entry {
            text: (self.show)(row, column),
            mark: match column.2 == self.marked {
                true => notes.mark_in("", row.notes(self.judged)),
                false => String::new(),
            },
        };
        let listing = self.labels.iter().fold(Listing::of(rows), |listing, (head, text)| {
            listing.label(head, |row| text(&row.key))
        });
        let grid = listing.columns(self.columns, entry).grid();
        let is_shown = |line: &&(&str, &str)| **line != INTERVAL || grid.mentions("[");
        let legend = lines(self.legend.iter().filter(is_shown));
        Sheet { legend, ..Sheet::of(self.title.to_owned(), grid, notes) }
    }
}
