//! A verdict of a minute or of many: what is kept of each is added, in any order.
//!
//! Non-goals: what is published of it (`super::findings`).

use super::actors::RoleId;
use super::calls::Served;
use super::files::Files;
use super::findings::{Told, findings};
use super::known::Known;
use super::stacks::Ways;
use super::stalled::Unplaced;
use super::sums::{Sums, Victim};
use super::units::UnitSum;
use super::{Ledger, actors};
use crate::merge::Merge;
use hashbrown::HashMap;
use model::record::Finding;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Who waited, for whom, on which file.
#[derive(Debug)]
pub struct Verdict {
    pub(super) known: Arc<Known>,
    roles: Roles,
    /// The roles that processes have of their own.
    own: BTreeSet<RoleId>,
    pub(super) sums: Sums,
    pub(super) served: BTreeMap<Victim, Served>,
    pub(super) files: Files,
    pub(super) ways: Ways,
    /// Requests that arrived in the time.
    pub(super) requests: u64,
    /// What of the kernel's count of waits for requests is known here.
    pub(super) stalled_ns: i64,
    /// The kernel's count by cgroup.
    pub(super) units: BTreeMap<String, UnitSum>,
    pub(super) unplaced: BTreeMap<RoleId, Unplaced>,
    /// When the last wait ended.
    pub(super) last_ns: i64,
}

/// The names of roles by their numbers, and these by the names.
#[derive(Debug, Default)]
struct Roles {
    names: Vec<String>,
    numbers: HashMap<String, RoleId>,
}

impl Roles {
    fn number(&mut self, name: &str) -> RoleId {
        if let Some(known) = self.numbers.get(name) {
            return *known;
        }
        // There is no room for more.
        let name = if self.names.len() < usize::from(u16::MAX) { name } else { actors::OTHERS };
        let number = RoleId(self.names.len() as u16);
        match self.numbers.get(name) {
            Some(known) => *known,
            None => {
                self.names.push(name.to_owned());
                self.numbers.insert(name.to_owned(), number);
                number
            }
        }
    }
}

impl Verdict {
    /// Of no time yet.
    pub fn new(known: &Arc<Known>) -> Self {
        Self {
            known: Arc::clone(known),
            roles: Roles::default(),
            own: BTreeSet::new(),
            sums: Sums::default(),
            served: BTreeMap::new(),
            files: Files::default(),
            ways: Ways::default(),
            requests: 0,
            stalled_ns: 0,
            units: BTreeMap::new(),
            unplaced: BTreeMap::new(),
            last_ns: i64::MIN,
        }
    }

    pub(super) fn of_span(ledger: Ledger, sums: Sums, served: BTreeMap<Victim, Served>) -> Self {
        let mut roles = Roles::default();
        ledger.actors.names().iter().for_each(|name| {
            roles.number(name);
        });
        let own = ledger.actors.own_roles().clone();
        let Ledger {
            known,
            files,
            ways,
            requests,
            stalled,
            stalled_units,
            unplaced,
            last_ns,
            cpus,
            time_ns,
            ..
        } = ledger;
        let units = known.units.sums(&stalled_units, &time_ns);
        let stalled_ns = stalled.of_pressure(&cpus, &time_ns);
        Self {
            known,
            roles,
            own,
            sums,
            served,
            files,
            ways,
            requests,
            stalled_ns,
            units,
            unplaced,
            last_ns,
        }
    }

    /// Adds the verdict of another time of the same trace.
    pub fn merge(&mut self, other: Self) {
        let numbers: Vec<RoleId> =
            other.roles.names.iter().map(|name| self.roles.number(name)).collect();
        let number = |role: RoleId| numbers.get(usize::from(role.0)).copied().unwrap_or(role);
        self.own.extend(other.own.iter().map(|role| number(*role)));
        self.sums.merge(other.sums, &number);
        for (victim, served) in other.served {
            let victim = Victim { role: number(victim.role), ..victim };
            self.served.entry(victim).or_default().merge(served);
        }
        self.files.merge(&other.files);
        self.ways.merge(&other.ways, &number);
        self.requests += other.requests;
        self.stalled_ns += other.stalled_ns;
        Merge::merge(&mut self.units, other.units);
        for (role, unplaced) in other.unplaced {
            self.unplaced.entry(number(role)).or_default().merge(unplaced);
        }
        self.last_ns = self.last_ns.max(other.last_ns);
    }

    /// All findings. `name` is a device's.
    pub fn findings(&self, name: &dyn Fn(u32) -> String) -> Vec<Finding> {
        findings(&[Told { verdict: self, name }])
    }

    /// The processes that have roles of their own, as these are called.
    pub fn processes(&self) -> Vec<String> {
        self.own.iter().map(|role| self.role(*role)).collect()
    }

    pub(super) fn role(&self, role: RoleId) -> String {
        self.roles.names.get(usize::from(role.0)).cloned().unwrap_or_default()
    }
}
