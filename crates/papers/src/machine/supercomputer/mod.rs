//! The supercomputers of Bucher & Hayes (1980): a processor, some channels with a drive each, and
//! an operating system with its I/O routines. Cray-1 with DD-19 under CTSS, ALAMOS or COS; CDC 7600
//! with 819 under LTSS.
//!
//! A request's token says by which channel it goes: N requests at once are N logically independent
//! channels, each to a file on its own drive, as in the paper. A request is of whole sectors: what
//! is no multiple of a sector's data is rounded up, and the next block begins with a sector of its
//! own; a file that so becomes longer than its drive goes on at the drive's beginning. There is no
//! cache and no file system: a request lies where its offset says, direct or not.
//!
//! By an engine that blocks, a call returns when it is completed (*not overlapped*); by one that
//! overlaps, its completion is found by testing. Engine `null` only computes and tests.
//!
//! Non-goals: files that are made and removed, errors, other users of the machine (the paper ran
//! alone).

mod channel;
mod machine;
mod parameter;
mod processor;
mod routine;

pub use channel::Controller;
pub use parameter::{Arithmetics, Parameters, System};
pub use routine::{Routine, Row, SECTOR_WORDS, Size};

use channel::{Channel, Command, Due, Step};
use model::engine::EngineKind;
use model::seam::{
    Counters, CpuCounters, DeviceCounters, DeviceRole, JobCpu, JobPlacement, Operation,
    PreparedTarget, Request, SubjectError, TimedCompletion, Turn,
};
use model::workload::Arithmetic;
use processor::{Kind, Processor, Running};
use sim::event::EventQueue;
use sim::profile::{Profile, ProfileError};
use sim::subject::{Machine, Wake};
use std::collections::VecDeque;

/// Linux's number for a request past the end, by which the experiments know it.
const ENOSPC: i64 = 28;
/// Drives turn by themselves: each index comes under the heads by this share of a revolution later
/// than the one's before it (the golden section, so that no two of a few come together).
const PHASE_STEP: f64 = 0.618_033_988_749_895;

#[derive(Debug, Clone, Copy)]
enum Event {
    Channel(usize, Step),
    /// The program can see that a request is completed.
    Visible(usize, u32),
    /// A program that waited for it runs again.
    Woken(usize, u32),
    /// The library that waited for a part of it runs again.
    Library(usize, u32),
    Timer(usize, u64),
}

/// What follows an interrupt.
#[derive(Debug, Clone, Copy)]
enum Then {
    Nothing,
    /// The transfer is completed.
    Completed(usize, u32),
    /// The library's next system call goes to the channel.
    Call(usize, u32),
}

/// What a job's work was for.
#[derive(Debug, Clone, Copy, PartialEq)]
enum After {
    /// Its next turn.
    Turn,
    /// A test of what is completed, and then its next turn.
    Tested,
    /// A system call: the transfer goes to the channel.
    Call(u32),
}

/// A request on its way.
#[derive(Debug, Clone, Copy)]
struct Flight {
    request: Request,
    is_write: bool,
    channel: usize,
    /// Its first sector, and how many it is of.
    first_sector: u64,
    sectors: u64,
    /// The same of the present system call, and how many are left of these.
    sector: u64,
    part_sectors: u64,
    parts_left: u64,
    is_again: bool,
    size: Size,
    begun_ns: u64,
    is_visible: bool,
    is_woken: bool,
}

#[derive(Debug)]
struct Task {
    placement: JobPlacement,
    after: After,
    flights: Vec<Flight>,
    found: VecDeque<TimedCompletion>,
    /// Waits for so many completions, until that time.
    waits: Option<(usize, u64)>,
    /// CPU at its first mark and at its last.
    marks: Option<(u64, u64)>,
    is_done: bool,
}

/// Makes one of them, for [`super::build`].
/// Errors: whatever in the profile cannot be; more drives than channels; a block size.
pub(super) fn build(
    profile: &Profile,
    options: super::Options,
) -> Result<Box<dyn Machine>, ProfileError> {
    let mut machine = Supercomputer::read(profile)?;
    let channels = machine.channels.len();
    machine.drives = options.drives;
    if !(1..=channels).contains(&machine.drives) {
        let reason = format!("each channel has a drive of its own, and there are {channels}");
        return Err(ProfileError::new(profile.name(), "drives", reason));
    }
    if options.block_bytes.is_some() {
        let reason = "this machine has no file system whose blocks could have a size";
        return Err(ProfileError::new(profile.name(), "block", reason));
    }
    Ok(Box::new(machine))
}

/// One of the machines.
pub struct Supercomputer {
    parameters: Parameters,
    routine: usize,
    /// Drives that jobs run on at once; a job's requests have the channels from its drive's on.
    drives: usize,
    channels: Vec<Channel>,
    counts: Vec<DeviceCounters>,
    processor: Processor<Then>,
    events: EventQueue<(u64, Event)>,
    /// Events of earlier runs are void.
    run: u64,
    tasks: Vec<Task>,
    turns: VecDeque<usize>,
    now_ns: u64,
}

impl Supercomputer {
    /// The machine of a profile, with the routine that it names.
    pub fn read(profile: &Profile) -> Result<Self, ProfileError> {
        let (parameters, routine) = Parameters::read(profile)?;
        Ok(Self::new(parameters, routine))
    }

    /// A machine with one of its routines, by its place in the list.
    pub fn new(parameters: Parameters, routine: usize) -> Self {
        let channel = |index: usize| {
            let phase = (index as f64 * PHASE_STEP).fract();
            Channel::new(parameters.controller, parameters.mechanics.clone(), phase)
        };
        let count = |index: usize| DeviceCounters {
            name: format!("channel-{index}"),
            role: DeviceRole::Tested,
            read_bytes: 0,
            write_bytes: 0,
            requests: 0,
            flushes: None,
            in_flight_ns: 0,
        };
        Self {
            routine: routine.min(parameters.routines.len().saturating_sub(1)),
            drives: 1,
            channels: (0..parameters.channels).map(channel).collect(),
            counts: (0..parameters.channels).map(count).collect(),
            parameters,
            processor: Processor::default(),
            events: EventQueue::default(),
            run: 0,
            tasks: vec![],
            turns: VecDeque::new(),
            now_ns: 0,
        }
    }

    fn row(&self, is_write: bool) -> &Row {
        self.parameters.routines[self.routine].row(is_write)
    }

    fn schedule(&mut self, at_ns: f64, event: Event) {
        let at_ns = (at_ns.ceil().max(0.0) as u64).max(self.now_ns);
        self.events.schedule(at_ns, (self.run, event));
    }

    fn schedule_step(&mut self, channel: usize, due: Option<Due>) {
        if let Some((at_ns, step)) = due {
            self.schedule(at_ns, Event::Channel(channel, step));
        }
    }

    /// A request begins: what it needs is known, and the call's CPU time is to be spent.
    fn submit(&mut self, job: usize, request: Request) {
        let is_write = request.operation == Operation::Write;
        let engine = self.tasks[job].placement.engine;
        let moves = matches!(request.operation, Operation::Read | Operation::Write);
        if !moves || engine == EngineKind::Null {
            let completion = TimedCompletion {
                token: u64::from(request.token),
                result: i64::from(request.length_bytes),
                found_ns: self.now_ns,
            };
            self.tasks[job].found.push_back(completion);
            // What does no I/O still takes time, or time would stand still.
            let test_ns = if moves { self.parameters.test_ns } else { 0.0 };
            return self.work(job, Kind::Scalar, test_ns, After::Turn);
        }
        let placement = &self.tasks[job].placement;
        let channel = (placement.drive + request.token as usize) % self.channels.len();
        let row = self.row(is_write);
        let length_bytes = u64::from(request.length_bytes.max(1));
        let data_bytes = self.parameters.data_bytes(row);
        let sectors = length_bytes.div_ceil(data_bytes);
        let (size, spacing) = (row.size(sectors), row.spacing);
        let layout = &self.parameters.mechanics.layout;
        let capacity_bytes = layout.blocks * u64::from(layout.sector_bytes);
        let on_drive = layout.blocks / u64::from(spacing);
        if request.offset_bytes + length_bytes > capacity_bytes || sectors > on_drive {
            let completion = TimedCompletion {
                token: u64::from(request.token),
                result: -ENOSPC,
                found_ns: self.now_ns,
            };
            self.tasks[job].found.push_back(completion);
            return self.work(job, Kind::Scalar, self.parameters.test_ns, After::Turn);
        }
        let sector = request.offset_bytes / length_bytes * sectors
            + request.offset_bytes % length_bytes / data_bytes;
        // What rounding up moves past the end goes on at the beginning.
        let sector = (sector % on_drive).min(on_drive - sectors);
        let parts = size.calls.min(sectors);
        let flight = Flight {
            request,
            is_write,
            channel,
            first_sector: sector,
            sectors,
            sector,
            part_sectors: sectors.div_ceil(parts),
            parts_left: size.calls,
            is_again: false,
            size,
            begun_ns: self.now_ns,
            is_visible: false,
            is_woken: false,
        };
        self.tasks[job].flights.push(flight);
        let call_ns = self.call_ns(&flight);
        self.work(job, Kind::System, call_ns, After::Call(request.token));
    }

    /// CPU time before a system call's transfer can begin.
    fn call_ns(&self, flight: &Flight) -> f64 {
        let row = self.row(flight.is_write);
        let copied =
            if flight.is_write && row.copies && !flight.is_again { flight.part_sectors } else { 0 };
        let seeks = self.channels[flight.channel].seeks(flight.sector, row.spacing);
        let seek_ns = if seeks { self.parameters.system.seek_ns } else { 0.0 };
        flight.size.t_call_ns / flight.size.calls as f64 + copied as f64 * row.t_trans_ns + seek_ns
    }

    fn work(&mut self, job: usize, kind: Kind, ns: f64, after: After) {
        self.tasks[job].after = after;
        self.processor.give(job, kind, ns);
    }

    fn flight(&mut self, job: usize, token: u32) -> Option<&mut Flight> {
        self.tasks.get_mut(job)?.flights.iter_mut().find(|f| f.request.token == token)
    }

    /// The transfer of a system call goes to its channel.
    fn transfer(&mut self, job: usize, token: u32) {
        let at_ns = self.now_ns as f64;
        let Some(flight) = self.flight(job, token).copied() else { return };
        let end = flight.first_sector + flight.sectors;
        let command = Command {
            owner: (job, token),
            is_write: flight.is_write,
            sector: flight.sector,
            sectors: flight.part_sectors,
            spacing: self.row(flight.is_write).spacing,
            is_again: flight.is_again,
            stays: flight.parts_left > 1 && flight.sector + flight.part_sectors == end,
            at_ns,
        };
        let due = self.channels[flight.channel].command(command);
        self.schedule_step(flight.channel, due);
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Channel(channel, Step::Sector) => self.sector(channel),
            Event::Channel(channel, Step::TimedCompletion) => {
                let Some(command) = self.channels[channel].present() else { return };
                let row = self.row(command.is_write);
                let copies = row.copies && !command.is_write && !command.is_again;
                let copy_ns = if copies { command.sectors as f64 * row.t_trans_ns } else { 0.0 };
                let (job, token) = command.owner;
                self.processor.interrupt(copy_ns, Then::Completed(job, token));
            }
            Event::Channel(channel, Step::Free) => {
                let due = self.channels[channel].free(self.now_ns as f64);
                self.schedule_step(channel, due);
            }
            Event::Visible(job, token) => {
                if let Some(flight) = self.flight(job, token) {
                    flight.is_visible = true;
                }
            }
            Event::Woken(job, token) => {
                if let Some(flight) = self.flight(job, token) {
                    flight.is_woken = true;
                    self.wake(job, false);
                }
            }
            Event::Library(job, token) => {
                let Some(flight) = self.flight(job, token).copied() else { return };
                let call_ns = self.call_ns(&flight);
                self.processor.interrupt(call_ns, Then::Call(job, token));
            }
            Event::Timer(job, until_ns) => {
                if self.tasks[job].waits.is_some_and(|(_, until)| until == until_ns) {
                    self.wake(job, true);
                }
            }
        }
    }

    /// A sector takes the processor's time, more of it where vectors have the memory.
    fn sector(&mut self, channel: usize) {
        let locked_ns = match self.processor.locks_memory() {
            true => self.parameters.vector_lockout_ns,
            false => 0.0,
        };
        let Some((command, dues)) = self.channels[channel].sector() else { return };
        let row = self.row(command.is_write);
        let trans_ns = if row.copies || command.is_again { 0.0 } else { row.t_trans_ns };
        self.processor.interrupt(trans_ns + locked_ns, Then::Nothing);
        let bytes = u64::from(self.parameters.mechanics.layout.sector_bytes);
        let count = &mut self.counts[channel];
        match command.is_write {
            true => count.write_bytes += bytes,
            false => count.read_bytes += bytes,
        }
        for due in dues {
            self.schedule_step(channel, due);
        }
    }

    /// A system call is completed: the library makes the next one, or the program can see it.
    fn completed(&mut self, job: usize, token: u32) {
        let now_ns = self.now_ns;
        let find = |flight: &&mut Flight| flight.request.token == token;
        let Some(flight) = self.tasks[job].flights.iter_mut().find(find) else { return };
        flight.parts_left -= 1;
        if flight.parts_left > 0 {
            let end = flight.first_sector + flight.sectors;
            let next = flight.sector + flight.part_sectors;
            // Where there are more calls than sectors, the last ones go over the last sector again.
            flight.is_again = next >= end;
            flight.sector = next.min(end - 1);
            flight.part_sectors = end.saturating_sub(next).div_ceil(flight.parts_left).max(1);
            let wake_ns = self.parameters.system.wake_ns(flight.is_write);
            return self.schedule(now_ns as f64 + wake_ns, Event::Library(job, token));
        }
        let (channel, begun_ns, is_write) = (flight.channel, flight.begun_ns, flight.is_write);
        let count = &mut self.counts[channel];
        count.requests += 1;
        count.in_flight_ns += now_ns - begun_ns;
        let system = self.parameters.system;
        self.schedule(now_ns as f64 + system.status_ns(is_write), Event::Visible(job, token));
        self.schedule(now_ns as f64 + system.wake_ns(is_write), Event::Woken(job, token));
    }

    /// A job that waits goes on, if enough is there or its time is over.
    fn wake(&mut self, job: usize, is_time_over: bool) {
        let Some((min, _)) = self.tasks[job].waits else { return };
        let woken = self.tasks[job].flights.iter().filter(|flight| flight.is_woken).count();
        if woken >= min || is_time_over {
            self.find(job);
            self.turns.push_back(job);
        }
    }

    /// What is visible is found.
    fn find(&mut self, job: usize) {
        let now_ns = self.now_ns;
        let Some(task) = self.tasks.get_mut(job) else { return };
        task.waits = None;
        let found = task.flights.extract_if(.., |flight| flight.is_visible);
        task.found.extend(found.map(|flight| TimedCompletion {
            token: u64::from(flight.request.token),
            result: i64::from(flight.request.length_bytes),
            found_ns: now_ns,
        }));
    }

    fn wait(&mut self, job: usize, min: u32, until_ns: u64) {
        let task = &mut self.tasks[job];
        let visible = task.flights.iter().filter(|flight| flight.is_visible).count();
        if !task.found.is_empty() {
            self.turns.push_back(job);
        } else if min == 0 {
            self.work(job, Kind::Scalar, self.parameters.test_ns, After::Tested);
        } else if visible >= min as usize || until_ns <= self.now_ns {
            self.find(job);
            self.turns.push_back(job);
        } else {
            task.waits = Some((min as usize, until_ns));
            if until_ns < u64::MAX {
                self.schedule(until_ns as f64, Event::Timer(job, until_ns));
            }
        }
    }

    /// A job's work is over.
    fn worked(&mut self, job: usize) {
        self.processor.end_job(job);
        match self.tasks[job].after {
            After::Turn => self.turns.push_back(job),
            After::Tested => {
                self.find(job);
                self.turns.push_back(job);
            }
            After::Call(token) => {
                self.transfer(job, token);
                match self.tasks[job].placement.engine.overlaps() {
                    true => self.turns.push_back(job),
                    false => self.tasks[job].waits = Some((1, u64::MAX)),
                }
            }
        }
    }

    fn pass_to(&mut self, at_ns: u64) {
        self.processor.pass(at_ns.saturating_sub(self.now_ns));
        self.now_ns = self.now_ns.max(at_ns);
    }

    /// The next thing that happens; false where nothing will.
    fn step(&mut self) -> bool {
        let running = self.processor.running();
        let end_ns = running.map(|(_, left_ns)| self.now_ns + left_ns);
        match (self.events.next_ns(), end_ns) {
            (Some(at_ns), end_ns) if end_ns.is_none_or(|end_ns| at_ns <= end_ns) => {
                self.pass_to(at_ns);
                if let Some((_, (run, event))) = self.events.pop()
                    && run == self.run
                {
                    self.happen(event);
                }
            }
            (_, Some(end_ns)) => {
                self.pass_to(end_ns);
                match running {
                    Some((Running::Job(job), _)) => self.worked(job),
                    _ => match self.processor.end_interrupt() {
                        Some(Then::Completed(job, token)) => self.completed(job, token),
                        Some(Then::Call(job, token)) => self.transfer(job, token),
                        _ => {}
                    },
                }
            }
            _ => return false,
        }
        true
    }

    fn compute(&mut self, job: usize, arithmetic: Arithmetic, loops: u32) {
        let loop_ns = self.parameters.arithmetic.loop_ns(arithmetic);
        let kind = match arithmetic {
            Arithmetic::Register | Arithmetic::Scalar => Kind::Scalar,
            Arithmetic::Vector | Arithmetic::Stream | Arithmetic::Pages => Kind::Vector,
        };
        self.work(job, kind, loop_ns * f64::from(loops), After::Turn);
    }
}
