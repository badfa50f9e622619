//! Rows of the verdict's tables: what each is of, and its values by quantity.
//!
//! Non-goals: which tables there are (`super::tables`).

use super::told::Of;
use crate::listing::Listing;
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
    listing.labelled_by(tells).columns(columns, text)
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
