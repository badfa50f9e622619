//! How much a device can do: a sentence for each kind of requests, a row for each curve, and behind
//! `--all` a row for each point.
//!
//! Non-goals: computing a figure.

mod chart;

use crate::experiments::{Experiment, Run, TimeTable};
use crate::figure::Figure;
use crate::footnote::{Footnotes, Note};
use crate::grid::{Entry, Figures, Grid, Labels};
use crate::number::{RateUnit, show_rate, significant};
use crate::ranking::Entrant;
use crate::screen::{joined, paragraphs};
use crate::sheet::{NOT_MEASURED, NOTHING, Section, Sheet};
use model::record::Finding;
use model::record::subject::{Curve, Subject};
use model::units::{show_size, show_time_ns};
use model::workload::Access;
use std::collections::BTreeMap;

/// A heading, the quantity, and how it is printed; `{unit}` is that of the rates in bytes.
type Column = (&'static str, &'static str, fn(f64, RateUnit) -> String);

const POINT: [Column; 5] = [
    ("requests/s", RATE, count),
    ("{unit}", "rate_bytes_per_s", bytes),
    ("mean", "latency_mean_ns", time),
    ("p50", "latency_p50_ns", time),
    ("p99", "latency_p99_ns", time),
];
const CURVE: [Column; 6] = [
    ("depth", "knee_depth", count),
    ("requests/s", KNEE, count),
    ("mean", "knee_latency_mean_ns", time),
    ("p99", "knee_latency_p99_ns", time),
    ("most/s", MOST, count),
    ("most {unit}", MOST_BYTES, bytes),
];
const RATE: &str = "rate_operations_per_s";
const KNEE: &str = "knee_rate_operations_per_s";
const MOST: &str = "most_rate_operations_per_s";
const MOST_BYTES: &str = "most_rate_bytes_per_s";

/// The experiment's row.
pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "curve",
    title: "How much the device can do",
    sentences: |run| sentences(run.findings),
    sheets: |run| vec![sheet(run.findings, true)],
    charts: chart::all,
    is_cell: |subject| matches!(subject, Subject::Curve(_)),
    table: |run, width| sheet(run.findings, true).text(width),
    screen: Some(screen),
    markdown: |run| sheet(run.findings, true).markdown(),
    time: Some(TimeTable {
        title: "Where a request's time went",
        labels: &[("requests", "access"), ("size", "block_bytes"), ("depth", "depth")],
    }),
};

fn whole(value: f64) -> String {
    format!("{value:.0}")
}

fn count(value: f64, _: RateUnit) -> String {
    whole(value)
}

fn time(ns: f64, _: RateUnit) -> String {
    show_time_ns(ns)
}

fn bytes(bytes_per_s: f64, unit: RateUnit) -> String {
    unit.show(bytes_per_s)
}

/// The unit of all rates in bytes of these curves.
pub(crate) fn rate_unit<'a>(wholes: impl IntoIterator<Item = &'a Row<'a>>) -> RateUnit {
    RateUnit::for_rates(wholes.into_iter().filter_map(|row| value(row, MOST_BYTES)))
}

/// A curve, or a point of it, with its figures by quantity.
pub(crate) type Row<'a> = (&'a Curve, BTreeMap<&'a str, Figure>);

/// In the order of the findings: the points, and the curves as wholes.
pub(crate) fn rows(findings: &[Finding]) -> (Vec<Row<'_>>, Vec<Row<'_>>) {
    let mut rows: Vec<Row<'_>> = Vec::new();
    for finding in findings {
        let Subject::Curve(curve) = &finding.subject else { continue };
        let place = rows.iter().position(|(known, _)| *known == curve).unwrap_or_else(|| {
            rows.push((curve, BTreeMap::new()));
            rows.len() - 1
        });
        rows[place].1.insert(&finding.quantity, Figure::of(finding));
    }
    rows.sort_by_key(|(curve, _)| (curve.access, curve.block_bytes, curve.depth));
    rows.into_iter().partition(|(curve, _)| curve.depth.is_some())
}

/// `random reads`.
pub(crate) fn kind(access: Access) -> &'static str {
    match access {
        Access::RandRead => "random reads",
        Access::RandWrite => "random writes",
        Access::RandRw => "random reads and writes",
        Access::Read => "reads one after the other",
        Access::Write | Access::Rewrite => "writes one after the other",
        Access::Rw => "reads and writes one after the other",
    }
}

fn value(row: &Row<'_>, quantity: &str) -> Option<f64> {
    row.1.get(quantity)?.value
}

fn notes_of(row: &Row<'_>, quantity: &str) -> Vec<Note> {
    row.1.get(quantity).into_iter().flat_map(Figure::notes).collect()
}

fn table(
    title: &str,
    rows: &[Row<'_>],
    (columns, marked): (&[Column], &str),
    unit: RateUnit,
) -> (Section, Footnotes) {
    let name = |row: &Row<'_>| {
        let depth = row.0.depth.map_or_else(String::new, |depth| format!(" × {depth}"));
        format!("{} of {}{depth}", kind(row.0.access), show_size(row.0.block_bytes))
    };
    let cells = rows.iter().map(|row| (String::new(), name(row), notes_of(row, marked)));
    let notes = Footnotes::of_cells("rows", cells);
    let column = |(head, quantity, show): &Column| Figures {
        group: if quantity.starts_with("knee") { "knee".into() } else { String::new() },
        head: head.replace("{unit}", unit.name),
        entries: rows
            .iter()
            .map(|row| Entry {
                text: value(row, quantity)
                    .map_or_else(|| NOT_MEASURED.to_owned(), |value| show(value, unit)),
                mark: match *quantity == marked {
                    true => notes.mark_in("", notes_of(row, marked)),
                    false => String::new(),
                },
            })
            .collect(),
    };
    let mut labels = vec![
        Labels {
            head: "requests",
            texts: rows.iter().map(|row| kind(row.0.access).into()).collect(),
        },
        Labels {
            head: "size",
            texts: rows.iter().map(|row| show_size(row.0.block_bytes)).collect(),
        },
    ];
    if rows.iter().any(|row| row.0.depth.is_some()) {
        let text = |row: &Row<'_>| row.0.depth.map_or_else(String::new, |depth| depth.to_string());
        labels.push(Labels { head: "depth", texts: rows.iter().map(text).collect() });
    }
    let grid = Grid::new(labels, columns.iter().map(column).collect());
    (Section { heading: title.to_owned(), grid }, notes)
}

fn sheet(findings: &[Finding], has_points: bool) -> Sheet {
    let (points, wholes) = rows(findings);
    let unit = rate_unit(&wholes);
    let (section, notes) = table("", &wholes, (&CURVE, KNEE), unit);
    if wholes.is_empty() || has_points {
        let title = "Latency against rate, by requests outstanding".to_owned();
        let (of_points, point_notes) = table("Points", &points, (&POINT, RATE), unit);
        let mut sheet = Sheet::of(title, of_points.grid, point_notes);
        if !wholes.is_empty() {
            sheet.sections[0].heading = "By requests outstanding".into();
            sheet.sections.insert(0, Section { heading: "By kind".into(), ..section });
        }
        sheet.legend = legend();
        return sheet;
    }
    let mut sheet = Sheet::of("Knees and ceilings".into(), section.grid, notes);
    sheet.legend = legend();
    sheet
}

fn legend() -> Vec<(&'static str, String)> {
    [
        ("knee", "the depth at which rate over mean latency is greatest (Kleinrock 1979)"),
        ("most", "the greatest rate of any depth"),
    ]
    .map(|(name, text)| (name, text.to_owned()))
    .to_vec()
}

/// The greatest depth's rate is above the one before by more than this: it still rises.
const RISING: f64 = 1.1;

/// A sentence for a curve.
pub(crate) fn sentence(whole: &Row<'_>, points: &[Row<'_>]) -> Option<String> {
    let (curve, figures) = whole;
    let name = format!("{} of {}", kind(curve.access), show_size(curve.block_bytes));
    if matches!(curve.access, Access::Read | Access::Rewrite | Access::Write | Access::Rw) {
        let most = Entrant::of(&name, figures.get(MOST_BYTES)?)?;
        return Some(format!("{name}: at most {}.", most.text(show_rate)));
    }
    let (most, knee) =
        (Entrant::of(&name, figures.get(MOST)?)?, Entrant::of(&name, figures.get(KNEE)?)?);
    let depth = figures.get("knee_depth")?.value?;
    let time = |quantity: &str| value(whole, quantity).map(show_time_ns);
    let p99 = time("knee_latency_p99_ns").map_or_else(String::new, |p99| format!(", p99 {p99}"));
    let rates: Vec<f64> = points
        .iter()
        .filter(|(point, _)| Curve { depth: None, ..(*point).clone() } == **curve)
        .filter_map(|point| value(point, RATE))
        .collect();
    let rises = rates.last_chunk::<2>().is_some_and(|[before, last]| *last > before * RISING);
    let rising = if rises { ", and still rising with the depth" } else { "" };
    Some(format!(
        "{name}: at most {} a second{rising}; the knee is at {depth:.0} outstanding, {} a second, \
         mean {}{p99}.",
        most.text(whole_or_short),
        whole_or_short(knee.value),
        time("knee_latency_mean_ns")?,
    ))
}

fn whole_or_short(value: f64) -> String {
    if value >= 100.0 { whole(value) } else { significant(value) }
}

/// A sentence for each curve.
fn sentences(findings: &[Finding]) -> Vec<String> {
    let (points, wholes) = rows(findings);
    wholes.iter().filter_map(|row| sentence(row, &points)).map(capital).collect()
}

fn screen(run: &Run<'_>, width: Option<u16>, _: usize) -> String {
    let (points, wholes) = rows(run.findings);
    if points.is_empty() && wholes.is_empty() {
        return NOTHING.into();
    }
    let sentences = sentences(run.findings);
    joined([paragraphs(&sentences, width), sheet(run.findings, false).text(width)])
}

/// With its first letter as a capital.
pub(crate) fn capital(sentence: String) -> String {
    let mut chars = sentence.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::engine::EngineKind;

    fn subject(depth: Option<u64>) -> Subject {
        Subject::Curve(Curve {
            access: Access::RandRead,
            block_bytes: 4096,
            depth,
            direct: 1,
            engine: EngineKind::IoUring,
            target: Some("d".into()),
        })
    }

    #[test]
    fn a_curve_is_a_sentence_and_a_row() {
        let found = |depth, quantity: &str, value| {
            Finding::new(&subject(depth), quantity, Some(value), 3, "x")
        };
        let findings = [
            found(Some(1), RATE, 1000.0),
            found(Some(2), RATE, 1900.0),
            found(Some(4), RATE, 2600.0),
            found(None, "knee_depth", 2.0),
            found(None, KNEE, 1900.0),
            found(None, "knee_latency_mean_ns", 1.05e6),
            found(None, MOST, 2600.0),
        ];
        let run = Run { findings: &findings, rows: &[] };
        let text = screen(&run, None, 40);
        assert!(text.starts_with("Random reads of 4k: at most 2600 (no interval) a second, and"));
        assert!(text.contains("still rising") && text.contains("2 outstanding, 1900"), "{text}");
        assert!(text.contains("1.05 ms") && !text.contains("1000"), "{text}");
        assert!((EXPERIMENT.table)(&run, None).contains("1000"));
        let none = Run { findings: &[], rows: &[] };
        assert_eq!(screen(&none, None, 40), NOTHING);
    }
}
