//! When requests come: for each length of stretch how unevenly one divides its requests between its
//! halves, and how far its counts are from chance. The trace's whole length is halved again and
//! again, so one pass keeps two counts for each length.

/// The shortest stretches are no longer than that, ns; and there are no more lengths.
const SHORTEST_NS: u64 = 100_000;
const LEVELS_MAX: u32 = 34;

/// One length of stretch.
#[derive(Debug, Clone, Default)]
struct Level {
    /// The stretch that requests come in, and how many there are.
    stretch: u64,
    requests: u64,
    /// Sum of the squares of counts.
    squares: f64,
    /// The parent whose first half is known, and how many that has.
    parent: Option<(u64, u64)>,
    /// Over parents: what the halves differ by beyond chance, squared; and what it could be.
    uneven: f64,
    possible: f64,
}

impl Level {
    /// The stretch that requests came in is over.
    fn close(&mut self) {
        let requests = std::mem::take(&mut self.requests);
        if requests == 0 {
            return;
        }
        self.squares += (requests as f64).powi(2);
        let parent = self.stretch / 2;
        match self.parent.take() {
            Some((of, left)) if of == parent => self.divide(left, requests),
            before => {
                before.into_iter().for_each(|(_, left)| self.divide(left, 0));
                match self.stretch.is_multiple_of(2) {
                    true => self.parent = Some((parent, requests)),
                    false => self.divide(0, requests),
                }
            }
        }
    }

    fn divide(&mut self, left: u64, right: u64) {
        let (left, right) = (left as f64, right as f64);
        let all = left + right;
        self.uneven += (left - right).powi(2) - all;
        self.possible += all * (all - 1.0);
    }
}

/// Arrivals of one kind of requests.
#[derive(Debug, Clone)]
pub(super) struct Arrivals {
    length_ns: u64,
    requests: u64,
    /// The whole first.
    levels: Vec<Level>,
}

impl Arrivals {
    pub(super) fn new(length_ns: u64) -> Self {
        let length_ns = length_ns.max(1);
        let levels = (length_ns.div_ceil(SHORTEST_NS)).next_power_of_two().ilog2() + 1;
        let levels = vec![Level::default(); levels.min(LEVELS_MAX) as usize];
        Self { length_ns, requests: 0, levels }
    }

    /// A request came so long after the trace's beginning.
    pub(super) fn add(&mut self, at_ns: u64) {
        self.requests += 1;
        let finest = self.levels.len() as u32 - 1;
        let at_ns = at_ns.min(self.length_ns - 1);
        let place = (u128::from(at_ns) << finest) / u128::from(self.length_ns);
        let place = u64::try_from(place).unwrap_or(u64::MAX);
        for (depth, level) in self.levels.iter_mut().enumerate() {
            let stretch = place >> (finest - depth as u32);
            if stretch != level.stretch {
                level.close();
                level.stretch = stretch;
            }
            level.requests += 1;
        }
    }

    /// Each length in s, the index of dispersion of its counts, and how unevenly it is divided.
    pub(super) fn bursts(mut self) -> Vec<(f64, f64, f64)> {
        for level in &mut self.levels {
            level.close();
            if let Some((_, left)) = level.parent.take() {
                level.divide(left, 0);
            }
        }
        let length_s = self.length_ns as f64 / 1e9;
        let pairs = self.levels.iter().zip(self.levels.iter().skip(1)).enumerate();
        let line = |(depth, (level, halves)): (usize, (&Level, &Level))| {
            let stretches = 2f64.powi(depth as i32);
            let mean = self.requests as f64 / stretches;
            let variance = level.squares / stretches - mean.powi(2);
            let dispersion = if mean > 0.0 { (variance / mean).max(0.0) } else { 0.0 };
            let uneven = match halves.possible > 0.0 {
                true => (halves.uneven / halves.possible).clamp(-1.0, 1.0),
                false => 0.0,
            };
            (length_s / stretches, rounded(dispersion), rounded(uneven))
        };
        pairs.map(line).collect()
    }
}

/// To six digits behind the point.
pub(super) fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bursts(at_ns: impl Iterator<Item = u64>, length_ns: u64) -> Vec<(f64, f64, f64)> {
        let mut arrivals = Arrivals::new(length_ns);
        at_ns.for_each(|at_ns| arrivals.add(at_ns));
        arrivals.bursts()
    }

    #[test]
    fn a_clock_divides_evenly_and_a_burst_into_one_half() {
        let clock = bursts((0..1024).map(|n| n * 1_000_000), 1_024_000_000);
        assert!(
            clock
                .iter()
                .take(9)
                .all(|(_, dispersion, uneven)| { *dispersion < 1e-6 && *uneven < 0.0 }),
            "{clock:?}"
        );
        let burst = bursts((0..1000).map(|n| 500_000_000 + n), 1_000_000_000);
        let is_in_one = |line: &(f64, f64, f64)| (line.2 - 1.0).abs() < 1e-6;
        assert!(burst.iter().all(is_in_one), "{burst:?}");
    }

    #[test]
    fn chance_is_neither() {
        let mut state = 7u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state >> 11
        };
        let mut at_ns: Vec<u64> = (0..50_000).map(|_| random() % 10_000_000_000).collect();
        at_ns.sort_unstable();
        let chance = bursts(at_ns.into_iter(), 10_000_000_000);
        for (stretch_s, dispersion, uneven) in chance.iter().skip(5).take(8) {
            assert!((0.7..1.3).contains(dispersion), "{stretch_s}: {dispersion}");
            assert!(uneven.abs() < 0.02, "{stretch_s}: {uneven}");
        }
    }
}
