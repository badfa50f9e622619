//! Who waits, for whom, on which file: one pass over a trace's requests in the order of their
//! arrival, with the calls that waited, and a verdict at its end.
//!
//! The 1986 paper asked which requests make others wait. There readers waited; here whoever does:
//! calls that make a file durable, reads, direct writes, and flushes where no calls are known.
//!
//! A trace is looked at by minutes, each by itself: what is found of a minute depends on what was
//! in flight at its begin and on nothing before. Minutes are added up as integers. So a trace's
//! verdict is the same to the last bit however it is cut, and takes memory for a minute.
//!
//! - [`role`]: what a process is for, by its title.
//! - `families`: jobs of many short commands.
//! - `instance`: which of several instances of one program a process is of.
//! - `actors`: whose request it is.
//! - `guessed`: owners of files that only their threads' names tell.
//! - `bulk`: bulk writes of a program beside its commits.
//! - `intervals`: calls and waits, by their begins.
//! - `places`: on which device a wait is.
//! - [`Known`]: what is known besides the requests.
//! - [`Minutes`]: requests into minutes, a ledger each.
//! - `disk`: how the time of a wait divides among those whose requests are in flight.
//! - `book`: slices of time with the waits that began in them.
//! - `asked`: what a thread has in flight, which it may wait for.
//! - `scene`: a device's time, how far from calm, and whose each part of a wait is.
//! - `weigh`: the waits of a minute divided among their causes.
//! - `on_files`: on which files the waits were of which time was lost.
//! - `sums`: what is kept of a minute, and how minutes are added up.
//! - `calm`: what waits take in calm.
//! - `blame`: what waits took beyond calm, and because of whom.
//! - `holders`: whose locks are waited for; `held`: the roles of these, and of who fills journals.
//! - `sleeps`: who slept while another one waited.
//! - `stalled`: for how long anybody waited for a request, as the kernel counts pressure.
//! - `units`: the same by cgroup.
//! - `cpus`: what the CPUs did meanwhile; `run_queue`: who waited for one, and who used them.
//! - `throttle`: what a cgroup's limit held back.
//! - `evicted`: pages that are read again because others filled memory.
//! - `calls`: what a call waits for, part by part.
//! - `stacks`: by which functions requests were queued.
//! - [`Verdict`]: all of it, of one minute or of many; `findings`: what is published of it.
//! - `so_far`: what is known while requests still come.
//! - [`Bound`]: what is kept of rows of many names, at the most.
//!
//! A thread waits once: for a request from the end of those on that it made before. So its waits
//! sum to its time at the most, and what a thread with many in flight loses is what its rate does.
//! Which end before is known of what is in flight alone, in the order of arrival.
//!
//! Where devices lie on others, a wait counts once, at the top of the stack; what is in flight is
//! looked at in the layer where most of the top's time goes ([`crate::layers`]), of whose devices
//! (the legs of a mirror) the slowest alone. What is in flight in a layer beneath is of the role
//! that asked for it at the top.
//!
//! Of a selected time ([`Selection`]) the waits that begin in it are told of; what is in flight
//! around it is known as load.
//!
//! Non-goals: sentences (`report::verdict`); names of files ([`crate::names`]).
#![forbid(unsafe_code)]

mod actors;
mod asked;
mod begins;
mod blame;
mod book;
mod bound;
mod bulk;
mod calls;
mod calm;
mod cpus;
pub mod density;
mod disk;
mod ends;
mod evicted;
mod families;
mod files;
mod findings;
pub mod fleet;
mod guessed;
mod held;
pub mod history;
mod holders;
mod instance;
mod intervals;
pub mod joined;
mod known;
pub mod layers;
mod merge;
mod minutes;
pub mod names;
mod on_files;
pub mod opened;
pub mod parts;
mod places;
mod recent;
pub mod requests;
pub mod response;
mod role;
mod run_queue;
mod scene;
pub mod selection;
mod sleeps;
mod so_far;
mod stacks;
mod stalled;
pub mod stretches;
mod sums;
mod throttle;
mod units;
mod waits;
pub mod watched;
mod weigh;
mod whole;

pub use actors::{Actors, RoleId};
pub(crate) use blame::united;
pub use bound::{Bound, NAMES_MOST};
pub use bulk::Work;
pub use ends::Ends;
pub use findings::{Told, findings};
pub use known::{Homes, Known};
pub use minutes::Minutes;
pub use role::role;
pub(crate) use so_far::{LostSoFar, SoFar, WaitsSoFar};
pub(crate) use sums::Storm;
pub use whole::Verdict;

use crate::requests::sequences::Open;
use asked::Asked;
use book::Book;
use calls::Steps;
use cpus::Cpus;
use disk::{Act, Disk, Holding, PartNumber, THROTTLED, Waited, Watch as _};
use evicted::{Again, Evicted};
use files::Files;
use hashbrown::HashMap;
use model::record::{
    Call, Commands, FileKey, Flags, JournalCommit, JournalUse, Op, Request, WAIT_LEAST_NS, Wait,
    WaitKind,
};
use places::MetadataRead;
use run_queue::{CpuUses, RunQueue};
use scene::Scene;
use sleeps::Sleeps;
use stacks::Ways;
use stalled::{Stalled, Unplaced};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;
use sums::{Share, Sums, Victim};
use throttle::Throttle;
use waits::{Class, Kind};
use watched::Many;
use weigh::weigh;

/// A span on its way to a verdict: the waits that begin in it, with all that is in flight while
/// they go on.
#[derive(Debug)]
pub(crate) struct Ledger {
    known: Arc<Known>,
    time_ns: Range<i64>,
    actors: Actors,
    devices: BTreeMap<u32, Device>,
    /// Whose requests those beneath are made for, while they are in flight.
    askers: Open<RoleId>,
    /// On which device a file system lies, as far as it is not known.
    homes: HashMap<u32, u32>,
    /// Calls that begin in the span or are under way at its begin, in the order of their begins;
    /// and how many have begun.
    calls: Vec<Call>,
    begun: usize,
    /// Waits by themselves, in the same order; and how many have begun.
    waits: Vec<Wait>,
    waits_begun: usize,
    /// Requests that are known as sums, and have not begun.
    many: VecDeque<Many>,
    /// Who changed metadata, in the order of its begins.
    journal_use: Vec<JournalUse>,
    has_calls: bool,
    /// Until when a thread is in a call, whose parts its requests are.
    in_call: HashMap<u32, (i64, usize)>,
    /// What a thread has in flight.
    asked: HashMap<u32, Asked>,
    metadata_read: MetadataRead,
    /// Until when a thread waits for requests that it has made.
    waiting: HashMap<u32, i64>,
    sleeps: Sleeps,
    /// On which device a role had its last request, call or wait.
    used: HashMap<RoleId, u32>,
    used_last: Option<(RoleId, u32)>,
    /// What of the time some thread waited for a request.
    stalled: Stalled,
    /// The same by cgroup.
    stalled_units: Vec<Stalled>,
    unplaced: BTreeMap<RoleId, Unplaced>,
    /// How long a role's threads waited for locks that a role held, and how often.
    held: BTreeMap<(Victim, RoleId), Share>,
    steps: Steps,
    throttle: Throttle,
    files: Files,
    ways: Ways,
    evicted: Evicted,
    cpus: Cpus,
    cpu_uses: CpuUses,
    /// Requests that arrived in the span.
    requests: u64,
    last_ns: i64,
    /// Until when waits go on that began in the span: what comes meanwhile is their load.
    loaded_until_ns: i64,
}

#[derive(Debug)]
struct Device {
    disk: Disk<Class>,
    book: Book,
}

impl Ledger {
    /// Of a span; what is selected of it is told of.
    pub(crate) fn new(known: &Arc<Known>, time_ns: Range<i64>) -> Self {
        let time_ns = known.selected(&time_ns);
        let (calls, waits) = (known.calls.of(&time_ns), known.waits.of(&time_ns));
        let cpu_uses = known.cpu_uses.of(&time_ns);
        let begun = calls.iter().filter(|call| time_ns.contains(&call.begin_ns));
        let of_calls = begun.filter_map(|call| call.end_ns).max();
        let begun = waits.iter().filter(|wait| time_ns.contains(&wait.begin_ns));
        let of_waits = begun.map(|wait| wait.end_ns).max();
        let loaded_until_ns = of_calls.max(of_waits).unwrap_or(i64::MIN);
        // Each field by itself: there are minutes by the hundred thousand, and what a default
        // would be made for is known here.
        Self {
            known: Arc::clone(known),
            actors: known.actors.clone(),
            devices: BTreeMap::new(),
            askers: Open::default(),
            homes: HashMap::new(),
            calls,
            begun: 0,
            waits,
            waits_begun: 0,
            many: known.many.of(&time_ns).into(),
            journal_use: known.journal_use.of(&time_ns),
            has_calls: known.has_calls,
            in_call: HashMap::new(),
            asked: HashMap::new(),
            metadata_read: None,
            waiting: HashMap::new(),
            sleeps: Sleeps::default(),
            used: HashMap::new(),
            used_last: None,
            stalled: Stalled::default(),
            stalled_units: known.units.stalled(),
            unplaced: BTreeMap::new(),
            held: BTreeMap::new(),
            steps: Steps::default(),
            throttle: Throttle::default(),
            files: Files::default(),
            ways: Ways::default(),
            cpus: known.cpus.of(&cpu_uses.reach(&time_ns)),
            cpu_uses,
            evicted: Evicted::default(),
            time_ns,
            requests: 0,
            last_ns: i64::MIN,
            loaded_until_ns,
        }
    }

    /// Whether requests matter that arrive from a moment on and are completed until another one,
    /// when all that arrived before them has been added.
    pub(crate) fn concerns(&self, arrived_ns: i64, completed_ns: i64) -> bool {
        completed_ns >= self.time_ns.start && !self.is_over(arrived_ns)
    }

    /// Whether nothing matters that arrives from a moment on.
    pub(crate) fn is_over(&self, arrived_ns: i64) -> bool {
        arrived_ns >= self.time_ns.end && arrived_ns >= self.loaded_until_ns
    }

    /// Takes the next request, in the order of arrival.
    pub(crate) fn add(&mut self, row: &Request, commands: &Commands) {
        let (Some(begin_ns), Some(end_ns)) = (row.arrival_ns(), row.completed_ns) else { return };
        if let Some(FileKey { number, .. }) = row.file.filter(|_| row.above_id.is_none()) {
            self.homes.entry(number.file_system).or_insert(row.device);
        }
        self.begin_waits(begin_ns);
        if !self.concerns(begin_ns, end_ns) {
            return;
        }
        let is_selected = self.time_ns.contains(&begin_ns);
        self.requests += u64::from(is_selected);
        let call = self.call_of(row.pid, begin_ns).filter(|_| row.above_id.is_none());
        if self.known.of_files {
            self.steps.add(row, call);
        }
        // The whole sequence has a row of its own; its parts would count its time again.
        if row.parent_id.is_some() || row.is_orphan() {
            return;
        }
        let role = self.role_of(row, commands, (begin_ns, end_ns));
        if is_selected {
            if row.above_id.is_none() && self.known.of_files {
                self.files.add(row, &self.known.file_names);
                self.ways.add(row, role, (begin_ns, end_ns));
            }
            self.last_ns = self.last_ns.max(end_ns);
            self.loaded_until_ns = self.loaded_until_ns.max(end_ns);
        }
        let asked = Kind::of_request(row, self.has_calls).filter(|_| role != actors::JOURNAL);
        let kind = asked.filter(|_| is_selected && call.is_none());
        let is_ahead = self.known.has_waits && is_long_read_ahead(row, (begin_ns, end_ns));
        // Also of what is not told of itself: it may end later than the next one begins.
        let earlier_ns = match asked.is_some() && !is_ahead {
            true => self.wait_once(row, (begin_ns, end_ns)),
            false => i64::MIN,
        };
        if self.known.has_waits && row.above_id.is_none() {
            self.remember(row, role, end_ns, is_ahead);
        }
        let waits = kind.filter(|_| !is_ahead);
        let waited_ns = (begin_ns.max(earlier_ns).min(end_ns), end_ns);
        if is_selected && row.above_id.is_none() {
            let reads = waits.filter(|kind| *kind == Kind::Read);
            let waited = reads.map(|_| (waited_ns.0, Again::one(waited_ns)));
            let whose = (role, self.actors.is_kernel(role));
            self.evicted.add(row, whose, (begin_ns, row.length_bytes.into()), waited);
        }
        if let Some((pid, kind)) = row.pid.zip(waits) {
            let class = Class { device: row.device, role, kind, size: self.actors.size_of(row) };
            self.note(pid, waited_ns, class);
        }
        self.bring(row, role, waits.map(|kind| (kind, earlier_ns)), (begin_ns, end_ns));
        if let Some(kind) = kind.filter(|_| is_ahead) {
            // Who does not sleep for it does not wait for it; who does, is told of by that.
            let class = Class { device: row.device, role, kind, size: self.actors.size_of(row) };
            self.wait_for((begin_ns, begin_ns), class, None);
        }
    }

    /// A thread waits once: until when it waits for requests that it made before this one, for
    /// which it waits from then on. A kernel's thread sends them on for many.
    fn wait_once(&mut self, row: &Request, (begin_ns, end_ns): (i64, i64)) -> i64 {
        let pid = row.pid.filter(|_| !row.flags.contains(Flags::THROTTLED));
        let Some(pid) = pid else { return i64::MIN };
        let until_ns = self.waiting.entry(pid).or_insert(i64::MIN);
        let later_ns = end_ns.max(*until_ns);
        let earlier_ns = std::mem::replace(until_ns, later_ns);
        let thread = || self.actors.of_known_thread(pid);
        let is_kernels = || thread().is_some_and(|role| self.actors.is_kernel(role));
        if earlier_ns > begin_ns && is_kernels() { i64::MIN } else { earlier_ns }
    }

    /// Brings a request to its device, and who waits for it, from a moment on at the earliest, to
    /// where that time goes by.
    fn bring(
        &mut self,
        row: &Request,
        role: RoleId,
        waits: Option<(Kind, i64)>,
        (begin_ns, end_ns): (i64, i64),
    ) {
        let size = self.actors.size_of(row);
        let held = self.throttle.take(row, role, (begin_ns, end_ns));
        let role = held.map_or(role, |(whose, _)| whose);
        if waits.is_some() {
            let since_ns = held.map_or(begin_ns, |(_, since_ns)| since_ns);
            self.stall(row.pid, (since_ns, end_ns));
        }
        let class = waits.map(|(kind, _)| Class { device: row.device, role, kind, size });
        let earlier_ns = waits.map_or(i64::MIN, |(_, earlier_ns)| earlier_ns);
        let from_ns = begin_ns.max(earlier_ns).min(end_ns);
        if let Some(class) = class {
            let since_ns = held.map_or(from_ns, |(_, since_ns)| since_ns);
            self.note_request(row, class, (since_ns, end_ns), held.is_some());
        }
        let act = Act { role: self.actors.doer_of(row, role), op: row.op };
        let queue = self.known.queues.get(&row.device).copied();
        if held.is_none() && row.flags.contains(Flags::THROTTLED) {
            // Written back for a call: until it came, its role waited for the limit.
            let is_call = |kind| matches!(kind, Kind::Call(_));
            let Device { disk, book } = self.device(queue.unwrap_or(row.device));
            disk.comes_late(begin_ns, |of| of.role == role && is_call(of.kind), book);
        }
        let Device { disk, book } = self.device(row.device);
        match (held, class, queue) {
            // It began before it was queued, and the time until then is the limit's.
            (Some((_, since_ns)), Some(class), _) => {
                let own = (disk.number(act) as PartNumber, (end_ns - begin_ns) as f64);
                let limit = (THROTTLED as PartNumber, (begin_ns - since_ns) as f64);
                let parts = vec![limit, own];
                let times = (1, (end_ns - since_ns).max(0).unsigned_abs());
                let begin_ns = since_ns;
                book.waited(&mut Waited { class, begin_ns, times, is_sum: false, parts });
                disk.request((begin_ns, end_ns), act, row.length_bytes, None, book);
            }
            // It is waited for from the end of earlier ones on.
            (_, Some(class), queue) if from_ns > begin_ns => {
                disk.request((begin_ns, end_ns), act, row.length_bytes, None, book);
                let Device { disk, .. } = self.device(queue.unwrap_or(row.device));
                disk.wait_later((from_ns, end_ns), class);
            }
            // Where its time goes by in a layer beneath, it waits behind what is in flight there.
            (_, Some(class), Some(queue)) if queue != row.device => {
                disk.request((begin_ns, end_ns), act, row.length_bytes, None, book);
                let Device { disk, book } = self.device(queue);
                disk.wait((begin_ns, end_ns), class, None, book);
            }
            _ => disk.request((begin_ns, end_ns), act, row.length_bytes, class, book),
        }
    }

    #[inline]
    fn device(&mut self, number: u32) -> &mut Device {
        let new = || Device { disk: Disk::new(), book: Book::new(self.time_ns.clone()) };
        self.devices.entry(number).or_insert_with(new)
    }

    /// Whose request it is: one beneath another is that one's, whichever thread sent it on.
    fn role_of(&mut self, row: &Request, commands: &Commands, span: (i64, i64)) -> RoleId {
        let above = row.above_id.and_then(|id| self.askers.get(id)).copied();
        let role = above.unwrap_or_else(|| self.actors.of_request(row, commands));
        if self.known.stack.is_upper(row.device) {
            self.askers.begin(row.request_id, span.0, span.1, role);
        }
        role
    }

    /// The call that a thread is in: at its end it is not, as a trace says that begins then.
    fn call_of(&self, pid: Option<u32>, time_ns: i64) -> Option<usize> {
        let (until_ns, call) = pid.and_then(|pid| self.in_call.get(&pid))?;
        (time_ns < *until_ns).then_some(*call)
    }

    /// Where a file system lies; where no request has told it, there is nothing that calls could
    /// wait behind.
    fn home(&self, file_system: u64) -> Option<u32> {
        let file_system = file_system as u32;
        self.known.homes.get(file_system).or_else(|| self.homes.get(&file_system).copied())
    }

    /// A role has something to do with a device; most often with the last one, again.
    #[inline]
    fn use_device(&mut self, role: RoleId, device: u32) {
        if self.used_last != Some((role, device)) {
            self.used.insert(role, device);
            self.used_last = Some((role, device));
        }
    }

    /// A thread waits for storage, and others may sleep until it has.
    fn note(&mut self, pid: u32, span: (i64, i64), class: Class) {
        if self.known.wakers.as_ref().is_none_or(|wakers| wakers.contains(&pid)) {
            self.sleeps.note(pid, span, class);
        }
    }

    /// A thread waits for a request, as the kernel counts it.
    fn stall(&mut self, pid: Option<u32>, (begin_ns, end_ns): (i64, i64)) {
        self.stalled.add(begin_ns, end_ns);
        let unit = pid.and_then(|pid| self.known.units.of(pid));
        if let Some(stalled) = unit.and_then(|unit| self.stalled_units.get_mut(unit)) {
            stalled.add(begin_ns, end_ns);
        }
    }

    /// Sleeps that have ended until a moment: each is so many waits as its waker had meanwhile.
    fn end_sleeps(&mut self, until_ns: i64) {
        let ended = self.sleeps.end(until_ns).into_iter();
        for (sleep, pieces) in ended.filter(|(sleep, _)| sleep.kind == WaitKind::Thread) {
            let role = self.actors.of_thread(sleep.pid as u32, || sleep.command.clone());
            for piece in pieces {
                if !self.time_ns.contains(&piece.root_ns) {
                    continue;
                }
                let device = piece.class.device;
                let class = self.actors.sleep_for(piece.class.role, (device, role));
                let queue = self.known.queues.get(&device).copied().unwrap_or(device);
                // It stands beside the waker's own, which it is a part of.
                let begin_ns = piece.root_ns;
                let times = (1, (piece.end_ns - piece.begin_ns).max(0).unsigned_abs());
                let parts = Vec::new();
                let mut wait = Waited { class, begin_ns, times, is_sum: false, parts };
                self.device(queue).book.waited(&mut wait);
            }
        }
    }

    /// Somebody waits, without a request of its own, for what is in flight at a device, or beneath
    /// it.
    fn wait_for(&mut self, (begin_ns, end_ns): (i64, i64), class: Class, holding: Option<Holding>) {
        self.use_device(class.role, class.device);
        if !self.time_ns.contains(&begin_ns) {
            return;
        }
        let queue = self.known.queues.get(&class.device).copied().unwrap_or(class.device);
        let Device { disk, book } = self.device(queue);
        disk.wait((begin_ns, end_ns), class, holding, book);
        self.last_ns = self.last_ns.max(end_ns);
    }

    /// What was noted so far, weighed.
    fn sums(&mut self) -> Sums {
        let mut sums = Sums { held: self.held.clone(), ..Sums::default() };
        let uses = self.cpu_uses.by_role(&mut self.actors);
        for (device, Device { disk, book }) in &mut self.devices {
            disk.tell_busy(book);
            book.settle();
            let stolen = self.cpus.stolen_by_slice(self.time_ns.start, book.width_ns);
            let queue = RunQueue::new(&uses, &self.cpus, (*device, book), disk.parts());
            let (part, actors) = (|number| disk.part(number), &self.actors);
            let scene = Scene::new(book, actors, &part, (stolen, queue));
            sums.merge(weigh(&scene), &|role| role);
        }
        sums
    }

    /// No more requests come: what is still open ends.
    pub(crate) fn end(&mut self) {
        self.begin_waits(i64::MAX);
        for Device { disk, book } in self.devices.values_mut() {
            disk.finish(book);
        }
    }

    /// The verdict of the span; what is still open is ended first.
    pub(crate) fn verdict(mut self) -> Verdict {
        self.end();
        self.files.settle();
        let sums = self.sums();
        let served = self.served();
        Verdict::of_span(self, sums, served)
    }

    /// What calls waited for, part by part.
    fn served(&mut self) -> BTreeMap<Victim, calls::Served> {
        let earlier = self.calls.iter().filter(|call| call.begin_ns < self.time_ns.start);
        let earlier_until_ns = earlier.filter_map(|call| call.end_ns).max().unwrap_or(i64::MIN);
        let from_ns = self.time_ns.start.max(earlier_until_ns);
        let until_ns = self.time_ns.end;
        let is_within = |commit: &JournalCommit| {
            commit.started_ns >= from_ns && commit.ended_ns.is_some_and(|ns| ns <= until_ns)
        };
        let calls = std::mem::take(&mut self.calls);
        let mut steps = std::mem::take(&mut self.steps);
        let known = Arc::clone(&self.known);
        steps.served(&calls, &known.commits, &is_within, |call| {
            let device = self.home(call.file_system)?;
            let role = self.actors.of_call(call);
            let is_selected = self.time_ns.contains(&call.begin_ns);
            is_selected.then_some(Victim { role, kind: Kind::Call(call.kind), device })
        })
    }
}

/// Whether it is a read ahead that takes so long that a thread which waits for it is seen to: with
/// eight of them in flight it waits for the first, if for any.
fn is_long_read_ahead(row: &Request, (begin_ns, end_ns): (i64, i64)) -> bool {
    let is_ahead = row.op == Op::Read && row.flags.contains(Flags::READAHEAD);
    is_ahead && end_ns.saturating_sub(begin_ns) >= WAIT_LEAST_NS
}

#[cfg(test)]
mod tests;
