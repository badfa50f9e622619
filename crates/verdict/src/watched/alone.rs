//! At which devices one role alone requests anything worth speaking of: there, nobody waits for
//! anybody else, and requests that are quick can be told as sums (`super::many`).
//!
//! It is *alone* where the requests of all other roles together were in flight for less than 2 % of
//! the last second and of the one before, as is calm for the verdict (`crate::calm`).
//!
//! Non-goals: which requests are quick, or alike.

use crate::RoleId;
use crate::calm::CALM;
use hashbrown::HashMap;
use std::collections::BTreeMap;

const SECOND_NS: i64 = 1_000_000_000;

/// For how long requests were in flight, by role: of the last seconds.
#[derive(Debug, Default)]
struct OfDevice {
    /// The number of the second.
    second: i64,
    busy_ns: BTreeMap<RoleId, u64>,
    before_ns: BTreeMap<RoleId, u64>,
}

impl OfDevice {
    fn reach(&mut self, second: i64) {
        if second > self.second {
            let last = std::mem::take(&mut self.busy_ns);
            self.before_ns = if second == self.second + 1 { last } else { BTreeMap::new() };
            self.second = second;
        }
    }

    fn is_alone(&self, role: RoleId) -> bool {
        let most_ns = CALM * SECOND_NS as f64;
        [&self.busy_ns, &self.before_ns].into_iter().all(|busy| {
            let others = busy.iter().filter(|(of, _)| **of != role);
            (others.map(|(_, ns)| *ns).sum::<u64>() as f64) < most_ns
        })
    }
}

/// Who requested how much of each device.
#[derive(Debug, Default)]
pub(super) struct Alone {
    devices: HashMap<u32, OfDevice>,
}

impl Alone {
    /// Requests of a role were completed, which took so long together.
    pub(super) fn see(&mut self, device: u32, role: RoleId, end_ns: i64, took_ns: u64) {
        let of = self.devices.entry(device).or_default();
        of.reach(end_ns.div_euclid(SECOND_NS));
        let busy_ns = of.busy_ns.entry(role).or_default();
        *busy_ns = busy_ns.saturating_add(took_ns);
    }

    /// Whether a role is alone at a device.
    pub(super) fn is_alone(&self, device: u32, role: RoleId) -> bool {
        self.devices.get(&device).is_some_and(|of| of.is_alone(role))
    }

    /// Roles have other numbers from now on.
    pub(super) fn forget(&mut self) {
        self.devices.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alone_is_who_shares_a_device_with_nobody_for_a_while() {
        let (mut alone, s) = (Alone::default(), SECOND_NS);
        let (one, other) = (RoleId(1), RoleId(2));
        assert!(!alone.is_alone(7, one), "nothing is known");
        alone.see(7, one, s, 5_000_000_000);
        alone.see(7, other, s + 1, 19_999_999);
        assert!(alone.is_alone(7, one) && !alone.is_alone(7, other) && !alone.is_alone(8, one));
        alone.see(7, other, s + 2, 1);
        assert!(!alone.is_alone(7, one));
        alone.see(7, one, 2 * s, 1);
        assert!(!alone.is_alone(7, one), "what was in the second before counts, too");
        alone.see(7, one, 3 * s, 1);
        assert!(alone.is_alone(7, one));
        alone.see(7, other, 3 * s, 30_000_000);
        alone.see(7, one, 9 * s, 1);
        assert!(alone.is_alone(7, one), "a second without anything is no second before");
    }
}
