//! Requests into minutes: each has a ledger that is told of all requests that concern it, in the
//! order of their arrival, and its verdict is added to the whole, or kept by itself. Minutes begin
//! at multiples of 60 s from the trace's begin, or from a minute of the wall clock, so that they
//! are the same wherever a trace is cut.
//!
//! Memory is what a minute holds, and what is in flight.
//!
//! Non-goals: minutes of the wall clock as they go on (`crate::watched`).

use super::Ledger;
use super::known::Known;
use super::so_far::SoFar;
use super::whole::Verdict;
use model::record::{Commands, Request};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// Requests that are in flight are looked through when there are so many.
const FEW: usize = 1024;

/// Minutes in a row.
#[derive(Debug)]
pub struct Minutes {
    known: Arc<Known>,
    /// Those that are looked at here, by number.
    numbers: Range<i64>,
    /// The one that is opened next, at the earliest.
    next: i64,
    open: VecDeque<Ledger>,
    /// Requests that may still be in flight when the next minute begins, and their commands.
    in_flight: Vec<Request>,
    in_flight_most: usize,
    commands: Commands,
    over: Over,
}

/// What becomes of minutes that are over.
#[derive(Debug)]
enum Over {
    /// They are added up.
    Added(Box<Verdict>),
    /// Each is kept by itself.
    Each(Vec<(i64, SoFar)>),
}

impl Minutes {
    /// All minutes of a trace.
    pub fn all(known: Known) -> Self {
        let numbers = known.all_minutes();
        Self::of(&Arc::new(known), numbers)
    }

    /// Some of them, by their numbers, to be added up.
    pub fn of(known: &Arc<Known>, numbers: Range<i64>) -> Self {
        Self::with(known, numbers, Over::Added(Box::new(Verdict::new(known))))
    }

    /// Some of them, each kept by itself.
    pub(crate) fn each_of(known: &Arc<Known>, numbers: Range<i64>) -> Self {
        Self::with(known, numbers, Over::Each(Vec::new()))
    }

    fn with(known: &Arc<Known>, numbers: Range<i64>, over: Over) -> Self {
        let selected = &known.selection.time_ns;
        let last = known.minute_of(selected.end.saturating_sub(1)).saturating_add(1);
        let numbers = numbers.start.max(known.minute_of(selected.start))..numbers.end.min(last);
        Self {
            known: Arc::clone(known),
            next: numbers.start,
            numbers,
            open: VecDeque::new(),
            in_flight: Vec::new(),
            in_flight_most: FEW,
            commands: Commands::default(),
            over,
        }
    }

    /// Whether requests matter that arrive from a moment on and are completed until another one,
    /// when all that arrived before them has been added.
    pub fn concerns(&self, arrived_ns: i64, completed_ns: i64) -> bool {
        let end_ns = self.known.begin_of(self.numbers.end);
        let to_come =
            self.next < self.numbers.end && completed_ns >= self.known.begin_of(self.next);
        // A call or a wait may go on for long behind the last minute, which nothing has opened yet.
        let goes_on = || self.known.waited_until_ns(end_ns) > Some(arrived_ns);
        to_come && (arrived_ns < end_ns || goes_on())
            || self.open.iter().any(|ledger| ledger.concerns(arrived_ns, completed_ns))
    }

    /// Takes the next request, in the order of arrival.
    pub fn add(&mut self, row: &Request, commands: &Commands) {
        let (Some(begin_ns), Some(end_ns)) = (row.arrival_ns(), row.completed_ns) else { return };
        let minute = self.known.minute_of(begin_ns);
        self.open_until(minute);
        while self.open.front().is_some_and(|ledger| ledger.is_over(begin_ns)) {
            self.close_first();
        }
        for ledger in &mut self.open {
            if ledger.concerns(begin_ns, end_ns) {
                ledger.add(row, commands);
            }
        }
        if self.next < self.numbers.end && end_ns >= self.known.begin_of(self.next) {
            let name = row.command.map(|command| commands.name(command));
            let command = name.map(|name| self.commands.number(name.as_bytes()));
            self.keep(Request { command, ..*row }, begin_ns);
        }
    }

    fn keep(&mut self, row: Request, now_ns: i64) {
        if self.in_flight.len() >= self.in_flight_most {
            let from_ns = self.known.begin_of(self.next).max(now_ns);
            self.in_flight.retain(|row| row.completed_ns >= Some(from_ns));
            self.in_flight_most = FEW.max(self.in_flight.len() * 2);
        }
        self.in_flight.push(row);
    }

    /// Opens a minute if it is one of these, and those before it in which calls or waits begin:
    /// they wait without any request.
    fn open_until(&mut self, minute: i64) {
        while self.next <= minute {
            let wait_ns = self.known.next_wait_ns(self.known.begin_of(self.next));
            let of_wait = wait_ns.map_or(i64::MAX, |ns| self.known.minute_of(ns));
            let number = of_wait.min(minute).max(self.next);
            if !self.numbers.contains(&number) {
                break;
            }
            self.open_one(number);
        }
    }

    fn open_one(&mut self, number: i64) {
        let mut ledger =
            Ledger::new(&self.known, self.known.begin_of(number)..self.known.begin_of(number + 1));
        self.next = number + 1;
        self.in_flight.iter().for_each(|row| ledger.add(row, &self.commands));
        let next_ns = self.known.begin_of(self.next);
        self.in_flight.retain(|row| row.completed_ns >= Some(next_ns));
        self.open.push_back(ledger);
    }

    fn close_first(&mut self) {
        let Some(mut ledger) = self.open.pop_front() else { return };
        match &mut self.over {
            Over::Added(whole) => whole.merge(ledger.verdict()),
            Over::Each(minutes) => {
                let number = self.known.minute_of(ledger.begin_ns());
                ledger.end();
                minutes.push((number, ledger.so_far()));
            }
        }
    }

    /// The minutes that are over since the last time, where each is kept by itself.
    pub(crate) fn take_each(&mut self) -> Vec<(i64, SoFar)> {
        match &mut self.over {
            Over::Added(_) => Vec::new(),
            Over::Each(minutes) => std::mem::take(minutes),
        }
    }

    /// No more requests come.
    pub(crate) fn end(&mut self) {
        while let Some(wait_ns) = self.known.next_wait_ns(self.known.begin_of(self.next)) {
            let minute = self.known.minute_of(wait_ns).max(self.next);
            if minute >= self.numbers.end {
                break;
            }
            self.open_one(minute);
        }
        while !self.open.is_empty() {
            self.close_first();
        }
    }

    /// The verdict of all of them.
    pub fn verdict(mut self) -> Verdict {
        self.end();
        match self.over {
            Over::Added(whole) => *whole,
            Over::Each(_) => Verdict::new(&self.known),
        }
    }
}
