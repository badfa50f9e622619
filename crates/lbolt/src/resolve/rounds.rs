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
use model::units::{counted, show_time_ns};
use std::time::Duration;

/// A whole run of cells that take turns on one system, resolved.
pub(crate) struct Rounds<P> {
    pub(crate) plan: P,
    pub(crate) system: System,
    /// What is not measured though it was requested, and why.
    pub(crate) left_out: Option<String>,
}

impl<P: Planned> Resolved for Rounds<P> {
    fn plan(&self) -> serde_json::Result<serde_json::Value> {
        serde_json::to_value(&self.plan)
    }

    fn refusal(&self) -> Option<String> {
        self.system.refusal()
    }

    fn announcement(&self) -> String {
        let (passes, turns) = (self.plan.passes(), self.plan.turns());
        let time = estimated(self.plan.estimate_ns(), turns.until.as_ref());
        let column = &self.system.name.column;
        let passes = counted(passes, "pass{es}");
        let lines = [Some(format!("{passes} on {column}, {time}")), self.left_out.clone()];
        lines.into_iter().flatten().collect::<Vec<_>>().join("\n")
    }
}

/// Rounds that there are, by default so many, and until when more of them go on, or these.
pub(crate) fn resolve(options: &RoundsOptions, usual: u32) -> (u32, Option<Until>) {
    let RoundsOptions { runs, min_runs, max_time } = *options;
    let least = runs.or(min_runs).unwrap_or(usual);
    // Who gives a time alone means it.
    let fewest = min_runs.unwrap_or(if max_time.is_some() { 0 } else { usual });
    let until = Until {
        precision_percent: runs.is_none().then_some(PRECISION_PERCENT),
        max_time_ns: nanoseconds(max_time.unwrap_or(MAX_TIME)),
        fewest,
        half_percent: analyze::statistics::half_percent,
    };
    (least, (runs.is_none() || max_time.is_some()).then_some(until))
}

/// The same of passes that take so long.
pub(crate) fn turns(options: &RoundsOptions, runtime: Duration, seed: u64) -> Turns {
    let (runs, until) = resolve(options, ROUNDS);
    Turns { runs, until, pass_ns: nanoseconds(runtime), seed }
}

/// As plans have a time.
pub(crate) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Rounds where nobody says how many, at the least.
const ROUNDS: u32 = 3;

/// How long rounds go on where nobody says.
const MAX_TIME: Duration = Duration::from_secs(60);

/// How long passes take that need so long, and more of which may follow.
pub(crate) fn estimated(about_ns: u64, until: Option<&Until>) -> String {
    let about = show_time_ns(about_ns as f64);
    match until {
        Some(until) if until.max_time_ns > about_ns && until.precision_percent.is_some() => {
            format!(
                "about {about}, then more until the rates are precise or {} are over",
                show_time_ns(until.max_time_ns as f64)
            )
        }
        Some(until) if until.max_time_ns <= about_ns && until.fewest == 0 => {
            too_short(until.max_time_ns as f64 / 1e9, about_ns as f64 / 1e9)
        }
        _ => format!("about {about}"),
    }
}

/// How it is told that not all passes fit into the time that was given.
pub(crate) fn too_short(most_s: f64, about_s: f64) -> String {
    format!(
        "which take about {about_s:.0} s: --max-time ends them after {most_s:.0} s, and what has \
         no pass by then is not measured"
    )
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
