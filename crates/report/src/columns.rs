//! Columns of figures by a table: of each a heading, the quantity that it shows, and how a number
//! is printed.
//!
//! Non-goals: which rows there are.

use crate::grid::Figures;
use crate::sheet::NOT_MEASURED;

/// A column: its group, its head, the quantity, and how it is printed.
pub(crate) type Column = (&'static str, &'static str, &'static str, fn(f64) -> String);

/// The columns over the rows; `value` is of a row and a quantity.
pub(crate) fn figures<R>(
    columns: &[Column],
    rows: &[R],
    value: impl Fn(&R, &'static str) -> Option<f64>,
) -> Vec<Figures> {
    let column = |(group, head, quantity, show): &Column| {
        let text = |row| value(row, quantity).map_or_else(|| NOT_MEASURED.to_owned(), show);
        Figures::plain(group, head, rows.iter().map(text))
    };
    columns.iter().map(column).collect()
}
