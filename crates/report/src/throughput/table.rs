//! The table as the paper prints it.

use super::matrix::{Cell, Column, Matrix, RATE};
use crate::footnote::Footnotes;
use crate::grid::Entry;
use crate::listing::Listing;
use crate::number::{CANNOT_TELL, RateUnit};
use crate::sheet::{NOT_MEASURED, Sheet};

/// The table for a terminal of `width` columns: rates with their share of one CPU in parentheses,
/// `n.m.` where nothing was measured, `*` where the number is suspect, and under it the reasons.
/// Too wide a table becomes several.
pub fn table(matrix: &Matrix, width: Option<u16>) -> String {
    sheet(matrix).text(width)
}

pub(super) fn rate_unit<'a>(matrices: impl IntoIterator<Item = &'a Matrix>) -> RateUnit {
    let rates = |matrix: &'a Matrix| {
        let rate = |(row, column)| matrix.cell(row, column)?.value(RATE);
        matrix.places().filter_map(rate)
    };
    RateUnit::for_rates(matrices.into_iter().flat_map(rates))
}

/// What a column is called where its cells share a note.
pub(super) fn column_name(matrix: &Matrix, column: usize) -> String {
    let Column { target, drives } = &matrix.columns[column];
    if drives == "1" { target.clone() } else { format!("{target} × {drives}") }
}

pub(super) fn footnotes(matrix: &Matrix) -> Footnotes {
    let cell = |(row, column): (usize, usize)| {
        let reasons = matrix.cell(row, column)?.reasons();
        Some((column_name(matrix, column), matrix.rows[row].clone(), reasons))
    };
    Footnotes::of_cells("cells", matrix.places().filter_map(cell))
}

pub(super) fn sheet(matrix: &Matrix) -> Sheet {
    let unit = rate_unit([matrix]);
    let notes = footnotes(matrix);
    let rows: Vec<usize> = (0..matrix.rows.len()).collect();
    let listing = Listing::of(&rows).label("Test", |row| matrix.rows[*row].clone());
    let listing = matrix.columns.iter().enumerate().fold(listing, |listing, (place, column)| {
        let name = column_name(matrix, place);
        listing.entries(&column.target, &column.drives_text(), |row| {
            matrix.cell(*row, place).map_or_else(
                || NOT_MEASURED.into(),
                |cell| Entry {
                    text: cell_text(cell, unit),
                    mark: notes.mark_in(&name, cell.reasons()),
                },
            )
        })
    });
    let title = format!(
        "Throughput in {} ({}) and the program's share of one CPU",
        unit.name, unit.meaning
    );
    Sheet::of(title, listing.grid(), notes)
}

/// `560 (70%)`, `560` where the CPU's share is not known, `cannot tell`, or `n.m.`.
fn cell_text(cell: &Cell, unit: RateUnit) -> String {
    if cell.rate().is_some_and(|rate| rate.is_open) {
        return CANNOT_TELL.to_owned();
    }
    match (cell.value(RATE), cell.cpu_percent()) {
        (Some(rate), Some(cpu)) => format!("{} ({cpu:.0}%)", unit.show(rate)),
        (Some(rate), None) => unit.show(rate),
        _ => NOT_MEASURED.into(),
    }
}
