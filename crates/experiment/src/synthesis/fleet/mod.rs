//! A fleet that nobody watched, for tests and plans: hosts with their hours, and planted outliers
//! of which it is known what they are. The same seed gives the same fleet.
//!
//! Hosts differ as real ones do: in load, in how unevenly their days go, and a little in what they
//! lose. What is planted comes on top: a firmware that stands still, a nightly backup on a tenth of
//! the hosts, one failing disk, and a kernel that is rolled out at a date.
//!
//! Non-goals: files; models of devices (crate `sim`): times are drawn.

mod rows;

use super::Random;
use crate::sequence::mix;
use model::history::{DAY_NS, HostFacts, Origin};
use model::mix::Profile;
use model::record::Rollup;
use serde::Serialize;
use std::collections::BTreeMap;

/// Of fewer hosts what is planted would be one host's.
pub const HOSTS_LEAST: usize = 20;
/// Of fewer days nothing could begin at a date.
pub const DAYS_LEAST: i64 = 6;
/// What follows every host's name.
pub const PREFIX: &str = "sim-";

/// Models of devices: per cent of the hosts, and their firmwares, the second of a quarter.
const MODELS: [(&str, u64, [&str; 2]); 3] = [
    ("Sim NVMe A", 50, ["A1.0", "A2.0"]),
    ("Sim NVMe B", 30, ["B1.0", "B1.1"]),
    ("Sim SATA C", 20, ["C3", "C4"]),
];
/// Releases of the kernel, per cent of the hosts.
const KERNELS: [(&str, u64); 3] = [("6.1.0-sim", 50), ("6.8.0-sim", 30), ("6.12.0-sim", 20)];
/// The release that is rolled out.
const ROLLED_OUT: &str = "6.12.9-sim";
/// Hours of the day in which the backup runs.
const BACKUP_HOURS: (u8, u8) = (2, 2);

/// What the fleet is to be.
#[derive(Debug, Clone, Copy)]
pub struct Extent {
    /// Number of hosts.
    pub hosts: usize,
    /// Number of days.
    pub days: i64,
    /// When the first one begins (UTC).
    pub from_unix_ns: i64,
    /// Of every random choice.
    pub seed: u64,
    /// Whether nothing is planted.
    pub is_calm: bool,
}

/// What was planted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Planted {
    /// What it is of: `firmware`, `kernel`, `host` or `cause`.
    pub common: &'static str,
    /// Which one.
    pub key: String,
    /// What time was lost to.
    pub cause: String,
    /// The hosts.
    pub hosts: Vec<String>,
    /// When it began; none: before the fleet did.
    pub since_unix_ns: Option<i64>,
    /// In which hours of the day (UTC): the first one, and how many; none: in all.
    pub hours: Option<(u8, u8)>,
}

/// What a host does in calm.
#[derive(Debug, Clone)]
pub struct Load {
    /// Reads and writes in an hour.
    pub(in crate::synthesis) per_hour: [f64; 2],
    /// Mean bytes of a read and a write.
    pub(in crate::synthesis) bytes: [u64; 2],
    /// Their response times: the share of each, and the time in ns.
    pub(in crate::synthesis) response_ns: [Vec<(f64, f64)>; 2],
}

impl Default for Load {
    /// A small database on an NVMe drive.
    fn default() -> Self {
        let reads = [(50.0, 90.0), (90.0, 140.0), (99.0, 420.0), (99.9, 1_500.0), (100.0, 6e3)];
        let writes = [(50.0, 40.0), (90.0, 80.0), (99.0, 600.0), (99.9, 3_000.0), (100.0, 9e3)];
        Self {
            per_hour: [36_000.0, 18_000.0],
            bytes: [8_192, 16_384],
            response_ns: [shares(&reads), shares(&writes)],
        }
    }
}

impl Load {
    /// That of a profile; of what it does not have the usual one.
    pub fn of(profile: &Profile) -> Self {
        let mut load = Self::default();
        for (place, traffic) in [&profile.read, &profile.write].into_iter().enumerate() {
            let Some(traffic) = traffic else { continue };
            load.per_hour[place] = traffic.requests as f64 * 3_600.0 / profile.length_s.max(1e-6);
            let all: f64 = traffic.sizes.iter().map(|(_, percent)| percent).sum();
            let sum: f64 = traffic.sizes.iter().map(|(size, p)| *size as f64 * p).sum();
            load.bytes[place] = (sum / all.max(1e-9)) as u64;
            if !traffic.response_us.is_empty() {
                load.response_ns[place] = shares(&traffic.response_us);
            }
        }
        load
    }
}

/// A curve of percentiles in µs as shares of times between two of them, in ns.
fn shares(curve: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut before = (0.0, curve.first().map_or(0.0, |first| first.1 / 2.0));
    let mut all = Vec::new();
    for (percent, us) in curve {
        // What is between two percentiles is spread over its octaves.
        let parts = (us / f64::max(before.1, 1e-3)).log2().clamp(0.0, 8.0).ceil().max(1.0);
        for part in 0..parts as u32 {
            let place = (f64::from(part) + 0.5) / parts;
            let at_us = before.1.max(1e-3) * (us / before.1.max(1e-3)).powf(place);
            all.push(((percent - before.0) / 100.0 / parts, 1e3 * at_us));
        }
        before = (*percent, *us);
    }
    all.retain(|(share, _)| *share > 0.0);
    all
}

/// What a host is.
#[derive(Debug, Clone)]
struct Made {
    model: &'static str,
    firmware: &'static str,
    kernel: &'static str,
    is_slow: bool,
    has_backup: bool,
    fails: bool,
    is_updated: bool,
}

/// A host and its rows.
#[derive(Debug, Clone)]
pub struct Host {
    /// What it is called.
    pub name: String,
    /// Its runs, each with what is known of it and its rows of hours.
    pub runs: Vec<(Origin, HostFacts, Vec<Rollup>)>,
    /// The models of its devices.
    pub models: BTreeMap<String, String>,
}

/// The fleet.
#[derive(Debug, Clone)]
pub struct SyntheticFleet {
    extent: Extent,
    load: Load,
    hosts: Vec<Made>,
    failing_since: i64,
    updated_since: i64,
}

/// Uses of random numbers.
const OF_HOSTS: u64 = 1 << 40;

impl SyntheticFleet {
    /// Chooses what each host is.
    pub fn new(load: Load, extent: Extent) -> Self {
        let places = |of: u64| shuffled(extent.hosts, mix(extent.seed, OF_HOSTS + of));
        let (models, firmwares, kernels) = (places(1), places(2), places(3));
        let (backups, updates) = (places(4), places(5));
        let failing = places(6).first().copied().unwrap_or(0);
        let percent = |place: usize| (place * 100 / extent.hosts.max(1)) as u64;
        let is_planted = !extent.is_calm;
        let host = |host: usize| {
            let (model, _, firmware) = among(&MODELS, percent(models[host]), |model| model.1);
            let second = usize::from(firmwares[host] % 4 == 0);
            let kernel = among(&KERNELS, percent(kernels[host]), |kernel| kernel.1).0;
            Made {
                model,
                firmware: firmware[second],
                kernel,
                is_slow: is_planted && *model == MODELS[0].0 && second == 1,
                has_backup: is_planted && percent(backups[host]) < 10,
                fails: is_planted && host == failing,
                is_updated: is_planted && percent(updates[host]) < 30,
            }
        };
        let day = |share: f64, of: u64| {
            let spread = 0.2 * (mix(extent.seed, OF_HOSTS + of) % 100) as f64 / 100.0;
            (extent.days as f64 * (share + spread)) as i64
        };
        Self {
            hosts: (0..extent.hosts).map(host).collect(),
            failing_since: day(0.45, 7),
            updated_since: day(0.5, 8),
            load,
            extent,
        }
    }

    /// When a day begins.
    fn day_ns(&self, day: i64) -> i64 {
        self.extent.from_unix_ns + day * DAY_NS
    }

    /// What was planted.
    pub fn planted(&self) -> Vec<Planted> {
        let names = |is_of: fn(&Made) -> bool| {
            let of = self.hosts.iter().enumerate().filter(|(_, host)| is_of(host));
            of.map(|(number, _)| name(number)).collect::<Vec<_>>()
        };
        let since = |day: i64| Some(self.day_ns(day));
        let planted = |common, key: &str, cause: &str, hosts, since_unix_ns, hours| Planted {
            common,
            key: key.into(),
            cause: cause.into(),
            hosts,
            since_unix_ns,
            hours,
        };
        let failing = names(|host| host.fails);
        let failing_name = failing.first().cloned().unwrap_or_default();
        let slow = MODELS[0].2[1];
        let all = [
            planted("firmware", slow, rows::DEVICE, names(|host| host.is_slow), None, None),
            planted(
                "cause",
                rows::BACKUP,
                rows::BACKUP,
                names(|host| host.has_backup),
                None,
                Some(BACKUP_HOURS),
            ),
            planted("host", &failing_name, rows::DEVICE, failing, since(self.failing_since), None),
            planted(
                "kernel",
                ROLLED_OUT,
                rows::HELD,
                names(|host| host.is_updated),
                since(self.updated_since),
                None,
            ),
        ];
        all.into_iter().filter(|planted| !planted.hosts.is_empty()).collect()
    }

    /// A host with its rows.
    pub fn host(&self, number: usize) -> Option<Host> {
        let made = self.hosts.get(number)?;
        let seed = mix(self.extent.seed, number as u64 + 1);
        let name = name(number);
        let boundary = if made.is_updated { self.updated_since } else { self.extent.days };
        let run = |(place, days, kernel): (u32, std::ops::Range<i64>, &str)| {
            let random = Random { seed: mix(seed, u64::from(place)), drawn: 0 };
            let origin = Origin {
                host: Some(name.clone()),
                run: Some(format!("{name}-boot-{place}")),
                part: None,
            };
            let facts = HostFacts {
                kernel: Some(kernel.to_owned()),
                firmware: BTreeMap::from([(rows::DISK.to_owned(), made.firmware.to_owned())]),
                is_simulated: true,
            };
            (origin, facts, self.rows(made, seed, days, random))
        };
        let runs = [(1, 0..boundary, made.kernel), (2, boundary..self.extent.days, ROLLED_OUT)];
        let runs = runs.into_iter().filter(|(_, days, _)| !days.is_empty()).map(run).collect();
        let models = BTreeMap::from([(rows::DISK.to_owned(), made.model.to_owned())]);
        Some(Host { name, runs, models })
    }
}

/// `sim-0001`.
fn name(number: usize) -> String {
    format!("{PREFIX}{:04}", number + 1)
}

/// The one of shares in percent that a percentage falls into.
fn among<T>(all: &[T], percent: u64, share: impl Fn(&T) -> u64) -> &T {
    let mut left = percent;
    let found = all.iter().position(|one| {
        let is_it = left < share(one);
        left = left.saturating_sub(share(one));
        is_it
    });
    &all[found.unwrap_or(all.len() - 1)]
}

/// The numbers below `count` in a random order.
fn shuffled(count: usize, seed: u64) -> Vec<usize> {
    let mut all: Vec<usize> = (0..count).collect();
    let mut random = Random { seed, drawn: 0 };
    for place in (1..count).rev() {
        all.swap(place, random.below(place as u64 + 1) as usize);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fleet(seed: u64, is_calm: bool) -> SyntheticFleet {
        let extent = Extent { hosts: 40, days: 10, from_unix_ns: 0, seed, is_calm };
        SyntheticFleet::new(Load::default(), extent)
    }

    #[test]
    fn the_same_seed_gives_the_same_fleet_and_calm_plants_nothing() {
        let rows = |seed| fleet(seed, false).host(3).map(|host| host.runs).unwrap_or_default();
        let (one, same, other) = (rows(1), rows(1), rows(2));
        assert_eq!(one.last().map(|run| &run.2), same.last().map(|run| &run.2));
        assert_ne!(one.last().map(|run| &run.2), other.last().map(|run| &run.2));
        assert!(fleet(1, true).planted().is_empty());
        assert_eq!(fleet(1, false).planted().len(), 4);
        assert!(fleet(1, false).host(40).is_none());
    }

    #[test]
    fn what_is_planted_is_of_as_many_hosts_as_was_said() {
        for seed in 0..20 {
            let planted = fleet(seed, false).planted();
            let hosts: Vec<usize> = planted.iter().map(|planted| planted.hosts.len()).collect();
            assert!((2..=8).contains(&hosts[0]), "{hosts:?}");
            assert_eq!(hosts[1..], [4, 1, 12]);
        }
    }
}
