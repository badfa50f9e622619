//! Storms: hours in which many hosts lost much to one cause at once, more than chance brings
//! together; and those of one host alone.
//!
//! Hosts are independent unless something hits them together: in an hour so many of them have a
//! storm as a Poisson number has it. What is far above is one event.
//!
//! Non-goals: which minute of an hour.

use super::series::middle;
use super::{Storms, Sums};
use crate::merge::Merge as _;
use model::fleet::{FleetStorm, Found};
use model::history::HOUR_NS;
use statrs::distribution::{DiscreteCDF, Poisson};
use std::collections::{BTreeMap, BTreeSet};

/// Fewer hosts at once are none that were hit together,
const HOSTS_LEAST: usize = 3;
/// with this chance of a mistake over all hours and causes.
const MISTAKE: f64 = 0.05;
/// Of fewer silent places the middle one tells what is usual.
const SILENT_LEAST: f64 = 0.05;
/// Of fewer hosts nobody knows what is usual.
const OTHERS_LEAST: f64 = 4.0;
/// Less lost is none.
const LEAST_NS: i64 = 1_000_000_000;

/// The hosts with storms of a cause in an hour.
type ByHour<'a> = BTreeMap<i64, Vec<(&'a str, Storms)>>;

/// All of them: those of many hosts first, the most lost first.
pub(super) fn storms(fleet: &Sums) -> Vec<FleetStorm> {
    let mut causes: BTreeMap<&str, ByHour<'_>> = BTreeMap::new();
    for (host, of) in &fleet.hosts {
        for (cause, by_hour) in &of.storms {
            let hours = causes.entry(cause).or_default();
            for (hour, storms) in by_hour {
                hours.entry(*hour).or_default().push((host, *storms));
            }
        }
    }
    let begin = fleet.asked.from_unix_ns.div_euclid(HOUR_NS);
    let end = fleet.asked.until_unix_ns.saturating_sub(1).div_euclid(HOUR_NS);
    let hours = (end.saturating_sub(begin).saturating_add(1)).max(1) as f64;
    let tests = hours * causes.len().max(1) as f64;
    let (mut of_many, mut alone) = (Vec::new(), Vec::new());
    for (cause, by_hour) in &causes {
        let hosts_each = by_hour.values().map(|hosts| hosts.len() as f64).collect();
        let least = beyond_chance(hosts_each, hours, tests).max(HOSTS_LEAST);
        let (together, others): (Vec<_>, Vec<_>) =
            by_hour.iter().partition(|(_, hosts)| hosts.len() >= least);
        let many = of_hosts(fleet, cause, &together);
        of_many.extend(many.filter(|storm| storm.lost_ns >= LEAST_NS as f64));
        alone.extend(of_single_hosts(fleet, cause, &others));
    }
    for all in [&mut of_many, &mut alone] {
        all.sort_by(|a: &FleetStorm, b| b.lost_ns.total_cmp(&a.lost_ns));
    }
    of_many.into_iter().chain(alone).collect()
}

/// How many are more than chance brings to one of `all` places, of which those that are not silent
/// have so many each.
fn beyond_chance(counts: Vec<f64>, all: f64, tests: f64) -> usize {
    // What is looked for moves neither the number of silent places much nor the middle one: a
    // Poisson number's mean follows from either.
    let silent = (all - counts.len() as f64) / all;
    let mean = if silent > SILENT_LEAST { -silent.ln() } else { middle(counts) };
    let rare = Poisson::new(mean.max(1.0 / all)).map(|of| of.inverse_cdf(1.0 - MISTAKE / tests));
    usize::try_from(rare.unwrap_or(0)).unwrap_or(usize::MAX).saturating_add(1)
}

/// What hit many hosts at once.
fn of_hosts(
    fleet: &Sums,
    cause: &str,
    hours: &[(&i64, &Vec<(&str, Storms)>)],
) -> Option<FleetStorm> {
    let (first, last) = (hours.first()?, hours.last()?);
    let mut by_host: BTreeMap<&str, Storms> = BTreeMap::new();
    for (host, storms) in hours.iter().flat_map(|(_, hosts)| hosts.iter()) {
        by_host.entry(host).or_default().merge(*storms);
    }
    let worst = by_host.iter().max_by_key(|(_, storms)| storms.lost_ns)?.0;
    Some(FleetStorm {
        cause: cause.to_owned(),
        from_unix_ns: first.0 * HOUR_NS,
        until_unix_ns: (last.0 + 1) * HOUR_NS,
        hours: hours.len(),
        hosts: hours.iter().map(|(_, hosts)| hosts.len()).max()?,
        storms: by_host.values().map(|storms| storms.count).sum(),
        lost_ns: by_host.values().map(|storms| storms.lost_ns as f64).sum(),
        worst: Found { host: (*worst).to_owned(), source: fleet.source_of(worst) },
    })
}

/// What single hosts had.
fn of_single_hosts(
    fleet: &Sums,
    cause: &str,
    hours: &[(&i64, &Vec<(&str, Storms)>)],
) -> Vec<FleetStorm> {
    let mut by_host: BTreeMap<&str, (BTreeSet<i64>, Storms)> = BTreeMap::new();
    for (hour, hosts) in hours {
        for (host, storms) in *hosts {
            let of = by_host.entry(host).or_default();
            of.0.insert(**hour);
            of.1.merge(*storms);
        }
    }
    // Among many hosts some have a few by chance.
    let hours_each = by_host.values().map(|(hours, _)| hours.len() as f64).collect();
    let all = fleet.hosts.len() as f64;
    let least = if all < OTHERS_LEAST { 1 } else { beyond_chance(hours_each, all, all) };
    by_host.retain(|_, (hours, storms)| storms.lost_ns >= LEAST_NS && hours.len() >= least);
    let storm = |(host, (hours, storms)): (&str, (BTreeSet<i64>, Storms))| FleetStorm {
        cause: cause.to_owned(),
        from_unix_ns: hours.first().map_or(0, |hour| hour * HOUR_NS),
        until_unix_ns: hours.last().map_or(0, |hour| (hour + 1) * HOUR_NS),
        hours: hours.len(),
        hosts: 1,
        storms: storms.count,
        lost_ns: storms.lost_ns as f64,
        worst: Found { host: host.to_owned(), source: fleet.source_of(host) },
    };
    by_host.into_iter().map(storm).collect()
}
