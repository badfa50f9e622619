//! The first screen of a trace: who lost how much time, how, when, and because of whom; then the
//! devices, the waits, the causes and the files, a few rows each. At most 40 lines
//! of 100 columns; tables are wider where the terminal is.
//!
//! Non-goals: computing a figure; the whole of a trace (`response`).

mod chart;
mod chosen;
mod elsewhere;
mod layers;
mod looked;
mod rows;
mod selected;
mod sentences;
mod shown;
mod stacks;
mod tables;
mod told;
mod when;

use crate::screen::{fitted, joined, limited, paragraphs, wide};
use crate::statement::Statement;
use crate::words::hang;
pub(crate) use chart::all as charts;
pub use chosen::{absent, chosen, selected_by};
use model::record::Finding;
pub use selected::selected;
pub use shown::Shown;
pub use stacks::{WEIGHTS, folded};
pub use tables::TABLES;
use told::Told;

/// Its lines, where nobody asks for more rows; a capture has some of its own behind them.
const LINES: usize = 35;

/// Where nothing is shown.
const NOTHING: &str = "No table has a row of what was selected.\n";

/// The screen for a terminal of `width` columns: sentences, then what `shown` selects.
pub fn screen(findings: &[Finding], shown: &Shown, width: Option<u16>) -> String {
    screen_above(findings, shown, width, 0)
}

/// The same, where so many lines stand below it that belong to it.
pub fn screen_above(
    findings: &[Finding],
    shown: &Shown,
    width: Option<u16>,
    below: usize,
) -> String {
    if shown.top.is_some() || shown.by.is_some() {
        return drawn(findings, shown, width);
    }
    let with = |top| drawn(findings, &Shown { top: Some(top), ..shown.clone() }, width);
    fitted(shown::ROWS, LINES.saturating_sub(below), with)
}

fn drawn(findings: &[Finding], shown: &Shown, width: Option<u16>) -> String {
    let (width, columns) = (limited(width), wide(width));
    let told = Told::of(findings);
    let said = if shown.by.is_some() { Vec::new() } else { sentences::all(&told, shown) };
    let sentences: Vec<String> = said.into_iter().map(|of| of.sentence).collect();
    let sentences = paragraphs(&sentences, width);
    let tables = tables::all(&told, shown, columns);
    let texts =
        tables.into_iter().map(|(heading, grid)| hang("", &heading, width) + &grid.text(columns));
    let mut parts: Vec<String> = [sentences].into_iter().chain(texts).collect();
    match &shown.by {
        Some(by) if parts.iter().all(String::is_empty) => {
            parts.push(format!("The trace tells nothing by {by}, of what was selected.\n"));
        }
        None if shown.selects() && parts.len() == 1 => {
            parts.push(NOTHING.to_owned());
        }
        Some(_) => {}
        None => parts.push(hang("", &tables::below(&told, shown), width)),
    }
    joined(parts)
}

/// What the verdict says, without tables.
pub fn sentences(findings: &[Finding]) -> Vec<String> {
    answer(findings, &Shown::default()).into_iter().map(|of| of.sentence).collect()
}

/// The same of what is shown, each sentence with its number.
pub fn answer<'a>(findings: &'a [Finding], shown: &Shown) -> Vec<Statement<'a>> {
    sentences::all(&Told::of(findings), shown)
}

#[cfg(test)]
mod tests;
