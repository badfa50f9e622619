//! The minutes of a trace as the watch would have kept them: the same counts (`super::tally`) and
//! the same verdict of each minute (`crate::verdict`), over a file's requests in the order of their
//! arrival. Minutes are the wall clock's, and each can be reckoned by itself, beginning with what
//! is in flight.
//!
//! Non-goals: what a watch knows besides: the kernel's counts of devices and CPUs.

use super::losses::rows_of;
use super::spans::{Span, Spans};
use super::tally::{Names, Tally, of_watch};
use crate::{Known, Minutes};
use model::history::MINUTE_NS;
use model::record::{Commands, Process, Request, Rollup, operations};
use std::ops::Range;
use std::sync::Arc;

/// Some minutes of a trace.
#[derive(Debug)]
pub struct Rolled {
    known: Arc<Known>,
    numbers: Range<i64>,
    /// What the wall clock shows at the trace's zero.
    started_unix_ns: i64,
    /// From when until when the trace tells.
    told_ns: Range<i64>,
    tally: Tally,
    spans: Spans,
    minutes: Minutes,
    /// The minute that is counted.
    current: Option<i64>,
    rows: Vec<Rollup>,
}

/// When a trace's minutes begin, so that they are the wall clock's.
pub fn minutes_from_ns(started_unix_ns: i64) -> i64 {
    -started_unix_ns.rem_euclid(MINUTE_NS)
}

impl Rolled {
    /// Of some minutes, by their numbers; `known` has the trace's minutes as [`minutes_from_ns`]
    /// says, `processes` are its threads, and it tells of the time `told_ns`.
    pub fn new(
        known: &Arc<Known>,
        processes: &[Process],
        numbers: Range<i64>,
        started_unix_ns: i64,
        told_ns: Range<i64>,
    ) -> Self {
        let mut tally = Tally::new(true);
        tally.learn_all(processes.iter());
        tally.learn_owners(&known.actors);
        let minute = |ns: i64| known.minute_of(ns);
        let last = minute(told_ns.end.saturating_sub(1)).saturating_add(1);
        let numbers = numbers.start.max(minute(told_ns.start))..numbers.end.min(last);
        Self {
            minutes: Minutes::each_of(known, numbers.clone()),
            spans: Spans::new(MINUTE_NS),
            current: None,
            rows: Vec::new(),
            known: Arc::clone(known),
            numbers,
            started_unix_ns,
            told_ns,
            tally,
        }
    }

    /// Whether requests matter that arrive from a moment on and are completed until another one,
    /// when all that arrived before them has been added.
    pub fn concerns(&self, arrived_ns: i64, completed_ns: i64) -> bool {
        let begin_ns = self.known.begin_of(self.numbers.start);
        let is_counted =
            completed_ns >= begin_ns && arrived_ns < self.known.begin_of(self.numbers.end);
        is_counted || self.minutes.concerns(arrived_ns, completed_ns)
    }

    /// Takes the next request, in the order of arrival.
    pub fn add(&mut self, row: &Request, commands: &Commands, names: &Names<'_>) {
        let Some(begin_ns) = row.arrival_ns() else { return };
        let minute = self.known.minute_of(begin_ns);
        if self.numbers.contains(&minute) {
            self.begin(minute, names);
            self.tally.request(row, commands, &self.spans);
        }
        self.minutes.add(row, commands);
    }

    /// The rows of minutes that are over since the last time.
    pub fn take(&mut self, names: &Names<'_>) -> Vec<Rollup> {
        for (minute, so_far) in self.minutes.take_each() {
            self.rows.extend(rows_of(&so_far, &self.span(minute), names));
        }
        std::mem::take(&mut self.rows)
    }

    /// No more requests come: the rows of all minutes that are left.
    pub fn finish(mut self, names: &Names<'_>) -> Vec<Rollup> {
        self.begin(self.numbers.end, names);
        self.minutes.end();
        self.take(names)
    }

    /// Goes on to a minute, never back. Those in between had no requests, and were told of.
    fn begin(&mut self, minute: i64, names: &Names<'_>) {
        let first = self.current.unwrap_or(self.numbers.start);
        if self.current >= Some(minute) {
            return;
        }
        for number in first..minute {
            self.open(number);
            self.end(number, names);
        }
        self.open(minute);
        self.current = Some(minute);
    }

    fn open(&mut self, minute: i64) {
        let begin_ns = self.known.begin_of(minute);
        match self.spans.current() {
            None => drop(self.spans.advance(begin_ns, begin_ns + self.started_unix_ns)),
            Some(_) => self.spans.reach(begin_ns),
        }
    }

    fn end(&mut self, minute: i64, names: &Names<'_>) {
        let (begin_ns, end_ns) = (self.known.begin_of(minute), self.known.begin_of(minute + 1));
        let calls = self.known.calls_of(&(begin_ns..end_ns));
        let begun = calls.iter().filter(|call| call.begin_ns >= begin_ns);
        begun.for_each(|call| self.tally.call(call, &self.spans));
        self.rows.extend(self.tally.take(&self.spans, names));
        self.rows.extend(self.watched(minute));
    }

    /// How much of a minute the trace tells of.
    fn watched(&self, minute: i64) -> Option<Rollup> {
        let (begin_ns, end_ns) = (self.known.begin_of(minute), self.known.begin_of(minute + 1));
        let (from_ns, until_ns) = (begin_ns.max(self.told_ns.start), end_ns.min(self.told_ns.end));
        let sum_ns = u64::try_from(until_ns - from_ns).ok().filter(|ns| *ns > 0)?;
        let span = (from_ns + self.started_unix_ns, until_ns + self.started_unix_ns);
        Some(Rollup { sum_ns, ..of_watch(operations::WATCHED, span) })
    }

    fn span(&self, minute: i64) -> Span {
        let (from_ns, until_ns) = (self.known.begin_of(minute), self.known.begin_of(minute + 1));
        Span {
            number: 0,
            from_ns,
            until_ns,
            from_unix_ns: from_ns + self.started_unix_ns,
            until_unix_ns: until_ns + self.started_unix_ns,
        }
    }
}

/// What was lost of a trace, in the minute in which it ends: nobody knows when it was.
pub fn events_lost(count: u64, told_ns: &Range<i64>, started_unix_ns: i64) -> Option<Rollup> {
    let end = (told_ns.end.saturating_add(started_unix_ns) - 1).div_euclid(MINUTE_NS);
    let span = (end * MINUTE_NS, (end + 1) * MINUTE_NS);
    (count > 0).then(|| Rollup { count, ..of_watch(operations::EVENTS_LOST, span) })
}
