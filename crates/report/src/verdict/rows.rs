//! Rows of the verdict's tables: what each is of, and its values by quantity.
//!
//! Non-goals: which tables there are (`super::tables`).

use super::told::Of;
use crate::grid::{Figures, Grid, Labels};
use crate::number::show_bytes;
use crate::rows::Column;
use model::record::Finding;
use model::units::show_time_ns;

/// Characters of a name that a table has room for.
const NAME_CHARS: usize = 28;

/// A label of rows: its head, and its text of what a row is of.
pub(super) type Label<T> = (&'static str, fn(&T) -> String);

/// Labels that are left out where all rows have the same.
const WHERE: [&str; 2] = ["of", "on"];
/// The head of the column of bounds: half the interval of what stands before it.
pub(super) const BOUND: &str = "";

/// A table of some rows, by the columns' quantities.
pub(super) fn grid<T>(rows: &[Of<'_, T>], labels: &[Label<T>], columns: &[Column]) -> Grid {
    let label = |(head, text): &Label<T>| Labels {
        head,
        texts: rows.iter().map(|(of, _)| text(of)).collect(),
    };
    let tells = |labels: &Labels| {
        !WHERE.contains(&labels.head) || labels.texts.iter().any(|text| *text != labels.texts[0])
    };
    let figures = |(group, head, quantity, show): &Column| {
        let text = |(_, values): &Of<'_, T>| match (values.finding(quantity), *head) {
            (Some(found), BOUND) => half(found).map(|ns| format!("± {}", show(ns))),
            (found, _) => found.and_then(|found| found.value).map(show),
        };
        Figures::plain(group, head, rows.iter().map(|row| text(row).unwrap_or_default()))
    };
    let labels = labels.iter().map(label).filter(tells).collect();
    Grid::new(labels, columns.iter().map(figures).collect())
}

fn half(finding: &Finding) -> Option<f64> {
    Some((finding.high? - finding.low?) / 2.0)
}

/// Nothing where there is none.
pub(super) fn some_time(ns: f64) -> String {
    if ns > 0.0 { show_time_ns(ns) } else { String::new() }
}

pub(super) fn bytes(bytes: f64) -> String {
    if bytes > 0.0 { show_bytes(bytes) } else { String::new() }
}

/// A name's beginning.
pub(super) fn cut(name: &str) -> String {
    cut_to(NAME_CHARS, name)
}

pub(super) fn cut_to(chars: usize, name: &str) -> String {
    match name.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}
