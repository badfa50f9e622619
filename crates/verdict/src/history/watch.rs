//! What is known of the watch itself: which times it saw, what it lost, what the clock did.

use crate::merge::{Merge, merged};
use model::history::Gap;
use model::record::{RollupRow, operations};
use std::collections::{BTreeMap, BTreeSet};

/// Less between two times is how the watch goes on, and no gap.
const LEAST_GAP_NS: i64 = 2_000_000_000;

/// What the watch of a host tells of itself.
#[derive(Debug, Clone, Default)]
struct OfHost {
    /// By the begins of lines: what of their time was watched.
    by_interval: BTreeMap<i64, u64>,
    /// The times that were watched: end by begin.
    times: BTreeMap<i64, i64>,
    /// How long was watched in all.
    watched_ns: u64,
}

/// What the watch tells of itself.
#[derive(Debug, Clone, Default)]
pub(super) struct Watch {
    hosts: BTreeMap<String, OfHost>,
    /// Events that were lost.
    pub(super) events_lost: u64,
    /// Requests whose queueing is not known.
    pub(super) from_issue: u64,
    /// How often the clock was set forward, and by how much in all.
    pub(super) forward: (u64, u64),
    /// How often it was set back, and by how much in all.
    pub(super) back: (u64, u64),
    /// Time whose rows could not be kept.
    pub(super) not_kept_ns: u64,
}

impl OfHost {
    fn time(&mut self, from: i64, until: i64) {
        let end = self.times.entry(from).or_insert(until);
        *end = (*end).max(until);
    }

    /// The times between its begin and its end in which it did not watch.
    fn gaps(&self) -> Vec<(i64, i64)> {
        let mut gaps = Vec::new();
        let mut end: Option<i64> = None;
        for (from, until) in &self.times {
            if let Some(end) = end.filter(|end| *from - end >= LEAST_GAP_NS) {
                gaps.push((end, *from));
            }
            end = Some(end.unwrap_or(*until).max(*until));
        }
        gaps
    }
}

impl Merge for OfHost {
    fn merge(&mut self, other: Self) {
        Merge::merge(&mut self.by_interval, other.by_interval);
        other.times.into_iter().for_each(|(from, until)| self.time(from, until));
        self.watched_ns += other.watched_ns;
    }
}

merged!(Watch { hosts, events_lost, from_issue, forward, back, not_kept_ns });

impl Watch {
    pub(super) fn take(&mut self, row: &RollupRow<'_>, interval: i64) {
        match row.operation {
            operations::WATCHED => {
                let of_host = self.hosts.entry(row.host.unwrap_or("").to_owned()).or_default();
                *of_host.by_interval.entry(interval).or_default() += row.sum_ns;
                of_host.watched_ns += row.sum_ns;
                of_host.time(row.from_unix_ns, row.until_unix_ns);
            }
            operations::EVENTS_LOST => self.events_lost += row.count,
            operations::FROM_ISSUE => self.from_issue += row.count,
            operations::CLOCK_FORWARD => self.forward.merge((row.count, row.sum_ns)),
            operations::CLOCK_BACK => self.back.merge((row.count, row.sum_ns)),
            operations::NOT_KEPT => self.not_kept_ns += row.sum_ns,
            _ => {}
        }
    }

    /// How many hosts there are.
    pub(super) fn count_hosts(&self) -> usize {
        self.hosts.len()
    }

    /// The hosts, where there are several.
    pub(super) fn hosts(&self) -> Vec<String> {
        if self.hosts.len() < 2 { Vec::new() } else { self.hosts.keys().cloned().collect() }
    }

    /// How long was watched in all; of several hosts the mean.
    pub(super) fn all_ns(&self) -> u64 {
        let all: u64 = self.hosts.values().map(|host| host.watched_ns).sum();
        all / self.hosts.len().max(1) as u64
    }

    /// What was watched of a line's time: the mean of its hosts, of all where it has none.
    pub(super) fn watched_ns(&self, interval: i64, hosts: &BTreeSet<String>) -> u64 {
        let is_its = |host: &String| hosts.is_empty() || hosts.contains(host);
        let of = self.hosts.iter().filter(|(host, _)| is_its(host));
        let known: Vec<u64> =
            of.filter_map(|(_, host)| host.by_interval.get(&interval)).copied().collect();
        known.iter().sum::<u64>() / known.len().max(1) as u64
    }

    /// The begins of the lines that were watched.
    pub(super) fn intervals(&self) -> BTreeSet<i64> {
        self.hosts.values().flat_map(|host| host.by_interval.keys().copied()).collect()
    }

    /// From when until when it watched; none where it did not.
    pub(super) fn span(&self) -> Option<(i64, i64)> {
        let from = self.hosts.values().filter_map(|host| host.times.keys().next()).min()?;
        let until = self.hosts.values().filter_map(|host| host.times.values().max()).max()?;
        Some((*from, *until))
    }

    /// The times between a host's begin and its end in which it was not watched.
    pub(super) fn gaps(&self) -> Vec<Gap> {
        let is_one = self.hosts.len() < 2;
        let of_host = |(host, of): (&String, &OfHost)| {
            let host = if is_one { String::new() } else { host.clone() };
            of.gaps().into_iter().map(move |span_unix_ns| Gap { host: host.clone(), span_unix_ns })
        };
        self.hosts.iter().flat_map(of_host).collect()
    }
}
