//! Responses against when they began within the period, as a chart of characters: a column for each
//! part of the period, a row for each quarter of a decade, the longest responses above.

use crate::words::hang;
use model::units::show_time_ns;

/// What the chart shows.
#[allow(missing_debug_implementations, reason = "it has a function")]
pub struct Folded<'a> {
    /// What is read.
    pub target: &'a str,
    /// From one sync to the next, ns; it is due in the middle.
    pub period_ns: u64,
    /// Parts of the period.
    pub parts: u64,
    /// How many requests there are of a level, in a part.
    pub count: &'a dyn Fn(i32, u64) -> u64,
    /// The levels that there are.
    pub levels: std::ops::RangeInclusive<i32>,
    /// The least response of a level, ns.
    pub level_ns: fn(i32) -> f64,
}

/// From how many requests on a place is drawn so.
const MARKS: [(u64, char); 4] = [(30, '#'), (8, 'o'), (2, ':'), (1, '.')];
/// Columns of the labels at the left.
const LABEL: usize = 8;

/// The chart for a terminal of `width` columns.
pub fn folded(chart: &Folded<'_>, width: Option<u16>) -> String {
    let title = format!(
        "Responses of the reader's reads of {} against when they began within the period of {}, \
         all periods without a remedy one over the other; the sync is due at ^",
        chart.target,
        show_time_ns(chart.period_ns as f64)
    );
    let mark = |count: u64| MARKS.iter().find(|(least, _)| count >= *least).map(|mark| mark.1);
    let row = |level: i32| {
        let label = show_time_ns((chart.level_ns)(level));
        let line: String =
            (0..chart.parts).map(|part| mark((chart.count)(level, part)).unwrap_or(' ')).collect();
        format!("{label:>LABEL$} |{}\n", line.trim_end())
    };
    let rows: String = chart.levels.clone().rev().map(row).collect();
    let middle = chart.parts as usize / 2;
    let axis = format!("{:>LABEL$} +{:-<middle$}^{:-<rest$}\n", "", "", "", rest = middle - 1);
    let legend: Vec<String> =
        MARKS.iter().rev().map(|(least, mark)| format!("{mark} {least}")).collect();
    let legend = format!("{:>LABEL$}  requests at a place, or more: {}\n", "", legend.join("  "));
    format!("{}\n{rows}{axis}{legend}", hang("", &title, width))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_a_level_the_longest_first_and_a_column_a_part() {
        let count = |level: i32, part: u64| match (level, part) {
            (13, 5) => 1,
            (12, 0) => 40,
            (12, 9) => 9,
            _ => 0,
        };
        let chart = Folded {
            target: "/data",
            period_ns: 5_000_000_000,
            parts: 10,
            count: &count,
            levels: 12..=13,
            level_ns: |level| 10f64.powi(level - 9),
        };
        let text = folded(&chart, Some(100));
        let body: Vec<&str> = text.lines().skip_while(|line| !line.contains('|')).collect();
        assert!(body[0].ends_with("|     ."), "{text}");
        assert!(body[1].ends_with("|#        o"), "{text}");
        assert!(body[2].ends_with("+-----^----"), "{text}");
        assert!(text.starts_with("Responses of the reader's reads of /data against"), "{text}");
        assert!(text.contains("5.00 s") && body[3].ends_with(". 1  : 2  o 8  # 30"), "{text}");
    }
}
