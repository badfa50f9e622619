//! The estimators against a synthetic engine whose truth is known: do the 95 % intervals
//! cover it in 95 of 100 repetitions, wrong breaks and refusals counted as misses?
//!
//! `cargo test -p analyze recovery -- --nocapture` prints the figures.

use super::*;

/// Uniform numbers by splitmix64 (Steele, Lea & Flood 2014), normal ones by Box & Muller (1958).
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Above 0 and at most 1.
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64 + f64::EPSILON / 4.0
    }

    pub(super) fn normal(&mut self) -> f64 {
        let (radius, angle) = ((-2.0 * self.uniform().ln()).sqrt(), self.uniform());
        radius * (std::f64::consts::TAU * angle).cos()
    }
}

/// A routine with known costs.
struct Engine {
    /// T_call in ns and T_trans in ns a byte.
    small: (f64, f64),
    /// The same from the given block size on.
    large: Option<(u64, f64, f64)>,
    sizes: Vec<u64>,
    passes: usize,
    noise: f64,
}

impl Engine {
    fn truth_ns(&self, bytes: u64) -> f64 {
        let (call, trans) = match self.large {
            Some((from, call, trans)) if bytes >= from => (call, trans),
            _ => self.small,
        };
        call + trans * bytes as f64
    }

    fn run(&self, random: &mut Random) -> Vec<Observation> {
        let passes = self.sizes.iter().flat_map(|bytes| vec![*bytes; self.passes]);
        let observe = |block_bytes: u64| Observation {
            block_bytes,
            value_ns: self.truth_ns(block_bytes) * (1.0 + self.noise * random.normal()),
        };
        passes.map(observe).collect()
    }
}

const REPETITIONS: usize = 1000;

/// How often an interval held the truth, and what the estimates were on average.
#[derive(Debug, Default, Clone, Copy)]
struct Tally {
    covered: usize,
    found: usize,
    sum: f64,
}

/// Fits again and again and holds what is read against the truth, quantity by quantity.
fn tally<const N: usize>(
    name: &str,
    engine: &Engine,
    truth: [f64; N],
    read: impl Fn(&Fit) -> Option<[Option<Quantity>; N]>,
) -> [Tally; N] {
    let mut random = Random::new(1980);
    let mut tallies = [Tally::default(); N];
    let mut two = 0;
    for _ in 0..REPETITIONS {
        let fit = fit(&set_aside_disturbed(&engine.run(&mut random)).kept).unwrap();
        two += usize::from(matches!(fit.shape, Shape::TwoLines { .. }));
        let quantities = read(&fit).unwrap_or([None; N]);
        for (i, quantity) in quantities.iter().enumerate() {
            let Some(quantity) = quantity else { continue };
            let (low, high) = quantity.interval;
            tallies[i].found += 1;
            tallies[i].covered += usize::from(low <= truth[i] && truth[i] <= high);
            tallies[i].sum += quantity.value;
        }
    }
    println!("{name}: two lines in {two}");
    for (t, truth) in tallies.iter().zip(truth) {
        let mean = t.sum / t.found as f64;
        println!(
            "   truth {truth:>12.5}  mean {mean:>12.5} ({:+.2} %)  covered {}",
            100.0 * (mean / truth - 1.0),
            t.covered
        );
    }
    tallies
}

fn call_and_rate(fit: &Fit) -> Option<[Option<Quantity>; 4]> {
    let (small, large) = (fit.small_blocks()?, fit.large_blocks()?);
    let (cost, rate) = (CallCost::from(small), Rate::from(large));
    Some([
        Some(cost.call_ns),
        Some(CallCost::from(large).transfer_ns_per_kib),
        rate.asymptotic_bytes_per_s,
        rate.half_rate_bytes,
    ])
}

fn powers(from: u64, count: usize) -> Vec<u64> {
    (0..count).map(|i| from << i).collect()
}

#[test]
fn explore() {
    for (noise, passes, sizes, trans) in [
        (0.01, 3, powers(512, 5), 0.17),
        (0.05, 3, powers(512, 5), 0.17),
        (0.01, 5, powers(512, 12), 0.17),
        (0.05, 5, powers(512, 12), 0.17),
        (0.05, 3, powers(512, 12), 0.17),
        (0.10, 3, powers(512, 12), 0.17),
        (0.05, 3, powers(4096, 9), 10.0),
    ] {
        let e = Engine { small: (900.0, trans), large: None, sizes, passes, noise };
        let t = e.small;
        tally(
            &format!("one {noise} {passes} {} {trans}", e.sizes.len()),
            &e,
            [t.0, t.1 * 1024.0, 1e9 / t.1, t.0 / t.1],
            call_and_rate,
        );
    }
    for (noise, passes, large, from) in [
        (0.01, 3, (8192, 605.0, 0.1693), 512),
        (0.01, 5, (8192, 605.0, 0.1693), 512),
        (0.02, 5, (8192, 605.0, 0.1693), 512),
        (0.05, 5, (8192, 605.0, 0.1693), 512),
        (0.01, 5, (16384, 2000.0, 0.25), 512),
        (0.05, 5, (16384, 2000.0, 0.25), 512),
        (0.05, 3, (16384, 4000.0, 0.25), 512),
    ] {
        let e = Engine {
            small: (911.0, 0.092),
            large: Some(large),
            sizes: powers(from, 12),
            passes,
            noise,
        };
        let t = (large.1, large.2);
        tally(
            &format!("two {noise} {passes} {large:?}"),
            &e,
            [911.0, t.1 * 1024.0, 1e9 / t.1, t.0 / t.1],
            call_and_rate,
        );
    }
}
