//! The flash drives of the catalog do what was published of the drives that they stand for.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may panic, and says what it found"
)]

use model::record::{Flags, Op, Request};
use sim::bus::Bus;
use sim::drive::{Access, Drive};
use sim::profile::CATALOG;
use sim::random::Random;
use sim::replay::{ReplayMachine, each, open};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

fn machine(name: &str, settings: &[(&str, &str)]) -> ReplayMachine {
    let mut profile = CATALOG.load(name).unwrap();
    for (key, value) in settings {
        profile.set(key, value).unwrap();
    }
    ReplayMachine::of(&profile).unwrap()
}

/// Random or sequential requests of so many blocks.
fn requests(drive: &dyn Drive, blocks: u64, is_random: bool) -> impl FnMut() -> u64 + use<> {
    let places = drive.capacity().blocks / blocks;
    let (mut random, mut next) = (Random::new(5), 0);
    move || {
        next += 1;
        let place = if is_random { random.below(places) } else { next };
        place * blocks
    }
}

/// Keeps so many requests outstanding; returns how many are completed a second, once it is steady,
/// and their mean time in us.
fn keep(
    drive: &mut dyn Drive,
    depth: usize,
    count: u64,
    mut next: impl FnMut() -> Access,
) -> (f64, f64) {
    let mut bus = Bus::new(1e15, 0.0);
    let (mut ends, mut now_ns, mut begin_ns, mut sum_ns) = (BinaryHeap::new(), 0.0, 0.0, 0.0);
    for number in 0..count {
        if ends.len() == depth {
            let Reverse(end) = ends.pop().unwrap();
            now_ns = f64::from_bits(end);
        }
        if number == count / 2 {
            begin_ns = now_ns;
        }
        let end_ns = drive.serve(now_ns, next(), &mut bus);
        sum_ns += if number >= count / 2 { end_ns - now_ns } else { 0.0 };
        ends.push(Reverse(end_ns.to_bits()));
    }
    let half = (count - count / 2) as f64;
    (half / (now_ns - begin_ns) * 1e9, sum_ns / half / 1e3)
}

/// Requests a second and their mean time, us, of a drive of the catalog.
struct Load<'a> {
    name: &'a str,
    settings: &'a [(&'a str, &'a str)],
    depth: usize,
    count: u64,
    blocks: u64,
    is_random: bool,
}

impl Load<'_> {
    fn run(&self, writes: bool) -> [f64; 2] {
        let mut drive = machine(self.name, self.settings).drive;
        let blocks = self.blocks;
        let mut next = requests(&*drive, blocks, self.is_random);
        let (rate, mean_us) = keep(&mut *drive, self.depth, self.count, || match writes {
            true => Access::write(next(), blocks),
            false => Access::read(next(), blocks),
        });
        [rate, mean_us]
    }

    /// MB a second.
    fn megabytes(&self, writes: bool) -> f64 {
        self.run(writes)[0] * self.blocks as f64 * 512.0 / 1e6
    }
}

fn assert_within(what: &str, found: f64, published: f64, share: f64) {
    println!("{what}: {found:.1}, published {published}");
    assert!((found / published - 1.0).abs() <= share, "{what}: {found} for {published}");
}

/// A drive, and of what was published of it: mean random read, us; random reads/s at depth 32 (or
/// 512); MB/s of sequential reads and writes; random writes/s in the steady state.
const PUBLISHED: [(&str, f64, usize, f64, f64, f64, f64); 3] = [
    ("flash-nvme-2020", 90.0, 256, 520e3, 3000.0, 1550.0, 75e3),
    ("flash-sata-2018", 120.0, 32, 98e3, 550.0, 520.0, 25e3),
    ("flash-sata-2021", 77.0, 32, 98e3, 560.0, 530.0, 12e3),
];

/// A fiftieth of a drive, in blocks that are smaller too: it is collected from soon.
const SMALLER: [&[(&str, &str)]; 3] = [
    &[("drive.capacity.size", "76.8 GB"), ("drive.nand.block_size", "1 MiB")],
    &[("drive.capacity.size", "19.2 GB"), ("drive.nand.block_size", "1 MiB")],
    &[("drive.capacity.size", "20 GB"), ("drive.nand.block_size", "1 MiB")],
];

#[test]
fn reads_and_writes_are_as_published() {
    for (published, smaller) in PUBLISHED.into_iter().zip(SMALLER) {
        let (name, read_us, depth, reads, read_mb, write_mb, writes) = published;
        let of = |what: &str| format!("{name}, {what}");
        let random = Load { name, settings: &[], depth, count: 60_000, blocks: 8, is_random: true };
        let alone = Load { depth: 1, count: 20_000, ..random };
        assert_within(&of("mean read, us"), alone.run(false)[1], read_us, 0.02);
        assert_within(&of("random reads/s"), random.run(false)[0], reads, 0.02);
        let steady = Load { depth: 32, count: 500_000, settings: smaller, ..random };
        assert_within(&of("random writes/s"), steady.run(true)[0], writes, 0.1);
        // As a drive that holds what was written in one pass.
        let filled = &[("drive.history.kind", "filled")];
        let count = 20_000;
        let sequential =
            Load { settings: filled, depth: 32, count, blocks: 256, is_random: false, ..random };
        assert_within(&of("MB/s read"), sequential.megabytes(false), read_mb, 0.05);
        assert_within(&of("MB/s written"), sequential.megabytes(true), write_mb, 0.1);
    }
}

/// Synced writes of a consumer drive without protection: 248 to 311 a second.
#[test]
fn a_flush_costs_what_it_does_on_such_drives() {
    let row = |number: u64, op, flags| Request {
        request_id: number,
        op,
        flags,
        offset_bytes: (op == Op::Write).then_some(number * 4096),
        length_bytes: if op == Op::Write { 4096 } else { 0 },
        queued_ns: Some(number as i64 * 10_000_000),
        ..Request::default()
    };
    let rows = (0..200).map(|number| match number % 2 {
        0 => row(number, Op::Write, Flags::default()),
        _ => row(number, Op::Flush, Flags::default()),
    });
    for (name, low_us, high_us) in
        [("flash-sata-2021", 1e6 / 311.0, 1e6 / 248.0), ("flash-sata-2018", 60.0, 75.0)]
    {
        let mut sum_us = 0.0;
        open(machine(name, &[]), each(rows.clone()), |row| {
            sum_us += (row.completed_ns.unwrap() - row.queued_ns.unwrap()) as f64 / 1e3;
        })
        .unwrap();
        let pair_us = sum_us / 100.0;
        println!("{name}: write and flush {pair_us:.0} us");
        assert!((low_us..=high_us).contains(&pair_us), "{name}: {pair_us}");
    }
}
