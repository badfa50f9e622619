//! What a watch that goes on takes when hours are over, in virtual time. A process of its own: what
//! is resident counts what every thread has.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used)]

use model::histogram::SparseHistogram;
use model::history::{HOUR_NS, MINUTE_NS, Store};
use model::record::{Rollup, RollupKey};
use standing::Second;
use standing::keeper::Keeper;
use verdict::watched::Span;

const ROLES: u64 = 100;
const HOURS: i64 = 3;
const FROM_UNIX_NS: i64 = 500_000 * HOUR_NS;

/// Pages of its own, and not those of the program: in bytes.
fn own_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap();
    let line = text.lines().find(|line| line.starts_with("Pss_Anon:")).unwrap();
    line.split_ascii_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

/// A minute of so many roles, whose response times are spread over hundreds of buckets.
fn minute(number: i64) -> Second {
    let from_unix_ns = FROM_UNIX_NS + number * MINUTE_NS;
    let until_unix_ns = from_unix_ns + MINUTE_NS;
    let span = Span {
        number: number as u64,
        from_ns: from_unix_ns,
        until_ns: until_unix_ns,
        from_unix_ns,
        until_unix_ns,
    };
    let row = |role: u64| {
        let key = RollupKey { role: Some(format!("role {role}")), ..RollupKey::default() };
        let mut times = SparseHistogram::default();
        (0..200).for_each(|step| times.record(1_000 + 997 * (step * step + role)));
        let mut sum = Rollup::of(key, from_unix_ns, until_unix_ns);
        sum.set_responses(&times);
        sum
    };
    Second { rows: (0..ROLES).map(row).collect(), span, going_on: Vec::new() }
}

#[test]
#[cfg(target_env = "gnu")]
fn an_hour_that_is_put_together_leaves_no_memory_behind() {
    host::memory::return_freed();
    let directory = tempfile::tempdir().unwrap();
    let mut keeper = Keeper::new(Store::open(directory.path(), 1 << 30).unwrap());
    let mut own = Vec::new();
    for number in 0..HOURS * 60 + 1 {
        assert_eq!(keeper.take(&minute(number)), (None, None));
        if number % 30 == 29 {
            own.push(own_bytes());
        }
    }
    // Twenty MiB, if the library keeps what was freed.
    let (first, most) = (own[0], own.iter().copied().max().unwrap_or_default());
    assert!(most < first + (2 << 20), "each half hour: {own:?}");
}
