//! A comparison as text: a line that sums up, a table of the findings with their difference and
//! verdict, and what they rest on; Markdown, CSV and JSON too.
//!
//! Non-goals: reckoning a difference.

use crate::footnote::Footnotes;
use crate::grid::{Entry, Figures, Grid, Labels};
use crate::number::significant;
use crate::sheet::{NOT_MEASURED, Section, Sheet};
use model::comparison::{Compared, Comparison, Outcome};
use model::units::show_time_ns;
use serde_json::{Map, Value, json};

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
    /// Differences between the sides beside their numbers, a sentence each.
    pub differences: Vec<String>,
    /// What else a reader must know.
    pub notes: Vec<String>,
}

/// `3 worse, 1 better, 12 no difference beyond noise (noise floor ±2.1 %), 4 cannot tell`.
pub fn summary(compared: &Compared) -> String {
    let count = |outcome| compared.rows.iter().filter(|row| row.outcome == outcome).count();
    let part = |outcome: Outcome| {
        let count = count(outcome);
        let floor = floor(compared).filter(|_| outcome == Outcome::NoDifference);
        let floor =
            floor.map_or(String::new(), |percent| format!(" (noise floor ±{percent:.1} %)"));
        (count > 0).then(|| format!("{count} {}{floor}", outcome.name()))
    };
    let parts: Vec<String> = Outcome::ALL.into_iter().filter_map(part).collect();
    parts.join(", ")
}

/// The middle one of the rows' noise floors.
fn floor(compared: &Compared) -> Option<f64> {
    let floors = compared.rows.iter().filter_map(|row| row.noise_floor_percent);
    let mut floors: Vec<f64> = floors.filter(|percent| percent.is_finite()).collect();
    floors.sort_by(f64::total_cmp);
    floors.get(floors.len() / 2).copied()
}

/// For a terminal of `width` columns.
pub fn table(compared: &Compared, about: &About, width: Option<u16>) -> String {
    sheet(compared, about).text(width)
}

/// For a document.
pub fn markdown(compared: &Compared, about: &About) -> String {
    sheet(compared, about).markdown()
}

fn sheet(compared: &Compared, about: &About) -> Sheet {
    let notes = Footnotes::of(compared.rows.iter().flat_map(reasons));
    let cell = |text: String| Entry { text, mark: String::new() };
    let column = |head: &str, text: &dyn Fn(&Comparison) -> String| Figures {
        group: String::new(),
        head: head.to_owned(),
        entries: compared.rows.iter().map(|row| cell(text(row))).collect(),
    };
    let figures = vec![
        column("A", &|row| value(row.a, &row.unit)),
        column("B", &|row| value(row.b, &row.unit)),
        column("Change", &|row| percent(row.difference_percent)),
        column("95% interval", &interval),
        column("Noise", &|row| {
            row.noise_floor_percent.map_or(NOT_MEASURED.into(), |p| format!("±{}", digits(p)))
        }),
    ];
    let names = compared.rows.iter().map(|row| subject(&row.subject)).collect();
    let quantities = compared.rows.iter().map(|row| row.quantity.clone()).collect();
    let labels = vec![
        Labels { head: "Subject", texts: names },
        Labels { head: "Quantity", texts: quantities },
    ];
    let verdict =
        |row: &Comparison| format!("{}{}", verdict(row, &about.units), notes.mark(reasons(row)));
    let verdicts = Labels { head: "Verdict", texts: compared.rows.iter().map(verdict).collect() };
    Sheet {
        title: summary(compared),
        sections: vec![Section {
            heading: String::new(),
            grid: Grid::new(labels, figures).with_notes(verdicts),
        }],
        legend: legend(compared, about),
        notes,
    }
}

/// What the footnote of a row says.
fn reasons(row: &Comparison) -> Vec<&str> {
    row.reason.iter().chain(&row.doubts).map(String::as_str).collect()
}

fn legend(compared: &Compared, about: &About) -> Vec<(&'static str, String)> {
    let method = compared.rows.iter().find(|row| row.probability.is_some());
    let mut lines = vec![("A", about.a.clone()), ("B", about.b.clone())];
    let different = about.differences.iter().map(|text| ("differs", text.clone()));
    lines.extend(different);
    if let Some(row) = method {
        lines.push((
            "method",
            format!(
                "A and B are medians of {}; {}. The intervals are each row's own; the verdicts are corrected for \
                 {} comparisons (Holm), and differences that matter are those above {} %.",
                about.units,
                row.method,
                compared.tested,
                significant(about.effect_percent)
            ),
        ));
        lines.push((
            "noise",
            "the floor: what differs between the halves of a side by itself (A/A), and what the machine itself changed between \
             the runs; no difference within it is called one"
                .into(),
        ));
    }
    lines.extend(about.notes.iter().map(|note| ("note", note.clone())));
    for (side, other, count) in [("A", "B", compared.only_a), ("B", "A", compared.only_b)] {
        if count > 0 {
            lines.push((
                "left out",
                format!("{count} findings that {side} has and {other} has not"),
            ));
        }
    }
    lines
}

/// `cannot tell (24 passes would)`.
fn verdict(row: &Comparison, units: &str) -> String {
    match row.needed {
        Some(needed) => format!("{} ({needed} {units} would)", row.outcome.name()),
        None => row.outcome.name().to_owned(),
    }
}

/// The values of a subject in one word where it has a program, otherwise all of them.
fn subject(text: &str) -> String {
    let Ok(keys) = serde_json::from_str::<Map<String, Value>>(text) else { return text.to_owned() };
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
    let word = |(key, value): (&String, &Value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
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
        Some((rank(key), word))
    };
    let mut words: Vec<(usize, String)> = keys.iter().filter_map(word).collect();
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
        (Some(value), "B/s") if value >= 1e9 => format!("{} GB/s", significant(value / 1e9)),
        (Some(value), "B/s") => format!("{} MB/s", significant(value / 1e6)),
        (Some(value), "%") => format!("{}%", significant(value)),
        (Some(value), "1") => significant(value),
        (Some(value), unit) => format!("{} {unit}", significant(value)),
    }
}

fn digits(percent: f64) -> String {
    let decimals = if percent.abs() < 10.0 { 1 } else { 0 };
    format!("{percent:.decimals$}%")
}

fn percent(value: Option<f64>) -> String {
    let decimals = |value: f64| if value.abs() < 10.0 { 1 } else { 0 };
    value.map_or(NOT_MEASURED.into(), |value| format!("{value:+.*}%", decimals(value)))
}

fn interval(row: &Comparison) -> String {
    match (row.low_percent, row.high_percent) {
        (Some(low), Some(high)) => format!("{} to {}", percent(Some(low)), percent(Some(high))),
        _ => NOT_MEASURED.to_owned(),
    }
}

/// A row as an object; what is not a finite number is null.
fn object(row: &Comparison) -> Value {
    let subject: Value =
        serde_json::from_str(&row.subject).unwrap_or_else(|_| json!({ "text": row.subject }));
    let finite = |value: Option<f64>| value.filter(|value| value.is_finite());
    json!({
        "subject": subject,
        "quantity": row.quantity,
        "unit": row.unit,
        "a": finite(row.a),
        "b": finite(row.b),
        "count_a": row.counts.0,
        "count_b": row.counts.1,
        "difference_percent": finite(row.difference_percent),
        "low_percent": finite(row.low_percent),
        "high_percent": finite(row.high_percent),
        "probability": finite(row.probability),
        "corrected_probability": finite(row.corrected_probability),
        "noise_floor_percent": finite(row.noise_floor_percent),
        "verdict": row.outcome.name(),
        "needed_count": row.needed,
        "method": row.method,
        "reason": row.reason,
        "doubts": row.doubts,
    })
}

/// `{"schema":"lbolt.comparison/1","a":…,"b":…,"comparisons":[…]}`.
///
/// # Errors
/// None that these types can cause; the serializer's own are passed on.
pub fn json(compared: &Compared, about: &About) -> serde_json::Result<String> {
    let document = json!({
        "schema": "lbolt.comparison/1",
        "a": about.a,
        "b": about.b,
        "summary": summary(compared),
        "units": about.units,
        "effect_percent": about.effect_percent,
        "compared_count": compared.tested,
        "only_a_count": compared.only_a,
        "only_b_count": compared.only_b,
        "differences": about.differences,
        "notes": about.notes,
        "comparisons": compared.rows.iter().map(object).collect::<Vec<_>>(),
    });
    let text = serde_json::to_string_pretty(&document)?;
    Ok(model::text::visible_json(&text).into_owned() + "\n")
}

/// One line a row; the subject as its canonical text.
pub fn csv(compared: &Compared) -> String {
    let names = [
        "subject",
        "quantity",
        "unit",
        "a",
        "b",
        "count_a",
        "count_b",
        "difference_percent",
        "low_percent",
        "high_percent",
        "probability",
        "corrected_probability",
        "noise_floor_percent",
        "verdict",
        "needed_count",
        "method",
        "reason",
    ];
    let line = |row: &Comparison| {
        let object = object(row);
        let cell = |name: &&str| match (*name, object.get(*name)) {
            ("subject", _) => crate::export::cell(&row.subject),
            (_, Some(Value::String(text))) => crate::export::cell(text),
            (_, None | Some(Value::Null)) => String::new(),
            (_, Some(other)) => other.to_string(),
        };
        names.iter().map(cell).collect::<Vec<_>>().join(",") + "\n"
    };
    names.join(",") + "\n" + &compared.rows.iter().map(line).collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(outcome: Outcome) -> Comparison {
        Comparison {
            subject: r#"{"drives":"1","program":"read_4k"}"#.into(),
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
        assert!(text.contains("cannot tell (24 passes would)"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
        assert!(markdown(&compared, &about).contains("| worse |"));
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
        let text = r#"{"access":"randread","arithmetic":"none","block_bytes":"4096","channels":"4","direct":"1","engine":"io_uring","target":"d","test_interval_ns":"none"}"#;
        assert_eq!(subject(text), "d io_uring randread 4k ×4 direct");
        assert_eq!(subject("?"), "?");
        assert_eq!(subject(r#"{"by":"all","class":"all"}"#), "all");
    }
}
