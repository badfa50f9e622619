//! A capture that goes on: counts what ends, finds who lost time to whom, holds the last seconds in
//! memory, and sends it all.
//!
//! Two streams come out of one session. Requests as they end are counted at once, and tell whether
//! what is waited for has happened. Requests in the order of their arrival come somewhat later
//! ([`Options::delay`]): the verdict needs this order, and the last seconds are kept in it.
//!
//! Non-goals: files, terminals, sockets.

use super::disks::Disks;
use super::lives::{Changes, Lives};
use super::taken::Taker;
use super::{Message, Order, Second};
use ::capture::{self, Alarm, Devices, LastSeconds, NewThread, Repeats, Session, SoFar};
use ::capture::{Sums, now_ns, resolve};
use ::verdict::watched::{ClockSet, Losses, Names, Span, Spans, Tally};
use cli::CaptureMethod;
use messages::fault::of_records;
use model::record::{Commands, Counted, FileNumber, Request, Rollup, Summed, operations};
use rustix::time::ClockId;
use serde::{Deserialize, Serialize};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};
use trace::capture::TracerError;
use trace::intake::{Rows, RowsError};

/// How often what has come is sent.
const TICK: Duration = Duration::from_secs(1);
/// How long the rings are left alone at the most, where little comes.
const IDLE_POLL: Duration = Duration::from_millis(100);
const BUSY_POLL: Duration = Duration::from_millis(20);
/// The kernel's buffers for each CPU, and at the least: what comes in [`IDLE_POLL`] at the rate of
/// the quickest drives. They are memory that is never swapped.
const RING_BYTES_OF_CPU: u32 = 2 << 20;
const RING_BYTES_LEAST: u32 = 4 << 20;
/// More requests than these between two emptyings are much.
const MUCH: u64 = 200;
/// Changes of files that wait until it is known who made them; of more nothing is known.
const CHANGES_MOST: usize = 100_000;
/// Who has waited for so long and still waits is told of before the wait has ended.
const HANGS: Duration = Duration::from_secs(1);
/// How often it is asked what the kernel could not keep, and which devices there are.
const SELDOM: u32 = 10;
/// With more messages than these on their way, because nobody takes them, what comes is added up.
const WAITING_MOST: usize = 16;

/// The size of the kernel's buffers on this machine.
pub fn ring_bytes() -> u32 {
    let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u32);
    RING_BYTES_LEAST.max(RING_BYTES_OF_CPU.saturating_mul(cpus))
}

/// How it is captured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Options {
    /// What was named; nothing: all devices.
    pub devices: Vec<String>,
    /// By what.
    pub method: CaptureMethod,
    /// The size of the kernel's rings, all together.
    pub ring_bytes: u32,
    /// Whether calls are captured at their system calls too.
    pub with_syscalls: bool,
    /// What is summed up together.
    pub span: Duration,
    /// How much later requests come in the order of their arrival.
    pub delay: Duration,
    /// Whether bytes are counted by file.
    pub with_files: bool,
    /// How long the last seconds are kept in memory, and in how much of it.
    pub keep: Duration,
    /// Memory for what is kept of them.
    pub keep_bytes: u64,
    /// How long an incident goes on.
    pub after: Duration,
    /// The process of the part that keeps, whose requests are lbolt's own.
    pub own_process: u32,
    /// Whether the kernel's own counts are enough for a user who may not capture requests.
    pub counts_are_enough: bool,
}

impl Options {
    /// The time before and after what happened.
    fn kept(&self) -> Duration {
        self.keep.saturating_add(self.after)
    }

    fn last_seconds(&self) -> LastSeconds {
        LastSeconds::new(self.kept(), self.keep_bytes)
    }
}

/// What a capture tells.
pub(crate) enum Told {
    /// As it is.
    Message(Message),
    /// What is to be made into an [`super::Incident`], which takes a while.
    Incident(Box<LastMoments>),
}

/// Where it goes.
pub(crate) trait Output {
    /// Sends it, when what was sent before has gone; whether anybody is there to take it.
    fn send(&self, told: Told) -> bool;
    /// How much waits to go.
    fn waiting(&self) -> usize;
}

/// The seconds before something happened, and those after it.
pub(crate) struct LastMoments {
    /// What happened.
    pub(crate) why: String,
    pub(crate) last: LastSeconds,
    /// The requests of that time that have no row.
    pub(crate) summed: Vec<Summed>,
    /// What else is known.
    pub(crate) so_far: SoFar,
}

/// Where requests go in the order of their arrival.
struct InOrder<'a> {
    losses: &'a RefCell<Losses>,
    spans: &'a RefCell<Spans>,
    last: &'a RefCell<LastSeconds>,
}

impl Rows for InOrder<'_> {
    fn push(&mut self, row: &Request, commands: &Commands) -> Result<(), RowsError> {
        self.losses.borrow_mut().request(row, commands, &self.spans.borrow());
        self.last.borrow_mut().push(row, commands)
    }
}

/// What is shared by the streams.
pub(super) struct Shared {
    pub(super) spans: RefCell<Spans>,
    pub(super) tally: RefCell<Tally>,
    pub(super) losses: RefCell<Losses>,
    pub(super) last: RefCell<LastSeconds>,
    /// Which threads have changed files' data, by number and name, since it was last asked what
    /// threads are.
    changes: RefCell<Vec<(FileNumber, u32, String)>>,
    /// When the last request arrived of those that were shown, in order or not yet.
    arrived_ns: Cell<i64>,
}

fn of_session(options: &Options) -> capture::Options {
    capture::Options {
        method: options.method.into(),
        ring_bytes: options.ring_bytes,
        zero_ns: Some(0),
        with_context: true,
        keep: Some(options.kept()),
        with_syscalls: options.with_syscalls,
        with_stacks: false,
        is_checked: false,
        own_process: options.own_process,
        slower_than: None,
        repeats: true,
        repeats_by_file: options.with_files,
    }
}

/// Captures until it is told to stop, or nobody takes what it sends.
/// Errors: a kernel that refuses the capture.
pub(crate) fn run(
    options: &Options,
    alarm: &Alarm,
    orders: &Receiver<Order>,
    output: impl Output,
) -> anyhow::Result<()> {
    let width_ns = i64::try_from(options.span.as_nanos()).unwrap_or(i64::MAX);
    let shared = Shared {
        spans: RefCell::new(Spans::new(width_ns)),
        tally: RefCell::new(Tally::new(options.with_files)),
        losses: RefCell::new(Losses::default()),
        last: RefCell::new(options.last_seconds()),
        changes: RefCell::default(),
        arrived_ns: Cell::new(i64::MIN),
    };
    let Shared { spans, tally, losses, last, changes, arrived_ns } = &shared;
    let mut session = Session::new(of_session(options), InOrder { losses, spans, last });
    session.watch(|row, commands| {
        alarm.see(row);
        arrived_ns.set(arrived_ns.get().max(row.arrival_ns().unwrap_or(i64::MIN)));
        spans.borrow_mut().reach(arrived_ns.get());
        tally.borrow_mut().request(row, commands, &spans.borrow());
    });
    session.watch_calls(|call| {
        alarm.see_call(call);
        spans.borrow_mut().reach(call.begin_ns);
        tally.borrow_mut().call(call, &spans.borrow());
        losses.borrow_mut().call(call);
    });
    session.watch_waits(|wait| {
        alarm.see_wait(wait);
        spans.borrow_mut().reach(wait.begin_ns);
        losses.borrow_mut().wait(wait);
    });
    session.watch_journal(|one| losses.borrow_mut().journal_use(one));
    session.watch_changes(|file, pid, name| {
        let mut changes = changes.borrow_mut();
        if changes.len() < CHANGES_MOST {
            changes.push((file, pid, name.to_owned()));
        }
    });
    tally.borrow_mut().leave_out(&[std::process::id(), options.own_process]);
    let devices = resolve(&options.devices)?;
    spans.borrow_mut().advance(now_ns(ClockId::Monotonic), now_ns(ClockId::Realtime));
    let limits = begin(&mut session, &devices, options.counts_are_enough)?;
    if session.tells_waits() {
        losses.borrow_mut().tells_waits();
    }
    // What is seen from now on counts, and so does the time: both begin before what takes long.
    let mut watcher = Watcher::new(options, &shared, alarm, devices, output);
    trace::bpf::forget_types();
    host::memory::give_back();
    watcher.learn(&mut session);
    watcher.send(Message::Begun { limits });
    let mut seen = 0;
    session.run(|session| {
        // Just after the rings were emptied, so that the device's own counts have no more in them.
        watcher.look_at_sums(session);
        watcher.look(session);
        let requests = shared.tally.borrow().requests();
        let is_busy = requests - seen > MUCH || watcher.repeats.are_coming();
        let pause = if is_busy { BUSY_POLL } else { IDLE_POLL };
        seen = requests;
        match orders.recv_timeout(pause) {
            Ok(Order::Write(why)) => watcher.requested = Some(why),
            Ok(Order::Stop) | Err(RecvTimeoutError::Disconnected) => watcher.is_over = true,
            Err(RecvTimeoutError::Timeout) => {}
        }
        watcher.is_over |= session.is_refused();
        watcher.is_over.then_some(())
    });
    // Out of the kernel, nobody tells it any more.
    let lost = session.lost();
    session.pause();
    watcher.look_at_sums(&mut session);
    session.let_go_before(i64::MAX);
    watcher.lost_at_end = lost;
    watcher.tick(&mut session);
    Ok(())
}

/// Into the kernel, as far as this user may; what is missing, as sentences.
fn begin(
    session: &mut Session<'_>,
    devices: &Devices,
    counts_are_enough: bool,
) -> anyhow::Result<Vec<String>> {
    match session.resume(devices) {
        Ok(limits) => Ok(limits.sentences().collect()),
        Err(refused @ TracerError::NotPermitted) if counts_are_enough => Ok(vec![format!(
            "only the kernel's counts of each device are shown: failed to {refused}"
        )]),
        Err(refused) => Err(of_records(refused)),
    }
}

/// What looks at the session again and again.
struct Watcher<'a, O> {
    options: &'a Options,
    shared: &'a Shared,
    alarm: &'a Alarm,
    devices: Devices,
    output: O,
    disks: Disks,
    ticked: Instant,
    ticks: u32,
    /// Until when it was told of what was watched, and of CPUs.
    watched_ns: i64,
    cpus_ns: i64,
    cpu_uses_ns: i64,
    lost: u64,
    lost_at_end: u64,
    lives: Lives,
    repeats: Repeats,
    /// The sums of the last seconds.
    sums: Sums,
    /// What happened, and when.
    happened: Option<(String, Instant)>,
    /// Why the last seconds are wanted.
    requested: Option<String>,
    is_over: bool,
}

impl<'a, O: Output> Watcher<'a, O> {
    fn new(
        options: &'a Options,
        shared: &'a Shared,
        alarm: &'a Alarm,
        devices: Devices,
        output: O,
    ) -> Self {
        let now_ns = now_ns(ClockId::Monotonic);
        let mut disks = Disks::default();
        if let Some(span) = shared.spans.borrow().current() {
            disks.read(&devices, span);
        }
        Self {
            options,
            shared,
            alarm,
            devices,
            output,
            disks,
            ticked: Instant::now(),
            ticks: 0,
            watched_ns: now_ns,
            cpus_ns: now_ns,
            cpu_uses_ns: now_ns,
            lost: 0,
            lost_at_end: 0,
            lives: Lives::default(),
            repeats: Repeats::default(),
            sums: Sums::new(usize::MAX),
            happened: None,
            requested: None,
            is_over: false,
        }
    }

    fn send(&mut self, message: Message) {
        self.is_over |= !self.output.send(Told::Message(message));
    }

    fn look(&mut self, session: &mut Session<'_>) {
        if self.ticked.elapsed() >= TICK {
            self.ticked = Instant::now();
            self.ticks = self.ticks.wrapping_add(1);
            self.tick(session);
        }
        if self.happened.is_none() {
            let why = self.alarm.at(session);
            self.happened = why.map(|why| (why, Instant::now()));
        }
        let is_due = |(_, since): &mut (String, Instant)| since.elapsed() >= self.options.after;
        let why = self.happened.take_if(is_due).map(|(why, _)| why);
        if let Some(why) = why.or_else(|| self.requested.take()) {
            self.write(session, why);
        }
    }

    /// What the kernel has summed up, by who asked for it.
    fn look_at_sums(&mut self, session: &mut Session<'_>) {
        self.learn(session);
        let into = &mut Taker { shared: self.shared, alarm: self.alarm, sums: &mut self.sums };
        match self.is_over {
            true => self.repeats.read(session, into),
            false => self.repeats.look(session, into),
        }
        let kept_ns = i64::try_from(self.options.kept().as_nanos()).unwrap_or(i64::MAX);
        self.sums.forget_before(now_ns(ClockId::Monotonic).saturating_sub(kept_ns));
    }

    /// These threads are gone, or others have their numbers.
    fn forget_sums(&mut self, gone: &[u32], session: &mut Session<'_>) {
        let into = &mut Taker { shared: self.shared, alarm: self.alarm, sums: &mut self.sums };
        self.repeats.forget(gone, session, into);
    }

    /// The last seconds, with what is still held back; then they are gathered anew.
    fn write(&mut self, session: &mut Session<'_>, why: String) {
        let into = &mut Taker { shared: self.shared, alarm: self.alarm, sums: &mut self.sums };
        self.repeats.read(session, into);
        session.let_go_before(i64::MAX);
        let last = self.shared.last.replace(self.options.last_seconds());
        let summed = self.sums.take();
        let moments = LastMoments { why, last, summed, so_far: session.so_far() };
        self.is_over |= !self.output.send(Told::Incident(Box::new(moments)));
        self.alarm.rearm();
    }

    /// Sends what has come since the last time.
    fn tick(&mut self, session: &mut Session<'_>) {
        let monotonic_ns = now_ns(ClockId::Monotonic);
        let set = self.shared.spans.borrow_mut().advance(monotonic_ns, now_ns(ClockId::Realtime));
        self.learn(session);
        self.forget(session);
        self.look_at_work(monotonic_ns, session);
        let shown_ns = match self.is_over {
            true => monotonic_ns,
            false => monotonic_ns - self.options.delay.as_nanos() as i64,
        };
        session.let_go_before(shown_ns);
        // An incident has the time before the last arrival, and what is older is of no use: whether
        // later requests are in order yet, and whether any has come since.
        self.shared.last.borrow_mut().reach(self.shared.arrived_ns.get().max(shown_ns));
        if self.output.waiting() > WAITING_MOST && !self.is_over {
            return;
        }
        let files = self.shared.tally.borrow().files();
        let is_nameless = |(file, _): &(_, _)| session.file_name(*file).is_none();
        let nameless = files.into_iter().filter(is_nameless).collect();
        session.look_for_files(nameless);
        let shared = self.shared;
        let spans = shared.spans.borrow();
        let Some(span) = spans.current().copied() else { return };
        let devices = self.devices.clone();
        let names =
            Names { device: &|number| devices.name(number), file: &|file| session.file_name(file) };
        let mut rows = shared.tally.borrow_mut().take(&spans, &names);
        let mut losses = shared.losses.borrow_mut();
        rows.extend(losses.take(shown_ns, (&spans, session.commands()), &names));
        drop(losses);
        if shared.tally.borrow().has_all_roles() {
            self.repeats.leave_all(session);
            shared.tally.borrow_mut().forget_roles(shared.losses.borrow().processes());
        }
        rows.extend(self.disks.read(&self.devices, &span));
        rows.extend(of_watch(&spans, self.watched_ns, monotonic_ns));
        self.watched_ns = monotonic_ns;
        rows.extend(set.map(|set| of_clock(set, &span)));
        rows.extend(self.of_cpus(session, &spans));
        if self.ticks.is_multiple_of(SELDOM) || self.is_over {
            rows.extend(self.of_losses(session, &span));
            self.refresh();
        }
        drop(spans);
        let going_on = session.going_on(HANGS);
        self.send(Message::Second(Second { rows, span, going_on }));
    }

    /// What became known of threads.
    fn learn(&mut self, session: &mut Session<'_>) {
        let new = session.new_threads();
        // What was summed up was another's of that number.
        let pids: Vec<u32> = new.iter().map(|new| new.process.pid as u32).collect();
        self.forget_sums(&pids, session);
        for NewThread { process, started } in new {
            self.shared.tally.borrow_mut().learn(&process);
            self.shared.losses.borrow_mut().learn(&process);
            self.lives.know(process.pid as u32, started);
        }
        for (file, pid, name) in self.shared.changes.take() {
            self.shared.tally.borrow_mut().changed(file, pid, &name);
            self.shared.losses.borrow_mut().changed(file, pid, &name);
        }
    }

    /// What is written in bulk beside commits is of other roles from now on.
    fn look_at_work(&mut self, now_ns: i64, session: &mut Session<'_>) {
        let path = |file: FileNumber| session.file_name(file);
        let files = self.shared.tally.borrow_mut().new_work(now_ns, &path);
        if let Some(files) = files {
            self.repeats.leave_all(session);
            self.shared.losses.borrow_mut().learn_work(&files);
        }
    }

    /// Who is gone.
    fn forget(&mut self, session: &mut Session<'_>) {
        // Whose number it is now matters to what comes of it.
        if !session.has_come() {
            return;
        }
        let Changes { others, gone } = self.lives.look(Instant::now(), model::process::started);
        self.forget_sums(&gone, session);
        self.shared.losses.borrow_mut().forget(&gone);
        self.shared.tally.borrow_mut().forget(&gone);
        session.forget_threads(&others);
        session.forget_threads(&gone);
    }

    fn of_cpus(&mut self, session: &Session<'_>, spans: &Spans) -> Vec<Rollup> {
        for one in session.cpu_uses_since(self.cpu_uses_ns) {
            self.cpu_uses_ns = self.cpu_uses_ns.max(one.until_ns);
            self.shared.losses.borrow_mut().cpu_use(&one);
        }
        let mut sums: BTreeMap<(i64, &str), Rollup> = BTreeMap::new();
        for interval in session.cpu_times_since(self.cpus_ns) {
            self.cpus_ns = self.cpus_ns.max(interval.until_ns);
            self.shared.losses.borrow_mut().cpu_time(&interval);
            let Some(span) = spans.of(interval.from_ns) else { continue };
            let all_ns = (interval.until_ns - interval.from_ns).max(0).unsigned_abs();
            for (operation, sum_ns) in [
                (operations::CPUS, all_ns * interval.cpus),
                (operations::CPUS_IDLE, interval.idle_ns),
                (operations::CPUS_STOLEN, interval.stolen_ns),
            ] {
                let sum = sums.entry((span.from_unix_ns, operation));
                let sum = sum.or_insert_with(|| row(operation, span));
                sum.sum_ns = sum.sum_ns.saturating_add(sum_ns);
            }
        }
        sums.into_values().collect()
    }

    /// Events that the kernel could not keep.
    fn of_losses(&mut self, session: &Session<'_>, span: &Span) -> Option<Rollup> {
        let lost = session.lost().max(self.lost_at_end);
        let count = lost.saturating_sub(self.lost);
        self.lost = self.lost.max(lost);
        (count > 0).then(|| Rollup { count, ..row(operations::EVENTS_LOST, span) })
    }

    /// Devices come and go.
    fn refresh(&mut self) {
        if let Ok(all) = resolve(&[]) {
            self.devices.rename(all);
        }
    }
}

fn row(operation: &str, span: &Span) -> Rollup {
    super::row(Counted::Watch, None, operation, span)
}

/// For how long was watched, by span.
fn of_watch(spans: &Spans, from_ns: i64, until_ns: i64) -> Vec<Rollup> {
    let mut rows = Vec::new();
    let mut from_ns = from_ns;
    while let Some(span) = spans.of(from_ns).filter(|_| from_ns < until_ns) {
        let next_ns = if span.until_ns > from_ns { span.until_ns.min(until_ns) } else { until_ns };
        let sum_ns = (next_ns - from_ns).unsigned_abs();
        rows.push(Rollup { sum_ns, ..row(operations::WATCHED, span) });
        from_ns = next_ns;
    }
    rows
}

fn of_clock(set: ClockSet, span: &Span) -> Rollup {
    let operation = match set.by_ns > 0 {
        true => operations::CLOCK_FORWARD,
        false => operations::CLOCK_BACK,
    };
    Rollup { count: 1, sum_ns: set.by_ns.unsigned_abs(), ..row(operation, span) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_watched_is_told_by_span() {
        let s = 1_000_000_000;
        let mut spans = Spans::new(60 * s);
        spans.advance(10 * s, 1000 * s);
        spans.advance(160 * s, 1150 * s);
        let rows = of_watch(&spans, 10 * s, 155 * s);
        let shown: Vec<_> =
            rows.iter().map(|row| (row.from_unix_ns / s, row.sum_ns / s as u64)).collect();
        assert_eq!(shown, [(1000, 20), (1020, 60), (1080, 60), (1140, 5)]);
        assert!(of_watch(&spans, 10 * s, 10 * s).is_empty());
    }
}
