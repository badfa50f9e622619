//! How long threads of each cgroup waited for requests while a capture went on, as the kernel
//! counts it: once a second.
//!
//! Non-goals: the machine's pressure (`cpu_watch`); what it explains (`verdict`).

use host::account::io_stalled_of_unit_ns;
use model::record::Pressure;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

const EVERY: Duration = Duration::from_secs(1);
/// Cgroups that are followed; of more nothing is told.
const UNITS_MOST: usize = 64;

/// The intervals so far.
#[derive(Debug, Clone, Default)]
pub(super) struct PressureWatch {
    /// Of each cgroup when it was read, and what it was then, if there is such a file.
    last: BTreeMap<String, Option<(i64, u64)>>,
    /// What each is called.
    names: BTreeMap<String, String>,
    due: Option<Instant>,
    intervals: Vec<Pressure>,
}

impl PressureWatch {
    /// A thread of the cgroup of this path was seen, which is called so.
    pub(super) fn follow(&mut self, path: &str, name: &str) {
        if self.last.len() < UNITS_MOST && !self.last.contains_key(path) {
            self.last.insert(path.to_owned(), None);
            self.names.insert(path.to_owned(), name.to_owned());
            self.due = None;
        }
    }

    /// Reads them, if it is time, or if `is_last`; `now_ns` is on the requests' clock.
    pub(super) fn look(&mut self, now_ns: i64, is_last: bool) {
        if !is_last && self.due.is_some_and(|due| Instant::now() < due) {
            return;
        }
        for (path, last) in &mut self.last {
            let now = io_stalled_of_unit_ns(path).map(|stalled_ns| (now_ns, stalled_ns));
            if let (Some((from_ns, before_ns)), Some((until_ns, stalled_ns))) = (*last, now) {
                self.intervals.push(Pressure {
                    unit: self.names.get(path).unwrap_or(path).clone(),
                    from_ns,
                    until_ns,
                    io_stalled_ns: stalled_ns.saturating_sub(before_ns),
                });
            }
            *last = now;
        }
        self.due = Some(Instant::now() + EVERY);
    }

    /// Drops what was over so long before the last reading.
    pub(super) fn keep_last(&mut self, keep_ns: i64) {
        let last_ns = self.intervals.last().map_or(i64::MIN, |interval| interval.until_ns);
        let since_ns = last_ns.saturating_sub(keep_ns);
        self.intervals.retain(|interval| interval.until_ns >= since_ns);
        // Those that are gone make room for others.
        self.last.retain(|_, last| last.is_some());
        self.names.retain(|path, _| self.last.contains_key(path));
    }

    /// What comes until it is looked again belongs to no interval.
    pub(super) fn pause(&mut self, now_ns: i64) {
        self.look(now_ns, true);
        self.last.values_mut().for_each(|last| *last = None);
        self.due = None;
    }

    pub(super) fn take(self) -> Vec<Pressure> {
        self.intervals
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cgroup_that_is_none_has_no_interval_and_no_more_are_followed_than_there_is_room_for() {
        let mut watch = PressureWatch::default();
        (0..2 * UNITS_MOST).for_each(|n| watch.follow(&format!("/lbolt-no-such/{n}"), "x"));
        assert_eq!(watch.last.len(), UNITS_MOST);
        (0..3).for_each(|now_ns| watch.look(now_ns, true));
        assert_eq!(watch.clone().take(), []);
        watch.keep_last(0);
        assert!(watch.last.is_empty());
    }
}
