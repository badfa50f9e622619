//! Who waits, for whom, on which file: one pass over a trace's requests in the order of their
//! arrival, with the calls that waited, and a verdict at its end.
//!
//! The 1986 paper asked which requests make others wait. There readers waited; here whoever does:
//! calls that make a file durable, reads, direct writes, and flushes where no calls are known.
//!
//! - [`role`]: what a process is for, by its title.
//! - `actors`: whose request it is.
//! - `disk`: how the time of a wait divides among those whose requests are in flight.
//! - `book`: slices of time with the waits that began in them.
//! - `blame`: what waits took beyond calm, and because of whom.
//! - `cpus`: what the CPUs did meanwhile.
//! - `throttle`: what a cgroup's limit held back.
//! - `calls`: what a call waits for, part by part.
//! - `stacks`: by which functions requests were queued.
//! - `findings`: what is published.
//! - `so_far`: what is known while requests still come.
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

mod actors;
mod blame;
mod book;
mod calls;
mod cpus;
mod disk;
mod ends;
mod files;
mod findings;
mod role;
mod so_far;
mod stacks;
mod throttle;
mod waits;

pub(crate) use actors::{Actors, RoleId};
pub use ends::Ends;
pub use role::role;
pub(crate) use so_far::{LostSoFar, WaitsSoFar};

use crate::names::FileNames;
use crate::requests::sequences::Open;
use crate::selection::Selection;
use book::Book;
use calls::Steps;
use cpus::Cpus;
use disk::{Act, Disk, Part, Waited, Watch as _};
use files::Files;
use hashbrown::HashMap;
use model::record::requests::DeviceStack;
use model::record::{Call, Commands, Context, FileKey, Request};
use stacks::Ways;
use std::collections::BTreeMap;
use throttle::Throttle;
use waits::{Class, Kind, size_of};

/// A trace on its way to a verdict.
#[derive(Debug)]
pub struct Ledger {
    actors: Actors,
    devices: BTreeMap<u32, Device>,
    /// In which layer of its stack most of a device's waiting goes by, where not in its own: what
    /// is in flight there is to blame.
    queues: BTreeMap<u32, u32>,
    stack: DeviceStack,
    /// Whose requests those beneath are made for, while they are in flight.
    askers: Open<RoleId>,
    /// On which device a file system lies.
    homes: HashMap<u32, u32>,
    /// Calls with both ends, in the order of their begins; and how many have begun.
    calls: Vec<Call>,
    /// Those whose end is not known.
    endless: Vec<Call>,
    begun: usize,
    has_calls: bool,
    /// Until when a thread is in a call, whose parts its requests are.
    in_call: HashMap<u32, (i64, usize)>,
    steps: Steps,
    throttle: Throttle,
    files: Files,
    file_names: FileNames,
    ways: Ways,
    cpus: Cpus,
    context: Context,
    selection: Selection,
    /// Requests that were added.
    requests: u64,
    last_ns: i64,
    /// Until when waits go on that began in the selected time: what comes meanwhile is their load.
    loaded_until_ns: i64,
}

#[derive(Debug)]
struct Device {
    disk: Disk<Class>,
    book: Book,
}

impl Ledger {
    /// Begins with what the trace has besides its requests; calls whose end is not known have
    /// been given one ([`Ends`]). Waits count that begin in the selected time, and with all that
    /// is in flight while they go on.
    pub fn new(mut context: Context, selection: Selection) -> Self {
        let actors = Actors::new(&context, selection.process.clone());
        let (calls, endless): (Vec<Call>, Vec<Call>) =
            std::mem::take(&mut context.calls).into_iter().partition(|call| call.end_ns.is_some());
        let selected = calls.iter().filter(|call| selection.time_ns.contains(&call.begin_ns));
        let loaded_until_ns = selected.filter_map(|call| call.end_ns).max().unwrap_or(i64::MIN);
        Self {
            actors,
            devices: BTreeMap::new(),
            queues: BTreeMap::new(),
            stack: DeviceStack::default(),
            askers: Open::default(),
            homes: HashMap::new(),
            has_calls: !calls.is_empty(),
            calls,
            endless,
            begun: 0,
            in_call: HashMap::new(),
            steps: Steps::default(),
            throttle: Throttle::default(),
            files: Files::default(),
            file_names: FileNames::new(&std::mem::take(&mut context.files)),
            ways: Ways::default(),
            cpus: Cpus::new(std::mem::take(&mut context.cpu_times)),
            context,
            selection,
            requests: 0,
            last_ns: 0,
            loaded_until_ns,
        }
    }

    /// The same with what lies on what, and in which layer of each stack most of the time goes.
    #[must_use]
    pub fn with_stack(self, stack: DeviceStack, queues: BTreeMap<u32, u32>) -> Self {
        Self { stack, queues, ..self }
    }

    /// Whether requests matter that arrive from a moment on and are completed until another one,
    /// when all that arrived before them has been added.
    pub fn concerns(&self, arrived_ns: i64, completed_ns: i64) -> bool {
        let time_ns = &self.selection.time_ns;
        completed_ns >= time_ns.start
            && (arrived_ns < time_ns.end || arrived_ns < self.loaded_until_ns)
    }

    /// The processes that have roles of their own, as these are called.
    pub fn processes(&self) -> Vec<String> {
        self.actors.processes().map(str::to_owned).collect()
    }

    /// Takes the next request, in the order of arrival.
    pub fn add(&mut self, row: &Request, commands: &Commands) {
        let (Some(begin_ns), Some(end_ns)) = (row.arrival_ns(), row.completed_ns) else { return };
        if let Some(FileKey { number, .. }) = row.file.filter(|_| row.above_id.is_none()) {
            self.homes.entry(number.file_system).or_insert(row.device);
        }
        self.begin_calls(begin_ns);
        if !self.concerns(begin_ns, end_ns) {
            return;
        }
        self.requests += 1;
        let call = self.call_of(row.pid, begin_ns).filter(|_| row.above_id.is_none());
        self.steps.add(row, call);
        // The whole sequence has a row of its own; its parts would count its time again.
        if row.parent_id.is_some() || row.is_orphan() {
            return;
        }
        let role = self.role_of(row, commands, (begin_ns, end_ns));
        let is_selected = self.selection.has(row);
        if is_selected {
            if row.above_id.is_none() {
                self.files.add(row, &self.file_names);
                self.ways.add(row, role, (begin_ns, end_ns));
            }
            self.last_ns = self.last_ns.max(end_ns);
            self.loaded_until_ns = self.loaded_until_ns.max(end_ns);
        }
        let kind = Kind::of_request(row, self.has_calls)
            .filter(|_| is_selected && role != actors::JOURNAL && call.is_none());
        let size = size_of(row.length_bytes);
        let held = self.throttle.take(row, role, (begin_ns, end_ns));
        let role = held.map_or(role, |(whose, _)| whose);
        let class = kind.map(|kind| Class { device: row.device, role, kind, size });
        let act = Act { role, op: row.op };
        let queue = self.queues.get(&row.device).copied();
        let Device { disk, book } = device(&mut self.devices, row.device);
        match (held, class, queue) {
            // It began before it was queued, and the time until then is the limit's.
            (Some((_, since_ns)), Some(class), _) => {
                let own = (Part::Act(act), (end_ns - begin_ns) as f64);
                let parts = vec![(Part::Throttled, (begin_ns - since_ns) as f64), own];
                book.waited(&Waited { class, begin_ns: since_ns, end_ns, parts });
                disk.request((begin_ns, end_ns), act, row.length_bytes, None, book);
            }
            // Where its time goes by in a layer beneath, it waits behind what is in flight there.
            (_, Some(class), Some(queue)) if queue != row.device => {
                disk.request((begin_ns, end_ns), act, row.length_bytes, None, book);
                let Device { disk, book } = device(&mut self.devices, queue);
                disk.wait((begin_ns, end_ns), class, book);
            }
            _ => disk.request((begin_ns, end_ns), act, row.length_bytes, class, book),
        }
    }

    /// Whose request it is: one beneath another is that one's, whichever thread sent it on.
    fn role_of(&mut self, row: &Request, commands: &Commands, span: (i64, i64)) -> RoleId {
        let above = row.above_id.and_then(|id| self.askers.get(id)).copied();
        let role = above.unwrap_or_else(|| self.actors.of_request(row, commands));
        if self.stack.is_upper(row.device) {
            self.askers.begin(row.request_id, span.0, span.1, role);
        }
        role
    }

    /// The call that a thread is in.
    fn call_of(&self, pid: Option<u32>, time_ns: i64) -> Option<usize> {
        let (until_ns, call) = pid.and_then(|pid| self.in_call.get(&pid))?;
        (time_ns <= *until_ns).then_some(*call)
    }

    /// Calls that have begun until a moment. Where their file system lies no request has told yet,
    /// there is nothing that they could wait behind.
    fn begin_calls(&mut self, until_ns: i64) {
        while let Some(call) = self.calls.get(self.begun).filter(|call| call.begin_ns <= until_ns) {
            let number = self.begun;
            self.begun += 1;
            let (pid, file_system) = (call.pid as u32, call.file_system as u32);
            let end_ns = call.end_ns.unwrap_or(call.begin_ns);
            let role = self.actors.of_thread(pid, || call.command.clone());
            self.in_call.insert(pid, (end_ns, number));
            if !self.selection.time_ns.contains(&call.begin_ns) {
                continue;
            }
            let Some(home) = self.homes.get(&file_system).copied() else { continue };
            let class = Class { device: home, role, kind: Kind::Call(call.kind), size: 0 };
            let queue = self.queues.get(&home).copied().unwrap_or(home);
            let Device { disk, book } = device(&mut self.devices, queue);
            disk.wait((call.begin_ns, end_ns), class, book);
            self.last_ns = self.last_ns.max(end_ns);
        }
    }

    fn finish(&mut self) {
        self.begin_calls(i64::MAX);
        for Device { disk, book } in self.devices.values_mut() {
            disk.finish(book);
        }
    }
}

fn device(devices: &mut BTreeMap<u32, Device>, number: u32) -> &mut Device {
    devices.entry(number).or_insert_with(|| Device { disk: Disk::new(), book: Book::default() })
}

#[cfg(test)]
mod tests;
