//! A change of a modelled system: who gains and who loses, and each class before and after.
//!
//! Non-goals: computing (the findings hold the numbers), printing.

mod chart;
mod screen;
mod undecided;

use crate::figure::Figure;
use crate::listing::Listing;
use crate::number::{CANNOT_TELL, significant};
use crate::sheet::Sheet;
pub(crate) use chart::all as charts;
use model::record::subject::UNCHANGED;
use model::record::{Finding, Subject};
use model::units::show_time_ns;
pub use screen::{answer, screen};
use undecided::undecided;

/// What is shown.
#[derive(Debug, Default)]
pub struct Shown<'a> {
    /// Of all changes, one behind the other.
    pub findings: &'a [Finding],
    /// The changes.
    pub changes: Vec<Change>,
    /// When requests arrive, a sentence.
    pub arrivals: String,
    /// Whether the model is one of `lbolt calibrate`.
    pub is_calibrated: bool,
}

/// What is known of a change besides its numbers.
#[derive(Debug, Default)]
pub struct Change {
    /// As it was typed.
    pub name: String,
    /// What it stands for.
    pub notes: Vec<String>,
    /// How it is made on a machine of today.
    pub advice: Vec<String>,
    /// Why it changes nothing, if that is so and known.
    pub why_idle: Option<String>,
}

/// What of the responses is shown.
const STATISTICS: [&str; 4] = ["mean", "p50", "p99", "max"];

/// A number of a class before and after a change.
struct Row<'a> {
    change: String,
    device: String,
    op: String,
    statistic: &'static str,
    before: f64,
    after: f64,
    ratio: &'a Finding,
    /// The model before the change over the trace.
    error: Option<f64>,
    /// By how much two runs differ by chance, a logarithm; 0 where that is not known.
    chance: f64,
}

impl Row<'_> {
    /// Whether its change leaves every number of every class as it is.
    fn is_unchanged(&self) -> bool {
        self.ratio.method == UNCHANGED
    }
}

/// Whether a change leaves every number of every class as it is; nobody knows without a row.
fn is_idle(rows: &[Row<'_>], change: &str) -> bool {
    rows.iter().any(|row| row.change == change && row.is_unchanged())
}

/// Requests of an operation in a sentence.
fn plural(op: &str) -> String {
    if op == "flush" { "flushes".to_owned() } else { format!("{op}s") }
}

fn key(finding: &Finding, key: &str) -> String {
    finding.subject.get(key).unwrap_or_default()
}

/// All rows: by change and class as they were found.
fn rows(findings: &[Finding]) -> Vec<Row<'_>> {
    let of_class = |count: &Finding| -> Vec<Row<'_>> {
        let of = |quantity: String| {
            findings.iter().find(|f| f.quantity == quantity && f.subject == count.subject)
        };
        let value = |quantity: String| of(quantity).and_then(|found| found.value);
        let row = |statistic: &'static str| {
            let error = of(format!("model_{statistic}_ratio"));
            let chance = error.and_then(|error| Some((error.high? / error.value?).ln()));
            Some(Row {
                change: key(count, "change"),
                device: key(count, "device"),
                op: key(count, "op"),
                statistic,
                before: value(format!("before_{statistic}_ns"))?,
                after: value(format!("after_{statistic}_ns"))?,
                ratio: of(format!("change_{statistic}_ratio"))?,
                error: error.and_then(|error| error.value),
                // It is in the run before the change and in the one after it.
                chance: 2f64.sqrt() * chance.unwrap_or(0.0),
            })
        };
        STATISTICS.into_iter().filter_map(row).collect()
    };
    counts(findings).flat_map(of_class).collect()
}

/// How many requests each class of each change has.
fn counts(findings: &[Finding]) -> impl Iterator<Item = &Finding> {
    findings
        .iter()
        .filter(|f| f.quantity == "before_count" && matches!(f.subject, Subject::Change(_)))
}

/// Every class and number.
pub fn sheet(shown: &Shown<'_>) -> Sheet {
    let rows = rows(shown.findings);
    let rows: Vec<&Row<'_>> = rows.iter().collect();
    let arrivals = Some(shown.arrivals.clone()).filter(|text| !text.is_empty());
    let notes = screen::basis(&rows).into_iter().chain(arrivals);
    let notes = notes.chain(shown.changes.iter().flat_map(|change| change.notes.clone()));
    let sheet = table(&rows, true, title(shown.findings)).with_notes(notes);
    Sheet { would_tell: screen::would_tell(shown, &rows, |_| true).join(" "), ..sheet }
}

fn title(findings: &[Finding]) -> String {
    let model = findings.first().map(|first| key(first, "model")).unwrap_or_default();
    format!("Response times on the model {model}, before and after")
}

fn table(rows: &[&Row<'_>], has_devices: bool, title: String) -> Sheet {
    let has_changes = rows.iter().any(|row| rows.first().is_some_and(|f| f.change != row.change));
    Listing::of(rows)
        .label("change", |row| row.change.clone())
        .label("device", |row| row.device.clone())
        .label("requests", |row| row.op.clone())
        .label("response", |row| row.statistic.to_owned())
        .labelled_by(|head, _| match head {
            "change" => has_changes,
            "device" => has_devices,
            _ => true,
        })
        .figure("", "before", |row| show_time_ns(row.before))
        .figure("", "after", |row| show_time_ns(row.after))
        .figure("", "after / before", |row| ratio(row.ratio))
        .figure("", "interval", |row| interval(row))
        .sheet(title)
}

fn ratio(finding: &Finding) -> String {
    finding.value.map_or_else(String::new, significant)
}

fn interval(row: &Row<'_>) -> String {
    match Figure::of(row.ratio).ends() {
        None => "none".into(),
        Some(_) if undecided(row).is_some() => CANNOT_TELL.into(),
        Some((low, high)) => format!("[{}, {}]", significant(low), significant(high)),
    }
}
