//! The page of the papers: published numbers against the models', cell by cell.
//!
//! Non-goals: computing them.

use super::table::Table;
use super::{Page, Section};
use crate::chart::{Axis, Chart, Fit, Kind, Role, Scale};
use crate::figure::Figure;
use crate::sheet::Sheet;
use crate::words::first_seen;
use model::record::{Finding, Subject};

/// What a published number's name begins with, and the model's beside it.
const PUBLISHED: &str = "published_";
const MODEL: &str = "model_";

/// How a quantity is told: in a heading, and in the unit that its paper prints, with how many of
/// the record's are one; none where that is the record's.
type Told = (&'static str, &'static str, Option<(&'static str, f64)>);

const TOLD: [Told; 8] = [
    ("sectors_per_revolution", "sectors a revolution", None),
    ("missed_per_call", "revolutions missed a call", None),
    ("t_call_ns", "CPU time of a call", None),
    ("t_trans_ns", "CPU time of a sector", None),
    ("words_per_s", "the greatest rate, in words", None),
    ("rate_bytes_per_s", "rates", Some(("KiB/s", 1024.0))),
    ("cpu_percent", "the program's share of one CPU", None),
    ("share_percent", "shares of response times", None),
];

/// What the page says of these papers; `sheets` are all their tables.
pub fn of_papers(findings: &[Finding], sheets: &[&Sheet], sentences: Vec<String>) -> Page {
    let papers = first_seen(&findings.iter().filter_map(paper).collect::<Vec<_>>());
    let charts = papers.iter().flat_map(|paper| charts(findings, paper));
    let charts = charts.chain(spike(findings)).collect();
    Page {
        title: format!("The papers of {}, and their models", papers.join(", ")),
        runs: vec![],
        sections: vec![Section {
            id: "papers".into(),
            title: "Published against computed".into(),
            sentences,
            charts,
            folds: vec![],
            tables: sheets.iter().flat_map(|sheet| Table::of_sheet(sheet)).collect(),
        }],
    }
}

fn paper(finding: &Finding) -> Option<String> {
    match &finding.subject {
        Subject::Published(published) => Some(published.paper.clone()),
        _ => None,
    }
}

/// A cell: what it is called, what was published, what the model says, and why it is doubted.
struct Cell {
    name: String,
    published: f64,
    model: f64,
    doubt: String,
}

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
            Some(Cell {
                name: words.join(" "),
                published: published.value?,
                model: own().find(is_model)?.value?,
                doubt: Figure::of(published).reason(),
            })
        };
        let unit = published.clone().next().map_or(String::new(), |f| f.unit.clone());
        cells_chart(wanted, quantity, &unit, &published.filter_map(cell).collect::<Vec<_>>())
    };
    quantities.iter().filter_map(chart).collect()
}

fn cells_chart(paper: &str, quantity: &str, unit: &str, cells: &[Cell]) -> Option<Chart> {
    let values = || cells.iter().flat_map(|cell| [cell.published, cell.model]);
    let greatest = values().fold(0.0, f64::max);
    if cells.is_empty() || greatest <= 0.0 {
        return None;
    }
    let told = TOLD.iter().find(|(known, ..)| *known == quantity);
    let words =
        told.map_or_else(|| quantity.replace('_', " "), |(_, title, _)| (*title).to_owned());
    let scale = Scale::of(values());
    let axes = (Axis::new("published", unit, scale), Axis::new("the model", unit, scale));
    // Shares differ by points, which are no shares.
    let apart = if unit == "%" { "points" } else { unit };
    let id = format!("paper-{paper}-{}", quantity.replace('_', "-"));
    let column = |of: fn(&Cell) -> f64| cells.iter().map(move |cell| Some(of(cell)));
    let chart = Chart::plane(&id, &format!("{paper}: {words}"), Kind::Points, axes)
        .texts(Role::Category, "cell", cells.iter().map(|cell| crate::words::name(&cell.name)))
        .texts(Role::Series, "paper", cells.iter().map(|_| paper.to_owned()))
        .numbers(Role::X, "published", unit, column(|cell| cell.published))
        .numbers(Role::Y, "model", unit, column(|cell| cell.model))
        .numbers(Role::Residual, "error", apart, column(|cell| cell.model - cell.published))
        .texts(Role::Note, "doubts", cells.iter().map(|cell| cell.doubt.clone()))
        .by(METHOD)
        .high(HEIGHT)
        .half();
    let fit = Fit { series: paper.to_owned(), points: vec![(0.0, 0.0), (greatest, greatest)] };
    let chart = Chart { fits: vec![fit], ..chart };
    Some(match told.and_then(|(.., unit)| *unit) {
        Some((name, each)) => chart.told_in(name, unit, each),
        None => chart,
    })
}

/// Figure 7 of 1986, of the model.
fn spike(findings: &[Finding]) -> Option<Chart> {
    let second = |finding: &Finding| match &finding.subject {
        Subject::Published(published) => published.place.get("second")?.parse::<f64>().ok(),
        _ => None,
    };
    let points: Vec<(f64, Option<f64>)> =
        findings.iter().filter_map(|finding| Some((second(finding)?, finding.value))).collect();
    points.first()?;
    let axes = (
        Axis::new("since a sync", "s", Scale::Linear),
        Axis::new("mean response", "ns", Scale::Linear),
    );
    let chart = Chart::plane("paper-1986-figure-7", "1986: reads after a sync", Kind::Lines, axes)
        .texts(Role::Series, "requests", points.iter().map(|_| "reads of the model".to_owned()))
        .numbers(Role::X, "since a sync", "s", points.iter().map(|(second, _)| Some(*second)))
        .numbers(Role::Y, "mean response", "ns", points.iter().map(|(_, ns)| *ns));
    Some(chart.by(FIGURE_7).half())
}

const FIGURE_7: &str = "The spike of the paper's Figure 7, of the model: the mean response of \
    reads, by the whole second since a sync in which they arrive.";

/// Pixels of such a chart, with the errors below.
const HEIGHT: usize = 450;

const METHOD: &str = "Each point is a cell of the published tables; on the line the model says the \
    same. Below: the model's number less the published one. Hollow with *: doubted, as the cells \
    that the paper itself stars.";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Values;
    use model::record::Doubt;
    use model::record::subject::Published;

    fn cell(program: &str, published: f64, model: f64) -> [Finding; 2] {
        let place = [("program".to_owned(), program.to_owned())].into();
        let subject = Subject::Published(Published { paper: "1983".into(), place });
        let found = |quantity, value| Finding::new(&subject, quantity, Some(value), 1, "m");
        [
            found("published_rate_bytes_per_s", 1024.0 * published),
            found("model_rate_bytes_per_s", 1024.0 * model),
        ]
    }

    #[test]
    fn reads_after_a_sync_are_figure_7() {
        let at = |second: &str, ns| {
            let place = [("second".to_owned(), second.to_owned())].into();
            let subject = Subject::Published(Published { paper: "1986".into(), place });
            Finding::new(&subject, "read_after_sync_mean_ns", Some(ns), 1, "m")
        };
        let page = of_papers(&[at("0", 2.6e8), at("29", 2.9e7)], &[], vec![]);
        let [chart] = page.sections[0].charts.as_slice() else { panic!("{page:?}") };
        let of = |role| &chart.columns.iter().find(|column| column.role == role).unwrap().values;
        assert_eq!(*of(Role::X), Values::Numbers(vec![Some(0.0), Some(29.0)]));
        assert_eq!(*of(Role::Y), Values::Numbers(vec![Some(2.6e8), Some(2.9e7)]));
    }

    #[test]
    fn a_starred_cell_has_its_star_and_every_cell_its_error() {
        let mut starred = cell("read", 500.0, 548.0);
        let doubt = Doubt::refused("starred: the operation of the hardware was suspect");
        starred.iter_mut().for_each(|finding| finding.doubt(doubt.clone()));
        let findings = [starred, cell("write", 300.0, 290.0)].concat();
        let page = of_papers(&findings, &[], vec![]);
        let chart = &page.sections[0].charts[0];
        let of = |role| &chart.columns.iter().find(|column| column.role == role).unwrap().values;
        assert_eq!(*of(Role::Residual), Values::Numbers(vec![Some(48.0), Some(-10.0)]));
        let Values::Texts(notes) = of(Role::Note) else { panic!("texts") };
        assert!(notes[0].contains("starred") && notes[1].is_empty(), "{notes:?}");
        assert_eq!((chart.x.unit.as_str(), chart.fits[0].points[1]), ("KiB/s", (548.0, 548.0)));
    }
}
