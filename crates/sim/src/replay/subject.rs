//! A modelled device as a subject of the experiments, by itself: its requests come from jobs that
//! take no time, and what is measured is the model's own time.
//!
//! Non-goals: a kernel, files, a page cache; processors.

use super::live::Live;
use super::machine::ReplayMachine;
use super::outcome::ReplayError;
use crate::subject::{Machine, Wake};
use model::engine::Operation;
use model::record::{Op, Request};
use model::seam::{
    Counters, DeviceCounters, DeviceRole, JobPlacement, PreparedTarget, SubjectError,
    TimedCompletion, Turn,
};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

/// When the first job begins: a moment of 0 is no moment to some jobs.
const BEGIN_NS: u64 = 1_000_000;

/// What a job is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It is its turn.
    Ready,
    /// It waits for so many completions, or for a moment.
    Waiting { min: u32, until_ns: u64 },
    /// It is over.
    Done,
}

#[derive(Debug)]
struct Runner {
    state: State,
    completions: VecDeque<TimedCompletion>,
}

/// A device of a replay's machine.
#[derive(Debug)]
pub struct DeviceMachine {
    live: Live,
    bytes: u64,
    now_ns: u64,
    runners: Vec<Runner>,
    sent: u64,
    /// By the request's number: whose, its token, and what it returns.
    outstanding: BTreeMap<u64, (usize, u64, i64)>,
    /// Completions that are certain: when, and of which request.
    due: BinaryHeap<Reverse<(u64, u64)>>,
    known: Vec<(u64, u64)>,
    moved: [u64; 2],
    error: Option<ReplayError>,
}

impl DeviceMachine {
    /// A device at rest.
    pub fn new(machine: ReplayMachine) -> Self {
        Self {
            bytes: machine.drive.capacity().bytes(),
            live: Live::new(machine),
            now_ns: BEGIN_NS,
            runners: vec![],
            sent: 0,
            outstanding: BTreeMap::new(),
            due: BinaryHeap::new(),
            known: vec![],
            moved: [0; 2],
            error: None,
        }
    }

    fn submit(&mut self, job: usize, request: model::seam::Request) {
        let token = u64::from(request.token);
        let op = match request.operation {
            Operation::Read => Op::Read,
            Operation::Write => Op::Write,
            Operation::Fdatasync | Operation::Fsync => Op::Flush,
            _ => return self.complete(job, token, 0),
        };
        self.sent += 1;
        let result = if op == Op::Flush { 0 } else { i64::from(request.length_bytes) };
        self.outstanding.insert(self.sent, (job, token, result));
        self.moved[usize::from(op == Op::Write)] += result.unsigned_abs();
        let came = self.live.come(
            self.now_ns,
            Request {
                request_id: self.sent,
                op,
                queued_ns: i64::try_from(self.now_ns).ok(),
                offset_bytes: (op != Op::Flush).then_some(request.offset_bytes),
                length_bytes: if op == Op::Flush { 0 } else { request.length_bytes as _ },
                ..Request::default()
            },
        );
        if let Err(error) = came {
            self.outstanding.remove(&self.sent);
            self.error.get_or_insert(error);
            self.complete(job, token, EIO);
        }
    }

    fn complete(&mut self, job: usize, token: u64, result: i64) {
        let completion = TimedCompletion { token, result, found_ns: self.now_ns };
        if let Some(runner) = self.runners.get_mut(job) {
            runner.completions.push_back(completion);
        }
    }

    /// A job whose turn it is now.
    fn ready(&mut self) -> Option<Wake> {
        let now_ns = self.now_ns;
        let (job, runner) = self.runners.iter_mut().enumerate().find(|(_, runner)| {
            let found = runner.completions.len();
            match runner.state {
                State::Ready => true,
                State::Waiting { min, until_ns } => found >= min as usize || until_ns <= now_ns,
                State::Done => false,
            }
        })?;
        Some(Wake { job, completion: runner.completions.pop_front() })
    }

    /// Virtual time goes on to what happens next; false if nothing does.
    fn goes_on(&mut self) -> bool {
        self.live.advance(self.now_ns, &mut self.known);
        self.due.extend(self.known.drain(..).map(|(id, at_ns)| Reverse((at_ns, id))));
        let waits = self.runners.iter().filter_map(|runner| match runner.state {
            State::Waiting { until_ns, .. } if until_ns < u64::MAX => Some(until_ns),
            _ => None,
        });
        let due_ns = self.due.peek().map(|of| of.0.0);
        let moments = [due_ns, self.live.next_ns(), waits.min()];
        let Some(next_ns) = moments.into_iter().flatten().min() else { return false };
        self.now_ns = self.now_ns.max(next_ns);
        while self.due.peek().is_some_and(|of| of.0.0 <= self.now_ns) {
            let Some(Reverse((_, id))) = self.due.pop() else { break };
            let Some((job, token, result)) = self.outstanding.remove(&id) else { continue };
            self.complete(job, token, result);
        }
        true
    }
}

/// What a request past the end returns.
const EIO: i64 = -5;

impl Machine for DeviceMachine {
    fn prepare(&mut self) -> Result<PreparedTarget, SubjectError> {
        Ok(PreparedTarget {
            drives: 1,
            capacity_bytes: self.bytes,
            is_device: true,
            ..PreparedTarget::default()
        })
    }

    fn start(&mut self, placements: &[JobPlacement]) -> Result<(), SubjectError> {
        let runner = || Runner { state: State::Ready, completions: VecDeque::new() };
        self.runners = placements.iter().map(|_| runner()).collect();
        Ok(())
    }

    fn next(&mut self) -> Option<Wake> {
        loop {
            if let Some(wake) = self.ready() {
                return Some(wake);
            }
            let is_over = self.runners.iter().all(|runner| runner.state == State::Done);
            if is_over || !self.goes_on() {
                return None;
            }
        }
    }

    fn take(&mut self, job: usize, turn: Turn) {
        let state = match turn {
            Turn::Submit(request) => {
                self.submit(job, request);
                State::Ready
            }
            Turn::Wait { min, until_ns } => State::Waiting { min, until_ns },
            Turn::Compute { .. } | Turn::Mark => State::Ready,
            Turn::Done => State::Done,
        };
        if let Some(runner) = self.runners.get_mut(job) {
            runner.state = state;
        }
    }

    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn counters(&mut self) -> Result<Counters, SubjectError> {
        if let Some(error) = self.error.take() {
            return Err(SubjectError::Failed(error.to_string()));
        }
        let device = DeviceCounters {
            name: "model".into(),
            role: DeviceRole::Tested,
            read_bytes: self.moved[0],
            write_bytes: self.moved[1],
            requests: self.sent,
            flushes: None,
            in_flight_ns: 0,
        };
        Ok(Counters { at_ns: self.now_ns, devices: vec![device], ..Counters::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::CATALOG;
    use crate::subject::ModelSubject;
    use model::seam::{Clock, Job, Subject};

    /// Reads a place, again and again, so many at once; waits a while before each but the first.
    struct Reader {
        left: u32,
        pause_ns: u64,
        until_ns: u64,
        times_ns: Vec<u64>,
        sent_ns: Option<u64>,
    }

    impl Job for Reader {
        fn turn<C: Clock>(&mut self, clock: &C, completion: Option<TimedCompletion>) -> Turn {
            if let Some(completion) = completion {
                let sent_ns = self.sent_ns.take().unwrap();
                self.times_ns.push(completion.found_ns - sent_ns);
                self.until_ns = completion.found_ns + self.pause_ns;
            }
            if self.sent_ns.is_some() {
                return Turn::Wait { min: 1, until_ns: u64::MAX };
            }
            if clock.now_ns() < self.until_ns {
                return Turn::Wait { min: 1, until_ns: self.until_ns };
            }
            if self.left == 0 {
                return Turn::Done;
            }
            self.left -= 1;
            self.sent_ns = Some(clock.now_ns());
            Turn::Submit(model::seam::Request {
                token: 0,
                operation: Operation::Read,
                offset_bytes: 1 << 20,
                length_bytes: 512,
            })
        }
    }

    /// A drive without a cache needs a whole number of turns from one reading of a block to the
    /// next, pauses included.
    #[test]
    fn a_job_sees_the_platter_turn() {
        let machine = ReplayMachine::of(&CATALOG.load("eagle").unwrap()).unwrap();
        let mut subject = ModelSubject::new(Box::new(DeviceMachine::new(machine)));
        let turn_ns = 60e9 / 3961.0;
        for pause_ns in [0, 3_000_000, 20_000_000] {
            let reader = Reader { left: 5, pause_ns, until_ns: 0, times_ns: vec![], sent_ns: None };
            let mut done = subject.run(vec![(JobPlacement::default(), reader)]).unwrap();
            let (reader, _) = done.pop().unwrap();
            assert_eq!(reader.times_ns.len(), 5);
            for time_ns in &reader.times_ns[1..] {
                let turns = (time_ns + pause_ns) as f64 / turn_ns;
                assert!((turns - turns.round()).abs() < 1e-3, "{pause_ns} {time_ns}");
            }
        }
    }
}
