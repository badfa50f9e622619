//! Who lost more than others, and what these have in common.
//!
//! For each cause a unit's loss is held against what the least affected quarter of all units with
//! its model lost of their waiting, or of all, where the model has few: a disk stands still for
//! longer than flash does. It stands out where it is beyond chance and beyond how far these differ,
//! with intervals that hold for all units and causes together, and beyond 1 % of what it waited. Of
//! a moment that is compared, what is held against others is what was lost after it beyond what was
//! lost before.
//!
//! Units that stand out are explained by the model, firmware or kernel that has most of them and
//! few others; what is left is of a role that many wait for, or of single hosts.
//!
//! Non-goals: two things in common at once.

use super::series::{Series, Side, quantile};
use super::{Sums, UnitKey, when};
use crate::merge::Merge as _;
use analyze::statistics::student_of;
use model::circumstance::Circumstance;
use model::fleet::{Common, FleetFinding, Found};
use statrs::distribution::{DiscreteCDF, Hypergeometric};
use std::collections::{BTreeMap, BTreeSet};

/// Less than this of what was waited is nothing, and so is less time.
const LEAST_SHARE: f64 = 0.01;
const LEAST_NS: f64 = 1e8;
/// Of fewer units there are no others to be held against.
const UNITS_LEAST: usize = 4;
/// Units of a model that are held against each other, at the least.
const MODEL_LEAST: usize = 2 * UNITS_LEAST;
/// The least affected part of all, and the part that tells how far its units differ.
const BASE: f64 = 0.25;
const BELOW: f64 = 0.1;
/// From one to the other, in deviations of a normal distribution.
const BASE_TO_BELOW: f64 = 0.607;
/// Hosts that have something in common.
const HOSTS_LEAST: usize = 3;
/// The part of those with a thing in common that stand out, at the least, and how many times the
/// part of the others that is.
const INSIDE: f64 = 0.6;
const TIMES_OUTSIDE: f64 = 2.0;
/// Of so many units of a group one may be apart from the others.
const APART_MOST: usize = 3;
/// The chance of a mistake over all that could be in common.
const MISTAKE: f64 = 0.05;

/// A unit and a cause.
#[derive(Debug, Clone)]
struct Candidate<'a> {
    key: &'a UnitKey,
    lost_ns: f64,
    waited_ns: f64,
    chance_ns: f64,
    /// By days and hours.
    series: Series,
    victims: BTreeMap<&'a str, f64>,
}

impl Candidate<'_> {
    fn share(&self) -> f64 {
        self.lost_ns / self.waited_ns
    }

    fn host(&self) -> &str {
        &self.key[0]
    }
}

/// What stands out, the most lost first.
pub(super) fn findings(fleet: &Sums) -> Vec<FleetFinding> {
    let causes: BTreeSet<&str> = fleet
        .units
        .values()
        .flat_map(|unit| unit.losses.keys().map(|(_, cause)| cause.as_str()))
        .collect();
    let tests = causes.len() * fleet.units.len();
    let wide = student_of(tests, f64::INFINITY).unwrap_or(f64::INFINITY);
    let of_cause = |cause: &&str| {
        let candidates = match fleet.asked.change_unix_ns {
            None => of_level(fleet, cause),
            Some(_) => of_change(fleet, cause),
        };
        Explained { fleet, cause, wide }.findings(&candidates)
    };
    let mut all: Vec<FleetFinding> = causes.iter().flat_map(of_cause).collect();
    all.sort_by(|a, b| b.lost_ns.total_cmp(&a.lost_ns).then_with(|| a.key.cmp(&b.key)));
    all
}

/// The losses of a unit to a cause, whoever lost, and who lost how much of it.
fn losses_of<'a>(unit: &'a super::Unit, cause: &str) -> (Series, BTreeMap<&'a str, f64>) {
    let (mut series, mut victims) = (Series::default(), BTreeMap::new());
    for ((role, _), of_role) in unit.losses.iter().filter(|((_, of), _)| of == cause) {
        series.merge(of_role.clone());
        *victims.entry(role.as_str()).or_default() += of_role.sum_ns(Side::All);
    }
    (series, victims)
}

/// What units lost.
fn of_level<'a>(fleet: &'a Sums, cause: &str) -> Vec<Candidate<'a>> {
    let candidate = |(key, unit): (&'a UnitKey, &'a super::Unit)| {
        let (series, victims) = losses_of(unit, cause);
        Candidate {
            key,
            lost_ns: series.sum_ns(Side::All),
            waited_ns: unit.waited.sum_ns(Side::All),
            chance_ns: series.chance_ns(Side::All),
            series,
            victims,
        }
    };
    fleet.units.iter().map(candidate).filter(|of| of.waited_ns > 0.0).collect()
}

/// What hosts' devices lost after a moment beyond what they lost before it: of one that was watched
/// on both sides, under whatever kernel.
fn of_change<'a>(fleet: &'a Sums, cause: &str) -> Vec<Candidate<'a>> {
    let mut devices: BTreeMap<[&str; 2], Vec<(&'a UnitKey, &'a super::Unit)>> = BTreeMap::new();
    for (key, unit) in &fleet.units {
        devices.entry([&key[0], &key[1]]).or_default().push((key, unit));
    }
    let candidate = |units: Vec<(&'a UnitKey, &'a super::Unit)>| {
        let (mut series, mut victims, mut waited) =
            (Series::default(), BTreeMap::new(), Series::default());
        for (_, unit) in &units {
            let (of_unit, of_victims) = losses_of(unit, cause);
            series.merge(of_unit);
            of_victims.into_iter().for_each(|(who, ns)| *victims.entry(who).or_default() += ns);
            waited.merge(unit.waited.clone());
        }
        let [before, after] = [Side::Before, Side::After].map(|side| waited.sum_ns(side));
        let after_ns = |(_, unit): &&(&UnitKey, &super::Unit)| unit.waited.sum_ns(Side::After);
        let (key, _) = units.iter().max_by(|a, b| after_ns(a).total_cmp(&after_ns(b))).copied()?;
        if before <= 0.0 || after <= 0.0 {
            return None;
        }
        let times = after / before;
        let [chance_before, chance_after] =
            [Side::Before, Side::After].map(|side| series.chance_ns(side));
        Some(Candidate {
            key,
            lost_ns: series.sum_ns(Side::After) - times * series.sum_ns(Side::Before),
            waited_ns: after,
            chance_ns: chance_after.hypot(times * chance_before),
            series,
            victims,
        })
    };
    devices.into_values().filter_map(candidate).collect()
}

/// What others lose of their waiting, and how far they differ.
fn base(of: &[&Candidate<'_>]) -> (f64, f64) {
    if of.len() < UNITS_LEAST {
        return (0.0, 0.0);
    }
    let at = |share| quantile(of.iter().map(|candidate| candidate.share()).collect(), share);
    let (base, below) = (at(BASE), at(BELOW));
    (base.max(0.0), ((base - below) / BASE_TO_BELOW).max(0.0))
}

/// A thing that units have in common: what it is, and the place of its name in their keys.
const IN_COMMON: [(Common, usize); 3] =
    [(Common::Model, 2), (Common::Firmware, 3), (Common::Kernel, 4)];

struct Explained<'a> {
    fleet: &'a Sums,
    cause: &'a str,
    /// Deviations that all intervals together need.
    wide: f64,
}

impl Explained<'_> {
    /// Those that lost more than others of their model.
    fn affected_of_all<'c>(&self, all: &[&'c Candidate<'c>]) -> Vec<&'c Candidate<'c>> {
        let mut models: BTreeMap<&str, Vec<&Candidate<'_>>> = BTreeMap::new();
        all.iter().for_each(|of| models.entry(&of.key[2]).or_default().push(of));
        let of_all = base(all);
        let of_model = |units: Vec<&'c Candidate<'c>>| {
            let base = if units.len() < MODEL_LEAST { of_all } else { base(&units) };
            self.affected(&units, base)
        };
        models.into_values().flat_map(of_model).collect()
    }

    /// Those that lost more than others.
    fn affected<'c>(
        &self,
        of: &[&'c Candidate<'c>],
        (base, spread): (f64, f64),
    ) -> Vec<&'c Candidate<'c>> {
        let is_affected = |candidate: &&&Candidate<'_>| {
            let more_ns = candidate.lost_ns - base * candidate.waited_ns;
            let chance_ns = candidate.chance_ns.hypot(spread * candidate.waited_ns);
            more_ns > self.wide * chance_ns
                && more_ns >= LEAST_SHARE * candidate.waited_ns
                && more_ns >= LEAST_NS
        };
        of.iter().filter(is_affected).copied().collect()
    }

    fn findings<'c>(&self, candidates: &'c [Candidate<'c>]) -> Vec<FleetFinding> {
        let all: Vec<&Candidate<'_>> = candidates.iter().collect();
        let base = base(&all);
        let mut left = self.affected_of_all(&all);
        let mut found = Vec::new();
        if base.0 >= LEAST_SHARE {
            found.push(self.finding(Common::All, "", &all, hosts(&all)));
        }
        let mut singles = Vec::new();
        while let Some((common, name, group)) = in_common(&all, &left) {
            let outside = without(&left, &group);
            let inside = without(&left, &outside);
            let apart = self.apart(&group, &inside);
            let others = without(&inside, &apart);
            found.push(self.finding(common, name, &others, hosts(&group)));
            singles.extend(apart);
            left = outside;
        }
        if hosts(&left) >= HOSTS_LEAST {
            let apart = self.apart(&left, &left);
            let others = without(&left, &apart);
            // What has no name of its own is not one thing because many lose to it.
            let is_one = Circumstance::of_marked(self.cause).is_none();
            if is_one || hosts(&others) >= 2 * HOSTS_LEAST {
                found.push(self.finding(Common::Cause, self.cause, &others, hosts(&all)));
                left = apart;
            }
        }
        // A host's device is one thing under all of its kernels.
        let device = |of: &Candidate<'c>| (of.key[0].as_str(), of.key[1].as_str());
        let alone: BTreeSet<_> = left.iter().chain(&singles).map(|of| device(of)).collect();
        for one in alone {
            let of: Vec<&Candidate<'_>> =
                all.iter().copied().filter(|of| device(of) == one).collect();
            found.push(self.finding(Common::Host, one.0, &of, 1));
        }
        found
    }

    /// Those that lost more than the others of their group.
    fn apart<'c>(
        &self,
        group: &[&'c Candidate<'c>],
        inside: &[&'c Candidate<'c>],
    ) -> Vec<&'c Candidate<'c>> {
        // Of a few the least affected one is how the group is.
        let (base, spread) = match group.len() < UNITS_LEAST {
            true => (group.iter().map(|of| of.share()).fold(f64::INFINITY, f64::min), 0.0),
            false => base(group),
        };
        let most = self.affected(group, (base, spread));
        let is_more = |of: &&Candidate<'_>| {
            of.share() > TIMES_OUTSIDE * base && inside.iter().any(|one| std::ptr::eq(*one, *of))
        };
        let found: Vec<&Candidate<'_>> = most.into_iter().filter(is_more).collect();
        // Where many do, it is how the group is.
        if found.len() * APART_MOST > group.len() { Vec::new() } else { found }
    }

    fn finding(
        &self,
        common: Common,
        key: &str,
        of: &[&Candidate<'_>],
        of_hosts: usize,
    ) -> FleetFinding {
        let mut series = Series::default();
        let (mut victims, mut by_host) = (BTreeMap::new(), BTreeMap::new());
        for candidate in of {
            series.merge(candidate.series.clone());
            for (who, lost_ns) in &candidate.victims {
                *victims.entry(*who).or_insert(0.0) += lost_ns;
            }
            *by_host.entry(candidate.host()).or_insert(0.0) += candidate.lost_ns;
        }
        let lost_ns: f64 = of.iter().map(|of| of.lost_ns).sum();
        let waited_ns: f64 = of.iter().map(|of| of.waited_ns).sum();
        let chance_ns: f64 = of.iter().map(|of| of.chance_ns.powi(2)).sum::<f64>().sqrt();
        let mut worst: Vec<(&str, f64)> = by_host.iter().map(|(host, ns)| (*host, *ns)).collect();
        worst.sort_by(|a, b| b.1.total_cmp(&a.1));
        let found = |(host, _): (&str, f64)| Found {
            host: host.to_owned(),
            source: self.fleet.source_of(host),
        };
        let first = of.first().map(|of| of.key);
        let name = |place: usize| first.map_or_else(String::new, |key| key[place].clone());
        FleetFinding {
            common,
            key: key.to_owned(),
            model: if common == Common::Firmware { name(2) } else { String::new() },
            cause: self.cause.to_owned(),
            victim: most(&victims).to_owned(),
            device: if common == Common::Host { name(1) } else { String::new() },
            hosts: by_host.len(),
            of_hosts,
            lost_ns,
            half_ns: self.wide * chance_ns,
            percent: 100.0 * lost_ns / waited_ns.max(1.0),
            since_unix_ns: self.days().and_then(|days| when::since(self.fleet, &series, days)),
            hours: when::hours(&series.hours),
            worst: worst.into_iter().map(found).collect(),
        }
    }

    /// The first and the last day that anybody was watched.
    fn days(&self) -> Option<(i64, i64)> {
        let watched = self.fleet.hosts.values().flat_map(|host| host.watched.values());
        let days = watched.flat_map(|series| series.days(Side::All).map(|(day, _)| day));
        let (first, last) =
            days.fold((i64::MAX, i64::MIN), |all, day| (all.0.min(day), all.1.max(day)));
        (first <= last).then_some((first, last))
    }
}

/// Those that are not among others.
fn without<'c>(of: &[&'c Candidate<'c>], others: &[&Candidate<'c>]) -> Vec<&'c Candidate<'c>> {
    let is_other = |of: &&Candidate<'_>| others.iter().any(|one| std::ptr::eq(*one, *of));
    of.iter().copied().filter(|of| !is_other(of)).collect()
}

/// The name with the most.
fn most<'a>(of: &BTreeMap<&'a str, f64>) -> &'a str {
    of.iter().max_by(|a, b| a.1.total_cmp(b.1)).map_or("", |(name, _)| name)
}

fn hosts(of: &[&Candidate<'_>]) -> usize {
    of.iter().map(|candidate| candidate.host()).collect::<BTreeSet<_>>().len()
}

/// What has a unit's key.
pub(super) trait Keyed {
    fn key(&self) -> &UnitKey;
}

impl Keyed for Candidate<'_> {
    fn key(&self) -> &UnitKey {
        self.key
    }
}

/// What those that are left have in common: what it is, its name, and all units that have it.
pub(super) fn in_common<'c, T: Keyed>(
    all: &[&'c T],
    left: &[&'c T],
) -> Option<(Common, &'c str, Vec<&'c T>)> {
    // A firmware's name says little without its model's.
    let name = |of: &&'c T, place: usize| {
        let key = of.key();
        [if place == 3 { key[2].as_str() } else { "" }, key[place].as_str()]
    };
    let mut names: BTreeSet<(usize, [&'c str; 2])> = BTreeSet::new();
    for (_, place) in IN_COMMON {
        names.extend(left.iter().map(|of| (place, name(of, place))));
    }
    names.retain(|(_, [_, own])| !own.is_empty());
    let tests = names.len();
    let scored = |(place, own): (usize, [&'c str; 2])| {
        let group: Vec<&T> = all.iter().copied().filter(|of| name(of, place) == own).collect();
        let inside: Vec<&T> = left.iter().copied().filter(|of| name(of, place) == own).collect();
        let (n, k) = (all.len() as f64, left.len() as f64);
        let (g, both) = (group.len() as f64, inside.len() as f64);
        let outside = (k - both) / (n - g).max(1.0);
        let is_more = both >= INSIDE * g && both / g >= TIMES_OUTSIDE * outside && g < n;
        let chance = Hypergeometric::new(n as u64, k as u64, g as u64).ok()?;
        let is_chance = chance.sf((both as u64).saturating_sub(1)) * tests as f64 > MISTAKE;
        let common = IN_COMMON.iter().find(|(_, of)| *of == place)?.0;
        let hosts: BTreeSet<&str> = inside.iter().map(|of| of.key()[0].as_str()).collect();
        (hosts.len() >= HOSTS_LEAST && is_more && !is_chance)
            .then(|| (both / (k + g - both), common, own[1], group))
    };
    // Of equal ones the first: a model says more than its only firmware.
    let best = names.into_iter().filter_map(scored);
    let best = best.reduce(|best, next| if next.0 > best.0 { next } else { best });
    best.map(|(_, common, name, group)| (common, name, group))
}
