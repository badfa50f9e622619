//! Storms: seconds in which the response times of a device, or what a role lost there, stand out
//! against the minute before.
//!
//! Non-goals: incidents that are kept (the flight recorder's).

use crate::table::{Key, Kind, Name, Slot};
use crate::tally::Tally;
use hashbrown::HashMap;
use std::collections::{BTreeMap, VecDeque};

/// Storms that are kept.
const MOST: usize = 100;
/// Keys whose usual seconds are known.
const MOST_USUAL: usize = 1024;
/// Seconds that say what is usual.
const USUAL_SECONDS: usize = 60;
/// Before so many are known, nothing stands out.
const LEAST_SECONDS: usize = 5;
/// Responses of a second that a p99 can be told of.
const LEAST_COUNT: u64 = 10;
/// A p99 stands out at so many times the usual one, and so much at the least.
const TIMES: f64 = 4.0;
const LEAST_P99_NS: f64 = 1e6;
/// Time lost stands out at so much a second, and so many times the usual.
const LEAST_LOST_NS: f64 = 1e8;
const TIMES_LOST: f64 = 3.0;
/// Seconds of calm that do not end a storm.
const GAP_SECONDS: i64 = 2;

/// What stood out in a second.
#[derive(Debug, Clone, Default)]
struct Signs {
    /// Operation, its p99 and the usual one.
    response: Option<(Name, f64, f64)>,
    lost_ns: f64,
    /// Who lost the most: victim, cause, how much.
    pair: Option<(Name, Name, f64)>,
}

/// A storm.
#[derive(Debug, Clone, Default)]
pub(crate) struct Storm {
    pub(crate) device: Name,
    seconds: BTreeMap<i64, Signs>,
}

impl Storm {
    /// Its first and its last second.
    pub(crate) fn span(&self) -> (i64, i64) {
        let first = self.seconds.first_key_value().map_or(0, |(second, _)| *second);
        (first, self.seconds.last_key_value().map_or(first, |(second, _)| *second))
    }

    /// The worst p99 of its seconds: operation, p99, the usual one.
    pub(crate) fn worst(&self) -> Option<&(Name, f64, f64)> {
        let responses = self.seconds.values().filter_map(|signs| signs.response.as_ref());
        responses.max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// Who lost the most in a second: victim and cause.
    pub(crate) fn pair(&self) -> Option<(&Name, &Name)> {
        let pairs = self.seconds.values().filter_map(|signs| signs.pair.as_ref());
        pairs.max_by(|a, b| a.2.total_cmp(&b.2)).map(|(victim, cause, _)| (victim, cause))
    }

    /// What was lost in it, beyond calm.
    pub(crate) fn lost_ns(&self) -> f64 {
        self.seconds.values().map(|signs| signs.lost_ns).sum()
    }
}

/// The last values of a key, by second.
type Usual = VecDeque<(i64, f64)>;

/// What finds storms.
#[derive(Debug, Default)]
pub(crate) struct Storms {
    storms: Vec<Storm>,
    responses: HashMap<Key, Usual>,
    lost: HashMap<Key, Usual>,
    seconds: VecDeque<i64>,
}

impl Storms {
    /// Those that are known, the oldest first.
    pub(crate) fn list(&self) -> Vec<Storm> {
        self.storms.clone()
    }

    /// Looks at a second; again, if more of it is known.
    pub(crate) fn look(&mut self, second: i64, slot: &Slot) {
        if !self.seconds.contains(&second) {
            self.seconds.push_back(second);
        }
        while self.seconds.len() > USUAL_SECONDS {
            self.seconds.pop_front();
        }
        let mut found: HashMap<Name, Signs> = HashMap::new();
        self.responses(second, slot, &mut found);
        self.losses(second, slot, &mut found);
        for (device, signs) in found {
            self.put(device, second, signs);
        }
        for usual in [&mut self.responses, &mut self.lost] {
            usual.retain(|_, values| {
                values.back().is_some_and(|(last, _)| *last > second - 2 * USUAL_SECONDS as i64)
            });
        }
    }

    fn responses(&mut self, second: i64, slot: &Slot, found: &mut HashMap<Name, Signs>) {
        let mut sums: HashMap<Key, Tally> = HashMap::new();
        let with_device = |(key, _): &(&Key, &Tally)| key.device.is_some() && !key.is_others;
        for kind in [Kind::Devices, Kind::Calls] {
            for (key, sum) in slot.table(kind).iter().filter(with_device) {
                let of = Key { role: None, ..key.clone() };
                sums.entry(of).or_default().merge(sum);
            }
        }
        for (key, sum) in sums {
            let Some(p99) = sum.quantile_ns(0.99).filter(|_| sum.count >= LEAST_COUNT) else {
                continue;
            };
            let Some(usual) = remembered(&mut self.responses, &key, second, p99) else { continue };
            let device = key.device.unwrap_or_default();
            if usual.len() < LEAST_SECONDS {
                continue;
            }
            let usual = median(usual);
            if p99 < (TIMES * usual).max(LEAST_P99_NS) {
                continue;
            }
            let signs = found.entry(device).or_default();
            if signs.response.as_ref().is_none_or(|(_, known, _)| *known < p99) {
                signs.response = Some((key.operation, p99, usual));
            }
        }
    }

    fn losses(&mut self, second: i64, slot: &Slot, found: &mut HashMap<Name, Signs>) {
        let known = self.seconds.iter().filter(|known| **known < second).count();
        for (key, sum) in slot.table(Kind::Lost).iter().filter(|(key, _)| !key.is_others) {
            let Some(before) = remembered(&mut self.lost, key, second, sum.lost_ns) else {
                continue;
            };
            // A second without a row is one without a loss.
            let mut before = before;
            before.resize(known.max(before.len()), 0.0);
            if known < LEAST_SECONDS
                || sum.lost_ns < (TIMES_LOST * median(before)).max(LEAST_LOST_NS)
            {
                continue;
            }
            let signs = found.entry(key.device.clone().unwrap_or_default()).or_default();
            signs.lost_ns += sum.lost_ns;
            if signs.pair.as_ref().is_none_or(|(.., most)| *most < sum.lost_ns) {
                let of = |name: &Option<Name>| name.clone().unwrap_or_default();
                signs.pair = Some((of(&key.role), of(&key.other), sum.lost_ns));
            }
        }
    }

    fn put(&mut self, device: Name, second: i64, signs: Signs) {
        let near = |storm: &&mut Storm| {
            let (first, last) = storm.span();
            storm.device == device
                && (first - GAP_SECONDS..=last + GAP_SECONDS).contains(&second)
                && storm.seconds.len() < 2 * USUAL_SECONDS
        };
        if let Some(storm) = self.storms.iter_mut().rev().find(near) {
            storm.seconds.insert(second, signs);
            return;
        }
        self.storms.push(Storm { device, seconds: BTreeMap::from([(second, signs)]) });
        if self.storms.len() > MOST {
            self.storms.remove(0);
        }
    }
}

/// Keeps a second's value, and tells those of the seconds before it; none for a key too many.
fn remembered(
    of: &mut HashMap<Key, Usual>,
    key: &Key,
    second: i64,
    value: f64,
) -> Option<Vec<f64>> {
    if of.len() >= MOST_USUAL && !of.contains_key(key) {
        return None;
    }
    let values = of.entry_ref(key).or_default();
    match values.iter_mut().find(|(known, _)| *known == second) {
        Some((_, known)) => *known = value,
        None => values.push_back((second, value)),
    }
    while values.len() > USUAL_SECONDS {
        values.pop_front();
    }
    Some(values.iter().filter(|(known, _)| *known < second).map(|(_, value)| *value).collect())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Names;
    use model::histogram::SparseHistogram;
    use model::record::{Counted, Rollup};

    fn second(took_ns: u64, lost_ns: f64) -> Slot {
        let (mut slot, mut names) = (Slot::default(), Names::default());
        let mut responses = SparseHistogram::default();
        (0..50).for_each(|_| responses.record(took_ns));
        let mut calls = Rollup {
            counted: Counted::Calls,
            device: Some("vda".into()),
            operation: "fdatasync".into(),
            role: Some("postgres: backend".into()),
            count: 50,
            ..Rollup::default()
        };
        calls.set_responses(&responses);
        slot.add(&calls, &mut names);
        let lost = Rollup {
            counted: Counted::Lost,
            cause: Some("postgres: checkpointer".into()),
            lost_ns: lost_ns as i64,
            ..calls
        };
        slot.add(&lost, &mut names);
        slot
    }

    #[test]
    fn a_storm_is_what_stands_out_and_what_goes_on_is_usual() {
        let mut storms = Storms::default();
        for at in 0..100 {
            let (took, lost) = if (30..34).contains(&at) { (12e6, 8e8) } else { (5e5, 1e6) };
            storms.look(at, &second(took as u64, lost));
            // A second of which more rows come is looked at again.
            storms.look(at, &second(took as u64, lost));
        }
        let list = storms.list();
        assert_eq!(list.len(), 1, "{list:?}");
        assert_eq!(list[0].span(), (30, 33));
        let (operation, p99, usual) = list[0].worst().unwrap();
        assert_eq!(&**operation, "fdatasync");
        assert!((p99 / 12e6 - 1.0).abs() < 0.01 && (usual / 5e5 - 1.0).abs() < 0.01);
        assert!((list[0].lost_ns() - 3.2e9).abs() < 1e6);
        let (victim, cause) = list[0].pair().unwrap();
        assert_eq!((&**victim, &**cause), ("postgres: backend", "postgres: checkpointer"));
    }

    #[test]
    fn nothing_stands_out_where_all_is_bad_from_the_begin() {
        let mut storms = Storms::default();
        (0..60).for_each(|at| storms.look(at, &second(12_000_000, 8e8)));
        assert!(storms.list().is_empty());
    }
}
