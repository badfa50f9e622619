//! Who lost how much time to whom, and when.

use super::Asked;
use super::watch::Watch;
use crate::merge::merged;
use crate::response::period;
use crate::{Storm, united};
use analyze::statistics::NORMAL_95;
use hashbrown::hash_map::EntryRef;
use hashbrown::{Equivalent, HashMap};
use model::circumstance::Circumstance;
use model::history::{By, Line, Loss, Pair};
use model::record::RollupRow;
use std::collections::BTreeMap;

/// Less is nobody's loss,
const LEAST_NS: f64 = 1e8;
/// and so is less than this of all that the victim waited.
const LEAST_PERCENT: f64 = 1.0;
/// But for a short time in which it was as much as this.
const LEAST_PERCENT_THEN: f64 = 10.0;
/// Where more than this part of a loss is an estimate, it is one.
const ESTIMATED: f64 = 0.5;
/// The part of a loss that tells when it was.
const MOST: f64 = 0.8;

/// What was lost, each with its time's begin and end, in any order: a year has a million of them.
type ByTime = Vec<(i64, i64, f64)>;

/// Of a pair: what was lost, how sure that is, and the times in which it was much at once.
#[derive(Debug, Clone, Default)]
struct OfPair {
    times: ByTime,
    estimated_ns: i64,
    lost_us2: i64,
    /// Begins and ends of each, where they are kept one by one; else how many, and how long.
    storms: Vec<(i64, i64)>,
    more_storms: (u64, u64),
}

merged!(OfPair { times, estimated_ns, lost_us2, storms, more_storms });

impl OfPair {
    fn lost_ns(&self) -> f64 {
        self.times.iter().map(|(.., lost_ns)| lost_ns).sum()
    }

    /// Half of the interval of what was lost.
    fn half_ns(&self) -> Option<f64> {
        let is_estimate = self.estimated_ns as f64 > ESTIMATED * self.lost_ns();
        (!is_estimate).then(|| 1e3 * NORMAL_95 * (self.lost_us2.max(0) as f64).sqrt())
    }

    /// How many storms there were, how long in all, and the time from one to the next.
    fn storms(&self, is_still: bool) -> ((u64, u64), Option<f64>) {
        let as_storm = |(from_ns, until_ns): &(i64, i64)| Storm {
            from_ns: *from_ns,
            until_ns: *until_ns,
            lost_ns: 0,
        };
        let one_by_one = united(self.storms.iter().map(as_storm).collect(), is_still);
        let times = one_by_one.iter().map(|storm| (storm.until_ns - storm.from_ns).unsigned_abs());
        let (count, sum_ns) = self.more_storms;
        let all = (count + one_by_one.len() as u64, sum_ns + times.sum::<u64>());
        let begins: Vec<i64> = one_by_one.iter().map(|storm| storm.from_ns).collect();
        (all, period(&begins).map(|period| period.period_ns))
    }
}

/// Who waited, for what, on which device; because of whom, or nothing; on which host; and of which
/// cgroup, where lines are of it.
type Names = [String; 6];

/// Names that are lent: a year has millions of rows and few names.
#[derive(Hash)]
struct Lent<'a>([&'a str; 6]);

impl Equivalent<Names> for Lent<'_> {
    fn equivalent(&self, names: &Names) -> bool {
        self.0.iter().eq(names.iter())
    }
}

impl Lent<'_> {
    fn of<'a>(row: &RollupRow<'a>) -> Lent<'a> {
        let [role, device, cause, host, cgroup] =
            [row.role, row.device, row.cause, row.host, row.cgroup].map(Option::unwrap_or_default);
        Lent([role, row.operation, device, cause, host, cgroup])
    }

    /// What a map has of these names; anew where it has nothing.
    fn among<'a, T: Default>(&self, map: &'a mut HashMap<Names, T>) -> &'a mut T {
        match map.entry_ref(self) {
            EntryRef::Occupied(known) => known.into_mut(),
            EntryRef::Vacant(new) => new.insert_with_key(self.0.map(str::to_owned), T::default()),
        }
    }
}

/// All losses.
#[derive(Debug, Clone, Default)]
pub(super) struct Losses {
    pairs: HashMap<Names, OfPair>,
    /// What was waited, each with its time's begin.
    waited: HashMap<Names, Vec<(i64, u64)>>,
}

merged!(Losses { pairs, waited });

impl Losses {
    /// How many names it has of those who lost, and how many of those who waited.
    pub(super) fn counts(&self) -> [usize; 2] {
        [self.pairs.len(), self.waited.len()]
    }

    pub(super) fn lost(&mut self, row: &RollupRow<'_>) {
        let of_pair = Lent::of(row).among(&mut self.pairs);
        of_pair.times.push((row.from_unix_ns, row.until_unix_ns, row.lost_ns as f64));
        of_pair.estimated_ns += row.estimated_ns;
        of_pair.lost_us2 += row.lost_us2;
    }

    pub(super) fn storm(&mut self, row: &RollupRow<'_>) {
        // What turned out to be chance is none.
        if row.lost_ns <= 0 {
            return;
        }
        let of_pair = Lent::of(row).among(&mut self.pairs);
        // Where rows were added up, it is one of some in a longer time.
        let length_ns = (row.until_unix_ns - row.from_unix_ns).unsigned_abs();
        match row.sum_ns == length_ns {
            true => of_pair.storms.push((row.from_unix_ns, row.until_unix_ns)),
            false => {
                of_pair.more_storms.0 += row.count;
                of_pair.more_storms.1 += row.sum_ns;
            }
        }
    }

    pub(super) fn waited(&mut self, row: &RollupRow<'_>) {
        let times = Lent::of(row).among(&mut self.waited);
        times.push((row.from_unix_ns, row.sum_ns));
    }

    /// Of each line's time and group: what was lost, and the pair that lost most.
    pub(super) fn by_interval(&self, asked: &Asked) -> BTreeMap<(i64, String), (f64, (Pair, f64))> {
        let mut by_names: BTreeMap<(i64, String), BTreeMap<&Names, f64>> = BTreeMap::new();
        for (names, OfPair { times, .. }) in &self.pairs {
            let [victim, operation, device, cause, host, cgroup] = names;
            let group = match asked.by {
                By::Time | By::FileSystem | By::Size | By::Origin => "",
                By::Device | By::Model => device,
                By::Operation => operation,
                By::Role => victim,
                By::Cgroup | By::Pod | By::Namespace => cgroup,
                By::Cause => cause,
                By::Host => host,
            };
            let mut sums: HashMap<i64, f64> = HashMap::new();
            for (from, _, lost_ns) in times {
                *sums.entry(asked.interval(*from)).or_default() += lost_ns;
            }
            for (interval, lost_ns) in sums {
                by_names.entry((interval, group.to_owned())).or_default().insert(names, lost_ns);
            }
        }
        let most = |of: BTreeMap<&Names, f64>| {
            // What is less than nothing is chance, and makes up for the rest of it.
            let all: f64 = of.values().sum();
            let most = of.into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
            most.map(|(names, lost_ns)| (all, (pair(names), lost_ns)))
        };
        by_names.into_iter().filter_map(|(key, of)| Some((key, most(of)?))).collect()
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
            self.pairs.iter().map(|(names, of_pair)| self.of(names, of_pair)).collect();
        all.sort_by(|a, b| b.lost_ns.total_cmp(&a.lost_ns).then_with(|| a.pair.cmp(&b.pair)));
        all
    }

    fn of(&self, names: &Names, of_pair: &OfPair) -> Loss {
        let lost_ns = of_pair.lost_ns();
        let (worst_unix_ns, worst_lost_ns) = worst(&in_order(&of_pair.times));
        let [victim, operation, device, cause, host, cgroup] = names;
        let is_still = *cause == Circumstance::Device.marked();
        let (storms, period_ns) = of_pair.storms(is_still);
        let waited = self.waited.get(&Lent([victim, operation, device, "", host, cgroup]));
        let percent = |lost_ns: f64, span: std::ops::Range<i64>| {
            let within = waited?.iter().filter(|(from, _)| span.contains(from));
            let waited_ns: u64 = within.map(|(_, ns)| ns).sum();
            (waited_ns > 0).then(|| 100.0 * lost_ns / waited_ns as f64)
        };
        let percent_of_all = percent(lost_ns, i64::MIN..i64::MAX);
        let percent_then = percent(worst_lost_ns, worst_unix_ns.0..worst_unix_ns.1);
        let is_much = percent_of_all.is_none_or(|percent| percent >= LEAST_PERCENT)
            || percent_then.is_some_and(|percent| percent >= LEAST_PERCENT_THEN);
        let half_ns = of_pair.half_ns();
        // What may be nothing is not said to have been lost.
        let is_sure = half_ns.is_none_or(|half_ns| lost_ns > half_ns);
        Loss {
            pair: pair(names),
            lost_ns,
            percent: percent_of_all,
            worst_unix_ns,
            worst_lost_ns,
            half_ns,
            storms,
            period_ns,
            matters: lost_ns >= LEAST_NS && is_much && is_sure,
        }
    }
}

fn pair([victim, operation, device, cause, host, _]: &Names) -> Pair {
    Pair {
        host: host.clone(),
        victim: victim.clone(),
        operation: operation.clone(),
        device: device.clone(),
        cause: cause.clone(),
    }
}

/// In the order of time, each once. What is less than nothing is chance.
fn in_order(times: &ByTime) -> ByTime {
    let mut sorted = times.clone();
    sorted.sort_unstable_by_key(|(from, until, _)| (*from, *until));
    sorted.dedup_by(|next, first| {
        let is_same = next.0 == first.0;
        if is_same {
            (first.1, first.2) = (first.1.max(next.1), first.2 + next.2);
        }
        is_same
    });
    sorted.iter_mut().for_each(|(.., lost_ns)| *lost_ns = lost_ns.max(0.0));
    sorted
}

/// The shortest time in which most was lost, and how much.
fn worst(times: &ByTime) -> ((i64, i64), f64) {
    let most = MOST * times.iter().map(|(_, _, lost)| lost).sum::<f64>();
    let (mut best, mut begin, mut sum) = (None, 0, 0.0);
    for (place, (_, until, lost)) in times.iter().enumerate() {
        sum += lost;
        while begin < place && sum - times[begin].2 >= most {
            sum -= times[begin].2;
            begin += 1;
        }
        let length = until - times[begin].0;
        let is_better = best.is_none_or(|(known, _, _): (i64, (i64, i64), f64)| length < known);
        if sum >= most && is_better {
            best = Some((length, (times[begin].0, *until), sum));
        }
    }
    best.map(|(_, span, sum)| (span, sum)).unwrap_or_default()
}
