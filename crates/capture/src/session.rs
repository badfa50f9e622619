//! A capture session: in the kernel or paused, for one trace. It begins with its options and a
//! place for its rows; whoever has it resumes it, lets it run and pauses it; its end says what was
//! lost, what it cost and whether the kernel's own counts agree.
//!
//! Non-goals: when it is over (`until`, `passes`), what the rows mean.

#[cfg(test)]
mod tests;
mod watch;

use super::cost::Cost;
use super::diskstats::DiskstatsCheck;
use super::ended::{events, notes};
use super::kept::Kept;
use super::limits::Limits;
use super::now_ns;
use super::presence::Presence;
use super::quick::{QuickSums, Quickly, Slow};
use super::stack_names::StackNames;
use super::witness::{NewThread, Witness};
use super::{Devices, Ended, Live, SoFar, resolve};
use host::scheduling::Ahead;
use model::record::requests::{BPF, METHOD, SLOWER_THAN};
use model::record::{Commands, Context, CpuTime, CpuUse, FileNumber, Request, Wait};
use rustix::time::ClockId;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use trace::capture::{
    CaptureError, CaptureOptions, Method, Quick, REPEATS_BELOW, Tracer, TracerError,
    default_ring_bytes,
};
use trace::event::{GoingOn, Repeated};
use trace::intake::{Epoch, FanOut, ForEach, Intake, Rows, RowsError};

/// How often the rings are emptied: seldom enough to cost little, often enough that they hold what
/// comes meanwhile.
pub(super) const POLL: Duration = Duration::from_millis(20);

/// How often what a kill is to leave is written.
const KEEP_EVERY: Duration = Duration::from_secs(1);

/// How a session captures.
#[derive(Debug, Clone)]
pub struct Options {
    /// By what.
    pub method: Method,
    /// The size of the kernel's rings, all together.
    pub ring_bytes: u32,
    /// The trace's time zero, in ns of CLOCK_MONOTONIC; none: when it is first in the kernel.
    pub zero_ns: Option<i64>,
    /// Whether calls that wait, processes and files are kept too.
    pub with_context: bool,
    /// How long what was over is of use: of a flight recorder; else for good.
    pub keep: Option<Duration>,
    /// Whether calls are captured at their system calls too, which is a part of it.
    pub with_syscalls: bool,
    /// Whether stacks are, which is a part of it.
    pub with_stacks: bool,
    /// Whether what the tracer costs is measured, and what it holds is compared with the kernel's
    /// counts; both cost, too.
    pub is_checked: bool,
    /// Another process whose requests are lbolt's own; 0: none.
    pub own_process: u32,
    /// Requests that take less are summed up and have no rows; none: all have.
    pub slower_than: Option<Duration>,
    /// Whether those that repeat can be summed up by whoever has the session ([`super::Repeats`]).
    pub repeats: bool,
    /// Whether those of different files have different sums.
    pub repeats_by_file: bool,
}

impl Default for Options {
    fn default() -> Self {
        let ring_bytes = default_ring_bytes();
        Self {
            method: Method::Auto,
            ring_bytes,
            zero_ns: None,
            with_context: false,
            keep: None,
            with_syscalls: false,
            with_stacks: false,
            is_checked: true,
            own_process: 0,
            slower_than: None,
            repeats: false,
            repeats_by_file: false,
        }
    }
}

impl Options {
    fn repeats_below(&self) -> Option<Duration> {
        self.slower_than.or(self.repeats.then_some(REPEATS_BELOW))
    }
}

/// A capture.
pub struct Session<'a> {
    options: Options,
    intake: Intake<'a>,
    /// While it is in the kernel.
    tracer: Option<Tracer>,
    /// Meanwhile: on a busy machine the rings would be full before this thread has its turn.
    ahead: Option<Ahead>,
    /// What it captures.
    numbers: Vec<u32>,
    /// All devices that it captured.
    devices: Devices,
    /// The trace's time zero, since it was first in the kernel.
    zero_ns: Option<i64>,
    cost: Cost,
    check: Rc<RefCell<DiskstatsCheck>>,
    presence: Presence,
    witness: Option<Rc<RefCell<Witness>>>,
    stack_names: StackNames,
    quick: Option<Quickly>,
    /// Where a kill is to leave what is known besides the rows.
    besides: Option<Kept>,
    /// Sums of those that repeat, which nobody has asked for yet.
    summed: Vec<(usize, Quick)>,
    /// Whether any came when they were last asked for.
    were_summed: bool,
    /// Whether anything has come since this was last asked.
    has_come: bool,
    live: Option<Arc<Live>>,
    /// When it was kept for the case of a kill.
    kept: Instant,
    /// Why the output took no more.
    refused: Option<RowsError>,
}

impl<'a> Session<'a> {
    /// A session that is not in the kernel yet. Its rows go there.
    pub fn new(options: Options, rows: impl Rows + 'a) -> Self {
        let check = Rc::new(RefCell::new(DiskstatsCheck::default()));
        let checked = options.is_checked.then(|| check.clone());
        let checked = ForEach::new(move |row| {
            checked.iter().for_each(|checked| checked.borrow_mut().add(row));
        });
        let witness = options.with_context.then(Rc::<RefCell<Witness>>::default);
        let seen = witness.clone();
        let seen = ForEach::new(move |row| {
            seen.iter().for_each(|witness| witness.borrow_mut().add(row));
        });
        let quick = options.slower_than.map(|slower| Rc::new(RefCell::new(QuickSums::new(slower))));
        let rows = Slow { rows, sums: quick.clone() };
        let quick = quick.map(Quickly::new);
        Self {
            options,
            intake: Intake::new(FanOut(rows, FanOut(checked, seen)), "capture"),
            tracer: None,
            ahead: None,
            numbers: Vec::new(),
            devices: Devices::default(),
            zero_ns: None,
            cost: Cost::begin(),
            check,
            presence: Presence::default(),
            witness,
            stack_names: StackNames::default(),
            quick,
            besides: None,
            summed: Vec::new(),
            were_summed: false,
            has_come: false,
            live: None,
            kept: Instant::now(),
            refused: None,
        }
    }

    /// Says how far it is.
    pub fn show(&mut self, live: Arc<Live>) {
        self.live = Some(live);
    }

    /// From now on, a kill leaves what there was a second before, where the rows go to a file that
    /// survives. What is known besides them is written so, again and again: what became known, and
    /// the sums of quick requests so far, if any.
    /// Errors: no thread can be had.
    pub fn survive(&mut self, write: impl FnMut(Context) + Send + 'static) -> std::io::Result<()> {
        self.intake.keep_done();
        // From now on it is noted what is new.
        self.intake.news();
        self.witness.iter().for_each(|witness| drop(witness.borrow_mut().news()));
        self.besides = Some(Kept::begin(write)?);
        Ok(())
    }

    /// Has that written which a kill is to leave besides the rows, by what captures, if anything.
    fn keep_besides(&mut self, by: Option<&str>) {
        // By perf no call and no wait is told, and none is to be missed.
        let Some(tells) = by.map(|by| by == BPF) else { return };
        if !tells {
            // What nobody will ask for is not remembered.
            self.witness.iter().for_each(|witness| witness.borrow_mut().tells_no_news());
        }
        let Some(mut besides) = self.besides.take_if(|_| tells) else { return };
        let (intake, witness) = (&mut self.intake, &self.witness);
        let news = || {
            let mut news = intake.news();
            let known = witness.iter().map(|witness| witness.borrow_mut().news());
            known.for_each(|known| news.extend(known));
            news
        };
        let quick = self.quick.as_ref();
        besides.look(news, || quick.map_or_else(Vec::new, |quick| quick.sums().so_far()));
        self.besides = Some(besides);
    }

    /// Requests that have begun and are not completed.
    pub fn outstanding(&self) -> u64 {
        self.intake.outstanding() as u64 + self.tracer.as_ref().map_or(0, Tracer::on_way)
    }

    /// Says that lbolt's own jobs run meanwhile, and how their threads' names are known.
    pub fn set_jobs(&mut self, is_job: fn(&str) -> bool) {
        self.intake.set_jobs(is_job);
    }

    /// Into the kernel: captures these devices, if it does not capture them already. Says what
    /// this machine keeps it from, the first time.
    pub fn resume(&mut self, devices: &Devices) -> Result<Limits, TracerError> {
        if self.tracer.is_some() && self.numbers == devices.numbers {
            return Ok(Limits::default());
        }
        self.pause();
        self.numbers.clone_from(&devices.numbers);
        self.aside(|session| {
            let Options { method, ring_bytes, .. } = session.options;
            let options = CaptureOptions {
                devices: devices.numbers.clone(),
                file_systems: devices.file_systems(),
                ring_bytes,
                calls: session.options.with_context,
                syscalls: session.options.with_syscalls,
                stacks: session.options.with_stacks,
                own_process: session.options.own_process,
                by_steps: devices.stack().iter().next().is_some(),
                repeats_below: session.options.repeats_below(),
                repeats_by_file: session.options.repeats_by_file,
            };
            // First: a device may be gone by the time the programs are loaded.
            session.presence.begin(devices);
            let (tracer, why_not_bpf) = Tracer::load(&options, method)?;
            let limits = Limits {
                why_not_bpf: why_not_bpf.as_ref().map(ToString::to_string),
                untold: tracer.untold(&options),
            };
            session.intake.note(METHOD, tracer.name().to_owned());
            session.note_limits(&limits);
            if let Some(slower) = session.options.slower_than {
                session.intake.note(SLOWER_THAN, slower.as_nanos().to_string());
            }
            let refused = why_not_bpf.as_ref().and_then(CaptureError::log);
            let refused = refused.or_else(|| tracer.refused_log());
            if let Some(log) = refused {
                session.intake.note("verifier.log", log.to_owned());
            }
            if let Some(why) = tracer.why_plain() {
                session.intake.note("method.plain", format!("the other build failed to {why}"));
            }
            let is_first = session.zero_ns.is_none();
            let zero_ns = session.zero_ns();
            if session.options.is_checked {
                session.check.borrow_mut().begin(devices, zero_ns);
            }
            session.quick.iter_mut().for_each(|quick| quick.begin(zero_ns));
            let stack = devices.stack().iter();
            stack.for_each(|(upper, lowers)| session.intake.lies_on(upper, lowers));
            session.devices.add(devices.clone());
            session.intake.begins_end(None);
            session.tracer = Some(tracer);
            session.ahead = Ahead::go();
            Ok(if is_first { limits } else { Limits::default() })
        })
    }

    /// Does something with quick requests, where these are summed up.
    fn quickly<T: Default>(&mut self, work: impl FnOnce(&mut Quickly, &mut Self) -> T) -> T {
        let Some(mut quick) = self.quick.take() else { return T::default() };
        let done = work(&mut quick, self);
        self.quick = Some(quick);
        done
    }

    fn note_limits(&mut self, limits: &Limits) {
        if let Some(why) = &limits.why_not_bpf {
            self.intake.note("method.why", format!("BPF failed to {why}"));
        }
        for (place, sentence) in limits.untold.iter().enumerate() {
            self.intake.note(&format!("untold.{place}"), sentence.clone());
        }
    }

    /// Times are CLOCK_MONOTONIC's, counted from zero; where that is, in ns.
    fn zero_ns(&mut self) -> i64 {
        if let Some(known) = self.zero_ns {
            return known;
        }
        let (wall_ns, monotonic_ns) = (now_ns(ClockId::Realtime), now_ns(ClockId::Monotonic));
        let zero_ns = self.options.zero_ns.unwrap_or(monotonic_ns);
        self.intake.set_clock("CLOCK_MONOTONIC", Epoch::At(wall_ns - monotonic_ns));
        self.intake.set_zero(zero_ns);
        *self.zero_ns.insert(zero_ns)
    }

    /// Does something whose CPU time is none of the capture's.
    pub(super) fn aside<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let before_ns = now_ns(ClockId::ThreadCPUTime);
        let done = work(self);
        let took_ns = now_ns(ClockId::ThreadCPUTime) - before_ns;
        self.cost.leave_out(took_ns);
        done
    }

    /// Empties the rings each time that `wait` comes back, until it says that it is over.
    pub fn run<E>(&mut self, mut wait: impl FnMut(&mut Self) -> Option<E>) -> E {
        loop {
            if let Some(end) = wait(self) {
                return end;
            }
            self.take();
        }
    }

    /// How long the rings may be left alone. A session that pauses is not to wake during a pass.
    pub(super) fn patience(&self) -> Duration {
        if self.tracer.is_some() { POLL } else { Duration::MAX }
    }

    /// Whether the output takes no more.
    pub fn is_refused(&self) -> bool {
        self.refused.is_some()
    }

    /// Events that were lost since it is in the kernel.
    pub fn lost(&self) -> u64 {
        let losses = self.tracer.as_ref().and_then(|tracer| tracer.losses().ok());
        losses.map_or(0, |losses| events(&losses))
    }

    /// Whether waits of threads are told.
    pub fn tells_waits(&self) -> bool {
        self.tracer.as_ref().is_some_and(Tracer::tells_waits)
    }

    /// Waits that have gone on for so long, as they are now.
    pub fn going_on(&self, least: Duration) -> Vec<Wait> {
        let least_ns = u64::try_from(least.as_nanos()).unwrap_or(u64::MAX);
        let zero_ns = self.zero_ns.unwrap_or_default();
        let going_on = self.tracer.as_ref().map(|tracer| tracer.going_on(least_ns));
        let as_wait = |wait: GoingOn| Wait {
            kind: wait.kind,
            pid: u64::from(wait.pid),
            command: wait.command,
            begin_ns: wait.begin_ns - zero_ns,
            end_ns: wait.now_ns - zero_ns,
            ..Wait::default()
        };
        going_on.into_iter().flatten().map(as_wait).collect()
    }

    /// Whether anything has come since this was last asked.
    pub fn has_come(&mut self) -> bool {
        std::mem::take(&mut self.has_come)
    }

    /// Empties the rings.
    fn take(&mut self) {
        self.drain();
        self.quickly(Quickly::look);
        if self.refused.is_none() && self.kept.elapsed() >= KEEP_EVERY {
            self.kept = Instant::now();
            self.refused = self.intake.keep().err();
            let by = self.tracer.as_ref().map(Tracer::name);
            self.keep_besides(by);
            if let Some(keep) = self.options.keep {
                self.keep_last(keep);
            }
            // A page of /proc for each program: as costly as many rows.
            self.live.iter().for_each(|live| live.lost.store(self.lost(), Ordering::Relaxed));
        }
        if let Some(live) = &self.live {
            let summed = self.quick.as_ref().map_or(0, |quick| quick.sums().count());
            live.requests.store(self.intake.seen() + summed, Ordering::Relaxed);
        }
        match &self.tracer {
            _ if self.refused.is_some() => self.pause(),
            Some(tracer) if self.options.is_checked => self.cost.poll(tracer),
            _ => {}
        }
    }

    /// Forgets calls and all else that was over so long ago.
    fn keep_last(&mut self, keep: Duration) {
        self.intake.keep_last(i64::try_from(keep.as_nanos()).unwrap_or(i64::MAX));
        self.witness.iter().for_each(|witness| witness.borrow_mut().keep_last(keep));
    }

    fn drain(&mut self) {
        let Some(tracer) = self.tracer.as_mut().filter(|_| self.refused.is_none()) else { return };
        let mut is_idle = !std::mem::take(&mut self.were_summed);
        match tracer.drain(&mut self.intake) {
            Ok(drained) => {
                self.intake.counts_mut().rejected += drained.malformed;
                is_idle &= drained.events == 0;
            }
            Err(refused) => self.refused = Some(refused),
        }
        self.has_come |= !is_idle;
        if let Some(witness) = &self.witness {
            let (threads, files) = (self.intake.new_threads(), self.intake.new_files());
            let mut witness = witness.borrow_mut();
            witness.name(self.intake.new_names());
            witness.look(threads, self.intake.commands(), files);
            let now_ns = now_ns(ClockId::Monotonic) - self.zero_ns.unwrap_or_default();
            witness.look_at_cpus(now_ns, is_idle);
            witness.pressure_watch.look(now_ns, false);
            if let Some(tracer) = &self.tracer {
                self.stack_names.look(self.intake.new_stacks(), |stack| tracer.frames(stack));
            }
        }
    }

    /// Out of the kernel, with what is in the rings, whatever the kernel says to that.
    pub fn pause(&mut self) {
        let Some(tracer) = &self.tracer else { return };
        self.cost.end(tracer);
        if let Some(second) = tracer.second_source() {
            self.intake.note("second_source", second);
        }
        let check = self.check.clone();
        check.borrow_mut().end(|| self.quickly(Quickly::read));
        self.presence.end(&self.devices);
        // Requests that begin while its programs are removed one by one are seen in part.
        self.intake.begins_end(Some(now_ns(ClockId::Monotonic)));
        let stopped = self.aside(|session| session.tracer.as_mut().map_or(Ok(()), Tracer::stop));
        self.drain();
        self.summed.extend(self.tracer.iter_mut().flat_map(Tracer::take_summed));
        self.quickly(Quickly::read);
        if let Some(tracer) = &self.tracer {
            self.stack_names.name_those_of_the_kernel(|stack| tracer.frames(stack));
        }
        if let Some(witness) = &self.witness {
            let mut witness = witness.borrow_mut();
            witness.cpu_watch.pause();
            witness.cpu_use_watch.pause();
            let zero_ns = self.zero_ns.unwrap_or_default();
            witness.pressure_watch.pause(now_ns(ClockId::Monotonic) - zero_ns);
        }
        if self.refused.is_none() {
            // What is in flight now is completed while nobody looks.
            self.refused = self.intake.interrupt().err();
        }
        if let Err(error) = stopped.and_then(|()| self.count_losses()) {
            self.intake.note("lost.unknown", format!("failed to {error}"));
        }
        self.tracer = None;
        self.ahead = None;
    }

    /// What the kernel could not keep, in all and by CPU.
    fn count_losses(&mut self) -> Result<(), TracerError> {
        let Some(tracer) = &self.tracer else { return Ok(()) };
        let losses = tracer.losses()?;
        for (name, lost) in notes(&losses) {
            self.intake.note(&name, lost);
        }
        let counts = self.intake.counts_mut();
        counts.lost += events(&losses);
        counts.queue_time_missed += losses.queue_times.iter().sum::<u64>();
        Ok(())
    }

    /// Lets rows go to their place that arrived before a moment; see [`Intake::let_go_before`].
    pub fn let_go_before(&mut self, time_ns: i64) {
        if self.refused.is_none() {
            self.refused = self.intake.let_go_before(time_ns).err();
        }
    }

    /// Some requests since this was last asked, each with what those like it are called.
    pub fn take_called(&mut self) -> Vec<(Repeated, Request)> {
        self.intake.take_called()
    }

    /// What the kernel is to sum up.
    pub fn tracer_mut(&mut self) -> Option<&mut Tracer> {
        self.tracer.as_mut()
    }

    /// Sums of those that repeat, since this was last asked.
    pub fn take_summed(&mut self) -> Vec<(usize, Quick)> {
        let now = self.tracer.as_mut().map_or_else(Vec::new, Tracer::take_summed);
        let mut all = std::mem::take(&mut self.summed);
        all.extend(now);
        self.were_summed |= !all.is_empty();
        all
    }

    /// The names of commands.
    pub fn commands(&self) -> &Commands {
        self.intake.commands()
    }

    /// Threads of which it is known since this was last asked what they are.
    pub fn new_threads(&mut self) -> Vec<NewThread> {
        let witness = self.witness.as_ref();
        witness.map_or_else(Vec::new, |witness| witness.borrow_mut().take_new())
    }

    /// Forgets threads: who has their numbers from now on is asked what he is.
    pub fn forget_threads(&mut self, pids: &[u32]) {
        self.intake.forget_threads(pids);
    }

    /// What the CPUs did since a moment.
    pub fn cpu_times_since(&self, since_ns: i64) -> Vec<CpuTime> {
        let witness = self.witness.as_ref();
        witness.map_or_else(Vec::new, |witness| witness.borrow().cpu_watch.since(since_ns))
    }

    /// Who used the CPUs, and who waited for one, since a moment.
    pub fn cpu_uses_since(&self, since_ns: i64) -> Vec<CpuUse> {
        let witness = self.witness.as_ref();
        witness.map_or_else(Vec::new, |witness| witness.borrow().cpu_use_watch.since(since_ns))
    }

    /// The name of a file, if it is known.
    pub fn file_name(&self, file: FileNumber) -> Option<String> {
        self.witness.as_ref()?.borrow().file_name(file)
    }

    /// Looks for the names of files among those that threads have open, for a small part of the
    /// time.
    pub fn look_for_files(&mut self, files: Vec<(FileNumber, u32)>) {
        if let Some(witness) = &self.witness {
            witness.borrow_mut().look_for(files);
        }
    }

    /// What is known now, while it goes on: all but the rows.
    pub fn so_far(&self) -> SoFar {
        let (provenance, durable) = self.intake.so_far();
        let witness = self.witness.as_ref().map(|witness| witness.borrow().copy());
        let (commands, devices) = (self.intake.commands().clone(), self.devices.clone());
        SoFar { provenance, commands, devices, witness, durable }
    }

    /// Out of the kernel for good.
    pub fn end(mut self) -> Ended {
        self.pause();
        if let (Some(witness), Some(quick)) = (&self.witness, &self.quick) {
            witness.borrow_mut().add_sums(quick.sums().by_file());
        }
        let durable = self.intake.take_durable();
        let (mut provenance, commands, refused) = self.intake.end(self.refused);
        let context = self.witness.map(|witness| witness.take().conclude(durable));
        let context = context.map(|context| Context { stacks: self.stack_names.take(), ..context });
        let mut context = context.unwrap_or_default();
        let mut requests = provenance.counts.requests;
        self.cost.leave_out(-self.besides.as_mut().map_or(0, Kept::end));
        if let Some(quick) = self.quick {
            let quick = quick.sums();
            provenance.counts.requests -= quick.told_count();
            requests = requests.max(provenance.counts.requests + quick.count());
            context.summed = quick.so_far();
        }
        self.cost.written();
        // A device may have been made meanwhile.
        self.devices.learn(resolve(&[]).unwrap_or_default());
        Ended {
            costs: self.cost.findings(requests),
            checks: [
                self.check.borrow().findings(&self.devices, provenance.counts.lost),
                self.presence.findings(&self.devices),
            ]
            .concat(),
            has_begun: self.zero_ns.is_some(),
            context,
            provenance,
            commands,
            devices: self.devices,
            refused,
        }
    }
}
