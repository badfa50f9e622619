//! The storm: what reads and commits suffer, which remedies help, and at what cost; a row for each
//! remedy, the best first.
//!
//! Non-goals: computing a figure.

mod chart;

use crate::experiments::{Experiment, Run};
use crate::figure::Figure;
use crate::footnote::{Footnotes, Note};
use crate::grid::{Entry, Figures, Grid, Labels};
use crate::number::significant;
use crate::screen::{joined, paragraphs};
use crate::sheet::{NOT_MEASURED, NOTHING, Section, Sheet};
use model::record::Finding;
use model::record::subject::{NO_REMEDY as NONE, Storm, StormStream, Subject};
use model::units::show_time_ns;
use std::collections::BTreeMap;

/// A group, a heading, the stream and its quantity, and how it is printed.
type Column = (&'static str, &'static str, StormStream, &'static str, fn(f64) -> String);

const COLUMNS: [Column; 11] = [
    ("", "leaves", StormStream::Victims, GAIN, percent),
    ("", "predicted", StormStream::Victims, PREDICTED, percent),
    ("reads", "p50", StormStream::Read, "latency_p50_ns", show_time_ns),
    ("reads", "p99", StormStream::Read, "latency_p99_ns", show_time_ns),
    ("reads", "p99.9", StormStream::Read, "latency_p999_ns", show_time_ns),
    ("commits", "p50", StormStream::Commit, "latency_p50_ns", show_time_ns),
    ("commits", "p99", StormStream::Commit, "latency_p99_ns", show_time_ns),
    ("commits", "p99.9", StormStream::Commit, "latency_p999_ns", show_time_ns),
    ("writer", "writes/s", StormStream::Write, RATE, significant),
    ("writer", "syncing", StormStream::Write, "sync_percent", |value| format!("{value:.0} %")),
    ("", "CPU", StormStream::Victims, CPU, |value| format!("{value:.0} %")),
];
/// What the first screen leaves to `--all`.
const LESS_NEEDED: [&str; 4] = ["reads p50", "reads p99.9", "commits p50", "commits p99.9"];
const GAIN: &str = "gain_ratio";
const PREDICTED: &str = "predicted_gain_ratio";
const CPU: &str = "cpu_machine_percent";
const RATE: &str = "rate_operations_per_s";

/// The experiment's row.
pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "storm",
    title: "What reads and commits suffer while somebody syncs",
    sentences: |run| answer(&rows(run.findings)),
    sheets: |run| vec![sheet(run.findings)],
    charts: chart::all,
    is_cell: |subject| matches!(subject, Subject::Storm(_)),
    table: |run, width| sheet(run.findings).text(width),
    screen: Some(screen),
    markdown: |run| sheet(run.findings).markdown(),
    time: None,
};

fn percent(ratio: f64) -> String {
    format!("{:.0} %", ratio * 100.0)
}

/// A remedy with its figures.
struct Row<'a> {
    remedy: &'a str,
    figures: BTreeMap<StormStream, BTreeMap<&'a str, Figure>>,
}

impl Row<'_> {
    fn figure(&self, stream: StormStream, quantity: &str) -> Option<&Figure> {
        self.figures.get(&stream)?.get(quantity)
    }

    fn value(&self, stream: StormStream, quantity: &str) -> Option<f64> {
        self.figure(stream, quantity)?.value
    }

    fn is_recommended(&self) -> bool {
        self.value(StormStream::Victims, "recommended") == Some(1.0)
    }

    /// What is doubted of it.
    fn notes(&self) -> Vec<Note> {
        self.figure(StormStream::Read, RATE).into_iter().flat_map(Figure::notes).collect()
    }
}

/// None first, then the remedies by what they leave, then those that were not measured.
fn rows(findings: &[Finding]) -> Vec<Row<'_>> {
    let mut rows: Vec<Row<'_>> = Vec::new();
    for finding in findings {
        let Subject::Storm(Storm { remedy, stream, .. }) = &finding.subject else { continue };
        let known = rows.iter().position(|row| row.remedy == remedy);
        let place = known.unwrap_or_else(|| {
            rows.push(Row { remedy, figures: BTreeMap::new() });
            rows.len() - 1
        });
        let of_stream = rows[place].figures.entry(*stream).or_default();
        of_stream.insert(&finding.quantity, Figure::of(finding));
    }
    let order = |row: &Row<'_>| match row.remedy {
        NONE => f64::NEG_INFINITY,
        _ => row.value(StormStream::Victims, GAIN).unwrap_or(f64::INFINITY),
    };
    rows.sort_by(|a, b| order(a).total_cmp(&order(b)));
    rows
}

fn sheet(findings: &[Finding]) -> Sheet {
    let rows = rows(findings);
    let named = |row: &Row<'_>| (String::new(), row.remedy.to_owned(), row.notes());
    let notes = Footnotes::of_cells("rows", rows.iter().map(named));
    let column = |(group, head, stream, quantity, show): &Column| Figures {
        group: (*group).to_owned(),
        head: (*head).to_owned(),
        entries: rows
            .iter()
            .map(|row| Entry {
                text: entry(row, *stream, quantity, *show),
                mark: match *quantity {
                    RATE => notes.mark_in("", row.notes()),
                    _ => String::new(),
                },
            })
            .collect(),
    };
    let marks = rows.iter().map(|row| if row.is_recommended() { "+" } else { "" }.to_owned());
    let names = rows.iter().map(|row| row.remedy.to_owned());
    let labels = vec![
        Labels { head: "", texts: marks.collect() },
        Labels { head: "remedy", texts: names.collect() },
    ];
    let grid = Grid::new(labels, COLUMNS.iter().map(column).collect());
    let unneeded = unneeded(&rows);
    let grid = grid.narrowed(Some(0), &unneeded);
    let mut sheet = Sheet::of("Reads and commits beside a storm".into(), grid, notes);
    let is_shown = |(name, _): &(&str, String)| !unneeded.contains(name);
    sheet.legend = legend().into_iter().filter(is_shown).collect();
    sheet
}

/// What the columns that nothing is in, and those of remedies where there are none, are headed.
fn unneeded(rows: &[Row<'_>]) -> Vec<&'static str> {
    let is_filled = |stream, quantity| rows.iter().any(|row| row.value(stream, quantity).is_some());
    let optional = [("predicted", PREDICTED), ("CPU", CPU)];
    let empty = optional.into_iter().filter(|(_, of)| !is_filled(StormStream::Victims, of));
    let has_remedies = rows.iter().any(|row| row.remedy != NONE);
    let of_remedies = ["leaves", "predicted", "+", ""].into_iter().filter(|_| !has_remedies);
    empty.map(|(head, _)| head).chain(of_remedies).collect()
}

/// What the columns mean.
fn legend() -> Vec<(&'static str, String)> {
    [
        ("+", "recommended: beyond the noise of all remedies, worth it, the writer's rate kept"),
        (
            "leaves",
            "of the mean of the slowest twentieth of reads and commits without a remedy, round by \
             round; its 95 % interval holds for all remedies together",
        ),
        ("predicted", "the same on a modelled kernel above the drive's model, in virtual time"),
        ("syncing", "the writer's time in what makes its data durable"),
        ("CPU", "the machine's CPU time, a share of one CPU"),
    ]
    .map(|(name, text)| (name, text.to_owned()))
    .to_vec()
}

fn entry(row: &Row<'_>, stream: StormStream, quantity: &str, show: fn(f64) -> String) -> String {
    let figure = row.figure(stream, quantity);
    let Some((figure, value)) = figure.and_then(|figure| Some((figure, figure.value?))) else {
        return if row.remedy == NONE && [GAIN, PREDICTED].contains(&quantity) {
            "".into()
        } else {
            NOT_MEASURED.into()
        };
    };
    match (figure.low, figure.high) {
        (Some(low), Some(high)) if quantity == GAIN => {
            format!("{} [{}, {}]", show(value), end(low), end(high))
        }
        _ => show(value),
    }
}

/// An end of an interval, per cent; far out it is only far out.
fn end(ratio: f64) -> String {
    match ratio * 100.0 {
        percent if percent >= 1000.0 => ">999".to_owned(),
        percent => format!("{percent:.0}"),
    }
}

fn screen(run: &Run<'_>, width: Option<u16>, _: usize) -> String {
    let rows = rows(run.findings);
    if rows.is_empty() {
        return NOTHING.into();
    }
    let sentences = answer(&rows);
    let mut sheet = sheet(run.findings);
    let narrow = |section: Section| Section {
        grid: section.grid.narrowed(Some(0), &LESS_NEEDED),
        ..section
    };
    sheet.sections = sheet.sections.into_iter().map(narrow).collect();
    joined([paragraphs(&sentences, width), sheet.text(width)])
}

fn answer(rows: &[Row<'_>]) -> Vec<String> {
    [storm(rows), best(rows), agreement(rows)].into_iter().flatten().collect()
}

/// Reads do not feel a sync if it makes their 99th percentile surely less than so many times as
/// long.
const FELT_RATIO: f64 = 1.5;

/// What the storm of a run is; none where there was none.
pub(crate) fn storm_sentence(findings: &[Finding]) -> Option<String> {
    storm(&rows(findings))
}

/// What the storm is without a remedy.
fn storm(rows: &[Row<'_>]) -> Option<String> {
    let none = rows.iter().find(|row| row.remedy == NONE)?;
    let p99 = |stream| none.value(stream, "latency_p99_ns").map(show_time_ns);
    let (inside, outside) = (p99(StormStream::ReadInSync)?, p99(StormStream::ReadBetween)?);
    let ratio = none.figure(StormStream::Read, "storm_ratio");
    let within = ratio.and_then(|ratio| ratio.low.zip(ratio.high));
    let commits = p99(StormStream::Commit)
        .map_or_else(String::new, |p99| format!(" One commit of a hundred takes {p99}."));
    let both = format!(
        "of those that met one, one of a hundred takes {inside} or more, of the others {outside}"
    );
    let times = ratio.and_then(|ratio| ratio.value).map(significant).unwrap_or_default();
    Some(match within {
        Some((low, _)) if low > 1.0 => format!(
            "While somebody syncs, one read of a hundred takes {inside} or more, otherwise \
             {outside}: {times} times as long.{commits}"
        ),
        Some((_, high)) if high < FELT_RATIO => {
            format!("Reads do not feel a sync: {both}.{commits}")
        }
        Some((low, high)) => format!(
            "Reads that met a sync and the others cannot be told apart: {both}, which by the \
             rounds is {} to {} times as long.{commits}",
            significant(low),
            significant(high)
        ),
        None => format!("Whether reads feel a sync cannot be told of one round: {both}.{commits}"),
    })
}

/// What helps.
fn best(rows: &[Row<'_>]) -> Option<String> {
    let tried = rows.iter().filter(|row| row.value(StormStream::Victims, GAIN).is_some()).count();
    if tried == 0 {
        return Some("What would help? --remedies all tries it.".to_owned());
    }
    let Some(best) = rows.iter().find(|row| row.is_recommended()) else {
        return Some(format!(
            "None of the {tried} remedies helps beyond the noise at a cost that is worth it.{}",
            time_needed(rows)
        ));
    };
    let leaves = entry(best, StormStream::Victims, GAIN, percent);
    let others: Vec<&str> =
        rows.iter().filter(|row| row.is_recommended()).skip(1).map(|row| row.remedy).collect();
    let others = match others.as_slice() {
        [] => String::new(),
        others => format!(" These help too: {}.", others.join(", ")),
    };
    Some(format!(
        "{} helps most: it leaves {leaves} of what the slowest twentieth of reads and commits \
         take.{others}",
        best.remedy
    ))
}

/// A gain is told from none if its interval is no wider than this to either side.
const TOLD_SHARE: f64 = 0.1;
/// More rounds than so many are not worth a number.
const ROUNDS_MOST: f64 = 1e6;

/// How much longer it would take to tell a tenth, where the rounds differ so much; the interval of
/// a mean of logarithms narrows with the root of their number.
fn time_needed(rows: &[Row<'_>]) -> String {
    let needed = |row: &Row<'_>| {
        let figure = row.figure(StormStream::Victims, GAIN)?;
        let half = (figure.high? / figure.low?.max(f64::MIN_POSITIVE)).ln() / 2.0;
        Some((figure.count as f64, (half / -(1.0 - TOLD_SHARE).ln()).powi(2)))
    };
    let least = rows.iter().filter_map(needed).min_by(|a, b| a.1.total_cmp(&b.1));
    match least {
        Some((rounds, times)) if times > 1.0 && rounds * times < ROUNDS_MOST => format!(
            " To tell a tenth from nothing it would take some {} rounds, {} times as long as this \
             run: rounds differ too much.",
            significant((rounds * times).ceil()),
            significant(times)
        ),
        Some((_, times)) if times > 1.0 => " Rounds differ so much that no time would tell.".into(),
        _ => String::new(),
    }
}

/// How far the model ranks remedies as they were measured.
fn agreement(rows: &[Row<'_>]) -> Option<String> {
    let none = rows.iter().find(|row| row.remedy == NONE)?;
    let apart = none.figure(StormStream::Victims, "ranked_alike_percent")?;
    let tau = none.value(StormStream::Victims, "rank_agreement")?;
    let (pairs, percent) = (apart.count, apart.value?);
    let held = none.value(StormStream::Victims, "predictions_held_percent")?;
    Some(format!(
        "The model of kernel and drive puts {percent:.0} % of the {pairs} pairs of remedies that \
         the measurement tells apart in the same order (Kendall's tau over all pairs: {tau:.2}). \
         {held:.0} % of what was measured lies in the interval that it gives."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::record::Interval;

    fn finding(remedy: &str, stream: StormStream, quantity: &str, value: f64) -> Finding {
        let subject =
            Subject::Storm(Storm { remedy: remedy.into(), stream, target: Some("t".into()) });
        Finding::new(&subject, quantity, Some(value), 3, "m")
    }

    fn findings() -> Vec<Finding> {
        let within = (Some(0.4), Some(0.6));
        vec![
            finding(NONE, StormStream::Read, RATE, 10.0),
            finding(NONE, StormStream::ReadInSync, "latency_p99_ns", 300e6),
            finding(NONE, StormStream::ReadBetween, "latency_p99_ns", 60e6),
            finding(NONE, StormStream::Read, "storm_ratio", 5.0)
                .within(Interval::Passes, (Some(3.0), Some(8.0))),
            finding("bfq", StormStream::Victims, GAIN, 0.98),
            finding("bfq", StormStream::Victims, "recommended", 0.0),
            finding("direct", StormStream::Victims, GAIN, 0.5).within(Interval::Comparison, within),
            finding("direct", StormStream::Victims, "recommended", 1.0),
        ]
    }

    #[test]
    fn the_storm_and_the_best_remedy_are_said_first_and_the_best_stands_first() {
        let found = findings();
        let text = screen(&Run { findings: &found, rows: &[] }, Some(100), 40);
        for words in [
            "takes 300 ms or more, otherwise 60.0 ms: 5.00 times",
            "direct helps most",
            "50 % [40, 60]",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
        for (low, high, words) in [
            (Some(0.2), Some(0.9), "Reads do not feel a sync: of those"),
            (Some(0.5), Some(6.0), "cannot be told apart: of those"),
            (None, None, "cannot be told of one round: of those"),
        ] {
            let mut found = findings();
            found[3] = found[3].clone().within(Interval::Passes, (low, high));
            let text = screen(&Run { findings: &found, rows: &[] }, Some(300), 40);
            assert!(text.contains(words), "{words}: {text}");
        }
        let place = |word: &str| text.rfind(word).unwrap_or_else(|| panic!("{word}: {text}"));
        assert!(place("none") < place("bfq"), "{text}");
        let alone = screen(&Run { findings: &found[..4], rows: &[] }, Some(100), 40);
        assert!(!alone.contains("leaves") && alone.contains("--remedies all"), "{alone}");
        let row = alone.lines().find(|line| line.trim_start().starts_with("none"));
        assert!(row.is_some(), "{alone}");
        let nothing = screen(&Run { findings: &[], rows: &[] }, None, 40);
        assert_eq!(nothing, NOTHING);
    }

    #[test]
    fn where_nothing_helps_that_is_said() {
        let found: Vec<Finding> = findings().into_iter().take(6).collect();
        let text = screen(&Run { findings: &found, rows: &[] }, Some(100), 40);
        assert!(text.contains("None of the 1 remedies helps"), "{text}");
    }
}
