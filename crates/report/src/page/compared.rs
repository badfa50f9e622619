//! The page of a comparison: how far each finding differs, with its interval, and what differs
//! between the sides besides.
//!
//! Non-goals: reckoning a difference.

use super::table::Table;
use super::{Page, Section};
use crate::chart::{Axis, Chart, Entry, Kind, Scale};
use crate::compare::{About, sheet, subject, summary};
use crate::figure::Figure;
use crate::ranking::upper;
use crate::words::name;
use model::comparison::{Compared, Comparison};
use model::record::{Finding, Interval};

/// Rows of the chart, those that differ most.
const MOST: usize = 40;

/// What the page of a comparison says.
pub fn of_comparison(compared: &Compared, about: &About) -> Page {
    let sides = [format!("A: {}", about.a), format!("B: {}", about.b)];
    let differs = about.differences.iter().map(|text| format!("The sides differ: {text}"));
    let sentences = [format!("B against A: {}.", summary(compared))];
    let notes = about.notes.iter().map(|note| format!("{}.", upper(note)));
    let sentences = sentences.into_iter().chain(sides).chain(notes);
    Page {
        title: format!("{} against {}", brief(&about.b), brief(&about.a)),
        runs: vec![],
        sections: vec![Section {
            id: "compare".into(),
            title: "What differs, beyond the noise".into(),
            sentences: sentences.chain(differs).collect(),
            folds: vec![],
            charts: chart(compared).into_iter().collect(),
            tables: Table::of_sheet(&sheet(compared, about)),
        }],
    }
}

/// A side's name, without what else is said of it.
fn brief(side: &str) -> String {
    name(side.split_once(", ").map_or(side, |(name, _)| name))
}

/// A row's difference as a number with its interval.
fn difference(row: &Comparison) -> Figure {
    let difference = Finding::new(&row.subject, "", row.difference_percent, 1, row.method.clone());
    let mut difference =
        difference.within(Interval::Comparison, (row.low_percent, row.high_percent));
    row.doubts.iter().for_each(|of| difference.doubt(of.doubt.clone()));
    Figure::of(&difference)
}

fn chart(compared: &Compared) -> Option<Chart> {
    let size = |row: &&Comparison| row.difference_percent.map_or(0.0, f64::abs);
    let mut rows: Vec<&Comparison> =
        compared.rows.iter().filter(|row| row.difference_percent.is_some()).collect();
    rows.sort_by(|a, b| size(b).total_cmp(&size(a)));
    let left = rows.len().saturating_sub(MOST);
    rows.truncate(MOST);
    let found = rows.iter().map(|row| {
        let category = format!("{} {}", subject(&row.subject), row.quantity);
        (category, row.outcome.name().to_owned(), difference(row))
    });
    let found: Vec<(String, String, Figure)> = found.collect();
    let entries: Vec<Entry<'_>> = found.iter().map(Entry::of).collect();
    let axis = Axis::new("B less A, of A", "%", Scale::Linear);
    let chart = Chart::rows("differences", "Differences", Kind::Dots, axis, &entries)?;
    let method = "B's difference from A with its 95 % interval, by itself; the colour is the \
        verdict, which is corrected for the number of rows.";
    let more = (left > 0).then(|| format!("The {MOST} greatest; {left} more are in the table."));
    Some(chart.by(method).noted(more).ruled("x", 0.0, "no difference"))
}
