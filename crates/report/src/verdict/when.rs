//! When a victim lost its time: the spans of its storms, from when to when, by the trace's own time
//! and by the clock on the wall.
//!
//! Non-goals: which storms there are (`verdict::blame`).

use super::told::Loss;
use crate::history::stamp;
use model::circumstance::Circumstance;
use model::units::{show_moment, show_time_ns};

/// Storms whose times are told one by one.
const MOST: usize = 3;
/// Storms that have more of the time from the first to the last are told as one.
const WHOLE: f64 = 0.7;
/// From then on moments are told as clocks do.
const HOUR_NS: f64 = 3600e9;

/// What is shorter is told to the hundredth of a second.
const SHORT_NS: f64 = 1e8;

/// What ends the sentence of a loss, and a sentence of the storms' spans behind it.
pub(super) fn of(loss: &Loss<'_>) -> (String, String) {
    let zero_ns = loss.values.get("clock_zero_unix_ns");
    let storms = &loss.storms_ns;
    let (Some((from, _)), Some((_, until))) = (storms.first(), storms.last()) else {
        return Default::default();
    };
    let in_storms: f64 = storms.iter().map(|(from, until)| until - from).sum();
    // Between two times at which a device stood still it did not.
    let is_still = loss.circumstance() == Some(Circumstance::Device);
    if storms.len() == 1 || in_storms > WHOLE * (until - from) && !is_still {
        return (format!(", from {}", span((*from, *until), zero_ns)), String::new());
    }
    let every = loss.values.get("affected_period_ns");
    let every = every.map_or(String::new(), |ns| format!(", one every {}", show_time_ns(ns)));
    let spans: Vec<String> = storms.iter().take(MOST).map(|storm| span(*storm, zero_ns)).collect();
    let first = if storms.len() > MOST { "The first storms: " } else { "Storms: " };
    (format!(", in {} storms{every}", storms.len()), format!(" {first}{}.", spans.join(", ")))
}

/// `12.3 to 15.0 s (08:35:47Z to 08:35:50Z)`.
fn span((from, until): (f64, f64), zero_ns: Option<f64>) -> String {
    let own = match until >= HOUR_NS {
        true => format!("{} to {}", show_moment(from), show_moment(until)),
        false => {
            let decimals = if until - from < SHORT_NS { 2 } else { 1 };
            format!("{:.decimals$} to {:.decimals$} s", from / 1e9, until / 1e9)
        }
    };
    let Some(zero_ns) = zero_ns else { return own };
    let at = |ns: f64| stamp((zero_ns + ns) as i64, "%H:%M:%SZ");
    match (at(from), at(until)) {
        (from, until) if from == until => format!("{own} ({from})"),
        (from, until) => format!("{own} ({from} to {until})"),
    }
}
