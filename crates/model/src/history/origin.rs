//! Whose rows are: of which host and run, and of which part of it. The same time of one host is
//! counted once: what would be there twice is refused.
//!
//! Non-goals: clocks of hosts that differ, which rows cannot tell.

use super::name::MINUTE_NS;
use super::shown;
use crate::record::RollupRow;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// As many are looked through quicker than one is made to look for.
const FEW: usize = 16;

/// Whose rows are.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Origin {
    /// The host; none of a history by an earlier version.
    pub host: Option<String>,
    /// Of a watch the kernel's boot_id, of a trace its run.
    pub run: Option<String>,
    /// Which part of the run, as `2/8`; none: all of it.
    pub part: Option<String>,
}

impl Origin {
    /// The row, with these in place of what it does not say.
    pub(super) fn complete<'a>(&'a self, row: RollupRow<'a>) -> RollupRow<'a> {
        RollupRow {
            host: row.host.or(self.host.as_deref()),
            run: row.run.or(self.run.as_deref()),
            part: row.part.or(self.part.as_deref()),
            ..row
        }
    }

    /// The number of its part and how many there are.
    fn place(&self) -> Option<(u64, u64)> {
        let (number, all) = self.part.as_deref()?.split_once('/')?;
        Some((number.parse().ok()?, all.parse().ok()?))
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, run, part } = self;
        let host = host.as_deref().unwrap_or("this host");
        match (run, part) {
            (Some(run), Some(part)) => write!(f, "part {part} of run {run} of {host}"),
            (Some(run), None) => write!(f, "run {run} of {host}"),
            (None, _) => write!(f, "{host}"),
        }
    }
}

/// From when until when there are rows of each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origins(BTreeMap<Origin, (i64, i64)>);

impl Origins {
    pub(super) fn add(&mut self, row: &RollupRow<'_>) {
        let span = (row.from_unix_ns, row.until_unix_ns);
        let owned = |text: Option<&str>| text.map(str::to_owned);
        // Rows come in runs of one.
        let like = |(of, _): &(&Origin, &mut (i64, i64))| {
            (of.host.as_deref(), of.run.as_deref(), of.part.as_deref())
                == (row.host, row.run, row.part)
        };
        // And there are few of them, but for the rollup of a fleet.
        let known = if self.0.len() <= FEW { self.0.iter_mut().find(like) } else { None };
        let all = match known {
            Some((_, all)) => all,
            None => {
                let (host, run, part) = (owned(row.host), owned(row.run), owned(row.part));
                self.0.entry(Origin { host, run, part }).or_insert(span)
            }
        };
        *all = (all.0.min(span.0), all.1.max(span.1));
    }

    /// As a file's footer tells them.
    pub(super) fn told(&self) -> String {
        let all: Vec<_> = self.0.iter().collect();
        serde_json::to_string(&all).unwrap_or_default()
    }

    /// Of what a footer tells; none where it is no such text.
    pub(super) fn of_told(text: &str) -> Option<Self> {
        let all: Vec<(Origin, (i64, i64))> = serde_json::from_str(text).ok()?;
        Some(Self(all.into_iter().collect()))
    }

    /// Adds others of the same source.
    pub fn merge(&mut self, other: &Self) {
        for (origin, span) in &other.0 {
            let all = self.0.entry(origin.clone()).or_insert(*span);
            *all = (all.0.min(span.0), all.1.max(span.1));
        }
    }

    /// Adds those of another source.
    /// Errors: what of it is here already.
    pub fn add_apart(&mut self, other: &Self) -> Result<(), Box<Twice>> {
        for (origin, span) in &other.0 {
            if let Some((known, shared)) = self.0.iter().find_map(|of| shared(of, origin, *span)) {
                let twice = Twice { known: known.clone(), again: origin.clone(), shared };
                return Err(Box::new(twice));
            }
        }
        self.merge(other);
        Ok(())
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// The hosts that are named.
    pub fn hosts(&self) -> Vec<String> {
        let hosts: BTreeSet<&String> = self.0.keys().filter_map(|of| of.host.as_ref()).collect();
        hosts.into_iter().cloned().collect()
    }

    /// Each, from when until when.
    pub fn iter(&self) -> impl Iterator<Item = (&Origin, &(i64, i64))> {
        self.0.iter()
    }

    /// Whether any of them is a part of a run.
    pub fn has_parts(&self) -> bool {
        self.0.keys().any(|origin| origin.part.is_some())
    }

    /// Parts of runs that are not there: the run, which parts, and of how many.
    pub fn missing_parts(&self) -> Vec<(Origin, Vec<u64>, u64)> {
        let mut runs: BTreeMap<(Origin, u64), BTreeSet<u64>> = BTreeMap::new();
        for origin in self.0.keys() {
            if let Some((number, all)) = origin.place() {
                let run = Origin { part: None, ..origin.clone() };
                runs.entry((run, all)).or_default().insert(number);
            }
        }
        let missing = runs.into_iter().map(|((run, all), found)| {
            (run, (1..=all).filter(|number| !found.contains(number)).collect::<Vec<_>>(), all)
        });
        missing.filter(|(_, missing, _)| !missing.is_empty()).collect()
    }
}

/// Two watches may share a minute: one ended in it, and another one began.
const SHARED_MOST_NS: i64 = MINUTE_NS;

/// The same time of one host, or of one run, from two sources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Twice {
    /// What was there.
    pub known: Origin,
    /// What would be added.
    pub again: Origin,
    /// The time that both are of.
    pub shared: (i64, i64),
}

impl fmt::Display for Twice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (from, until) = self.shared;
        let known =
            if self.known == self.again { String::new() } else { format!(" as {}", self.known) };
        write!(f, "{}, {} to {}, is already present{known}", self.again, shown(from), shown(until))
    }
}

fn shared<'a>(
    (known, span): (&'a Origin, &(i64, i64)),
    other: &Origin,
    of_other: (i64, i64),
) -> Option<(&'a Origin, (i64, i64))> {
    let is_same = known.host == other.host
        || known.run.is_some() && (&known.run, &known.part) == (&other.run, &other.part);
    let shared = (span.0.max(of_other.0), span.1.min(of_other.1));
    let is_all = *span == of_other || shared.1.saturating_sub(shared.0) > SHARED_MOST_NS;
    (is_same && is_all).then_some((known, shared))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(host: &str, run: &str, part: Option<&str>) -> Origin {
        let part = part.map(str::to_owned);
        Origin { host: Some(host.into()), run: Some(run.into()), part }
    }

    fn origins(of: &Origin, span: (i64, i64)) -> Origins {
        Origins(BTreeMap::from([(of.clone(), span)]))
    }

    #[test]
    fn a_time_of_one_host_and_a_run_are_counted_once() {
        let minutes = |from: i64, until: i64| (from * MINUTE_NS, until * MINUTE_NS);
        let mut all = origins(&origin("a", "x", None), minutes(0, 2));
        // A watch that went on elsewhere in the same minute.
        all.add_apart(&origins(&origin("a", "y", None), minutes(1, 9))).unwrap();
        all.add_apart(&origins(&origin("b", "z", None), minutes(0, 2))).unwrap();
        let again = origins(&origin("a", "w", None), minutes(6, 20));
        let twice = all.add_apart(&again).unwrap_err();
        assert_eq!((twice.known.run.as_deref(), twice.shared), (Some("y"), minutes(6, 9)));
        // The same run, as that of another host.
        assert!(all.add_apart(&origins(&origin("c", "x", None), minutes(0, 2))).is_err());
        assert_eq!(all.hosts().len(), 2);
        assert_eq!(Origins::of_told(&all.told()), Some(all));
        assert_eq!(Origins::of_told("[3]"), None);
    }

    #[test]
    fn parts_that_are_not_there_are_told() {
        let mut all = origins(&origin("a", "x", Some("1/3")), (0, 60));
        all.add_apart(&origins(&origin("a", "x", Some("3/3")), (120, 180))).unwrap();
        assert_eq!(all.missing_parts(), [(origin("a", "x", None), vec![2], 3)]);
        all.add_apart(&origins(&origin("a", "x", Some("2/3")), (60, 120))).unwrap();
        assert!(all.missing_parts().is_empty());
    }
}
