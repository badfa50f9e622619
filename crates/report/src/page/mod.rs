//! The page of one run or of several: what was measured on what, what came of it, what is doubted,
//! how to repeat it; then a section for each experiment, with charts and tables. It is made of
//! run.json and findings alone, so its size does not grow with a trace.
//!
//! Non-goals: measuring, analysing, drawing (`viewer/` draws), files.

mod compared;
pub mod density;
pub(crate) mod first;
mod html;
pub mod over_time;
mod published;
mod sections;
pub mod storms;
pub mod table;
#[cfg(test)]
mod tests;
mod trace;

use crate::answer::Card;
use crate::chart::Chart;
pub use compared::of_comparison;
use model::record::Finding;
use model::run::RunInfo;
pub use published::of_papers;
use serde::Serialize;
use table::Table;
pub use trace::Traced;

/// A run that the page is of.
pub struct Source<'a> {
    /// What run.json says.
    pub info: &'a RunInfo,
    /// What was found; what a trace's analysis found too.
    pub findings: &'a [Finding],
    /// What was counted of its requests.
    pub traced: &'a Traced,
    /// What must be known of the run itself: it was killed, its records are of an earlier version.
    pub remarks: Vec<String>,
}

/// What the page says, before it is HTML.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Page {
    /// Of the page and its first heading.
    pub title: String,
    /// The runs.
    pub runs: Vec<RunFacts>,
    /// What they found.
    pub sections: Vec<Section>,
}

/// The first screen of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunFacts {
    /// Its name.
    pub name: String,
    /// The answers, each with its number; none of a run of one question.
    pub cards: Vec<Card>,
    /// The answer.
    pub sentences: Vec<String>,
    /// What was measured on what: a label and a text.
    pub facts: Vec<(String, String)>,
    /// What is suspect or was not measured, and why.
    pub doubts: Vec<String>,
    /// What is said where nothing is doubted.
    pub sure: String,
    /// The command line that makes it again.
    pub command: String,
}

/// A section.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Section {
    /// Its name in the page's address.
    pub id: String,
    /// Its heading.
    pub title: String,
    /// What it says first.
    pub sentences: Vec<String>,
    /// Its charts.
    pub charts: Vec<Chart>,
    /// Parts that are closed until a reader opens them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub folds: Vec<Fold>,
    /// Its tables.
    pub tables: Vec<Table>,
}

/// A part of a section that opens.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fold {
    /// Its name in the page's address.
    pub id: String,
    /// What is seen of it when it is closed.
    pub title: String,
    /// What it says.
    pub sentences: Vec<String>,
    /// Its tables.
    pub tables: Vec<Table>,
}

/// What the page of these runs says; `together` is what was found of the requests of several of
/// them, beside each other.
pub fn page(sources: &[Source<'_>], together: &[Finding]) -> Page {
    let title = first::title(sources);
    let runs = sources.iter().map(first::facts).collect();
    Page { title, runs, sections: sections::all(sources, together) }
}

/// The page as one HTML file that needs no other.
/// Errors: none that these types can cause; the serializer's own are passed on.
pub fn html(page: &Page) -> serde_json::Result<String> {
    html::page(page)
}
