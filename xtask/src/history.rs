//! `cargo xtask history DIR DAYS FINE`: a history of made-up days at real size, and what it costs:
//! 5 devices, 4 operations, 8 roles, with the rhythm of hours and days, and some stalls. Only the
//! last days (FINE) are of minutes. Of the others an hour is added as a whole, which is what it is
//! when it has aged: a year of minutes would take an hour to make.

use model::histogram::SparseHistogram;
use model::history::{DAY_NS, MINUTE_NS, Store};
use model::record::{Counted, Rollup, RollupKey, operations};
use sim::random::Random;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Make a history of so many days at real size
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    directory: PathBuf,
    days: i64,
    /// Only the last of them are of minutes [default: all]
    fine: Option<i64>,
    #[arg(default_value_t = 1024)]
    keep_mib: u64,
}

/// 2026-11-23T00:00:00Z: the last day's end.
const END_NS: i64 = 1_795_392_000 * 1_000_000_000;

const ROLES: [&str; 8] = [
    "postgres: backend",
    "postgres: checkpointer",
    "postgres: walwriter",
    "nginx",
    "backup",
    "kworker: writeback",
    "journald",
    "cron",
];

/// Which of the devices a role uses, and how many requests a second it makes at noon.
const USE: [(&[usize], f64); 8] = [
    (&[0, 1], 180.0),
    (&[0], 60.0),
    (&[1], 40.0),
    (&[2], 90.0),
    (&[0, 2, 3], 30.0),
    (&[0, 1, 2, 3, 4], 20.0),
    (&[4], 3.0),
    (&[3, 4], 2.0),
];

/// How long much is lost at once.
const STORM_NS: u64 = 2_000_000_000;

const OPERATIONS: [&str; 4] = ["read", "write", "flush", "discard"];

/// What a history took.
pub(crate) struct Made {
    rows: usize,
    /// Of all its files.
    pub(crate) bytes: u64,
    /// At any moment.
    pub(crate) bytes_most: u64,
    /// Of the largest file of a minute.
    pub(crate) minute_bytes: u64,
    took_s: f64,
    minute_s_max: f64,
}

/// Makes the history and says what it took.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let days = options.days;
    let fine = options.fine.unwrap_or(days);
    let made = make(&options.directory, (days, fine), options.keep_mib << 20)?;
    println!(
        "{days} days, {} rows, {:.1} MB (at most {:.1} MB), {:.0} s, longest minute {:.2} s",
        made.rows,
        made.bytes as f64 / 1e6,
        made.bytes_most as f64 / 1e6,
        made.took_s,
        made.minute_s_max,
    );
    Ok(())
}

/// Makes so many days, of which so many are of minutes.
pub(crate) fn make(path: &Path, (days, fine): (i64, i64), keep_bytes: u64) -> anyhow::Result<Made> {
    let mut store = Store::open(path, keep_bytes)?;
    let mut random = Random::new(1);
    let mut made = BTreeMap::new();
    let began = Instant::now();
    let mut found =
        Made { rows: 0, bytes: 0, bytes_most: 0, minute_bytes: 0, took_s: 0.0, minute_s_max: 0.0 };
    for minute in 0..days * 1_440 {
        let from = END_NS - days * DAY_NS + minute * MINUTE_NS;
        let is_fine = minute >= (days - fine) * 1_440;
        if !is_fine && minute % 60 != 0 {
            continue;
        }
        let length = if is_fine { 1 } else { 60 };
        let of_minute = like(&mut made, from, length, &mut random);
        found.rows += of_minute.len();
        let (at, before) = (Instant::now(), store.bytes());
        for said in store.add(&of_minute, from, from + length * MINUTE_NS)? {
            println!("{said}");
        }
        found.minute_s_max = found.minute_s_max.max(at.elapsed().as_secs_f64());
        found.bytes_most = found.bytes_most.max(store.bytes());
        if is_fine {
            // Where files were put together it is less.
            found.minute_bytes = found.minute_bytes.max(store.bytes().saturating_sub(before));
        }
    }
    (found.bytes, found.took_s) = (store.bytes(), began.elapsed().as_secs_f64());
    Ok(found)
}

/// The rows of a time; those of the same time of another day are the same but for their day.
fn like(
    made: &mut BTreeMap<(i64, bool, i64), Vec<Rollup>>,
    from: i64,
    length: i64,
    random: &mut Random,
) -> Vec<Rollup> {
    let day = from.div_euclid(DAY_NS).rem_euclid(7);
    let key = (from.rem_euclid(DAY_NS), day >= 5, length);
    let rows = made.entry(key).or_insert_with(|| minute_of(from, length, random));
    let now = |row: &Rollup| Rollup {
        from_unix_ns: from,
        until_unix_ns: match row.counted {
            Counted::Storm if length == 1 => from + STORM_NS as i64,
            _ => from + length * MINUTE_NS,
        },
        ..row.clone()
    };
    rows.iter().map(now).collect()
}

/// How busy a minute is: nights and weekends are calm.
fn rhythm(from: i64) -> f64 {
    let hour = (from.rem_euclid(DAY_NS) as f64) / 3.6e12;
    let day = from.div_euclid(DAY_NS).rem_euclid(7);
    let of_day = 0.25 + 0.75 * (std::f64::consts::PI * (hour - 4.0) / 16.0).sin().max(0.0);
    of_day * if day >= 5 { 0.5 } else { 1.0 }
}

fn key(counted: Counted, device: usize, operation: &str, role: Option<&str>) -> RollupKey {
    RollupKey {
        counted,
        device: Some(format!("nvme{device}n1")),
        operation: operation.to_owned(),
        role: role.map(str::to_owned),
        ..RollupKey::default()
    }
}

/// Response times: log-normal, with a tail.
fn responses(random: &mut Random, count: u64, middle_ns: f64) -> SparseHistogram {
    let mut found = SparseHistogram::default();
    for _ in 0..count {
        let tail = if random.unit() < 0.01 { 8.0 } else { 1.0 };
        found.record((middle_ns * tail * (0.35 * random.normal()).exp()) as u64);
    }
    found
}

fn minute_of(from: i64, length: i64, random: &mut Random) -> Vec<Rollup> {
    let until = from + MINUTE_NS;
    let busy = rhythm(from);
    // A checkpoint every hour, which at 3 in the night meets the backup.
    let minute = from.rem_euclid(DAY_NS) / MINUTE_NS;
    let is_checkpoint = minute % 60 < 4;
    let is_stall = (187..199).contains(&minute);
    let mut rows = Vec::new();
    let mut of_devices = [[(0u64, 0u64, 0u64); 4]; 5];
    for (role, (devices, rate)) in ROLES.iter().zip(USE) {
        for device in devices {
            for (place, operation) in OPERATIONS.iter().enumerate() {
                let share = [0.5, 0.45, 0.04, 0.01][place];
                let load =
                    if is_checkpoint && *role == "postgres: checkpointer" { 6.0 } else { 1.0 };
                let rate = rate * share * busy * load * (0.7 + 0.6 * random.unit());
                // No more than these are drawn, and stand for all.
                let count = (rate * 60.0 * length as f64 / devices.len() as f64) as u64;
                if count == 0 {
                    continue;
                }
                let middle = [120e3, 80e3, 900e3, 300e3][place] * if is_stall { 9.0 } else { 1.0 };
                let found =
                    responses(random, count.min(1_500 * length.unsigned_abs().min(10)), middle);
                let bytes = count * [8_192, 16_384, 0, 65_536][place];
                let mut row =
                    Rollup::of(key(Counted::Requests, *device, operation, Some(role)), from, until);
                row.set_responses(&found);
                of_devices[*device][place].0 += found.count();
                of_devices[*device][place].1 += bytes;
                of_devices[*device][place].2 += found.sum_ns();
                rows.push(Rollup { count: found.count(), bytes, ..row });
            }
        }
    }
    for (device, sums) in of_devices.into_iter().enumerate() {
        let mut all_ns = 0;
        for (place, (count, bytes, sum_ns)) in sums.into_iter().enumerate() {
            let row = Rollup::of(key(Counted::Disk, device, OPERATIONS[place], None), from, until);
            rows.push(Rollup { count, bytes, sum_ns, ..row });
            all_ns += sum_ns;
        }
        for (operation, sum_ns) in
            [(operations::BUSY, (all_ns / 2).min(60_000_000_000)), (operations::QUEUED, all_ns)]
        {
            let row = Rollup::of(key(Counted::Disk, device, operation, None), from, until);
            rows.push(Rollup { sum_ns, ..row });
        }
    }
    rows.extend(classes(&rows));
    rows.extend(calls(from, busy, is_stall, random));
    rows.extend(losses(from, busy, is_stall, random));
    rows.extend(watch(from, length));
    rows
}

/// The same requests by size and by origin: four sizes, two origins.
fn classes(requests: &[Rollup]) -> Vec<Rollup> {
    const CLASSES: [&str; 6] = [
        "origin other",
        "origin writeback",
        "size to 4k",
        "size to 8k",
        "size to 16k",
        "size to 128k",
    ];
    let mut sums: BTreeMap<RollupKey, Rollup> = BTreeMap::new();
    let of_requests = requests.iter().filter(|row| row.counted == Counted::Requests);
    for (place, row) in of_requests.enumerate() {
        for class in [CLASSES[place % 2], CLASSES[2 + place % 4]] {
            let of = Rollup {
                counted: Counted::Class,
                class: Some(class.to_owned()),
                role: None,
                ..row.clone()
            };
            sums.entry(of.key()).and_modify(|sum| sum.merge(row)).or_insert(of);
        }
    }
    sums.values_mut().for_each(Rollup::coarsen);
    sums.into_values().collect()
}

fn calls(from: i64, busy: f64, is_stall: bool, random: &mut Random) -> Vec<Rollup> {
    let mut rows = Vec::new();
    for (role, rate) in
        [("postgres: backend", 40.0), ("postgres: walwriter", 5.0), ("journald", 0.3)]
    {
        let count = (60.0 * rate * busy) as u64;
        let found = responses(random, count, if is_stall { 2e7 } else { 1.5e6 });
        for counted in [Counted::Calls, Counted::Waits] {
            let mut row =
                Rollup::of(key(counted, 1, "fdatasync", Some(role)), from, from + MINUTE_NS);
            row.set_responses(&found);
            rows.push(Rollup { count, ..row });
        }
    }
    rows
}

fn losses(from: i64, busy: f64, is_stall: bool, random: &mut Random) -> Vec<Rollup> {
    let mut rows = Vec::new();
    for (victim, cause, scale) in [
        ("postgres: backend", "postgres: checkpointer", 3e8),
        ("postgres: backend", "backup", if is_stall { 9e9 } else { 1e6 }),
        ("nginx", "backup", if is_stall { 1e9 } else { 1e6 }),
        ("postgres: walwriter", "<device>", 4e6),
    ] {
        let lost_ns = (scale * busy * (random.unit() - 0.2)) as i64;
        let row =
            Rollup::of(key(Counted::Lost, 1, "fdatasync", Some(victim)), from, from + MINUTE_NS);
        let cause = Some(cause.to_owned());
        if lost_ns > 50_000_000 {
            let storm = Rollup { counted: Counted::Storm, cause: cause.clone(), ..row.clone() };
            rows.push(Rollup { count: 1, sum_ns: STORM_NS, lost_ns, ..storm });
        }
        let lost_us2 = (lost_ns / 20_000).pow(2);
        rows.push(Rollup { cause, lost_ns, lost_us2, count: 7, ..row });
    }
    rows
}

fn watch(from: i64, length: i64) -> Vec<Rollup> {
    let of = |operation: &str, sum_ns: u64| {
        let key = RollupKey {
            counted: Counted::Watch,
            operation: operation.to_owned(),
            ..RollupKey::default()
        };
        Rollup { sum_ns, ..Rollup::of(key, from, from + MINUTE_NS) }
    };
    let minute_ns = (length * MINUTE_NS).unsigned_abs();
    vec![
        of(operations::WATCHED, minute_ns),
        of(operations::CPUS, 2 * minute_ns),
        of(operations::CPUS_IDLE, minute_ns),
    ]
}
