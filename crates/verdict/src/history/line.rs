//! A line of the table: sums of rows, and the figures that they come to.

use super::Asked;
use super::watch::Watch;
use crate::merge::{Merge as _, merged, sum};
use model::histogram::SparseHistogram;
use model::history::{By, Line};
use model::record::{Counted, RollupRow, operations};
use std::collections::{BTreeMap, BTreeSet};

/// Sums of one operation.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    count: u64,
    /// Those of which it is known how long they took, and how long that was.
    timed: u64,
    ns: u64,
    bytes: u64,
}

merged!(Sum { count, timed, ns, bytes });

/// Operations that `sar -d` counts.
const COUNTED: [&str; 3] = ["read", "write", "discard"];

/// Sums of requests.
#[derive(Debug, Clone, Copy, Default)]
struct Io {
    /// As [`COUNTED`].
    counted: [Sum; 3],
    /// Flushes, and what else there is.
    others: Sum,
    /// Whether there was any row.
    is_known: bool,
}

merged!(Io { counted, others, is_known });

impl Io {
    fn add(&mut self, operation: &str, sum: Sum) {
        self.is_known = true;
        match COUNTED.iter().position(|name| *name == operation) {
            Some(place) => self.counted[place].merge(sum),
            None => self.others.merge(sum),
        }
    }

    /// Of what `sar -d` counts; of all where a line is of an operation.
    fn all(&self, with_others: bool) -> Sum {
        sum(self.counted.into_iter().chain(with_others.then_some(self.others)))
    }
}

/// The rows of a line.
#[derive(Debug, Clone, Default)]
pub(super) struct Cell {
    disk: Io,
    traced: Io,
    /// The kernel's io_ticks by device, and its time_in_queue.
    busy_ns: BTreeMap<String, u64>,
    queued_ns: u64,
    responses: SparseHistogram,
    requests: u64,
    failed: u64,
    /// Where there are several.
    hosts: BTreeSet<String>,
}

merged!(Cell { disk, traced, busy_ns, queued_ns, responses, requests, failed, hosts });

impl Cell {
    pub(super) fn take(&mut self, row: &RollupRow<'_>) {
        if let Some(host) = row.host.filter(|host| !self.hosts.contains(*host)) {
            self.hosts.insert(host.to_owned());
        }
        let (count, timed) = (row.count, row.timed());
        let sum = Sum { count, timed, ns: row.sum_ns, bytes: row.bytes };
        if row.counted == Counted::Disk {
            match row.operation {
                operations::BUSY => {
                    *self.busy_ns.entry(row.device.unwrap_or("").to_owned()).or_default() +=
                        row.sum_ns;
                }
                operations::QUEUED => self.queued_ns += row.sum_ns,
                operation => self.disk.add(operation, sum),
            }
            return;
        }
        self.traced.add(row.operation, sum);
        self.requests += row.count;
        self.failed += row.failed;
        // Columns that are no histogram add nothing to it.
        let exact = (row.sum_ns, row.min_ns, row.max_ns);
        let _ = self.responses.add_parts(row.buckets, row.counts, exact);
    }

    /// The figures of a line; its losses are somebody else's.
    pub(super) fn line(&self, key: &(i64, String), asked: &Asked, watch: &Watch) -> Line {
        let (from_unix_ns, group) = key;
        let watched_ns = watch.watched_ns(*from_unix_ns, &self.hosts);
        let io = if self.disk.is_known { &self.disk } else { &self.traced };
        let all = io.all(asked.by == By::Operation);
        let known = |value: f64| (watched_ns > 0 && io.is_known).then_some(value);
        let per_s = |value: u64| known(value as f64 * 1e9 / watched_ns as f64);
        let queued_ns = match self.disk.is_known {
            true if asked.by != By::Operation => self.queued_ns,
            _ => all.ns,
        };
        let busiest_ns = self.busy_ns.values().copied().max();
        // A trace may tell when requests arrived, and not how long they took.
        let is_timed = self.disk.is_known || self.responses.count() > 0;
        let mean = |sum: u64, of: u64| (of > 0).then(|| sum as f64 / of as f64);
        let step_ns = asked.step_ns.unwrap_or(asked.until_unix_ns - asked.from_unix_ns);
        Line {
            from_unix_ns: *from_unix_ns,
            until_unix_ns: from_unix_ns.saturating_add(step_ns),
            group: group.clone(),
            watched_ns,
            tps: per_s(all.count),
            read_bytes_per_s: per_s(io.counted[0].bytes),
            written_bytes_per_s: per_s(io.counted[1].bytes),
            discarded_bytes_per_s: per_s(io.counted[2].bytes),
            request_bytes: mean(all.bytes, all.count),
            queued: known(queued_ns as f64 / watched_ns as f64).filter(|_| is_timed),
            await_ns: mean(all.ns, all.timed),
            util_percent: busiest_ns.and_then(|ns| known(100.0 * ns as f64 / watched_ns as f64)),
            requests: self.requests,
            failed: self.failed,
            p50_ns: self.responses.quantile_ns(0.5),
            p99_ns: self.responses.quantile_ns(0.99),
            max_ns: (self.responses.count() > 0).then(|| self.responses.max_ns()),
            lost_ns: 0.0,
            who: None,
        }
    }
}
