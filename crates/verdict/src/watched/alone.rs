//! At which devices one role alone requests anything worth speaking of: there, nobody waits for
//! anybody else, and requests that are quick can be told as sums (`super::many`).
//!
//! It is *alone* where the requests of all other roles together were in flight for less than 2 % of
//! a second since the last taking of what is counted, and so in the one before, as is calm for the
//! verdict (`crate::calm`). Takings are a second apart.
//!
//! Non-goals: which requests are quick, or alike.

use crate::RoleId;
use crate::calm::CALM;
use std::collections::BTreeMap;

const SECOND_NS: f64 = 1e9;

/// For how long requests were in flight together, by device and role.
pub(super) type Busy = BTreeMap<(u32, RoleId), u64>;

/// Who requested how much of each device.
#[derive(Debug, Default)]
pub(super) struct Alone {
    /// Before the last taking.
    before: Busy,
    /// Since then, of what is not counted: lbolt's own.
    own: Busy,
}

impl Alone {
    /// A request of lbolt's own was completed.
    pub(super) fn own(&mut self, device: u32, role: RoleId, took_ns: u64) {
        *self.own.entry((device, role)).or_default() += took_ns;
    }

    /// What was counted since the last time was taken.
    pub(super) fn taken(&mut self, mut busy: Busy) {
        for (key, ns) in std::mem::take(&mut self.own) {
            *busy.entry(key).or_default() += ns;
        }
        self.before = busy;
    }

    /// Whether a role is alone at a device; `now_ns` is what is counted there of all others since
    /// the last taking.
    pub(super) fn is_alone(&self, device: u32, role: RoleId, now_ns: u64) -> bool {
        let others = |busy: &Busy| -> u64 {
            let of = busy.range((device, RoleId(0))..=(device, RoleId(u16::MAX)));
            of.filter(|((_, of), _)| *of != role).map(|(_, ns)| *ns).sum()
        };
        let is_little = |ns: u64| (ns as f64) < CALM * SECOND_NS;
        is_little(now_ns + others(&self.own)) && is_little(others(&self.before))
    }

    /// Roles have other numbers from now on.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alone_is_who_shares_a_device_with_nobody_for_a_while() {
        let (one, other) = (RoleId(1), RoleId(2));
        let mut alone = Alone::default();
        let busy = |other_ns| Busy::from([((7, one), 5_000_000_000), ((7, other), other_ns)]);
        assert!(alone.is_alone(7, one, 19_999_999));
        assert!(!alone.is_alone(7, one, 20_000_000));
        alone.taken(busy(20_000_000));
        assert!(!alone.is_alone(7, one, 0), "what was before the taking counts, too");
        assert!(!alone.is_alone(7, other, 0));
        assert!(alone.is_alone(8, one, 0), "at another device");
        alone.taken(busy(0));
        assert!(alone.is_alone(7, one, 0));
        alone.own(7, other, 20_000_000);
        assert!(!alone.is_alone(7, one, 0));
        alone.taken(busy(0));
        assert!(!alone.is_alone(7, one, 0));
    }
}
