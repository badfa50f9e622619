//! A VAX under 4.2BSD: programs, system calls, the buffer cache, the fast file system, drivers and
//! `update`.
//!
//! One processor serves interrupts first and then processes: who wakes from a wait for the drives
//! goes before who computes, and the kernel is not taken from a process before its call ends or
//! sleeps. Where the time of a program went is accounted as 4.2BSD's clock does it: interrupts are
//! charged to the process that they hit.
//!
//! Non-goals: paging, other users, networks, raw devices.

mod call;
mod process;
mod settings;
mod subject;
#[cfg(test)]
mod tests;

pub use settings::{Costs, Settings};

use crate::buffer_cache::{BufferCache, State as Buffer, place};
use crate::controller::{Controller, Signal, Transfer, Wishes};
use crate::file_system::fast::{FastFileSystem, File};
use crate::machine::Options;
use crate::processor::{Account, Finished, Processor};
use call::Step;
use model::seam::{Completion, TimedCompletion};
use process::{Process, Sleep, State, Waiting};
use sim::event::EventQueue;
use sim::profile::{Profile, ProfileError};
use sim::random::Random;
use sim::subject::Wake;
use std::collections::{BTreeMap, VecDeque};

/// What happens by itself.
#[derive(Debug, Clone, Copy)]
enum Event {
    Controller(Signal),
    /// `update` wakes up.
    Update,
    /// A job has waited long enough.
    Timer(usize, u64),
}

/// What the processor is interrupted for.
#[derive(Debug, Clone, Copy)]
enum Cause {
    Controller(Signal),
    /// `update` writes a buffer.
    Update(Transfer),
}

pub(super) fn build(
    profile: &Profile,
    options: Options,
) -> Result<Box<dyn sim::subject::Machine>, ProfileError> {
    Ok(Box::new(BsdMachine::new(profile, options)?))
}

/// A VAX under 4.2BSD.
#[derive(Debug)]
pub struct BsdMachine {
    settings: Settings,
    block_bytes: u64,
    block_sectors: u64,
    addresses: u64,
    now_ns: u64,
    events: EventQueue<Event>,
    processor: Processor<Cause>,
    controller: Box<dyn Controller>,
    cache: BufferCache,
    systems: Vec<FastFileSystem>,
    names: BTreeMap<(usize, String), usize>,
    files: Vec<File>,
    processes: Vec<Process>,
    awake: VecDeque<usize>,
    ready: VecDeque<usize>,
    /// Which process had the processor last.
    last: Option<usize>,
    wakes: VecDeque<Wake>,
    in_flight: BTreeMap<u64, usize>,
    next_number: u64,
    random: Random,
    wishes: Wishes,
    /// Work of drivers so far, ns.
    driver_ns: f64,
    /// The number of the present run's first process.
    first: usize,
}

impl BsdMachine {
    /// A machine as its profile says.
    pub fn new(profile: &Profile, options: Options) -> Result<Self, ProfileError> {
        let settings = Settings::read(profile, options)?;
        let system = settings.file_system();
        let mut machine = Self {
            block_bytes: system.block_bytes(),
            block_sectors: system.block_sectors(),
            addresses: system.addresses_per_block(),
            now_ns: 0,
            events: EventQueue::default(),
            processor: Processor::default(),
            controller: settings.controller()?,
            cache: BufferCache::new(settings.buffers),
            systems: vec![system; settings.drives],
            names: BTreeMap::new(),
            files: Vec::new(),
            processes: Vec::new(),
            awake: VecDeque::new(),
            ready: VecDeque::new(),
            last: None,
            wakes: VecDeque::new(),
            in_flight: BTreeMap::new(),
            next_number: 0,
            random: Random::new(options.seed),
            wishes: Wishes::default(),
            driver_ns: 0.0,
            first: 0,
            settings,
        };
        // It has been up for a while: where in its interval update is nobody knows.
        let phase = machine.random.unit();
        let first_ns = (machine.settings.update_ns as f64 * phase) as u64;
        machine.events.schedule(first_ns, Event::Update);
        Ok(machine)
    }

    /// Puts a file on a drive as if it had been written, without taking time.
    pub fn lay_out(&mut self, drive: usize, name: &str, bytes: u64) {
        let Some(system) = self.systems.get_mut(drive) else { return };
        let mut file = File { group: system.group_for_file(), ..File::default() };
        while file.size_bytes < bytes {
            let logical = file.blocks.len() as u64;
            while file.missing_indirect(logical, self.addresses) > 0 {
                if file.add_indirect(system).is_none() {
                    return;
                }
            }
            if file.add_block(system).is_none() {
                return;
            }
            file.size_bytes = (file.size_bytes + self.block_bytes).min(bytes);
        }
        self.files.push(file);
        self.names.insert((drive, name.to_owned()), self.files.len() - 1);
    }

    /// Processor time that drivers have requested so far, ns, undisturbed.
    pub fn driver_ns(&self) -> f64 {
        self.driver_ns
    }

    /// Time that the processor was not idle so far, ns.
    pub fn busy_ns(&mut self) -> f64 {
        self.processor.settle(self.now_ns);
        let accounts = self.processor.accounts();
        accounts.user_ns + accounts.system_ns + accounts.interrupt_ns
    }

    fn sector(&self, block: u64) -> u64 {
        block * self.block_sectors
    }

    /// Gives a file's blocks back and forgets their buffers.
    fn give_back(&mut self, drive: usize, file: usize) {
        let file = std::mem::take(&mut self.files[file]);
        for block in file.blocks.iter().chain(&file.indirect) {
            self.systems[drive].free(*block);
            let key = crate::buffer_cache::key(drive, self.sector(*block));
            if let Some(slot) = self.cache.find(key)
                && matches!(self.cache.state(slot), Buffer::Clean | Buffer::Dirty)
            {
                self.cache.forget(slot);
            }
        }
    }

    /// A new file of a process, without blocks.
    fn create(&mut self, process: usize) {
        let (drive, name) = (self.processes[process].drive, self.processes[process].name.clone());
        let file = File { group: self.systems[drive].group_for_file(), ..File::default() };
        let number = match self.processes[process].file {
            Some(number) => {
                self.files[number] = file;
                number
            }
            None => {
                self.files.push(file);
                self.files.len() - 1
            }
        };
        self.processes[process].file = Some(number);
        self.names.insert((drive, name), number);
    }

    /// A buffer's transfer is to be made by a process, when it has paid for it.
    fn start(&mut self, process: usize, slot: usize, is_write: bool) {
        let transfer = self.transfer(slot, is_write);
        self.processes[process].pending.push_back(transfer);
    }

    fn transfer(&mut self, slot: usize, is_write: bool) -> Transfer {
        let (drive, block) = place(self.cache.key_of(slot));
        let number = self.next_number;
        self.next_number += 1;
        self.in_flight.insert(number, slot);
        self.cache.set_state(slot, if is_write { Buffer::Writing } else { Buffer::Reading });
        Transfer { number, drive, block, sectors: self.block_sectors as u32, is_write }
    }

    /// What the controller wished for.
    fn grant(&mut self) {
        let mut wishes = std::mem::take(&mut self.wishes);
        for (at_ns, signal) in wishes.later.drain(..) {
            self.events.schedule(at_ns.max(self.now_ns), Event::Controller(signal));
        }
        for (work_ns, signal) in wishes.interrupts.drain(..) {
            let work_ns = self.vary(work_ns);
            self.driver_ns += work_ns;
            self.processor.interrupt(self.now_ns, Cause::Controller(signal), work_ns);
        }
        for number in wishes.done.drain(..) {
            self.done(number);
        }
        self.processor.set_slowdown(self.now_ns, 1.0 + self.controller.slowdown());
        self.wishes = wishes;
    }

    /// A transfer is done: who slept on it wakes.
    fn done(&mut self, number: u64) {
        let Some(slot) = self.in_flight.remove(&number) else { return };
        self.cache.set_state(slot, Buffer::Clean);
        let (drive, _) = place(self.cache.key_of(slot));
        for (index, process) in self.processes.iter_mut().enumerate() {
            let State::Asleep(sleep) = process.state else { continue };
            let wakes = match sleep {
                Sleep::Slot(of) => of == slot,
                Sleep::AnyBuffer => true,
                Sleep::Drive(of) => of == drive,
            };
            if wakes {
                process.state = State::Ready;
                self.awake.push_back(index);
            }
        }
    }

    /// Work as it comes out this time.
    fn vary(&mut self, work_ns: f64) -> f64 {
        // Even, with the standard deviation that is requested.
        const WIDTH: f64 = 3.464_101_6;
        let by = self.settings.costs.spread * WIDTH * (self.random.unit() - 0.5);
        (work_ns * (1.0 + by)).max(0.0)
    }

    /// A process that has the processor goes on, until it works, sleeps or has its completion.
    fn go_on(&mut self, index: usize) {
        if self.last != Some(index) {
            self.last = Some(index);
            self.processes[index].quantum_from_ns = self.now_ns;
        }
        self.processes[index].state = State::Running;
        loop {
            if let Some(transfer) = self.processes[index].charged.take() {
                self.controller.submit(self.now_ns, transfer, &mut self.wishes);
                self.grant();
            }
            if let Some(transfer) = self.processes[index].pending.pop_front() {
                let work_ns = self.controller.submit_work_ns(transfer.drive);
                self.processes[index].charged = Some(transfer);
                self.driver_ns += work_ns;
                return self.run(index, Account::System, work_ns);
            }
            let Some(mut call) = self.processes[index].call.take() else {
                return self.leave(index);
            };
            let step = self.step(index, &mut call);
            self.processes[index].call = Some(call);
            match step {
                Step::On => {}
                Step::Work(work_ns, account) => return self.run(index, account, work_ns),
                Step::Sleep(_) if !self.processes[index].pending.is_empty() => {}
                Step::Sleep(sleep) => {
                    self.processes[index].state = State::Asleep(sleep);
                    return;
                }
                Step::Finished(result) => return self.complete(index, result),
            }
        }
    }

    fn run(&mut self, index: usize, account: Account, work_ns: f64) {
        let work_ns = self.vary(work_ns);
        self.processor.run(self.now_ns, index, account, work_ns);
    }

    /// A call has ended.
    fn complete(&mut self, index: usize, result: i64) {
        let process = &mut self.processes[index];
        let token = process.call.take().map_or(0, |call| call.request.token);
        process.completions.push_back(Completion { token, result });
        self.deliver(index);
        self.leave(index);
    }

    /// The process gives the processor up; it may get it again at once.
    fn leave(&mut self, index: usize) {
        let process = &mut self.processes[index];
        process.state = State::Idle;
        self.enter(index);
    }

    /// A process's next call, if it has one: it goes on until its quantum is over.
    fn enter(&mut self, index: usize) {
        let process = &mut self.processes[index];
        if process.state != State::Idle {
            return;
        }
        let Some(request) = process.requests.pop_front() else { return };
        process.call = Some(process::Call::new(request));
        process.state = State::Ready;
        let had_ns = self.now_ns - process.quantum_from_ns;
        if self.last == Some(index) && had_ns < self.settings.quantum_ns {
            self.ready.push_front(index);
        } else {
            process.quantum_from_ns = self.now_ns;
            self.ready.push_back(index);
        }
    }

    /// Tells a job that waits of a completion.
    fn deliver(&mut self, index: usize) {
        let process = &mut self.processes[index];
        if process.waiting != Waiting::TimedCompletion {
            return;
        }
        let Some(completion) = process.completions.pop_front() else { return };
        process.waiting = Waiting::No;
        process.timer += 1;
        let completion = TimedCompletion {
            token: u64::from(completion.token),
            result: completion.result,
            found_ns: self.now_ns,
        };
        self.wakes.push_back(Wake { job: index - self.first, completion: Some(completion) });
    }

    /// Gives the processor to a process, if it is free.
    fn dispatch(&mut self) {
        while !self.processor.has_process() && self.wakes.is_empty() {
            let next = self.awake.pop_front().or_else(|| self.ready.pop_front());
            let Some(index) = next else { return };
            self.go_on(index);
        }
    }

    /// Lets time go on to what happens next; nothing where nothing will.
    fn advance(&mut self) -> Option<()> {
        let (event_ns, end_ns) = (self.events.next_ns(), self.processor.next_ns());
        let is_end = match (event_ns, end_ns) {
            (Some(event_ns), Some(end_ns)) => end_ns < event_ns,
            (None, Some(_)) => true,
            (Some(_), None) => false,
            (None, None) => return None,
        };
        if is_end {
            self.now_ns = end_ns?;
            match self.processor.finish(self.now_ns)? {
                Finished::Interrupt(Cause::Controller(signal)) => {
                    self.controller.handled(self.now_ns, signal, &mut self.wishes);
                    self.grant();
                }
                Finished::Interrupt(Cause::Update(transfer)) => {
                    self.controller.submit(self.now_ns, transfer, &mut self.wishes);
                    self.grant();
                }
                Finished::Process(index) => self.go_on(index),
            }
            return Some(());
        }
        let (at_ns, event) = self.events.pop()?;
        self.now_ns = self.now_ns.max(at_ns);
        match event {
            Event::Controller(signal) => {
                self.wishes.is_processor_busy = !self.processor.is_idle();
                self.controller.signal(self.now_ns, signal, &mut self.wishes);
                self.grant();
            }
            Event::Update => self.update(),
            Event::Timer(index, timer) => self.timer(index, timer),
        }
        Some(())
    }

    fn timer(&mut self, index: usize, timer: u64) {
        let process = &mut self.processes[index];
        if process.timer == timer && process.waiting == Waiting::TimedCompletion {
            process.waiting = Waiting::No;
            self.wakes.push_back(Wake { job: index - self.first, completion: None });
        }
    }

    /// `update`: everything that is still to be written is put on the drives' queues.
    fn update(&mut self) {
        let dirty: Vec<usize> = self.cache.in_state(Buffer::Dirty).collect();
        for slot in dirty {
            let transfer = self.transfer(slot, true);
            let work_ns = self.controller.submit_work_ns(transfer.drive);
            self.driver_ns += work_ns;
            self.processor.interrupt(self.now_ns, Cause::Update(transfer), work_ns);
        }
        self.events.schedule(self.now_ns + self.settings.update_ns, Event::Update);
    }
}
