//! What a session leaves besides its rows, at its end and while it goes on, and what is noted of it
//! with them.
//!
//! Non-goals: how it is captured (`session`).

use super::presence::{CHANGED, DEVICE_CHANGED};
use super::witness::Witness;
use super::{Devices, areas};
use host::pod::PodNames;
use model::record::requests::{NAMED_DEVICES, Provenance};
use model::record::{Commands, Context, Finding};
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;
use trace::capture::Losses;
use trace::intake::{Durable, RowsError};

/// What a session leaves besides the rows.
pub struct Ended {
    /// Where the rows come from, and what was lost.
    pub provenance: Provenance,
    /// The names of processes.
    pub commands: Commands,
    /// All devices that were captured.
    pub devices: Devices,
    /// What it cost.
    pub costs: Vec<Finding>,
    /// How its rows compare with the kernel's own counts.
    pub checks: Vec<Finding>,
    /// Calls, processes and files, where they were requested.
    pub context: Context,
    /// Why the output took no more.
    pub refused: Option<RowsError>,
    /// Whether it was ever in the kernel.
    pub has_begun: bool,
}

/// What others see of a session while it runs: its progress line.
#[derive(Debug, Default)]
pub struct Live {
    /// Requests so far.
    pub requests: AtomicU64,
    /// Events lost so far.
    pub lost: AtomicU64,
    /// What the flight recorder waits for, and how near it is; nothing where it waits for nothing.
    pub condition: Mutex<String>,
}

/// What a session knows while it goes on.
pub struct SoFar {
    /// Where the rows come from, and what was lost.
    pub provenance: Provenance,
    /// The names of processes.
    pub commands: Commands,
    /// All devices that were captured.
    pub devices: Devices,
    pub(super) witness: Option<Witness>,
    pub(super) durable: Durable,
}

impl SoFar {
    /// Calls, processes and files: their names are looked for, which takes up to some seconds.
    pub fn context(&mut self) -> Context {
        let durable = std::mem::take(&mut self.durable);
        self.witness.take().map(|witness| witness.conclude(durable)).unwrap_or_default()
    }
}

impl Ended {
    /// Notes the costs, and the names of devices and of the cgroups that requested anything, with
    /// the trace.
    pub fn note(&mut self, cgroups: &BTreeSet<u64>) {
        note_cgroups(&mut self.provenance, cgroups);
        let notes = &mut self.provenance.notes;
        for cost in &self.costs {
            if let Some(value) = cost.value {
                notes.insert(format!("cost.{}", cost.quantity), value.to_string());
            }
        }
        note_devices(&mut self.provenance, &self.devices);
        let changed = self.checks.iter().filter(|f| f.quantity == DEVICE_CHANGED);
        for finding in changed {
            let device = finding.subject.get("device").unwrap_or_default();
            let sentence = report::doubt::sentences(&finding.doubts);
            self.provenance.notes.insert(format!("{CHANGED}{device}"), sentence);
        }
    }
}

/// Notes what the cgroups are called that requested anything.
pub fn note_cgroups(provenance: &mut Provenance, cgroups: &BTreeSet<u64>) {
    if !cgroups.is_empty() {
        let paths = host::cgroup::paths().into_iter();
        let paths = paths.filter(|(number, _)| cgroups.contains(number));
        let mut pods = PodNames::default();
        let notes = paths.map(|(number, path)| (format!("cgroup.{number}"), pods.named(path)));
        provenance.notes.extend(notes);
    }
}

/// Notes which devices are captured, what they are called, and what lies where on them.
pub fn note_devices(provenance: &mut Provenance, devices: &Devices) {
    let numbers: Vec<String> = devices.numbers.iter().map(u32::to_string).collect();
    if !numbers.is_empty() {
        provenance.notes.insert(NAMED_DEVICES.to_owned(), numbers.join(" "));
    }
    let names = devices.names().map(|(number, name)| (format!("device.{number}"), name.to_owned()));
    provenance.notes.extend(names);
    provenance.note_stack(devices.stack());
    areas::note(provenance, devices);
}

/// Tells who changed a file, again and again: nothing is missing where one change is not seen.
const CHANGE: &str = "writeback_mark_inode_dirty";

/// What is noted of losses that nothing counted.
pub const UNKNOWN: &str = "unknown";

/// What could not be kept, by its reason.
pub(super) fn notes(losses: &Losses) -> impl Iterator<Item = (String, String)> {
    let by_cpu = losses.records.iter().enumerate();
    let by_cpu = by_cpu.map(|(cpu, lost)| (format!("lost.cpu.{cpu}"), Some(*lost)));
    let new = losses.on_new_cpus.iter();
    let new = new.map(|(cpu, lost)| (format!("lost.new_cpu.{cpu}"), *lost));
    let runs = losses.runs.iter();
    let runs = runs.map(|(program, lost)| (format!("lost.runs.{program}"), Some(*lost)));
    let second = [("lost.second".to_owned(), Some(losses.second))];
    let all = by_cpu.chain(new).chain(runs).chain(second).filter(|(_, lost)| *lost != Some(0));
    all.map(|(name, lost)| (name, lost.map_or_else(|| UNKNOWN.to_owned(), |n| n.to_string())))
}

/// Events that were lost.
pub(super) fn events(losses: &Losses) -> u64 {
    let of_requests = losses.runs.iter().filter(|(program, _)| **program != CHANGE);
    let runs: u64 = of_requests.map(|(_, lost)| lost).sum();
    let on_new_cpus: u64 = losses.on_new_cpus.values().flatten().sum();
    losses.records.iter().sum::<u64>() + on_new_cpus + runs + losses.second
}
