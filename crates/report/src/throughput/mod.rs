//! The throughput experiment's report: programs down, systems and drives across, in
//! each cell a rate and its share of one CPU (Kridle & McKusick 1983, section 5).

mod details;
mod matrix;
mod table;

pub use crate::figure::Figure;
pub use details::details;
pub use matrix::{Cell, Column, Matrix};
pub use table::table;

/// Both tables as Markdown, with their footnotes.
pub fn markdown(matrix: &Matrix) -> String {
    let printed = table::sheet(matrix);
    let detailed = details::sheet(matrix);
    format!("{}\n{}", printed.markdown(), detailed.markdown())
}
