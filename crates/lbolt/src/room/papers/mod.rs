//! The published tables beside the models' own: for people as tables, for scripts as findings.

mod overhead_1980;
mod response_1986;
mod scenarios_1983;
mod throughput_1983;

use crate::cli::Paper;
use crate::exit::{Fault, failure};
use model::record::{Finding, Verdict, quantity, subject_text};
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

/// The keys of a cell, the paper first.
fn subject(paper: &str, keys: &[(&str, &str)]) -> String {
    let keys = keys.iter().map(|(key, value)| (*key, (*value).to_owned()));
    subject_text(std::iter::once(("paper", paper.to_owned())).chain(keys))
}

/// A number of a table, and how it came about.
fn finding(subject: &str, name: &str, value: f64, method: &str) -> Finding {
    Finding {
        subject: subject.to_owned(),
        quantity: name.to_owned(),
        value: Some(value),
        unit: quantity(name).map_or("", |quantity| quantity.unit).to_owned(),
        count: 1,
        method: method.to_owned(),
        verdict: Verdict::Ok.name().into(),
        ..Finding::default()
    }
}
