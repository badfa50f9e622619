//! A trace made of a profile ([`model::mix`]): the same seed gives the same requests.
//!
//! Reads, writes and flushes are made apart and merged by time. When they come is a cascade: a
//! stretch gives so many of its requests to the one half, by chance which, as the profile says for
//! stretches of its length (the b-model of Wang et al., ICDE 2002). Completions are drawn from the
//! profile's response times, each by itself.
//!
//! Non-goals: which requests come together, and everything else that a profile does not hold.

pub mod fleet;

use crate::sequence::mix;
use model::mix::{Profile, Traffic};
use model::record::{Flags, Op, Request};
use std::cmp::Reverse;
use std::collections::VecDeque;

/// Ends of requests that are remembered.
const STREAMS: usize = 32;
/// Up to so many requests are divided one by one.
const FEW: u64 = 64;

/// Random numbers of one use.
#[derive(Debug, Clone)]
struct Random {
    seed: u64,
    drawn: u64,
}

impl Random {
    fn word(&mut self) -> u64 {
        self.drawn += 1;
        mix(self.seed, self.drawn)
    }

    /// From 0 up to 1.
    fn unit(&mut self) -> f64 {
        (self.word() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Nearly normal: the sum of twelve, less six.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }

    /// Below a number, which is not 0.
    fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.word()) * u128::from(bound.max(1))) >> 64) as u64
    }

    /// How many of so many have this chance.
    fn binomial(&mut self, count: u64, chance: f64) -> u64 {
        if count <= FEW {
            return (0..count).map(|_| u64::from(self.unit() < chance)).sum();
        }
        let normal = self.normal();
        let (mean, variance) = (count as f64 * chance, count as f64 * chance * (1.0 - chance));
        (mean + normal * variance.sqrt()).round().clamp(0.0, count as f64) as u64
    }
}

/// Which line of a list of shares this share of all is in.
fn line_of<T: Copy>(lines: &[(T, f64)], share: f64) -> Option<T> {
    let all: f64 = lines.iter().map(|(_, percent)| percent).sum();
    let mut left = share * all;
    let found = lines.iter().find(|(_, percent)| {
        left -= percent;
        left < 0.0
    });
    found.or(lines.last()).map(|(value, _)| *value)
}

/// A stretch of time with so many requests in it.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    depth: u32,
    from_ns: f64,
    requests: u64,
}

/// Moments in rising order.
#[derive(Debug)]
struct Arrivals {
    length_ns: f64,
    /// How unevenly a stretch of each depth is divided.
    uneven: Vec<f64>,
    stretches: Vec<Stretch>,
    /// Moments of a stretch that is not divided any more, the last first.
    ready: Vec<u64>,
    random: Random,
}

impl Arrivals {
    fn new(traffic: &Traffic, requests: u64, length_ns: f64, random: Random) -> Self {
        let length_s = length_ns / 1e9;
        let shortest_s = traffic.bursts.last().map_or(length_s, |line| line.0);
        let depths = (length_s / shortest_s).log2().round().clamp(-1.0, 40.0) as i32 + 1;
        let nearest = |depth: i32| {
            let stretch_s = length_s / 2f64.powi(depth);
            let apart = |line: &(f64, f64, f64)| (line.0 / stretch_s).log2().abs();
            let found = traffic.bursts.iter().min_by(|a, b| apart(a).total_cmp(&apart(b)));
            found.map_or(0.0, |line| line.2)
        };
        Self {
            length_ns,
            uneven: (0..depths).map(nearest).collect(),
            stretches: vec![Stretch { depth: 0, from_ns: 0.0, requests }],
            ready: vec![],
            random,
        }
    }

    /// How many of a stretch's requests come in its first half.
    fn divided(&mut self, requests: u64, uneven: f64) -> u64 {
        if uneven < 0.0 {
            return requests / 2 + u64::from(requests % 2 == 1 && self.random.unit() < 0.5);
        }
        let bias = uneven.sqrt() / 2.0;
        let chance = if self.random.unit() < 0.5 { 0.5 - bias } else { 0.5 + bias };
        self.random.binomial(requests, chance)
    }

    fn next_ns(&mut self) -> Option<u64> {
        loop {
            if let Some(at_ns) = self.ready.pop() {
                return Some(at_ns);
            }
            let Stretch { depth, from_ns, requests } = self.stretches.pop()?;
            let length_ns = self.length_ns / 2f64.powi(depth as i32);
            match self.uneven.get(depth as usize).copied() {
                Some(uneven) if requests > 1 => {
                    let left = self.divided(requests, uneven);
                    let (depth, half_ns) = (depth + 1, length_ns / 2.0);
                    let right =
                        Stretch { depth, from_ns: from_ns + half_ns, requests: requests - left };
                    self.stretches.push(right);
                    self.stretches.push(Stretch { depth, from_ns, requests: left });
                }
                _ => {
                    let moment = |_| (from_ns + self.random.unit() * length_ns) as u64;
                    self.ready = (0..requests).map(moment).collect();
                    self.ready.sort_unstable_by_key(|at_ns| Reverse(*at_ns));
                }
            }
        }
    }
}

/// One kind of requests.
#[derive(Debug)]
struct Kind {
    op: Op,
    traffic: Traffic,
    end_bytes: u64,
    block_bytes: u64,
    arrivals: Arrivals,
    ends: VecDeque<u64>,
    zones: Vec<(u64, f64)>,
    random: Random,
    next: Option<Request>,
}

impl Kind {
    /// The next request, none at the end.
    fn make(&mut self) -> Option<Request> {
        let at_ns = self.arrivals.next_ns()?;
        let took_ns = self.response_ns();
        let (offset_bytes, length_bytes) = self.place();
        let at_ns = i64::try_from(at_ns).ok();
        Some(Request {
            op: self.op,
            flags: Flags::default(),
            offset_bytes,
            length_bytes,
            queued_ns: at_ns,
            issued_ns: at_ns,
            completed_ns: at_ns.zip(took_ns).map(|(at_ns, took_ns)| at_ns.saturating_add(took_ns)),
            ..Request::default()
        })
    }

    fn response_ns(&mut self) -> Option<i64> {
        let percent = 100.0 * self.random.unit();
        let us = between(&self.traffic.response_us, percent)?;
        Some((us * 1e3) as i64)
    }

    fn place(&mut self) -> (Option<u64>, u32) {
        let Some(length) = line_of(&self.traffic.sizes, self.random.unit()) else {
            return (None, 0);
        };
        let is_sequential = 100.0 * self.random.unit() < self.traffic.sequential_percent;
        let followed = if is_sequential { self.stream(length) } else { None };
        let offset = followed.unwrap_or_else(|| self.begin(length));
        self.ends.truncate(STREAMS - 1);
        self.ends.push_front(offset + length);
        (Some(offset), u32::try_from(length).unwrap_or(u32::MAX))
    }

    /// Where a stream ended that goes on, if there is one and so much space behind it.
    fn stream(&mut self, length: u64) -> Option<u64> {
        let from = line_of(&self.traffic.streams, self.random.unit())?;
        let younger = from.saturating_add(self.random.below(from.max(1)));
        let last = self.ends.len().checked_sub(1)?;
        let place = usize::try_from(younger).unwrap_or(last).min(last);
        let end = self.ends.get(place).copied()?;
        let fits = end.checked_add(length).is_some_and(|end| end <= self.end_bytes);
        if fits { self.ends.remove(place) } else { None }
    }

    /// Where a request begins that follows none.
    fn begin(&mut self, length: u64) -> u64 {
        let area_bytes = self.traffic.area_bytes.max(self.block_bytes);
        let zone = line_of(&self.zones, self.random.unit()).unwrap_or(0);
        let zones = self.zones.len().max(1) as u64;
        let zone_bytes = self.end_bytes.div_ceil(zones).next_multiple_of(area_bytes);
        let touched = self.traffic.zones.get(zone as usize).map_or(1, |(_, areas)| *areas).max(1);
        let percent = share_at(&self.traffic.hot, 100.0 * self.random.unit());
        let rank = ((percent / 100.0 * touched as f64) as u64).min(touched - 1);
        let areas = (zone_bytes / area_bytes).max(touched);
        // A zone's areas are spread evenly, and the hot ones among them by chance.
        let slot = scattered(rank, touched);
        let area = (u128::from(slot) * u128::from(areas) / u128::from(touched)) as u64;
        let blocks = area_bytes / self.block_bytes;
        let within = self.random.below(blocks) * self.block_bytes;
        let offset = zone
            .saturating_mul(zone_bytes)
            .saturating_add(area.saturating_mul(area_bytes))
            .saturating_add(within);
        let last = (self.end_bytes - length) / self.block_bytes * self.block_bytes;
        offset.min(last)
    }
}

/// A number below `count` for each below it: a step that shares no divisor with it.
fn scattered(rank: u64, count: u64) -> u64 {
    let divisor = |mut a: u64, mut b: u64| {
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let golden = (count as f64 * 0.618_033_988_75) as u64;
    let step = (golden.max(1)..).find(|step| divisor(*step, count) == 1).unwrap_or(1);
    ((u128::from(rank) * u128::from(step)) % u128::from(count.max(1))) as u64
}

/// On a curve of pairs the second of a first.
fn between(curve: &[(f64, f64)], at: f64) -> Option<f64> {
    let next = curve.partition_point(|(x, _)| *x < at);
    let (x, y) = curve.get(next).or(curve.last()).copied()?;
    let Some((x0, y0)) = next.checked_sub(1).and_then(|before| curve.get(before)).copied() else {
        return Some(y);
    };
    Some(if x > x0 { y0 + (y - y0) * ((at - x0) / (x - x0)).clamp(0.0, 1.0) } else { y })
}

/// On a curve of pairs from 0 to 100 the first of a second.
fn share_at(curve: &[(f64, f64)], at: f64) -> f64 {
    let turned: Vec<(f64, f64)> =
        std::iter::once((0.0, 0.0)).chain(curve.iter().map(|(x, y)| (*y, *x))).collect();
    between(&turned, at).unwrap_or(at)
}

/// How much of a profile is made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Extent {
    /// So many times its length, at its rate.
    pub lengths: f64,
    /// What chance follows from.
    pub seed: u64,
}

/// The requests of a trace, by their arrival.
#[derive(Debug)]
pub struct Synthesis {
    kinds: Vec<Kind>,
    made: u64,
}

impl Synthesis {
    /// Of a profile that was checked as it was read.
    pub fn new(profile: &Profile, extent: Extent) -> Self {
        let length_ns = (profile.length_s * extent.lengths * 1e9).max(1.0);
        let kinds =
            [(Op::Read, &profile.read), (Op::Write, &profile.write), (Op::Flush, &profile.flush)];
        let kind = |(op, traffic): (Op, &Option<Traffic>)| {
            let traffic = traffic.clone()?;
            let requests = (traffic.requests as f64 * extent.lengths).round() as u64;
            let random = |of: u64| Random { seed: mix(extent.seed, 16 * op as u64 + of), drawn: 0 };
            let mut kind = Kind {
                op,
                end_bytes: profile.end_bytes,
                block_bytes: profile.block_bytes.max(1),
                arrivals: Arrivals::new(&traffic, requests, length_ns, random(1)),
                ends: VecDeque::with_capacity(STREAMS),
                zones: (0..).zip(traffic.zones.iter().map(|(percent, _)| *percent)).collect(),
                random: random(2),
                next: None,
                traffic,
            };
            kind.next = kind.make();
            Some(kind)
        };
        Self { kinds: kinds.into_iter().filter_map(kind).collect(), made: 0 }
    }
}

impl Iterator for Synthesis {
    type Item = Request;

    fn next(&mut self) -> Option<Request> {
        let of_next =
            |kind: &&mut Kind| kind.next.and_then(|row| row.queued_ns).unwrap_or(i64::MAX);
        let kind = self.kinds.iter_mut().min_by_key(of_next)?;
        let row = kind.next.take()?;
        kind.next = kind.make();
        self.made += 1;
        Some(Request { request_id: self.made, ..row })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::mix::{Outstanding, SCHEMA};

    fn profile() -> Profile {
        let read = Traffic {
            requests: 4000,
            sequential_percent: 30.0,
            area_bytes: 4096,
            working_set_bytes: 0,
            sizes: vec![(4096, 75.0), (8192, 25.0)],
            streams: vec![(0, 50.0), (4, 50.0)],
            zones: vec![(90.0, 100), (10.0, 10)],
            hot: vec![(10.0, 80.0), (100.0, 100.0)],
            bursts: vec![(4.0, 1.0, 0.3), (2.0, 1.0, 0.0), (1.0, 1.0, 0.5)],
            response_us: vec![(0.0, 100.0), (100.0, 900.0)],
        };
        let flush = Traffic { requests: 10, ..Traffic::default() };
        Profile {
            schema: SCHEMA.into(),
            source: "test".into(),
            device: "sda".into(),
            requests: 4010,
            left_out: 0,
            length_s: 4.0,
            end_bytes: 1 << 30,
            block_bytes: 512,
            outstanding: Outstanding::default(),
            read: Some(read),
            write: None,
            flush: Some(flush),
        }
    }

    fn made(lengths: f64, seed: u64) -> Vec<Request> {
        Synthesis::new(&profile(), Extent { lengths, seed }).collect()
    }

    #[test]
    fn requests_come_in_order_as_many_as_were_wanted_within_the_device() {
        let rows = made(1.0, 1);
        assert_eq!(rows.len(), 4010);
        assert!(rows.is_sorted_by_key(|row| row.queued_ns));
        assert!(rows.iter().all(|row| row.queued_ns.unwrap() < 4_000_000_000));
        for row in rows.iter().filter(|row| row.op == Op::Read) {
            let offset = row.offset_bytes.unwrap();
            assert!(offset % 512 == 0 && offset + u64::from(row.length_bytes) <= 1 << 30);
            let took_ns = row.completed_ns.unwrap() - row.queued_ns.unwrap();
            assert!((100_000..=900_000).contains(&took_ns));
        }
        let flushes = rows.iter().filter(|row| row.op == Op::Flush);
        assert!(flushes.clone().count() == 10 && flushes.clone().all(|row| row.length_bytes == 0));
    }

    #[test]
    fn the_same_seed_gives_the_same_and_a_length_so_many() {
        assert_eq!(made(1.0, 5), made(1.0, 5));
        assert_ne!(made(1.0, 5), made(1.0, 6));
        assert_eq!((made(0.5, 1).len(), made(3.0, 1).len()), (2005, 12030));
    }

    #[test]
    fn scattered_ranks_are_all_different() {
        for count in [1, 2, 3, 10, 64, 97, 1000] {
            let mut all: Vec<u64> = (0..count).map(|rank| scattered(rank, count)).collect();
            all.sort_unstable();
            assert!(all.iter().copied().eq(0..count), "{count}");
        }
    }
}
