//! Which hosts are slower than others of their kind, whatever they lost: what is slow all the time
//! is its own calm, and loses nothing.
//!
//! - `level`: hosts with a firmware or a kernel against others of the model, by ranks.
//! - `change`: after a moment against before it, by hours of the day.
//! - `drift`: a host that becomes slower and slower, against others of its model.
//! - `stalls`: hours in which many requests at once took many times as long as ever else.
//! - `rank`, `track`: what these reckon with.
//!
//! A figure is of a host, never of a request: requests of a host are alike. Each kind of finding
//! holds to 95 % for all of its comparisons together (Bonferroni).
//!
//! Non-goals: whose requests they are; what made them slow.

mod change;
mod drift;
mod level;
mod rank;
mod stalls;
#[cfg(test)]
mod tests;
mod track;

use super::pace::{Pace, bin_ns};
use super::{Sums, UnitKey};
use model::fleet::{FleetSlower, Found};
use model::history::DAY_NS;
use std::collections::{BTreeMap, BTreeSet};

/// The chance of a mistake over all comparisons of a kind.
const MISTAKE: f64 = 0.05;
/// Hosts that are a group, at the least.
const HOSTS_LEAST: usize = 3;
/// Less is not slower: 5 %, as a logarithm.
const LEAST: f64 = 0.0488;
/// A middle distance from the middle, in deviations of a normal distribution.
const MIDDLE_DISTANCE: f64 = 0.6745;

/// A device's requests of an operation.
#[derive(Debug, Clone, Copy)]
struct Member<'a> {
    key: &'a UnitKey,
    pace: &'a Pace,
}

impl<'a> Member<'a> {
    fn host(self) -> &'a str {
        &self.key[0]
    }

    fn model(self) -> &'a str {
        &self.key[2]
    }
}

/// What is compared.
struct Kin<'a> {
    fleet: &'a Sums,
    /// By operation.
    members: BTreeMap<&'a str, Vec<Member<'a>>>,
    /// How long a bin is, and how many of them a day has.
    bin_ns: i64,
    a_day: i64,
}

impl<'a> Kin<'a> {
    fn of(fleet: &'a Sums) -> Self {
        let mut members: BTreeMap<&str, Vec<Member<'_>>> = BTreeMap::new();
        for (key, unit) in &fleet.units {
            for (operation, pace) in &unit.paces {
                members.entry(operation).or_default().push(Member { key, pace });
            }
        }
        let bin_ns = bin_ns(fleet.asked.from_unix_ns, fleet.asked.until_unix_ns);
        Self { fleet, members, bin_ns, a_day: DAY_NS / bin_ns }
    }

    /// The members of each operation by the models of their devices.
    fn by_model(&self) -> Vec<(&'a str, &'a str, Vec<Member<'a>>)> {
        let mut all: BTreeMap<(&str, &str), Vec<Member<'_>>> = BTreeMap::new();
        for (operation, members) in &self.members {
            for member in members {
                all.entry((operation, member.model())).or_default().push(*member);
            }
        }
        all.into_iter().map(|((operation, model), of)| (operation, model, of)).collect()
    }

    /// Hosts with the inputs that they are in, each once.
    fn found<'h>(&self, hosts: impl IntoIterator<Item = &'h str>) -> Vec<Found> {
        let mut known = BTreeSet::new();
        let hosts = hosts.into_iter().filter(|host| known.insert(*host));
        let found =
            hosts.map(|host| Found { host: host.to_owned(), source: self.fleet.source_of(host) });
        found.collect()
    }
}

/// All of them, those of most hosts first.
pub(super) fn slower(fleet: &Sums) -> Vec<FleetSlower> {
    let kin = Kin::of(fleet);
    let mut all = match fleet.asked.change_unix_ns {
        Some(at) => change::changes(&kin, at),
        None => {
            let levels = level::levels(&kin).into_iter();
            levels.chain(drift::drifts(&kin)).chain(stalls::stalls(&kin)).collect()
        }
    };
    all.sort_by(|a, b| b.hosts.len().cmp(&a.hosts.len()).then(b.ratio.total_cmp(&a.ratio)));
    all
}

/// How many hosts there are.
fn hosts<'a>(of: impl Iterator<Item = &'a str>) -> usize {
    of.collect::<BTreeSet<_>>().len()
}
