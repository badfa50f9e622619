//! Footnotes: one number per distinct reason, a bare `*` if there is only one. Reasons that
//! differ only in their figures are one footnote, which gives the range of each figure.
//!
//! A mark tells one cell from the others. A reason that most cells of a table share, or most of one
//! of its columns, is a note beneath the table instead, and marks none of them.

use crate::doubt::Phrase;
use crate::words::{clean, hang, name};
use model::doubt::Doubt;

/// The reasons under a table, in the order in which a reader meets them.
#[derive(Debug, Default)]
pub(crate) struct Footnotes {
    noun: &'static str,
    reasons: Vec<Reason>,
    cells: Vec<GridPosition>,
}

/// A cell of a table: where it stands. Two rows may be called the same.
#[derive(Debug, Clone, PartialEq, Eq)]
struct GridPosition {
    /// Which of the table's cells it is.
    number: usize,
    column: String,
    row: String,
}

/// The share of cells (of a table, of a column) that makes a reason one of them all, and the least
/// number of cells that can share anything.
const SHARED: (usize, usize) = (3, 4);
const LEAST_CELLS: usize = 3;
/// So many cells without a shared reason are named.
const MOST_NAMED: usize = 3;

/// Doubts of one kind, and where they hold.
#[derive(Debug)]
struct Reason {
    /// What stands before it: the side that it is of.
    side: &'static str,
    phrase: Phrase,
    /// The cells in which it holds.
    holds_in: Vec<GridPosition>,
    /// The columns that share it; it marks none of their cells.
    shared_by: Vec<String>,
}

/// What a footnote is to say of a cell.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Note {
    /// `A: ` or `B: ` where two sides are compared.
    pub(crate) side: &'static str,
    pub(crate) doubt: Doubt,
}

impl Note {
    /// A sentence that is of this cell alone.
    pub(crate) fn said(sentence: &str) -> Self {
        Self { side: "", doubt: Doubt::refused(sentence) }
    }
}

impl From<&Doubt> for Note {
    fn from(doubt: &Doubt) -> Self {
        Self { side: "", doubt: doubt.clone() }
    }
}

impl Reason {
    fn of(note: &Note) -> Self {
        let phrase = Phrase::of(&note.doubt);
        Self { side: note.side, phrase, holds_in: vec![], shared_by: vec![] }
    }

    fn covers(&self, note: &Note) -> bool {
        self.side == note.side && self.phrase.covers(&note.doubt)
    }

    fn text(&self) -> String {
        clean(&format!("{}{}", self.side, self.phrase.text()))
    }

    /// Finds the columns that share it: all of the table's, or those of which most cells do.
    fn find_sharers(&mut self, cells: &[GridPosition]) {
        let is_shared = |cells: &[&GridPosition]| {
            let holds = cells.iter().filter(|place| self.holds_in.contains(place)).count();
            !self.phrase.is_of_its_cell()
                && cells.len() >= LEAST_CELLS
                && holds * SHARED.1 >= cells.len() * SHARED.0
        };
        let of = |column: &String| -> Vec<&GridPosition> {
            cells.iter().filter(|place| place.column == *column).collect()
        };
        let columns = crate::words::first_seen(cells.iter().map(|place| &place.column));
        let all: Vec<&GridPosition> = cells.iter().collect();
        self.shared_by = match is_shared(&all) {
            true => columns,
            false => columns.into_iter().filter(|column| is_shared(&of(column))).collect(),
        };
    }

    /// The first cells in which it holds, by name.
    fn places(&self) -> String {
        let named = self.holds_in.iter().take(MOST_NAMED).map(|place| match place.row.as_str() {
            "" => name(&place.column),
            row => name(row),
        });
        let named: Vec<String> = named.collect();
        let left = self.holds_in.len() - named.len();
        let more = if left > 0 { format!(" and {left} more") } else { String::new() };
        format!("{}{more}", named.join(", "))
    }

    /// Whether it marks any cell.
    fn is_marked(&self) -> bool {
        let is_own = |place: &GridPosition| !self.shared_by.contains(&place.column);
        self.shared_by.is_empty() || self.holds_in.iter().any(is_own)
    }

    /// In which of the cells it holds that share it: `in all cells but read on d`.
    fn scope(&self, noun: &str, cells: &[GridPosition]) -> String {
        let columns = crate::words::first_seen(cells.iter().map(|place| &place.column));
        let of_all = self.shared_by.len() == columns.len();
        let sharing = || cells.iter().filter(|place| self.shared_by.contains(&place.column));
        let without: Vec<&GridPosition> =
            sharing().filter(|p| !self.holds_in.contains(p)).collect();
        let name = |place: &GridPosition| match (columns.len(), of_all) {
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

impl Footnotes {
    /// The footnotes of these reasons, each of which is marked.
    pub(crate) fn of(reasons: impl IntoIterator<Item = Note>) -> Self {
        let mut notes = Self::default();
        reasons.into_iter().for_each(|note| notes.add(&note, None));
        notes
    }

    /// The footnotes of cells, each with its column, its row and its reasons. The noun is what a
    /// note calls them: `cells`, or `rows`.
    pub(crate) fn of_cells(
        noun: &'static str,
        cells: impl IntoIterator<Item = (String, String, Vec<Note>)>,
    ) -> Self {
        let mut notes = Self { noun, ..Self::default() };
        for (number, (column, row, reasons)) in cells.into_iter().enumerate() {
            let place = GridPosition { number, column, row };
            reasons.iter().for_each(|note| notes.add(note, Some(&place)));
            notes.cells.push(place);
        }
        let Self { reasons, cells, .. } = &mut notes;
        reasons.iter_mut().for_each(|reason| reason.find_sharers(cells));
        notes
    }

    fn add(&mut self, note: &Note, place: Option<&GridPosition>) {
        let position = self.reasons.iter().position(|known| known.covers(note));
        let position = position.unwrap_or_else(|| {
            self.reasons.push(Reason::of(note));
            self.reasons.len() - 1
        });
        self.reasons[position].phrase.widen(&note.doubt);
        self.reasons[position].holds_in.extend(place.cloned());
    }

    /// What stands behind a cell with these reasons: ``, `*`, `*2` or `*1,3`.
    pub(crate) fn mark(&self, reasons: impl IntoIterator<Item = Note>) -> String {
        self.mark_in("", reasons)
    }

    /// The same, in a column, whose shared reasons mark none of its cells.
    pub(crate) fn mark_in(&self, column: &str, reasons: impl IntoIterator<Item = Note>) -> String {
        let place = |note: Note| {
            let known = self.reasons.iter().position(|known| known.covers(&note))?;
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
    pub(crate) fn entries(&self) -> impl Iterator<Item = (String, String)> {
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

    /// Every reason with where it holds, those of single cells with the cells' names.
    pub(crate) fn reasons(&self) -> impl Iterator<Item = String> {
        self.reasons.iter().map(|reason| {
            let shared =
                (!reason.shared_by.is_empty()).then(|| reason.scope(self.noun, &self.cells));
            let place = shared.unwrap_or_else(|| format!("in {}", reason.places()));
            format!("{}, {place}", reason.text())
        })
    }

    /// Each reason with how many cells it holds in, the widest first.
    pub(crate) fn by_weight(&self) -> Vec<(usize, String)> {
        let all = self.reasons.iter().map(|reason| (reason.holds_in.len(), reason.text()));
        let mut all: Vec<(usize, String)> = all.collect();
        all.sort_by_key(|(cells, _)| std::cmp::Reverse(*cells));
        all
    }

    /// The footnotes for a terminal, wrapped.
    pub(crate) fn text(&self, limit: Option<u16>) -> String {
        self.entries().map(|(mark, reason)| hang(&format!("{mark} "), &reason, limit)).collect()
    }

    pub(crate) fn markdown(&self) -> String {
        let escape = crate::grid::escape_markdown;
        self.entries().map(|(m, r)| format!("- {} {}\n", escape(&m), escape(&r))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::doubt::{Code, Passes};

    fn stolen(percent: f64) -> Note {
        (&Doubt::new(Code::StolenTime, [("percent", percent.into())])).into()
    }

    #[test]
    fn a_single_reason_needs_no_number() {
        let notes = Footnotes::of([Note::said("hot"), Note::said("hot")]);
        assert_eq!(notes.mark([Note::said("hot")]), "*");
        assert_eq!(notes.mark([]), "");
        assert_eq!(notes.text(None), "* hot\n");
    }

    #[test]
    fn reasons_that_differ_in_figures_are_one_with_their_range() {
        let notes = Footnotes::of([stolen(3.0), stolen(17.0), Note::said("hot")]);
        assert_eq!(notes.mark([stolen(17.0)]), "*1");
        let text = "*1 the hypervisor took 3 to 17 % of the CPU time\n*2 hot\n";
        assert_eq!(notes.text(None), text);
        // Of another side it is another.
        let of = |side| Note { side, ..stolen(3.0) };
        let sides = Footnotes::of([of("A: "), of("B: ")]);
        assert_eq!([sides.mark([of("A: ")]), sides.mark([of("B: ")])], ["*1", "*2"]);
    }

    #[test]
    fn distinct_reasons_are_numbered_and_reused() {
        let notes = Footnotes::of(["hot", "cold", "hot", "wet"].map(Note::said));
        assert_eq!(notes.mark([Note::said("cold")]), "*2");
        assert_eq!(notes.mark(["wet", "hot", "wet"].map(Note::said)), "*1,3");
        assert_eq!(notes.text(None), "*1 hot\n*2 cold\n*3 wet\n");
    }

    /// Rows of each column, and what is doubted of each.
    fn table(columns: &[(&str, &[Option<Note>])]) -> Footnotes {
        let cells = columns.iter().flat_map(|(column, cells)| {
            let cell = move |(row, note): (usize, &Option<Note>)| {
                ((*column).to_owned(), format!("row{row}"), note.iter().cloned().collect())
            };
            cells.iter().enumerate().map(cell)
        });
        Footnotes::of_cells("cells", cells)
    }

    fn hot() -> Option<Note> {
        Some(Note::said("hot"))
    }

    #[test]
    fn what_all_cells_share_is_one_note_and_no_mark() {
        let mut some = stolen(4.0);
        some.doubt.passes = Some(Passes { held: 1, all: 3 });
        let notes = table(&[
            ("a", &[Some(stolen(3.0)), Some(stolen(5.0))]),
            ("b", &[Some(some), Some(stolen(4.0))]),
        ]);
        assert_eq!(notes.mark_in("a", [stolen(3.0)]), "");
        let text = "note in all cells: the hypervisor took 3 to 5 % of the CPU time (in \
            some passes, or all)\n";
        assert_eq!(notes.text(None), text);
    }

    #[test]
    fn who_does_not_share_it_is_named() {
        let notes = table(&[("a", &[hot(), hot(), None]), ("b", &[hot(), hot(), hot()])]);
        assert_eq!(notes.text(None), "note in all cells but row2 on a: hot\n");
        let one = table(&[("a", &[hot(), hot(), None, hot()])]);
        assert_eq!(one.text(None), "note in all cells but row2: hot\n");
    }

    #[test]
    fn what_a_column_shares_is_its_note_and_marks_others() {
        let cold = || Some(Note::said("cold"));
        let notes = table(&[
            ("a", &[hot(), hot(), hot(), hot()]),
            ("b", &[hot(), cold(), None, None]),
            ("c", &[None, None, None, None]),
        ]);
        assert_eq!([notes.mark_in("a", hot()), notes.mark_in("b", hot())], ["", "*1"]);
        assert_eq!(notes.mark_in("b", cold()), "*2");
        assert_eq!(notes.text(None), "note in all cells of a: hot\n*1 hot\n*2 cold\n");
    }

    #[test]
    fn a_wide_interval_is_marked_where_it_stands() {
        let wide = |percent: f64, passes: f64| {
            let values = [("percent", percent.into()), ("passes", passes.into())];
            Some(Note::from(&Doubt::new(Code::WideInterval, values)))
        };
        let notes = table(&[("a", &[wide(30.0, 5.0), wide(84.0, 9.0), wide(12.0, 5.0)])]);
        assert_eq!(notes.mark_in("a", wide(30.0, 5.0)), "*");
        let text = notes.text(None);
        assert!(text.starts_with("* still ±12 to 84 % after 5 to 9 passes: use"), "{text}");
    }

    #[test]
    fn of_rows_with_one_name_each_has_its_own_doubts() {
        let rows = |which: &[(&str, bool)]| {
            let cell = |(row, is_hot): &(&str, bool)| {
                (String::new(), (*row).to_owned(), if *is_hot { hot() } else { None })
            };
            let cells = which.iter().map(cell);
            Footnotes::of_cells(
                "rows",
                cells.map(|(c, r, note)| (c, r, note.into_iter().collect())),
            )
        };
        let notes = rows(&[("fsync", true), ("fsync", false), ("O_SYNC", true), ("O_SYNC", false)]);
        assert_eq!(notes.mark_in("", hot()), "*");
        assert_eq!(notes.text(None), "* hot\n");
    }

    #[test]
    fn two_cells_share_nothing() {
        let notes = table(&[("a", &[hot()]), ("b", &[hot()])]);
        assert_eq!(notes.mark_in("a", hot()), "*");
        assert_eq!(notes.text(None), "* hot\n");
    }
}
