//! Sizes and times as people type and read them.
//!
//! Sizes: `k`, `m`, `g`, `t` and `Ki`… are powers of two, a bare number is bytes,
//! and `4KiB` is 4096 (fio reads it as 4000: its issue 103). `4kB` is refused: it
//! is 4096 to fio (kb_base=1024) and 4000 by the SI, and nobody is to be wrong without
//! being told. Times need a suffix: `5` alone is refused, because fio reads it as
//! seconds in one option and as microseconds in another.

use std::time::Duration;

/// Why a size or a time was not understood. Completes "failed to read --size: …".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what each is")]
pub enum UnitError {
    #[error("\"{0}\" is not a number with a unit")]
    NotANumber(String),
    #[error("\"{text}\" ends in an unknown unit; known are {known}")]
    UnknownUnit { text: String, known: &'static str },
    /// A size in kB, MB, …, which two standards read differently.
    #[error(
        "\"{text}\" is {binary} bytes in fio but {decimal} in the SI; write {short} or {decimal}"
    )]
    Ambiguous { text: String, binary: u64, decimal: u64, short: String },
    #[error("\"{0}\" is a time without a unit; write {0}s, {0}ms or {0}us")]
    BareTime(String),
    #[error("\"{text}\" is out of range; give {range}")]
    OutOfRange { text: String, range: &'static str },
}

/// Letters of size units with their powers of two (the custom of fio, dd and every disk benchmark)
/// and the SI's bytes: `k`, `ki` and `kib` are powers of two, `kb` is read in both ways.
const SIZE_UNITS: [(&str, u32, u64); 4] = [
    ("t", 40, 1_000_000_000_000),
    ("g", 30, 1_000_000_000),
    ("m", 20, 1_000_000),
    ("k", 10, 1_000),
];

const TIME_UNITS: &[(&str, u64)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// The sizes and the times that can be given.
const SIZES: &str = "1 to 8191t";
const TIMES: &str = "1ns to 2501h";

/// So many of something: `{one|many}` in the words is what is said of one and of others, `{s}` an s
/// of others.
pub fn counted(count: u64, words: &str) -> String {
    let (mut text, mut rest) = (format!("{count} "), words);
    while let Some((before, (inside, behind))) =
        rest.split_once('{').and_then(|(before, from)| Some((before, from.split_once('}')?)))
    {
        let (one, many) = inside.split_once('|').unwrap_or(("", inside));
        text.extend([before, if count == 1 { one } else { many }]);
        rest = behind;
    }
    text + rest
}

/// Number and unit of a text such as `1.5g`.
fn parts(text: &str) -> Result<(f64, &str), UnitError> {
    let trimmed = text.trim();
    let split = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(split);
    let number = number.parse().map_err(|_| UnitError::NotANumber(text.to_owned()))?;
    Ok((number, unit.trim()))
}

/// So many of a unit.
fn product(text: &str, number: f64, factor: u64, range: &'static str) -> Result<u64, UnitError> {
    let product = number * factor as f64;
    // 2^53: beyond it a double no longer counts single bytes.
    if !(product.is_finite() && product < 9.007e15) {
        return Err(UnitError::OutOfRange { text: text.to_owned(), range });
    }
    Ok(product.round() as u64)
}

/// A size in bytes: `4096`, `4k`, `4KiB`, `1.5g`.
/// Errors: no number, an unknown unit or one that is read in two ways, or a value beyond 2^53
/// bytes.
pub fn parse_size(text: &str) -> Result<u64, UnitError> {
    let (number, unit) = parts(text)?;
    let unit = unit.to_ascii_lowercase();
    let sized = SIZE_UNITS.iter().find_map(|of| Some((of, unit.strip_prefix(of.0)?)));
    let shift = match (sized, unit.as_str()) {
        (Some(((ours, shift, decimal), "b")), _) => {
            let binary = product(text, number, 1 << shift, SIZES)?;
            let decimal = product(text, number, *decimal, SIZES)?;
            let (text, short) = (text.trim().to_owned(), format!("{number}{ours}"));
            return Err(UnitError::Ambiguous { text, binary, decimal, short });
        }
        (Some(((_, shift, _), "" | "i" | "ib")), _) => *shift,
        (None, "" | "b") => 0,
        _ => {
            let known = "k, m, g, t, Ki, KiB … (powers of two)";
            return Err(UnitError::UnknownUnit { text: text.to_owned(), known });
        }
    };
    product(text, number, 1 << shift, SIZES)
}

/// A size greater than zero.
/// Errors: as [`parse_size`], and zero.
pub fn parse_size_above_zero(text: &str) -> Result<u64, UnitError> {
    match parse_size(text)? {
        0 => Err(UnitError::OutOfRange { text: text.to_owned(), range: SIZES }),
        size => Ok(size),
    }
}

/// A time with its unit: `5s`, `100us`, `1.5m`.
/// Errors: no number, no unit, an unknown unit, or zero.
pub fn parse_time(text: &str) -> Result<Duration, UnitError> {
    if text.trim().parse::<f64>().is_ok() {
        return Err(UnitError::BareTime(text.trim().to_owned()));
    }
    let (number, unit) = parts(text)?;
    match in_ns(text, number, unit)? {
        0 => Err(UnitError::OutOfRange { text: text.to_owned(), range: TIMES }),
        ns => Ok(Duration::from_nanos(ns)),
    }
}

/// How far behind a beginning a moment is; without a unit in seconds: `26.8`, `2m`, `0`.
/// Errors: no number, an unknown unit, or a value beyond 104 days.
pub fn parse_moment(text: &str) -> Result<Duration, UnitError> {
    let (number, unit) = parts(text)?;
    let unit = if unit.is_empty() { "s" } else { unit };
    in_ns(text, number, unit).map(Duration::from_nanos)
}

fn in_ns(text: &str, number: f64, unit: &str) -> Result<u64, UnitError> {
    let known = "ns, us, ms, s, m and h";
    match TIME_UNITS.iter().find(|(name, _)| *name == unit) {
        Some((_, factor)) => product(text, number, *factor, TIMES),
        None => Err(UnitError::UnknownUnit { text: text.to_owned(), known }),
    }
}

/// A size as a person types it, exact: `8k`, `512m`, `4000`.
pub fn show_size(bytes: u64) -> String {
    let fits = |shift| bytes > 0 && bytes.trailing_zeros() >= shift;
    let unit = SIZE_UNITS.iter().find(|(_, shift, _)| fits(*shift));
    unit.map_or_else(|| bytes.to_string(), |(unit, shift, _)| format!("{}{unit}", bytes >> shift))
}

/// A time with three digits and the unit that suits: `312 ns`, `1.24 ms`, `2.00 s`.
pub fn show_time_ns(ns: f64) -> String {
    // What would be rounded to the next unit, or to a digit more, is of that.
    let (value, unit) = match ns {
        n if n < 999.5 => (n, "ns"),
        n if n < 999.5e3 => (n / 1e3, "µs"),
        n if n < 999.5e6 => (n / 1e6, "ms"),
        n => (n / 1e9, "s"),
    };
    let digits = match value {
        v if v >= 99.95 || unit == "ns" => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.digits$} {unit}")
}

/// A number with so many decimals; what rounds to zero has no sign: `3.2`, `-1`, `0`.
pub fn show_fixed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let digits = text.strip_prefix('-').filter(|digits| !digits.contains(|c| c > '0'));
    digits.map(str::to_owned).unwrap_or(text)
}

/// A change with its sign and so many decimals: `+3.2`, `-1`, `0`.
pub fn show_change(value: f64, decimals: usize) -> String {
    let text = show_fixed(value, decimals);
    if value > 0.0 && text.contains(|c| c > '0') { format!("+{text}") } else { text }
}

const HOUR_NS: f64 = 3600e9;

/// A moment in seconds, to the ms; below a second to the ns: `26.8`, `30`, `0.000125`.
pub fn show_seconds(ns: f64) -> String {
    let digits = if ns >= 1e9 { 3 } else { 9 };
    let text = format!("{:.digits$}", ns / 1e9);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A moment of a trace, to three digits; from an hour on as [`show_moment`] has it.
pub fn show_about(ns: f64) -> String {
    if ns < HOUR_NS { show_time_ns(ns) } else { show_moment(ns) }
}

/// A moment of a trace: of an hour and more in days, hours, minutes and seconds, else as
/// [`show_seconds`] has it: `3 d 04:05:06`, `01:02:03`, `26.8 s`.
pub fn show_moment(ns: f64) -> String {
    if ns < HOUR_NS {
        return format!("{} s", show_seconds(ns));
    }
    let seconds = (ns / 1e9).round() as u64;
    let (days, hours) = (seconds / 86_400, seconds / 3600 % 24);
    let clock = format!("{hours:02}:{:02}:{:02}", seconds / 60 % 60, seconds % 60);
    if days > 0 { format!("{days} d {clock}") } else { clock }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_is_told_as_one() {
        let words = "line{s} or record{s} {was|were} skipped";
        assert_eq!(counted(1, words), "1 line or record was skipped");
        assert_eq!(counted(0, words), "0 lines or records were skipped");
        assert_eq!(counted(2, "of many"), "2 of many");
    }

    #[test]
    fn moments_of_long_traces_are_told_as_clocks_do() {
        for (ns, text) in [
            (0.0, "0 s"),
            (26.8e9, "26.8 s"),
            (3599e9, "3599 s"),
            (3723e9, "01:02:03"),
            (2.0 * 86_400e9 + 3723.4e9, "2 d 01:02:03"),
            (f64::MAX, "213503982334601 d 07:00:15"),
        ] {
            assert_eq!(show_moment(ns), text);
        }
        assert_eq!([26.84e9, 3723e9].map(show_about), ["26.8 s", "01:02:03"]);
    }

    #[test]
    fn what_rounds_to_zero_has_no_sign() {
        for (value, decimals, fixed, change) in [
            (-0.4, 0, "0", "0"),
            (0.04, 1, "0.0", "0.0"),
            (-0.0, 0, "0", "0"),
            (-0.5, 1, "-0.5", "-0.5"),
            (9.96, 1, "10.0", "+10.0"),
            (f64::INFINITY, 0, "inf", "+inf"),
            (f64::NEG_INFINITY, 0, "-inf", "-inf"),
        ] {
            assert_eq!(show_fixed(value, decimals), fixed);
            assert_eq!(show_change(value, decimals), change);
        }
    }

    #[test]
    fn sizes_are_what_people_mean() {
        for (text, bytes) in [
            ("4KiB", 4096),
            ("4k", 4096),
            ("4K", 4096),
            ("4Ki", 4096),
            ("8192", 8192),
            ("1.5g", 3 << 29),
            ("2 MiB", 2 << 20),
            ("1T", 1 << 40),
            ("0", 0),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn nonsense_is_refused_with_what_would_do() {
        for text in ["", "k", "four", "-4k", "4q", "4kk", "1e30", "99999999t", "1.2.3"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
        assert!(parse_size("4q").unwrap_err().to_string().contains("KiB"));
        assert!(parse_size_above_zero("0k").is_err());
    }

    #[test]
    fn a_unit_that_fio_reads_otherwise_is_refused_with_both_readings() {
        for (text, sentence) in [
            ("4kb", "\"4kb\" is 4096 bytes in fio but 4000 in the SI; write 4k or 4000"),
            ("4KB", "\"4KB\" is 4096 bytes in fio but 4000 in the SI; write 4k or 4000"),
            (
                "1.5 MB",
                "\"1.5 MB\" is 1572864 bytes in fio but 1500000 in the SI; write 1.5m or 1500000",
            ),
        ] {
            assert_eq!(parse_size(text).unwrap_err().to_string(), sentence);
        }
        let refused = parse_size("99999999tb").unwrap_err().to_string();
        assert_eq!(refused, "\"99999999tb\" is out of range; give 1 to 8191t");
        assert_eq!(parse_size("8191t").unwrap(), 8191 << 40);
    }

    #[test]
    fn a_time_needs_a_unit() {
        assert_eq!(parse_time("5"), Err(UnitError::BareTime("5".into())));
        assert!(parse_time("5").unwrap_err().to_string().contains("5s"));
        assert_eq!(parse_time("5s"), Ok(Duration::from_secs(5)));
        assert_eq!(parse_time("100us"), Ok(Duration::from_micros(100)));
        assert_eq!(parse_time("1.5m"), Ok(Duration::from_secs(90)));
        for text in ["", "s", "5 parsecs", "0s", "-1s"] {
            assert!(parse_time(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_moment_may_be_bare_seconds_and_zero() {
        for (text, ns) in [("26.8", 26_800_000_000), ("26.8s", 26_800_000_000), ("0", 0)] {
            assert_eq!(parse_moment(text), Ok(Duration::from_nanos(ns)));
        }
        assert_eq!(parse_moment(" 2m"), Ok(Duration::from_secs(120)));
        for text in ["", "-1", "1e3", "1.2.3", "5 parsecs", "1e300", "99999h"] {
            assert!(parse_moment(text).is_err(), "{text}");
        }
    }

    #[test]
    fn seconds_have_the_digits_that_tell() {
        for (ns, text) in [(0.0, "0"), (26.8e9, "26.8"), (3e10, "30"), (70_243_400_000.0, "70.243")]
        {
            assert_eq!(show_seconds(ns), text);
        }
        assert_eq!((show_seconds(125e3), show_seconds(1e8)), ("0.000125".into(), "0.1".into()));
    }

    #[test]
    fn times_keep_three_digits() {
        for (ns, text) in
            [(312.4, "312 ns"), (1240.0, "1.24 µs"), (33.33e6, "33.3 ms"), (2e9, "2.00 s")]
        {
            assert_eq!(show_time_ns(ns), text);
        }
        // What is rounded up to the next unit is of that, and keeps three digits.
        for (ns, text) in [(999_600.0, "1.00 ms"), (999.6, "1.00 µs"), (99_960.0, "100 µs")] {
            assert_eq!(show_time_ns(ns), text);
        }
    }

    proptest! {
        #[test]
        fn a_shown_size_reads_back(bytes in 0u64..1 << 52) {
            prop_assert_eq!(parse_size(&show_size(bytes)), Ok(bytes));
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,12}") {
            let _ = parse_size(&text);
            let _ = parse_time(&text);
            let _ = parse_moment(&text);
        }
    }

    #[test]
    fn every_unit_is_read_in_either_case() {
        for (power, letter) in [(10, 'k'), (20, 'm'), (30, 'g'), (40, 't')] {
            for ending in ["", "i", "ib"] {
                for text in [format!("3{letter}{ending}"), format!("3 {letter}{ending}")] {
                    assert_eq!(parse_size(&text), Ok(3 << power), "{text}");
                    assert_eq!(parse_size(&text.to_uppercase()), Ok(3 << power), "{text}");
                }
            }
            assert_eq!(show_size(3 << power), format!("3{letter}"));
        }
        assert_eq!((parse_size("7b"), parse_size(" 7 ")), (Ok(7), Ok(7)));
        assert_eq!((show_size(0), show_size(1023)), ("0".into(), "1023".into()));
        for (text, ns) in [
            ("7ns", 7),
            ("7us", 7_000),
            ("7µs", 7_000),
            ("7 ms", 7_000_000),
            ("7min", 420_000_000_000),
            ("2h", 7_200_000_000_000),
        ] {
            assert_eq!(parse_time(text), Ok(Duration::from_nanos(ns)), "{text}");
        }
    }

    #[test]
    fn refusals_are_whole_sentences() {
        let sizes = "known are k, m, g, t, Ki, KiB … (powers of two)";
        for (text, sentence) in [
            ("four", "\"four\" is not a number with a unit".into()),
            ("1.2.3", "\"1.2.3\" is not a number with a unit".into()),
            ("4q", format!("\"4q\" ends in an unknown unit; {sizes}")),
            ("8192t", "\"8192t\" is out of range; give 1 to 8191t".into()),
            ("0k", "\"0k\" is out of range; give 1 to 8191t".into()),
        ] {
            assert_eq!(parse_size_above_zero(text).unwrap_err().to_string(), sentence);
        }
        for (text, sentence) in [
            (" 5 ", "\"5\" is a time without a unit; write 5s, 5ms or 5us"),
            ("5d", "\"5d\" ends in an unknown unit; known are ns, us, ms, s, m and h"),
            ("0.4ns", "\"0.4ns\" is out of range; give 1ns to 2501h"),
            ("9000h", "\"9000h\" is out of range; give 1ns to 2501h"),
        ] {
            assert_eq!(parse_time(text).unwrap_err().to_string(), sentence);
        }
        // The last that a double counts byte by byte, nearly.
        assert_eq!(parse_size("9006999999999999"), Ok(9_006_999_999_999_999));
        assert!(parse_size("9007000000000000").is_err());
        assert_eq!(parse_size_above_zero("4k"), Ok(4096));
    }

    #[test]
    fn a_time_changes_its_unit_and_its_digits_where_it_reaches_the_next() {
        for (ns, text) in [
            (0.0, "0 ns"),
            (9.4, "9 ns"),
            (999.4, "999 ns"),
            (1e3, "1.00 µs"),
            (9.99e3, "9.99 µs"),
            (1e4, "10.0 µs"),
            (1e5, "100 µs"),
            (999e3, "999 µs"),
            (1e6, "1.00 ms"),
            (1e9, "1.00 s"),
            (250e9, "250 s"),
        ] {
            assert_eq!(show_time_ns(ns), text);
        }
    }
}
