//! A table of labels and cells whose columns stand in groups, as the paper
//! prints its systems over their drives. Where it is too wide it becomes
//! several tables: a wrapped cell cannot be read across.

use crate::words::{clean, elided, name, width};
use comfy_table::{
    CellAlignment, ColumnConstraint, LineStyle, Table, TableStyle, Width, presets::NOTHING,
};
use model::text::visible;
use serde::Serialize;

/// Between two columns.
const GAP: u16 = 2;

/// Columns of a label that is cut.
const LEAST_LABEL: usize = 12;

/// A rule under the header and no other line.
const STYLE: TableStyle = NOTHING.header_separator(LineStyle::none().fill('─'));

/// A cell: its text and the footnote's mark behind it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Entry {
    pub(crate) text: String,
    pub(crate) mark: String,
}

/// A column of figures. Neighbours of the same group share one heading.
#[derive(Debug, Clone)]
pub(crate) struct Figures {
    pub(crate) group: String,
    pub(crate) head: String,
    pub(crate) entries: Vec<Entry>,
}

/// A column of labels, repeated in every part of a split table.
#[derive(Debug, Clone)]
pub(crate) struct Labels {
    pub(crate) head: &'static str,
    pub(crate) texts: Vec<String>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Grid {
    labels: Vec<Labels>,
    figures: Vec<Figures>,
    notes: Option<Labels>,
}

/// The texts of a grid.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Cells {
    /// Headings of groups, each with the number of its columns.
    pub(crate) groups: Vec<(String, usize)>,
    /// The headings of columns.
    pub(crate) heads: Vec<String>,
    /// How many columns are labels.
    pub(crate) labels: usize,
    /// Whether the last column is a remark.
    pub(crate) has_remarks: bool,
    /// A text a column.
    pub(crate) rows: Vec<Vec<String>>,
}

/// A run of neighbouring columns of figures.
type Part = std::ops::Range<usize>;

impl Grid {
    /// A grid of cleaned texts, its marks padded so that figures stay in line.
    pub(crate) fn new(mut labels: Vec<Labels>, mut figures: Vec<Figures>) -> Self {
        for label in labels.iter_mut().flat_map(|labels| &mut labels.texts) {
            *label = name(label);
        }
        for column in &mut figures {
            column.group = name(&column.group);
            column.head = name(&column.head);
            for entry in &mut column.entries {
                entry.text = clean(&entry.text);
            }
        }
        Self { labels, figures, notes: None }
    }

    /// Whether it has a column, or a group of columns, of that name.
    pub(crate) fn shows(&self, name: &str) -> bool {
        self.figures.iter().any(|column| column.head == name || column.group == name)
    }

    /// The grid with a last column that every part of a split table repeats.
    pub(crate) fn with_notes(mut self, mut notes: Labels) -> Self {
        notes.texts.iter_mut().for_each(|note| *note = clean(note));
        self.notes = Some(notes);
        self
    }

    /// Whether a cell says that nothing was measured, and nothing says why.
    pub(crate) fn has_bare(&self, not_measured: &str) -> bool {
        let noted = |row: usize| self.notes.as_ref().is_some_and(|n| !n.texts[row].is_empty());
        let bare = |(row, entry): (usize, &Entry)| {
            entry.text == not_measured && entry.mark.is_empty() && !noted(row)
        };
        self.figures.iter().any(|column| column.entries.iter().enumerate().any(bare))
    }

    /// Whether a cell says just that.
    pub(crate) fn says(&self, text: &str) -> bool {
        self.figures.iter().any(|column| column.entries.iter().any(|entry| entry.text == text))
    }

    /// Whether a cell has that in its text.
    pub(crate) fn mentions(&self, part: &str) -> bool {
        self.figures.iter().any(|column| column.entries.iter().any(|of| of.text.contains(part)))
    }

    pub(crate) fn rows(&self) -> usize {
        self.labels.first().map_or(0, |labels| labels.texts.len())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.figures.is_empty() && self.notes.is_none()
    }

    /// The grid without as many of these columns, the first ones first, as do not fit. A column's
    /// name is its group and its heading.
    pub(crate) fn narrowed(mut self, limit: Option<u16>, order: &[&str]) -> Self {
        let limit = limit.map_or(usize::MAX, usize::from);
        for head in order {
            if self.total_width(0..self.figures.len()) <= limit {
                break;
            }
            self.figures.retain(|column| column.name() != *head);
            self.labels.retain(|labels| labels.head != *head);
        }
        self
    }

    /// The grid without the labels with these headings.
    pub(crate) fn without(mut self, heads: &[&str]) -> Self {
        self.labels.retain(|labels| !heads.contains(&labels.head));
        self
    }

    /// The grid with this above the columns of figures that have nothing above them.
    pub(crate) fn under(mut self, group: &str) -> Self {
        let bare = self.figures.iter_mut().filter(|column| column.group.is_empty());
        bare.for_each(|column| group.clone_into(&mut column.group));
        self
    }

    /// The grid without the columns of figures with these names.
    pub(crate) fn without_figures(mut self, is_out: impl Fn(&str) -> bool) -> Self {
        self.figures.retain(|column| !is_out(&column.name()));
        self
    }

    /// Whether it is one table for a terminal of `limit` columns.
    pub(crate) fn fits(&self, limit: Option<u16>) -> bool {
        limit.is_none_or(|limit| self.total_width(0..self.figures.len()) <= usize::from(limit))
    }

    /// The grid with no more than its first rows.
    pub(crate) fn first_rows(mut self, rows: usize) -> Self {
        self.labels.iter_mut().chain(&mut self.notes).for_each(|l| l.texts.truncate(rows));
        self.figures.iter_mut().for_each(|column| column.entries.truncate(rows));
        self
    }

    /// The grid where no footnotes stand below it: a mark has no number, and there is no column of
    /// notes.
    pub(crate) fn without_notes(mut self) -> Self {
        self.notes = None;
        for column in &mut self.figures {
            let is_marked = column.entries.iter().any(|entry| entry.mark.contains('*'));
            let mark = |entry: &Entry| match (is_marked, entry.mark.contains('*')) {
                (false, _) => "",
                (true, true) => "*",
                (true, false) => " ",
            };
            column.entries.iter_mut().for_each(|entry| entry.mark = mark(entry).to_owned());
        }
        self
    }

    /// The grid with its widest labels and its headings cut where they are all that is too wide.
    pub(crate) fn shortened(mut self, limit: Option<u16>) -> Self {
        if let Some(limit) = limit.map(usize::from) {
            let columns = self.figures.iter_mut();
            columns.for_each(|column| column.group = elided(&column.group, limit / 3));
        }
        self.with_labels_cut(limit, LEAST_LABEL)
    }

    /// The grid with its widest labels cut, to `least` columns at the most, until it fits.
    pub(crate) fn with_labels_cut(mut self, limit: Option<u16>, least: usize) -> Self {
        let limit = limit.map_or(usize::MAX, usize::from);
        let mut is_whole = vec![false; self.labels.len()];
        loop {
            let surplus = self.total_width(0..self.figures.len()).saturating_sub(limit);
            let can_be_cut =
                self.labels.iter_mut().zip(&mut is_whole).filter(|(_, whole)| !**whole);
            let mut by_width: Vec<(&mut Labels, &mut bool)> = can_be_cut.collect();
            by_width.sort_by_key(|(labels, _)| std::cmp::Reverse(labels.width()));
            let Some(((widest, is_whole), others)) = by_width.split_first_mut() else {
                return self;
            };
            // The widest first, until it is as the next one.
            let next = others.first().map_or(0, |(labels, _)| labels.width()).max(least);
            let own = widest.width();
            if surplus == 0 || own <= least {
                return self;
            }
            let columns = own.saturating_sub(surplus).max(next.min(own - 1)).max(least);
            widest.texts.iter_mut().for_each(|text| *text = elided(text, columns));
            // A heading is not cut, nor what is no name.
            **is_whole = widest.width() == own;
        }
    }

    /// For a terminal of `limit` columns: one table, or several under each other.
    pub(crate) fn text(&self, limit: Option<u16>) -> String {
        let parts: Vec<String> =
            self.parts(limit).into_iter().map(|part| self.draw(part)).collect();
        parts.join("\n")
    }

    /// The columns of each table: whole groups as far as they fit, else single columns.
    fn parts(&self, limit: Option<u16>) -> Vec<Part> {
        let limit = limit.map_or(usize::MAX, usize::from);
        let fits = |part: Part| self.total_width(part) <= limit;
        let all = 0..self.figures.len();
        let groups = self.groups(all.clone());
        let units = if groups.iter().cloned().all(fits) {
            groups
        } else {
            all.map(|column| column..column + 1).collect()
        };
        let mut parts: Vec<Part> = Vec::new();
        for unit in units {
            match parts.last_mut() {
                Some(last) if fits(last.start..unit.end) => last.end = unit.end,
                _ => parts.push(unit),
            }
        }
        parts
    }

    /// Splits a part where its groups change.
    fn groups(&self, part: Part) -> Vec<Part> {
        let mut groups: Vec<Part> = Vec::new();
        for column in part {
            match groups.last_mut() {
                Some(last) if self.figures[last.start].group == self.figures[column].group => {
                    last.end = column + 1;
                }
                _ => groups.push(column..column + 1),
            }
        }
        groups
    }

    fn total_width(&self, part: Part) -> usize {
        let labels: usize = self.labels.iter().map(|l| l.width() + usize::from(GAP)).sum();
        let notes = self.notes.as_ref().map_or(0, |notes| notes.width() + usize::from(GAP));
        labels + spread(&self.figure_widths(part)) + notes
    }

    /// The columns' widths; the last of a group is widened where its heading needs it.
    fn figure_widths(&self, part: Part) -> Vec<usize> {
        let mut widths = Vec::new();
        for group in self.groups(part) {
            let heading = width(&self.figures[group.start].group);
            let mut inner: Vec<usize> =
                self.figures[group].iter().map(|column| column.width()).collect();
            let missing = heading.saturating_sub(spread(&inner));
            if let Some(last) = inner.last_mut() {
                *last += missing;
            }
            widths.extend(inner);
        }
        widths
    }

    fn draw(&self, part: Part) -> String {
        let mut table = Table::new();
        table.load_style(STYLE).set_header(self.header(part.clone()));
        let rows = self.rows();
        for row in 0..rows {
            table.add_row(self.row(part.clone(), row));
        }
        self.arrange(&mut table, part.clone());
        let trim = |line: String| format!("{}\n", line.trim_end());
        self.headings(part).map(trim).into_iter().chain(table.lines().map(trim)).collect()
    }

    /// Fixes every column's width, so that the table library wraps and stretches nothing.
    fn arrange(&self, table: &mut Table, part: Part) {
        let figures = self.labels.len()..self.labels.len() + part.len();
        let labels = self.labels.iter().map(Labels::width);
        let widths =
            labels.chain(self.figure_widths(part)).chain(self.notes.iter().map(Labels::width));
        let widths: Vec<usize> = widths.collect();
        for (position, (column, width)) in table.column_iter_mut().zip(&widths).enumerate() {
            let gap = if position + 1 == widths.len() { 0 } else { GAP };
            let fixed = u16::try_from(*width).unwrap_or(u16::MAX - GAP) + gap;
            column.set_padding((0, gap));
            column.set_constraint(ColumnConstraint::Absolute(Width::Fixed(fixed)));
            if figures.contains(&position) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
    }

    fn header(&self, part: Part) -> Vec<String> {
        let heads = self.figures[part].iter().map(Figures::padded_head);
        let notes = self.notes.iter().map(|l| l.head.to_owned());
        self.labels.iter().map(|l| l.head.to_owned()).chain(heads).chain(notes).collect()
    }

    fn row(&self, part: Part, row: usize) -> Vec<String> {
        let texts = self.labels.iter().map(|l| l.texts[row].clone());
        let figures = self.figures[part].iter().map(|column| column.padded(row));
        texts.chain(figures).chain(self.notes.iter().map(|l| l.texts[row].clone())).collect()
    }

    /// The line of group headings, each centred over its columns; none if no group has a name.
    fn headings(&self, part: Part) -> Option<String> {
        let mut line: String =
            self.labels.iter().map(|l| " ".repeat(l.width() + usize::from(GAP))).collect();
        let groups = self.groups(part);
        groups.iter().any(|group| !self.figures[group.start].group.is_empty()).then(|| {
            for group in groups {
                let free = spread(&self.figure_widths(group.clone()));
                line.push_str(&centre(&self.figures[group.start].group, free));
                line.push_str(&" ".repeat(usize::from(GAP)));
            }
            line
        })
    }

    /// Its texts, for who sets them otherwise.
    pub(crate) fn cells(&self) -> Cells {
        let part = 0..self.figures.len();
        let trimmed = |row: usize| -> Vec<String> {
            self.row(part.clone(), row).iter().map(|text| text.trim().to_owned()).collect()
        };
        let label = |count: usize| (count > 0).then(|| (String::new(), count));
        let groups = self.groups(part.clone()).into_iter();
        let groups = groups.map(|group| (self.figures[group.start].group.clone(), group.len()));
        let remarks = label(usize::from(self.notes.is_some()));
        Cells {
            groups: label(self.labels.len()).into_iter().chain(groups).chain(remarks).collect(),
            heads: self.header(part.clone()).iter().map(|head| head.trim().to_owned()).collect(),
            labels: self.labels.len(),
            has_remarks: self.notes.is_some(),
            rows: (0..self.rows()).map(trimmed).collect(),
        }
    }

    /// As a Markdown table: one header line, groups before heads.
    pub(crate) fn markdown(&self) -> String {
        let part = 0..self.figures.len();
        let heads = self.figures.iter().map(|c| format!("{} {}", c.group, c.head));
        let notes = self.notes.iter().map(|l| l.head.to_owned());
        let header =
            self.labels.iter().map(|l| l.head.to_owned()).chain(heads).chain(notes).collect();
        let rules = self.labels.iter().map(|_| "---").chain(self.figures.iter().map(|_| "---:"));
        let rules = rules.chain(self.notes.iter().map(|_| "---"));
        let rows = self.rows();
        let mut text = pipe(header);
        text.push_str(&format!("| {} |\n", rules.collect::<Vec<_>>().join(" | ")));
        text.extend((0..rows).map(|row| pipe(self.row(part.clone(), row))));
        text
    }
}

impl Labels {
    fn width(&self) -> usize {
        self.texts.iter().map(|t| width(t)).max().unwrap_or(0).max(width(self.head))
    }
}

impl<T: Into<String>> From<T> for Entry {
    fn from(text: T) -> Self {
        Self { text: text.into(), mark: String::new() }
    }
}

impl Figures {
    /// A column without marks.
    pub(crate) fn plain(group: &str, head: &str, texts: impl Iterator<Item = String>) -> Self {
        let entries = texts.map(Entry::from).collect();
        Self { group: group.to_owned(), head: head.to_owned(), entries }
    }

    /// Its group and its heading.
    pub(crate) fn name(&self) -> String {
        format!("{} {}", self.group, self.head).trim().to_owned()
    }

    fn mark_width(&self) -> usize {
        self.entries.iter().map(|entry| width(&entry.mark)).max().unwrap_or(0)
    }

    /// A cell with blanks where another of its column has a mark.
    fn padded(&self, row: usize) -> String {
        self.entries.get(row).map_or_else(String::new, |Entry { text, mark }| {
            format!("{text}{mark}{}", " ".repeat(self.mark_width() - width(mark)))
        })
    }

    fn padded_head(&self) -> String {
        format!("{}{}", self.head, " ".repeat(self.mark_width()))
    }

    fn width(&self) -> usize {
        let cells = (0..self.entries.len()).map(|row| width(&self.padded(row)));
        cells.max().unwrap_or(0).max(width(&self.padded_head()))
    }
}

/// The width of columns with gaps between them.
fn spread(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + usize::from(GAP) * widths.len().saturating_sub(1)
}

fn centre(text: &str, room: usize) -> String {
    let free = room.saturating_sub(width(text));
    format!("{}{text}{}", " ".repeat(free / 2), " ".repeat(free - free / 2))
}

fn pipe(cells: Vec<String>) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| escape_markdown(cell.trim())).collect();
    format!("| {} |\n", cells.join(" | "))
}

/// The text on one line, with the characters that Markdown would take for its own behind
/// backslashes.
pub(crate) fn escape_markdown(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for (place, character) in visible(text).char_indices() {
        let begins_a_block = place == 0 && matches!(character, '#' | '>' | '=' | '-' | '+');
        let is_own =
            matches!(character, '\\' | '|' | '*' | '_' | '`' | '<' | '[' | ']' | '&' | '~');
        if is_own || begins_a_block {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(group: &str, head: &str, texts: [&str; 2]) -> Figures {
        let entries = texts.map(|text| match text.split_once('*') {
            Some((text, _)) => Entry { text: text.into(), mark: "*".into() },
            None => Entry { text: text.into(), mark: String::new() },
        });
        Figures { group: group.into(), head: head.into(), entries: entries.into() }
    }

    fn grid() -> Grid {
        let labels = Labels { head: "Test", texts: vec!["read".into(), "write".into()] };
        let columns = vec![
            figures("a long name", "1", ["10", "2*"]),
            figures("a long name", "2", ["1", "2"]),
            figures("b", "1", ["100", "200"]),
        ];
        Grid::new(vec![labels], columns)
    }

    #[test]
    fn headings_stand_over_their_columns() {
        let expected = "       a long name   b\n\
                        Test    1        2    1\n\
                        ───────────────────────\n\
                        read   10        1  100\n\
                        write   2*       2  200\n";
        assert_eq!(grid().text(None), expected);
    }

    #[test]
    fn a_wide_table_becomes_several_and_no_cell_wraps() {
        let grid = grid();
        assert_eq!(grid.parts(None).len(), 1);
        assert_eq!(grid.parts(Some(23)).len(), 1);
        assert_eq!(grid.parts(Some(22)), [0..2, 2..3]);
        assert_eq!(grid.parts(Some(5)), [0..1, 1..2, 2..3]);
        assert_eq!(grid.text(Some(22)).matches("Test").count(), 2);
    }

    #[test]
    fn markdown_keeps_its_own_characters_apart() {
        assert_eq!(escape_markdown("a|b*c_d\n"), r"a\|b\*c\_d\\n");
        assert!(grid().markdown().starts_with("| Test | a long name 1 | a long name 2 | b 1 |\n"));
        assert!(grid().markdown().contains("| write | 2\\* | 2 | 200 |\n"));
    }
}
