//! Fleets whose response times are slow in one way each, as rows of rollups.

use crate::fleet::{Asked, Ledger, Source};
use model::fleet::{Common, Fleet, FleetBy, FleetSlower, Slowness};
use model::histogram::SparseHistogram;
use model::history::{HOUR_NS, HostFacts, Hosts, Origin};
use model::record::{Counted, Rollup};
use proptest::prelude::Rng as _;
use proptest::test_runner::{RngAlgorithm, TestRng};

/// The same numbers each time.
struct Random(TestRng);

impl Random {
    /// Above 0 and at most 1.
    fn unit(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// Box & Muller (1958).
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.unit().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }
}

const HOSTS: usize = 20;
const HOURS: i64 = 48;
const HALF_NS: i64 = HOURS / 2 * HOUR_NS;

/// How many times as long a request of a host takes: its hour, and its place among those of an
/// hour, of which 0 is the quickest and 1 the slowest.
type Longer<'a> = &'a dyn Fn(usize, i64, f64) -> f64;

/// Twenty hosts of one model that differ by 30 %, with a rhythm of the day; the second half has
/// another firmware.
fn fleet(change_unix_ns: Option<i64>, longer: Longer<'_>) -> Fleet {
    let asked = Asked {
        from_unix_ns: 0,
        until_unix_ns: HOURS * HOUR_NS,
        by: FleetBy::Host,
        change_unix_ns,
        is_drawn: false,
    };
    let mut ledger = Ledger::new(asked);
    let mut random = Random(TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    for host in 0..HOSTS {
        let name = format!("web{host:02}");
        let mut hosts = Hosts::default();
        let firmware = if host < HOSTS / 2 { "1.0" } else { "2.0" };
        let facts = HostFacts {
            firmware: [("sda".to_owned(), firmware.to_owned())].into(),
            ..HostFacts::default()
        };
        hosts.know(&Origin { host: Some(name.clone()), run: None, part: None }, facts);
        let source = Source { number: host, label: &name, hosts: &hosts, skipped: &[] };
        let own = 0.7 + 0.6 * random.unit();
        for hour in 0..HOURS {
            let rhythm = 1.0 + 0.3 * (hour as f64 * std::f64::consts::TAU / 24.0).sin();
            let mut times = SparseHistogram::default();
            for _ in 0..200 {
                let place = random.unit();
                let us = 300.0 * own * rhythm * (0.5 * random.normal()).exp();
                times.record((us * longer(host, hour, place) * 1e3) as u64);
            }
            let mut row = Rollup {
                counted: Counted::Requests,
                host: Some(name.clone()),
                device: Some("sda".into()),
                model: Some("Disk 9".into()),
                operation: "read".into(),
                from_unix_ns: hour * HOUR_NS,
                until_unix_ns: (hour + 1) * HOUR_NS,
                count: times.count(),
                ..Rollup::default()
            };
            row.set_responses(&times);
            ledger.take(&row.lent(), &source);
        }
    }
    ledger.finish()
}

fn only(fleet: &Fleet) -> &FleetSlower {
    assert_eq!(fleet.slower.len(), 1, "{:#?}", fleet.slower);
    &fleet.slower[0]
}

fn names(of: &FleetSlower) -> Vec<&str> {
    of.hosts.iter().map(|found| found.host.as_str()).collect()
}

#[test]
fn hosts_that_differ_as_hosts_do_are_not_slower() {
    assert_eq!(fleet(None, &|_, _, _| 1.0).slower, []);
    assert_eq!(fleet(Some(HALF_NS), &|_, _, _| 1.0).slower, []);
    // Nor is a single slow request in an hour, nor ten times as slow a host.
    let once = |host: usize, hour: i64, place: f64| match (host, hour) {
        (3, _) => 10.0,
        (4, 20) if place > 0.995 => 2_000.0,
        _ => 1.0,
    };
    assert_eq!(fleet(None, &once).slower, []);
}

#[test]
fn a_firmware_with_a_longer_tail_is_found_by_its_tail() {
    let tail = |host: usize, _, place: f64| if host >= 10 && place > 0.97 { 6.0 } else { 1.0 };
    let fleet = fleet(None, &tail);
    let slower = only(&fleet);
    assert_eq!((slower.slowness, slower.common), (Slowness::Level, Common::Firmware));
    assert_eq!((slower.key.as_str(), slower.hosts.len()), ("2.0", 10));
    assert!(slower.share < 1.0 && slower.low > 1.5, "{slower:#?}");
}

#[test]
fn what_became_slower_at_a_moment_is_told_with_how_much() {
    let after = |host: usize, hour: i64, _: f64| match hour >= 24 && host.is_multiple_of(3) {
        true => 1.25,
        false => 1.0,
    };
    let fleet = fleet(Some(HALF_NS), &after);
    let slower = only(&fleet);
    assert_eq!((slower.slowness, slower.common), (Slowness::Change, Common::Cause));
    assert_eq!(slower.hosts.len(), 7, "{slower:#?}");
    assert!((slower.ratio - 1.25).abs() < 0.03, "{slower:#?}");
    assert!(slower.low < 1.25 && slower.high > 1.25, "{slower:#?}");
}

#[test]
fn a_change_of_most_hosts_is_not_the_others_becoming_quicker() {
    let after = |host: usize, hour: i64, _: f64| match hour >= 24 && host >= 6 {
        true => 1.3,
        false => 1.0,
    };
    let fleet = fleet(Some(HALF_NS), &after);
    let hosts: usize = fleet.slower.iter().map(|of| of.hosts.len()).sum();
    assert_eq!(hosts, 14, "{:#?}", fleet.slower);
    assert!(fleet.slower.iter().all(|of| (of.ratio - 1.3).abs() < 0.04), "{:#?}", fleet.slower);
}

#[test]
fn a_host_that_becomes_slower_and_slower_drifts_and_one_that_did_at_once_does_not() {
    let drift = |host: usize, hour: i64, _: f64| match host {
        5 => 1.01_f64.powi(hour as i32),
        6 if hour >= 24 => 1.6,
        _ => 1.0,
    };
    let fleet = fleet(None, &drift);
    let slower = only(&fleet);
    assert_eq!((slower.slowness, names(slower)), (Slowness::Drift, vec!["web05"]));
    assert!((slower.ratio.ln() / 47.0 - 0.00995).abs() < 0.002, "{slower:#?}");
}

#[test]
fn stalls_are_one_host_s_or_those_of_an_hour_of_the_day() {
    let stall = |host: usize, hour: i64, place: f64| match (host, hour) {
        (8, 5 | 17 | 40) if place > 0.95 => 4_000.0,
        _ => 1.0,
    };
    let alone = fleet(None, &stall);
    let slower = only(&alone);
    assert_eq!((slower.slowness, names(slower)), (Slowness::Stalls, vec!["web08"]));
    assert!(slower.stalls.0 == 3 && slower.stalls.1 > 300_000_000, "{slower:#?}");
    let night = |host: usize, hour: i64, place: f64| match hour % 24 == 2 && host.is_multiple_of(3)
    {
        true if place > 0.95 => 4_000.0,
        _ => 1.0,
    };
    let nightly = fleet(None, &night);
    let slower = only(&nightly);
    assert_eq!((slower.slowness, slower.hours), (Slowness::Daily, Some((2, 1))));
    assert_eq!(slower.hosts.len(), 7);
}
