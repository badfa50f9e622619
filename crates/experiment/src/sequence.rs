//! Which block comes when: one after the other, or in a random order that
//! visits each block exactly once a round, without memory.
//!
//! The order is a keyed permutation: a mixer on just enough bits (rounds of
//! odd multiplication and xor-shift, each a bijection on those bits), walked
//! until the result is a block of the file. At most half of the values lie
//! outside, so that a walk takes two steps in the mean at the worst. fio keeps
//! a bitmap for the same promise.
//!
//! Non-goals: skewed distributions.

/// A well-mixed number from a seed and an index (SplitMix64's finalizer: Steele et al. 2014).
#[inline(always)]
pub(crate) fn mix(seed: u64, index: u64) -> u64 {
    let mut z = seed.wrapping_add(index.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The order in which the blocks of a file are visited.
#[derive(Debug, Clone)]
pub(crate) struct Sequence {
    blocks: u64,
    is_random: bool,
    seed: u64,
    mask: u64,
    shift: u32,
    /// The key of the present round, and where in the round it stands.
    key: u64,
    round: u64,
    position: u64,
}

impl Sequence {
    /// A sequence over `blocks` blocks, of which there must be at least one.
    pub(crate) fn new(blocks: u64, is_random: bool, seed: u64) -> Self {
        let blocks = blocks.max(1);
        let bits = (u64::BITS - (blocks - 1).leading_zeros()).max(1);
        Self {
            blocks,
            is_random,
            seed,
            mask: u64::MAX >> (u64::BITS - bits),
            shift: bits.div_ceil(2),
            key: mix(seed, 0),
            round: 0,
            position: 0,
        }
    }

    /// The next block's number; after the last a new round begins.
    #[inline(always)]
    pub(crate) fn next_block(&mut self) -> u64 {
        let position = self.position;
        self.position += 1;
        if self.position == self.blocks {
            (self.position, self.round) = (0, self.round + 1);
        }
        if self.is_random { self.permute(position) } else { position }
    }

    /// The key belongs to the round in which the position was drawn.
    #[inline(always)]
    fn permute(&mut self, position: u64) -> u64 {
        if position == 0 {
            self.key = mix(self.seed, self.round);
        }
        let mut value = position;
        loop {
            value = self.scramble(value);
            if value < self.blocks {
                return value;
            }
        }
    }

    /// A bijection on `0..=mask`.
    #[inline(always)]
    fn scramble(&self, value: u64) -> u64 {
        let mut v = value ^ (self.key & self.mask);
        v = v.wrapping_mul((self.key >> 16) | 1) & self.mask;
        v ^= v >> self.shift;
        v = v.wrapping_mul(0xd6e8_feb8_6659_fd93) & self.mask;
        v ^= v >> self.shift;
        v.wrapping_mul((self.key >> 32) | 1) & self.mask
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn round(sequence: &mut Sequence, blocks: u64) -> Vec<u64> {
        (0..blocks).map(|_| sequence.next_block()).collect()
    }

    proptest! {
        #[test]
        fn a_random_round_visits_each_block_once(blocks in 1u64..3000, seed in any::<u64>()) {
            let mut sequence = Sequence::new(blocks, true, seed);
            for _ in 0..2 {
                let mut seen = round(&mut sequence, blocks);
                seen.sort_unstable();
                prop_assert!(seen.into_iter().eq(0..blocks));
            }
        }
    }

    #[test]
    fn sequential_wraps_around() {
        let mut sequence = Sequence::new(3, false, 0);
        assert_eq!(round(&mut sequence, 7), [0, 1, 2, 0, 1, 2, 0]);
    }

    #[test]
    fn the_order_looks_random_and_changes_with_round_and_seed() {
        let blocks = 65_536;
        let mut sequence = Sequence::new(blocks, true, 1);
        let (first, second) = (round(&mut sequence, blocks), round(&mut sequence, blocks));
        assert_ne!(first, second);
        assert_ne!(first, round(&mut Sequence::new(blocks, true, 2), blocks));
        // A random order's mean jump is a third of the range, and one jump in `blocks` is +1.
        let jumps: Vec<i64> = first.windows(2).map(|w| w[1] as i64 - w[0] as i64).collect();
        let mean = jumps.iter().map(|j| j.unsigned_abs() as f64).sum::<f64>() / jumps.len() as f64;
        assert!((mean / blocks as f64 - 1.0 / 3.0).abs() < 0.02, "{mean}");
        assert!(jumps.iter().filter(|j| **j == 1).count() < 20);
        // Serial correlation of successive positions is small.
        let centre = (blocks - 1) as f64 / 2.0;
        let covariance: f64 =
            first.windows(2).map(|w| (w[0] as f64 - centre) * (w[1] as f64 - centre)).sum();
        let variance: f64 = first.iter().map(|v| (*v as f64 - centre).powi(2)).sum();
        assert!((covariance / variance).abs() < 0.05, "{}", covariance / variance);
    }
}
