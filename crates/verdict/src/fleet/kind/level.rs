//! Hosts with a firmware or a kernel against the others of their model: all of their requests, and
//! the slowest of them, which are also held against all of the same host: what makes the slowest
//! ones longer, and no others, is seen beside hosts that differ.
//!
//! Non-goals: a model against another one; a host that has no others of its kind.

use super::rank::{Shift, shift};
use super::{HOSTS_LEAST, Kin, LEAST, MISTAKE, Member};
use model::fleet::{Common, FleetSlower, Slowness};
use std::collections::BTreeMap;

/// Requests of a device of which the slowest ones tell anything.
const COUNT_LEAST: u64 = 1_000;

/// Which part of the requests, the slowest ones, and whether against all of the same host.
const FIGURES: [(f64, bool); 5] =
    [(1.0, false), (0.05, false), (0.01, false), (0.05, true), (0.01, true)];

/// What hosts may have in common, and the place of its name in their keys.
const IN_COMMON: [(Common, usize); 2] = [(Common::Firmware, 3), (Common::Kernel, 4)];

/// A group of hosts.
struct Group<'a> {
    operation: &'a str,
    model: &'a str,
    common: Common,
    name: &'a str,
    /// Those with the name, and the others: each host's figures.
    inside: BTreeMap<&'a str, [f64; FIGURES.len()]>,
    outside: BTreeMap<&'a str, [f64; FIGURES.len()]>,
}

pub(super) fn levels(kin: &Kin<'_>) -> Vec<FleetSlower> {
    let groups: Vec<Group<'_>> = kin.by_model().iter().flat_map(groups).collect();
    let mistake = MISTAKE / (groups.len() * FIGURES.len()).max(1) as f64;
    let mut found: Vec<FleetSlower> = Vec::new();
    for group in &groups {
        let of_hosts = |hosts: &BTreeMap<&str, [f64; FIGURES.len()]>, figure: usize| {
            hosts.values().map(|figures| figures[figure]).collect::<Vec<f64>>()
        };
        let shifts = (0..FIGURES.len()).filter_map(|figure| {
            let (inside, outside) =
                (of_hosts(&group.inside, figure), of_hosts(&group.outside, figure));
            Some((figure, shift(&inside, &outside, mistake)?))
        });
        let is_slower = |of: &Shift| of.chance <= mistake && of.by >= LEAST && of.low > 0.0;
        let surest = shifts
            .filter(|(_, of)| is_slower(of))
            .min_by(|a, b| a.1.chance.total_cmp(&b.1.chance).then(b.1.by.total_cmp(&a.1.by)));
        let Some((figure, by)) = surest else { continue };
        let slower = told(kin, group, figure, by);
        // Two names of the same hosts are one thing, which has the first of them.
        let is_told =
            |one: &FleetSlower| one.operation == slower.operation && one.hosts == slower.hosts;
        if !found.iter().any(is_told) {
            found.push(slower);
        }
    }
    found
}

/// What the members of a model may have in common.
fn groups<'a>((operation, model, members): &(&'a str, &'a str, Vec<Member<'a>>)) -> Vec<Group<'a>> {
    let known: Vec<(Member<'a>, [f64; FIGURES.len()])> =
        members.iter().filter_map(|member| Some((*member, figures(*member)?))).collect();
    let mut groups = Vec::new();
    for (common, place) in IN_COMMON {
        let mut names: Vec<&str> = known.iter().map(|(of, _)| of.key[place].as_str()).collect();
        names.sort_unstable();
        names.dedup();
        for name in names.into_iter().filter(|name| !name.is_empty()) {
            let side = |is_inside: bool| {
                let of = known.iter().filter(|(of, _)| (of.key[place] == name) == is_inside);
                means(of)
            };
            let (inside, outside) = (side(true), side(false));
            if inside.len() >= HOSTS_LEAST && outside.len() >= HOSTS_LEAST {
                groups.push(Group { operation, model, common, name, inside, outside });
            }
        }
    }
    groups
}

/// Each host's means over its devices.
fn means<'a, 'm>(
    of: impl Iterator<Item = &'m (Member<'a>, [f64; FIGURES.len()])>,
) -> BTreeMap<&'a str, [f64; FIGURES.len()]>
where
    'a: 'm,
{
    let mut sums: BTreeMap<&str, ([f64; FIGURES.len()], f64)> = BTreeMap::new();
    for (member, figures) in of {
        let (sum, count) = sums.entry(member.host()).or_default();
        sum.iter_mut().zip(figures).for_each(|(sum, of)| *sum += of);
        *count += 1.0;
    }
    sums.into_iter().map(|(host, (sum, count))| (host, sum.map(|of| of / count))).collect()
}

fn figures(member: Member<'_>) -> Option<[f64; FIGURES.len()]> {
    let times = &member.pace.times;
    if times.count() < COUNT_LEAST {
        return None;
    }
    let all = times.slowest(1.0)?;
    let mut figures = [0.0; FIGURES.len()];
    for (figure, (share, is_against_all)) in figures.iter_mut().zip(FIGURES) {
        *figure = times.slowest(share)? - if is_against_all { all } else { 0.0 };
    }
    Some(figures)
}

fn told(kin: &Kin<'_>, group: &Group<'_>, figure: usize, by: Shift) -> FleetSlower {
    let mut hosts: Vec<(&str, f64)> =
        group.inside.iter().map(|(host, of)| (*host, of[figure])).collect();
    hosts.sort_by(|a, b| b.1.total_cmp(&a.1));
    FleetSlower {
        slowness: Slowness::Level,
        common: group.common,
        key: group.name.to_owned(),
        model: group.model.to_owned(),
        operation: group.operation.to_owned(),
        share: FIGURES[figure].0,
        is_against_all: FIGURES[figure].1,
        ratio: by.by.exp(),
        low: by.low.exp(),
        high: by.high.exp(),
        of_hosts: hosts.len(),
        hosts: kin.found(hosts.into_iter().map(|(host, _)| host)),
        ..FleetSlower::default()
    }
}
