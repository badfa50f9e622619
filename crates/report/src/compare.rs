//! A comparison as text: a line that answers, a line that sums up, a table of the findings with
//! their difference and verdict, and what they rest on; Markdown, CSV and JSON too.
//!
//! Non-goals: reckoning a difference.

mod answer;
mod legend;

use crate::export::{self, line};
use crate::footnote::{Footnotes, Note};
use crate::listing::Listing;
use crate::number::{show_rate, significant};
use crate::setting::Setting;
use crate::sheet::{NOT_MEASURED, Sheet};
pub use answer::answer;
use answer::needs;
pub(crate) use legend::corrections;
use legend::legend;
use model::comparison::{Compared, Comparison, Outcome, Remark, SideDoubt};
use model::record::Subject;
use model::units::{show_change, show_fixed, show_time_ns};
use serde_json::{Value, json};

/// What is said of the sides beside the rows.
#[derive(Debug, Clone, Default)]
pub struct About {
    /// What A is.
    pub a: String,
    /// What B is.
    pub b: String,
    /// What the units of the test are, in the plural.
    pub units: String,
    /// The least difference that matters, per cent.
    pub effect_percent: f64,
    /// Differences between the sides beside their numbers.
    pub differences: Vec<Setting>,
    /// What else a reader must know.
    pub notes: Vec<String>,
    /// Whether rows are shown that a side did not measure.
    pub shows_all: bool,
}

/// `3 worse (1 of them suspect), 12 no difference beyond noise (noise floor ±2.1 %), 4 cannot
/// tell`. What a side did not measure is not counted.
pub fn summary(compared: &Compared) -> String {
    let part = |outcome: Outcome| {
        let rows = || measured(compared).filter(|row| row.outcome == outcome);
        let (count, suspect) = (rows().count(), rows().filter(|row| row.is_suspect()).count());
        let floor = floor(compared).filter(|_| outcome == Outcome::NoDifference);
        let floor = floor.map(|percent| format!("noise floor ±{percent:.1} %"));
        let decides = matches!(outcome, Outcome::Better | Outcome::Worse | Outcome::Differs);
        let suspect = match suspect {
            many if decides && many > 0 && many == count => Some("suspect".to_owned()),
            some if decides && some > 0 => Some(format!("{some} of them suspect")),
            _ => None,
        };
        let more: Vec<String> = floor.into_iter().chain(suspect).collect();
        let more = if more.is_empty() { String::new() } else { format!(" ({})", more.join(", ")) };
        (count > 0).then(|| format!("{count} {}{more}", outcome.name()))
    };
    let parts: Vec<String> = Outcome::ALL.into_iter().filter_map(part).collect();
    if parts.is_empty() { "nothing that both sides measured".to_owned() } else { parts.join(", ") }
}

/// The rows that both sides have measured.
fn measured(compared: &Compared) -> impl Iterator<Item = &Comparison> {
    compared.rows.iter().filter(|row| row.is_measured())
}

/// The middle one of the rows' noise floors.
fn floor(compared: &Compared) -> Option<f64> {
    let floors = compared.rows.iter().filter_map(|row| row.noise_floor_percent);
    let mut floors: Vec<f64> = floors.filter(|percent| percent.is_finite()).collect();
    floors.sort_by(f64::total_cmp);
    floors.get(floors.len() / 2).copied()
}

/// For a terminal of `width` columns. What differs beside the numbers stands before them.
pub fn table(compared: &Compared, about: &About, width: Option<u16>) -> String {
    sheet(compared, about).text(width)
}

/// For a document.
pub fn markdown(compared: &Compared, about: &About) -> String {
    sheet(compared, about).markdown()
}

pub(crate) fn sheet(compared: &Compared, about: &About) -> Sheet {
    let rows: Vec<&Comparison> =
        compared.rows.iter().filter(|row| about.shows_all || row.is_measured()).collect();
    let reasons: Vec<Vec<Note>> = rows.iter().map(|row| reasons(row)).collect();
    let texts = |place: usize| reasons[place].clone();
    let cells = rows.iter().enumerate().map(|(place, row)| {
        (String::new(), format!("{} {}", subject(&row.subject), row.quantity), texts(place))
    });
    let notes = Footnotes::of_cells("rows", cells);
    let verdict = |(place, row): &(usize, &Comparison)| {
        let suspect = if row.is_suspect() { ", suspect" } else { "" };
        format!("{}{suspect}{}", verdict(row, &about.units), notes.mark(texts(*place)))
    };
    let rows: Vec<(usize, &Comparison)> = rows.into_iter().enumerate().collect();
    let grid = Listing::of(&rows)
        .label("Subject", |(_, row)| subject(&row.subject))
        .label("Quantity", |(_, row)| row.quantity.clone())
        .figure("", "A", |(_, row)| value(row.a, &row.unit))
        .figure("", "B", |(_, row)| value(row.b, &row.unit))
        .figure("", "Change", |(_, row)| percent(row.difference_percent))
        .figure("", "95% interval", |(_, row)| interval(row))
        .figure("", "Noise", |(_, row)| noise(row))
        .remark("Verdict", verdict)
        .grid();
    Sheet {
        before: std::iter::once(("verdicts", summary(compared)))
            .chain(about.differences.iter().map(|of| ("differs", of.to_string())))
            .collect(),
        legend: legend(compared, about),
        ..Sheet::of(answer(compared, about), grid, notes)
    }
}

/// What the footnotes of a row say.
fn reasons(row: &Comparison) -> Vec<Note> {
    let remarks = row.remarks.iter().flat_map(|remark| sentences(row, remark));
    let reason = row.reason.iter().map(|reason| Note::said(reason));
    let doubts = row.doubts.iter().map(|of| {
        let side = if of.side == "A" { "A: " } else { "B: " };
        Note { side, doubt: of.doubt.clone() }
    });
    reason.chain(doubts).chain(remarks.map(|remark| Note::said(&remark))).collect()
}

fn sentences(row: &Comparison, remark: &Remark) -> Vec<String> {
    match remark {
        Remark::Opposed(others) => {
            others.iter().map(|other| opposed(&row.quantity, other)).collect()
        }
    }
}

/// What a quantity tells of a cell.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Aspect {
    Rate,
    Usual,
    Slowest,
    Cpu,
    Other,
}

/// What quantities tell, by parts of their names; the first that fits.
const ASPECTS: &[(&str, Aspect)] = &[
    ("cpu", Aspect::Cpu),
    ("p90", Aspect::Slowest),
    ("p99", Aspect::Slowest),
    ("max", Aspect::Slowest),
    ("per_s", Aspect::Rate),
    ("mean", Aspect::Usual),
    ("p50", Aspect::Usual),
    ("wall", Aspect::Usual),
];

/// Why two quantities of one cell can surely go opposite ways.
fn opposed(one: &str, other: &str) -> String {
    use Aspect::{Cpu, Rate, Slowest, Usual};
    let aspect = |name: &str| {
        ASPECTS.iter().find(|(part, _)| name.contains(part)).map_or(Aspect::Other, |(_, a)| *a)
    };
    let mut pair = [(aspect(one), one), (aspect(other), other)];
    pair.sort_unstable();
    let [(first, a), (second, b)] = pair;
    let why = match (first, second) {
        (Rate, Usual) => {
            "a rate counts the whole pass with fdatasync, open and close; a latency only the \
             requests"
        }
        (Rate | Usual, Slowest) => "one follows the typical request, the other the slowest few",
        (Rate | Usual | Slowest, Cpu) => {
            "a request can complete sooner and cost more CPU time, or the reverse"
        }
        _ => "they measure different things",
    };
    format!("{a} and {b} changed in opposite directions: {why}")
}

/// `cannot tell (needs 24 passes)`.
fn verdict(row: &Comparison, units: &str) -> String {
    match row.needed {
        Some(needed) => {
            format!("{} (needs {})", row.outcome.name(), needs(row, needed, units))
        }
        None => row.outcome.name().to_owned(),
    }
}

/// The values of a subject in one word where it has a program, otherwise all of them.
pub(crate) fn subject(subject: &Subject) -> String {
    // What says nothing: no computing, one drive, a path that is not direct.
    let is_silent = |key: &str, value: &str| {
        matches!(
            (key, value),
            ("drives", "1")
                | ("arithmetic" | "test_interval_ns", "none")
                | ("direct", "0")
                | ("by", _)
        )
    };
    let word = |(key, value): (String, String)| {
        let word = match key.as_str() {
            key if is_silent(key, &value) => return None,
            "program" | "engine" | "access" | "target" | "class" | "op" | "device" | "account" => {
                value
            }
            "block_bytes" => value.parse().map_or(value, model::units::show_size),
            "direct" => "direct".to_owned(),
            "channels" => format!("×{value}"),
            "drives" => format!("{value} drives"),
            _ => format!("{key} {value}"),
        };
        Some((rank(&key), word))
    };
    let mut words: Vec<(usize, String)> = subject.entries().into_iter().filter_map(word).collect();
    words.sort_by_key(|(rank, _)| *rank);
    let words: Vec<String> = words.into_iter().map(|(_, word)| word).collect();
    match words.is_empty() {
        true => "all".to_owned(),
        false => words.join(" "),
    }
}

/// The order of a subject's words.
fn rank(key: &str) -> usize {
    let order =
        ["target", "program", "engine", "access", "block_bytes", "channels", "direct", "drives"];
    order.iter().position(|known| *known == key).unwrap_or(order.len())
}

fn value(value: Option<f64>, unit: &str) -> String {
    match (value, unit) {
        (None, _) => NOT_MEASURED.to_owned(),
        (Some(value), "ns") => show_time_ns(value),
        (Some(value), "B/s") => show_rate(value),
        (Some(value), "%") => format!("{}%", significant(value)),
        (Some(value), "1") => significant(value),
        (Some(value), unit) => format!("{} {unit}", significant(value)),
    }
}

fn digits(percent: f64) -> String {
    let decimals = if percent.abs() < 10.0 { 1 } else { 0 };
    show_fixed(percent, decimals) + "%"
}

fn percent(value: Option<f64>) -> String {
    let decimals = |value: f64| if value.abs() < 10.0 { 1 } else { 0 };
    value.map_or(NOT_MEASURED.into(), |value| show_change(value, decimals(value)) + "%")
}

fn interval(row: &Comparison) -> String {
    match (row.low_percent, row.high_percent) {
        (Some(low), Some(high)) => format!("{} to {}", percent(Some(low)), percent(Some(high))),
        _ => NOT_MEASURED.to_owned(),
    }
}

/// From here on the noise of a ratio is told by both ends: +191 % is as far as -66 %.
const WIDE_PERCENT: f64 = 10.0;

fn noise(row: &Comparison) -> String {
    let is_ratio = [row.a, row.b].iter().all(|value| value.is_some_and(|value| value > 0.0));
    match row.noise_floor_percent {
        None => NOT_MEASURED.to_owned(),
        Some(above) if is_ratio && above >= WIDE_PERCENT => {
            let below = 100.0 * (1.0 / (1.0 + above / 100.0) - 1.0);
            format!("{} to {}", percent(Some(below)), percent(Some(above)))
        }
        Some(above) => format!("±{}", digits(above)),
    }
}

/// What is not a finite number is null.
fn finite(value: Option<f64>) -> Value {
    value.filter(|value| value.is_finite()).into()
}

/// A field of a row: its name, and its value.
type Field = (&'static str, fn(&Comparison) -> Value);

/// Those of an object and of a line of CSV.
const FIELDS: &[Field] = &[
    ("subject", |row| row.subject.object()),
    ("quantity", |row| row.quantity.clone().into()),
    ("unit", |row| row.unit.clone().into()),
    ("a", |row| finite(row.a)),
    ("b", |row| finite(row.b)),
    ("count_a", |row| row.counts.0.into()),
    ("count_b", |row| row.counts.1.into()),
    ("difference_percent", |row| finite(row.difference_percent)),
    ("low_percent", |row| finite(row.low_percent)),
    ("high_percent", |row| finite(row.high_percent)),
    ("probability", |row| finite(row.probability)),
    ("corrected_probability", |row| finite(row.corrected_probability)),
    ("noise_floor_percent", |row| finite(row.noise_floor_percent)),
    ("verdict", |row| row.outcome.name().into()),
    ("needed_count", |row| row.needed.into()),
    ("method", |row| row.method.clone().into()),
    ("reason", |row| row.reason.clone().into()),
    ("suspect", |row| row.is_suspect().into()),
];
/// Those of an object alone.
const LISTS: &[Field] = &[
    ("doubts", |row| row.doubts.iter().map(side_doubt).collect()),
    ("remarks", |row| row.remarks.iter().flat_map(|of| sentences(row, of)).collect()),
];

/// A row as an object.
fn object(row: &Comparison) -> Value {
    FIELDS.iter().chain(LISTS).map(|(name, value)| ((*name).to_owned(), value(row))).collect()
}

/// A doubt as an object, with the side that it is of.
fn side_doubt(of: &SideDoubt) -> Value {
    let mut doubt = serde_json::to_value(&of.doubt).unwrap_or_default();
    doubt["side"] = of.side.into();
    doubt
}

/// `{"schema":"lbolt.comparison/2","a":…,"b":…,"comparisons":[…]}`.
/// Errors: none that these types can cause; the serializer's own are passed on.
pub fn json(compared: &Compared, about: &About) -> serde_json::Result<String> {
    let document = json!({
        "schema": "lbolt.comparison/2",
        "a": about.a,
        "b": about.b,
        "answer": export::answer([answer(compared, about)]),
        "summary": summary(compared),
        "units": about.units,
        "effect_percent": about.effect_percent,
        "compared_count": compared.tested,
        "only_a_count": compared.only_a,
        "only_b_count": compared.only_b,
        "differences": about.differences.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "notes": about.notes,
        "comparisons": compared.rows.iter().map(object).collect::<Vec<_>>(),
    });
    let text = serde_json::to_string_pretty(&document)?;
    Ok(model::text::visible_json(&text).into_owned() + "\n")
}

/// One line a row; the subject as its canonical text.
pub fn csv(compared: &Compared) -> String {
    let line = |row: &Comparison| {
        line(FIELDS.iter().map(|(name, value)| match (*name, value(row)) {
            ("subject", _) => row.subject.text(),
            (_, Value::String(text)) => text,
            (_, Value::Null) => String::new(),
            (_, other) => other.to_string(),
        }))
    };
    let names = FIELDS.iter().map(|(name, _)| *name).collect::<Vec<_>>();
    names.join(",") + "\n" + &compared.rows.iter().map(line).collect::<String>()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use model::record::Doubt;

    /// A row that ended so.
    pub(crate) fn row(outcome: Outcome) -> Comparison {
        Comparison {
            subject: Subject::cell("d", "read_4k", 1).without_target(),
            quantity: "rate_bytes_per_s".into(),
            unit: "B/s".into(),
            a: Some(1e8),
            b: Some(9e7),
            counts: (5, 5),
            difference_percent: Some(-10.0),
            low_percent: Some(-12.25),
            high_percent: Some(-8.0),
            probability: Some(0.01),
            corrected_probability: Some(0.02),
            noise_floor_percent: Some(2.12),
            outcome,
            needed: None,
            method: "ranks".into(),
            reason: None,
            doubts: vec![],
            remarks: vec![],
        }
    }

    #[test]
    fn the_summary_counts_in_order() {
        let rows = [Outcome::Worse, Outcome::NoDifference, Outcome::Worse].map(row).to_vec();
        let compared = Compared { rows, ..Compared::default() };
        assert_eq!(
            summary(&compared),
            "2 worse, 1 no difference beyond noise (noise floor ±2.1 %)"
        );
    }

    #[test]
    fn a_row_says_what_is_needed_and_fits_a_terminal() {
        let unsure = Comparison { needed: Some(24), ..row(Outcome::CannotTell) };
        let compared = Compared { rows: vec![row(Outcome::Worse), unsure], ..Compared::default() };
        let about = About { units: "passes".into(), ..About::default() };
        let text = table(&compared, &about, Some(120));
        assert!(text.contains("read_4k"), "{text}");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let row = "rate_bytes_per_s 100 MB/s 90.0 MB/s -10% -12% to -8.0% ±2.1% worse";
        assert!(words.contains(row), "{text}");
        assert!(text.contains("cannot tell (needs 24 passes)"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
        assert!(markdown(&compared, &about).contains("| worse |"));
    }

    #[test]
    fn wide_noise_is_told_by_both_ends() {
        let of = |percent| Comparison { noise_floor_percent: percent, ..row(Outcome::Worse) };
        let texts = [None, Some(2.12), Some(191.0)].map(|percent| noise(&of(percent)));
        assert_eq!(texts, ["n.m.", "±2.1%", "-66% to +191%"]);
    }

    #[test]
    fn machines_read_every_column() {
        let compared = Compared { rows: vec![row(Outcome::Worse)], ..Compared::default() };
        let read: Value =
            serde_json::from_str(&json(&compared, &About::default()).unwrap()).unwrap();
        assert_eq!(read["comparisons"][0]["subject"]["program"], "read_4k");
        let text = csv(&compared);
        assert_eq!(text.lines().count(), 2);
        assert!(text.contains(",-10.0,-12.25,-8.0,0.01,0.02,2.12,worse,,ranks,"), "{text}");
    }

    #[test]
    fn subjects_are_short() {
        let of_text = |text| subject(&Subject::from_text(text).unwrap());
        let text = r#"{"access":"randread","arithmetic":null,"block_bytes":4096,"channels":4,
            "direct":1,"engine":"io_uring","target":"d","test_interval_ns":null}"#;
        assert_eq!(of_text(text), "d io_uring randread 4k ×4 direct");
        assert_eq!(of_text(r#"{"by":"all","class":"all"}"#), "all");
    }

    #[test]
    fn what_differs_beside_the_numbers_stands_before_them() {
        let compared = Compared { rows: vec![row(Outcome::Worse)], ..Compared::default() };
        let sentence = "scheduler: none (vda) in A, bfq (vda) in B";
        let [name, a, b] = ["scheduler", "none (vda)", "bfq (vda)"].map(str::to_owned);
        let about = About { differences: vec![Setting { name, a, b }], ..About::default() };
        let text = table(&compared, &about, Some(120));
        let (of_setting, of_row) = (text.find(sentence).unwrap(), text.find("Subject").unwrap());
        assert!(of_setting < of_row, "{text}");
        let text = markdown(&compared, &about);
        assert!(text.find("scheduler").unwrap() < text.find("Subject").unwrap(), "{text}");
    }

    #[test]
    fn a_row_that_a_side_did_not_measure_is_left_out_and_counted() {
        let lone = Comparison {
            subject: Subject::cell("d", "write_4k", 1).without_target(),
            b: None,
            reason: Some("not measured in B".into()),
            ..row(Outcome::NotComparable)
        };
        let compared = Compared { rows: vec![row(Outcome::Worse), lone], ..Compared::default() };
        let text = table(&compared, &About::default(), Some(120));
        assert!(text.contains("verdicts  1 worse\n"), "{text}");
        assert!(
            text.contains("1 without a measurement on one side (write_4k); --all shows them"),
            "{text}"
        );
        assert!(!text.contains("n.m."), "{text}");
        let all = table(&compared, &About { shows_all: true, ..About::default() }, Some(120));
        assert!(all.contains("not measured in B") && !all.contains("--all"), "{all}");
        // Machines read all of them.
        assert_eq!(csv(&compared).lines().count(), 3);
    }

    #[test]
    fn a_suspect_row_says_so_and_is_counted_apart() {
        let doubts = vec![SideDoubt { side: "A", doubt: Doubt::refused("busy") }];
        let suspect = Comparison { doubts, ..row(Outcome::Worse) };
        let rows = vec![row(Outcome::Worse), suspect.clone()];
        let compared = Compared { rows, ..Compared::default() };
        assert_eq!(summary(&compared), "2 worse (1 of them suspect)");
        let text = table(&compared, &About::default(), None);
        assert!(text.contains("worse, suspect*"), "{text}");
        let compared = Compared { rows: vec![suspect], ..Compared::default() };
        assert_eq!(summary(&compared), "1 worse (suspect)");
        assert!(csv(&compared).ends_with(",true\n"), "{}", csv(&compared));
    }

    #[test]
    fn what_seems_to_contradict_itself_is_explained_in_the_row() {
        let tail = Comparison {
            quantity: "latency_p99_ns".into(),
            unit: "ns".into(),
            remarks: vec![Remark::Opposed(vec!["rate_bytes_per_s".into()])],
            ..row(Outcome::Worse)
        };
        let about = About::default();
        let rate = Comparison {
            remarks: vec![Remark::Opposed(vec!["latency_p99_ns".into()])],
            ..row(Outcome::Better)
        };
        let compared = Compared { rows: vec![rate, tail], ..Compared::default() };
        let text = table(&compared, &about, None);
        assert!(
            text.contains(
                "rate_bytes_per_s and latency_p99_ns changed in opposite directions: one follows"
            ),
            "{text}"
        );
        assert!(text.contains("better*") && text.contains("worse*"), "{text}");
    }
}
