//! Requests by the functions by which they were queued, where stacks were captured; and waits of
//! threads by the kernel's functions in which they slept.
//!
//! Non-goals: names of functions (the trace's context has them).

use super::actors::RoleId;
use crate::merge::{Merge as _, merged};
use model::heaviest::Heaviest;
use model::record::{Flags, Request, Stacks, Wait};

/// Ways that are known one by one: those whose requests took longest.
const MOST: usize = 100_000;

/// Who queued requests, where to, and by which functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Way {
    pub(crate) device: u32,
    pub(crate) role: RoleId,
    pub(crate) stacks: Stacks,
}

/// What was queued that way.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Queued {
    pub(crate) requests: u64,
    pub(crate) bytes: u64,
    pub(crate) response_ns: i64,
    pub(crate) waited_ns: i64,
}

merged!(Queued { requests, bytes, response_ns, waited_ns });

#[derive(Debug)]
pub(crate) struct Ways(Heaviest<Way, Queued>);

impl Default for Ways {
    fn default() -> Self {
        Self(Heaviest::new(MOST))
    }
}

impl Ways {
    /// Adds a request that is not lbolt's own, and took from one moment to the other.
    pub(crate) fn add(&mut self, row: &Request, role: RoleId, (begin_ns, end_ns): (i64, i64)) {
        if row.stacks == Stacks::default() || row.flags.contains(Flags::OWN) {
            return;
        }
        let way = Way { device: row.device, role, stacks: row.stacks };
        let (bytes, response_ns) = (row.moved_bytes(), end_ns - begin_ns);
        self.put(way, Queued { requests: 1, bytes, response_ns, waited_ns: 0 });
    }

    /// Adds a wait of a thread.
    pub(crate) fn add_wait(&mut self, wait: &Wait, device: u32, role: RoleId) {
        let stacks = Stacks { kernel: wait.stack as u32, user: 0 };
        let waited_ns = wait.end_ns - wait.begin_ns;
        if stacks != Stacks::default() {
            self.put(Way { device, role, stacks }, Queued { waited_ns, ..Queued::default() });
        }
    }

    fn put(&mut self, way: Way, queued: Queued) {
        let weight = u64::try_from(queued.response_ns + queued.waited_ns).unwrap_or(0);
        self.0.add(way, weight).merge(queued);
    }

    /// Adds those of another time; `role` is the number here of each of its roles.
    pub(crate) fn merge(&mut self, other: &Self, role: &dyn Fn(RoleId) -> RoleId) {
        let mut ways: Vec<(Way, Queued)> = other.all().map(|(way, of)| (*way, *of)).collect();
        ways.sort_unstable_by_key(|(way, _)| *way);
        for (way, queued) in ways {
            self.put(Way { role: role(way.role), ..way }, queued);
        }
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = (&Way, &Queued)> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ways were the first that came.
    #[test]
    fn the_way_that_took_longest_is_known_however_late_it_came() {
        let mut ways = Ways(Heaviest::new(10));
        let row = |kernel| Request { stacks: Stacks { kernel, user: 0 }, ..Request::default() };
        (1..=20).for_each(|stack| ways.add(&row(stack), RoleId(1), (0, 10)));
        (0..9).for_each(|_| ways.add(&row(99), RoleId(1), (0, 1000)));
        let late = ways.all().find(|(way, _)| way.stacks.kernel == 99);
        assert_eq!(late.map(|(_, queued)| (queued.requests, queued.response_ns)), Some((9, 9000)));
        assert_eq!(ways.all().count(), 10);
    }
}
