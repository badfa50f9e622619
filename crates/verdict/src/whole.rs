//! A verdict of a minute or of many: what is kept of each is added, in any order.
//!
//! Non-goals: what is published of it (`super::findings`).

use super::actors::RoleId;
use super::calls::Served;
use super::evicted::Evicted;
use super::files::Files;
use super::known::Known;
use super::stacks::Ways;
use super::stalled::Unplaced;
use super::sums::{CalmSlices, Sums, Victim};
use super::units::UnitSum;
use super::{Ledger, actors};
use crate::merge::Merge;
use indexmap::IndexSet;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Who waited, for whom, on which file.
#[derive(Debug, Default)]
pub struct Verdict {
    pub(super) known: Arc<Known>,
    /// The names of roles by their numbers.
    roles: IndexSet<String>,
    /// The roles that processes have of their own.
    own: BTreeSet<RoleId>,
    pub(super) sums: Sums,
    /// What tells calm, where that is of another time.
    pub(super) calm: Option<CalmSlices>,
    pub(super) served: BTreeMap<Victim, Served>,
    pub(super) files: Files,
    pub(super) ways: Ways,
    pub(super) evicted: Evicted,
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

/// The number of a role among these.
fn number(roles: &mut IndexSet<String>, name: &str) -> RoleId {
    // There may be no room for more.
    let has_room = roles.len() < usize::from(u16::MAX) || roles.contains(name);
    let name = if has_room { name } else { actors::OTHERS };
    RoleId(roles.insert_full(name.to_owned()).0 as u16)
}

impl Verdict {
    /// Of no time yet.
    pub fn new(known: &Arc<Known>) -> Self {
        Self { known: Arc::clone(known), last_ns: i64::MIN, ..Self::default() }
    }

    pub(super) fn of_span(ledger: Ledger, sums: Sums, served: BTreeMap<Victim, Served>) -> Self {
        let known = &ledger.known;
        Self {
            roles: ledger.actors.names().cloned().collect(),
            own: ledger.actors.own_roles().clone(),
            sums,
            calm: None,
            served,
            units: known.units.sums(&ledger.stalled_units, &ledger.time_ns),
            stalled_ns: ledger.stalled.of_pressure(&ledger.cpus, &ledger.time_ns),
            requests: ledger.requests,
            last_ns: ledger.last_ns,
            files: ledger.files,
            ways: ledger.ways,
            evicted: ledger.evicted,
            unplaced: ledger.unplaced,
            known: ledger.known,
        }
    }

    /// Adds the verdict of another time of the same trace.
    pub fn merge(&mut self, other: Self) {
        let numbers: Vec<RoleId> =
            other.roles.iter().map(|name| number(&mut self.roles, name)).collect();
        let number = |role: RoleId| numbers.get(usize::from(role.0)).copied().unwrap_or(role);
        self.own.extend(other.own.iter().map(|role| number(*role)));
        self.sums.merge(other.sums, &number);
        for (victim, served) in other.served {
            let victim = Victim { role: number(victim.role), ..victim };
            self.served.entry(victim).or_default().merge(served);
        }
        self.files.merge(&other.files);
        self.ways.merge(&other.ways, &number);
        self.evicted.merge(other.evicted, &number);
        self.requests += other.requests;
        self.stalled_ns += other.stalled_ns;
        Merge::merge(&mut self.units, other.units);
        for (role, unplaced) in other.unplaced {
            self.unplaced.entry(number(role)).or_default().merge(unplaced);
        }
        self.last_ns = self.last_ns.max(other.last_ns);
    }

    /// The processes that have roles of their own, as these are called.
    pub fn processes(&self) -> Vec<String> {
        self.own.iter().map(|role| self.role(*role)).collect()
    }

    /// The same, held against the calm of the whole trace, of which this is a part.
    #[must_use]
    pub fn with_calm_of(mut self, whole: Self) -> Self {
        let numbers: Vec<RoleId> =
            whole.roles.iter().map(|name| number(&mut self.roles, name)).collect();
        let number = |role: RoleId| numbers.get(usize::from(role.0)).copied().unwrap_or(role);
        let slices = whole.sums.classes.into_iter();
        let slices = slices.map(|(class, of)| (class.with_roles(&number), of.slices));
        Self { calm: Some(slices.collect()), ..self }
    }

    pub(super) fn role(&self, role: RoleId) -> String {
        self.roles.get_index(role.0.into()).cloned().unwrap_or_default()
    }
}
