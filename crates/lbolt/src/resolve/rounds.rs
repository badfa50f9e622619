//! Rounds over cells: from the options to how many there are, and until when there are more.

use crate::cli::RoundsOptions;
use analyze::throughput::PRECISION_PERCENT;
use experiment::until::Until;

/// Rounds at the least of most experiments, where nobody says otherwise.
pub(crate) const USUAL_LEAST: u32 = 3;

impl RoundsOptions {
    /// Rounds that there are, and until when more of them go on; at the least `usual` where nobody
    /// says otherwise.
    pub(crate) fn resolve(&self, usual: u32) -> (u32, Option<Until>) {
        let least = self.min_runs.unwrap_or(usual);
        let until = Until {
            precision_percent: PRECISION_PERCENT,
            max_time_ns: u64::try_from(self.max_time.as_nanos()).unwrap_or(u64::MAX),
            fewest: least,
            half_percent: analyze::statistics::half_percent,
        };
        match self.runs {
            Some(runs) => (runs, None),
            None => (least, Some(until)),
        }
    }
}

/// How it is told that more rounds than those may follow.
pub(crate) fn more(until: Option<&Until>) -> &'static str {
    match until {
        None => "",
        Some(_) => ", then more until the rates are precise",
    }
}
