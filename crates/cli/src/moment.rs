//! A moment of a trace as it is typed: how far behind its beginning, or by the clock.

use jiff::Timestamp;
use jiff::civil::Time;
use model::units::parse_moment;
use std::str::FromStr;
use std::time::Duration;

/// A moment of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// So long behind the trace's beginning.
    Behind(Duration),
    /// At this time of day (UTC).
    Clock(Time),
    /// At this time.
    At(Timestamp),
}

impl FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let is_date = text.contains('-') && text.contains(':');
        let found = match (is_date, text.contains(':')) {
            (true, _) => text.parse().ok().map(Self::At),
            (false, true) => text.parse().ok().map(Self::Clock),
            (false, false) => parse_moment(text).ok().map(Self::Behind),
        };
        found.ok_or_else(|| {
            format!(
                "\"{text}\" is not a moment; write the time since the start of the trace (26.8, \
                 2m) or a clock time in UTC (14:03:05.123, 2026-11-22T14:03:05+01:00)"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_seconds_times_with_a_unit_or_by_the_clock() {
        let behind = |ms| Ok(Moment::Behind(Duration::from_millis(ms)));
        for (text, expected) in [
            ("26.8", behind(26_800)),
            (" 26.8s", behind(26_800)),
            ("2m", behind(120_000)),
            ("0", behind(0)),
            ("14:03:05.25", Ok(Moment::Clock(jiff::civil::time(14, 3, 5, 250_000_000)))),
            ("1970-01-01T01:00:09+01:00", Ok(Moment::At(Timestamp::from_second(9).unwrap()))),
            ("1970-01-01T00:00:09Z", Ok(Moment::At(Timestamp::from_second(9).unwrap()))),
        ] {
            assert_eq!(text.parse(), expected, "{text}");
        }
        let bad = [
            "",
            "-1",
            "-1s",
            "soon",
            "1e9",
            "5 parsecs",
            "25:00:00",
            "14:3:5",
            "14:03:05-x",
            "2026-11-22T14:03:05",
            "2026-13-22T14:03:05Z",
            ":",
            "-:",
            "999999h",
        ];
        for text in bad {
            let error = text.parse::<Moment>().unwrap_err();
            assert!(error.contains("is not a moment; write"), "{text}: {error}");
        }
    }
}
