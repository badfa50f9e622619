//! What does not fit in the paper's cells: intervals, requests, the whole CPU
//! bill, latencies, and the share of the path's ceiling. One row per cell.

use super::matrix::{CPU, Cell, Matrix, RATE};
use super::table;
use crate::figure::Figure;
use crate::footnote::Footnotes;
use crate::grid::{Entry, Figures, Grid, Labels};
use crate::number::{RateUnit, significant};
use crate::sheet::{NOT_MEASURED, Sheet};
use model::units::show_time_ns;

struct Detail {
    /// Its heading; `{unit}` is the table's rate unit, `{interval}` what intervals are.
    head: &'static str,
    quantity: &'static str,
    show: fn(&Figure, RateUnit) -> Option<String>,
    /// The cell's doubts are marked here, with the printed table's footnotes.
    marked: bool,
}

const fn detail(
    head: &'static str,
    quantity: &'static str,
    show: fn(&Figure, RateUnit) -> Option<String>,
) -> Detail {
    Detail { head, quantity, show, marked: false }
}

const COLUMNS: &[Detail] = &[
    Detail {
        marked: true,
        ..detail("{unit} ± {interval}", RATE, |figure, unit| {
            figure.value.map(|v| unit.show_interval(v, figure.half_interval()))
        })
    },
    detail("IOPS", "rate_operations_per_s", number),
    detail("Thread CPU", CPU, share),
    detail("Total CPU", "cpu_total_percent", share),
    detail("Test bed", "cpu_test_bed_percent", share),
    detail("Of ceiling", "ceiling_percent", share),
    detail("p50", "latency_p50_ns", time),
    detail("p99", "latency_p99_ns", time),
    detail("Max", "latency_max_ns", time),
    detail("Sync p50", "sync_latency_p50_ns", time),
    detail("Sync p99", "sync_latency_p99_ns", time),
    detail("Sync max", "sync_latency_max_ns", time),
    detail("Device bytes", "device_bytes_ratio", number),
    detail("Passes", RATE, |figure, _| Some(figure.count.to_string())),
];

fn number(figure: &Figure, _: RateUnit) -> Option<String> {
    figure.value.map(significant)
}

fn share(figure: &Figure, _: RateUnit) -> Option<String> {
    figure.value.map(|value| format!("{}%", significant(value)))
}

fn time(figure: &Figure, _: RateUnit) -> Option<String> {
    figure.value.map(show_time_ns)
}

/// The details for a terminal of `width` columns, one row per cell; columns that would be empty
/// are left out. Marks are those of the printed table, whose footnotes are not printed again.
pub fn details(matrix: &Matrix, width: Option<u16>) -> String {
    sheet(matrix).text(width)
}

/// A row a cell, with the marks of these footnotes.
pub(super) fn grid(matrix: &Matrix, unit: RateUnit, notes: &Footnotes) -> Grid {
    let figures = COLUMNS.iter().filter_map(|column| figures(matrix, column, unit, notes));
    Grid::new(labels(matrix), figures.collect())
}

pub(super) fn sheet(matrix: &Matrix) -> Sheet {
    let grid = grid(matrix, table::rate_unit([matrix]), &table::footnotes(matrix));
    let interval = match matrix.spans_parameters() {
        true => "the span over samples of the model's uncertain parameters",
        false => "its 95% interval",
    };
    let title = format!(
        "Details: rate with {interval}, shares of one CPU, latency, device bytes per program byte"
    );
    Sheet::of(title, grid, Footnotes::default())
}

fn cells(matrix: &Matrix) -> impl Iterator<Item = Option<&Cell>> {
    matrix.places().map(|(row, column)| matrix.cell(row, column))
}

/// The figures of a quantity, one per cell.
fn of<'a>(matrix: &'a Matrix, quantity: &str) -> impl Iterator<Item = Option<&'a Figure>> {
    cells(matrix).map(move |cell| cell?.figure(quantity))
}

fn labels(matrix: &Matrix) -> Vec<Labels> {
    let column = |head, text: fn(&Matrix, usize, usize) -> String| Labels {
        head,
        texts: matrix.places().map(|(row, column)| text(matrix, row, column)).collect(),
    };
    vec![
        column("Test", |matrix, row, _| matrix.rows[row].clone()),
        column("System", |matrix, _, column| matrix.columns[column].target.clone()),
        column("Drives", |matrix, _, column| matrix.columns[column].drives.clone()),
    ]
}

/// A column, or none if its quantity has no number in any cell.
fn figures(matrix: &Matrix, column: &Detail, unit: RateUnit, notes: &Footnotes) -> Option<Figures> {
    let found: Vec<Option<&Figure>> = of(matrix, column.quantity).collect();
    let marks = matrix.places().map(|(row, place)| match matrix.cell(row, place) {
        Some(cell) if column.marked => {
            notes.mark_in(&table::column_name(matrix, place), cell.reasons())
        }
        _ => String::new(),
    });
    let entries = found.iter().zip(marks).map(|(figure, mark)| match figure {
        Some(figure) => {
            let text = (column.show)(figure, unit).unwrap_or_else(|| NOT_MEASURED.into());
            Entry { text, mark }
        }
        None => Entry::default(),
    });
    let interval = if matrix.spans_parameters() { "half the span" } else { "95%" };
    found.iter().flatten().any(|figure| figure.value.is_some()).then(|| Figures {
        group: String::new(),
        head: column.head.replace("{unit}", unit.name).replace("{interval}", interval),
        entries: entries.collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_quantity_shown_is_in_the_models_table() {
        for name in COLUMNS.iter().map(|c| c.quantity) {
            assert!(model::record::quantity(name).is_some(), "{name} is no quantity");
        }
    }
}
