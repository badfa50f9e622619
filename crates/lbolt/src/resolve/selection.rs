//! What of a trace is asked about: `--from`, `--to` and `--last` as times of the trace.
//!
//! Times by the clock are UTC, as the names of runs are.

use ::verdict::selection::{Selection, Who};
use cli::{Moment, ResponseOptions};
use jiff::Timestamp;
use jiff::civil::Time;
use jiff::tz::TimeZone;
use messages::fault::{Fault, failure};
use std::ops::Range;
use std::time::Duration;

/// A day, in ns.
const DAY_NS: i64 = 86_400_000_000_000;

/// What of a trace's time its options need.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    /// Where the trace ends, in ns from its beginning.
    pub(crate) end_ns: i64,
    /// When it began, in ns since 1970, where that is known.
    pub(crate) started_unix_ns: Option<i64>,
}

/// The whole time; processes by themselves as the options say.
pub(crate) fn whole(options: &ResponseOptions) -> Selection {
    Selection { process: options.process.as_deref().map(Who::of), ..Selection::default() }
}

/// Whether the options select a part of the time.
pub(crate) fn selects_time(options: &ResponseOptions) -> bool {
    options.from.is_some() || options.to.is_some() || options.last.is_some()
}

/// The part of the time that the options select.
/// Errors: an end that is not after its beginning; a clock time where the trace tells none.
pub(crate) fn part(options: &ResponseOptions, span: Span) -> anyhow::Result<Selection> {
    let Selection { time_ns: Range { start, end }, process } = whole(options);
    let from_ns = match (options.last, options.from) {
        (Some(last), _) => span.end_ns.saturating_sub(ns(last)),
        (None, Some(from)) => span.place_ns(from)?,
        (None, None) => start,
    };
    let to_ns = options.to.map_or(Ok(end), |to| span.place_ns(to))?;
    if from_ns >= to_ns {
        let sentence = "failed to select a time: --to is not after --from";
        return Err(failure(Fault::Usage, sentence));
    }
    Ok(Selection { time_ns: from_ns..to_ns, process })
}

fn ns(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

impl Span {
    /// How far a moment is behind the trace's beginning.
    fn place_ns(&self, moment: Moment) -> anyhow::Result<i64> {
        match moment {
            Moment::Behind(time) => Ok(ns(time)),
            Moment::Clock(time) => Ok(self.clock_ns(time, self.started_ns()?)),
            Moment::At(time) => {
                let unix_ns = i64::try_from(time.as_nanosecond()).unwrap_or(i64::MAX);
                Ok(unix_ns.saturating_sub(self.started_ns()?))
            }
        }
    }

    fn started_ns(&self) -> anyhow::Result<i64> {
        self.started_unix_ns.ok_or_else(|| {
            let sentence = "failed to find a clock time: the trace does not record when it began; \
                            give the time since its start, for example 26.8";
            failure(Fault::Usage, sentence)
        })
    }

    /// On the trace's first day, or on the next one where it is before the trace's beginning and
    /// the trace goes on until then.
    fn clock_ns(&self, time: Time, started_ns: i64) -> i64 {
        let started = Timestamp::from_nanosecond(started_ns.into()).unwrap_or_default();
        let began = TimeZone::UTC.to_datetime(started).time();
        let of_day = |time: Time| time.duration_since(Time::midnight()).as_nanos();
        let place_ns = i64::try_from(of_day(time) - of_day(began)).unwrap_or(0);
        let next_ns = place_ns.saturating_add(DAY_NS);
        if place_ns < 0 && next_ns <= self.end_ns { next_ns } else { place_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a trace of 70 s that began then.
    fn place_ns(started: Option<&str>, moment: &str) -> Result<i64, String> {
        let unix_ns = |text: &str| text.parse::<Timestamp>().unwrap().as_nanosecond();
        let started_unix_ns = started.map(|text| i64::try_from(unix_ns(text)).unwrap());
        let span = Span { end_ns: 70_000_000_000, started_unix_ns };
        span.place_ns(moment.parse().unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn moments_by_the_clock_are_placed_by_the_traces_start() {
        let noon = Some("2026-11-22T12:00:00Z");
        for (started, moment, seconds) in [
            (None, "26.5", 26.5),
            (noon, "26.5", 26.5),
            (noon, "12:00:26.500", 26.5),
            (noon, "2026-11-22T13:00:26.5+01:00", 26.5),
            (noon, "11:59:50", -10.0),
            (Some("2026-11-22T23:59:50Z"), "00:00:05", 15.0),
            (Some("2026-11-22T23:59:50Z"), "23:59:55", 5.0),
        ] {
            assert_eq!(place_ns(started, moment), Ok((seconds * 1e9) as i64), "{moment}");
        }
        let error = place_ns(None, "12:00:05").unwrap_err();
        assert!(error.contains("does not record when it began"), "{error}");
    }
}
