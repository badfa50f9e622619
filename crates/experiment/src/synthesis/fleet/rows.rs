//! The hours of a host: requests of a database and a logger, what they waited, and what they lost.

use super::{BACKUP_HOURS, Made, SyntheticFleet};
use crate::sequence::mix;
use crate::synthesis::Random;
use model::histogram::{Binned, Buckets, SparseHistogram};
use model::history::HOUR_NS;
use model::record::{Counted, Rollup, RollupKey, operations};
use std::ops::Range;

/// The device of every host.
pub(super) const DISK: &str = "sim0";
/// What is planted is lost to these.
pub(super) const DEVICE: &str = "<device>";
pub(super) const HELD: &str = "<held>";
pub(super) const BACKUP: &str = "backup";

const DATABASE: &str = "db";
const LOGGER: &str = "logger";

/// Per cent of its waiting that the database loses in calm to the logger and to the device.
const CALM_PERCENT: f64 = 0.15;
/// How far what is lost in an hour by chance is from none, per cent of what is waited.
const CHANCE_PERCENT: f64 = 0.6;
/// Per cent of all waiting that is lost on top: to a slow firmware, and to a kernel.
const FIRMWARE_PERCENT: f64 = 6.0;
const KERNEL_PERCENT: f64 = 7.0;
/// In an hour of the backup,
const BACKUP_PERCENT: f64 = 120.0;
/// and to a failing disk at its end, to which it goes up from a quarter.
const FAILING_PERCENT: f64 = 60.0;
/// How much longer a response in a hundred takes where a firmware is slow.
const SLOW: f64 = 4.0;
/// Hours of a host with a storm by chance, per cent.
const STORM_PERCENT: f64 = 0.5;

/// An hour of a host.
struct Hour<'a> {
    from: i64,
    /// How busy it is: 1 in the mean.
    busy: f64,
    made: &'a Made,
    /// Per cent of the waiting that is lost on top, by cause.
    planted: Vec<(&'static str, f64)>,
    /// How much longer the slowest responses take.
    slow: f64,
}

impl SyntheticFleet {
    /// The rows of some days of a host.
    pub(super) fn rows(
        &self,
        made: &Made,
        seed: u64,
        days: Range<i64>,
        mut random: Random,
    ) -> Vec<Rollup> {
        let unit = |of: u64| (mix(seed, 1 << 50 | of) >> 11) as f64 / (1u64 << 53) as f64;
        // Some hosts do three times as much as others, and lose three times as much of it.
        let (size, unlucky) = (3f64.powf(unit(1) - 0.5), 3f64.powf(unit(2) - 0.5));
        let mut rows = Vec::new();
        for day in days {
            let of_day = 0.8 + 0.4 * random.unit();
            for hour in 0..24 {
                let rhythm = 0.4 + 0.6 * (std::f64::consts::PI * (hour as f64 - 4.0) / 18.0).sin();
                let hour = Hour {
                    from: self.day_ns(day) + hour * HOUR_NS,
                    busy: size * of_day * rhythm.max(0.3) * (0.85 + 0.3 * random.unit()),
                    planted: self.planted_in(made, day, hour),
                    slow: if made.is_slow { SLOW } else { 1.0 },
                    made,
                };
                self.hour(&hour, unlucky, &mut random, &mut rows);
            }
        }
        rows
    }

    /// What is lost on top in an hour, per cent of what is waited.
    fn planted_in(&self, made: &Made, day: i64, hour: i64) -> Vec<(&'static str, f64)> {
        let (first, count) = (i64::from(BACKUP_HOURS.0), i64::from(BACKUP_HOURS.1));
        let failing_days = (self.extent.days - self.failing_since).max(1) as f64;
        let failed = (day - self.failing_since + 1) as f64 / failing_days;
        let failing = FAILING_PERCENT * (0.25 + 0.75 * failed);
        let all = [
            (DEVICE, FIRMWARE_PERCENT, made.is_slow),
            (DEVICE, failing, made.fails && day >= self.failing_since),
            (HELD, KERNEL_PERCENT, made.is_updated && day >= self.updated_since),
            (BACKUP, BACKUP_PERCENT, made.has_backup && (first..first + count).contains(&hour)),
        ];
        let held = all.into_iter().filter(|(.., is_there)| *is_there);
        held.map(|(cause, percent, _)| (cause, percent)).collect()
    }

    fn hour(&self, hour: &Hour<'_>, unlucky: f64, random: &mut Random, rows: &mut Vec<Rollup>) {
        let row = |counted, operation: &str| of_hour(hour.from, counted, operation);
        rows.push(Rollup { sum_ns: HOUR_NS as u64, ..row(Counted::Watch, operations::WATCHED) });
        let mut busy_ns = 0;
        let mut waited_ns = [0.0; 2];
        let more: f64 = hour.planted.iter().map(|(_, percent)| percent / 100.0).sum();
        for (place, operation) in ["read", "write"].into_iter().enumerate() {
            let count = self.load.per_hour[place] * hour.busy;
            let responses = drawn(&self.load.response_ns[place], count, hour.slow, random);
            waited_ns[place] = responses.sum_ns() as f64;
            busy_ns += responses.sum_ns();
            let bytes = responses.count() * self.load.bytes[place];
            let mut of_role =
                Rollup { role: Some(DATABASE.into()), ..row(Counted::Requests, operation) };
            of_role.set_responses(&responses);
            (of_role.count, of_role.bytes) = (responses.count(), bytes);
            let is_failed = hour.made.fails && !hour.planted.is_empty();
            of_role.failed = if is_failed { random.below(4) } else { 0 };
            // What is lost is waited too.
            let sum_ns = (waited_ns[place] * (1.0 + more)) as u64;
            let waits = Rollup { counted: Counted::Waits, bytes: 0, failed: 0, ..of_role.clone() };
            let disk = row(Counted::Disk, operation);
            rows.extend([
                Rollup { count: responses.count(), bytes, sum_ns: responses.sum_ns(), ..disk },
                Rollup { operation: ["read", "fsync"][place].into(), sum_ns, ..waits },
                of_role,
            ]);
        }
        let logged = drawn(&self.load.response_ns[1], 600.0, hour.slow, random);
        let mut of_logger = Rollup { role: Some(LOGGER.into()), ..row(Counted::Requests, "write") };
        of_logger.set_responses(&logged);
        (of_logger.count, of_logger.bytes) = (logged.count(), 4_096 * logged.count());
        rows.push(of_logger);
        rows.push(Rollup { sum_ns: busy_ns / 2, ..row(Counted::Disk, operations::BUSY) });
        rows.push(Rollup { sum_ns: busy_ns, ..row(Counted::Disk, operations::QUEUED) });
        self.losses(hour, unlucky, waited_ns, random, rows);
    }

    /// What is lost in an hour: a little in calm, and what is planted.
    fn losses(
        &self,
        hour: &Hour<'_>,
        unlucky: f64,
        waited_ns: [f64; 2],
        random: &mut Random,
        rows: &mut Vec<Rollup>,
    ) {
        for (cause, operation, waited_ns) in
            [(LOGGER, "fsync", waited_ns[1]), (DEVICE, "read", waited_ns[0])]
        {
            // Times and a half of what chance is said to be: as much as it is in practice.
            let chance = 1.5 * CHANCE_PERCENT * random.normal();
            let lost_ns = waited_ns * (CALM_PERCENT * unlucky + chance) / 100.0;
            rows.push(lost(hour.from, cause, operation, lost_ns, waited_ns));
        }
        if random.unit() * 100.0 < STORM_PERCENT {
            rows.push(storm(hour.from, LOGGER, 1, 2e8));
        }
        let all_ns = waited_ns[0] + waited_ns[1];
        for (cause, percent) in &hour.planted {
            let lost_ns = all_ns * percent / 100.0 * (0.6 + 0.8 * random.unit());
            rows.push(lost(hour.from, cause, "fsync", lost_ns, all_ns));
            if *percent >= FAILING_PERCENT / 4.0 {
                rows.push(storm(hour.from, cause, 1 + random.below(6), lost_ns / 2.0));
            }
        }
    }
}

fn of_hour(from: i64, counted: Counted, operation: &str) -> Rollup {
    let device = (counted != Counted::Watch).then(|| DISK.to_owned());
    let key = RollupKey { counted, device, operation: operation.into(), ..RollupKey::default() };
    Rollup::of(key, from, from + HOUR_NS)
}

fn lost(from: i64, cause: &str, operation: &str, lost_ns: f64, waited_ns: f64) -> Rollup {
    Rollup {
        role: Some(DATABASE.into()),
        cause: Some(cause.into()),
        lost_ns: lost_ns as i64,
        lost_us2: (waited_ns * CHANCE_PERCENT / 100.0 / 1e3).powi(2) as i64,
        ..of_hour(from, Counted::Lost, operation)
    }
}

fn storm(from: i64, cause: &str, count: u64, lost_ns: f64) -> Rollup {
    Rollup {
        role: Some(DATABASE.into()),
        cause: Some(cause.into()),
        count,
        sum_ns: count * 400_000_000,
        lost_ns: lost_ns as i64,
        ..of_hour(from, Counted::Storm, "fsync")
    }
}

/// Response times of so many requests; the slowest hundredth is so many times slower.
fn drawn(shares: &[(f64, f64)], count: f64, slow: f64, random: &mut Random) -> SparseHistogram {
    let (mut buckets, mut counts) = (Vec::new(), Vec::new());
    let (mut sum_ns, mut min_ns, mut max_ns) = (0, u64::MAX, 0);
    // All times of an hour are a little longer or shorter.
    let longer = 0.9 + 0.2 * random.unit();
    let mut above = 1.0;
    for (share, ns) in shares {
        let wanted = count * share;
        let times = wanted.floor() as u64 + u64::from(random.unit() < wanted.fract());
        let ns = ns * longer * if above <= 0.011 { slow } else { 1.0 };
        above -= share;
        if times > 0 {
            buckets.push(u64::from(Binned::new(ns as u64).bucket()));
            counts.push(times);
            sum_ns += ns as u64 * times;
            (min_ns, max_ns) = (min_ns.min(ns as u64), max_ns.max(ns as u64));
        }
    }
    let all = Buckets::from_parts(&buckets, &counts, sum_ns, min_ns, max_ns);
    all.unwrap_or_default()
}
