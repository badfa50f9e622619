//! What fits on a first screen: sentences, then tables of so many rows that all is at most 40 lines
//! of 100 columns, then what else there is.
//!
//! Non-goals: what the sentences and the tables say.

use crate::sheet::Sheet;
use crate::words::{clean, elided, hang};

/// The columns of a screen, where the terminal has more.
pub(crate) const COLUMNS: u16 = 100;

/// The columns of a table, where the terminal has more.
const WIDEST: u16 = 160;

/// Its lines.
pub(crate) const LINES: usize = 40;

/// Characters of a name in a sentence.
const NAME_CHARS: usize = 48;

/// A first screen whose tables somebody else has made.
#[derive(Debug, Default)]
pub struct Screen {
    /// The answer, a paragraph each.
    pub sentences: Vec<String>,
    /// The tables that matter, the rows that matter most first.
    pub tables: Vec<Sheet>,
    /// What the rows are that a table begins with: `first`, `worst`.
    pub which: &'static str,
    /// Columns by group and heading: where a terminal is narrow, the first ones go first.
    pub less_needed: &'static [&'static str],
    /// Those that go where names are as short as they can be.
    pub needed: &'static [&'static str],
    /// What else there is, and how to see it.
    pub below: String,
}

impl Screen {
    /// For a terminal of `width` columns.
    pub fn text(&self, width: Option<u16>) -> String {
        let limit = limited(width);
        let most = self.tables.iter().map(Sheet::rows).max().unwrap_or(1);
        fitted(most, LINES, |rows| {
            let tables = self.tables.iter().map(|table| self.table(table, rows, wide(width)));
            let above = [paragraphs(&self.sentences, limit)].into_iter().chain(tables);
            joined(above.chain([hang("", &self.below, limit)]))
        })
    }

    fn table(&self, sheet: &Sheet, rows: usize, limit: Option<u16>) -> String {
        let heading = format!("{}{}", sheet.title, first_of(self.which, rows, sheet.rows()));
        let grid = sheet.grid().cloned().unwrap_or_default();
        let grid = grid.first_rows(rows).narrowed(limit, self.less_needed);
        let notes: String = sheet.said.iter().map(|note| hang("", note, limited(limit))).collect();
        let heading = hang("", &clean(&heading), limited(limit));
        let grid = grid.shortened(limit).narrowed(limit, self.needed);
        format!("{heading}{}{notes}", grid.text(limit))
    }
}

/// What a table takes of a terminal: more cannot be read across.
pub fn wide(width: Option<u16>) -> Option<u16> {
    Some(width.unwrap_or(COLUMNS).min(WIDEST))
}

/// At most a screen's columns.
pub fn limited(width: Option<u16>) -> Option<u16> {
    Some(width.unwrap_or(COLUMNS).min(COLUMNS))
}

/// What is drawn with as many rows as leave it within so many lines, and with one at the least.
pub(crate) fn fitted(most: usize, lines: usize, drawn: impl Fn(usize) -> String) -> String {
    let fits = |text: &String| text.lines().count() <= lines;
    (1..=most.clamp(1, LINES)).rev().map(&drawn).find(fits).unwrap_or_else(|| drawn(1))
}

/// Sentences, each from a line's begin.
pub fn paragraphs(sentences: &[String], limit: Option<u16>) -> String {
    sentences.iter().map(|sentence| hang("", &clean(sentence), limit)).collect()
}

/// Texts that say something, a blank line apart.
pub(crate) fn joined(texts: impl IntoIterator<Item = String>) -> String {
    let texts = texts.into_iter().filter(|text| !text.trim().is_empty());
    texts.collect::<Vec<_>>().join("\n")
}

/// What a heading says of a table that has not all rows, but the first or the worst.
pub(crate) fn first_of(which: &str, rows: usize, all: usize) -> String {
    if rows < all { format!(" (the {which} {rows} of {all})") } else { String::new() }
}

/// The tables with the most columns that fit: without the first of `order`, the first two, and so
/// on; without all of them where nothing fits.
pub(crate) fn widest(
    order: &[&str],
    limit: Option<u16>,
    drawn: impl Fn(&[&str]) -> Option<Sheet>,
) -> Option<Sheet> {
    let sheets = (0..order.len()).filter_map(|count| drawn(&order[..count]));
    sheets.into_iter().find(|sheet| sheet.fits(limit)).or_else(|| drawn(order))
}

/// A name in a sentence.
pub(crate) fn short(name: &str) -> String {
    elided(name, NAME_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listing::Listing;

    fn table(rows: usize) -> Sheet {
        Listing::of(&vec![(); rows])
            .label("name", |()| "long".repeat(40))
            .figure("g", "kept", |()| "9".repeat(9))
            .figure("g", "dropped", |()| "9".repeat(60))
            .sheet("A table")
    }

    #[test]
    fn a_screen_has_no_more_than_its_lines_and_columns() {
        let screen = Screen {
            sentences: vec!["word ".repeat(60)],
            tables: vec![table(200), table(3)],
            which: "first",
            less_needed: &["g dropped"],
            needed: &[],
            below: "--all has the rest.".into(),
        };
        for width in [None, Some(100), Some(72)] {
            let text = screen.text(width);
            let limit = usize::from(width.unwrap_or(COLUMNS));
            assert!(text.lines().count() <= LINES, "{text}");
            assert!(text.lines().all(|line| crate::words::width(line) <= limit), "{text}");
            assert!(text.contains("of 200)") && text.ends_with("--all has the rest.\n"), "{text}");
            assert!(text.contains("kept") && !text.contains("dropped"), "{text}");
        }
    }
}
