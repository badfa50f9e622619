//! Footnotes: one number per distinct reason, a bare `*` if there is only one. Reasons that
//! differ only in their figures are one footnote, which gives the range of each figure.
//!
//! A mark tells one cell from the others. A reason that most cells of a table share, or most of one
//! of its columns, is a note beneath the table instead, and marks none of them.

use crate::words::{clean, hang};

/// The reasons under a table, in the order in which a reader meets them.
#[derive(Debug, Default)]
pub(crate) struct Footnotes {
    noun: &'static str,
    reasons: Vec<Reason>,
    cells: Vec<Place>,
}

/// A cell of a table: where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    column: String,
    row: String,
}

/// The share of cells (of a table, of a column) that makes a reason one of them all, and the least
/// number of cells that can share anything.
const SHARED: (usize, usize) = (3, 4);
const LEAST_CELLS: usize = 3;
/// So many cells without a shared reason are named.
const MOST_NAMED: usize = 3;

/// A reason of one shape: words, and the range of each figure between them; and in how many passes
/// it held, where those were not all.
#[derive(Debug)]
struct Reason {
    phrase: Phrase,
    passes: Option<Phrase>,
    /// In one cell it held in all passes, in another in some.
    is_mixed: bool,
    /// It can be shared: its cause may lie outside of the cell.
    can_be_shared: bool,
    /// The cells in which it holds.
    holds_in: Vec<Place>,
    /// The columns that share it; it marks none of their cells.
    shared_by: Vec<String>,
}

#[derive(Debug)]
struct Phrase {
    words: Vec<String>,
    ranges: Vec<Option<(f64, f64)>>,
}

impl Phrase {
    fn of(text: &str) -> Self {
        let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
        let ranges =
            words.iter().map(|word| figure(word).map(|(value, _)| (value, value))).collect();
        Self { words, ranges }
    }

    /// Whether the other says the same but for its figures.
    fn is_like(&self, other: &Self) -> bool {
        let is_alike = |(a, b): (&String, &String)| {
            let tails = figure(a).zip(figure(b)).map(|((_, a), (_, b))| (a, b));
            a == b || tails.is_some_and(|(a, b)| a == b)
        };
        let mut pairs = self.words.iter().zip(&other.words);
        self.words.len() == other.words.len() && pairs.all(is_alike)
    }

    fn widen(&mut self, other: &Self) {
        for (mine, theirs) in self.ranges.iter_mut().zip(&other.ranges) {
            if let (Some((low, high)), Some((value, _))) = (mine, theirs) {
                (*low, *high) = (low.min(*value), high.max(*value));
            }
        }
    }

    fn text(&self) -> String {
        let word = |(word, range): (&String, &Option<(f64, f64)>)| match range {
            Some((low, high)) if low < high => {
                format!("{low} to {high}{}", figure(word).map_or("", |(_, tail)| tail))
            }
            _ => word.clone(),
        };
        self.words.iter().zip(&self.ranges).map(word).collect::<Vec<_>>().join(" ")
    }
}

impl Reason {
    /// The analysis says in brackets in how many passes a reason held.
    fn of(text: &str) -> Self {
        let cut = text.rfind(" (in ").filter(|_| text.ends_with(" passes)"));
        let (phrase, passes) = text.split_at(cut.unwrap_or(text.len()));
        Self {
            phrase: Phrase::of(phrase),
            passes: cut.map(|_| Phrase::of(passes.trim_start())),
            is_mixed: false,
            can_be_shared: !model::doubt::is_of_its_cell(text),
            holds_in: vec![],
            shared_by: vec![],
        }
    }

    fn is_like(&self, other: &Self) -> bool {
        self.phrase.is_like(&other.phrase)
    }

    fn widen(&mut self, other: &Self) {
        self.phrase.widen(&other.phrase);
        match (&mut self.passes, &other.passes) {
            (Some(mine), Some(theirs)) if mine.is_like(theirs) => mine.widen(theirs),
            (None, None) => {}
            _ => self.is_mixed = true,
        }
    }

    fn text(&self) -> String {
        match &self.passes {
            _ if self.is_mixed => format!("{} (in some passes, or all)", self.phrase.text()),
            Some(passes) => format!("{} {}", self.phrase.text(), passes.text()),
            None => self.phrase.text(),
        }
    }

    /// Finds the columns that share it: all of the table's, or those of which most cells do.
    fn find_sharers(&mut self, cells: &[Place]) {
        let is_shared = |cells: &[&Place]| {
            let holds = cells.iter().filter(|place| self.holds_in.contains(place)).count();
            self.can_be_shared
                && cells.len() >= LEAST_CELLS
                && holds * SHARED.1 >= cells.len() * SHARED.0
        };
        let of = |column: &String| -> Vec<&Place> {
            cells.iter().filter(|place| place.column == *column).collect()
        };
        let columns = crate::words::first_seen(cells.iter().map(|place| &place.column));
        let all: Vec<&Place> = cells.iter().collect();
        self.shared_by = match is_shared(&all) {
            true => columns,
            false => columns.into_iter().filter(|column| is_shared(&of(column))).collect(),
        };
    }

    /// Whether it marks any cell.
    fn is_marked(&self) -> bool {
        let is_own = |place: &Place| !self.shared_by.contains(&place.column);
        self.shared_by.is_empty() || self.holds_in.iter().any(is_own)
    }

    /// In which of the cells it holds that share it: `in all cells but read on d`.
    fn scope(&self, noun: &str, cells: &[Place]) -> String {
        let columns = crate::words::first_seen(cells.iter().map(|place| &place.column));
        let of_all = self.shared_by.len() == columns.len();
        let sharing = || cells.iter().filter(|place| self.shared_by.contains(&place.column));
        let without: Vec<&Place> = sharing().filter(|p| !self.holds_in.contains(p)).collect();
        let name = |place: &Place| match (columns.len(), of_all) {
            (1, _) => place.row.clone(),
            _ => format!("{} on {}", place.row, place.column),
        };
        let whole = match of_all {
            true => format!("all {noun}"),
            false => format!("all {noun} of {}", self.shared_by.join(", ")),
        };
        match without.len() {
            0 => format!("in {whole}"),
            few @ ..=MOST_NAMED if few > 0 => {
                let names: Vec<String> = without.into_iter().map(name).collect();
                format!("in {whole} but {}", names.join(", "))
            }
            many => format!("in {whole} but {many}"),
        }
    }
}

/// The value of a word that is a plain figure (digits, at most a point, perhaps a minus), and what
/// follows it: a colon, a bracket.
fn figure(word: &str) -> Option<(f64, &str)> {
    let digits = word.trim_end_matches([',', ':', ';', ')']);
    let unsigned = digits.strip_prefix('-').unwrap_or(digits);
    let is_plain =
        !unsigned.is_empty() && unsigned.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let value = digits.parse().ok().filter(|_| is_plain)?;
    Some((value, &word[digits.len()..]))
}

impl Footnotes {
    /// The footnotes of these reasons, each of which is marked.
    pub(crate) fn of<'a>(reasons: impl IntoIterator<Item = &'a str>) -> Self {
        let mut notes = Self::default();
        reasons.into_iter().for_each(|text| notes.add(text, None));
        notes
    }

    /// The footnotes of cells, each with its column, its row and its reasons. The noun is what a
    /// note calls them: `cells`, or `rows`.
    pub(crate) fn of_cells<'a>(
        noun: &'static str,
        cells: impl IntoIterator<Item = (String, String, Vec<&'a str>)>,
    ) -> Self {
        let mut notes = Self { noun, ..Self::default() };
        for (column, row, reasons) in cells {
            let place = Place { column, row };
            reasons.into_iter().for_each(|text| notes.add(text, Some(&place)));
            notes.cells.push(place);
        }
        let Self { reasons, cells, .. } = &mut notes;
        reasons.iter_mut().for_each(|reason| reason.find_sharers(cells));
        notes
    }

    fn add(&mut self, text: &str, place: Option<&Place>) {
        let reason = Reason::of(&clean(text));
        let position = self.reasons.iter().position(|known| known.is_like(&reason));
        let position = position.unwrap_or_else(|| {
            self.reasons.push(Reason::of(&clean(text)));
            self.reasons.len() - 1
        });
        self.reasons[position].widen(&reason);
        self.reasons[position].holds_in.extend(place.cloned());
    }

    /// What stands behind a cell with these reasons: ``, `*`, `*2` or `*1,3`.
    pub(crate) fn mark<'a>(&self, reasons: impl IntoIterator<Item = &'a str>) -> String {
        self.mark_in("", reasons)
    }

    /// The same, in a column, whose shared reasons mark none of its cells.
    pub(crate) fn mark_in<'a>(
        &self,
        column: &str,
        reasons: impl IntoIterator<Item = &'a str>,
    ) -> String {
        let place = |text: &'a str| {
            let reason = Reason::of(&clean(text));
            let known = self.reasons.iter().position(|known| known.is_like(&reason))?;
            let is_shared = self.reasons[known].shared_by.iter().any(|shared| shared == column);
            (!is_shared).then_some(known)
        };
        let mut places: Vec<usize> = reasons.into_iter().filter_map(place).collect();
        places.sort_unstable();
        places.dedup();
        if places.is_empty() {
            return String::new();
        }
        let numbers: Vec<String> = places.iter().map(|place| self.number(*place)).collect();
        format!("*{}", numbers.join(","))
    }

    /// The number of a reason among those that mark cells; nothing where it is the only one.
    fn number(&self, place: usize) -> String {
        let marked = |reasons: &[Reason]| reasons.iter().filter(|r| r.is_marked()).count();
        match marked(&self.reasons) {
            1 => String::new(),
            _ => (marked(&self.reasons[..place]) + 1).to_string(),
        }
    }

    /// What is shared, with a head of its own, and then each mark with its reason.
    fn entries(&self) -> impl Iterator<Item = (String, String)> {
        let shared = self.reasons.iter().filter(|reason| !reason.shared_by.is_empty());
        let shared = shared.map(|reason| {
            (
                "note".to_owned(),
                format!("{}: {}", reason.scope(self.noun, &self.cells), reason.text()),
            )
        });
        let marked = self.reasons.iter().enumerate().filter(|(_, reason)| reason.is_marked());
        shared.chain(
            marked.map(|(place, reason)| (format!("*{}", self.number(place)), reason.text())),
        )
    }

    /// The footnotes for a terminal, wrapped.
    pub(crate) fn text(&self, limit: Option<u16>) -> String {
        self.entries().map(|(mark, reason)| hang(&format!("{mark} "), &reason, limit)).collect()
    }

    /// The footnotes as a Markdown list.
    pub(crate) fn markdown(&self) -> String {
        let escape = crate::grid::escape_markdown;
        self.entries().map(|(m, r)| format!("- {} {}\n", escape(&m), escape(&r))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_reason_needs_no_number() {
        let notes = Footnotes::of(["hot", "hot"]);
        assert_eq!(notes.mark(["hot"]), "*");
        assert_eq!(notes.mark([]), "");
        assert_eq!(notes.text(None), "* hot\n");
    }

    #[test]
    fn reasons_that_differ_in_figures_are_one_with_their_range() {
        let notes =
            Footnotes::of(["it took 3 % of sda1", "it took 17.5 % of sda1", "it took 4 % of sdb1"]);
        assert_eq!(notes.mark(["it took 17.5 % of sda1"]), "*1");
        assert_eq!(notes.text(None), "*1 it took 3 to 17.5 % of sda1\n*2 it took 4 % of sdb1\n");
        let notes =
            Footnotes::of(["at byte 512: by -4 %", "at byte 0: by 2 %", "at byte 7; by 2 %"]);
        assert_eq!(notes.text(None), "*1 at byte 0 to 512: by -4 to 2 %\n*2 at byte 7; by 2 %\n");
    }

    #[test]
    fn distinct_reasons_are_numbered_and_reused() {
        let notes = Footnotes::of(["hot", "cold", "hot", "wet"]);
        assert_eq!(notes.mark(["cold"]), "*2");
        assert_eq!(notes.mark(["wet", "hot", "wet"]), "*1,3");
        assert_eq!(notes.text(None), "*1 hot\n*2 cold\n*3 wet\n");
    }

    /// Rows of each column, and what is doubted of each.
    fn table(columns: &[(&str, &[&'static str])]) -> Footnotes {
        let cells = columns.iter().flat_map(|(column, cells)| {
            let cell = move |(row, text): (usize, &&'static str)| {
                let reasons = Some(*text).filter(|text| !text.is_empty()).into_iter().collect();
                ((*column).to_owned(), format!("row{row}"), reasons)
            };
            cells.iter().enumerate().map(cell)
        });
        Footnotes::of_cells("cells", cells)
    }

    #[test]
    fn what_all_cells_share_is_one_note_and_no_mark() {
        let notes = table(&[
            ("a", &["the disk moved 3 %", "the disk moved 5 %"]),
            ("b", &["the disk moved 4 % (in 1 of 3 passes)", "the disk moved 4 %"]),
        ]);
        assert_eq!(notes.mark_in("a", ["the disk moved 3 %"]), "");
        let text = "note in all cells: the disk moved 3 to 5 % (in some passes, or all)\n";
        assert_eq!(notes.text(None), text);
    }

    #[test]
    fn who_does_not_share_it_is_named() {
        let notes = table(&[("a", &["hot", "hot", ""]), ("b", &["hot", "hot", "hot"])]);
        assert_eq!(notes.text(None), "note in all cells but row2 on a: hot\n");
        let one = table(&[("a", &["hot", "hot", "", "hot"])]);
        assert_eq!(one.text(None), "note in all cells but row2: hot\n");
    }

    #[test]
    fn what_a_column_shares_is_its_note_and_marks_others() {
        let notes = table(&[("a", &["hot"; 4]), ("b", &["hot", "cold", "", ""]), ("c", &[""; 4])]);
        assert_eq!([notes.mark_in("a", ["hot"]), notes.mark_in("b", ["hot"])], ["", "*1"]);
        assert_eq!(notes.mark_in("b", ["cold"]), "*2");
        assert_eq!(notes.text(None), "note in all cells of a: hot\n*1 hot\n*2 cold\n");
    }

    #[test]
    fn a_wide_interval_is_marked_where_it_stands() {
        let notes = table(&[(
            "a",
            &["± 30 % after 5 passes", "± 84 % after 9 passes", "± 12 % after 5 passes"],
        )]);
        assert_eq!(notes.mark_in("a", ["± 30 % after 5 passes"]), "*");
        assert_eq!(notes.text(None), "* ± 12 to 84 % after 5 to 9 passes\n");
    }

    #[test]
    fn two_cells_share_nothing() {
        let notes = table(&[("a", &["hot"]), ("b", &["hot"])]);
        assert_eq!(notes.mark_in("a", ["hot"]), "*");
        assert_eq!(notes.text(None), "* hot\n");
    }
}
