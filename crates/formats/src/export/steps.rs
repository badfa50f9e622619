//! Rows as the steps that blktrace shows, in order of time: Q, G, D and C of each, as far as they
//! are known.
//!
//! Rows come in order of arrival; steps that lie ahead of the next arrival wait in a heap, which
//! holds no more than what is outstanding. The steps of a CPU are numbered, as blktrace numbers
//! them.
//!
//! A flush sequence is shown as the kernel does: what was requested is queued and completed with no
//! bytes, its parts are issued and completed.

use super::missing::Missing;
use super::{ExportError, ExportRows};
use model::record::{Flags, Op, Request};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// CPUs that have files of their own (a process may hold some 1,000 open); what was queued on
/// others is shown on the first one.
const CPUS: u16 = 512;

/// A step, by blktrace's letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Action {
    Queue,
    Start,
    Issue,
    Complete,
}

impl Action {
    pub(super) fn letter(self) -> char {
        match self {
            Self::Queue => 'Q',
            Self::Start => 'G',
            Self::Issue => 'D',
            Self::Complete => 'C',
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shown {
    pub(super) time_ns: u64,
    pub(super) action: Action,
    pub(super) row: Request,
    pub(super) cpu: u16,
    /// Its number among those of its CPU, from 1.
    pub(super) sequence: u32,
}

impl Shown {
    pub(super) fn bytes(&self) -> u32 {
        let is_whole_sequence = self.row.op == Op::Write
            && self.row.flags.contains(Flags::PREFLUSH)
            && self.row.issued_ns.is_none();
        let is_its_end = self.action == Action::Complete && is_whole_sequence;
        if is_its_end || self.row.op == Op::Flush { 0 } else { self.row.length_bytes }
    }

    pub(super) fn sector(&self) -> u64 {
        self.row.offset_bytes.unwrap_or(0) / 512
    }

    /// The thread that requested it; who completes it is not known.
    pub(super) fn pid(&self) -> u32 {
        if self.action == Action::Complete { 0 } else { self.row.pid.unwrap_or(0) }
    }

    /// The error as the kernel hands it over: 16 bits of a negative errno.
    pub(super) fn error(&self) -> u16 {
        if self.action == Action::Complete { self.row.error.wrapping_neg() as u16 } else { 0 }
    }
}

/// A step that waits: its time, its place among those of the same time, and its row.
type Waiting = Reverse<(i64, u64, Action, usize)>;

#[derive(Debug, Default)]
struct Ahead {
    heap: BinaryHeap<Waiting>,
    /// The rows of those steps, with how many are left of each.
    rows: Vec<(Request, u8)>,
    free: Vec<usize>,
    count: u64,
}

impl Ahead {
    fn push(&mut self, row: Request) {
        let times = [
            (Action::Queue, row.queued_ns),
            (Action::Start, row.started_ns),
            (Action::Issue, row.issued_ns),
            // Left open, whatever comes next at its place would be taken for its completion.
            (Action::Complete, row.completed_ns.or(row.completed_by_ns)),
        ];
        let known = times.iter().filter(|(_, time)| time.is_some()).count() as u8;
        let place = self.free.pop().unwrap_or(self.rows.len());
        if place == self.rows.len() {
            self.rows.push((row, known));
        } else {
            self.rows[place] = (row, known);
        }
        for (action, time) in times {
            let Some(time) = time else { continue };
            self.heap.push(Reverse((time, self.count, action, place)));
        }
        self.count += 1;
    }

    /// The first step, if it lies before a moment.
    fn pop_before(&mut self, moment_ns: Option<i64>) -> Option<(i64, Action, Request)> {
        let Reverse((time, _, action, place)) = *self.heap.peek()?;
        if moment_ns.is_some_and(|moment| time >= moment) {
            return None;
        }
        self.heap.pop();
        let (row, left) = &mut self.rows[place];
        *left -= 1;
        if *left == 0 {
            self.free.push(place);
        }
        Some((time, action, *row))
    }
}

/// Hands every step of every row over, in order of time. Times count from the rows' zero, or from
/// the first row if that is earlier.
pub(super) fn each_step(
    rows: &mut ExportRows<'_>,
    mut each: impl FnMut(&Shown, &ExportRows<'_>) -> Result<(), ExportError>,
) -> Result<(), ExportError> {
    let mut ahead = Ahead::default();
    let mut sequences: HashMap<u16, u32> = HashMap::new();
    let mut zero_ns = None;
    loop {
        let next = rows.next_row()?;
        let arrival = next.and_then(|row| row.arrival_ns());
        if let Some(arrival) = arrival {
            zero_ns.get_or_insert(arrival.min(0));
        }
        while let Some((time, action, row)) = ahead.pop_before(arrival) {
            let since_zero = time.saturating_sub(zero_ns.unwrap_or(0));
            let cpu = row.cpu.filter(|cpu| *cpu < CPUS).unwrap_or(0);
            let sequence = sequences.entry(cpu).or_default();
            *sequence = sequence.wrapping_add(1);
            let time_ns = u64::try_from(since_zero).unwrap_or(0);
            each(&Shown { time_ns, action, row, cpu, sequence: *sequence }, rows)?;
        }
        let Some(row) = next else { return Ok(()) };
        if row.cpu.is_some_and(|cpu| cpu >= CPUS) {
            rows.miss(Missing::Cpu);
        }
        ahead.push(row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(number: u64, times: [Option<i64>; 4]) -> Request {
        let [queued_ns, started_ns, issued_ns, completed_ns] = times;
        let request_id = number;
        Request { request_id, queued_ns, started_ns, issued_ns, completed_ns, ..Request::default() }
    }

    #[test]
    fn steps_leave_in_order_of_time_and_no_more_wait_than_are_outstanding() {
        let mut ahead = Ahead::default();
        let mut left = Vec::new();
        for n in 0..1000i64 {
            let arrival = n * 10;
            left.extend(std::iter::from_fn(|| ahead.pop_before(Some(arrival))));
            // Completed after two others have come.
            ahead.push(row(n as u64, [Some(arrival), None, Some(arrival + 1), Some(arrival + 25)]));
            assert!(ahead.rows.len() <= 4 && ahead.heap.len() <= 12);
        }
        left.extend(std::iter::from_fn(|| ahead.pop_before(None)));
        assert_eq!(left.len(), 3000);
        assert!(left.windows(2).all(|pair| pair[0].0 <= pair[1].0));
    }

    /// Left open, the next completion at its place would be taken for its own, however late that
    /// comes.
    #[test]
    fn a_lost_completion_ends_when_it_must_have_come() {
        let mut ahead = Ahead::default();
        let bounded =
            |ns| Request { completed_by_ns: ns, ..row(1, [Some(5), None, Some(6), None]) };
        ahead.push(bounded(Some(40)));
        ahead.push(bounded(None));
        let left = std::iter::from_fn(|| ahead.pop_before(None));
        let ends: Vec<i64> =
            left.filter(|(_, action, _)| *action == Action::Complete).map(|(ns, ..)| ns).collect();
        assert_eq!(ends, [40]);
    }

    #[test]
    fn steps_of_one_moment_stay_in_their_order() {
        let mut ahead = Ahead::default();
        ahead.push(row(1, [Some(5); 4]));
        ahead.push(row(2, [Some(5), None, None, Some(5)]));
        let left: Vec<_> = std::iter::from_fn(|| ahead.pop_before(None))
            .map(|(_, action, row)| format!("{}{}", action.letter(), row.request_id))
            .collect();
        assert_eq!(left, ["Q1", "G1", "D1", "C1", "Q2", "C2"]);
    }
}
