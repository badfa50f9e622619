//! A table over rows of anything, column by column: models' numbers, published tables against the
//! models' own, findings by what they are of.
//!
//! Non-goals: what the texts say.

use crate::footnote::Footnotes;
use crate::grid::{Entry, Figures, Grid, Labels};
use crate::sheet::Sheet;

/// A column as data: its group, its head, the quantity, and how a number is printed.
pub(crate) type Column = (&'static str, &'static str, &'static str, fn(f64) -> String);

/// A table in the making.
pub struct Listing<'r, R> {
    rows: &'r [R],
    labels: Vec<Labels>,
    figures: Vec<Figures>,
    remarks: Option<Labels>,
}

impl<'r, R> Listing<'r, R> {
    /// Of these rows, without a column.
    pub fn of(rows: &'r [R]) -> Self {
        Self { rows, labels: Vec::new(), figures: Vec::new(), remarks: None }
    }

    fn labels(&self, head: &'static str, text: impl Fn(&R) -> String) -> Labels {
        Labels { head, texts: self.rows.iter().map(text).collect() }
    }

    /// A first column, left-aligned.
    pub fn label(mut self, head: &'static str, text: impl Fn(&R) -> String) -> Self {
        self.labels.push(self.labels(head, text));
        self
    }

    /// A column of figures, right-aligned; neighbours of one group share its heading.
    pub fn figure(self, group: &str, head: &str, text: impl Fn(&R) -> String) -> Self {
        self.entries(group, head, |row| text(row).into())
    }

    /// The same with marks.
    pub(crate) fn entries(self, group: &str, head: &str, entry: impl Fn(&R) -> Entry) -> Self {
        let entries = self.rows.iter().map(entry).collect();
        self.with(Figures { group: group.to_owned(), head: head.to_owned(), entries })
    }

    /// A column that is made already.
    pub(crate) fn with(mut self, figures: Figures) -> Self {
        self.figures.push(figures);
        self
    }

    /// The last column, left-aligned.
    pub fn remark(mut self, head: &'static str, text: impl Fn(&R) -> String) -> Self {
        self.remarks = Some(self.labels(head, text));
        self
    }

    /// Columns by data; `entry` is of a row and a column.
    pub(crate) fn columns<'c, T: Into<Entry>>(
        self,
        columns: impl IntoIterator<Item = &'c Column>,
        entry: impl Fn(&R, &Column) -> T,
    ) -> Self {
        columns.into_iter().fold(self, |listing, column| {
            listing.entries(column.0, column.1, |row| entry(row, column).into())
        })
    }

    /// Without the labels that are not wanted: by their heading and their texts.
    pub(crate) fn labelled_by(mut self, is_wanted: impl Fn(&str, &[String]) -> bool) -> Self {
        self.labels.retain(|labels| is_wanted(labels.head, &labels.texts));
        self
    }

    /// Its texts alone.
    pub(crate) fn grid(self) -> Grid {
        let grid = Grid::new(self.labels, self.figures);
        self.remarks.map_or(grid.clone(), |remarks| grid.with_notes(remarks))
    }

    /// The table under a title.
    pub fn sheet(self, title: impl Into<String>) -> Sheet {
        Sheet::of(title.into(), self.grid(), Footnotes::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::footnote::Note;
    use crate::number::CANNOT_TELL;

    #[test]
    fn texts_stand_in_their_columns_and_notes_below() {
        let rows = [("a", "5 ms", "published"), ("bb", "10", "")];
        let sheet = Listing::of(&rows)
            .label("key", |row| row.0.into())
            .figure("", "value", |row| row.1.into())
            .remark("source", |row| row.2.into())
            .sheet("A table")
            .with_notes(["one note".into()]);
        let expected = "A table\n\nkey  value  source\n─────────────────────\na     5 ms  \
            published\nbb      10\n\none note\n";
        assert_eq!(sheet.text(None), expected);
        assert!(sheet.markdown().contains("| bb | 10 |"));
    }

    #[test]
    fn names_in_markdown_are_text_wherever_they_stand() {
        let name = || "*a*_<b>".to_owned();
        let sheet = Listing::of(&[()])
            .label("name", |()| name())
            .figure("", "rate", |()| CANNOT_TELL.to_owned())
            .sheet(name());
        let sheet = Sheet {
            before: vec![("differs", name())],
            legend: vec![("rate", name())],
            notes: Footnotes::of([Note::said(&name())]),
            would_tell: name(),
            ..sheet.with_notes([name()])
        };
        let text = sheet.markdown();
        let escaped = r"\*a\*\_\<b>";
        assert!(text.starts_with(&format!("**{escaped}**\n")), "{text}");
        assert_eq!(text.matches(escaped).count(), 7, "{text}");
        assert!(!text.contains("*a*") && !text.contains("_<"), "{text}");
    }
}
