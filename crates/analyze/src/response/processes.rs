//! Who asked: requests by process (its id and the name of its command) and by cgroup. The first
//! [`MOST`] have traffic of their own; those that come later are one.

use crate::traffic::{SmallTraffic, Times};
use hashbrown::HashMap;
use model::record::{CommandId, Commands, Request};

/// Processes that are told apart: more than a report can show, and few enough to hold.
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

/// Traffic by process.
#[derive(Debug)]
pub(super) struct Processes {
    places: HashMap<Process, ProcessId>,
    /// The first is of all others.
    known: Vec<(Process, SmallTraffic)>,
    last: Option<(Process, ProcessId)>,
}

impl Default for Processes {
    fn default() -> Self {
        Self {
            places: HashMap::new(),
            known: vec![(Process::default(), SmallTraffic::default())],
            last: None,
        }
    }
}

impl Processes {
    #[inline]
    pub(super) fn add(&mut self, row: &Request, times: &Times) -> ProcessId {
        let process = Process { pid: row.pid, command: row.command, cgroup: row.cgroup };
        let place = match self.last {
            Some((last, place)) if last == process => place,
            _ => self.place(process),
        };
        self.last = Some((process, place));
        if let Some((_, traffic)) = self.known.get_mut(place as usize) {
            traffic.add_timed(row, times);
        }
        place
    }

    fn place(&mut self, process: Process) -> ProcessId {
        // A row that tells of nobody is of all others.
        if process == Process::default() {
            return OTHERS;
        }
        if let Some(place) = self.places.get(&process) {
            return *place;
        }
        if self.known.len() > MOST {
            return OTHERS;
        }
        let place = self.known.len() as ProcessId;
        self.known.push((process, SmallTraffic::default()));
        self.places.insert(process, place);
        place
    }

    /// Adds others' traffic, whose commands have other numbers. Gives back the place here of each of theirs.
    pub(super) fn merge(
        &mut self,
        other: &Self,
        number: &dyn Fn(CommandId) -> CommandId,
    ) -> Vec<ProcessId> {
        let placed = other.known.iter().map(|(process, traffic)| {
            let process = Process { command: process.command.map(number), ..*process };
            let place = self.place(process);
            if let Some((_, own)) = self.known.get_mut(place as usize) {
                own.merge(traffic);
            }
            place
        });
        placed.collect()
    }

    pub(super) fn get(&self, place: ProcessId) -> Process {
        self.known.get(place as usize).map_or_else(Process::default, |(process, _)| *process)
    }

    /// Every process of which there is something; the first may be of all others.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Process, &SmallTraffic)> {
        let told = self.known.iter().filter(|(_, traffic)| !traffic.is_empty());
        told.map(|(process, traffic)| (*process, traffic))
    }

    /// Whether any row told who asked.
    pub(super) fn tell(&self) -> bool {
        self.known.len() > 1
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

/// A process's name in a report.
pub(super) fn label(process: &Process, commands: &Commands) -> String {
    let command = process.command.map(|command| commands.name(command));
    match (command, process.pid) {
        (Some(command), Some(pid)) => format!("{command} ({pid})"),
        (Some(command), None) => command.to_owned(),
        (None, Some(pid)) => format!("pid {pid}"),
        (None, None) => "others".to_owned(),
    }
}
