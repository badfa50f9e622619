//! What a request of one direction takes: a time and its bytes by a rate, each times a factor by
//! how many are outstanding when it comes (a load-dependent server: Lazowska, Zahorjan, Graham &
//! Sevcik 1984, chapter 8), spread about that mean as it was measured.
//!
//! ```toml
//! [read]
//! random = "90 us"
//! rate = "2 GB/s"
//! # Outstanding, factor of the time, factor of the bytes' time, then the times over their mean
//! # at the shares of SHARES.
//! load = [[1, 1, 1, 0.8, …], [64, 8, 9, 0.5, …]]
//! # Where a line through the sizes is not what they take: size, outstanding, factor over that
//! # line, then the size's own times over their mean.
//! by_size = [[4096, 1, 1.02, 0.8, …], [4096, 64, 0.97, 0.5, …], [65536, 1, …], …]
//! # Where nobody measured `load`: the standard deviation over the mean, of an exponential that
//! # begins late (0 %: all take the same, 100 %: exponential).
//! variation = "50 %"
//! ```
//! Non-goals: why it is so.

use crate::profile::{ProfileError, Reader};
use model::calibration::SHARES;

/// The most factors and times that mean anything.
const MOST: f64 = 1e9;

/// How it is at so many outstanding.
#[derive(Debug, Clone, PartialEq)]
struct Load {
    outstanding: f64,
    /// Of the time, and of the bytes' time.
    factors: [f64; 2],
    /// Times over their mean at [`SHARES`].
    spread: [f64; SHARES.len()],
}

impl Load {
    /// As it is where nothing says otherwise: nothing changes with load, and all is the same.
    const NONE: Self = Self { outstanding: 1.0, factors: [1.0; 2], spread: [1.0; SHARES.len()] };

    fn of(row: &[f64]) -> Option<Self> {
        let (head, spread) = row.split_at_checked(3)?;
        let is_fine = row.iter().all(|number| (0.0..=MOST).contains(number));
        let spread: [f64; SHARES.len()] = spread.try_into().ok()?;
        let is_rising = spread.windows(2).all(|pair| pair[0] <= pair[1]);
        let fine = is_fine && is_rising && head[0] >= 1.0;
        fine.then_some(Self { outstanding: head[0], factors: [head[1], head[2]], spread })
    }

    /// The time over its mean at a share of the requests.
    fn spread_at(&self, share: f64) -> f64 {
        let after = SHARES.partition_point(|known| *known <= share).clamp(1, SHARES.len() - 1);
        let (low, high) = (SHARES[after - 1], SHARES[after]);
        between(self.spread[after - 1], self.spread[after], (share - low) / (high - low))
    }
}

fn between(low: f64, high: f64, share: f64) -> f64 {
    low + (high - low) * share
}

/// What is about a number outstanding: before it, behind it, and how far it is between.
fn about(loads: &[Load], outstanding: f64) -> Option<(&Load, &Load, f64)> {
    let after = loads.partition_point(|load| load.outstanding <= outstanding);
    let low = loads.get(after.saturating_sub(1))?;
    let high = loads.get(after.min(loads.len() - 1))?;
    let apart = high.outstanding - low.outstanding;
    let part = if apart > 0.0 { (outstanding - low.outstanding) / apart } else { 0.0 };
    Some((low, high, part))
}

/// Requests of a size.
#[derive(Debug, Clone, PartialEq)]
struct OfSize {
    bytes: f64,
    /// Factors are those over the line; never empty.
    loads: Vec<Load>,
}

impl OfSize {
    /// The factor, and the time over its mean.
    fn at(&self, outstanding: f64, share: f64) -> (f64, f64) {
        let Some((low, high, part)) = about(&self.loads, outstanding) else { return (1.0, 1.0) };
        let factor = between(low.factors[0], high.factors[0], part);
        (factor, between(low.spread_at(share), high.spread_at(share), part))
    }
}

/// Requests of one direction and order.
#[derive(Debug, Clone, PartialEq)]
struct Path {
    fixed_ns: f64,
    byte_ns: f64,
    /// By `outstanding`, rising; never empty.
    loads: Vec<Load>,
    /// By `bytes`, rising; none where the line is all that is known.
    sizes: Vec<OfSize>,
    /// Standard deviation over mean where `loads` tell nothing: 0 to 1.
    variation: f64,
}

impl Path {
    /// A factor between two loads: as the lines of the loads before and behind go on, where these
    /// stay below the straight line. Servers that are all in use make a bend, and it is between two
    /// of the loads; a straight line would cut it off.
    fn factor_at(&self, which: usize, outstanding: f64, after: usize, part: f64) -> f64 {
        let at = |index: Option<usize>| {
            let load = self.loads.get(index?)?;
            Some((load.outstanding, load.factors[which]))
        };
        let last = self.loads.len() - 1;
        let low = at(Some(after.saturating_sub(1))).unwrap_or((1.0, 1.0));
        let high = at(Some(after.min(last))).unwrap_or(low);
        let straight = between(low.1, high.1, part);
        let goes_on = |from: (f64, f64), to: (f64, f64)| {
            to.1 + (to.1 - from.1) * (outstanding - to.0) / (to.0 - from.0)
        };
        match (at(after.checked_sub(2)), at(Some(after + 1))) {
            (Some(before), Some(behind)) if after > 0 => {
                let bend = goes_on(before, low).max(goes_on(behind, high));
                bend.clamp(low.1.min(straight), straight)
            }
            _ => straight,
        }
    }

    /// The factor over the line, and the time over its mean, between the sizes about.
    fn by_size(&self, outstanding: f64, bytes: f64, share: f64) -> Option<(f64, f64)> {
        let after = self.sizes.partition_point(|of| of.bytes <= bytes);
        let low = self.sizes.get(after.saturating_sub(1))?;
        let high = self.sizes.get(after.min(self.sizes.len() - 1))?;
        let apart = (high.bytes / low.bytes).ln();
        let part = if apart > 0.0 { (bytes / low.bytes).ln() / apart } else { 0.0 };
        let (from, to) = (low.at(outstanding, share), high.at(outstanding, share));
        Some((between(from.0, to.0, part), between(from.1, to.1, part)))
    }

    fn time_ns(&self, outstanding: usize, bytes: f64, share: f64) -> f64 {
        let outstanding = outstanding as f64;
        let after = self.loads.partition_point(|load| load.outstanding <= outstanding);
        let Some((low, high, part)) = about(&self.loads, outstanding) else { return 0.0 };
        let factor = |which: usize| self.factor_at(which, outstanding, after, part);
        let mean_ns = self.fixed_ns * factor(0) + bytes * self.byte_ns * factor(1);
        let of_all = || (1.0, between(low.spread_at(share), high.spread_at(share), part));
        let (factor, spread) = self.by_size(outstanding, bytes, share).unwrap_or_else(of_all);
        // A mean of 1, none below 1 - variation, and above that exponential.
        let late = match self.variation > 0.0 {
            true => 1.0 + self.variation * (-(1.0 - share).ln() - 1.0),
            false => 1.0,
        };
        mean_ns * factor * spread * late
    }
}

/// What a request of one direction takes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Service {
    /// Random ones, and those that begin at the end of the last of their direction.
    paths: [Path; 2],
}

impl Service {
    /// Reads `random`, `rate`, `load`, `by_size`, and of sequential ones `sequential`,
    /// `sequential_rate`, `sequential_load`, `sequential_by_size`, which are else as of random
    /// ones.
    pub(super) fn read(reader: &Reader) -> Result<Self, ProfileError> {
        let fixed_ns = reader.time_ns("random")?;
        let byte_ns = 1e9 / reader.rate_bytes_per_s("rate")?;
        let loads = reader.or("load", vec![Load::NONE], loads_of)?;
        let sizes = reader.or("by_size", vec![], sizes_of)?;
        let variation = reader.or("variation", 0.0, |reader, key| reader.fraction_to(key, 1.0))?;
        // What was measured has its own spread.
        let variation = if reader.has("load") { 0.0 } else { variation };
        let random = Path { fixed_ns, byte_ns, loads, sizes, variation };
        let rate = |reader: &Reader, key: &str| Ok(1e9 / reader.rate_bytes_per_s(key)?);
        let sequential = Path {
            fixed_ns: reader.time_ns_or("sequential", fixed_ns)?,
            byte_ns: reader.or("sequential_rate", byte_ns, rate)?,
            loads: reader.or("sequential_load", random.loads.clone(), loads_of)?,
            sizes: reader.or("sequential_by_size", random.sizes.clone(), sizes_of)?,
            variation,
        };
        Ok(Self { paths: [random, sequential] })
    }

    /// What one takes that comes when so many are outstanding, itself included, ns.
    pub(super) fn time_ns(&self, (is_next, load): (bool, usize), bytes: f64, share: f64) -> f64 {
        self.paths[usize::from(is_next)].time_ns(load, bytes, share)
    }
}

fn is_rising(loads: &[Load]) -> bool {
    !loads.is_empty() && loads.windows(2).all(|pair| pair[0].outstanding < pair[1].outstanding)
}

fn sizes_of(reader: &Reader, key: &str) -> Result<Vec<OfSize>, ProfileError> {
    let mut sizes: Vec<OfSize> = vec![];
    for row in reader.rows(key)? {
        let own = row.get(1..).and_then(|rest| {
            let (head, spread) = rest.split_at_checked(2)?;
            Load::of(&[&[head[0], head[1], head[1]], spread].concat())
        });
        let bytes = row.first().copied().filter(|bytes| (1.0..=MOST).contains(bytes));
        match (sizes.last_mut(), own, bytes) {
            (Some(last), Some(load), Some(bytes)) if last.bytes == bytes => last.loads.push(load),
            (_, Some(load), Some(bytes)) => sizes.push(OfSize { bytes, loads: vec![load] }),
            _ => sizes.push(OfSize { bytes: 0.0, loads: vec![] }),
        }
    }
    let is_fine = sizes.windows(2).all(|pair| pair[0].bytes < pair[1].bytes)
        && sizes.iter().all(|of| is_rising(&of.loads));
    is_fine.then_some(sizes).ok_or_else(|| {
        let times = SHARES.len();
        reader.error(key, format!(
            "is no list of rows by rising sizes and numbers of outstanding requests, each with a \
             factor and {times} rising times, none of them negative"
        ))
    })
}

fn loads_of(reader: &Reader, key: &str) -> Result<Vec<Load>, ProfileError> {
    let rows = reader.rows(key)?;
    let loads: Option<Vec<Load>> = rows.iter().map(|row| Load::of(row)).collect();
    loads.filter(|loads| is_rising(loads)).ok_or_else(|| {
        let times = SHARES.len();
        reader.error(key, format!(
            "is no list of rows by rising numbers of outstanding requests, each with two factors \
             and {times} rising times, none of them negative"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn path() -> Path {
        let spread = std::array::from_fn(|place| place as f64 / 6.5);
        let loads = vec![
            Load::NONE,
            Load { outstanding: 9.0, factors: [3.0, 5.0], spread: [1.0; SHARES.len()] },
            Load { outstanding: 64.0, factors: [30.0, 50.0], spread },
        ];
        Path { fixed_ns: 100.0, byte_ns: 1.0, loads, sizes: vec![], variation: 0.0 }
    }

    #[test]
    fn times_are_between_those_of_the_loads_about() {
        let at = |outstanding, share| path().time_ns(outstanding, 10.0, share);
        assert_eq!((at(1, 0.5), at(9, 0.1), at(5, 0.9)), (110.0, 350.0, 230.0));
        assert_eq!((at(64, 0.0), at(640, 1.0)), (0.0, 3500.0 * 2.0));
    }

    /// 16 servers, known at 8, 12, 24 and 32: a request among 16 waits for nobody.
    #[test]
    fn a_bend_between_loads_is_not_cut_off() {
        let load = |outstanding: f64| Load {
            outstanding,
            factors: [(outstanding / 16.0).max(1.0); 2],
            ..Load::NONE
        };
        let loads = [1.0, 8.0, 12.0, 24.0, 32.0].map(load).to_vec();
        let path = Path { fixed_ns: 100.0, byte_ns: 1.0, loads, sizes: vec![], variation: 0.0 };
        let at = |outstanding| path.time_ns(outstanding, 0.0, 0.5);
        assert_eq!((at(12), at(16), at(20), at(24), at(28)), (100.0, 100.0, 125.0, 150.0, 175.0));
    }

    /// A size has its own factor and spread; between sizes, by their logarithms.
    #[test]
    fn sizes_have_their_own_times() {
        let of = |bytes: f64, factor: f64, times: f64| OfSize {
            bytes,
            loads: vec![Load { factors: [factor; 2], spread: [times; SHARES.len()], ..Load::NONE }],
        };
        let sizes = vec![of(100.0, 1.0, 1.0), of(10_000.0, 3.0, 2.0)];
        let path =
            Path { fixed_ns: 0.0, byte_ns: 1.0, loads: vec![Load::NONE], sizes, variation: 0.0 };
        let at = |bytes| path.time_ns(1, bytes, 0.5) / bytes;
        assert_eq!((at(10.0), at(100.0), at(10_000.0), at(1e6)), (1.0, 1.0, 6.0, 6.0));
        assert!((at(1000.0) - 2.0 * 1.5).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn a_greater_share_takes_no_less(load in 1usize..100, a in 0.0f64..1.0, b in 0.0f64..1.0) {
            let at = |share| path().time_ns(load, 4096.0, share);
            prop_assert!(at(a.min(b)) <= at(a.max(b)) + 1e-6);
        }
    }

    #[test]
    fn rows_that_cannot_be_are_refused() {
        let good: Vec<f64> = [vec![1.0; 3], vec![1.0; SHARES.len()]].concat();
        assert_eq!(Load::of(&good), Some(Load::NONE));
        for (place, value) in [(0, 0.5), (1, -1.0), (5, 2.0), (6, f64::INFINITY)] {
            let mut bad = good.clone();
            bad[place] = value;
            assert_eq!(Load::of(&bad), None, "{place}");
        }
        assert_eq!(Load::of(&good[1..]), None);
    }
}
