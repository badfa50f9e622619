//! Hours in which several requests took very long: a device or a host that stood still. Those of
//! one host, and those of an hour of the day on many.
//!
//! A request in some thousands takes long by chance, and on a disk more often than on flash: an
//! hour has a stall where so many do not come together by chance, as others of the model have it,
//! and a host has stalls where it has more such hours than the others.
//!
//! Non-goals: what was lost in them, which the rollup's losses say where calm is known; a single
//! request that took long.

use super::{HOSTS_LEAST, Kin, MISTAKE};
use crate::fleet::pace::{Bin, Slow};
use crate::merge::Merge as _;
use model::fleet::{Common, FleetSlower, Slowness};
use model::history::{DAY_NS, HOUR_NS, MINUTE_NS};
use statrs::distribution::{Binomial, DiscreteCDF, Poisson};
use std::collections::BTreeMap;

/// Slow requests of an hour with a stall, at the least, and the chance of so many without one.
const TOGETHER: u64 = 2;
const CHANCE: f64 = 1e-3;
/// The same where many others have one.
const LIKELY: f64 = 0.02;
/// How many times as many slow requests as others a host may have that is slower.
const TIMES: f64 = 2.0;
/// The part of all that tells what is usual: those with the fewest.
const USUAL: f64 = 0.75;
/// Hours of a host that are told, at the least.
const STALLS_LEAST: usize = 2;
/// Stalls that a host has for whatever reason.
const ANYHOW: f64 = 0.05;

/// A device: all of its requests, by bins, the slow ones by their time, and the longest responses
/// of bins with a stall.
struct Device<'a> {
    host: &'a str,
    device: &'a str,
    model: &'a str,
    bins: BTreeMap<i64, Bin>,
    slow: Slow,
    stalls: BTreeMap<i64, u64>,
}

impl Device<'_> {
    fn requests(&self) -> f64 {
        self.bins.values().map(Bin::count).sum::<u64>() as f64
    }

    /// The bins in which so many slow requests, of which `usual` of all are, are no chance: each
    /// with its longest response.
    fn stalls_beyond(
        &self,
        kin: &Kin<'_>,
        usual: f64,
        least: u64,
        mistake: f64,
    ) -> BTreeMap<i64, u64> {
        let minutes_of_bin = kin.bin_ns / MINUTE_NS;
        let stalls = self.slow.iter().filter_map(|((from, minutes), slow)| {
            let number = from.div_euclid(minutes_of_bin);
            let bin = self.bins.get(&number)?;
            let part = (minutes as f64 / minutes_of_bin as f64).min(1.0);
            let expected = usual * bin.count() as f64 * part;
            // An hour has sixty minutes in which it may be.
            let is_stall = slow >= least && chance(expected, slow as usize) <= mistake * part;
            is_stall.then_some((number, bin.max_ns()))
        });
        stalls.collect()
    }

    fn longest_ns(&self, of: impl Fn(i64) -> bool) -> u64 {
        let stalls = self.stalls.iter().filter(|(number, _)| of(**number));
        stalls.map(|(_, longest_ns)| *longest_ns).max().unwrap_or_default()
    }
}

pub(super) fn stalls(kin: &Kin<'_>) -> Vec<FleetSlower> {
    let mut devices = devices(kin);
    let mut models: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (place, of) in devices.iter().enumerate() {
        models.entry(of.model).or_default().push(place);
    }
    let usual: BTreeMap<&str, f64> =
        models.iter().map(|(model, places)| (*model, find(kin, &mut devices, places))).collect();
    let (from, until) = (kin.fleet.asked.from_unix_ns, kin.fleet.asked.until_unix_ns);
    // Of less than two days nothing is known of each day.
    let mut found = match until.saturating_sub(from) >= 2 * DAY_NS - 2 * HOUR_NS {
        true => daily(kin, &mut devices, &usual, (until - from) as f64 / DAY_NS as f64),
        false => Vec::new(),
    };
    let all = devices.len() as f64;
    for places in models.values() {
        let requests = |place: usize| devices[place].requests();
        let (few, of_all) =
            fewest(places, |place| (devices[place].stalls.len() as f64, requests(place)));
        for place in places {
            let of = &devices[*place];
            let load = (requests(*place) * few.len() as f64 / of_all.1.max(1.0)).max(1.0);
            let others = (of_all.0 + ANYHOW) / few.len().max(1) as f64 * load;
            if of.stalls.len() >= STALLS_LEAST && chance(others, of.stalls.len()) * all <= MISTAKE {
                found.push(alone(kin, of, others));
            }
        }
    }
    found
}

/// All of their requests, whatever they do.
fn devices<'a>(kin: &Kin<'a>) -> Vec<Device<'a>> {
    let mut devices: BTreeMap<[&str; 2], Device<'_>> = BTreeMap::new();
    for member in kin.members.values().flatten() {
        let (host, device, model) = (member.host(), member.key[1].as_str(), member.model());
        let of = devices.entry([host, device]).or_insert_with(|| Device {
            host,
            device,
            model,
            bins: BTreeMap::new(),
            slow: Slow::default(),
            stalls: BTreeMap::new(),
        });
        of.slow.merge(member.pace.slow.clone());
        for (number, bin) in member.pace.bins() {
            of.bins.entry(number).or_default().merge(bin);
        }
    }
    devices.into_values().collect()
}

/// Those with the fewest of something in so much, and both of all of these.
fn fewest(places: &[usize], of: impl Fn(usize) -> (f64, f64)) -> (Vec<usize>, (f64, f64)) {
    let part = |place: &usize| {
        let (some, all) = of(*place);
        some / all.max(1.0)
    };
    let mut few = places.to_vec();
    few.sort_by(|a, b| part(a).total_cmp(&part(b)));
    few.truncate(((few.len() as f64 * USUAL).ceil() as usize).max(1));
    let sum = few.iter().map(|place| of(*place)).fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1));
    (few, sum)
}

/// Finds the hours with a stall of the devices of a model; which part of the requests is slow.
fn find(kin: &Kin<'_>, devices: &mut [Device<'_>], places: &[usize]) -> f64 {
    let slow = |place: usize| (devices[place].slow.sum() as f64, devices[place].requests());
    let (_, (slow, all)) = fewest(places, slow);
    let usual = TIMES * (slow + 1.0) / all.max(1.0);
    for place in places {
        let of = &mut devices[*place];
        of.stalls = of.stalls_beyond(kin, usual, TOGETHER, CHANCE);
    }
    usual
}

fn alone(kin: &Kin<'_>, of: &Device<'_>, others: f64) -> FleetSlower {
    FleetSlower {
        slowness: Slowness::Stalls,
        common: Common::Host,
        key: of.host.to_owned(),
        model: of.model.to_owned(),
        device: of.device.to_owned(),
        stalls: (of.stalls.len() as u64, of.longest_ns(|_| true)),
        stalls_of_others: others,
        hosts: kin.found([of.host]),
        of_hosts: 1,
        ..nothing()
    }
}

/// Of no ratio.
fn nothing() -> FleetSlower {
    FleetSlower { share: 1.0, ratio: 1.0, low: 1.0, high: 1.0, ..FleetSlower::default() }
}

/// The chance of so many or more.
fn chance(mean: f64, count: usize) -> f64 {
    let below = (count as u64).checked_sub(1);
    below.map_or(1.0, |below| Poisson::new(mean).map_or(1.0, |of| of.sf(below)))
}

/// Stalls in an hour of the day on many hosts, on half of the days or more: they are taken out.
fn daily(
    kin: &Kin<'_>,
    devices: &mut [Device<'_>],
    usual: &BTreeMap<&str, f64>,
    days: f64,
) -> Vec<FleetSlower> {
    let mut found = Vec::new();
    for slot in 0..kin.a_day {
        let is_of = |number: i64| number.rem_euclid(kin.a_day) == slot;
        let of_slot = |of: &Device<'_>| of.stalls.keys().filter(|number| is_of(**number)).count();
        // On one day many have one at once by chance, where all are busy.
        let on_days = (days / 2.0).ceil().max(2.0);
        let is_hit = |of: &&Device<'_>| of_slot(of) as f64 >= on_days;
        let mut hit: Vec<&Device<'_>> = devices.iter().filter(is_hit).collect();
        let stalls: usize = devices.iter().map(of_slot).sum();
        let all: usize = devices.iter().map(|of| of.stalls.len()).sum();
        let others = (all - stalls) as f64 / (kin.a_day - 1).max(1) as f64 / days;
        let part = (TIMES * (others + ANYHOW) / devices.len().max(1) as f64).min(1.0);
        let usually = Binomial::new(part, days.ceil() as u64);
        let usually = usually.map_or(1.0, |of| of.sf(on_days as u64 - 1)) * devices.len() as f64;
        let is_chance = chance(usually, hit.len()) * kin.a_day as f64 > MISTAKE;
        if hit.len() < HOSTS_LEAST || is_chance {
            continue;
        }
        // What hits so many is likely to be what a slow request or two of another one are.
        let is_likely = |of: &&Device<'_>| {
            let usual = usual.get(of.model).copied().unwrap_or(1.0);
            let likely = of.stalls_beyond(kin, usual, 1, LIKELY);
            let of_slot = likely.keys().filter(|number| is_of(**number)).count();
            of_slot as f64 >= (days / 2.0).max(1.0)
        };
        hit = devices.iter().filter(|of| is_hit(of) || is_likely(of)).collect();
        hit.sort_by_key(|of| std::cmp::Reverse(of.longest_ns(is_of)));
        let (hours, first) = (24 / kin.a_day, slot * 24 / kin.a_day);
        found.push(FleetSlower {
            slowness: Slowness::Daily,
            common: Common::Cause,
            stalls: (stalls as u64, hit.first().map_or(0, |of| of.longest_ns(is_of))),
            stalls_of_others: others,
            hours: Some((first as u8, hours as u8)),
            hosts: kin.found(hit.iter().map(|of| of.host)),
            of_hosts: super::hosts(devices.iter().map(|of| of.host)),
            ..nothing()
        });
        devices.iter_mut().for_each(|of| of.stalls.retain(|number, _| !is_of(*number)));
    }
    found
}
