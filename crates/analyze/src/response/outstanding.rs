//! What a request finds outstanding on its device when it arrives, and how the reads fare by it: the table that makes
//! the 1986 paper's point (its section 4: reads wait behind the writes that a sync lets loose).
//!
//! Requests that were never answered are left out: they would be outstanding for ever.

use crate::traffic::Traffic;
use model::record::{Flags, Op, Request};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What was found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) all: u64,
    pub(super) writes: u64,
    /// Those that nobody waits for.
    pub(super) background_writes: u64,
}

/// One device's requests that are on their way, by the end of each.
#[derive(Debug, Default)]
pub(super) struct Outstanding {
    until: BinaryHeap<Reverse<(i64, bool, bool)>>,
    now: Found,
    pub(super) arrivals: u64,
    /// Sum of what the arrivals found.
    pub(super) seen: u64,
    pub(super) depth_max: u64,
    /// Sum of the times that requests were outstanding for.
    pub(super) time_ns: u64,
}

impl Outstanding {
    /// What a request finds; then it is outstanding itself.
    pub(super) fn arrive(&mut self, row: &Request, arrival_ns: i64) -> Found {
        while let Some(Reverse((until, is_write, is_background))) = self.until.peek().copied()
            && until <= arrival_ns
        {
            self.until.pop();
            self.now.all -= 1;
            self.now.writes -= u64::from(is_write);
            self.now.background_writes -= u64::from(is_background);
        }
        let found = self.now;
        self.arrivals += 1;
        self.seen += found.all;
        if let Some(until) = row.completed_ns {
            let is_write = row.op == Op::Write;
            let is_background = is_write && row.flags.contains(Flags::BACKGROUND);
            self.until.push(Reverse((until, is_write, is_background)));
            self.now.all += 1;
            self.now.writes += u64::from(is_write);
            self.now.background_writes += u64::from(is_background);
            self.time_ns += u64::try_from(until.saturating_sub(arrival_ns)).unwrap_or(0);
            self.depth_max = self.depth_max.max(self.now.all);
        }
        found
    }
}

/// The classes of the anchor's table: the least number, and the name.
const CLASSES: [(u64, &str); 4] = [(0, "0"), (1, "1 to 4"), (5, "5 to 19"), (20, "20 and more")];

/// Requests by how many of a kind they found.
#[derive(Debug, Default)]
pub(super) struct Classes([Traffic; CLASSES.len()]);

impl Classes {
    pub(super) fn add(&mut self, found: u64, row: &Request) {
        let class = CLASSES.iter().zip(&mut self.0).rfind(|((least, _), _)| found >= *least);
        if let Some((_, traffic)) = class {
            traffic.add(row);
        }
    }

    /// Whether any found any.
    pub(super) fn tell(&self) -> bool {
        self.0.iter().skip(1).any(|traffic| !traffic.is_empty())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&'static str, &Traffic)> {
        CLASSES.iter().map(|(_, name)| *name).zip(&self.0)
    }
}
