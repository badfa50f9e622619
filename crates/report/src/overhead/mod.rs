//! The overhead experiment's report: what each I/O routine of the machine costs, in the order of
//! the questions of Bucher & Hayes (1980): their table 1 (the line of each routine), who does the
//! work (the accounts side by side), rates R(B,N), computing during I/O (equation 2), the test
//! interval, and a plot as their figures 3 and 4.
//!
//! Non-goals: fitting or averaging (the findings hold the numbers), printing.

mod accounts;
mod across;
mod cell;
mod chart;
mod computing;
mod lines;
mod plot;
mod routine;
mod screen;

use crate::calibration_line;
use crate::experiments::{Experiment, Screen, TimeTable, Whole};
use crate::sheet::{NOTHING, Sheet};
use crate::words::hang;
use model::record::{Finding, Subject};
use routine::Routines;
pub(crate) use screen::answer;

/// The experiment's row.
pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "overhead",
    title: "What a call and a byte cost",
    sentences: |run| screen::all_sentences(&Routines::from_findings(run.findings)),
    sheets: |run| {
        let routines = Routines::from_findings(run.findings);
        let tables = sheets(&routines, across::rates_by_size(&routines));
        tables.chain(across::by_size(&routines)).collect()
    },
    charts: chart::all,
    is_cell: |subject| matches!(subject, Subject::Operation(_)),
    screen: Screen::Drawn(|run, width, lines| screen::text(run.findings, width, lines)),
    whole: Some(Whole {
        text: |run, width| table(run.findings, width),
        markdown: |run| markdown(run.findings),
    }),
    time: Some(TimeTable {
        title: "Where an operation's time went, by routine",
        labels: &[
            ("engine", "engine"),
            ("access", "access"),
            ("path", "direct"),
            ("size", "block_bytes"),
            ("N", "channels"),
            ("system", "target"),
        ],
    }),
};

/// A table with more rows than this goes unprinted where a shorter one says the most of it.
const SCREEN_ROWS: usize = 24;

/// The report for a terminal of `width` columns. Tables by request size that are longer than a
/// screen are left to [`markdown`], and a line says so.
pub fn table(findings: &[Finding], width: Option<u16>) -> String {
    let routines = Routines::from_findings(findings);
    let rates = across::rates_by_size(&routines);
    let is_short = rates.as_ref().is_some_and(|sheet| sheet.rows() <= SCREEN_ROWS);
    let (shown, left) = if is_short { (rates, None) } else { (None, rates) };
    let texts: Vec<String> = sheets(&routines, shown).map(|sheet| sheet.text(width)).collect();
    if texts.is_empty() && left.is_none() {
        return NOTHING.into();
    }
    let harness = lines::harness(&routines).map(|line| hang("", &line, width));
    let parts = harness.into_iter().chain(texts).chain(plot::text(&routines, width));
    let rest = across::has_latencies(&routines).then(|| left_out(left.as_ref(), width));
    let run = calibration_line(findings).map(|line| hang("", &line, width));
    // Two lines apart: the parts of one table stand a line apart.
    parts.chain(rest).chain(run).collect::<Vec<_>>().join("\n\n")
}

/// The tables that every form of the report has, in order, and those of rates among them.
fn sheets(routines: &Routines, rates: Option<Sheet>) -> impl Iterator<Item = Sheet> {
    let tables = [
        lines::sheet(routines),
        accounts::sheet(routines),
        rates,
        across::rates_by_channels(routines),
        computing::sheet(routines),
        across::rates_by_interval(routines),
    ];
    tables.into_iter().flatten()
}

/// What the terminal does not show, and how to see it.
fn left_out(rates: Option<&Sheet>, width: Option<u16>) -> String {
    let rates = rates.map_or_else(String::new, |s| format!("rates ({} rows), ", s.rows()));
    let text = format!(
        "Not shown: {rates}latencies and CPU time at each request size. --format markdown has \
         them, \
         --format csv everything with its intervals."
    );
    hang("", &text, width)
}

/// All tables as Markdown.
pub fn markdown(findings: &[Finding]) -> String {
    let routines = Routines::from_findings(findings);
    let tables = sheets(&routines, across::rates_by_size(&routines));
    let texts: Vec<String> =
        tables.chain(across::by_size(&routines)).map(|sheet| sheet.markdown()).collect();
    if texts.is_empty() {
        return NOTHING.into();
    }
    let line = |text: String| format!("{text}\n");
    let harness = lines::harness(&routines).map(line);
    let run = calibration_line(findings).map(line);
    harness.into_iter().chain(texts).chain(run).collect::<Vec<_>>().join("\n")
}
