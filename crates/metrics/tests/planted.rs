//! Rows of a second in which something of everything happened.

use model::histogram::SparseHistogram;
use model::record::{Counted, Rollup, RollupKey, operations};

const SECOND: i64 = 1_000_000_000;

fn row(counted: Counted, operation: &str, role: Option<&str>, second: i64) -> Rollup {
    let key = RollupKey {
        counted,
        device: (counted != Counted::Watch).then(|| "vda".to_owned()),
        operation: operation.to_owned(),
        role: role.map(str::to_owned),
        ..RollupKey::default()
    };
    Rollup::of(key, second * SECOND, (second + 1) * SECOND)
}

fn timed(mut row: Rollup, times: impl Iterator<Item = u64>) -> Rollup {
    let mut histogram = SparseHistogram::default();
    times.for_each(|ns| histogram.record(ns));
    row.set_responses(&histogram);
    row.count = histogram.count();
    Rollup { bytes: 4096 * row.count, ..row }
}

/// Each second is like the others: 100 reads, of 1 to 100 ms; 10 calls of fsync, of 1 to 10 ms;
/// a quarter of a second lost; two CPUs, of which a tenth was stolen.
pub(crate) fn second(number: i64) -> Vec<Rollup> {
    let role = "post\"gres\\:\n backend é";
    let ms = |ms: u64| ms * 1_000_000;
    let of = |counted, operation: &str, role| row(counted, operation, role, number);
    let told =
        |operation, count, sum_ns| Rollup { count, sum_ns, ..of(Counted::Watch, operation, None) };
    let disk = |operation, count, sum_ns| Rollup {
        count,
        sum_ns,
        bytes: 4096 * count,
        ..of(Counted::Disk, operation, None)
    };
    let mut rows = vec![
        timed(of(Counted::Requests, "read", Some(role)), (1..=100).map(ms)),
        timed(of(Counted::Calls, "fsync", Some(role)), (1..=10).map(ms)),
        timed(of(Counted::Waits, "fsync", Some(role)), (1..=10).map(ms)),
        disk("read", 100, ms(5_050)),
        disk(operations::BUSY, 0, ms(900)),
        disk(operations::QUEUED, 0, ms(5_050)),
        told(operations::WATCHED, 0, ms(1_000)),
        told(operations::CPUS, 0, ms(2_000)),
        told(operations::CPUS_IDLE, 0, ms(1_000)),
        told(operations::CPUS_STOLEN, 0, ms(200)),
        Rollup { device: Some("vda".to_owned()), ..told(operations::OUTSTANDING, 5, 0) },
    ];
    for (cause, lost_ns) in [("dd", 2e8), ("<device>", 5e7)] {
        let lost = of(Counted::Lost, "fsync", Some(role));
        rows.push(Rollup { cause: Some(cause.to_owned()), lost_ns: lost_ns as i64, ..lost });
    }
    rows
}
