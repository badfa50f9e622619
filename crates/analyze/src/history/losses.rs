//! Who lost how much time to whom, and when.

use super::Asked;
use super::watch::Watch;
use model::history::{By, Line, Loss, Pair};
use model::record::WatchedRow;
use std::collections::BTreeMap;

/// Less is nobody's loss,
const LEAST_NS: f64 = 1e8;
/// and so is less than this of all that the victim waited.
const LEAST_PERCENT: f64 = 1.0;

/// By time, with its end: what was lost.
type ByTime = BTreeMap<i64, (i64, f64)>;

/// All losses.
#[derive(Debug, Clone, Default)]
pub(super) struct Losses {
    pairs: BTreeMap<Pair, ByTime>,
    /// What roles waited, by what for and on which device.
    waited: BTreeMap<(String, String, String), u64>,
}

impl Losses {
    pub(super) fn lost(&mut self, row: &WatchedRow<'_>) {
        let owned = |name: Option<&str>| name.unwrap_or("").to_owned();
        let pair = Pair {
            victim: owned(row.role),
            operation: row.operation.to_owned(),
            device: owned(row.device),
            cause: owned(row.cause),
        };
        add(
            self.pairs.entry(pair).or_default(),
            row.from_unix_ns,
            (row.until_unix_ns, row.lost_ns),
        );
    }

    pub(super) fn waited(&mut self, row: &WatchedRow<'_>) {
        let owned = |name: Option<&str>| name.unwrap_or("").to_owned();
        let key = (owned(row.role), row.operation.to_owned(), owned(row.device));
        *self.waited.entry(key).or_default() += row.sum_ns;
    }

    pub(super) fn merge(&mut self, other: Self) {
        for (pair, times) in other.pairs {
            let mine = self.pairs.entry(pair).or_default();
            times.into_iter().for_each(|(from, lost)| add(mine, from, lost));
        }
        for (key, ns) in other.waited {
            *self.waited.entry(key).or_default() += ns;
        }
    }

    /// Of each line's time and group: what was lost, and the pair that lost most.
    pub(super) fn by_interval(&self, asked: &Asked) -> BTreeMap<(i64, String), (f64, (Pair, f64))> {
        let mut by_pair: BTreeMap<(i64, String), BTreeMap<&Pair, f64>> = BTreeMap::new();
        for (pair, times) in &self.pairs {
            let group = match asked.by {
                By::Time | By::FileSystem => "",
                By::Device => &pair.device,
                By::Operation => &pair.operation,
                By::Role => &pair.victim,
                By::Cause => &pair.cause,
            };
            for (from, (_, lost_ns)) in times {
                let key = (asked.interval(*from), group.to_owned());
                *by_pair.entry(key).or_default().entry(pair).or_default() += lost_ns;
            }
        }
        let most = |pairs: BTreeMap<&Pair, f64>| {
            // What is less than nothing is chance, and makes up for the rest of it.
            let all: f64 = pairs.values().sum();
            let most = pairs.into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
            most.map(|(pair, lost_ns)| (all, (pair.clone(), lost_ns)))
        };
        by_pair.into_iter().filter_map(|(key, pairs)| Some((key, most(pairs)?))).collect()
    }

    /// A line for each cause.
    pub(super) fn lines(&self, asked: &Asked, watch: &Watch) -> Vec<Line> {
        let keys = self.by_interval(asked).into_keys();
        let line = |key: (i64, String)| super::line::Cell::default().line(&key, asked, watch);
        keys.map(line).collect()
    }

    /// The pairs, the most lost first.
    pub(super) fn pairs(&self) -> Vec<Loss> {
        let mut all: Vec<Loss> =
            self.pairs.iter().map(|(pair, times)| self.of(pair, times)).collect();
        all.sort_by(|a, b| b.lost_ns.total_cmp(&a.lost_ns));
        all
    }

    fn of(&self, pair: &Pair, times: &ByTime) -> Loss {
        let worst = times.iter().max_by(|a, b| a.1.1.total_cmp(&b.1.1));
        let (from, (until, worst_lost_ns)) = worst.map(|(f, l)| (*f, *l)).unwrap_or_default();
        let waits = (pair.victim.clone(), pair.operation.clone(), pair.device.clone());
        let lost_ns = times.values().map(|(_, lost_ns)| lost_ns).sum();
        let waited_ns = self.waited.get(&waits).copied().filter(|ns| *ns > 0);
        let percent = waited_ns.map(|waited_ns| 100.0 * lost_ns / waited_ns as f64);
        Loss {
            pair: pair.clone(),
            lost_ns,
            percent,
            worst_unix_ns: (from, until),
            worst_lost_ns,
            matters: lost_ns >= LEAST_NS && percent.is_none_or(|percent| percent >= LEAST_PERCENT),
        }
    }
}

fn add(times: &mut ByTime, from: i64, (until, lost_ns): (i64, f64)) {
    let time = times.entry(from).or_insert((until, 0.0));
    *time = (time.0.max(until), time.1 + lost_ns);
}
