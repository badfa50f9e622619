//! Rounds over the cells of one system: from the options to how many there are, and until when
//! there are more.

use super::Resolved;
use super::place::System;
use super::target::Target;
use analyze::throughput::PRECISION_PERCENT;
use cli::RoundsOptions;
use experiment::rounds::{Planned, Turns};
use experiment::until::Until;
use messages::fault::{Fault, failure};
use std::time::Duration;

/// A whole run of cells that take turns on one system, resolved.
pub(crate) struct Rounds<P> {
    pub(crate) plan: P,
    pub(crate) system: System,
}

impl<P: Planned> Resolved for Rounds<P> {
    fn plan(&self) -> serde_json::Result<serde_json::Value> {
        serde_json::to_value(&self.plan)
    }

    fn announcement(&self) -> String {
        let (passes, turns) = (self.plan.passes(), self.plan.turns());
        let seconds = passes as f64 * turns.pass_ns as f64 / 1e9;
        let (column, more) = (&self.system.name.column, more(turns.until.as_ref()));
        format!("{passes} passes on {column}, about {seconds:.0} s{more}")
    }
}

/// Rounds that there are, and until when more of them go on.
pub(crate) fn resolve(options: &RoundsOptions) -> (u32, Option<Until>) {
    let least = options.min_runs;
    let until = Until {
        precision_percent: PRECISION_PERCENT,
        max_time_ns: nanoseconds(options.max_time),
        fewest: least,
        half_percent: analyze::statistics::half_percent,
    };
    match options.runs {
        Some(runs) => (runs, None),
        None => (least, Some(until)),
    }
}

/// The same of passes that take so long.
pub(crate) fn turns(options: &RoundsOptions, runtime: Duration, seed: u64) -> Turns {
    let (runs, until) = resolve(options);
    Turns { runs, until, pass_ns: nanoseconds(runtime), seed }
}

/// As plans have a time.
pub(crate) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// How it is told that more rounds than those may follow.
pub(crate) fn more(until: Option<&Until>) -> &'static str {
    match until {
        None => "",
        Some(_) => ", then more until the rates are precise",
    }
}

/// A usage error.
pub(crate) fn usage(message: impl std::fmt::Display) -> anyhow::Error {
    failure(Fault::Usage, message)
}

/// The one target that is named.
/// Errors: no target, or several.
pub(crate) fn one_target(text: &str) -> anyhow::Result<Target> {
    let mut targets = Target::parse(text).map_err(usage)?;
    match (targets.pop(), targets.is_empty()) {
        (Some(target), true) => Ok(target),
        _ => Err(usage(format!("TARGET {text}: names several systems; name one"))),
    }
}
