//! What does not fit in the paper's cells: intervals, requests, the whole CPU
//! bill, latencies, and the share of the path's ceiling. One row per cell.

use super::matrix::{CEILING, CPU, IOPS, Matrix, OF_CEILING, RATE};
use super::table;
use crate::figure::Figure;
use crate::footnote::Footnotes;
use crate::grid::{Entry, Grid};
use crate::listing::Listing;
use crate::number::{CANNOT_TELL, RateUnit, significant};
use crate::sheet::{NOT_MEASURED, Sheet};
use model::units::show_time_ns;

struct Detail {
    /// Its heading; `{unit}` is the table's rate unit, `{interval}` what intervals are, with a ±.
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
        ..detail("{unit}{interval}", RATE, |figure, unit| {
            told(figure, |v| unit.show_interval(v, figure.half_interval()))
        })
    },
    detail("IOPS", IOPS, number),
    detail("Thread CPU", CPU, share),
    detail("Total CPU", "cpu_total_percent", share),
    detail("Test bed", "cpu_test_bed_percent", share),
    detail("Of ceiling", OF_CEILING, share),
    detail("Ceiling", CEILING, |figure, unit| figure.value.map(|v| unit.show(v))),
    detail("p50", "latency_p50_ns", time),
    detail("p99", "latency_p99_ns", time),
    detail("Max", "latency_max_ns", time),
    detail("Sync p50", "sync_latency_p50_ns", time),
    detail("Sync p99", "sync_latency_p99_ns", time),
    detail("Sync max", "sync_latency_max_ns", time),
    detail("Device bytes", "device_bytes_ratio", number),
    detail("Passes", RATE, |figure, _| Some(figure.count.to_string())),
];

fn told(figure: &Figure, show: impl Fn(f64) -> String) -> Option<String> {
    figure.value.map(|value| if figure.is_open { CANNOT_TELL.to_owned() } else { show(value) })
}

fn number(figure: &Figure, _: RateUnit) -> Option<String> {
    told(figure, significant)
}

fn share(figure: &Figure, _: RateUnit) -> Option<String> {
    told(figure, |value| format!("{}%", significant(value)))
}

fn time(figure: &Figure, _: RateUnit) -> Option<String> {
    figure.value.map(show_time_ns)
}

/// The details for a terminal of `width` columns, one row per cell; columns that would be empty
/// are left out. Marks are those of the printed table, whose footnotes are not printed again.
pub fn details(matrix: &Matrix, width: Option<u16>) -> String {
    sheet(matrix).text(width)
}

/// A row a cell, with the marks of these footnotes; a column whose quantity has a number there.
pub(super) fn grid(matrix: &Matrix, unit: RateUnit, notes: &Footnotes) -> Grid {
    let places: Vec<Place> = matrix.places().collect();
    let figure = |place: &Place, of: &Detail| matrix.cell(place.0, place.1)?.figure(of.quantity);
    let mark = |place: &Place, of: &Detail| match matrix.cell(place.0, place.1) {
        Some(cell) if of.marked => {
            notes.mark_in(&table::column_name(matrix, place.1), cell.reasons())
        }
        _ => String::new(),
    };
    let is_known = |of: &&Detail| {
        places.iter().any(|place| figure(place, of).is_some_and(|f| f.value.is_some()))
    };
    let interval = match matrix.has_intervals() {
        true if matrix.spans_parameters() => " ± half the span",
        true => " ± 95%",
        false => "",
    };
    let listing = Listing::of(&places)
        .label("Test", |place| matrix.rows[place.0].clone())
        .label("System", |place| matrix.columns[place.1].target.clone())
        .label("Drives", |place| matrix.columns[place.1].drives.clone());
    let listing = COLUMNS.iter().filter(is_known).fold(listing, |listing, of| {
        let head = of.head.replace("{unit}", unit.name).replace("{interval}", interval);
        listing.entries("", &head, |place| match figure(place, of) {
            Some(figure) => Entry {
                text: (of.show)(figure, unit).unwrap_or_else(|| NOT_MEASURED.into()),
                mark: mark(place, of),
            },
            None => Entry::default(),
        })
    });
    listing.grid()
}

/// A row and a column of the matrix.
type Place = (usize, usize);

pub(super) fn sheet(matrix: &Matrix) -> Sheet {
    let grid = grid(matrix, table::rate_unit([matrix]), &table::footnotes(matrix));
    let interval = match matrix.has_intervals() {
        true if matrix.spans_parameters() => {
            " with the span over samples of the model's uncertain parameters"
        }
        true => " with its 95% interval",
        false => "",
    };
    let title = format!(
        "Details: rate{interval}, shares of one CPU, latency, device bytes per program byte"
    );
    Sheet::of(title, grid, Footnotes::default())
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
