//! The one table that is printed: a row a claim, in Markdown, columns aligned.

use super::statistics::{Bound, Verdict, extremes, median, median_interval};

const HEAD: [&str; 6] = ["what", "measured", "wanted", "verdict", "lbolt", "peer"];

/// A claim and what was found.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) measured: String,
    pub(super) wanted: String,
    pub(super) verdict: Verdict,
    /// Median and extremes of lbolt's own figure.
    pub(super) lbolt: String,
    /// … and of the program beside it.
    pub(super) peer: String,
}

impl Row {
    /// A row by the values of its pairs.
    pub(super) fn judged(name: &str, values: &[f64], bound: Bound) -> Self {
        let none = || Verdict::CouldNotTell("nothing was measured".into());
        let interval = median_interval(values);
        let measured = match (median(values), interval) {
            (Some(middle), Some(i)) => {
                format!("{} [{}, {}]", number(middle), number(i.low), number(i.high))
            }
            _ => "-".into(),
        };
        Self {
            name: name.to_owned(),
            measured,
            wanted: bound.to_string(),
            verdict: interval.map_or_else(none, |interval| bound.judge(interval)),
            lbolt: "-".into(),
            peer: "-".into(),
        }
    }

    fn cells(&self) -> [String; 6] {
        let verdict = self.verdict.to_string();
        let Self { name, measured, wanted, lbolt, peer, .. } = self;
        [name, measured, wanted, &verdict, lbolt, peer].map(|cell| cell.replace('|', "/"))
    }
}

/// Median and extremes: `812.1k (790.5k to 834.0k)/s`.
pub(super) fn spread(values: &[f64], unit: &str) -> String {
    match (median(values), extremes(values)) {
        (Some(middle), Some((low, high))) => {
            format!("{} ({} to {}){unit}", number(middle), number(low), number(high))
        }
        _ => "-".into(),
    }
}

/// Four digits that matter, thousands and millions by their letters.
pub(super) fn number(value: f64) -> String {
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

/// The table.
pub(super) fn render(rows: &[Row]) -> String {
    let lines: Vec<[String; 6]> =
        std::iter::once(HEAD.map(str::to_owned)).chain(rows.iter().map(Row::cells)).collect();
    let widths: [usize; 6] = std::array::from_fn(|column| {
        lines.iter().map(|cells| cells[column].chars().count()).max().unwrap_or(0)
    });
    let line = |cells: &[String; 6]| {
        let padded = cells.iter().zip(widths).map(|(cell, width)| format!(" {cell:width$} |"));
        format!("|{}\n", padded.collect::<String>())
    };
    let rule: String = widths.iter().map(|width| format!(" {} |", "-".repeat(*width))).collect();
    let body: String = lines[1..].iter().map(line).collect();
    format!("{}|{rule}\n{body}", line(&lines[0]))
}

#[cfg(test)]
mod tests {
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
        assert_eq!(spread(&[2.0, 1.0, 3.0], "/s"), "2.000 (1.000 to 3.000)/s");
        assert_eq!(spread(&[], "/s"), "-");
    }

    #[test]
    fn a_row_says_what_was_found_and_what_that_means() {
        let same = Bound { low: 0.95, high: 1.05 };
        let row = Row::judged("rate", &[1.01, 0.99, 1.0], same);
        assert_eq!(
            render(std::slice::from_ref(&row)),
            "| what | measured             | wanted       | verdict | lbolt | peer |\n\
             | ---- | -------------------- | ------------ | ------- | ----- | ---- |\n\
             | rate | 1.000 [0.990, 1.010] | 0.95 to 1.05 | reached | -     | -    |\n"
        );
        assert_eq!(Row::judged("rate", &[0.8, 0.9], same).verdict, Verdict::Missed);
        let nothing = Row::judged("rate", &[], same);
        assert!(matches!(nothing.verdict, Verdict::CouldNotTell(_)));
    }
}
