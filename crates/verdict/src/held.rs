//! Whose is what a thread waits for: a lock, a journal.
//!
//! Non-goals: which thread it is (`super::holders`); how the wait is divided (`super::disk`).

use super::actors::RoleId;
use super::disk::Holding;
use super::intervals::Interval;
use super::sums::{Share, Victim};
use super::waits::Class;
use super::{Ledger, holders};
use crate::merge::Merge as _;
use model::record::Wait;
use std::collections::BTreeMap;

impl Ledger {
    /// Who holds the lock that a thread waits for, if that is known.
    pub(super) fn holding(&mut self, wait: &Wait, class: &Class) -> Option<Holding> {
        let holder = holders::holder(wait, &self.waits)?;
        let role = self.known(holder.pid)?;
        if role != class.role && self.time_ns.contains(&wait.begin_ns) {
            let took_ns = (wait.end_ns - wait.begin_ns) as f64;
            let held = self.held.entry((Victim::of(class), role)).or_default();
            held.merge(Share::new(took_ns, 1.0));
        }
        Some(Holding { roles: vec![(role, 1.0)], have_waited: holder.has_waited })
    }

    /// The role of a thread, if it is known and none of the kernel's.
    pub(super) fn known(&self, pid: u32) -> Option<RoleId> {
        self.actors.of_known_thread(pid).filter(|role| !self.actors.is_kernel(*role))
    }

    /// Who holds the journal that a thread waits for: whoever holds its transaction open; else who
    /// has filled it.
    pub(super) fn holding_journal(&mut self, wait: &Wait, class: &Class) -> Option<Holding> {
        let holders = holders::holders_of_transaction(wait, &self.waits);
        let is_here = |file_system: u64| {
            file_system == 0 || self.home(file_system).is_none_or(|home| home == class.device)
        };
        let here: Vec<u32> =
            holders.into_iter().filter(|(_, of)| is_here(*of)).map(|(pid, _)| pid).collect();
        let mut roles = here.into_iter().filter_map(|pid| self.known(pid));
        let open = roles.find(|role| *role != class.role);
        let roles = match open {
            Some(role) => vec![(role, 1.0)],
            None => self.journal_shares(wait, class.device),
        };
        (!roles.is_empty()).then_some(Holding { roles, have_waited: true })
    }

    /// Who has changed how much metadata at a device that its journal still had to write.
    fn journal_shares(&mut self, wait: &Wait, device: u32) -> Vec<(RoleId, f64)> {
        let begun = self.journal_use.partition_point(|one| one.begin_ns < wait.end_ns);
        let recent = self.journal_use[..begun].iter().rev();
        let recent = recent.take_while(|one| Interval::end_ns(*one) > wait.begin_ns);
        let mut threads: BTreeMap<u32, (&str, f64)> = BTreeMap::new();
        for one in recent.filter(|one| self.home(one.file_system) == Some(device)) {
            threads.entry(one.pid as u32).or_insert((&one.command, 0.0)).1 += one.blocks as f64;
        }
        let mut shares: BTreeMap<RoleId, f64> = BTreeMap::new();
        for (pid, (command, blocks)) in threads {
            let role = self.actors.of_thread(pid, || command.to_owned());
            *shares.entry(role).or_default() += blocks;
        }
        shares.into_iter().collect()
    }
}
