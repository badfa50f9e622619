//! Who requested it: requests by process (its id and the name of its command) and by cgroup. The
//! first [`MOST`] have traffic of their own; those that come later are one.

use super::names::Names;
use super::recent::Recent;
use crate::requests::{SmallTraffic, Tally};
use hashbrown::DefaultHashBuilder;
use indexmap::IndexMap;
use model::record::{CommandId, Request};

/// Processes that are distinguished: more than a report can show, and few enough to hold.
const MOST: usize = 4096;
/// All others.
const OTHERS: u32 = 0;

/// Who a request is from, as far as a row tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub(super) struct Process {
    pub(super) pid: Option<u32>,
    pub(super) command: Option<CommandId>,
    pub(super) cgroup: Option<u64>,
}

/// A process by its place here.
pub(super) type ProcessId = u32;

/// Each process with its traffic, by its place.
type Known = IndexMap<Process, SmallTraffic, DefaultHashBuilder>;

#[derive(Debug)]
pub(super) struct Processes {
    /// The first is of all others.
    known: Known,
    recent: Recent<Process>,
}

impl Default for Processes {
    fn default() -> Self {
        Self {
            known: [(Process::default(), SmallTraffic::default())].into_iter().collect(),
            recent: Recent::default(),
        }
    }
}

impl Processes {
    #[inline(always)]
    pub(super) fn place(&mut self, row: &Request) -> ProcessId {
        let process = Process { pid: row.pid, command: row.command, cgroup: row.cgroup };
        let ids = u64::from(process.pid.unwrap_or(0)) << 32;
        let mixed = ids ^ process.command.map_or(0, |id| u64::from(id.0)) << 8;
        let mixed = mixed ^ process.cgroup.unwrap_or(0);
        let known = &mut self.known;
        self.recent.place(process, mixed, || place(known, process) as usize) as ProcessId
    }

    pub(super) fn settle(&mut self, place: ProcessId, tally: &Tally) {
        if let Some((_, traffic)) = self.known.get_index_mut(place as usize) {
            traffic.settle(tally);
        }
    }

    /// The traffic of threads that are told of together; theirs alone is a part of it from now on.
    pub(super) fn of_threads(
        &mut self,
        pids: &[u32],
        command: Option<CommandId>,
    ) -> &mut SmallTraffic {
        let is_theirs = |process: &Process| process.pid.is_some_and(|pid| pids.contains(&pid));
        let cgroup = self.known.keys().find(|process| is_theirs(process)).and_then(|of| of.cgroup);
        let pid = pids.first().copied().filter(|_| pids.len() == 1);
        let place = place(&mut self.known, Process { pid, command, cgroup }) as usize;
        if pid.is_none() {
            let mut theirs = SmallTraffic::default();
            for (_, traffic) in self.known.iter_mut().filter(|(process, _)| is_theirs(process)) {
                theirs.merge(&std::mem::take(traffic));
            }
            self.known[place].merge(&theirs);
        }
        &mut self.known[place]
    }

    /// Adds others' traffic; `here` is what each of theirs is here. Gives back the place here of
    /// each of theirs.
    pub(super) fn merge(
        &mut self,
        other: &Self,
        here: &dyn Fn(&Process) -> Process,
    ) -> Vec<ProcessId> {
        let placed = other.known.iter().map(|(process, traffic)| {
            let place = place(&mut self.known, here(process));
            if let Some((_, own)) = self.known.get_index_mut(place as usize) {
                own.merge(traffic);
            }
            place
        });
        placed.collect()
    }

    pub(super) fn get(&self, place: ProcessId) -> Process {
        self.known.get_index(place as usize).map_or_else(Process::default, |(process, _)| *process)
    }

    /// Every process of which there is something; the first may be of all others.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Process, &SmallTraffic)> {
        let told = self.known.iter().filter(|(_, traffic)| !traffic.is_empty());
        told.map(|(process, traffic)| (*process, traffic))
    }

    /// Whether any row told who requested it.
    pub(super) fn tell(&self) -> bool {
        self.known.len() > 1
    }

    /// Whether the cgroups tell anything: one that all are in does not.
    pub(super) fn tell_cgroups(&self) -> bool {
        let mut told = self.known.keys().filter_map(|process| process.cgroup);
        let first = told.next();
        told.any(|cgroup| Some(cgroup) != first)
    }

    /// Traffic by cgroup; none where no row told.
    pub(super) fn by_cgroup(&self) -> Vec<(u64, SmallTraffic)> {
        let mut merged: std::collections::BTreeMap<u64, SmallTraffic> = Default::default();
        for (process, traffic) in self.iter() {
            if let Some(cgroup) = process.cgroup {
                merged.entry(cgroup).or_default().merge(traffic);
            }
        }
        merged.into_iter().collect()
    }
}

/// The place of a process, which is made if there is room.
fn place(known: &mut Known, process: Process) -> ProcessId {
    if known.len() > MOST && !known.contains_key(&process) {
        return OTHERS;
    }
    // A row that tells of nobody is of all others, the first.
    let of_process = known.entry(process);
    let place = of_process.index();
    of_process.or_default();
    place as ProcessId
}

/// A process's name in a report; with its cgroup where there are several: a kernel's thread writes
/// for all of them.
pub(super) fn label(process: &Process, names: &Names<'_>, with_cgroup: bool) -> String {
    let command = process.command.map(|command| names.commands.name(command));
    let who = match (command, process.pid) {
        (Some(command), Some(pid)) => format!("{command} ({pid})"),
        (Some(command), None) => command.to_owned(),
        (None, Some(pid)) => format!("pid {pid}"),
        (None, None) => "others".to_owned(),
    };
    match process.cgroup.filter(|_| with_cgroup) {
        Some(cgroup) => format!("{who} in {}", (names.cgroup)(cgroup)),
        None => who,
    }
}
