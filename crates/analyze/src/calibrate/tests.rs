//! Planted truth: passes of a device whose parameters are known.

use super::*;
use model::calibration::Cell;
use proptest::prelude::*;

const DEPTHS: [u32; 3] = [1, 8, 64];

/// So many servers, each of which takes a time and its bytes by a rate; a machine's noise on it.
#[derive(Debug, Clone, Copy)]
struct Truth {
    fixed_ns: f64,
    byte_ns: f64,
    servers: f64,
    noise: f64,
}

fn unit(number: u64) -> f64 {
    let mut z = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z >> 11) as f64 / (1u64 << 53) as f64
}

fn passes(truth: Truth, seed: u64) -> Vec<Pass> {
    let mut passes = Vec::new();
    for round in 0..7 {
        for pattern in [Pattern::Random, Pattern::Sequential] {
            for depth in DEPTHS {
                for block_bytes in [4096, 262_144] {
                    let read_percent = 100;
                    let class = Class { pattern, read_percent, block_bytes, depth, flushes: false };
                    let number = seed * 1000 + passes.len() as u64;
                    let shift = 1.0 + truth.noise * (unit(number) + unit(!number) - 1.0);
                    let waits = (f64::from(depth) / truth.servers).max(1.0);
                    let mean = (truth.fixed_ns + block_bytes as f64 * truth.byte_ns) * waits;
                    let mut met = Met { wall_ns: 1_000_000_000, ..Met::default() };
                    for share in 0..100 {
                        let time_ns = mean * shift * (0.5 + f64::from(share) / 99.0);
                        met.reads.record(time_ns as u64);
                    }
                    met.halves = [50, 50];
                    let cell = Cell { class, is_held_out: false };
                    passes.push(Pass { cell, round, met, foreign_bytes: Some(0) });
                }
            }
        }
    }
    passes
}

/// 95 % intervals of planted parameters hold them in at least nine of ten calibrations.
#[test]
fn intervals_hold_what_was_planted() {
    let (mut held, mut all) = (0, 0);
    for seed in 0..200 {
        let truth = Truth {
            fixed_ns: 2e4 + 1e6 * unit(7 * seed),
            byte_ns: 0.2 + 5.0 * unit(11 * seed),
            servers: 1.0 + (30.0 * unit(13 * seed)).floor(),
            noise: 0.05,
        };
        let fit = fit(&passes(truth, seed), &[]).unwrap().read;
        for (range, truth) in [
            (fit.random.fixed_ns, truth.fixed_ns),
            (fit.sequential.fixed_ns, truth.fixed_ns),
            (fit.random.bytes_per_s, 1e9 / truth.byte_ns),
        ] {
            all += 1;
            held += u32::from(range.low <= truth && truth <= range.high);
        }
    }
    assert!(f64::from(held) >= 0.9 * f64::from(all), "{held} of {all}");
}

proptest! {
    #[test]
    fn what_is_without_noise_is_found(
        fixed_ns in 1e4f64..1e7, byte_ns in 0.1f64..100.0, servers in 1u32..60,
    ) {
        let truth = Truth { fixed_ns, byte_ns, servers: f64::from(servers), noise: 0.0 };
        let fit = fit(&passes(truth, 1), &[]).unwrap().read;
        let is_near = |value: f64, truth: f64| (value / truth - 1.0).abs() < 0.01;
        let least = fixed_ns / (fixed_ns + 4096.0 * byte_ns);
        // What is a hundredth of the smallest request is lost in the rounding of times.
        prop_assert!(least < 0.1 || is_near(fit.random.fixed_ns.value, fixed_ns), "{:?}", fit);
        prop_assert!(is_near(fit.ceiling.as_ref().unwrap().parallelism.value, f64::from(servers)));
        for load in &fit.random.loads {
            let mean = (load.spread[0] + load.spread[SHARES.len() - 1]) / 2.0;
            prop_assert!((mean - 1.0).abs() < 0.01, "{:?}", load);
        }
    }
}

#[test]
fn a_rate_that_falls_is_seen_and_a_steady_one_is_not() {
    let truth = Truth { fixed_ns: 1e5, byte_ns: 1.0, servers: 4.0, noise: 0.02 };
    let mut passes = passes(truth, 3);
    assert_eq!(throttled(&passes), None);
    for pass in passes.iter_mut().filter(|pass| pass.round >= 2) {
        pass.met.halves = [20, 20];
    }
    assert!((throttled(&passes).unwrap() - 0.4).abs() < 0.01);
    assert_eq!(foreign_share(&passes), Some(0.0));
    passes[0].foreign_bytes = Some(passes.iter().map(Pass::bytes).sum());
    assert_eq!(foreign_share(&passes), Some(1.0));
    passes[1].foreign_bytes = None;
    assert_eq!(foreign_share(&passes), None);
}

/// A limit of requests makes all rates one, and no rate of bytes does.
#[test]
fn a_limit_of_requests_is_seen_where_its_bucket_is_empty() {
    let truth = Truth { fixed_ns: 1e5, byte_ns: 1.0, servers: 4.0, noise: 0.02 };
    let mut passes = passes(truth, 3);
    let set = |passes: &mut Vec<Pass>, of: &dyn Fn(Class) -> u64| {
        for pass in passes.iter_mut() {
            pass.met.halves = [of(pass.cell.class) / 2; 2];
        }
    };
    set(&mut passes, &|_| 3000);
    assert_eq!(limited(&passes), Some(3000.0));
    set(&mut passes, &|class| 400_000_000 / class.block_bytes);
    assert_eq!(limited(&passes), None);
}

/// 3,000 IOPS hold the small requests at some depths back, 100 MB/s the large ones at all.
#[test]
fn classes_at_a_limit_tell_nothing_of_the_device() {
    let truth = Truth { fixed_ns: 1e6, byte_ns: 0.0, servers: 64.0, noise: 0.0 };
    let mut passes = passes(truth, 1);
    for pass in &mut passes {
        let class = pass.cell.class;
        let rate = (1000 * u64::from(class.depth)).min(3000).min(100_000_000 / class.block_bytes);
        pass.met.halves = [rate / 2, rate - rate / 2];
    }
    let limits = [("requests_per_s".to_owned(), 3000.0), ("bytes_per_s".to_owned(), 1e8)];
    let free = unthrottled(&passes, &limits);
    assert!(!free.is_empty() && free.len() < passes.len());
    let is_small = |pass: &Pass| pass.cell.class.block_bytes == 4096 && pass.cell.class.depth < 3;
    assert!(free.iter().all(is_small));
    assert_eq!(unthrottled(&passes, &[]).len(), passes.len());
}

#[test]
fn a_class_holds_by_its_mean_its_tail_and_its_rate() {
    let of = |predicted, count| Judged {
        name: String::new(),
        measured: [100.0; 3],
        predicted,
        count,
        demerit: None,
    };
    assert!(of([110.0, 125.0, 91.0], 1000).holds());
    assert!(!of([116.0, 100.0, 100.0], 1000).holds());
    assert!(!of([100.0, 131.0, 100.0], 1000).holds());
    assert!(of([100.0, 131.0, 100.0], 100).holds());
    assert!(!of([100.0, 100.0, 111.0], 1000).holds());
}
