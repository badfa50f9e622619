//! What a request finds outstanding on its device when it arrives, and how the reads fare by it:
//! the table that makes the 1986 paper's point (its section 4: reads wait behind the writes that a
//! sync lets loose). The depth is counted by a clock that goes from step to step, not from the
//! response times: so that Little's law checks both.
//!
//! Requests that were never completed are left out: they would be outstanding for ever.

use super::over_time::OverTime;
use crate::requests::{Tally, Traffic};
use model::record::{Flags, Op, Request};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Found([u32; Kind::ALL.len()]);

impl Found {
    #[inline(always)]
    pub(super) fn of(&self, kind: Kind) -> u64 {
        self.0[kind as usize].into()
    }

    #[inline(always)]
    pub(super) fn all(&self) -> u64 {
        self.0.iter().map(|count| u64::from(*count)).sum()
    }

    #[inline(always)]
    pub(super) fn writes(&self) -> u64 {
        self.of(Kind::Write) + self.of(Kind::Background)
    }

    #[inline(always)]
    fn enter(&mut self, kind: Kind) {
        self.0[kind as usize] = self.0[kind as usize].saturating_add(1);
    }

    #[inline(always)]
    fn leave(&mut self, kind: Kind) {
        self.0[kind as usize] = self.0[kind as usize].saturating_sub(1);
    }
}

/// What a request is, to those that find it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Other,
    Flush,
    Write,
    /// A write that nobody waits for.
    Background,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Other, Self::Flush, Self::Write, Self::Background];

    #[inline]
    pub(super) fn of(row: &Request) -> Self {
        match row.op {
            Op::Write if row.flags.contains(Flags::BACKGROUND) => Self::Background,
            Op::Write => Self::Write,
            Op::Flush => Self::Flush,
            _ => Self::Other,
        }
    }
}

/// When a request is completed, and its kind: in one number, which a heap compares at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Until(i64);

impl Until {
    /// Of 64 bits, 2 are for the kind: what is more than 73 years from the trace's begin is at 73
    /// years.
    const MOST_NS: i64 = i64::MAX >> 2;

    #[inline(always)]
    fn new(until_ns: i64, kind: Kind) -> Self {
        Self(until_ns.clamp(-Self::MOST_NS, Self::MOST_NS) << 2 | kind as i64)
    }

    #[inline(always)]
    fn ns(self) -> i64 {
        self.0 >> 2
    }

    #[inline(always)]
    fn kind(self) -> Kind {
        Kind::ALL[(self.0 & 3) as usize]
    }
}

/// One device's requests that are on their way, by the end of each.
#[derive(Debug, Default)]
pub(super) struct Outstanding {
    until: BinaryHeap<Reverse<Until>>,
    now: Found,
    /// How far the clock has come.
    clock_ns: Option<i64>,
    pub(super) arrivals: u64,
    /// Others that are known as sums.
    pub(super) summed: u64,
    /// Sum of what the arrivals found.
    pub(super) seen: u64,
    pub(super) depth_max: u64,
    /// The depth summed over time (it stops at 584 years), and the time in which it was not 0.
    pub(super) depth_time_ns: u64,
    pub(super) busy_ns: u64,
    /// The same in bins of time, where it is wanted.
    pub(super) over_time: Option<Box<OverTime>>,
}

impl Outstanding {
    /// One of a device that is kept over time from a moment on, or not.
    pub(super) fn kept_over_time(from_ns: Option<u64>) -> Self {
        let over_time = from_ns.map(|from_ns| Box::new(OverTime::from(from_ns)));
        Self { over_time, ..Self::default() }
    }

    /// What a request finds; then it is outstanding itself until it is completed.
    #[inline]
    pub(super) fn arrive(&mut self, arrival_ns: i64, until_ns: Option<i64>, kind: Kind) -> Found {
        self.advance(arrival_ns);
        let found = self.now;
        self.arrivals += 1;
        self.seen += found.all();
        if let Some(until_ns) = until_ns {
            self.enter(until_ns, kind);
            self.depth_max = self.depth_max.max(self.now.all());
            if let Some(over_time) = &mut self.over_time {
                over_time.reach(arrival_ns, self.now.all());
            }
        }
        found
    }

    /// Something that arrived before this part of the trace.
    #[inline]
    pub(super) fn enter(&mut self, until_ns: i64, kind: Kind) {
        self.until.push(Reverse(Until::new(until_ns, kind)));
        self.now.enter(kind);
    }

    /// Lets the time pass, in which some are completed.
    #[inline]
    pub(super) fn advance(&mut self, to_ns: i64) {
        while let Some(Reverse(until)) = self.until.peek().copied()
            && until.ns() <= to_ns
        {
            self.until.pop();
            self.pass(until.ns());
            self.now.leave(until.kind());
        }
        self.pass(to_ns);
    }

    #[inline]
    fn pass(&mut self, to_ns: i64) {
        let from_ns = self.clock_ns.unwrap_or(to_ns);
        // Time does not go back, also where rows do.
        if to_ns > from_ns {
            let passed = to_ns.abs_diff(from_ns);
            let depth = self.now.all();
            let depth_time_ns = passed.saturating_mul(depth);
            self.depth_time_ns = self.depth_time_ns.saturating_add(depth_time_ns);
            self.busy_ns += if depth > 0 { passed } else { 0 };
            if let Some(over_time) = self.over_time.as_mut().filter(|_| depth > 0) {
                over_time.hold(from_ns, to_ns, depth);
            }
        }
        self.clock_ns = Some(to_ns.max(from_ns));
    }

    /// Goes on with the part of the trace that begins at a moment. It knew from its begin what is
    /// outstanding here.
    pub(super) fn follow(&mut self, next: Self, begin_ns: i64) {
        self.advance(begin_ns);
        (self.until, self.now, self.clock_ns) =
            (next.until, next.now, next.clock_ns.or(self.clock_ns));
        self.arrivals += next.arrivals;
        self.summed += next.summed;
        self.seen += next.seen;
        self.depth_max = self.depth_max.max(next.depth_max);
        self.depth_time_ns = self.depth_time_ns.saturating_add(next.depth_time_ns);
        self.busy_ns = self.busy_ns.saturating_add(next.busy_ns);
        if let (Some(own), Some(theirs)) = (&mut self.over_time, next.over_time) {
            own.merge(*theirs);
        }
    }

    /// Starts the clock at the begin of a part.
    pub(super) fn begin(&mut self, begin_ns: i64) {
        self.clock_ns = Some(begin_ns);
    }
}

/// The classes of the anchor's table: the least number, and the name.
const CLASSES: [(u64, &str); 4] = [(0, "0"), (1, "1 to 4"), (5, "5 to 19"), (20, "20 and more")];

/// What is found: the kinds by which the reads are classed, each by itself.
pub(super) const BEHIND: [&str; 2] = ["writes outstanding", "background writes outstanding"];

/// Reads by how many writes, and how many background writes, they found: a row is added once.
#[derive(Debug, Default)]
pub(super) struct Classes([[Traffic; CLASSES.len()]; CLASSES.len()]);

#[inline]
fn class(found: u64) -> usize {
    CLASSES.iter().skip(1).filter(|(least, _)| found >= *least).count()
}

impl Classes {
    /// The class of what a read found.
    #[inline(always)]
    pub(super) fn of(found: &Found) -> u8 {
        let background = class(found.of(Kind::Background));
        (class(found.writes()) * CLASSES.len() + background) as u8
    }

    pub(super) fn settle(&mut self, of: u8, tally: &Tally) {
        if let Some(traffic) = self.0.as_flattened_mut().get_mut(usize::from(of)) {
            traffic.settle(tally);
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        let own = self.0.iter_mut().flatten();
        own.zip(other.0.iter().flatten()).for_each(|(own, theirs)| own.merge(theirs));
    }

    /// The classes by one of the kinds ([`BEHIND`]); none where no read found any.
    pub(super) fn by(&self, kind: usize) -> Vec<(&'static str, Traffic)> {
        let all = || (0..CLASSES.len()).flat_map(|w| (0..CLASSES.len()).map(move |b| (w, b)));
        let of = |class: usize| {
            let mut merged = Traffic::default();
            for (writes, background) in all().filter(|(w, b)| [*w, *b][kind] == class) {
                merged.merge(&self.0[writes][background]);
            }
            merged
        };
        let classes: Vec<(&'static str, Traffic)> =
            CLASSES.iter().enumerate().map(|(class, (_, name))| (*name, of(class))).collect();
        let is_known = classes.iter().skip(1).any(|(_, traffic)| !traffic.is_empty());
        if is_known { classes } else { Vec::new() }
    }
}
