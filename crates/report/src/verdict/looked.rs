//! Waits that an answer was looked for in, and how much of them can tell none.
//!
//! Non-goals: the answer (`super::sentences`).

use super::shown::Shown;
use super::told::Told;
use model::record::is_among_others;
use model::record::subject::Wait;
use model::units::show_time_ns;

/// Where more of the waiting than this could not be compared, nobody knows whether all is clear: if
/// it is so much, or so much of the time, that it would matter if it were lost.
const UNKNOWN_PART: f64 = 0.1;
pub(super) const LARGE_NS: f64 = 1e9;
const LARGE_PART: f64 = 0.005;

/// Waits that were looked at, and those of them that have no calm to be compared with.
#[derive(Debug)]
pub(super) struct Looked {
    pub(super) count: f64,
    waited_ns: f64,
    unknown: f64,
    pub(super) unknown_ns: f64,
}

impl Looked {
    /// Those on the selected devices, of these victims.
    pub(super) fn at(told: &Told<'_>, shown: &Shown, is_victim: impl Fn(&str) -> bool) -> Self {
        let is_shown = |wait: &Wait| {
            let is_it = shown.has_device(&wait.device) && is_victim(&wait.victim);
            is_it && !is_among_others(&wait.wait)
        };
        let sum = |quantity: &str| -> f64 {
            let waits = told.waits.iter().filter(|(wait, _)| is_shown(wait));
            waits.map(|(_, values)| values.or_zero(quantity)).sum()
        };
        Self {
            count: sum("waits_count"),
            waited_ns: sum("waited_ns"),
            unknown: sum("uncompared_count"),
            unknown_ns: sum("uncompared_ns"),
        }
    }

    /// Whether it would matter if those were lost.
    pub(super) fn is_much_unknown(&self, span_ns: f64) -> bool {
        let is_large = self.unknown_ns >= LARGE_NS || self.unknown_ns >= LARGE_PART * span_ns;
        is_large && self.unknown_ns > UNKNOWN_PART * self.waited_ns
    }

    /// `22 of 500 waits, 8.10 s of waiting, have no calm period to compare with`
    pub(super) fn unknown(&self, of: &str) -> String {
        format!(
            "{:.0} of {of}, {} of waiting, {} no calm period to compare with",
            self.unknown,
            show_time_ns(self.unknown_ns),
            if self.unknown == 1.0 { "has" } else { "have" },
        )
    }
}
