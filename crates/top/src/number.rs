//! Figures as they stand in a table: short, right-aligned, of one unit a column or with it.
//!
//! Non-goals: sentences (`answer`).

use model::units::show_time_ns;
use std::borrow::Cow;
use unicode_truncate::UnicodeTruncateStr as _;
use unicode_width::UnicodeWidthStr as _;

/// So many a second: `0.4`, `12`, `9,876`, `12.3k`, `1.24M`.
pub(crate) fn rate(value: f64) -> String {
    match value {
        v if v <= 0.0 => "0".into(),
        v if v < 9.95 => format!("{v:.1}"),
        v if v < 999.5 => format!("{v:.0}"),
        v if v < 9999.5 => {
            let whole = v.round() as u64;
            format!("{},{:03}", whole / 1000, whole % 1000)
        }
        v if v < 999_950.0 => format!("{:.1}k", v / 1e3),
        v => format!("{:.2}M", v / 1e6),
    }
}

/// MB, or a share, or a depth: three digits.
pub(crate) fn decimal(value: f64) -> String {
    match value {
        v if v <= 0.0 => "0".into(),
        v if v < 9.995 => format!("{v:.2}"),
        v if v < 99.95 => format!("{v:.1}"),
        v if v < 9999.5 => format!("{v:.0}"),
        v => format!("{:.1}k", v / 1e3),
    }
}

/// Percent: without decimals, but above nothing and below one.
pub(crate) fn percent(value: f64) -> String {
    match value {
        v if v <= 0.0 => "0".into(),
        v if v < 0.95 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

/// A time with its unit; none is `0`.
pub(crate) fn time(ns: f64) -> String {
    if ns <= 0.0 { "0".into() } else { show_time_ns(ns) }
}

/// A moment of the day, UTC: `14:03:22`.
pub(crate) fn time_of_day(unix_seconds: i64) -> String {
    let second = unix_seconds.rem_euclid(86_400);
    format!("{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60)
}

/// Columns of a text on a terminal.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// The begin of a text in so many columns, with `…` where it was cut.
pub(crate) fn cut(text: &str, columns: usize) -> Cow<'_, str> {
    match columns.checked_sub(1) {
        _ if text.width() <= columns => text.into(),
        Some(kept) => format!("{}…", text.unicode_truncate(kept).0).into(),
        None => "".into(),
    }
}

/// The end of a text, for paths.
pub(crate) fn cut_begin(text: &str, columns: usize) -> Cow<'_, str> {
    match columns.checked_sub(1) {
        _ if text.width() <= columns => text.into(),
        Some(kept) => format!("…{}", text.unicode_truncate_start(kept).0).into(),
        None => "".into(),
    }
}

/// A line of blocks for values, the newest at the right: as many columns, each the greatest of its
/// seconds, so that no spike is hidden.
pub(crate) fn sparkline(values: &[f64], columns: usize) -> String {
    const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let columns = columns.max(1);
    let each = values.len().div_ceil(columns).max(1);
    let most = values.iter().copied().fold(0.0, f64::max);
    let greatest = values.rchunks(each).map(|part| part.iter().copied().fold(0.0, f64::max));
    let height = |value: f64| match value <= 0.0 || most <= 0.0 {
        true => 0,
        false => ((value / most * 8.0).ceil() as usize).clamp(1, 8),
    };
    let blocks: Vec<char> = greatest.map(|value| BLOCKS[height(value)]).collect();
    let blank = columns.saturating_sub(blocks.len());
    std::iter::repeat_n(' ', blank).chain(blocks.into_iter().rev()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short() {
        for (value, text) in [
            (0.0, "0"),
            (0.44, "0.4"),
            (12.3, "12"),
            (999.6, "1,000"),
            (9876.0, "9,876"),
            (12_345.0, "12.3k"),
            (1_240_000.0, "1.24M"),
        ] {
            assert_eq!(rate(value), text);
        }
        assert_eq!([decimal(1.234), decimal(12.34), decimal(123.4)], ["1.23", "12.3", "123"]);
        assert_eq!([percent(0.04), percent(0.96), percent(41.4)], ["0.0", "1", "41"]);
        assert_eq!(time_of_day(86_400 * 3 + 3723), "01:02:03");
    }

    #[test]
    fn texts_are_cut_by_columns_and_not_within_a_character() {
        assert_eq!(cut("postgres", 5), "post…");
        assert_eq!(cut("漢字漢字", 6), "漢字…");
        assert_eq!(cut_begin("base/16384/2619", 8), "…84/2619");
        assert_eq!(cut_begin("漢字漢字", 6), "…漢字");
        for columns in 0..9 {
            for text in ["postgres", "漢字漢字", "é\u{301}é", ""] {
                assert!(width(&cut(text, columns)) <= columns);
                assert!(width(&cut_begin(text, columns)) <= columns);
            }
        }
    }

    #[test]
    fn a_spike_is_seen_however_narrow_the_line() {
        let mut values = vec![1.0; 300];
        values[150] = 8.0;
        for columns in [1, 7, 60, 300, 400] {
            let line = sparkline(&values, columns);
            assert_eq!((line.chars().count(), line.matches('█').count()), (columns, 1));
        }
        assert_eq!(sparkline(&[0.0, 1.0, 2.0], 5), "   ▄█");
    }
}
