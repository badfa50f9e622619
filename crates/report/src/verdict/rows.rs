//! Rows of the verdict's tables: what each is of, and its values by quantity.
//!
//! Non-goals: which tables there are (`super::tables`).

use super::told::Of;
use crate::listing::Listing;
use crate::number::show_bytes;
use crate::rows::Column;
use model::record::Finding;
use model::units::show_time_ns;

/// A label of rows: its head, and its text of what a row is of.
pub(super) type Label<T> = (&'static str, fn(&T) -> String);

/// Labels that are left out where all rows have the same.
const WHERE: [&str; 2] = ["of", "on"];
/// The head of the column of bounds: half the interval of what stands before it.
pub(super) const BOUND: &str = "";

/// A table of some rows, by the columns' quantities.
pub(super) fn table<'r, 'f, T>(
    rows: &'r [Of<'f, T>],
    labels: &[Label<T>],
    columns: &[Column],
) -> Listing<'r, Of<'f, T>> {
    let listing = labels
        .iter()
        .fold(Listing::of(rows), |listing, (head, text)| listing.label(head, |(of, _)| text(of)));
    let tells = |head: &str, texts: &[String]| {
        !WHERE.contains(&head) || texts.iter().any(|text| *text != texts[0])
    };
    let text = |(_, values): &Of<'f, T>, (_, head, quantity, show): &Column| {
        let text = match (values.finding(quantity), *head) {
            (Some(found), BOUND) => half(found).map(|ns| format!("± {}", show(ns))),
            (found, _) => found.and_then(|found| found.value).map(show),
        };
        text.unwrap_or_default()
    };
    // A column of bounds has no head: where there are none, nothing is left of it.
    let has_bound =
        |quantity| rows.iter().any(|(_, of)| of.finding(quantity).and_then(half).is_some());
    let is_told = |column: &&Column| column.1 != BOUND || has_bound(column.2);
    listing.labelled_by(tells).columns(columns.iter().filter(is_told), text)
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
