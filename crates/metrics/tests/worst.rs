//! As much as there can be: what it takes in room and in time.

use crate::planted::second;
use metrics::{Format, Totals};
use model::record::{Counted, Rollup, RollupKey};
use std::time::Instant;

/// A row of a role with a time in each of 60 buckets.
fn row(counted: Counted, number: usize, role: usize) -> Rollup {
    let key = RollupKey {
        counted,
        device: Some(format!("sd{}", number % 40)),
        operation: ["read", "write", "flush", "discard"][number % 4].to_owned(),
        role: Some(format!("a program with a long name: its part number {role}")),
        cause: (counted == Counted::Lost).then(|| format!("another one, number {number}")),
        ..RollupKey::default()
    };
    let buckets: Vec<u64> = (0..60).map(|place| 1_000 + 40 * place).collect();
    let counts = vec![1; buckets.len()];
    let mut row = Rollup::of(key, 0, 1);
    (row.buckets, row.counts) = (buckets, counts);
    (row.count, row.sum_ns, row.max_ns, row.lost_ns) = (60, 1 << 30, u64::MAX, 1_000_000);
    row
}

#[test]
fn the_most_that_there_can_be_is_a_few_megabytes() {
    let mut totals = Totals::default();
    for second in 0..20 {
        let all = [Counted::Requests, Counted::Calls, Counted::Waits, Counted::Lost];
        let rows: Vec<_> = (0..1_000)
            .flat_map(|number| all.map(|counted| row(counted, number + second, number * 7 % 2_000)))
            .collect();
        let began = Instant::now();
        totals.add(&rows);
        println!("{} rows added in {:?}", rows.len(), began.elapsed());
    }
    for format in [Format::Text, Format::OpenMetrics, Format::Protobuf] {
        let began = Instant::now();
        let text = totals.text(format);
        println!("{format:?}: {} bytes in {:?}", text.len(), began.elapsed());
        assert!(text.len() < 32 << 20, "{format:?}: {}", text.len());
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let resident = |line: &&str| line.starts_with("VmRSS") || line.starts_with("VmHWM");
    status.lines().filter(resident).for_each(|line| println!("{line}"));
}

#[test]
fn a_second_like_another_takes_microseconds() {
    const SECONDS: u32 = 200;
    let mut totals = Totals::default();
    let rows: Vec<_> = (0..10).flat_map(second).collect();
    let began = Instant::now();
    (0..SECONDS).for_each(|_| totals.add(&rows));
    let adding = began.elapsed() / SECONDS;
    let began = Instant::now();
    let mut anew = |_| {
        totals.add(&[]);
        totals.text(Format::Text).len()
    };
    let length: usize = (0..SECONDS).map(&mut anew).sum();
    let writing = began.elapsed() / SECONDS;
    println!("{} rows: {adding:?}; {} bytes: {writing:?}", rows.len(), length / SECONDS as usize);
    assert!(adding.as_millis() < 100 && writing.as_millis() < 100);
}
