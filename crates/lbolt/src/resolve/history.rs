//! Which part of a history is asked about, and how long its lines are.
//!
//! Moments are UTC, as everything that is printed of a history.

use cli::{HistoryOptions, Point, PointSpan};
use jiff::Timestamp;
use messages::fault::{Fault, failure};
use model::history::{DAY_NS, HOUR_NS, MINUTE_NS};
use model::record::RollupLevel;
use std::path::PathBuf;
use std::time::Duration;

/// Lines that there are at the most, where nobody says how long they are.
const MOST_LINES: i64 = 24;

/// Lengths of lines, in minutes.
const STEPS: [i64; 21] = [
    1, 2, 3, 5, 10, 15, 20, 30, 60, 120, 180, 240, 360, 720, 1_440, 2_880, 7_200, 10_080, 20_160,
    43_200, 144_000,
];

/// The directory of the history that is named, or of this user's.
/// Errors: none is named, and this user has no place of state.
pub(crate) fn directory(named: Option<&PathBuf>) -> anyhow::Result<PathBuf> {
    let found = named.cloned().or_else(host::state::history_directory);
    found.ok_or_else(|| {
        let sentence = "failed to find a history: HOME is not set, so this user has no state \
                        directory; name the history's directory";
        failure(Fault::Usage, sentence)
    })
}

/// Where the packaged service keeps its history.
const OF_SERVICE: &str = "/var/lib/lbolt-watch/history";

/// The history that is read where none is named: this user's, else the service's.
/// Errors: as of [`directory`].
pub(crate) fn default_to_read() -> anyhow::Result<PathBuf> {
    present_or_other(directory(None), OF_SERVICE.into())
}

fn present_or_other(own: anyhow::Result<PathBuf>, other: PathBuf) -> anyhow::Result<PathBuf> {
    match own {
        Ok(own) if own.is_dir() => Ok(own),
        _ if other.is_dir() => Ok(other),
        own => own,
    }
}

/// The moments that are typed are relative to these.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Known {
    /// When the history begins and ends.
    pub(crate) span_unix_ns: (i64, i64),
    /// What time it is.
    pub(crate) now_unix_ns: i64,
}

impl Known {
    /// The moment that is typed.
    pub(crate) fn place_ns(&self, point: Point) -> i64 {
        let end = self.span_unix_ns.1;
        match point {
            Point::At(at) => unix_ns(at),
            Point::Ago(ago) => end.saturating_sub(ns(ago)),
            Point::Day(back) => (self.now_unix_ns.div_euclid(DAY_NS) - back) * DAY_NS,
            Point::Clock(time) => {
                let of_day = time.duration_since(jiff::civil::Time::midnight()).as_nanos();
                let of_day = i64::try_from(of_day).unwrap_or(0);
                let day = end.div_euclid(DAY_NS) * DAY_NS;
                if day + of_day <= end { day + of_day } else { day - DAY_NS + of_day }
            }
        }
    }

    /// The time that is asked about.
    /// Errors: an end that is not after its beginning.
    pub(crate) fn span(&self, options: &HistoryOptions) -> anyhow::Result<(i64, i64)> {
        let (begin, end) = self.span_unix_ns;
        let to = options.to.map_or(end, |to| self.place_ns(to));
        let from = match (options.last, options.from) {
            (Some(last), _) => end.saturating_sub(ns(last)).max(begin),
            (None, Some(from)) => self.place_ns(from),
            (None, None) => to.saturating_sub(DAY_NS).max(begin.min(to.saturating_sub(1))),
        };
        ordered(from, to, "--to is not after --from")
    }

    /// A time that is compared.
    /// Errors: as of [`Self::span`].
    pub(crate) fn compared(&self, span: PointSpan) -> anyhow::Result<(i64, i64)> {
        let (from, to) = (self.place_ns(span.0), self.place_ns(span.1));
        ordered(from, to, "a time range of --compare does not end after its start")
    }
}

fn ordered(from: i64, to: i64, otherwise: &str) -> anyhow::Result<(i64, i64)> {
    match from < to {
        true => Ok((from, to)),
        false => Err(failure(Fault::Usage, format!("failed to select a time: {otherwise}"))),
    }
}

fn ns(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

fn unix_ns(at: Timestamp) -> i64 {
    i64::try_from(at.as_nanosecond()).unwrap_or(i64::MAX)
}

/// How long lines are: as requested, and no finer than the rows are.
pub(crate) fn step_ns(
    requested: Option<Duration>,
    span: (i64, i64),
    level: Option<RollupLevel>,
) -> i64 {
    let least = match level {
        Some(RollupLevel::Hour) => HOUR_NS,
        Some(RollupLevel::Day) => DAY_NS,
        _ => MINUTE_NS,
    };
    let fits = |step: &i64| (span.1 - span.0).div_euclid(*step) <= MOST_LINES;
    let steps = STEPS.iter().map(|minutes| minutes * MINUTE_NS);
    let wanted = requested
        .map_or_else(|| steps.clone().find(fits).unwrap_or(STEPS[STEPS.len() - 1] * MINUTE_NS), ns);
    wanted.max(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> i64 {
        unix_ns(text.parse().unwrap())
    }

    #[test]
    fn the_services_history_is_read_where_this_user_has_none() {
        let held = tempfile::tempdir().unwrap();
        let (own, other) = (held.path().join("own"), held.path().join("other"));
        let chosen = || present_or_other(Ok(own.clone()), other.clone()).unwrap();
        assert_eq!(chosen(), own, "what is missing is named by its usual place");
        std::fs::create_dir(&other).unwrap();
        assert_eq!(chosen(), other);
        std::fs::create_dir(&own).unwrap();
        assert_eq!(chosen(), own);
        let none = failure(Fault::Usage, "no HOME");
        assert_eq!(present_or_other(Err(none), other.clone()).unwrap(), other);
    }

    #[test]
    fn moments_are_placed_by_the_historys_end_and_days_by_the_clock() {
        let known = Known {
            span_unix_ns: (at("2026-11-01T00:00:00Z"), at("2026-11-22T14:00:00Z")),
            now_unix_ns: at("2026-11-23T05:00:00Z"),
        };
        for (moment, expected) in [
            ("13:00", "2026-11-22T13:00:00Z"),
            ("15:00", "2026-11-21T15:00:00Z"),
            ("2h", "2026-11-22T12:00:00Z"),
            ("today", "2026-11-23T00:00:00Z"),
            ("yesterday", "2026-11-22T00:00:00Z"),
            ("2020-01-01", "2020-01-01T00:00:00Z"),
        ] {
            assert_eq!(known.place_ns(moment.parse().unwrap()), at(expected), "{moment}");
        }
    }

    #[test]
    fn lines_are_as_many_as_a_screen_has_and_no_finer_than_rows() {
        let of = |hours: i64, level| step_ns(None, (0, hours * HOUR_NS), level) / MINUTE_NS;
        assert_eq!((of(1, None), of(24, None), of(24 * 365, None)), (3, 60, 43_200));
        assert_eq!(of(1, Some(RollupLevel::Hour)), 60);
        let minute = Some(Duration::from_secs(60));
        assert_eq!(step_ns(minute, (0, HOUR_NS), Some(RollupLevel::Day)), DAY_NS);
    }
}
