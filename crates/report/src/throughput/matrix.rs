//! Findings in the order of the printed table.

use crate::figure::{Figure, decide};
use crate::footnote::Note;
use crate::words::first_seen;
use model::record::{Finding, Subject, Verdict};
use std::collections::BTreeMap;

/// A cell: all that was found of one program on one system with so many drives.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Cell {
    figures: BTreeMap<String, Figure>,
}

impl Cell {
    /// The figure of a quantity.
    pub fn figure(&self, quantity: &str) -> Option<&Figure> {
        self.figures.get(quantity)
    }

    /// A quantity's number.
    pub fn value(&self, quantity: &str) -> Option<f64> {
        self.figure(quantity)?.value
    }

    /// The rate.
    pub fn rate(&self) -> Option<&Figure> {
        self.figure(RATE)
    }

    /// The program's own share of one CPU.
    pub fn cpu_percent(&self) -> Option<f64> {
        self.value(CPU)
    }

    /// What the printed cell is worth: not measured without a rate, suspect if one of its two
    /// numbers is doubted.
    pub fn verdict(&self) -> Verdict {
        match self.rate() {
            None | Some(Figure { value: None, .. }) => Verdict::NotMeasured,
            Some(_) if self.reasons().is_empty() => Verdict::Ok,
            Some(_) => Verdict::Suspect,
        }
    }

    /// Why the printed cell is not ok.
    pub(crate) fn reasons(&self) -> Vec<Note> {
        [RATE, CPU].iter().filter_map(|q| self.figure(q)).flat_map(Figure::notes).collect()
    }
}

pub(super) const RATE: &str = "rate_bytes_per_s";
pub(super) const CPU: &str = "cpu_percent";
pub(super) const IOPS: &str = "rate_operations_per_s";
pub(super) const OF_CEILING: &str = "ceiling_percent";
pub(super) const CEILING: &str = "ceiling_bytes_per_s";

/// A column: a system with so many drives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// The system.
    pub target: String,
    /// How many drives ran at once.
    pub drives: String,
}

impl Column {
    /// `1 Drive`, `2 Drives`.
    pub fn drives_text(&self) -> String {
        format!("{} Drive{}", self.drives, if self.drives == "1" { "" } else { "s" })
    }
}

/// The matrix: programs down, systems and drives across.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Matrix {
    /// Programs, in the order of printing.
    pub rows: Vec<String>,
    /// Systems in the order in which they were first seen, each with its drives together.
    pub columns: Vec<Column>,
    cells: BTreeMap<(usize, usize), Cell>,
}

impl Matrix {
    /// Orders findings. `rows` are programs in the order of printing; programs that it does not
    /// name follow as they are first seen, and those without findings are left out. Findings that
    /// are not about a cell are passed over, and of two for one number the later counts.
    pub fn from_findings(findings: &[Finding], rows: &[String]) -> Self {
        let placed: Vec<(String, Column, &Finding)> = findings
            .iter()
            .filter_map(|f| place(f).map(|(row, column)| (row, column, f)))
            .collect();
        let mut matrix = Self {
            rows: row_order(placed.iter().map(|(row, ..)| row), rows),
            columns: column_order(placed.iter().map(|(_, column, _)| column)),
            cells: BTreeMap::new(),
        };
        for (row, column, finding) in &placed {
            let row = matrix.rows.iter().position(|r| r == row);
            let column = matrix.columns.iter().position(|c| c == column);
            if let (Some(row), Some(column)) = (row, column) {
                let cell = matrix.cells.entry((row, column)).or_default();
                cell.figures.insert(finding.quantity.clone(), Figure::of(finding));
            }
        }
        // The rate in other words.
        let cells = matrix.cells.values_mut();
        cells.for_each(|cell| decide(&mut cell.figures, RATE, &[IOPS, OF_CEILING]));
        matrix
    }

    /// The cell in that row and column; none if nothing was found there.
    pub fn cell(&self, row: usize, column: usize) -> Option<&Cell> {
        self.cells.get(&(row, column))
    }

    /// The matrix of no more than its first cells, row by row.
    pub(super) fn first(&self, cells: usize) -> Self {
        let kept = self.cells.iter().take(cells);
        Self { cells: kept.map(|(place, cell)| (*place, cell.clone())).collect(), ..self.clone() }
    }

    /// Whether intervals are the span over samples of a model's uncertain parameters.
    pub(super) fn spans_parameters(&self) -> bool {
        let figures = || self.cells.values().flat_map(|cell| cell.figures.values());
        figures().any(|figure| figure.spans_parameters)
    }

    /// Whether a rate has an interval.
    pub(super) fn has_intervals(&self) -> bool {
        self.cells.values().any(|cell| cell.rate().and_then(Figure::ends).is_some())
    }

    /// Rows and columns of the cells that have findings, row by row.
    pub(super) fn places(&self) -> impl Iterator<Item = (usize, usize)> {
        self.cells.keys().copied()
    }
}

fn place(finding: &Finding) -> Option<(String, Column)> {
    let Subject::Cell(cell) = &finding.subject else { return None };
    let column = Column { target: cell.target.clone()?, drives: cell.drives.to_string() };
    Some((cell.program.clone(), column))
}

fn row_order<'a>(programs: impl Iterator<Item = &'a String>, wanted: &[String]) -> Vec<String> {
    let seen = first_seen(programs);
    let known = wanted.iter().filter(|row| seen.contains(row));
    first_seen(known.chain(&seen))
}

fn column_order<'a>(columns: impl Iterator<Item = &'a Column>) -> Vec<Column> {
    let seen = first_seen(columns);
    let targets = first_seen(seen.iter().map(|column| &column.target));
    let of = |target: &String| seen.iter().filter(|c| c.target == *target).cloned().collect();
    targets.iter().flat_map(|target| -> Vec<Column> { of(target) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(program: &str, target: &str, drives: &str) -> Finding {
        let subject = Subject::cell(target, program, drives.parse().unwrap());
        Finding::new(&subject, RATE, Some(1e6), 1, "mean")
    }

    #[test]
    fn rows_follow_the_list_and_columns_the_findings() {
        let findings = [
            finding("other", "b", "1"),
            finding("write", "a", "2"),
            finding("read", "b", "2"),
            Finding::default(),
        ];
        let rows = ["read", "write", "absent"].map(String::from);
        let matrix = Matrix::from_findings(&findings, &rows);
        assert_eq!(matrix.rows, ["read", "write", "other"]);
        let columns: Vec<String> =
            matrix.columns.iter().map(|c| format!("{} {}", c.target, c.drives_text())).collect();
        assert_eq!(columns, ["b 1 Drive", "b 2 Drives", "a 2 Drives"]);
        assert!(matrix.cell(2, 0).is_some());
        assert!(matrix.cell(0, 0).is_none());
    }
}
