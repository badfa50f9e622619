//! What a ledger knows while requests still come: they are added in the order of their arrival, and
//! what is known of threads, calls and CPUs as it becomes known.
//!
//! Non-goals: what is published of a whole trace (`super::findings`).

use super::blame::{Scene, blame};
use super::{Device, Ledger, waits};
use model::record::{Call, Context, CpuTime, Process};

/// All waits of a victim, for something, at a device.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WaitsSoFar {
    pub(crate) device: u32,
    pub(crate) role: String,
    pub(crate) wait: &'static str,
    pub(crate) count: f64,
    pub(crate) sum_ns: f64,
}

/// What it lost to a cause: a role's name, or what is no role. Less than nothing is chance.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LostSoFar {
    pub(crate) device: u32,
    pub(crate) role: String,
    pub(crate) wait: &'static str,
    pub(crate) cause: Result<String, &'static str>,
    pub(crate) count: f64,
    pub(crate) lost_ns: f64,
}

impl Ledger {
    /// A thread's process is known now.
    pub(crate) fn learn(&mut self, process: &Process) {
        self.actors.learn(process);
    }

    /// A call has ended, however long ago it began. One that comes after what was requested
    /// behind its begin lost nothing that could be told.
    pub(crate) fn call(&mut self, call: Call) {
        self.has_calls = true;
        let role = self.actors.of_thread(call.pid as u32, || call.command.clone());
        self.actors.own(call.file(), role);
        if let (true, Some(end_ns)) = (self.selection.time_ns.contains(&call.begin_ns), call.end_ns)
        {
            self.loaded_until_ns = self.loaded_until_ns.max(end_ns);
        }
        let later = self.calls.partition_point(|known| known.begin_ns <= call.begin_ns);
        self.calls.insert(later.max(self.begun), call);
    }

    /// Forgets what it began with: whose threads are whose is known.
    pub(crate) fn forget_context(&mut self) {
        self.context = Context::default();
    }

    /// Calls are known: a flush is a part of one, and no wait of its own.
    pub(crate) fn expect_calls(&mut self) {
        self.has_calls = true;
    }

    /// The selected time ends then.
    pub(crate) fn end_selection(&mut self, end_ns: i64) {
        self.selection.time_ns.end = end_ns;
    }

    /// What the CPUs did in an interval.
    pub(crate) fn cpu_time(&mut self, interval: CpuTime) {
        self.cpus.add(interval);
    }

    /// All that arrived until a moment was added: what has ended until then has ended. Says
    /// whether anything was going on.
    pub(crate) fn advance(&mut self, until_ns: i64) -> bool {
        self.begin_calls(until_ns);
        let was_busy = self.devices.values().any(|device| device.disk.is_busy());
        for Device { disk, book } in self.devices.values_mut() {
            disk.advance(until_ns, book);
        }
        was_busy
    }

    /// All waits and losses by the requests that were added so far.
    pub(crate) fn so_far(&self) -> (Vec<WaitsSoFar>, Vec<LostSoFar>) {
        let (mut waits, mut lost) = (Vec::new(), Vec::new());
        for device in self.devices.values() {
            let book = &device.book;
            let stolen_ns = self.cpus.stolen_by_slice(book.width_ns);
            let scene = Scene { book, actors: &self.actors, stolen_ns };
            let (of_device, losses) = blame(&scene);
            let name = |kind: waits::Kind| kind.name();
            waits.extend(of_device.iter().map(|(victim, of)| WaitsSoFar {
                device: victim.device,
                role: self.role(victim.role),
                wait: name(victim.kind),
                count: of.count,
                sum_ns: of.sum_ns,
            }));
            lost.extend(losses.iter().map(|loss| LostSoFar {
                device: loss.victim.device,
                role: self.role(loss.victim.role),
                wait: name(loss.victim.kind),
                cause: self.cause(loss.cause),
                count: loss.count,
                lost_ns: loss.lost_ns,
            }));
        }
        (waits, lost)
    }
}
