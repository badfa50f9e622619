//! Random numbers that are the same for the same seed (SplitMix64: Steele, Lea & Flood 2014), and
//! the distributions that the models draw from.

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Evenly from 0 to just below 1.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Evenly from 0 to just below `count`; 0 where `count` is 0.
    pub fn below(&mut self, count: u64) -> u64 {
        (self.unit() * count as f64) as u64
    }

    /// Exponential with that mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.unit()).ln()
    }

    /// Normal with mean 0 and standard deviation 1 (Box & Muller 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (2.0 * std::f64::consts::PI * self.unit()).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distributions_have_their_moments() {
        let mut random = Random::new(1);
        const COUNT: usize = 200_000;
        let mean =
            |draw: &mut dyn FnMut() -> f64| (0..COUNT).map(|_| draw()).sum::<f64>() / COUNT as f64;
        assert!((mean(&mut || random.unit()) - 0.5).abs() < 0.005);
        assert!((mean(&mut || random.exponential(3.0)) - 3.0).abs() < 0.03);
        assert!(mean(&mut || random.normal()).abs() < 0.01);
        assert!((mean(&mut || random.normal().powi(2)) - 1.0).abs() < 0.02);
        assert!((mean(&mut || random.below(10) as f64) - 4.5).abs() < 0.03);
    }

    #[test]
    fn the_same_seed_gives_the_same_numbers() {
        // The first outputs for the seed 0, as published with the algorithm.
        let mut random = Random::new(0);
        assert_eq!(random.next_u64(), 0xe220_a839_7b1d_cdaf);
        assert_eq!(random.next_u64(), 0x6e78_9e6a_a1b9_65f4);
    }
}
