//! The options of `lbolt history`, and what its help says.

use super::{Format, named};
use clap::Args;
use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use model::history::By;
use model::units::parse_time;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// `lbolt history`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = HISTORY_HELP)]
pub struct HistoryOptions {
    /// History directories of `lbolt watch`, rollups (`lbolt rollup`), directories of these, or
    /// @FILE with one path per line. Several hosts are shown together [default: lbolt's state
    /// directory, for root /var/lib/lbolt/history; if there is none, the service's,
    /// /var/lib/lbolt-watch/history].
    #[arg(value_name = "DIR")]
    pub histories: Vec<PathBuf>,
    /// Start: a date, a time (UTC), an age (3h), today or yesterday [default: one day before --to].
    #[arg(long, value_name = "MOMENT", allow_hyphen_values = true)]
    pub from: Option<Point>,
    /// End, in the same forms [default: the end of the history].
    #[arg(long, value_name = "MOMENT", allow_hyphen_values = true)]
    pub to: Option<Point>,
    /// Only the last TIME of the history.
    #[arg(long, value_name = "TIME", value_parser = length, conflicts_with_all = ["from", "to"])]
    pub last: Option<Duration>,
    /// Time span of each line. With --by other than time, each line is one span of one subject
    /// [default: a span that gives at most 24 lines].
    #[arg(long, value_name = "TIME", value_parser = length)]
    pub every: Option<Duration>,
    /// Subject of the lines.
    #[arg(long, value_name = "WHAT", default_value = "time", value_parser = named(By::ALL))]
    pub by: By,
    /// Only devices whose name contains DEV.
    #[arg(long, value_name = "DEV")]
    pub device: Option<String>,
    /// Only roles whose name contains NAME, waiting or waited for.
    #[arg(long, value_name = "NAME")]
    pub role: Option<String>,
    /// Print all columns, even if the table is wider than the terminal.
    #[arg(long)]
    pub wide: bool,
    /// Print all lines.
    #[arg(long)]
    pub all: bool,
    /// List the kept incidents and the command that opens each, instead of the table.
    #[arg(long, conflicts_with_all = ["every", "by", "device", "role", "compare", "wide"])]
    pub incidents: bool,
    /// Compare two time ranges, hour by hour of the day.
    #[arg(long, value_name = "FROM..TO", num_args = 2, allow_hyphen_values = true,
        conflicts_with_all = ["from", "to", "last", "every", "by", "role", "wide"])]
    pub compare: Vec<PointSpan>,
    /// Format of the results on standard output.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
}

/// A length of time, of days too: `3d`.
fn length(text: &str) -> Result<Duration, String> {
    let days = text.trim().strip_suffix('d').and_then(|days| days.trim().parse::<f64>().ok());
    match days {
        Some(days) if days > 0.0 && days < 1e5 => Ok(Duration::from_secs_f64(days * 86_400.0)),
        _ => parse_time(text).map_err(|error| error.to_string()),
    }
}

/// A moment of a history as it is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    /// At this time.
    At(Timestamp),
    /// At this time of day (UTC), the last one before the history's end.
    Clock(Time),
    /// So long before the history's end.
    Ago(Duration),
    /// The beginning of the day so many days before today.
    Day(i64),
}

impl FromStr for Point {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let utc = |at: DateTime| TimeZone::UTC.to_timestamp(at).ok().map(Self::At);
        let word = match text {
            "today" => Some(Self::Day(0)),
            "yesterday" => Some(Self::Day(1)),
            _ => None,
        };
        let date = || utc(text.parse::<Date>().ok()?.to_datetime(Time::midnight()));
        let found = match (text.contains('-'), text.contains(':')) {
            _ if word.is_some() => word,
            (true, true) => {
                let at = text.parse::<Timestamp>().ok().map(Self::At);
                at.or_else(|| utc(text.strip_suffix('Z').unwrap_or(text).parse().ok()?))
            }
            (true, false) => date(),
            (false, true) => text.strip_suffix('Z').unwrap_or(text).parse().ok().map(Self::Clock),
            (false, false) => length(text).ok().map(Self::Ago),
        };
        found.ok_or_else(|| {
            format!(
                "\"{text}\" is not a moment; write a date (2026-11-22), a time in UTC (14:03, \
                 2026-11-22T14:03), an age (3h, 2d), today or yesterday"
            )
        })
    }
}

/// A time from one moment until another as it is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PointSpan(pub Point, pub Point);

impl FromStr for PointSpan {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (from, to) = text.split_once("..").ok_or_else(|| {
            format!(
                "\"{text}\" is not a time range; write FROM..TO, for example \
                 2026-11-22..2026-11-23"
            )
        })?;
        Ok(Self(from.parse()?, to.parse()?))
    }
}

/// What `history` does, for `--help`.
const HISTORY_HELP: &str = "\
lbolt history                               the last day: what was slow, when, and who caused it
lbolt history --from yesterday --to today   yesterday (UTC)
lbolt history --from 14:00 --to 15:00 --every 1m
lbolt history --last 30d --by role          requests by role, over the last 30 days
lbolt history --by cause                    the causes of lost time
lbolt history web1/ web2/ db.parquet --by host
                                            several hosts: which host lost most, and to whom
lbolt history --incidents                   the incidents that the watch kept
lbolt history --compare 2026-11-10..2026-11-11 2026-11-17..2026-11-18
                                            two Tuesdays compared, hour by hour

The columns are those of sar -d over the watched time, then percentiles of the response times, then
the role that lost most time and the role that caused it. docs/guide/history.md explains each
column.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_dates_times_or_how_long_ago() {
        let at = |text: &str| Ok(Point::At(text.parse().unwrap()));
        let ago = |s| Ok(Point::Ago(Duration::from_secs(s)));
        for (text, expected) in [
            ("2026-11-22", at("2026-11-22T00:00:00Z")),
            ("2026-11-22T14:03", at("2026-11-22T14:03:00Z")),
            ("2026-11-22T14:03Z", at("2026-11-22T14:03:00Z")),
            ("2026-11-22 14:03:05", at("2026-11-22T14:03:05Z")),
            ("2026-11-22T14:03:05+01:00", at("2026-11-22T13:03:05Z")),
            ("14:03", Ok(Point::Clock(jiff::civil::time(14, 3, 0, 0)))),
            (" 14:03:05Z ", Ok(Point::Clock(jiff::civil::time(14, 3, 5, 0)))),
            ("90m", ago(5_400)),
            ("2d", ago(172_800)),
            ("today", Ok(Point::Day(0))),
            ("yesterday", Ok(Point::Day(1))),
        ] {
            assert_eq!(text.parse(), expected, "{text}");
        }
        for text in ["", "5", "-1h", "soon", "2026-13-01", "25:00", "0d", "nand", "9e9d", "-:"] {
            let error = text.parse::<Point>().unwrap_err();
            assert!(error.contains("is not a moment; write"), "{text}: {error}");
        }
        let span = "2026-11-22..1h".parse().unwrap();
        let PointSpan(from, to) = span;
        assert_eq!((Ok(from), Ok(to)), (at("2026-11-22T00:00:00Z"), ago(3_600)));
        let error = "2026-11-22".parse::<PointSpan>().unwrap_err();
        assert!(error.contains("FROM..TO"), "{error}");
    }
}
