//! The throughput experiment's report: programs down, systems and drives across, in
//! each cell a rate and its share of one CPU (Kridle & McKusick 1983, section 5).

mod chart;
mod details;
mod matrix;
mod screen;
mod table;

use crate::answer::Answer;
use crate::experiments::{Experiment, Run, Screen, TimeTable};
use model::record::Subject;

pub use crate::figure::Figure;
pub use details::details;
pub use matrix::{Cell, Column, Matrix};
pub use table::table;

/// The experiment's row.
pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "throughput",
    title: "How fast files move",
    sentences: |run| screen::all_sentences(&Matrix::from_findings(run.findings, run.rows)),
    sheets: |run| {
        let matrix = Matrix::from_findings(run.findings, run.rows);
        vec![table::sheet(&matrix), details::sheet(&matrix)]
    },
    charts: chart::all,
    is_cell: |subject| matches!(subject, Subject::Cell(_)),
    screen: Screen::Drawn(|run, width, lines| {
        screen::text(&Matrix::from_findings(run.findings, run.rows), width, lines)
    }),
    whole: None,
    time: Some(TimeTable {
        title: "Where an operation's time went",
        labels: &[("program", "program"), ("system", "target"), ("drives", "drives")],
    }),
};

/// How fast files are read and written, and the paper's table; none without cells.
pub(crate) fn answer(run: &Run<'_>) -> Option<Answer> {
    let matrix = Matrix::from_findings(run.findings, run.rows);
    let table = table::sheet(&matrix).sections.into_iter().next().map(|of| of.grid);
    let answer = screen::answer(&matrix);
    (!matrix.columns.is_empty()).then_some(Answer { table, ..answer })
}
