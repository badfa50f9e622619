//! The machine: jobs, their calls' threads, and what happens next.

use super::block::Block;
use super::cache::{Cache, Pages};
use super::call::{self, Caller, Step, Thread};
use super::files::{Extent, Layout};
use super::journal::Journal;
use super::{Bio, Kind, REQUEST_BYTES_MOST, Settings, ThreadId};
use crate::event::EventQueue;
use crate::replay::{Live, ReplayMachine};
use crate::subject::{Machine, Wake, broken};
use model::seam::{
    Counters, CpuCounters, DeviceCounters, DeviceRole, JobPlacement, Operation, PreparedTarget,
    Request, SubjectError, TimedCompletion, Turn,
};
use model::workload::{EngineKind, IoPriority};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// A job that waits: the timer's number tells a timer that is not wanted any more.
#[derive(Debug, Default)]
struct Job {
    caller: Option<Caller>,
    completions: VecDeque<TimedCompletion>,
    is_waiting: bool,
    timer: u64,
    is_over: bool,
}

#[derive(Debug, Clone, Copy)]
enum Event {
    /// A job waited for long enough.
    Timer(usize, u64),
}

/// A small Linux above one drive.
#[derive(Debug)]
pub struct LinuxMachine {
    now_ns: u64,
    events: EventQueue<Event>,
    /// Read when jobs begin: whoever has the other end changes the kernel between two runs.
    settings: Rc<RefCell<Settings>>,
    present: Settings,
    names: Vec<String>,
    extents: Vec<Vec<Extent>>,
    cache: Cache,
    journal: Journal,
    /// The drive as new, and how many times as long it takes for everything.
    drive: (ReplayMachine, f64),
    block: Block,
    threads: Vec<Option<Thread>>,
    flusher: Option<ThreadId>,
    next_flusher_ns: u64,
    jobs: Vec<Job>,
    wakes: VecDeque<Wake>,
    bios: u64,
    completed: u64,
}

impl LinuxMachine {
    /// A machine with files laid out on a drive that takes so many times as long as its model,
    /// whose settings can be changed between runs. Each run begins with a drive as new: else a
    /// flash drive would collect less and less over the runs, as its few written places become
    /// its history, and runs could not be compared.
    pub fn new(
        drive: (ReplayMachine, f64),
        layout: Layout,
        settings: Rc<RefCell<Settings>>,
    ) -> Self {
        let present = settings.borrow().clone();
        let (names, extents): (Vec<_>, Vec<_>) = layout.files.into_iter().unzip();
        Self {
            now_ns: 0,
            events: EventQueue::default(),
            block: Block::new(&present, as_new(&drive)),
            drive,
            cache: Cache { files: vec![Pages::default(); names.len()] },
            journal: Journal::new(layout.journal_bytes),
            next_flusher_ns: present.dirty_writeback_ns,
            settings,
            present,
            names,
            extents,
            threads: vec![],
            flusher: None,
            jobs: vec![],
            wakes: VecDeque::new(),
            bios: 0,
            completed: 0,
        }
    }

    fn begin(&mut self, steps: VecDeque<Step>) -> ThreadId {
        let thread = Some(Thread { steps, ..Thread::default() });
        let free = self.threads.iter().position(Option::is_none);
        match free {
            Some(place) => self.threads[place] = thread,
            None => self.threads.push(thread),
        }
        free.unwrap_or(self.threads.len() - 1)
    }

    /// A job calls.
    fn call(&mut self, job: usize, request: &Request) {
        let Some(caller) = self.jobs[job].caller else { return };
        let (offset, length) = (request.offset_bytes, u64::from(request.length_bytes));
        let pieces = Layout::pieces(&self.extents[caller.file], offset, length);
        let pieces: VecDeque<_> = pieces.into_iter().flat_map(in_requests).collect();
        if request.operation == Operation::Write {
            self.cache.files[caller.file].sync_transaction = self.journal.change(self.now_ns);
            if !caller.is_direct {
                self.cache.write(caller.file, offset, length, self.now_ns);
            }
        }
        match call::steps(caller, request, pieces) {
            Some(steps) => {
                self.begin(steps);
            }
            None => {
                self.answer(job, request.token, -i64::from(EINVAL));
                self.wakes.push_back(Wake { job, completion: None });
            }
        }
    }

    fn answer(&mut self, job: usize, token: u32, result: i64) {
        let found_ns = self.now_ns;
        let Some(of) = self.jobs.get_mut(job) else { return };
        of.completions.push_back(TimedCompletion { token: u64::from(token), result, found_ns });
        if of.is_waiting {
            self.deliver(job);
        }
    }

    /// A job that waits gets what there is.
    fn deliver(&mut self, job: usize) {
        let of = &mut self.jobs[job];
        of.is_waiting = false;
        of.timer += 1;
        let completion = of.completions.pop_front();
        self.wakes.push_back(Wake { job, completion });
    }

    fn wait(&mut self, job: usize, min: u32, until_ns: u64) {
        let of = &mut self.jobs[job];
        if min == 0 || !of.completions.is_empty() {
            self.deliver(job);
            return;
        }
        of.is_waiting = true;
        if until_ns != u64::MAX {
            self.events.schedule(until_ns.max(self.now_ns), Event::Timer(job, of.timer));
        }
    }

    /// Whatever can go on does, until nothing can.
    fn settle(&mut self) {
        loop {
            self.kernel_threads();
            let mut went_on = false;
            for id in 0..self.threads.len() {
                went_on |= self.run(id);
            }
            for thread in std::mem::take(&mut self.block.entered) {
                if let Some(Some(thread)) = self.threads.get_mut(thread) {
                    thread.is_in_line = false;
                }
            }
            let completed = std::mem::take(&mut self.block.completed);
            let are_any = !completed.is_empty();
            completed.iter().for_each(|bio| self.completed(bio));
            if !went_on && !are_any && self.block.entered.is_empty() {
                break;
            }
        }
    }

    fn completed(&mut self, bio: &Bio) {
        self.completed += 1;
        if let Some(Some(thread)) = self.threads.get_mut(bio.thread) {
            thread.outstanding -= 1;
        }
        if let Some(pages) = bio.file.and_then(|file| self.cache.files.get_mut(file)) {
            pages.in_writeback_bytes -= bio.length_bytes;
        }
    }

    /// The flusher and the journal begin what is due.
    fn kernel_threads(&mut self) {
        if self.journal.is_due(self.now_ns) {
            let steps = call::commit(&mut self.journal);
            self.begin(steps);
        }
        if self.flusher.is_none() {
            let is_much = self.cache.dirty_bytes() > self.background_bytes();
            let is_time = self.now_ns >= self.next_flusher_ns;
            let old_ns = self.now_ns.checked_sub(self.present.dirty_expire_ns);
            let until_ns = if is_much { Some(u64::MAX) } else { old_ns.filter(|_| is_time) };
            let file = until_ns.and_then(|until_ns| self.cache.dirty_since(until_ns));
            if let Some(file) = file {
                let steps = [Step::WriteBack(file, call::buffered(false, true))].into();
                self.flusher = Some(self.begin(steps));
            } else if is_time {
                self.next_flusher_ns = self.now_ns + self.present.dirty_writeback_ns;
            }
        }
    }

    /// More dirty bytes are written in the background.
    fn background_bytes(&self) -> u64 {
        self.present.dirty_background_bytes.min(self.present.dirty_bytes / 2)
    }

    /// A thread goes on as far as it can; returns whether it did anything.
    fn run(&mut self, id: ThreadId) -> bool {
        let mut went_on = false;
        while let Some(Some(thread)) = self.threads.get_mut(id) {
            if thread.is_in_line {
                break;
            }
            let Some(step) = thread.steps.pop_front() else {
                // Its requests know it until the last of them is completed.
                if thread.outstanding == 0 {
                    self.threads[id] = None;
                }
                if self.flusher == Some(id) {
                    self.flusher = None;
                    went_on = true;
                }
                break;
            };
            match self.step(id, step) {
                None => went_on = true,
                Some(again) => {
                    if let Some(Some(thread)) = self.threads.get_mut(id) {
                        thread.steps.push_front(again);
                    }
                    break;
                }
            }
        }
        went_on
    }

    /// Does a step, or gives it back to wait.
    fn step(&mut self, id: ThreadId, step: Step) -> Option<Step> {
        let thread = self.threads.get(id)?.as_ref()?;
        let waits = match &step {
            Step::WaitOwn => thread.outstanding > 0,
            Step::WaitFile(file) => self.cache.files[*file].in_writeback_bytes > 0,
            Step::WaitCommit(transaction) => self.journal.committed < *transaction,
            Step::Balance => self.is_throttled(),
            _ => false,
        };
        if waits {
            return Some(step);
        }
        match step {
            Step::Submit(kind, mut pieces, file) => {
                if let Some(piece) = pieces.pop_front() {
                    self.next_first(id, Step::Submit(kind, pieces, file));
                    self.submit(id, kind, piece, file);
                }
            }
            Step::WriteBack(file, kind) => {
                if let Some((offset, length)) = self.cache.take(file, REQUEST_BYTES_MOST) {
                    self.cache.files[file].in_writeback_bytes += length;
                    let pieces = Layout::pieces(&self.extents[file], offset, length);
                    self.next_first(id, Step::WriteBack(file, kind));
                    self.next_first(id, Step::Submit(kind, pieces.into(), Some(file)));
                }
            }
            Step::Commit(file) => {
                let transaction = self.cache.files[file].sync_transaction;
                if transaction > self.journal.committed {
                    self.journal.requested = self.journal.requested.max(transaction);
                    self.next_first(id, Step::WaitCommit(transaction));
                } else {
                    self.next_first(id, Step::WaitOwn);
                    self.next_first(id, call::flush());
                }
            }
            Step::CommitEnds => self.journal.end(),
            Step::Returns(job) => self.wakes.push_back(Wake { job, completion: None }),
            Step::Complete { job, token, result } => self.answer(job, token, result),
            Step::WaitOwn | Step::WaitFile(_) | Step::WaitCommit(_) | Step::Balance => {}
        }
        None
    }

    fn next_first(&mut self, id: ThreadId, step: Step) {
        if let Some(Some(thread)) = self.threads.get_mut(id) {
            thread.steps.push_front(step);
        }
    }

    /// A writer waits where there are more dirty pages than half of what lies between the limits.
    fn is_throttled(&mut self) -> bool {
        let free_run = self.background_bytes().saturating_add(self.present.dirty_bytes) / 2;
        let is_throttled = self.cache.dirty_bytes() + self.cache.in_writeback_bytes() > free_run;
        if is_throttled {
            self.block.dirty_wait(self.now_ns);
        }
        is_throttled
    }

    fn submit(&mut self, thread: ThreadId, kind: Kind, place: (u64, u64), file: Option<usize>) {
        if let Some(Some(of)) = self.threads.get_mut(thread) {
            of.outstanding += 1;
            of.is_in_line = true;
        }
        self.bios += 1;
        let (offset_bytes, length_bytes) = place;
        let bio = Bio { number: self.bios, thread, kind, offset_bytes, length_bytes, file };
        self.block.submit(bio, self.now_ns);
    }

    /// When something happens next.
    fn next_ns(&self) -> Option<u64> {
        let is_dirty = self.cache.dirty_bytes() > 0;
        let flusher_ns = (is_dirty && self.flusher.is_none()).then_some(self.next_flusher_ns);
        let of = [self.events.next_ns(), self.block.next_ns(), self.journal.next_ns(), flusher_ns];
        of.into_iter().flatten().min().map(|at_ns| at_ns.max(self.now_ns))
    }

    /// Lets the next thing happen; returns whether there was any.
    fn advance(&mut self) -> bool {
        let Some(next_ns) = self.next_ns() else { return false };
        self.now_ns = next_ns;
        self.block.advance(next_ns);
        while self.events.next_ns().is_some_and(|at_ns| at_ns <= next_ns) {
            let Some((_, Event::Timer(job, timer))) = self.events.pop() else { break };
            let is_wanted = |of: &Job| of.is_waiting && of.timer == timer;
            if self.jobs.get(job).is_some_and(is_wanted) {
                self.deliver(job);
            }
        }
        true
    }

    /// All that is on its way is completed: the kernel is changed at rest.
    fn come_to_rest(&mut self) {
        self.settle();
        while self.completed < self.bios && self.advance() {
            self.settle();
        }
    }

    fn file(&self, placement: &JobPlacement) -> Result<usize, SubjectError> {
        let unknown = || SubjectError::Unavailable(format!("the model has no {}", placement.file));
        self.names.iter().position(|name| *name == placement.file).ok_or_else(unknown)
    }
}

fn as_new((machine, slow): &(ReplayMachine, f64)) -> Live {
    Live::slowed(machine.fresh(), *slow)
}

/// Whether one thread hands all requests of a job over.
fn hands_over(engine: EngineKind) -> bool {
    let of = engine.name();
    of.starts_with("io_uring") || of == EngineKind::Libaio.name()
}

/// The kernel's EINVAL.
const EINVAL: i32 = 22;

/// A piece in requests that are not too large.
fn in_requests((offset_bytes, length_bytes): (u64, u64)) -> impl Iterator<Item = (u64, u64)> {
    (0..length_bytes.div_ceil(REQUEST_BYTES_MOST)).map(move |number| {
        let from = number * REQUEST_BYTES_MOST;
        (offset_bytes + from, (length_bytes - from).min(REQUEST_BYTES_MOST))
    })
}

impl Machine for LinuxMachine {
    fn prepare(&mut self) -> Result<PreparedTarget, SubjectError> {
        Ok(PreparedTarget { drives: 1, capacity_bytes: u64::MAX, ..PreparedTarget::default() })
    }

    fn start(&mut self, placements: &[JobPlacement]) -> Result<(), SubjectError> {
        self.come_to_rest();
        self.present = self.settings.borrow().clone();
        self.block.set(&self.present, as_new(&self.drive));
        self.journal.age_most_ns = self.present.commit_ns;
        self.next_flusher_ns = self.now_ns + self.present.dirty_writeback_ns;
        self.jobs.clear();
        for (job, placement) in placements.iter().enumerate() {
            let caller = Caller {
                job,
                file: self.file(placement)?,
                is_direct: placement.direct,
                is_idle: placement.priority == Some(IoPriority::Idle),
                hands_over: hands_over(placement.engine),
            };
            self.jobs.push(Job { caller: Some(caller), ..Job::default() });
            self.wakes.push_back(Wake { job, completion: None });
        }
        Ok(())
    }

    fn next(&mut self) -> Option<Wake> {
        loop {
            if let Some(wake) = self.wakes.pop_front() {
                return Some(wake);
            }
            if self.jobs.iter().all(|job| job.is_over) {
                return None;
            }
            self.settle();
            if self.wakes.is_empty() && !self.advance() {
                return None;
            }
        }
    }

    fn take(&mut self, job: usize, turn: Turn) {
        if job >= self.jobs.len() {
            return;
        }
        match turn {
            Turn::Submit(request) => self.call(job, &request),
            Turn::Wait { min, until_ns } => self.wait(job, min, until_ns),
            Turn::Compute { .. } | Turn::Mark => {
                self.wakes.push_front(Wake { job, completion: None });
            }
            Turn::Done => self.jobs[job].is_over = true,
        }
    }

    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn make_cold(&mut self, _: &[(usize, String)]) -> Result<(), SubjectError> {
        self.come_to_rest();
        Ok(())
    }

    fn counters(&mut self) -> Result<Counters, SubjectError> {
        if let Some(error) = self.block.failed() {
            return Err(SubjectError::Failed(error.to_string()));
        }
        if self.block.came != self.bios || self.completed > self.bios {
            let found = format!("{} of {}", self.block.came, self.bios);
            return Err(broken("requests in are requests out", found));
        }
        let traffic = self.block.traffic;
        let device = |role| DeviceCounters {
            name: "drive0".to_owned(),
            role,
            read_bytes: traffic.read_bytes,
            write_bytes: traffic.write_bytes,
            requests: traffic.requests,
            flushes: Some(traffic.flushes),
            in_flight_ns: traffic.in_flight_ns,
        };
        let devices = [DeviceRole::Tested, DeviceRole::Lowest].map(device).to_vec();
        let cpu = CpuCounters { cpus: 1, idle_ns: self.now_ns, ..CpuCounters::default() };
        Ok(Counters { at_ns: self.now_ns, devices, cpu })
    }
}
