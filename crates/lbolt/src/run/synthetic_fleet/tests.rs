//! The judge of `verdict::fleet`: fleets with planted outliers, and calm ones.

use super::*;
use ::verdict::fleet::{Asked, Ledger, Source};
use experiment::synthesis::fleet::Load;
use model::fleet::{Common, Fleet, FleetBy, FleetFinding};
use model::history::{DAY_NS, Hosts};
use model::mix::{Outstanding, Profile, Traffic};
use model::record::Counted;

/// What is enough for percentiles and too little for a test to wait for.
const HOSTS: usize = 40;
const DAYS: i64 = 8;
const FROM_NS: i64 = 20_000 * DAY_NS;
/// Seeds that nobody tuned on: those below 100 were looked at.
const HELD_OUT: std::ops::RangeInclusive<u64> = 101..=120;

/// Response times are no part of what is judged, and take a test's time: all are the same.
fn load() -> Load {
    let traffic = |requests: u64| Traffic {
        requests,
        sizes: vec![(4_096, 100.0)],
        response_us: vec![(100.0, 150.0)],
        ..Traffic::default()
    };
    Load::of(&Profile {
        schema: String::new(),
        source: String::new(),
        device: String::new(),
        requests: 30_000,
        left_out: 0,
        length_s: 3_600.0,
        end_bytes: 0,
        block_bytes: 0,
        outstanding: Outstanding::default(),
        read: Some(traffic(20_000)),
        write: Some(traffic(10_000)),
        flush: None,
    })
}

fn synthetic(seed: u64, is_calm: bool) -> SyntheticFleet {
    let extent = Extent { hosts: HOSTS, days: DAYS, from_unix_ns: FROM_NS, seed, is_calm };
    SyntheticFleet::new(load(), extent)
}

/// What is told of a fleet.
fn told(fleet: &SyntheticFleet, change_unix_ns: Option<i64>) -> Fleet {
    let until_unix_ns = FROM_NS + DAYS * DAY_NS;
    let by = FleetBy::Host;
    let asked = Asked { from_unix_ns: FROM_NS, until_unix_ns, by, change_unix_ns, is_drawn: false };
    let mut ledger = Ledger::new(asked);
    for (number, host) in (0..HOSTS).filter_map(|number| fleet.host(number)).enumerate() {
        let mut hosts = Hosts::default();
        let known = host.runs.iter().map(|(origin, facts, _)| (origin, facts.clone()));
        known.for_each(|(origin, facts)| hosts.know(origin, facts));
        let source = Source { number, label: &host.name, hosts: &hosts, skipped: &[] };
        for (origin, _, rows) in &host.runs {
            let model = host.models.values().next().map(String::as_str);
            for row in rows.iter().filter(|row| row.counted != Counted::Requests) {
                let (host, run) = (origin.host.as_deref(), origin.run.as_deref());
                let lent = row.lent();
                let model = model.filter(|_| lent.device.is_some());
                let lent = model::record::RollupRow { host, run, model, ..lent };
                ledger.take(&lent, &source);
            }
        }
    }
    ledger.finish()
}

fn key(found: &FleetFinding) -> (&'static str, String, String) {
    (found.common.name(), found.key.clone(), found.cause.clone())
}

/// The keys of what was planted, without what the same key has twice.
fn keys(planted: &[Planted]) -> Vec<(&'static str, String, String)> {
    planted.iter().map(|of| (of.common, of.key.clone(), of.cause.clone())).collect()
}

#[test]
fn planted_outliers_are_at_the_top_with_the_right_key_in_nineteen_of_twenty_fleets() {
    let mut missed = Vec::new();
    for seed in HELD_OUT {
        let fleet = synthetic(seed, false);
        let told = told(&fleet, None);
        let planted = fleet.planted();
        let wanted = keys(&planted);
        let top: Vec<_> = told.findings.iter().take(wanted.len()).map(key).collect();
        let are_there = wanted.iter().all(|one| top.contains(one));
        if !are_there || told.findings.len() > wanted.len() {
            missed.push((seed, wanted, told.findings.iter().map(key).collect::<Vec<_>>()));
        }
        // When it began, and in which hours.
        for found in &told.findings {
            let Some(of) = planted.iter().find(|of| of.key == found.key) else { continue };
            let apart_ns = found.since_unix_ns.unwrap_or(0) - of.since_unix_ns.unwrap_or(0);
            assert!(apart_ns.abs() <= DAY_NS, "seed {seed}: {found:?} {:?}", of.since_unix_ns);
            assert_eq!(found.hours, of.hours, "seed {seed}: {found:?}");
        }
    }
    assert!(missed.len() <= 1, "{missed:#?}");
}

#[test]
fn nothing_stands_out_in_twenty_calm_fleets() {
    for seed in HELD_OUT {
        let told = told(&synthetic(seed, true), None);
        assert_eq!(told.findings, [], "seed {seed}");
        assert!(told.storms.iter().all(|storm| storm.hosts == 1), "seed {seed}: {:?}", told.storms);
    }
}

#[test]
fn a_rollout_is_what_differs_after_its_date() {
    let fleet = synthetic(1, false);
    let rollout = fleet.planted().into_iter().find(|of| of.common == "kernel").unwrap();
    let told = told(&fleet, rollout.since_unix_ns);
    let first = told.findings.iter().find(|found| found.common == Common::Kernel).unwrap();
    assert_eq!((&first.key, first.hosts), (&rollout.key, rollout.hosts.len()));
    let (before, after) = told.before_after.unwrap();
    assert!(after > 1.3 * before, "{before} {after}");
    // What was there before is no difference: neither the backup nor the firmware.
    assert!(told.findings.iter().all(|found| found.common != Common::Cause), "{told:?}");
    assert!(told.findings.iter().all(|found| found.common != Common::Firmware));
    let calm = synthetic(1, true);
    assert_eq!(self::told(&calm, rollout.since_unix_ns).findings, []);
}

#[test]
fn storms_of_many_hosts_at_once_are_apart_from_those_of_one() {
    let fleet = synthetic(3, false);
    let planted = fleet.planted();
    let told = told(&fleet, None);
    let backup = planted.iter().find(|of| of.common == "cause").unwrap();
    let many: Vec<_> = told.storms.iter().filter(|storm| storm.hosts > 1).collect();
    assert_eq!(many.len(), 1, "{many:?}");
    assert_eq!((&many[0].cause, many[0].hosts), (&backup.cause, backup.hosts.len()));
    assert_eq!(many[0].hours, usize::from(backup.hours.unwrap().1) * DAYS as usize);
    let failing = planted.iter().find(|of| of.common == "host").unwrap();
    let alone = told.storms.iter().find(|storm| storm.hosts == 1).unwrap();
    assert_eq!(alone.worst.host, failing.key);
}
