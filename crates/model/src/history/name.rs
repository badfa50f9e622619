//! Names of a history's files: when the time began, what it is, and how fine its rows are.
//!
//! `20261123T043200Z.minute.parquet`, `20261123T04Z.hour-of-minutes.parquet`,
//! `20261123Z.day-of-minutes.parquet`, `20261123Z.day-of-hours.parquet`,
//! `202611Z.month-of-days.parquet`; a second one of the same time has a number
//! (`20261123Z-2.day-of-hours.parquet`).

use crate::named::{Named as _, named};
use crate::record::RollupLevel;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use std::fmt;

pub(super) const SECOND_NS: i64 = 1_000_000_000;
/// A minute, in ns.
pub const MINUTE_NS: i64 = 60 * SECOND_NS;
/// An hour, in ns.
pub const HOUR_NS: i64 = 60 * MINUTE_NS;
/// A day, in ns.
pub const DAY_NS: i64 = 24 * HOUR_NS;

const END: &str = ".parquet";

named! {
    /// What a file is of, and how fine.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Level {
        /// As it was added.
        Minute = "minute",
        /// An hour, its rows of minutes.
        HourOfMinutes = "hour-of-minutes",
        /// A day (UTC), its rows of minutes.
        DayOfMinutes = "day-of-minutes",
        /// A day, its rows of hours.
        DayOfHours = "day-of-hours",
        /// A month, its rows of days.
        MonthOfDays = "month-of-days",
    }
}

impl Level {
    /// By what its rows are added up, how long it is in s (a month differs), and its stamp.
    fn facts(self) -> (RollupLevel, Option<i64>, &'static str) {
        match self {
            Self::Minute => (RollupLevel::Minute, Some(60), "%Y%m%dT%H%M%SZ"),
            Self::HourOfMinutes => (RollupLevel::Minute, Some(3_600), "%Y%m%dT%HZ"),
            Self::DayOfMinutes => (RollupLevel::Minute, Some(86_400), "%Y%m%dZ"),
            Self::DayOfHours => (RollupLevel::Hour, Some(86_400), "%Y%m%dZ"),
            Self::MonthOfDays => (RollupLevel::Day, None, "%Y%mZ"),
        }
    }

    /// By what its rows are added up.
    pub(super) fn of_rows(self) -> RollupLevel {
        self.facts().0
    }

    /// The begin of the time that a file of this level has at a moment.
    fn begin_s(self, unix_ns: i64) -> i64 {
        let s = unix_ns.div_euclid(SECOND_NS);
        match self.facts().1 {
            // A minute begins where its watch did.
            Some(_) if self == Self::Minute => s,
            Some(length_s) => s - s.rem_euclid(length_s),
            None => seconds(civil(s).date().first_of_month()),
        }
    }
}

fn civil(unix_s: i64) -> DateTime {
    TimeZone::UTC.to_datetime(Timestamp::from_second(unix_s).unwrap_or_default())
}

fn seconds(date: Date) -> i64 {
    TimeZone::UTC
        .to_timestamp(date.to_datetime(jiff::civil::Time::midnight()))
        .map_or(0, |at| at.as_second())
}

/// The name of a file of a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileName {
    begin_s: i64,
    /// What the file is of.
    pub level: Level,
    number: u32,
}

impl FileName {
    /// The first file of this level at a moment.
    pub(super) fn of(level: Level, unix_ns: i64) -> Self {
        Self { begin_s: level.begin_s(unix_ns), level, number: 1 }
    }

    /// The next one of the same time.
    pub(super) fn next(self) -> Self {
        Self { number: self.number.saturating_add(1), ..self }
    }

    /// When its time begins, in ns since 1970.
    pub fn begin_ns(self) -> i64 {
        self.begin_s.saturating_mul(SECOND_NS)
    }

    /// When its time ends; rows of it may be of earlier, and none of later.
    pub fn end_ns(self) -> i64 {
        let next_month = || civil(self.begin_s).date().checked_add(1.month());
        let end_s = match self.level.facts().1 {
            Some(length_s) => self.begin_s + length_s,
            None => next_month().map_or(i64::MAX, seconds),
        };
        end_s.saturating_mul(SECOND_NS)
    }

    /// The day on which it begins, by its number since 1970.
    pub(super) fn day(self) -> i64 {
        self.begin_s.div_euclid(86_400)
    }

    /// The name that a file's name is; none if it is no history's.
    pub fn parse(name: &str) -> Option<Self> {
        let (stamp, level) = name.strip_suffix(END)?.split_once('.')?;
        let level = Level::from_name(level)?;
        let (stamp, number) = match stamp.split_once("Z-") {
            Some((stamp, number)) => (stamp, number.parse().ok().filter(|number| *number > 1)?),
            None => (stamp.strip_suffix('Z')?, 1),
        };
        // What a stamp leaves out is the first.
        let whole = format!("{stamp}{}", "00000101T000000".get(stamp.len()..)?);
        let at = DateTime::strptime("%Y%m%dT%H%M%S", whole).ok()?;
        let begin_s = TimeZone::UTC.to_timestamp(at).ok()?.as_second();
        let found = Self { begin_s, level, number };
        // Another spelling of the same would be another file.
        (found.to_string() == name).then_some(found)
    }
}

impl fmt::Display for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stamp = civil(self.begin_s).strftime(self.level.facts().2);
        match self.number {
            1 => write!(f, "{stamp}.{}{END}", self.level.name()),
            number => write!(f, "{stamp}-{number}.{}{END}", self.level.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ns(text: &str) -> i64 {
        text.parse::<Timestamp>().unwrap().as_second() * SECOND_NS
    }

    #[test]
    fn names_say_their_time_and_how_fine_they_are() {
        let at = ns("2026-11-23T04:32:07Z") + 5;
        for (level, name, end) in [
            (Level::Minute, "20261123T043207Z.minute.parquet", "2026-11-23T04:33:07Z"),
            (Level::HourOfMinutes, "20261123T04Z.hour-of-minutes.parquet", "2026-11-23T05:00:00Z"),
            (Level::DayOfMinutes, "20261123Z.day-of-minutes.parquet", "2026-11-24T00:00:00Z"),
            (Level::DayOfHours, "20261123Z.day-of-hours.parquet", "2026-11-24T00:00:00Z"),
            (Level::MonthOfDays, "202611Z.month-of-days.parquet", "2026-12-01T00:00:00Z"),
        ] {
            let made = FileName::of(level, at);
            assert_eq!((made.to_string().as_str(), made.end_ns()), (name, ns(end)));
            assert_eq!(FileName::parse(name), Some(made));
            let second = made.next().next();
            assert_eq!(FileName::parse(&second.to_string()), Some(second));
            assert!(second.to_string().contains("Z-3."));
        }
    }

    #[test]
    fn what_is_no_name_of_ours_is_none() {
        for name in [
            "20261123T0432Z.minute.parquet",
            "20261123Z.minute.parquet",
            "20261123Z-1.day-of-hours.parquet",
            "20261123Z-02.day-of-hours.parquet",
            "20261323Z.day-of-hours.parquet",
            "20261123Z.day-of-weeks.parquet",
            "20261123Z.day-of-hours.parquet.partial",
            "2026+1+1Z.day-of-hours.parquet",
            "ü0261123Z.day-of-hours.parquet",
            "incidents",
            "",
        ] {
            assert_eq!(FileName::parse(name), None, "{name}");
        }
    }
}
