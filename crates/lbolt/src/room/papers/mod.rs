//! The published tables beside the models' own: for people as tables, for scripts as findings.

mod overhead_1980;
mod response_1986;
mod scenarios_1983;
mod throughput_1983;

use crate::cli::Paper;
use crate::exit::{Fault, failure};
use model::record::Finding;
use model::record::subject::{Published, Subject};
use report::listing::{FigureColumn, Listing};

/// What is said of a paper, or of a part of it.
#[derive(Debug, Default)]
pub(crate) struct Part {
    pub(crate) listings: Vec<Listing>,
    pub(crate) findings: Vec<Finding>,
}

impl Part {
    /// This one, and another behind it.
    fn with(mut self, other: Self) -> Self {
        self.listings.extend(other.listings);
        self.findings.extend(other.findings);
        self
    }
}

/// Computes a paper's tables.
///
/// # Errors
/// A model at fault.
pub(crate) fn compute(paper: Paper, seeds: u32) -> anyhow::Result<Part> {
    match paper {
        Paper::Overhead1980 => overhead_1980::compute(),
        Paper::Throughput1983 => {
            Ok(throughput_1983::compute(seeds)?.with(scenarios_1983::compute(seeds)?))
        }
        Paper::Response1986 => response_1986::compute(seeds),
    }
}

/// A model that does not do what a paper's table asks of it.
fn at_fault(error: impl std::fmt::Display) -> anyhow::Error {
    failure(Fault::Io, format!("failed to compute the paper's table: {error}"))
}

fn column(group: &str, head: &str, texts: Vec<String>) -> FigureColumn {
    FigureColumn { group: group.to_owned(), head: head.to_owned(), texts }
}

/// What a number of a paper is about.
fn subject(paper: &str, keys: &[(&str, &str)]) -> Subject {
    let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    let place = keys.iter().map(owned).collect();
    Subject::Published(Published { paper: paper.to_owned(), place })
}

/// A number of a table, and how it came about.
fn finding(subject: &Subject, name: &str, value: f64, method: &str) -> Finding {
    Finding::new(subject, name, Some(value), 1, method)
}
