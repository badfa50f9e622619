//! What does not fit in the paper's cells: intervals, requests, the whole CPU
//! bill, latencies, and the share of the path's ceiling. One row per cell.

use super::matrix::{CPU, Cell, Figure, Matrix, RATE};
use super::{NOT_MEASURED, Sheet, table};
use crate::footnote::Footnotes;
use crate::grid::{Entry, Figures, Grid, Labels};
use crate::number::{RateUnit, significant};
use model::record::{Finding, Verdict};
use model::units::show_time_ns;

/// A column of the details.
struct Detail {
    /// Its heading; `{unit}` is the table's rate unit.
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
        ..detail("{unit} ± 95%", RATE, |figure, unit| {
            figure.value.map(|v| unit.show_interval(v, figure.half_interval()))
        })
    },
    detail("IOPS", "rate_operations_per_s", number),
    detail("CPU own", CPU, share),
    detail("CPU bill", "cpu_bill_percent", share),
    detail("Test bed", "cpu_test_bed_percent", share),
    detail("Of ceiling", "ceiling_percent", share),
    detail("p50", "latency_p50_ns", time),
    detail("p99", "latency_p99_ns", time),
    detail("Max", "latency_max_ns", time),
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

pub(super) fn sheet(matrix: &Matrix) -> Sheet {
    let unit = table::rate_unit(matrix);
    let notes = table::footnotes(matrix);
    let figures: Vec<Figures> =
        COLUMNS.iter().filter_map(|column| figures(matrix, column, unit, &notes)).collect();
    let bare = |entry: &Entry| entry.text == NOT_MEASURED && entry.mark.is_empty();
    Sheet {
        title: "Details: rate with its 95% interval, shares of one CPU, latency, device bytes per program byte".into(),
        unexplained: figures.iter().flat_map(|column| &column.entries).any(bare),
        grid: Grid::new(labels(matrix), figures),
        notes: Footnotes::default(),
    }
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
    let entry = |figure: &Figure| Entry {
        text: (column.show)(figure, unit).unwrap_or_else(|| NOT_MEASURED.into()),
        mark: String::new(),
    };
    let found: Vec<Option<&Figure>> = of(matrix, column.quantity).collect();
    let marks = cells(matrix).map(|cell| match cell {
        Some(cell) if column.marked => notes.mark(cell.reasons()),
        _ => String::new(),
    });
    let entries = found.iter().zip(marks).map(|(figure, mark)| match figure {
        Some(figure) => Entry { mark, ..entry(figure) },
        None => Entry::default(),
    });
    found.iter().flatten().any(|figure| figure.value.is_some()).then(|| Figures {
        group: String::new(),
        head: column.head.replace("{unit}", unit.name),
        entries: entries.collect(),
    })
}

/// How a number is printed.
type Show = fn(f64) -> String;

/// What the calibration line says: before the number, quantity, the number, behind it.
const CALIBRATION: &[(&str, &str, Show, &str)] = &[
    ("a clock reading costs ", "clock_cost_ns", show_time_ns, ""),
    ("the clock's step is ", "clock_precision_ns", show_time_ns, ""),
    ("the harness costs ", "harness_ns_per_operation", show_time_ns, " a request"),
    ("memory copies ", "memory_copy_bytes_per_s", show_rate, ""),
];

fn show_rate(bytes_per_s: f64) -> String {
    let unit = RateUnit::for_rates([bytes_per_s]);
    format!("{} {}", unit.show(bytes_per_s), unit.name)
}

/// What the run measured of itself, on one line: the cost of the clock and of the harness, and
/// the memory's speed. None if the findings hold no calibration.
pub fn calibration_line(findings: &[Finding]) -> Option<String> {
    let parts: Vec<String> = CALIBRATION
        .iter()
        .filter_map(|(before, quantity, show, behind)| {
            let found = findings.iter().find(|f| f.quantity == *quantity)?;
            let value = found.value.filter(|v| v.is_finite()).map_or(NOT_MEASURED.into(), show);
            let sound = Verdict::from_name(&found.verdict) == Some(Verdict::Ok);
            let mark = if sound || value == NOT_MEASURED { "" } else { " (suspect)" };
            Some(format!("{before}{value}{behind}{mark}"))
        })
        .collect();
    (!parts.is_empty()).then(|| format!("Calibration: {}", parts.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_quantity_shown_is_in_the_models_table() {
        let shown = COLUMNS.iter().map(|c| c.quantity).chain(CALIBRATION.iter().map(|c| c.1));
        for name in shown {
            assert!(model::record::quantity(name).is_some(), "{name} is no quantity");
        }
    }

    #[test]
    fn the_calibration_is_one_line() {
        let found = |quantity: &str, value, verdict: &str| Finding {
            quantity: quantity.into(),
            value,
            verdict: verdict.into(),
            ..Finding::default()
        };
        let findings = [
            found("clock_cost_ns", Some(21.6), "ok"),
            found("harness_ns_per_operation", None, "not_measured"),
            found("memory_copy_bytes_per_s", Some(12.34e9), "suspect"),
        ];
        assert_eq!(
            calibration_line(&findings).unwrap(),
            "Calibration: a clock reading costs 22 ns, the harness costs n.m. a request, \
             memory copies 12.3 GB/s (suspect)"
        );
        assert_eq!(calibration_line(&[]), None);
    }
}
