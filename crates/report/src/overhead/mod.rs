//! The overhead room's report: what each I/O routine of the machine costs, in the order of the
//! questions of Bucher & Hayes (1980): their table 1 (the line of each routine), who does the work
//! (the accounts side by side), rates R(B,N), computing beside I/O (equation 2), the test interval,
//! and a plot as their figures 3 and 4.
//!
//! Non-goals: fitting or averaging (the findings hold the numbers), printing.

mod accounts;
mod across;
mod cell;
mod computing;
mod lines;
mod plot;
mod routine;

use crate::sheet::Sheet;
use model::record::Finding;
use routine::Routines;

/// A table with more rows than this goes unprinted where a shorter one says the most of it.
const SCREEN_ROWS: usize = 24;

/// The report for a terminal of `width` columns. Tables by request size that are longer than a
/// screen are left to [`markdown`], and the last line says so.
pub fn table(findings: &[Finding], width: Option<u16>) -> String {
    let routines = Routines::from_findings(findings);
    let rates = across::rates_by_size(&routines);
    let is_short = rates.as_ref().is_some_and(|sheet| sheet.rows() <= SCREEN_ROWS);
    let (shown, left) = if is_short { (rates, None) } else { (None, rates) };
    let tables = [
        Some(lines::sheet(&routines)),
        accounts::sheet(&routines),
        across::rates_by_channels(&routines),
        shown,
        computing::sheet(&routines),
        across::rates_by_interval(&routines),
    ];
    let texts = tables.into_iter().flatten().map(|sheet| sheet.text(width));
    let harness = lines::harness(&routines).map(|line| crate::words::hang("", &line, width));
    let parts = harness.into_iter().chain(texts).chain(plot::text(&routines, width));
    let rest = across::has_latencies(&routines).then(|| left_out(left.as_ref(), width));
    // Two lines apart: the parts of one table stand a line apart.
    parts.chain(rest).collect::<Vec<_>>().join("\n\n")
}

/// What the terminal does not show, and how to see it.
fn left_out(rates: Option<&Sheet>, width: Option<u16>) -> String {
    let rates = rates.map_or_else(String::new, |s| format!("rates ({} rows), ", s.rows()));
    let text = format!(
        "Not shown: {rates}latencies and CPU time at each request size. --format markdown has them, \
         --format csv everything with its intervals."
    );
    crate::words::hang("", &text, width)
}

/// All tables as Markdown.
pub fn markdown(findings: &[Finding]) -> String {
    let routines = Routines::from_findings(findings);
    let tables = [
        Some(lines::sheet(&routines)),
        accounts::sheet(&routines),
        across::rates_by_size(&routines),
        across::rates_by_channels(&routines),
        computing::sheet(&routines),
        across::rates_by_interval(&routines),
    ];
    let tables = tables.into_iter().flatten().chain(across::by_size(&routines));
    let texts = tables.map(|sheet| sheet.markdown());
    let harness = lines::harness(&routines).map(|line| format!("{line}\n"));
    harness.into_iter().chain(texts).collect::<Vec<_>>().join("\n")
}
