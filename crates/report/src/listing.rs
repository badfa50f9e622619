//! A table whose texts somebody else has made: models' numbers, published tables against the
//! models' own.
//!
//! Non-goals: what the texts say.

use crate::footnote::Footnotes;
use crate::grid::{Figures, Grid, Labels};
use crate::sheet::Sheet;
use crate::words::hang;

/// A column of figures: the heading that it shares with its neighbours, its own, and a text a row.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FigureColumn {
    /// Shared with neighbours of the same; may be empty.
    pub group: String,
    /// Its own.
    pub head: String,
    /// A text a row.
    pub texts: Vec<String>,
}

impl FigureColumn {
    /// Of these texts.
    pub fn of(group: &str, head: &str, texts: impl Iterator<Item = String>) -> Self {
        Self { group: group.to_owned(), head: head.to_owned(), texts: texts.collect() }
    }
}

/// A table and what stands under it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listing {
    /// Over the table.
    pub title: String,
    /// The first columns, left-aligned: a heading, and a text a row.
    pub labels: Vec<(&'static str, Vec<String>)>,
    /// The figures, right-aligned.
    pub figures: Vec<FigureColumn>,
    /// A last column, left-aligned.
    pub remarks: Option<(&'static str, Vec<String>)>,
    /// Paragraphs under the table.
    pub notes: Vec<String>,
}

impl Listing {
    /// For a terminal of `width` columns.
    pub fn text(&self, width: Option<u16>) -> String {
        let notes: String = self.notes.iter().map(|note| hang("", note, width)).collect();
        let table = self.sheet().text(width);
        if notes.is_empty() { table } else { format!("{table}\n{notes}") }
    }

    /// The same as Markdown.
    pub fn markdown(&self) -> String {
        let notes: String = self.notes.iter().map(|note| format!("\n{note}\n")).collect();
        format!("{}{notes}", self.sheet().markdown())
    }

    pub(crate) fn rows(&self) -> usize {
        self.labels.first().map_or(0, |(_, texts)| texts.len())
    }

    fn sheet(&self) -> Sheet {
        Sheet::of(self.title.clone(), self.grid(), Footnotes::default())
    }

    pub(crate) fn grid(&self) -> Grid {
        let labels = self.labels.iter();
        let labels = labels.map(|(head, texts)| Labels { head, texts: texts.clone() }).collect();
        let figures = self.figures.iter().map(|FigureColumn { group, head, texts }| {
            Figures::plain(group, head, texts.iter().cloned())
        });
        let grid = Grid::new(labels, figures.collect());
        match &self.remarks {
            Some((head, texts)) => grid.with_notes(Labels { head, texts: texts.clone() }),
            None => grid,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_stand_in_their_columns_and_notes_below() {
        let listing = Listing {
            title: "A table".into(),
            labels: vec![("key", vec!["a".into(), "bb".into()])],
            figures: vec![FigureColumn {
                group: String::new(),
                head: "value".into(),
                texts: vec!["5 ms".into(), "10".into()],
            }],
            remarks: Some(("source", vec!["published".into(), String::new()])),
            notes: vec!["one note".into()],
        };
        let expected = "A table\n\nkey  value  source\n─────────────────────\na     5 ms  \
            published\nbb      10\n\none note\n";
        assert_eq!(listing.text(None), expected);
        assert!(listing.markdown().contains("| bb | 10 |"));
    }
}
