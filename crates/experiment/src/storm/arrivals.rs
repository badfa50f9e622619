//! When requests of an open loop are due: exponential gaps at a rate (a Poisson process, fio's
//! `rate_process=poisson`), the same for the same seed. Even gaps could march in step with the
//! writer's period.

use crate::sequence::mix;

/// The moments at which requests are due.
#[derive(Debug, Clone)]
pub(super) struct Arrivals {
    mean_gap_ns: f64,
    seed: u64,
    count: u64,
    next_ns: f64,
}

impl Arrivals {
    /// From a moment on.
    pub(super) fn new(rate_iops: f64, seed: u64, from_ns: u64) -> Self {
        let mut arrivals =
            Self { mean_gap_ns: 1e9 / rate_iops, seed, count: 0, next_ns: from_ns as f64 };
        arrivals.advance();
        arrivals
    }

    /// When the next one is due, ns.
    pub(super) fn due_ns(&self) -> u64 {
        self.next_ns as u64
    }

    /// On to the one after it.
    pub(super) fn advance(&mut self) {
        // 53 random bits, never 0, whose logarithm there is none of.
        let share = ((mix(self.seed, self.count) >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        self.count += 1;
        self.next_ns -= share.ln() * self.mean_gap_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_exponential_at_the_rate() {
        let mut arrivals = Arrivals::new(1000.0, 7, 5_000);
        let (mut last_ns, mut gaps) = (5_000, Vec::new());
        for _ in 0..20_000 {
            gaps.push((arrivals.due_ns() - last_ns) as f64);
            last_ns = arrivals.due_ns();
            arrivals.advance();
        }
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean / 1e6 - 1.0).abs() < 0.03, "{mean}");
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.05, "{variance}");
    }
}
