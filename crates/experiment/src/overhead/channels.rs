//! The job of the overhead experiment: N channels, each with one request outstanding, over and
//! over. Non-overlapped it waits for a completion and restarts that channel; overlapped it runs the
//! *compute-and-test loop*: compute, test every channel, restart those that are complete.
//! Source: Bucher & Hayes (1980), section 2 and appendix A.
//!
//! A channel that is completed while it is being submitted (a blocking call) is restarted after
//! the next test and not before, so that there is a piece of computing between any two requests
//! of a channel, as in the paper.
//!
//! Non-goals: fdatasync, rates on schedule, runs to the end of a file (the throughput experiment).

use super::probe::SpeedProbe;
use super::signal::Signal;
use crate::failure::StreamError;
use crate::on_file::Measured;
use crate::sequence::{Sequence, mix};
use model::histogram::Histogram;
use model::seam::{Clock, Job, Operation, Request, TimedCompletion, Turn};
use model::workload::{Access, Arithmetic};
use std::sync::Arc;

#[derive(Debug, Clone)]
pub(crate) struct ChannelsPlan {
    pub(crate) access: Access,
    /// Reading and writing is one request: a copy within the file.
    pub(crate) copies: bool,
    pub(crate) block_bytes: u32,
    /// N: requests outstanding.
    pub(crate) channels: u32,
    /// Where in the file the channels are, and how much of it they share.
    pub(crate) base_bytes: u64,
    pub(crate) file_bytes: u64,
    pub(crate) seed: u64,
    pub(crate) runtime_ns: u64,
    /// Loops of computing between two tests, and with what; none: not overlapped.
    pub(crate) computing: Option<(Arithmetic, u32)>,
    /// Only compute and test, so many times: what the loop itself costs.
    pub(crate) calibrates: Option<u64>,
    /// Loops of a piece of the core-speed probe; none: the core's speed is not looked at.
    pub(crate) probe_loops: Option<u32>,
    /// Told of the beginning and the end.
    pub(crate) signal: Arc<Signal>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct ChannelsReport {
    pub(crate) started_ns: u64,
    pub(crate) ended_ns: u64,
    pub(crate) operations: u64,
    pub(crate) bytes_read: u64,
    pub(crate) bytes_written: u64,
    pub(crate) latency: Histogram,
    /// Compute-and-test loops.
    pub(crate) loop_count: u64,
    /// Time of a loop of the core-speed probe in the mean and in its quickest piece, and of all its
    /// pieces, which no other figure here holds.
    pub(crate) probe_ns: Option<f64>,
    pub(crate) probe_least_ns: Option<f64>,
    pub(crate) probe_total_ns: u64,
    pub(crate) error: Option<StreamError>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Open,
    Mark,
    Begin,
    Run,
    Close,
    Done,
}

/// Where in a compute-and-test loop the job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Computed,
    Tested,
}

/// One channel: a stretch of the file of its own.
#[derive(Debug, Clone)]
struct Channel {
    base_bytes: u64,
    sequence: Sequence,
    requests: u64,
    submitted_ns: u64,
    submitted_loop: u64,
    operation: Operation,
    offset_bytes: u64,
}

pub(crate) struct Channels {
    phase: Phase,
    is_edge_sent: bool,
    opening: Operation,
    access: Access,
    copies: bool,
    block_bytes: u32,
    computing: Option<(Arithmetic, u32)>,
    step: Step,
    channels: Vec<Channel>,
    /// Complete and to be restarted now, or after the next test.
    ready: Vec<u32>,
    completed_at_once: Vec<u32>,
    outstanding: u32,
    is_over: bool,
    runtime_ns: u64,
    end_ns: u64,
    calibrates: Option<u64>,
    signal: Arc<Signal>,
    probe: Option<SpeedProbe>,
    report: ChannelsReport,
}

impl Channels {
    pub(crate) fn new(plan: ChannelsPlan) -> Self {
        let block_bytes = u64::from(plan.block_bytes);
        // A copy goes from the first half of the file to the second.
        let file_bytes = if plan.copies { plan.file_bytes / 2 } else { plan.file_bytes };
        let blocks = (file_bytes / u64::from(plan.channels) / block_bytes).max(1);
        let channel = |number: u32| Channel {
            base_bytes: plan.base_bytes + u64::from(number) * blocks * block_bytes,
            sequence: Sequence::new(
                blocks,
                plan.access.is_random(),
                mix(plan.seed, u64::from(number)),
            ),
            requests: u64::from(number),
            submitted_ns: 0,
            submitted_loop: 0,
            operation: Operation::Read,
            offset_bytes: 0,
        };
        Self {
            phase: Phase::Open,
            is_edge_sent: false,
            opening: match plan.access.writes() {
                true => Operation::OpenReadWrite,
                false => Operation::OpenRead,
            },
            access: plan.access,
            copies: plan.copies,
            block_bytes: plan.block_bytes,
            computing: plan.computing,
            step: Step::Tested,
            channels: (0..plan.channels).map(channel).collect(),
            ready: match plan.calibrates {
                Some(_) => vec![],
                None => (0..plan.channels).rev().collect(),
            },
            completed_at_once: Vec::with_capacity(plan.channels as usize),
            outstanding: 0,
            is_over: false,
            runtime_ns: plan.runtime_ns,
            end_ns: u64::MAX,
            calibrates: plan.calibrates,
            signal: plan.signal,
            probe: plan.probe_loops.map(SpeedProbe::new),
            report: ChannelsReport::default(),
        }
    }

    pub(crate) fn report(&self) -> &ChannelsReport {
        &self.report
    }

    pub(crate) fn into_report(self) -> ChannelsReport {
        self.report
    }

    /// Restart what is completed; wait for a completion where nothing can be restarted.
    #[inline(always)]
    fn not_overlapped<C: Clock>(&mut self, clock: &C, completion: Option<TimedCompletion>) -> Turn {
        if let Some(completion) = completion {
            self.complete(completion);
            self.is_over |= completion.found_ns >= self.end_ns;
            if !self.is_over && self.outstanding == 0 && self.is_probe_due(completion.found_ns) {
                self.ready.push(completion.token as u32);
            } else if !self.is_over {
                // With one channel it was found just now; among several it may have waited.
                let is_alone = self.channels.len() == 1;
                let now_ns = if is_alone { completion.found_ns } else { clock.now_ns() };
                return self.restart(completion.token as u32, now_ns);
            }
        }
        if self.outstanding == 0
            && !self.is_over
            && let Some(turn) = self.probe_turn(clock)
        {
            return turn;
        }
        match self.ready.pop() {
            Some(token) if !self.is_over => self.restart(token, clock.now_ns()),
            _ if self.outstanding > 0 => Turn::Wait { min: 1, until_ns: u64::MAX },
            _ => self.finish(clock),
        }
    }

    #[inline(always)]
    fn is_probe_due(&self, now_ns: u64) -> bool {
        self.probe.as_ref().is_some_and(|probe| probe.is_due(now_ns))
    }

    /// A piece of the core-speed probe, where one is due: while nothing is outstanding, so that
    /// nobody waits. The end of the pass is put off by what it took.
    #[cold]
    fn probe_turn<C: Clock>(&mut self, clock: &C) -> Option<Turn> {
        let probe = self.probe.as_mut().filter(|probe| probe.is_due(clock.now_ns()))?;
        match probe.turn(clock) {
            Ok(turn) => Some(turn),
            Err(took_ns) => {
                self.end_ns = self.end_ns.saturating_add(took_ns);
                None
            }
        }
    }

    /// The compute-and-test loop.
    #[inline(always)]
    fn overlapped<C: Clock>(&mut self, clock: &C, completion: Option<TimedCompletion>) -> Turn {
        if let Some(completion) = completion {
            self.complete(completion);
            let token = completion.token as u32;
            let channel = &self.channels[completion.token as usize];
            if channel.submitted_loop == self.report.loop_count {
                self.completed_at_once.push(token);
            } else if !self.is_over {
                return self.restart(token, completion.found_ns);
            }
        }
        if self.step == Step::Computed {
            self.step = Step::Tested;
            return Turn::Wait { min: 0, until_ns: 0 };
        }
        match self.ready.pop() {
            Some(token) if !self.is_over => self.restart(token, clock.now_ns()),
            _ => self.compute(clock),
        }
    }

    /// Everything is tested and restarted: compute again, or end when all is completed.
    #[inline(always)]
    fn compute<C: Clock>(&mut self, clock: &C) -> Turn {
        let now_ns = clock.now_ns();
        self.is_over |= match self.calibrates {
            None => now_ns >= self.end_ns,
            Some(count) => self.report.loop_count >= count,
        };
        let Some((arithmetic, loops)) = self.computing.filter(|_| !self.is_ended()) else {
            return self.finish(clock);
        };
        self.report.loop_count += 1;
        std::mem::swap(&mut self.ready, &mut self.completed_at_once);
        self.step = Step::Computed;
        Turn::Compute { arithmetic, loops }
    }

    #[inline(always)]
    fn is_ended(&self) -> bool {
        self.is_over && self.outstanding == 0
    }

    #[inline(always)]
    fn restart(&mut self, token: u32, now_ns: u64) -> Turn {
        let block_bytes = u64::from(self.block_bytes);
        let channel = &mut self.channels[token as usize];
        let operation = match (self.copies, self.access) {
            (true, _) => Operation::Copy,
            (_, Access::Read | Access::RandRead) => Operation::Read,
            // Half of the channels read while the other half write, and they take turns.
            (_, Access::Rw | Access::RandRw) if channel.requests.is_multiple_of(2) => {
                Operation::Read
            }
            _ => Operation::Write,
        };
        channel.requests += 1;
        channel.operation = operation;
        channel.submitted_ns = now_ns;
        channel.submitted_loop = self.report.loop_count;
        let offset_bytes = channel.base_bytes + channel.sequence.next_block() * block_bytes;
        channel.offset_bytes = offset_bytes;
        self.outstanding += 1;
        Turn::Submit(Request { token, operation, offset_bytes, length_bytes: self.block_bytes })
    }

    #[inline(always)]
    fn complete(&mut self, completion: TimedCompletion) {
        let Some(channel) = self.channels.get(completion.token as usize) else { return };
        self.outstanding -= 1;
        let bytes = u64::from(self.block_bytes);
        if completion.result != i64::from(self.block_bytes) {
            let (operation, offset_bytes) = (channel.operation, channel.offset_bytes);
            return self.fail(operation, offset_bytes, completion.result);
        }
        self.report.latency.record(completion.found_ns.saturating_sub(channel.submitted_ns));
        self.report.operations += 1;
        self.report.ended_ns = completion.found_ns;
        self.report.bytes_read += if channel.operation == Operation::Write { 0 } else { bytes };
        self.report.bytes_written += if channel.operation == Operation::Read { 0 } else { bytes };
    }

    /// Keeps the first error and submits nothing more.
    #[cold]
    fn fail(&mut self, operation: Operation, offset_bytes: u64, result: i64) {
        let errno = i32::try_from(-result.min(0)).unwrap_or(0);
        self.report.error.get_or_insert(StreamError { operation, offset_bytes, errno });
        self.is_over = true;
    }

    #[cold]
    fn begin<C: Clock>(&mut self, clock: &C) -> Turn {
        self.phase = Phase::Run;
        self.signal.begin();
        self.report.started_ns = clock.now_ns();
        self.end_ns = self.report.started_ns.saturating_add(self.runtime_ns);
        self.run(clock, None)
    }

    #[cold]
    fn finish<C: Clock>(&mut self, clock: &C) -> Turn {
        self.report.ended_ns = clock.now_ns();
        self.signal.end();
        if let Some(probe) = &self.probe {
            self.report.probe_ns = probe.loop_ns();
            self.report.probe_least_ns = probe.least_loop_ns();
            self.report.probe_total_ns = probe.total_ns();
        }
        self.phase = Phase::Close;
        Turn::Mark
    }

    #[inline(always)]
    fn run<C: Clock>(&mut self, clock: &C, completion: Option<TimedCompletion>) -> Turn {
        match self.computing {
            Some(_) => self.overlapped(clock, completion),
            None => self.not_overlapped(clock, completion),
        }
    }

    /// Open, marks and close, around the run.
    #[cold]
    fn edge<C: Clock>(&mut self, clock: &C, completion: Option<TimedCompletion>) -> Turn {
        if let Some(completion) = completion {
            self.is_edge_sent = false;
            if completion.result < 0 && self.phase == Phase::Open {
                self.fail(self.opening, 0, completion.result);
                self.phase = Phase::Done;
            } else {
                self.phase = if self.phase == Phase::Open { Phase::Mark } else { Phase::Done };
            }
        }
        if self.is_edge_sent {
            return Turn::Wait { min: 1, until_ns: u64::MAX };
        }
        match self.phase {
            Phase::Open => self.send_edge(self.opening),
            Phase::Mark => {
                self.phase = Phase::Begin;
                Turn::Mark
            }
            Phase::Begin => self.begin(clock),
            Phase::Run => self.run(clock, None),
            Phase::Close => self.send_edge(Operation::Close),
            Phase::Done => {
                self.signal.end();
                Turn::Done
            }
        }
    }

    fn send_edge(&mut self, operation: Operation) -> Turn {
        self.is_edge_sent = true;
        Turn::Submit(Request { token: 0, operation, offset_bytes: 0, length_bytes: 0 })
    }
}

impl Job for Channels {
    #[inline(always)]
    fn turn<C: Clock>(&mut self, clock: &C, completion: Option<TimedCompletion>) -> Turn {
        if self.phase == Phase::Run {
            self.run(clock, completion)
        } else {
            self.edge(clock, completion)
        }
    }
}

impl Measured for Channels {
    fn error(&self) -> Option<StreamError> {
        self.report.error
    }
}
