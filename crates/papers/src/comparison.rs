//! A published table against the models' own: for people as tables, for scripts as findings.

use crate::quantities::quantity;
use model::record::Finding;
use model::record::subject::{Published, Subject};
use model::seam::SubjectError;
use report::Sheet;
use sim::profile::ProfileError;
use sim::replay::ReplayError;

/// Why a table cannot be computed. Completes "failed to compute the paper's table: …".
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what each is")]
pub enum Failure {
    #[error("{table}: {reason}")]
    Table { table: &'static str, reason: String },
    #[error(transparent)]
    Profile(#[from] ProfileError),
    #[error(transparent)]
    Subject(#[from] SubjectError),
    #[error(transparent)]
    Replay(#[from] ReplayError),
}

/// What is published, beside what the models give.
#[derive(Debug, Default)]
pub struct Comparison {
    /// For people.
    pub sheets: Vec<Sheet>,
    /// For scripts.
    pub findings: Vec<Finding>,
}

impl Comparison {
    /// This one, and another behind it.
    pub(crate) fn with(mut self, other: Self) -> Self {
        self.sheets.extend(other.sheets);
        self.findings.extend(other.findings);
        self
    }
}

/// What a number of a paper is about.
pub(crate) fn subject(paper: &str, keys: &[(&str, &str)]) -> Subject {
    let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    let place = keys.iter().map(owned).collect();
    Subject::Published(Published { paper: paper.to_owned(), place })
}

/// A number of a table, and how it came about.
pub(crate) fn finding(subject: &Subject, name: &str, value: f64, method: &str) -> Finding {
    let unit = quantity(name).map_or("", |quantity| quantity.unit).to_owned();
    Finding { unit, ..Finding::new(subject, name, Some(value), 1, method) }
}
