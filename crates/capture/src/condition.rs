//! What a flight recorder waits for, as typed: `p99>50ms`, `p99(fsync)>20ms`, `max(read)>1s`,
//! `p50(write)>5ms for 10s`, `wait(logger)>1s`, `depth>64`.
//!
//! Non-goals: when it holds ([`crate::Alarm`]).

use model::record::Op;
use model::units::parse_time;
use std::time::Duration;

/// The measures of a time that can be waited for: a name, and its quantile (1 is the maximum).
const MEASURES: [(&str, f64); 6] =
    [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999), ("max", 1.0)];

/// How many requests are outstanding.
const DEPTH: &str = "depth";

/// One wait of a thread, with a request or without; in brackets a part of its name.
const WAIT: &str = "wait";

/// What stands out against the same hour of earlier days.
const UNUSUAL: &str = "unusual";

/// Whose times they are: a name, and what has it.
const OF: [(&str, Of); 5] = [
    ("read", Of::Requests(Op::Read)),
    ("write", Of::Requests(Op::Write)),
    ("flush", Of::Requests(Op::Flush)),
    ("discard", Of::Requests(Op::Discard)),
    ("fsync", Of::Calls),
];

/// Whose times a condition is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// All requests.
    All,
    /// Requests of an operation.
    Requests(Op),
    /// Calls that make a file durable.
    Calls,
}

/// What is to be exceeded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// A quantile of times.
    Time {
        /// Whose times.
        of: Of,
        /// From 0 to 1, which is the maximum.
        quantile: f64,
        /// What it must exceed.
        bound_ns: u64,
    },
    /// Requests outstanding.
    Depth(u64),
    /// A single wait of a thread.
    Wait(u64),
    /// What the same hour of earlier days was like: of a watch alone.
    Usual,
}

/// A condition as typed.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// All of it, as typed.
    pub text: String,
    /// What is measured, as typed.
    pub measure: String,
    /// What it must exceed.
    pub bound: Bound,
    /// Of a wait: what a thread's name has in it.
    pub who: Option<String>,
    /// How long it must hold.
    pub lasting: Duration,
}

impl std::str::FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |part: &str, why: &str| {
            let at = text.find(part).map_or(0, |byte| text[..byte].chars().count()) + 1;
            let part = part.trim();
            format!(
                "{text:?} is not a condition: at character {at}, {part:?} {why}; write for example \
                 p99>50ms, p99(fsync)>20ms, max(read)>1s for 10s, wait(logger)>1s or depth>64"
            )
        };
        if text.trim() == UNUSUAL {
            let (text, measure) = (text.to_owned(), UNUSUAL.to_owned());
            return Ok(Self {
                text,
                measure,
                bound: Bound::Usual,
                who: None,
                lasting: Duration::ZERO,
            });
        }
        let (measure, rest) =
            text.split_once('>').ok_or_else(|| wrong(text, "has no > followed by a bound"))?;
        let (bound, lasting) = match rest.split_once(" for ") {
            Some((bound, lasting)) => (bound, parse_time(lasting.trim())),
            None => (rest, Ok(Duration::ZERO)),
        };
        let lasting = lasting.map_err(|e| wrong(rest, &e.to_string()))?;
        let time_ns = || {
            let time = parse_time(bound.trim()).map_err(|e| wrong(bound, &e.to_string()))?;
            u64::try_from(time.as_nanos()).map_err(|e| wrong(bound, &e.to_string()))
        };
        let who = waiter(measure.trim());
        let bound = match measure.trim() {
            _ if who.is_some() => Bound::Wait(time_ns()?),
            DEPTH => {
                let depth = bound.trim().parse();
                Bound::Depth(depth.map_err(|_| wrong(bound, "is not a number of requests"))?)
            }
            name => {
                let (quantile, of) = measured(name, &wrong)?;
                Bound::Time { of, quantile, bound_ns: time_ns()? }
            }
        };
        let (text, measure) = (text.to_owned(), measure.trim().to_owned());
        Ok(Self { text, measure, bound, who: who.filter(|who| !who.is_empty()), lasting })
    }
}

/// For what a capture is armed that waits for these conditions, in words.
pub fn armed(conditions: &[Condition]) -> String {
    let texts = conditions.iter().map(|one| one.text.as_str());
    let all: Vec<&str> = texts.chain(["SIGUSR1"]).collect();
    format!("armed for {} (kill -USR1 {})", all.join(" or "), std::process::id())
}

/// Of `wait`, or `wait(logger)`, who: nothing where it is anybody. None of what is no wait.
fn waiter(measure: &str) -> Option<String> {
    let rest = measure.strip_prefix(WAIT)?.trim();
    let who = rest.strip_prefix('(').and_then(|who| who.strip_suffix(')'));
    who.map(|who| who.trim().to_owned()).or_else(|| rest.is_empty().then(String::new))
}

/// `p99`, or `p99(read)`.
fn measured(name: &str, wrong: &dyn Fn(&str, &str) -> String) -> Result<(f64, Of), String> {
    let names = |all: &[&str]| format!("is not one of {}", all.join(", "));
    let (quantile, of) = match name.split_once('(') {
        None => (name, None),
        Some((quantile, of)) => {
            let of = of.strip_suffix(')').ok_or_else(|| wrong(of, "has no closing )"))?;
            (quantile, Some(of))
        }
    };
    let known = MEASURES.iter().find(|(known, _)| *known == quantile.trim());
    let (_, found) = *known.ok_or_else(|| {
        let all: Vec<&str> = MEASURES.iter().map(|(name, _)| *name).chain([WAIT, DEPTH]).collect();
        wrong(quantile, &names(&all))
    })?;
    let of = match of {
        None => Of::All,
        Some(of) => {
            let known = OF.iter().find(|(known, _)| *known == of.trim());
            known.ok_or_else(|| wrong(of, &names(&OF.map(|(name, _)| name))))?.1
        }
    };
    Ok((found, of))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_of_times_or_of_the_depth_and_may_have_to_last() {
        let of = |text: &str| text.parse::<Condition>().unwrap();
        let time = |of, quantile, bound_ns| Bound::Time { of, quantile, bound_ns };
        assert_eq!(of("p99>50ms").bound, time(Of::All, 0.99, 50_000_000));
        assert_eq!(of("max ( fsync ) > 2s").bound, time(Of::Calls, 1.0, 2_000_000_000));
        let lasting = of("p50(read)>5ms for 10s");
        assert_eq!(lasting.bound, time(Of::Requests(Op::Read), 0.5, 5_000_000));
        assert_eq!(
            (lasting.lasting, lasting.measure),
            (Duration::from_secs(10), "p50(read)".into())
        );
        assert_eq!(of("depth>64").bound, Bound::Depth(64));
        let waits = ["wait>2s", "wait( logger )>2s"].map(of);
        assert!(waits.iter().all(|wait| wait.bound == Bound::Wait(2_000_000_000)));
        assert_eq!(waits.map(|wait| wait.who), [None, Some("logger".to_owned())]);
    }

    #[test]
    fn what_is_no_condition_is_refused_at_its_place() {
        for (text, place, word) in [
            ("p99", "character 1", "p99>50ms"),
            ("p98>1s", "character 1, \"p98\"", "p999"),
            ("p99>50", "character 5", "50"),
            (">1s", "character 1", "p99"),
            ("p99(red)>1s", "character 5, \"red\"", "read"),
            ("p99(read>1s", "character 5", ")"),
            ("depth>5ms", "character 7, \"5ms\"", "number"),
            ("p99>5ms for ever", "character 5", "ever"),
            ("wait(logger>1s", "character 6", ")"),
            ("wait>much", "character 6", "much"),
            ("p9é(read)>1s", "character 1", "p999"),
        ] {
            let error = text.parse::<Condition>().unwrap_err();
            assert!(error.contains(place) && error.contains(word), "{text}: {error}");
        }
    }
}
