//! The one table that is printed: a row a figure, with what was wanted of it.

use super::case::{Case, Row};
use super::formula::{self, Figure, median};
use super::judge::{Measured, Verdict, extremes};
use super::runner::Rounds;
use report::listing::Listing;

/// A figure and what was found.
#[derive(Debug, Clone)]
pub(super) struct Found {
    name: String,
    wanted: String,
    measured: Option<Measured>,
    pub(super) verdict: Verdict,
    /// Of each side, median and extremes of its first figure.
    sides: String,
}

/// The rows of a case, by its rounds or why there are none.
pub(super) fn rows(case: &Case, rounds: &anyhow::Result<Rounds>) -> Vec<Found> {
    let found = |row: &Row| match rounds.as_ref().map(|rounds| (rounds, rounds.values(row))) {
        Ok((rounds, Ok(values))) => Found::of(row, &values, sides(row, rounds)),
        Ok((_, Err(error))) => Found::open(row, &error),
        Err(error) => Found::open(row, error),
    };
    case.rows.iter().map(found).collect()
}

fn sides(row: &Row, rounds: &Rounds) -> String {
    let terms = row.terms().unwrap_or_default();
    let spread = |figure: &Figure| {
        Some(format!("{} {}", figure.side, spread(&rounds.column(figure).ok()?)?))
    };
    formula::figures(&terms).into_iter().filter_map(spread).collect::<Vec<_>>().join(", ")
}

/// `812.3k (790.5k to 834.0k)`.
fn within(value: f64, low: f64, high: f64) -> String {
    match low == high {
        true => number(value),
        false => format!("{} ({} to {})", number(value), number(low), number(high)),
    }
}

/// Median and extremes.
fn spread(values: &[f64]) -> Option<String> {
    let (middle, (low, high)) = (median(values)?, extremes(values));
    Some(within(middle, low, high))
}

impl Found {
    fn of(row: &Row, values: &[f64], sides: String) -> Self {
        let measured = Measured::of(values);
        let none = Verdict::CannotTell("nothing was measured".to_owned());
        let verdict = measured.as_ref().map_or(none, |measured| row.wanted.judge(measured));
        let (name, wanted) = (row.name.clone(), row.wanted.to_string());
        Self { name, wanted, measured, verdict, sides }
    }

    fn open(row: &Row, error: &anyhow::Error) -> Self {
        let reason = format!("{error:#}").replace('\n', "; ");
        let (name, wanted) = (row.name.clone(), row.wanted.to_string());
        let verdict = Verdict::CannotTell(reason);
        Self { name, wanted, measured: None, verdict, sides: String::new() }
    }

    fn measured(&self) -> String {
        let show = |Measured { value, low, high }| within(value, low, high);
        self.measured.map_or_else(|| "-".to_owned(), show)
    }
}

/// Four digits that matter, thousands and millions by their letters.
fn number(value: f64) -> String {
    let (scaled, letter) = match value.abs() {
        v if v >= 999_950.0 => (value / 1e6, "M"),
        v if v >= 9_999.5 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let digits = match scaled.abs() {
        v if v >= 1000.0 => 0,
        v if v >= 100.0 => 1,
        v if v >= 10.0 => 2,
        _ => 3,
    };
    format!("{scaled:.digits$}{letter}")
}

/// The table, with notes beneath.
pub(super) fn render(rows: &[Found], notes: Vec<String>) -> String {
    Listing::of(rows)
        .label("what", |row| row.name.clone())
        .figure("", "measured", Found::measured)
        .figure("", "wanted", |row| row.wanted.clone())
        .figure("", "sides", |row| row.sides.clone())
        .remark("verdict", |row| row.verdict.to_string())
        .sheet(summary(rows))
        .with_notes(notes)
        .text(None)
}

/// `3 reached, 1 missed, 2 could not be judged`.
fn summary(rows: &[Found]) -> String {
    let count = |is: fn(&Verdict) -> bool| rows.iter().filter(|row| is(&row.verdict)).count();
    format!(
        "{} reached, {} missed, {} could not be judged",
        count(|verdict| *verdict == Verdict::Reached),
        count(|verdict| *verdict == Verdict::Missed),
        count(|verdict| matches!(verdict, Verdict::CannotTell(_)))
    )
}

#[cfg(test)]
mod tests {
    use super::super::case;
    use super::*;

    #[test]
    fn numbers_keep_what_matters() {
        for (value, text) in [
            (0.98765, "0.988"),
            (24.456, "24.46"),
            (5120.4, "5120"),
            (16_234.0, "16.23k"),
            (812_345.0, "812.3k"),
            (39_358_272.0, "39.36M"),
            (-1.0, "-1.000"),
        ] {
            assert_eq!(number(value), text);
        }
        assert_eq!(spread(&[2.0, 1.0, 3.0]).unwrap(), "2.000 (1.000 to 3.000)");
        assert_eq!(spread(&[]), None);
    }

    #[test]
    fn a_row_says_what_was_found_and_what_that_means() {
        let case = &case::with_rows("read 8k psync direct").unwrap()[0];
        let row = |values: &[f64]| Found::of(&case.rows[0], values, "a 1".into());
        let rows = [row(&[1.01, 0.99, 1.0]), row(&[0.8]), row(&[0.8, 1.0]), row(&[])];
        let text = render(&rows, vec!["a note".into()]);
        let lines: Vec<String> = text
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        let has = |line: &str| lines.iter().any(|known| known.contains(line));
        assert_eq!(lines[0], "1 reached, 1 missed, 2 could not be judged");
        assert!(has("1.000 (0.990 to 1.010) 0.95 to 1.05 a 1 reached"), "{text}");
        assert!(has("0.800 0.95 to 1.05 a 1 MISSED") && has("a note"), "{text}");
        assert!(text.contains("the interval spans") && text.contains("nothing was"), "{text}");
        let none = super::rows(case, &Err(anyhow::anyhow!("no root")));
        assert_eq!(none[0].verdict, Verdict::CannotTell("no root".into()));
    }
}
