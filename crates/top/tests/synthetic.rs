//! Seconds that are made up: PostgreSQL on a disk, with a storm of the checkpointer every 30 s; and
//! as many roles and files beside it as are wanted. For tests and for the example.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(dead_code, reason = "the example and the tests each use a part")]

use model::histogram::SparseHistogram;
use model::record::{Counted, Rollup, RollupKey, operations};

const NS: i64 = 1_000_000_000;
const POSTGRES: [&str; 3] = ["postgres: backend", "postgres: checkpointer", "postgres: walwriter"];

fn row(second: i64, counted: Counted, operation: &str, device: &str) -> Rollup {
    let key = RollupKey {
        counted,
        device: Some(device.into()),
        operation: operation.into(),
        ..RollupKey::default()
    };
    Rollup::of(key, second * NS, (second + 1) * NS)
}

/// `count` responses around `middle_ns`, with a long tail.
fn with_responses(mut row: Rollup, count: u64, middle_ns: u64, second: i64) -> Rollup {
    let mut responses = SparseHistogram::default();
    let mut random = second as u64 * 7919 + count;
    for _ in 0..count {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
        let tail = 1 + (random >> 33) % 100;
        responses.record(middle_ns / 2 + middle_ns * tail / 50 * (1 + u64::from(tail > 97) * 3));
    }
    row.count = count;
    row.set_responses(&responses);
    row
}

/// Whether a storm is on.
pub(crate) fn is_storm(second: i64) -> bool {
    second.rem_euclid(30) < 3
}

/// The rows of a second.
pub(crate) fn second(second: i64, beside: u64) -> Vec<Rollup> {
    let storm = is_storm(second);
    let mut rows = vec![
        of_watch(second, operations::WATCHED, NS as u64),
        kernel(second, operations::BUSY, if storm { 990_000_000 } else { 210_000_000 }),
        kernel(second, operations::QUEUED, if storm { 9_400_000_000 } else { 400_000_000 }),
    ];
    let requests = [
        ("read", POSTGRES[0], 420, 130_000, 8192),
        ("write", POSTGRES[0], 900, 210_000, 8192),
        ("write", POSTGRES[1], if storm { 2400 } else { 20 }, 2_000_000, 8192),
        ("write", POSTGRES[2], 60, 300_000, 16_384),
        ("flush", POSTGRES[0], 850, 450_000, 0),
    ];
    for (operation, role, count, middle, bytes) in requests {
        let slow = if storm { 8 } else { 1 };
        let of = row(second, Counted::Requests, operation, "vda");
        let mut of = with_responses(of, count, middle * slow, second);
        of.role = Some(role.into());
        of.bytes = bytes * count;
        rows.push(of);
    }
    for (call, role, count) in [("fdatasync", POSTGRES[0], 850), ("fsync", POSTGRES[1], 4)] {
        let middle = if storm { 9_000_000 } else { 600_000 };
        let of = row(second, Counted::Calls, call, "vda");
        let mut of = with_responses(of, count, middle, second);
        of.role = Some(role.into());
        let waits = Rollup { counted: Counted::Waits, ..of.clone() };
        rows.extend([of, waits]);
    }
    rows.extend(losses(second, storm));
    for (file, operation, count) in [
        ("/var/lib/postgresql/17/main/pg_wal/000000010000000000000042", "write", 900),
        ("/var/lib/postgresql/17/main/pg_wal/000000010000000000000042", "fdatasync", 850),
        ("/var/lib/postgresql/17/main/base/16384/16402", "read", 420),
        ("/var/lib/postgresql/17/main/base/16384/16402", "write", if storm { 2400 } else { 20 }),
        ("/data/anna/\u{1b}[31mred\n\u{202e}.txt", "read", 3),
    ] {
        let mut of = row(second, Counted::File, operation, "vda");
        of.file = Some(file.into());
        (of.count, of.bytes, of.sum_ns) = (count, count * 8192, count * 210_000);
        rows.push(of);
    }
    rows.extend((0..beside).flat_map(|place| many(second, place)));
    rows
}

fn losses(second: i64, storm: bool) -> Vec<Rollup> {
    let lost = |role: &str, operation: &str, cause: &str, lost_ns: f64| {
        let mut of = row(second, Counted::Lost, operation, "vda");
        (of.role, of.cause, of.lost_ns) = (Some(role.into()), Some(cause.into()), lost_ns as i64);
        of.count = 12;
        of
    };
    let much = if storm { 3.1e9 } else { 4e6 };
    vec![
        lost(POSTGRES[0], "fdatasync", POSTGRES[1], much),
        lost(POSTGRES[0], "read", POSTGRES[1], much / 8.0),
        lost(POSTGRES[0], "fdatasync", "<device>", 2e6),
        lost(POSTGRES[1], "fsync", "<stolen>", 1e6),
        lost(POSTGRES[2], "write", "<held>", -3e6),
    ]
}

/// A device, a role and a file of little traffic.
fn many(second: i64, place: u64) -> Vec<Rollup> {
    let of = row(second, Counted::Requests, "read", &format!("nvme{}n1", place % 1000));
    let mut of = with_responses(of, 5, 100_000 + place, second);
    of.role = Some(format!("worker {place}"));
    of.bytes = 4096 * 5;
    let mut file = row(second, Counted::File, "read", "vda");
    file.file = Some(format!("/srv/data/{second}/{place}"));
    (file.count, file.bytes, file.sum_ns) = (5, 4096 * 5, 500_000);
    vec![of, file]
}

fn of_watch(second: i64, operation: &str, sum_ns: u64) -> Rollup {
    let mut of = row(second, Counted::Watch, operation, "");
    (of.device, of.sum_ns) = (None, sum_ns);
    of
}

fn kernel(second: i64, operation: &str, sum_ns: u64) -> Rollup {
    Rollup { sum_ns, ..row(second, Counted::Disk, operation, "vda") }
}
