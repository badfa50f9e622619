//! The throughput room's report: programs down, systems and drives across, in
//! each cell a rate and its share of one CPU (Kridle & McKusick 1983, section 5).

mod details;
mod matrix;
mod table;

pub use details::{calibration_line, details};
pub use matrix::{Cell, Column, Figure, Matrix};
pub use table::table;

/// Both tables as Markdown, with their footnotes.
pub fn markdown(matrix: &Matrix) -> String {
    let printed = table::sheet(matrix);
    let detailed = details::sheet(matrix);
    format!("{}\n{}", printed.markdown(), detailed.markdown())
}

/// A title, a table, and what stands under it.
struct Sheet {
    title: String,
    grid: crate::grid::Grid,
    notes: crate::footnote::Footnotes,
    /// A cell says `n.m.` and no footnote says why.
    unexplained: bool,
}

/// What the paper prints where there is no number.
const NOT_MEASURED: &str = "n.m.";

/// What stands for a table without columns.
const NOTHING: &str = "Nothing was measured.";

impl Sheet {
    fn text(&self, limit: Option<u16>) -> String {
        if self.grid.is_empty() {
            return format!("{NOTHING}\n");
        }
        let title = crate::words::hang("", &self.title, limit);
        let legend = if self.unexplained { "n.m. not measured\n" } else { "" };
        let notes = format!("{}{legend}", self.notes.text(limit));
        let gap = if notes.is_empty() { "" } else { "\n" };
        format!("{title}\n{}{gap}{notes}", self.grid.text(limit))
    }

    fn markdown(&self) -> String {
        if self.grid.is_empty() {
            return format!("{NOTHING}\n");
        }
        let legend = if self.unexplained { "- n.m. not measured\n" } else { "" };
        let notes = format!("{}{legend}", self.notes.markdown());
        let gap = if notes.is_empty() { "" } else { "\n" };
        format!("**{}**\n\n{}{gap}{notes}", self.title, self.grid.markdown())
    }
}
