//! Where requests are: which of them follow another's end, and where the others begin.

use super::arrivals::rounded;
use std::collections::{HashMap, VecDeque};

/// Ends of requests that are remembered.
const STREAMS: usize = 32;
/// Areas that are counted; of more, two neighbours are one.
const AREAS_MAX: usize = 1 << 16;
/// An area to begin with, bytes: a page.
const AREA_BYTES: u64 = 4096;
/// Zones of a device.
const ZONES: usize = 32;
/// Shares of areas, in per cent, for which the share of requests is given.
const SHARES: [f64; 9] = [0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0];

/// Places of one kind of requests.
#[derive(Debug, Clone)]
pub(super) struct Places {
    /// Ends, the latest first.
    ends: VecDeque<u64>,
    sequential: u64,
    /// Sequential requests by how many streams are younger.
    younger: [u64; STREAMS],
    area_bytes: u64,
    areas: HashMap<u64, u64>,
    others: u64,
}

impl Default for Places {
    fn default() -> Self {
        Self {
            ends: VecDeque::with_capacity(STREAMS),
            sequential: 0,
            younger: [0; STREAMS],
            area_bytes: AREA_BYTES,
            areas: HashMap::new(),
            others: 0,
        }
    }
}

/// What a profile says of them.
#[derive(Debug, Clone, Default)]
pub(super) struct Told {
    pub(super) sequential_percent: f64,
    pub(super) streams: Vec<(u64, f64)>,
    pub(super) area_bytes: u64,
    pub(super) working_set_bytes: u64,
    pub(super) zones: Vec<(f64, u64)>,
    pub(super) hot: Vec<(f64, f64)>,
}

impl Places {
    pub(super) fn add(&mut self, offset_bytes: u64, length_bytes: u64) {
        let end = offset_bytes.saturating_add(length_bytes);
        match self.ends.iter().position(|known| *known == offset_bytes) {
            Some(place) => {
                self.sequential += 1;
                self.younger.get_mut(place).into_iter().for_each(|count| *count += 1);
                self.ends.remove(place);
            }
            None => {
                self.begin(offset_bytes);
                self.ends.truncate(STREAMS - 1);
            }
        }
        self.ends.push_front(end);
    }

    /// A request that follows none begins here.
    fn begin(&mut self, offset_bytes: u64) {
        self.others += 1;
        *self.areas.entry(offset_bytes / self.area_bytes).or_default() += 1;
        while self.areas.len() > AREAS_MAX {
            self.area_bytes *= 2;
            let mut wider = HashMap::with_capacity(self.areas.len() / 2);
            for (area, count) in self.areas.drain() {
                *wider.entry(area / 2).or_default() += count;
            }
            self.areas = wider;
        }
    }

    /// Of a device whose requests end before a place, in blocks of so many bytes.
    pub(super) fn told(mut self, end_bytes: u64, block_bytes: u64) -> Told {
        while !self.area_bytes.is_multiple_of(block_bytes) {
            // Blocks that are no powers of two: an area is a block, then.
            self.area_bytes = block_bytes;
        }
        let zone_bytes = zone_bytes(end_bytes, self.area_bytes);
        let mut zones: Vec<Vec<u64>> = vec![vec![]; ZONES];
        for (area, count) in &self.areas {
            let zone = area.saturating_mul(self.area_bytes) / zone_bytes;
            let zone = usize::try_from(zone).unwrap_or(ZONES).min(ZONES - 1);
            zones.get_mut(zone).into_iter().for_each(|counts| counts.push(*count));
        }
        zones.iter_mut().for_each(|counts| counts.sort_unstable_by(|a, b| b.cmp(a)));
        let share = |count: u64, of: u64| rounded(100.0 * count as f64 / of.max(1) as f64);
        let of_zone =
            |counts: &Vec<u64>| (share(counts.iter().sum(), self.others), counts.len() as u64);
        Told {
            sequential_percent: share(self.sequential, self.sequential + self.others),
            streams: self.streams(),
            area_bytes: self.area_bytes,
            working_set_bytes: self.areas.len() as u64 * self.area_bytes,
            zones: zones.iter().map(of_zone).collect(),
            hot: SHARES.map(|percent| (percent, rounded(hot(&zones, percent)))).to_vec(),
        }
    }

    /// By how many streams are younger: 0, 1, 2 to 3, 4 to 7 and so on.
    fn streams(&self) -> Vec<(u64, f64)> {
        let mut lines: Vec<(u64, u64)> = vec![];
        for (younger, count) in (0u64..).zip(self.younger).filter(|(_, count)| *count > 0) {
            let from = if younger == 0 { 0 } else { 1 << younger.ilog2() };
            match lines.last_mut() {
                Some((last, sum)) if *last == from => *sum += count,
                _ => lines.push((from, count)),
            }
        }
        let all = self.sequential.max(1) as f64;
        lines.iter().map(|(from, count)| (*from, rounded(100.0 * *count as f64 / all))).collect()
    }
}

/// Bytes of a zone: whole areas.
pub(super) fn zone_bytes(end_bytes: u64, area_bytes: u64) -> u64 {
    end_bytes.div_ceil(ZONES as u64).next_multiple_of(area_bytes).max(area_bytes)
}

/// Per cent of the requests in this percentage of each zone's areas, the hottest first.
fn hot(zones: &[Vec<u64>], percent: f64) -> f64 {
    let all: u64 = zones.iter().flatten().sum();
    let of_zone = |counts: &Vec<u64>| {
        let wanted = counts.len() as f64 * percent / 100.0;
        let whole = (wanted.floor() as usize).min(counts.len());
        let first: u64 = counts.iter().take(whole).sum();
        let next = counts.get(whole).copied().unwrap_or(0) as f64;
        first as f64 + next * (wanted - whole as f64)
    };
    100.0 * zones.iter().map(of_zone).sum::<f64>() / all.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_followed_apart() {
        let mut places = Places::default();
        for n in 0..100u64 {
            places.add(n * 4096, 4096);
            places.add((1 << 30) + n * 4096, 4096);
        }
        let told = places.told(2 << 30, 512);
        assert_eq!((told.sequential_percent, told.area_bytes), (99.0, 4096));
        assert_eq!(told.streams, [(1, 100.0)]);
        assert_eq!(told.zones.iter().filter(|(share, _)| *share == 50.0).count(), 2);
    }

    #[test]
    fn a_hot_area_is_seen_and_memory_is_bounded() {
        let mut places = Places::default();
        for n in 0..200_000u64 {
            let offset = if n % 2 == 0 { 8192 } else { n * 4096 * 16 };
            places.add(offset, 512);
        }
        let told = places.told(200_000 * 4096 * 16, 512);
        assert!(told.area_bytes > 4096 && told.working_set_bytes / told.area_bytes <= 1 << 16);
        let half = told.hot.iter().find(|(percent, _)| *percent == 1.0).unwrap();
        assert!(half.1 > 49.0, "{:?}", told.hot);
        assert!((told.hot[8].1 - 100.0).abs() < 1e-6);
    }
}
