//! The last five minutes: a minute of single seconds, and tens of seconds behind them.
//!
//! A copy is cheap: a screen that is frozen has one, and what comes later changes only the slots
//! that it is of.
//!
//! Non-goals: what is shown of it (`view`).

use crate::storm::{Storm, Storms};
use crate::table::{Kind, Name, Names, Slot};
use crate::tally::Tally;
use hashbrown::HashMap;
use model::record::Rollup;
use model::record::operations;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Seconds that are kept as such.
const SECONDS: i64 = 60;
/// Seconds that are kept as tens, and as points of lines.
pub(crate) const MOST_SECONDS: i64 = 300;
/// Devices that have points.
const MOST_DEVICES: usize = 64;
/// Rows that are so much older than the newest say that the clock was set back.
const SET_BACK_SECONDS: i64 = 600;
const NS: i64 = 1_000_000_000;

/// What a second was of a device.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Point {
    pub(crate) requests: f64,
    pub(crate) p99_ns: f64,
}

#[derive(Debug, Clone, Default)]
struct Second {
    /// None as soon as it is only in its ten.
    slot: Option<Arc<Slot>>,
    points: Arc<HashMap<Name, Point>>,
}

/// What a screen shows: it can be copied.
#[derive(Debug, Clone, Default)]
pub(crate) struct Kept {
    seconds: BTreeMap<i64, Second>,
    tens: BTreeMap<i64, Arc<Slot>>,
    pub(crate) storms: Vec<Storm>,
    /// When the newest row ended.
    pub(crate) until_unix_ns: i64,
}

/// The sums of a window of time.
#[derive(Debug, Default)]
pub(crate) struct Window {
    pub(crate) slot: Slot,
    pub(crate) span_ns: f64,
}

impl Window {
    /// Whether no request was captured.
    pub(crate) fn has_no_requests(&self) -> bool {
        self.slot.table(Kind::Devices).iter().all(|(_, sum)| sum.count == 0)
    }

    /// Whether the kernel counted requests of which none was captured.
    pub(crate) fn is_counted_alone(&self) -> bool {
        let mut counted = self.slot.table(Kind::Disk).iter();
        self.has_no_requests() && counted.any(|(_, sum)| sum.count > 0)
    }
}

/// The last minutes, and what rows are added to.
#[derive(Debug, Default)]
pub(crate) struct Past {
    pub(crate) kept: Kept,
    names: Names,
    storms: Storms,
    /// Seconds that rows were put into and that were not looked at since.
    touched: BTreeSet<i64>,
}

impl Past {
    /// Puts rows of a second, and those that come late, into their slots.
    pub(crate) fn put(&mut self, rows: &[Rollup]) {
        let Some(until) = rows.iter().map(|row| row.until_unix_ns).max() else { return };
        if until < self.kept.until_unix_ns - SET_BACK_SECONDS * NS {
            *self = Self::default();
        }
        let kept = &mut self.kept;
        kept.until_unix_ns = until.max(kept.until_unix_ns);
        let newest = (kept.until_unix_ns - 1).div_euclid(NS);
        for row in rows {
            let second = row.from_unix_ns.div_euclid(NS);
            if second > newest || second <= newest - MOST_SECONDS {
                continue;
            }
            if second > newest - SECONDS {
                let of = kept.seconds.entry(second).or_default();
                Arc::make_mut(of.slot.get_or_insert_default()).add(row, &mut self.names);
                self.touched.insert(second);
            }
            let ten = kept.tens.entry(second.div_euclid(10)).or_default();
            Arc::make_mut(ten).add(row, &mut self.names);
        }
        self.kept.age(newest);
    }

    /// Looks at the seconds that rows were put into.
    pub(crate) fn settle(&mut self) {
        for second in std::mem::take(&mut self.touched) {
            self.look(second);
        }
        self.kept.storms = self.storms.list();
    }

    /// Both at once.
    #[cfg(test)]
    fn add(&mut self, rows: &[Rollup]) {
        self.put(rows);
        self.settle();
    }

    /// Points and storms of a second that rows were added to.
    fn look(&mut self, second: i64) {
        let Some(of) = self.kept.seconds.get_mut(&second) else { return };
        let Some(slot) = of.slot.clone() else { return };
        of.points = Arc::new(points(&slot));
        self.storms.look(second, &slot);
    }
}

fn points(slot: &Slot) -> HashMap<Name, Point> {
    let mut devices: HashMap<&Name, Tally> = HashMap::new();
    for (key, sum) in slot.table(Kind::Devices).iter() {
        if let Some(device) = &key.device {
            devices.entry(device).or_default().merge(sum);
        }
    }
    let mut devices: Vec<(&Name, Tally)> = devices.into_iter().collect();
    devices.sort_unstable_by(|a, b| b.1.weight().total_cmp(&a.1.weight()));
    devices.truncate(MOST_DEVICES);
    let point = |sum: &Tally| Point {
        requests: sum.count as f64,
        p99_ns: sum.quantile_ns(0.99).unwrap_or(0.0),
    };
    devices.iter().map(|(name, sum)| (Name::clone(name), point(sum))).collect()
}

impl Kept {
    /// Forgets what is too old, and makes the second before the newest small.
    fn age(&mut self, newest: i64) {
        self.seconds.retain(|second, _| *second > newest - MOST_SECONDS);
        self.tens.retain(|ten, _| ten * 10 + 10 > newest - MOST_SECONDS);
        for (_, second) in self.seconds.range_mut(..=newest - SECONDS) {
            second.slot = None;
        }
        if let Some(Second { slot: Some(slot), .. }) = self.seconds.get_mut(&(newest - 1)) {
            Arc::make_mut(slot).seal();
        }
        if let Some(ten) = self.tens.get_mut(&(newest.div_euclid(10) - 1)) {
            Arc::make_mut(ten).seal();
        }
    }

    /// The sums of the last seconds; the begin of more than a minute is that of a ten.
    pub(crate) fn window(&self, seconds: i64) -> Window {
        let newest = (self.until_unix_ns - 1).div_euclid(NS);
        let from = newest - seconds + 1;
        let mut slot = Slot::default();
        // Up to ten seconds are single ones alone; of more, those before the first whole ten.
        let first_ten = if seconds <= 10 { None } else { Some((from + 9).div_euclid(10)) };
        for (_, ten) in self.tens.range(first_ten.unwrap_or(i64::MAX)..) {
            slot.merge(ten);
        }
        let single = from..first_ten.map_or(newest + 1, |ten| ten * 10);
        for (_, second) in self.seconds.range(single) {
            if let Some(of) = &second.slot {
                slot.merge(of);
            }
        }
        let told = slot
            .table(Kind::Watch)
            .iter()
            .filter(|(key, _)| &*key.operation == operations::WATCHED)
            .fold(0u64, |all, (_, sum)| all.saturating_add(sum.sum_ns));
        let counted = self.seconds.range(from..).count();
        let span_ns = if told > 0 { told as f64 } else { counted.max(1) as f64 * NS as f64 };
        Window { slot, span_ns }
    }

    /// What each of the last seconds was of a device, the oldest first.
    pub(crate) fn points(&self, device: &str) -> Vec<Point> {
        let newest = (self.until_unix_ns - 1).div_euclid(NS);
        let point = |second| {
            let of = self.seconds.get(&second)?;
            of.points.get(device).copied()
        };
        (newest - MOST_SECONDS + 1..=newest).map(|s| point(s).unwrap_or_default()).collect()
    }

    /// Whether nothing came yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.until_unix_ns == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Key;
    use model::record::Counted;

    fn row(second: i64, role: &str, count: u64) -> Rollup {
        Rollup {
            from_unix_ns: second * NS,
            until_unix_ns: (second + 1) * NS,
            counted: Counted::Requests,
            device: Some("vda".into()),
            operation: "read".into(),
            role: Some(role.into()),
            count,
            sum_ns: count,
            ..Rollup::default()
        }
    }

    fn count(past: &Past, seconds: i64) -> u64 {
        let window = past.kept.window(seconds);
        window.slot.table(Kind::Devices).iter().map(|(_, sum)| sum.count).sum()
    }

    #[test]
    fn each_window_has_its_seconds_and_late_rows_are_of_theirs() {
        let mut past = Past::default();
        for second in 1000..1400 {
            past.add(&[row(second, "a", 1)]);
        }
        for (seconds, counted) in [(1, 1), (10, 10), (60, 60), (300, 300)] {
            assert_eq!(count(&past, seconds), counted, "{seconds}");
            let span_s = past.kept.window(seconds).span_ns / 1e9;
            assert_eq!(span_s, seconds as f64);
        }
        // Of 5 s ago, 30 s ago, 200 s ago, and of what is forgotten.
        for second in [1394, 1369, 1200, 900] {
            past.add(&[row(second, "a", 1000)]);
        }
        assert_eq!((count(&past, 1), count(&past, 10)), (1, 1010));
        assert_eq!((count(&past, 60), count(&past, 300)), (2060, 3300));
    }

    #[test]
    fn what_is_frozen_does_not_change() {
        let mut past = Past::default();
        past.add(&[row(100, "a", 1)]);
        let frozen = past.kept.clone();
        past.add(&[row(100, "a", 5), row(101, "a", 5)]);
        let sum = |kept: &Kept| {
            let window = kept.window(10);
            window.slot.table(Kind::Requests).iter().map(|(_, sum)| sum.count).sum::<u64>()
        };
        assert_eq!((sum(&frozen), sum(&past.kept)), (1, 11));
    }

    #[test]
    fn memory_is_bounded_by_the_keys_of_a_slot() {
        let mut past = Past::default();
        for second in 0..70 {
            let rows: Vec<Rollup> =
                (0..600).map(|role| row(second, &format!("{second} {role}"), 1)).collect();
            past.add(&rows);
        }
        let most = 2 * crate::table::MOST_KEYS + 1;
        assert!(past.kept.tens.values().all(|slot| slot.table(Kind::Requests).len() <= most));
        assert!(past.kept.seconds.values().filter(|second| second.slot.is_some()).count() <= 60);
        assert_eq!(count(&past, 10), 6000);
        assert!(past.names.len() < 30_000, "{}", past.names.len());
        let others = Key { is_others: true, operation: "read".into(), ..Key::default() };
        assert!(past.kept.window(10).slot.table(Kind::Requests).get(&others).is_some());
    }

    #[test]
    fn a_clock_that_was_set_back_begins_anew() {
        let mut past = Past::default();
        past.add(&[row(100_000, "a", 1)]);
        past.add(&[row(50, "a", 3)]);
        assert_eq!((count(&past, 300), past.kept.until_unix_ns), (3, 51 * NS));
        past.add(&[row(200_000, "a", 7)]);
        assert_eq!(count(&past, 300), 7);
    }
}
