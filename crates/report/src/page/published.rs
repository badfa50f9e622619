//! The page of the papers: published numbers against the models', cell by cell.
//!
//! Non-goals: computing them.

use super::table::Table;
use super::{Page, Section};
use crate::chart::{Axis, Chart, Fit, Kind, Role, Scale};
use crate::listing::Listing;
use crate::words::first_seen;
use model::record::{Finding, Subject};

/// What a published number's name begins with, and the model's beside it.
const PUBLISHED: &str = "published_";
const MODEL: &str = "model_";

/// What quantities are called in a heading; others by their names.
const TITLES: [(&str, &str); 7] = [
    ("sectors_per_revolution", "sectors a revolution"),
    ("missed_per_call", "revolutions missed a call"),
    ("t_call_ns", "CPU time of a call"),
    ("t_trans_ns", "CPU time of a sector"),
    ("words_per_s", "the greatest rate, in words"),
    ("rate_bytes_per_s", "rates"),
    ("share_percent", "shares of response times"),
];

/// What the page says of these papers; `listings` are all their tables.
pub fn of_papers(findings: &[Finding], listings: &[&Listing], sentences: Vec<String>) -> Page {
    let papers = first_seen(&findings.iter().filter_map(paper).collect::<Vec<_>>());
    let charts = papers.iter().flat_map(|paper| charts(findings, paper)).collect();
    Page {
        title: format!("The papers of {}, and their models", papers.join(", ")),
        runs: vec![],
        sections: vec![Section {
            id: "papers".into(),
            title: "Published against computed".into(),
            sentences,
            charts,
            folds: vec![],
            tables: listings.iter().map(|listing| Table::of_listing(listing)).collect(),
        }],
    }
}

fn paper(finding: &Finding) -> Option<String> {
    match &finding.subject {
        Subject::Published(published) => Some(published.paper.clone()),
        _ => None,
    }
}

/// A cell: what it is called, what was published, what the model says.
type Cell = (String, f64, f64);

/// A chart for each quantity of a paper.
fn charts(findings: &[Finding], wanted: &String) -> Vec<Chart> {
    let own = || findings.iter().filter(|finding| paper(finding).as_ref() == Some(wanted));
    let names = own().filter_map(|finding| finding.quantity.strip_prefix(PUBLISHED));
    let quantities = first_seen(&names.map(str::to_owned).collect::<Vec<_>>());
    let chart = |quantity: &String| {
        let published = own().filter(|f| f.quantity.strip_prefix(PUBLISHED) == Some(quantity));
        let cell = |published: &Finding| -> Option<Cell> {
            let is_model = |f: &&Finding| {
                f.quantity.strip_prefix(MODEL) == Some(quantity) && f.subject == published.subject
            };
            let keys = published.subject.entries().into_iter().filter(|(key, _)| key != "paper");
            let words: Vec<String> = keys.map(|(_, value)| value).collect();
            Some((words.join(" "), published.value?, own().find(is_model)?.value?))
        };
        let unit = published.clone().next().map_or(String::new(), |f| f.unit.clone());
        cells_chart(wanted, quantity, &unit, &published.filter_map(cell).collect::<Vec<_>>())
    };
    quantities.iter().filter_map(chart).collect()
}

fn cells_chart(paper: &str, quantity: &str, unit: &str, cells: &[Cell]) -> Option<Chart> {
    let values = || cells.iter().flat_map(|(_, published, model)| [*published, *model]);
    let greatest = values().fold(0.0, f64::max);
    if cells.is_empty() || greatest <= 0.0 {
        return None;
    }
    let title = TITLES.iter().find(|(known, _)| *known == quantity);
    let words = title.map_or_else(|| quantity.replace('_', " "), |(_, title)| (*title).to_owned());
    let axes =
        (Axis::new("published", unit, Scale::Linear), Axis::new("the model", unit, Scale::Linear));
    let id = format!("paper-{paper}-{}", quantity.replace('_', "-"));
    let chart = Chart::plane(&id, &format!("{paper}: {words}"), Kind::Points, axes)
        .texts(Role::Category, "cell", cells.iter().map(|(name, ..)| crate::words::name(name)))
        .texts(Role::Series, "paper", cells.iter().map(|_| paper.to_owned()))
        .numbers(Role::X, "published", unit, cells.iter().map(|(_, published, _)| Some(*published)))
        .numbers(Role::Y, "model", unit, cells.iter().map(|(.., model)| Some(*model)));
    let fit = Fit { series: paper.to_owned(), points: vec![(0.0, 0.0), (greatest, greatest)] };
    let method = "Each point is a cell of the published tables; on the line the model says the \
        same.";
    Some(Chart { fits: vec![fit], ..chart.by(method).half() })
}
