//! The sections of the page: a table of those that there are, in order.
//!
//! Non-goals: what an experiment's charts and tables say (each is with its experiment).

use super::table::Table;
use super::{Section, Source};
use crate::calibrated::Calibrated;
use crate::chart::Chart;
use crate::experiments::{Experiment, Named, Run};
use crate::sheet::Sheet;
use crate::{EXPERIMENTS, joined, response, simulated, verdict, whatif};
use model::record::{Finding, Subject};
use std::collections::BTreeSet;

/// All sections that these runs have anything for.
pub(super) fn all(sources: &[Source<'_>], together: &[Finding]) -> Vec<Section> {
    let experiments = EXPERIMENTS.iter().filter_map(|of| experiment(of, sources));
    let listed = LISTED.iter().filter_map(|of| listed(of, sources));
    let all = experiments.chain(calibrated(sources)).chain(listed);
    let all = all.chain(times(sources)).chain(all_traces(together)).chain(trace(sources));
    with_own_names(all.collect())
}

/// What devices are like, by calibrations: a section each.
fn calibrated(sources: &[Source<'_>]) -> Vec<Section> {
    let of = |(number, (name, calibrated)): (usize, (&String, Calibrated))| Section {
        id: format!("calibration-{}", number + 1),
        title: format!("What the device is like: {name}"),
        sentences: calibrated.sentences(),
        charts: vec![],
        folds: vec![],
        tables: calibrated.sheets().iter().flat_map(Table::of_sheet).collect(),
    };
    let all = sources.iter().filter_map(|of| Some((&of.info.name, Calibrated::of(of.info)?)));
    all.enumerate().map(of).collect()
}

/// Names of the page's own, which no section and no chart has.
const TAKEN: [&str; 3] = ["summary", "charts", "theme"];

/// The sections with a name for each chart that nothing else of the page has.
fn with_own_names(mut sections: Vec<Section>) -> Vec<Section> {
    let mut known: BTreeSet<String> = TAKEN.map(str::to_owned).into_iter().collect();
    known.extend(sections.iter().map(|section| section.id.clone()));
    let folds = sections.iter().flat_map(|section| &section.folds);
    known.extend(folds.map(|fold| fold.id.clone()));
    for chart in sections.iter_mut().flat_map(|section| &mut section.charts) {
        let wanted = std::mem::take(&mut chart.id);
        let others = (2..).map(|number| format!("{wanted}-{number}"));
        let mut names = std::iter::once(wanted.clone()).chain(others);
        chart.id = names.find(|name| !known.contains(name)).unwrap_or(wanted);
        known.insert(chart.id.clone());
    }
    sections
}

/// What the first screen says of parts of a run that are no experiments.
pub(super) fn first_sentences(source: &Source<'_>) -> Vec<String> {
    match has_trace(source) {
        true => verdict::sentences(source.findings),
        false => Vec::new(),
    }
}

/// Whether requests of it were analysed.
fn has_trace(source: &Source<'_>) -> bool {
    let is_class = |finding: &Finding| matches!(finding.subject, Subject::Class(_));
    source.findings.iter().any(is_class)
}

/// What the requests of several runs went through, taken together.
fn all_traces(findings: &[Finding]) -> Option<Section> {
    let run = Named { name: "", run: Run { findings, rows: &[] } };
    let runs = std::slice::from_ref(&run);
    (!findings.is_empty()).then(|| Section {
        id: "together".into(),
        title: "All traces together".into(),
        sentences: response::sentences(findings),
        charts: verdict::charts(runs).into_iter().chain(response::charts(runs)).collect(),
        tables: tables(&run, &[response::tables(findings)]),
        ..Section::default()
    })
}

/// What the requests of a trace went through.
fn trace(sources: &[Source<'_>]) -> Option<Section> {
    let runs = named(sources, has_trace);
    let tables = |named: &Named<'_>| tables(named, &[response::tables(named.run.findings)]);
    (!runs.is_empty()).then(|| super::trace::section(sources, &runs, tables))
}

/// What is shown of runs that are no experiments: models, and changes of them.
struct Listed {
    id: &'static str,
    title: &'static str,
    has: fn(&Finding) -> bool,
    sheet: fn(&[Finding]) -> Sheet,
    charts: fn(&[Named<'_>]) -> Vec<Chart>,
}

const LISTED: [Listed; 2] = [
    Listed {
        id: "simulate",
        title: "A trace on a model",
        has: |finding| finding.quantity == "simulated_count",
        sheet: |findings| simulated::sheet(&[("", findings)]),
        charts: simulated::charts,
    },
    Listed {
        id: "whatif",
        title: "What a change would do",
        has: |finding| finding.quantity == "before_count",
        sheet: |findings| whatif::sheet(&whatif::Shown { findings, ..Default::default() }),
        charts: whatif::charts,
    },
];

fn listed(of: &Listed, sources: &[Source<'_>]) -> Option<Section> {
    let runs = named(sources, |source| source.findings.iter().any(of.has));
    let table = |named: &Named<'_>| tables(named, &[(of.sheet)(named.run.findings)]);
    (!runs.is_empty()).then(|| Section {
        id: of.id.into(),
        title: of.title.into(),
        charts: (of.charts)(&runs),
        tables: runs.iter().flat_map(table).collect(),
        ..Section::default()
    })
}

/// Those of the runs for which `has` holds, by name where there are several.
fn named<'a>(sources: &'a [Source<'_>], has: impl Fn(&Source<'_>) -> bool) -> Vec<Named<'a>> {
    let of = |source: &'a Source<'_>| Named {
        name: if sources.len() > 1 { &source.info.name } else { "" },
        run: Run { findings: source.findings, rows: &source.info.rows },
    };
    sources.iter().filter(|source| has(source)).map(of).collect()
}

fn experiment(of: &Experiment, sources: &[Source<'_>]) -> Option<Section> {
    let runs = named(sources, |source| of.has_findings(source.findings));
    if runs.is_empty() {
        return None;
    }
    let tables = runs.iter().flat_map(|named| tables(named, &(of.sheets)(&named.run)));
    Some(Section {
        id: of.name.to_owned(),
        title: of.title.to_owned(),
        charts: (of.charts)(&runs),
        tables: tables.collect(),
        // Sentences of one run stand on the first screen.
        ..Section::default()
    })
}

/// The tables of sheets, under the run's name.
fn tables(named: &Named<'_>, sheets: &[Sheet]) -> Vec<Table> {
    let titled = |table: Table| Table { title: named.within(&table.title), ..table };
    sheets.iter().flat_map(Table::of_sheet).map(titled).collect()
}

/// Where operations' time went, of runs that were traced.
fn times(sources: &[Source<'_>]) -> Option<Section> {
    let runs = named(sources, |source| !joined::sheets(source.findings, &EXPERIMENTS).is_empty());
    let of = |named: &Named<'_>| tables(named, &joined::sheets(named.run.findings, &EXPERIMENTS));
    let tables: Vec<Table> = runs.iter().flat_map(of).collect();
    (!tables.is_empty()).then(|| Section {
        id: "times".into(),
        title: "Where the time went".into(),
        charts: joined::charts(&runs, &EXPERIMENTS),
        tables,
        ..Section::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::{Axis, Kind};

    #[test]
    fn no_two_things_of_a_page_have_one_name() {
        let chart =
            |id: &str| Chart::plane(id, "", Kind::Lines, (Axis::default(), Axis::default()));
        let section = |id: &str, charts: &[&str]| Section {
            id: id.into(),
            title: String::new(),
            sentences: vec![],
            charts: charts.iter().map(|id| chart(id)).collect(),
            folds: vec![],
            tables: vec![],
        };
        let sections = [section("curve", &["curve", "rates"]), section("x", &["rates", "theme"])];
        let named = with_own_names(sections.to_vec());
        let ids: Vec<&str> =
            named.iter().flat_map(|section| &section.charts).map(|c| c.id.as_str()).collect();
        assert_eq!(ids, ["curve-2", "rates", "rates-2", "theme-2"]);
    }
}
