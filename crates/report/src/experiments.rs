//! What an experiment is to the report: whether a subject is of it, its tables, and the labels of its
//! cells where a table says where their time went.

use model::record::{Finding, Subject};
use model::units::show_size;

/// A label: its heading, and what it says of a cell.
pub(crate) type Label = (&'static str, fn(&Subject) -> String);

/// A row of the table of experiments.
pub(crate) struct Experiment {
    /// Whether a subject is a cell of it.
    pub(crate) is_cell: fn(&Subject) -> bool,
    /// Its tables for a terminal of so many columns.
    pub(crate) table: fn(&Run<'_>, Option<u16>) -> String,
    /// The same as Markdown.
    pub(crate) markdown: fn(&Run<'_>) -> String,
    /// The heading of the table of where the time went.
    pub(crate) time_title: &'static str,
    /// What names a cell there.
    pub(crate) labels: &'static [Label],
}

impl Experiment {
    /// Whether any of its cells was measured, or was to be.
    pub(crate) fn is_told(&self, findings: &[Finding]) -> bool {
        findings.iter().any(|finding| finding.is_rate() && (self.is_cell)(&finding.subject))
    }
}

/// What a run leaves to be printed.
pub struct Run<'a> {
    /// All findings.
    pub findings: &'a [Finding],
    /// Names in the order of the throughput matrix's rows.
    pub rows: &'a [String],
}

/// A key of the subject.
pub(crate) fn of(subject: &Subject, key: &str) -> String {
    subject.get(key).unwrap_or_default()
}

/// Bytes a request.
pub(crate) const SIZE: Label = ("size", |subject| {
    let bytes = of(subject, "block_bytes");
    bytes.parse().map_or(bytes, show_size)
});

/// Through the page cache or past it.
pub(crate) const PATH: Label = ("path", |subject| {
    let is_direct = of(subject, "direct") == "1";
    if is_direct { "O_DIRECT" } else { "buffered" }.to_owned()
});

/// The system.
pub(crate) const SYSTEM: Label = ("system", |subject| of(subject, "target"));
