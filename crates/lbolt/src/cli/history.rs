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
    /// Directories that `lbolt watch` keeps histories in, rollups (`lbolt rollup`), directories of
    /// these, or @FILE, which lists them; those of several hosts are shown together [default:
    /// lbolt's place of state, as root /var/lib/lbolt/history].
    #[arg(value_name = "DIR")]
    pub histories: Vec<PathBuf>,
    /// Only from then on: a date, a time (UTC), how long ago, today or yesterday [default: a day
    /// before --to].
    #[arg(long, value_name = "MOMENT", allow_hyphen_values = true)]
    pub from: Option<Point>,
    /// Only until then [default: the history's end].
    #[arg(long, value_name = "MOMENT", allow_hyphen_values = true)]
    pub to: Option<Point>,
    /// Only the history's end, so long.
    #[arg(long, value_name = "TIME", value_parser = length, conflicts_with_all = ["from", "to"])]
    pub last: Option<Duration>,
    /// The time of a line; with another --by than time, lines are of both [default: so that there
    /// are no more than 24].
    #[arg(long, value_name = "TIME", value_parser = length)]
    pub every: Option<Duration>,
    /// What lines are of.
    #[arg(long, value_name = "WHAT", default_value = "time", value_parser = named(By::ALL))]
    pub by: By,
    /// Only devices with this in their names.
    #[arg(long, value_name = "DEV")]
    pub device: Option<String>,
    /// Only roles with this in their names, as those who waited or those they waited for.
    #[arg(long, value_name = "NAME")]
    pub role: Option<String>,
    /// All columns, however wide.
    #[arg(long)]
    pub wide: bool,
    /// All lines, however many.
    #[arg(long)]
    pub all: bool,
    /// The incidents that were kept, and how each is opened, instead of the table.
    #[arg(long, conflicts_with_all = ["every", "by", "device", "role", "compare", "wide"])]
    pub incidents: bool,
    /// Two times against each other, hour by hour of the same time of day.
    #[arg(long, value_name = "FROM..TO", num_args = 2, allow_hyphen_values = true,
        conflicts_with_all = ["from", "to", "last", "every", "by", "role", "wide"])]
    pub compare: Vec<PointSpan>,
    /// How results are printed to standard output.
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
                "\"{text}\" is no moment; write a date (2026-11-22), a time in UTC (14:03, \
                 2026-11-22T14:03), how long ago (3h, 2d), today or yesterday"
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
                "\"{text}\" is no time from one moment until another; write FROM..TO, for example \
                 2026-11-22..2026-11-23"
            )
        })?;
        Ok(Self(from.parse()?, to.parse()?))
    }
}

/// What `history` does, for `--help`.
const HISTORY_HELP: &str = "\
lbolt history                               the last day: what was bad, when, and who did it
lbolt history --from yesterday --to today   yesterday (UTC)
lbolt history --from 14:00 --to 15:00 --every 1m
lbolt history --last 30d --by role          whose requests, over the last 30 days
lbolt history --by cause                    what time was lost to
lbolt history web1/ web2/ db.parquet --by host
                                            several hosts: which one lost most, and to whom
lbolt history --incidents                   what the watch kept when a condition held
lbolt history --compare 2026-11-10..2026-11-11 2026-11-17..2026-11-18
                                            one Tuesday against another, hour by hour

The columns are those of sar -d, over the time that was watched, then percentiles of the response
times, and who lost most to whom. The guide, docs/guide/history.md, says what each of them is.

Exit codes: 0 fine, 1 I/O error, 2 usage, 6 output not printed.";

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
            assert!(error.contains("is no moment; write"), "{text}: {error}");
        }
        let span = "2026-11-22..1h".parse().unwrap();
        let PointSpan(from, to) = span;
        assert_eq!((Ok(from), Ok(to)), (at("2026-11-22T00:00:00Z"), ago(3_600)));
        let error = "2026-11-22".parse::<PointSpan>().unwrap_err();
        assert!(error.contains("FROM..TO"), "{error}");
    }
}
