//! The job that makes the requests, over the seams.
//!
//! It sleeps until shortly before a request is due and then looks at the clock until it is. How
//! shortly follows from how late it was woken lately. While it waits it looks for completions, so
//! each is stamped when it is there.
//!
//! A request's lateness is from when it was due to when it was handed over. It is the target's as
//! far as the target took none meanwhile (all places of the queue taken, or handing over an earlier
//! request lasted), and else ours.

use super::blocked::Blocked;
use super::{Due, Happened, Planned};
use model::seam::{Clock, Job, Operation, Request, TimedCompletion, Turn};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// From the replay's start to the first request, ns: nothing is late before it begins.
const LEAD_NS: u64 = 2_000_000;
/// The least and the most time for which the clock is looked at before a request is due, ns.
const MARGIN_NS: (u64, u64) = (10_000, 400_000);
/// No request.
const NONE: u32 = u32::MAX;

/// When a request was made. Times are ns from the replay's start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Times {
    /// When it was due; none where what it was to come after never happened.
    pub due_ns: Option<u64>,
    /// When it was handed over.
    pub submitted_ns: u64,
    /// When its completion was found.
    pub completed_ns: u64,
    /// What of its lateness was the target's, ns.
    pub target_ns: u64,
    /// 0, or the errno of its failure.
    pub error: i32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Open,
    Stream,
    Close,
    Done,
}

/// Who comes after a request.
#[derive(Debug, Default)]
struct Followers {
    after_coming: Vec<u32>,
    after_completion: Vec<u32>,
    next: Vec<u32>,
}

impl Followers {
    fn of(requests: &[Planned]) -> Self {
        let is_follower = |planned: &Planned| matches!(planned.due, Due::After { .. });
        if !requests.iter().any(is_follower) {
            return Self::default();
        }
        let none = || vec![NONE; requests.len()];
        let mut followers = Self { after_coming: none(), after_completion: none(), next: none() };
        for (place, planned) in requests.iter().enumerate() {
            let Due::After { request, of, .. } = planned.due else { continue };
            let first = match of {
                Happened::Came => &mut followers.after_coming,
                Happened::Completed => &mut followers.after_completion,
            };
            let pair = first.get_mut(request as usize).zip(followers.next.get_mut(place));
            if let Some((first, next)) = pair {
                *next = std::mem::replace(first, place as u32);
            }
        }
        followers
    }

    /// The first one after something.
    fn begin(&self, request: u32, of: Happened) -> u32 {
        let first = match of {
            Happened::Came => &self.after_coming,
            Happened::Completed => &self.after_completion,
        };
        first.get(request as usize).copied().unwrap_or(NONE)
    }

    fn after(&self, place: u32) -> u32 {
        self.next.get(place as usize).copied().unwrap_or(NONE)
    }
}

/// A replay.
pub struct Replay {
    requests: Vec<Planned>,
    times: Vec<Times>,
    followers: Followers,
    phase: Phase,
    is_edge_sent: bool,
    opening: Operation,
    /// The first of those due at a moment of their own that has not been made.
    next_own: usize,
    /// Others whose moments are known by now.
    known: BinaryHeap<Reverse<(u64, u32)>>,
    /// The request that each outstanding token stands for; free ones below.
    tokens: Vec<u32>,
    free: Vec<u32>,
    start_ns: u64,
    /// When the request that was handed over last was, until the next turn tells how long it took.
    handed_over_ns: Option<u64>,
    /// Since when there has been no free place for what is due.
    full_since_ns: Option<u64>,
    blocked: Blocked,
    has_looked: bool,
    /// Until when it meant to sleep.
    sleeps_until_ns: Option<u64>,
    margin_ns: u64,
    /// Why the target could not be opened or closed: a negative errno.
    refusal: Option<i64>,
}

impl Replay {
    /// A replay of requests, those due at moments of their own in the order of these, with at most
    /// `depth` outstanding.
    pub fn new(requests: Vec<Planned>, depth: u32) -> Self {
        let writes = requests.iter().any(|planned| planned.operation != Operation::Read);
        Self {
            followers: Followers::of(&requests),
            times: vec![Times::default(); requests.len()],
            phase: Phase::Open,
            is_edge_sent: false,
            opening: if writes { Operation::OpenReadWrite } else { Operation::OpenRead },
            next_own: 0,
            known: BinaryHeap::new(),
            tokens: vec![NONE; depth as usize],
            free: (0..depth).rev().collect(),
            start_ns: 0,
            handed_over_ns: None,
            full_since_ns: None,
            blocked: Blocked::default(),
            has_looked: false,
            sleeps_until_ns: None,
            margin_ns: MARGIN_NS.1 / 4,
            refusal: None,
            requests,
        }
    }

    /// The requests with their times. `Err` is the errno by which the target refused to be opened.
    /// Errors: the target was not opened.
    pub fn into_times(self) -> Result<(Vec<Planned>, Vec<Times>), i32> {
        match self.refusal {
            Some(result) => Err(i32::try_from(-result).unwrap_or(i32::MAX)),
            None => Ok((self.requests, self.times)),
        }
    }

    /// Opening and closing.
    fn edge(&mut self, operation: Operation, completion: Option<TimedCompletion>) -> Option<Turn> {
        if self.is_edge_sent {
            let completion = completion?;
            self.is_edge_sent = false;
            if completion.result < 0 {
                self.refusal = Some(completion.result);
            }
            return None;
        }
        self.is_edge_sent = true;
        let request = Request { token: 0, operation, offset_bytes: 0, length_bytes: 0 };
        Some(Turn::Submit(request))
    }

    /// When the next request is due, from the start, and which it is.
    fn next_due(&mut self) -> Option<(u64, u32)> {
        let own = loop {
            match self.requests.get(self.next_own).map(|planned| planned.due) {
                Some(Due::After { .. }) => self.next_own += 1,
                Some(Due::At(at_ns)) => break Some((at_ns + LEAD_NS, self.next_own as u32)),
                None => break None,
            }
        };
        let known = self.known.peek().map(|Reverse(due)| *due);
        own.into_iter().chain(known).min()
    }

    /// Something of a request happened: those that come after it are due at known moments now.
    fn happened(&mut self, request: u32, of: Happened, at_ns: u64) {
        let mut place = self.followers.begin(request, of);
        while place != NONE {
            if let Some(Due::After { think_ns, not_before_ns, .. }) =
                self.requests.get(place as usize).map(|planned| planned.due)
            {
                let due_ns = at_ns.saturating_add(think_ns).max(not_before_ns + LEAD_NS);
                self.known.push(Reverse((due_ns, place)));
            }
            place = self.followers.after(place);
        }
    }

    fn complete(&mut self, completion: TimedCompletion) {
        let Some(held) = self.tokens.get_mut(completion.token as usize) else { return };
        let place = std::mem::replace(held, NONE);
        let at_ns = completion.found_ns.saturating_sub(self.start_ns);
        self.free.push(completion.token as u32);
        let Some((times, planned)) =
            self.times.get_mut(place as usize).zip(self.requests.get(place as usize))
        else {
            return;
        };
        times.completed_ns = at_ns;
        let whole = match planned.operation {
            Operation::Read | Operation::Write => i64::from(planned.length_bytes),
            _ => 0,
        };
        times.error = match completion.result {
            result if result == whole => 0,
            result if result < 0 => i32::try_from(-result).unwrap_or(i32::MAX),
            _ => SHORT,
        };
        self.happened(place, Happened::Completed, at_ns);
    }

    /// What was going on when the last turn ended is over.
    fn settle(&mut self, now_ns: u64, is_woken_by_clock: bool) {
        if let Some(from_ns) = self.handed_over_ns.take() {
            self.blocked.add(from_ns, now_ns);
        }
        if let Some(until_ns) = self.sleeps_until_ns.take()
            && is_woken_by_clock
            && now_ns >= until_ns
        {
            let overslept_ns = now_ns - until_ns;
            let wanted_ns = overslept_ns + overslept_ns / 2;
            let eased_ns = self.margin_ns - self.margin_ns / 64;
            self.margin_ns = wanted_ns.max(eased_ns).clamp(MARGIN_NS.0, MARGIN_NS.1);
        }
        if let (Some(from_ns), false) = (self.full_since_ns, self.free.is_empty()) {
            self.full_since_ns = None;
            self.blocked.add(from_ns, now_ns);
        }
    }

    fn stream<C: Clock>(&mut self, clock: &C, completion: Option<TimedCompletion>) -> Turn {
        let is_woken_by_clock = completion.is_none();
        if let Some(completion) = completion {
            self.complete(completion);
        }
        let now_ns = clock.now_ns().saturating_sub(self.start_ns);
        self.settle(now_ns, is_woken_by_clock);
        let outstanding = self.tokens.len() - self.free.len();
        let Some((due_ns, place)) = self.next_due() else {
            if outstanding > 0 {
                return Turn::Wait { min: 1, until_ns: u64::MAX };
            }
            self.phase = Phase::Close;
            return self.turn(clock, None);
        };
        if due_ns > now_ns {
            return self.wait(due_ns, now_ns);
        }
        if self.free.is_empty() {
            self.full_since_ns.get_or_insert(now_ns);
            return Turn::Wait { min: 1, until_ns: u64::MAX };
        }
        // Between two requests that are late there is a look for completions.
        if outstanding > 0 && !std::mem::replace(&mut self.has_looked, true) {
            return Turn::Wait { min: 0, until_ns: 0 };
        }
        self.submit(due_ns, place, now_ns)
    }

    /// Sleeps until shortly before a moment, and then looks for completions until it is there.
    fn wait(&mut self, due_ns: u64, now_ns: u64) -> Turn {
        self.has_looked = false;
        let until_ns = due_ns.saturating_sub(self.margin_ns);
        if until_ns <= now_ns {
            return Turn::Wait { min: 0, until_ns: 0 };
        }
        self.sleeps_until_ns = Some(until_ns);
        Turn::Wait { min: 1, until_ns: self.start_ns + until_ns }
    }

    fn submit(&mut self, due_ns: u64, place: u32, now_ns: u64) -> Turn {
        self.has_looked = false;
        match self.known.peek() {
            Some(Reverse((_, known))) if *known == place => drop(self.known.pop()),
            _ => self.next_own = place as usize + 1,
        }
        let token = self.free.pop().unwrap_or(0);
        if let Some(held) = self.tokens.get_mut(token as usize) {
            *held = place;
        }
        let Some(planned) = self.requests.get(place as usize).copied() else { return Turn::Done };
        if let Some(times) = self.times.get_mut(place as usize) {
            let late_ns = now_ns - due_ns;
            times.due_ns = Some(due_ns);
            times.submitted_ns = now_ns;
            times.target_ns = self.blocked.since(due_ns).min(late_ns);
        }
        self.happened(place, Happened::Came, due_ns);
        self.handed_over_ns = Some(now_ns);
        Turn::Submit(Request {
            token,
            operation: planned.operation,
            offset_bytes: planned.offset_bytes,
            length_bytes: planned.length_bytes,
        })
    }
}

/// The errno of a request of which only a part was done: EIO.
const SHORT: i32 = 5;

impl Job for Replay {
    fn turn<C: Clock>(&mut self, clock: &C, completion: Option<TimedCompletion>) -> Turn {
        match self.phase {
            Phase::Open => {
                if let Some(turn) = self.edge(self.opening, completion) {
                    return turn;
                }
                if self.is_edge_sent {
                    return Turn::Wait { min: 1, until_ns: u64::MAX };
                }
                if self.refusal.is_some() {
                    self.phase = Phase::Done;
                    return Turn::Done;
                }
                self.phase = Phase::Stream;
                self.start_ns = clock.now_ns();
                self.stream(clock, None)
            }
            Phase::Stream => self.stream(clock, completion),
            Phase::Close => match self.edge(Operation::Close, completion) {
                Some(turn) => turn,
                None if self.is_edge_sent => Turn::Wait { min: 1, until_ns: u64::MAX },
                None => {
                    self.phase = Phase::Done;
                    Turn::Done
                }
            },
            Phase::Done => Turn::Done,
        }
    }
}
