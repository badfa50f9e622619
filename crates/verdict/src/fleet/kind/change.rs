//! After a moment against before it: each device against itself, by hours of the day, and then
//! against the devices of its model that did not change.
//!
//! Non-goals: what became quicker.

use super::rank::shift;
use super::track::{Step, step, track};
use super::{HOSTS_LEAST, Kin, LEAST, MIDDLE_DISTANCE, MISTAKE, Member, hosts};
use crate::fleet::UnitKey;
use crate::fleet::pace::Pace;
use crate::fleet::series::{middle, quantile};
use crate::fleet::stand::{Keyed, in_common};
use crate::merge::Merge as _;
use analyze::statistics::student_of;
use model::fleet::{Common, FleetSlower, Slowness};
use std::collections::BTreeMap;

/// The least changed part of all tells what is no change.
const LEAST_CHANGED: f64 = 0.25;
/// Deviations beyond which it is one.
const DEVIATIONS: f64 = 4.0;

/// A device.
struct Changed<'a> {
    /// As it is after the moment.
    key: &'a UnitKey,
    step: Step,
}

impl Keyed for Changed<'_> {
    fn key(&self) -> &UnitKey {
        self.key
    }
}

pub(super) fn changes(kin: &Kin<'_>, at_unix_ns: i64) -> Vec<FleetSlower> {
    let at = at_unix_ns.div_euclid(kin.bin_ns);
    // A bin with the moment in it is on neither side.
    let mixed = (at_unix_ns.rem_euclid(kin.bin_ns) != 0).then_some(at);
    let changed: Vec<(&str, Vec<Changed<'_>>)> = kin
        .members
        .iter()
        .map(|(operation, members)| (*operation, devices(members, (at, mixed), kin.a_day)))
        .collect();
    let tests: usize = changed.iter().map(|(_, of)| of.len()).sum();
    let wide = student_of(tests, f64::INFINITY).unwrap_or(f64::INFINITY);
    changed.iter().flat_map(|(operation, of)| of_operation(kin, operation, of, wide)).collect()
}

/// Devices with what they took on both sides, under whatever kernel.
fn devices<'a>(
    members: &[Member<'a>],
    (at, mixed): (i64, Option<i64>),
    a_day: i64,
) -> Vec<Changed<'a>> {
    let mut devices: BTreeMap<[&str; 2], Vec<Member<'a>>> = BTreeMap::new();
    for member in members {
        devices.entry([&member.key[0], &member.key[1]]).or_default().push(*member);
    }
    let changed = |units: Vec<Member<'a>>| {
        let last = |of: &&Member<'_>| of.pace.bins().last().map_or(i64::MIN, |(number, _)| number);
        let key = units.iter().max_by_key(last)?.key;
        let mut pace = Pace::default();
        units.iter().for_each(|unit| pace.merge(unit.pace.clone()));
        let mut track = track(&pace);
        track.retain(|(number, _)| Some(*number) != mixed);
        Some(Changed { key, step: step(&track, at, a_day)? })
    };
    devices.into_values().filter_map(changed).collect()
}

fn of_operation<'a>(
    kin: &Kin<'_>,
    operation: &str,
    all: &'a [Changed<'a>],
    wide: f64,
) -> Vec<FleetSlower> {
    let mut models: BTreeMap<&str, Vec<&Changed<'_>>> = BTreeMap::new();
    all.iter().for_each(|of| models.entry(&of.key[2]).or_default().push(of));
    let (mut by, mut left) = (BTreeMap::new(), Vec::new());
    for devices in models.into_values() {
        let (common, spread) = unchanged(&devices);
        let usual = middle(devices.iter().map(|of| of.step.chance).collect());
        for device in devices {
            let more = device.step.by - common;
            by.insert(std::ptr::from_ref(device), more);
            if more > wide * usual.max(spread)
                && more > wide.min(DEVIATIONS) * device.step.chance
                && more >= LEAST
            {
                left.push(device);
            }
        }
    }
    let more = |of: &Changed<'_>| by.get(&std::ptr::from_ref(of)).copied().unwrap_or_default();
    let everyone: Vec<&Changed<'_>> = all.iter().collect();
    let others: Vec<f64> =
        all.iter().filter(|of| !left.iter().any(|one| std::ptr::eq(*one, *of))).map(more).collect();
    let mut found = Vec::new();
    let tell = |common: Common, key: &str, group: &[&Changed<'_>], of_hosts: usize| {
        let mut group = group.to_vec();
        group.sort_by(|a, b| more(b).total_cmp(&more(a)));
        let values: Vec<f64> = group.iter().map(|of| more(of)).collect();
        let shift = shift(&values, &others, MISTAKE);
        let told = shift.filter(|of| of.low.is_finite());
        // Of one device it is its own chance that tells how far off it may be.
        let chance = wide * group.first().map_or(0.0, |of| of.step.chance);
        let middle = middle(values);
        let (by, low, high) =
            told.map_or((middle, middle - chance, middle + chance), |of| (of.by, of.low, of.high));
        let name =
            |place: usize| group.first().map_or_else(String::new, |of| of.key[place].clone());
        FleetSlower {
            slowness: Slowness::Change,
            common,
            key: key.to_owned(),
            model: if common == Common::Firmware { name(2) } else { String::new() },
            device: if common == Common::Host { name(1) } else { String::new() },
            operation: operation.to_owned(),
            share: 1.0,
            ratio: by.exp(),
            low: low.exp(),
            high: high.exp(),
            hosts: kin.found(group.iter().map(|of| of.key[0].as_str())),
            of_hosts,
            ..FleetSlower::default()
        }
    };
    while let Some((common, name, group)) = in_common(&everyone, &left) {
        let inside =
            group.iter().copied().filter(|of| left.iter().any(|one| std::ptr::eq(*one, *of)));
        let inside: Vec<&Changed<'_>> = inside.collect();
        let of_hosts = hosts(group.iter().map(|of| of.key[0].as_str()));
        found.push(tell(common, name, &inside, of_hosts));
        left.retain(|of| !inside.iter().any(|one| std::ptr::eq(*one, *of)));
    }
    let all_hosts = hosts(all.iter().map(|of| of.key[0].as_str()));
    if hosts(left.iter().map(|of| of.key[0].as_str())) >= HOSTS_LEAST {
        found.push(tell(Common::Cause, "", &left, all_hosts));
    } else {
        found.extend(left.iter().map(|of| tell(Common::Host, &of.key[0], &[*of], 1)));
    }
    found
}

/// What those devices have in common that did not change, and how far they differ.
fn unchanged(devices: &[&Changed<'_>]) -> (f64, f64) {
    if devices.len() < HOSTS_LEAST + 1 {
        return (0.0, 0.0);
    }
    let steps: Vec<f64> = devices.iter().map(|of| of.step.by).collect();
    let usual = middle(devices.iter().map(|of| of.step.chance).collect());
    let most = quantile(steps.clone(), LEAST_CHANGED) + DEVIATIONS * usual + LEAST / 2.0;
    let same: Vec<f64> = steps.into_iter().filter(|by| *by <= most).collect();
    let common = middle(same.clone());
    let spread = middle(same.into_iter().map(|by| (by - common).abs()).collect());
    (common, spread / MIDDLE_DISTANCE)
}
