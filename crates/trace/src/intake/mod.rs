//! Where rows are made: events and whole requests go in, rows sorted by arrival come out, and all
//! that is peculiar is counted on the way.
//!
//! The same for capture and for every import, so that a count means the same everywhere.
//!
//! Non-goals: where events come from, files.

mod devices;
mod durable;
mod names;
mod on_disk;
mod reorder;
mod rows;
mod stacks;
mod steps;
mod threads;
mod watch;

pub use devices::{DEVICES_MOST, OTHER_DEVICES};
pub use durable::Durable;
pub use names::ToldName;
pub use on_disk::OutOfOrder;
pub use rows::{FanOut, ForEach, Refused, Rows, RowsError, one_by_one};
pub use steps::{Collected, Steps};
pub use threads::SeenThread;

use crate::event::{Event, Finished, Listed, Repeated, Step};
use crate::pair::Pairing;
use model::record::FileNumber;
use model::record::requests::{Counts, Provenance};
use model::record::{CommandId, Commands, Context, Flags, Request};
use reorder::{Ordered, ReorderBuffer};
use threads::Threads;
use watch::{Watch, WatchCalls, WatchChanges, WatchJournal, WatchWaits};

/// Rows that are kept to be sorted by arrival.
const ROWS_SPAN: usize = 32 * 1024;
/// Rows that go on together: as many as the nearest cache holds.
const ROWS_TOGETHER: usize = 64;
/// Listed events that are kept to be sorted by time.
const EVENTS_SPAN: usize = 32 * 1024;
/// Complaints that are kept as text; all are counted.
const COMPLAINTS: usize = 5;

/// The process that the kernel's own stacks are of.
pub const KERNEL: u32 = 0;

/// How the times of a source are counted, beyond being ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Epoch {
    /// From a moment that the source does not tell.
    #[default]
    Unknown,
    /// From 1970 (UTC).
    Unix,
    /// From this moment, in ns since 1970 (UTC).
    At(i64),
}

/// Rows leave sorted by arrival, and in the order in which they were first seen.
impl Ordered for Request {
    type Key = (i64, u64);
    #[inline]
    fn key(&self) -> Self::Key {
        (self.arrival_ns().unwrap_or(0), self.request_id)
    }
}

/// Events leave sorted by time, and a request's in the order of its life.
impl Ordered for Listed {
    type Key = (i64, u8, u16);
    #[inline]
    fn key(&self) -> Self::Key {
        (self.time_ns, self.kind.rank(), self.cpu.unwrap_or(u16::MAX))
    }
}

/// Makes rows of events and requests.
pub struct Intake<'a> {
    rows: Box<dyn Rows + 'a>,
    commands: Commands,
    pairing: Pairing,
    devices: devices::Devices,
    in_order: ReorderBuffer<Request>,
    /// Listed events: listings are in disorder.
    listed: ReorderBuffer<Listed>,
    /// Sorts all instead, if the disorder is more than these can put in order.
    on_disk: Option<Box<on_disk::OnDisk>>,
    refuses_disorder: bool,
    /// The time of the first event or of the first request to arrive, which all are counted from.
    zero_ns: Option<i64>,
    epoch: Epoch,
    /// Whether the source tells no completions at all.
    is_one_sided: bool,
    /// Whether an event was a completion, or an issue, which comes before one.
    tells_completions: bool,
    complaints: Vec<String>,
    provenance: Provenance,
    /// Tells by its command's name whether a thread of lbolt's is a job's.
    is_job: Option<fn(&str) -> bool>,
    /// Is shown each request as soon as it is done with, before it is put in order.
    watch: Option<Watch<'a>>,
    /// Is shown each call as soon as it has ended.
    watch_calls: Option<WatchCalls<'a>>,
    /// Is shown each wait as soon as it has ended.
    watch_waits: Option<WatchWaits<'a>>,
    watch_journal: Option<WatchJournal<'a>>,
    watch_changes: Option<WatchChanges<'a>>,
    /// Those that were done with since they were last kept and are not to be found in order any
    /// more, or not yet, where they are kept; their times from zero.
    done: Option<Vec<Request>>,
    /// What those like the next row are called, if it is told at once; and rows with such names.
    next_name: Option<Repeated>,
    called: Vec<(Repeated, Request)>,
    durable: Durable,
    names: names::Names,
    threads: Threads,
    stacks: stacks::Seen,
}

shows!(Intake<'_>: provenance);

impl<'a> Intake<'a> {
    /// An intake whose rows go there. `origin` is the provenance's.
    pub fn new(rows: impl Rows + 'a, origin: &str) -> Self {
        let provenance = Provenance {
            origin: origin.to_owned(),
            clock: "unknown".to_owned(),
            matching: "in one record".to_owned(),
            ..Provenance::default()
        };
        Self {
            rows: Box::new(rows),
            commands: Commands::default(),
            pairing: Pairing::default(),
            devices: devices::Devices::default(),
            in_order: ReorderBuffer::new(ROWS_SPAN),
            listed: ReorderBuffer::new(EVENTS_SPAN),
            on_disk: None,
            refuses_disorder: false,
            zero_ns: None,
            epoch: Epoch::Unknown,
            is_one_sided: false,
            tells_completions: false,
            complaints: Vec::new(),
            provenance,
            is_job: None,
            watch: None,
            watch_calls: None,
            watch_waits: None,
            watch_journal: None,
            watch_changes: None,
            done: None,
            next_name: None,
            called: Vec::new(),
            durable: Durable::default(),
            names: names::Names::default(),
            threads: Threads::default(),
            stacks: stacks::Seen::default(),
        }
    }

    /// Says how the source's times are counted, in words and by their epoch.
    pub fn set_clock(&mut self, clock: &str, epoch: Epoch) {
        clock.clone_into(&mut self.provenance.clock);
        self.epoch = epoch;
    }

    /// Counts times from here instead of from the first one.
    pub fn set_zero(&mut self, time_ns: i64) {
        self.zero_ns = Some(time_ns);
    }

    /// Says that a device lies directly on others: their requests may serve its own.
    pub fn lies_on(&mut self, upper: u32, lowers: &[u32]) {
        self.pairing.lies_on(upper, lowers);
    }

    /// Says that lbolt itself runs jobs meanwhile: what they ask for is theirs, and not its own.
    pub fn set_jobs(&mut self, is_job: fn(&str) -> bool) {
        self.is_job = Some(is_job);
    }

    /// From now on, [`Self::keep`] gives the output what is to be left if the process is killed.
    pub fn keep_done(&mut self) {
        self.pairing.watch();
        self.done.get_or_insert_default();
    }

    /// Keeps what was done with since the last time ([`Rows::keep`]).
    /// Errors: what the output refuses.
    pub fn keep(&mut self) -> Result<(), RowsError> {
        let Some(mut done) = self.done.take() else { return Ok(()) };
        let zero_ns = self.zero_ns.unwrap_or(0);
        done.extend(self.in_order.take_new().map(|row| row.counted_from(zero_ns)));
        let mut known = self.provenance.clone();
        self.say_what_the_rows_are(&mut known);
        let kept = self.rows.keep(&done, &self.commands, &known);
        done.clear();
        self.done = Some(done);
        kept
    }

    /// Calls, commits and waits that came since this was last asked ([`Durable::news`]).
    pub fn news(&mut self) -> Context {
        self.durable.news(self.zero_ns.unwrap_or(0))
    }

    fn say_what_the_rows_are(&self, provenance: &mut Provenance) {
        if let Some(matching) = self.pairing.matching() {
            matching.clone_into(&mut provenance.matching);
        }
        provenance.started_unix_ns = match (self.epoch, self.zero_ns) {
            (Epoch::Unix, Some(zero)) => Some(zero),
            (Epoch::At(moment), Some(zero)) => Some(moment.saturating_add(zero)),
            _ => None,
        };
    }

    /// Anything else that a reader of the file should know.
    pub fn note(&mut self, key: &str, text: String) {
        self.provenance.notes.insert(key.to_owned(), text);
    }

    /// The number of a command's name.
    pub fn command(&mut self, name: &[u8]) -> CommandId {
        self.commands.number(name)
    }

    /// All commands so far.
    pub fn commands(&self) -> &Commands {
        &self.commands
    }

    /// Counts so far; what is outstanding is in none of them.
    pub fn counts(&self) -> &Counts {
        &self.provenance.counts
    }

    /// To count what a source says of itself: lost events, missed times.
    #[inline]
    pub fn counts_mut(&mut self) -> &mut Counts {
        &mut self.provenance.counts
    }

    /// Lets rows go that arrived before a moment of the source's clock, whatever is still
    /// outstanding: one that arrived before and is done with later leaves out of order.
    /// Errors: what the output refuses.
    pub fn let_go_before(&mut self, time_ns: i64) -> Result<(), RowsError> {
        self.pairing.let_go_before(time_ns);
        self.collect()?;
        self.in_order.let_go_below(&(time_ns, 0));
        self.let_go()
    }

    /// What is known of the trace and its counts so far, and a copy of the calls and commits.
    pub fn so_far(&self) -> (Provenance, Durable) {
        let mut provenance = self.provenance.clone();
        self.say_what_the_rows_are(&mut provenance);
        let mut durable = self.durable.clone();
        durable.conclude(self.zero_ns.unwrap_or(0));
        (provenance, durable)
    }

    /// The calls and commits so far, whole or not, their times from zero; they are counted anew.
    pub fn take_durable(&mut self) -> Durable {
        let mut durable = std::mem::take(&mut self.durable);
        durable.conclude(self.zero_ns.unwrap_or(0));
        durable
    }

    /// Of calls and commits only those of the last time are kept from now on: drops the others, and
    /// gives the room of a burst back.
    pub fn keep_last(&mut self, keep_ns: i64) {
        self.durable.keep_last(keep_ns);
        self.threads.forget_many();
        self.pairing.give_room_back();
        self.in_order.give_room_back();
    }

    /// Threads that were seen for the first time since this was last asked.
    pub fn new_threads(&mut self) -> Vec<SeenThread> {
        self.threads.take_new()
    }

    /// Forgets threads: who has their numbers from now on is seen for the first time.
    pub fn forget_threads(&mut self, pids: &[u32]) {
        self.threads.forget(pids);
    }

    /// Stacks that were seen for the first time, each with a process that it is of ([`KERNEL`]).
    pub fn new_stacks(&mut self) -> Vec<(u32, u32)> {
        self.stacks.take_new()
    }

    /// Files that were changed or called for, each once, with a thread that has it open.
    pub fn new_files(&mut self) -> Vec<(FileNumber, u32)> {
        self.durable.take_new_files()
    }

    /// What files are called, each name that became known since this was last asked, in their
    /// order.
    pub fn new_names(&mut self) -> Vec<ToldName> {
        self.names.take_new(self.zero_ns.unwrap_or(0))
    }

    /// Whether no event and no request was taken in so far.
    pub fn is_empty(&self) -> bool {
        self.provenance.counts.events == 0
    }

    /// How many requests have been seen so far.
    pub fn seen(&self) -> u64 {
        self.pairing.seen()
    }

    /// How many requests are outstanding.
    pub fn outstanding(&self) -> usize {
        self.pairing.outstanding()
    }

    /// Counts a line or record that is not understood. `place` is a line's number or a record's.
    pub fn reject(&mut self, place: u64, why: &str) {
        self.provenance.counts.rejected += 1;
        if self.complaints.len() < COMPLAINTS {
            self.complaints.push(format!("{place}: {why}"));
        }
    }

    /// The first lines or records that were not understood, and why.
    pub fn complaints(&self) -> &[String] {
        &self.complaints
    }

    /// From this moment on (CLOCK_MONOTONIC) begins are not seen any more; see
    /// [`Pairing::begins_end`].
    pub fn begins_end(&mut self, time_ns: Option<i64>) {
        self.pairing.begins_end(time_ns);
    }

    /// Takes one event in.
    /// Errors: what the output refuses.
    #[inline]
    pub fn event(&mut self, event: &Event) -> Result<(), RowsError> {
        self.provenance.counts.events += 1;
        if let Some(on_disk) = &mut self.on_disk {
            return on_disk.event(event);
        }
        self.pair(event);
        self.collect()
    }

    /// Takes one event in that stands in a listing, which may be in disorder: events are sorted by
    /// time before they are paired.
    /// Errors: what the output refuses.
    #[inline]
    pub fn listed(&mut self, event: &Listed) -> Result<(), RowsError> {
        self.provenance.counts.events += 1;
        if let Some(on_disk) = &mut self.on_disk {
            return event.event().map_or(Ok(()), |event| on_disk.event(&event));
        }
        self.listed.push(event, false);
        if self.listed.is_any_free() { self.pair_sorted() } else { Ok(()) }
    }

    /// Takes all steps of one request in.
    /// Errors: what the output refuses.
    #[inline]
    pub fn finished(&mut self, finished: &Finished) -> Result<(), RowsError> {
        let row = self.zero_ns.and_then(|_| self.pairing.finished(finished));
        let name = self.next_name.take();
        let Some(row) = row else {
            return finished.each().try_for_each(|event| self.event(&event));
        };
        self.provenance.counts.events += finished.steps();
        self.called.extend(name.map(|name| (name, row)));
        if let Some(watch) = &mut self.watch {
            watch(&row, &self.commands);
        }
        self.put_in_order(&row)
    }

    /// Some requests since this was last asked, one in so many, each with what those like it are
    /// called.
    pub fn take_called(&mut self) -> Vec<(Repeated, Request)> {
        std::mem::take(&mut self.called)
    }

    fn pair_sorted(&mut self) -> Result<(), RowsError> {
        while let Some(listed) = self.listed.first(1).0.first() {
            let event = listed.event();
            self.listed.drop_first(1);
            event.into_iter().for_each(|event| self.pair(&event));
            self.collect()?;
        }
        self.check_order()
    }

    #[inline]
    fn pair(&mut self, event: &Event) {
        self.zero_ns.get_or_insert(event.time_ns);
        self.tells_completions |= matches!(event.step, Step::Complete { .. } | Step::Issue { .. });
        self.pairing.event(event, &mut self.provenance.counts);
        self.show_done();
    }

    #[inline]
    fn show_done(&mut self) {
        if self.watch.is_some() || self.done.is_some() {
            self.show_watched();
        }
    }

    fn show_watched(&mut self) {
        let watched = self.pairing.take_watched();
        if let Some(watch) = &mut self.watch {
            watched.iter().for_each(|row| watch(row, &self.commands));
        }
        if let Some(done) = &mut self.done {
            let zero_ns = self.zero_ns.unwrap_or(0);
            done.extend(watched.iter().map(|row| row.counted_from(zero_ns)));
        }
    }

    /// Takes a whole request in, and gives it its number. Its times are the source's. One that
    /// would end beyond all bytes is no request of any device, whatever format says so.
    /// Errors: what the output refuses.
    #[inline]
    pub fn request(&mut self, row: &mut Request) -> Result<(), RowsError> {
        self.provenance.counts.events += 1;
        let end = row.offset_bytes.unwrap_or(0).checked_add(u64::from(row.length_bytes));
        if end.is_none() {
            self.reject(self.provenance.counts.events, "an end beyond all bytes");
            return Ok(());
        }
        row.request_id = self.pairing.next_id();
        match &mut self.on_disk {
            Some(on_disk) => on_disk.row(row),
            None => self.put_in_order(row),
        }
    }

    /// Rows that the pairing has let go, on to the next stage.
    fn collect(&mut self) -> Result<(), RowsError> {
        while let Some(row) = self.pairing.first() {
            match &mut self.on_disk {
                Some(on_disk) => on_disk.row(row)?,
                // It was shown when it was done with.
                None => self.in_order.push(row, false),
            }
            self.pairing.drop_first();
            self.let_go()?;
        }
        Ok(())
    }

    #[inline]
    fn put_in_order(&mut self, row: &Request) -> Result<(), RowsError> {
        self.in_order.push(row, true);
        self.let_go()
    }

    #[inline]
    fn let_go(&mut self) -> Result<(), RowsError> {
        while self.in_order.is_any_free() {
            self.let_some_go().and_then(|()| self.check_order())?;
        }
        Ok(())
    }

    fn let_some_go(&mut self) -> Result<(), RowsError> {
        let (rows, old) = self.in_order.first(ROWS_TOGETHER);
        for row in rows.iter_mut() {
            // Of whole requests the first that was made, and not the first that is listed: that may
            // be the first completed.
            if self.zero_ns.is_none() {
                self.zero_ns = row.arrival_ns();
            }
            self.devices.bound(row);
            if let Some(zero_ns) = self.zero_ns.filter(|zero_ns| *zero_ns != 0) {
                row.count_from(zero_ns);
            }
            let name = || row.command.map_or("", |command| self.commands.name(command));
            if row.flags.contains(Flags::OWN) && self.is_job.is_some_and(|is_job| is_job(name())) {
                row.flags = Flags(row.flags.0 & !Flags::OWN.0) | Flags::JOB;
            }
        }
        let (taken, refused) = match self.rows.push_all(rows, &self.commands) {
            Ok(()) => (rows.len(), None),
            Err(Refused { taken, why }) => (taken, Some(why)),
        };
        if let Some(done) = self.done.as_mut().filter(|_| !self.rows.keeps_all()) {
            done.extend_from_slice(rows.get(old..taken).unwrap_or_default());
        }
        let counts = &mut self.provenance.counts;
        for row in rows.iter().take(taken) {
            counts.requests += 1;
            counts.own += u64::from(row.flags.contains(Flags::OWN));
            counts.unanswered += u64::from(row.completed_ns.is_none() && !self.is_one_sided);
        }
        // The one that was refused goes too.
        self.in_order.drop_first(taken + usize::from(refused.is_some()));
        refused.map_or(Ok(()), Err)
    }

    /// Says that the source does not tell completions at all: that a request has none is then no
    /// finding.
    pub fn set_one_sided(&mut self) {
        self.is_one_sided = true;
    }

    /// Says that the capture stops here and goes on later: what is in flight is done with, its
    /// completion not in the trace.
    /// Errors: what the output refuses.
    pub fn interrupt(&mut self) -> Result<(), RowsError> {
        self.pairing.finish(&mut self.provenance.counts);
        self.show_done();
        self.collect()?;
        self.rows.settle()
    }

    /// Lets everything go, what is outstanding as never completed, and says what the rows are.
    /// Errors: what the output refuses.
    pub fn finish(mut self) -> Result<(Provenance, Commands), RowsError> {
        self.let_all_go()?;
        Ok(self.conclude())
    }

    /// The same, where a refusal of the output is no reason not to say what the rows before it are.
    /// What is still held after a refusal is counted as unwritten.
    pub fn end(mut self, refused: Option<RowsError>) -> (Provenance, Commands, Option<RowsError>) {
        let refused = refused.or_else(|| self.let_all_go().err());
        if refused.is_some() {
            // The row that was refused itself is held by nobody any more.
            let held = 1 + self.in_order.len() + self.pairing.held() + self.listed.len();
            self.provenance.counts.unwritten += (held + self.held_on_disk()) as u64;
        }
        let (provenance, commands) = self.conclude();
        (provenance, commands, refused)
    }

    fn let_all_go(&mut self) -> Result<(), RowsError> {
        self.listed.flush();
        self.pair_sorted().and_then(|()| self.pair_from_disk())?;
        self.pairing.finish(&mut self.provenance.counts);
        self.collect()?;
        self.rows_from_disk()?;
        self.in_order.flush();
        self.let_go()?;
        self.rows.settle()
    }

    fn conclude(mut self) -> (Provenance, Commands) {
        let is_by_place = self.pairing.matching().is_some_and(|how| how.starts_with("by place"));
        let counts = &mut self.provenance.counts;
        if is_by_place && !self.tells_completions {
            // Arrivals alone, as they are exported and read again. In a hang, some are issued.
            counts.unanswered = 0;
        }
        counts.unsorted = self.in_order.late();
        counts.out_of_order += self.listed.late();
        let mut provenance = std::mem::take(&mut self.provenance);
        self.say_what_the_rows_are(&mut provenance);
        provenance.notes.extend(self.devices.note());
        for (number, complaint) in self.complaints.iter().enumerate() {
            let key = format!("rejected.{}", number + 1);
            provenance.notes.insert(key, complaint.clone());
        }
        (provenance, self.commands)
    }
}

#[cfg(test)]
mod tests;
