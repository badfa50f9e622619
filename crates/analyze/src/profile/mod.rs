//! A trace's profile ([`model::mix`]), in one pass over its rows and in bounded memory.
//!
//! Reads, writes and flushes are counted apart. Rows come in the order of their arrival.

mod arrivals;
mod places;

use arrivals::{Arrivals, rounded};
use model::histogram::Histogram;
use model::mix::{Outstanding, Profile, SCHEMA, Traffic};
use model::record::{Flags, Op, Request};
use places::Places;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Lengths that are counted; others are counted with the next shorter power of two.
const SIZES_MAX: usize = 4096;
/// Lengths that are told.
const SIZES: usize = 24;
/// Shares of responses for which a time is given, per cent.
const SHARES: [f64; 15] =
    [0.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.9, 100.0];

/// The span of a device's requests, which is known before they are profiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Which device.
    pub device: u32,
    /// Its first request came then, ns.
    pub began_ns: i64,
    /// From there to its last one, ns.
    pub length_ns: u64,
}

/// Whether a row is a request that a profile tells of, or counts as left out.
pub fn is_request(row: &Request) -> bool {
    row.parent_id.is_none() && !row.flags.contains(Flags::OWN) && !row.is_orphan()
}

/// Requests of one kind.
#[derive(Debug, Clone)]
struct Kind {
    requests: u64,
    arrivals: Arrivals,
    sizes: BTreeMap<u64, u64>,
    places: Places,
    responses: Histogram,
}

/// A trace's requests so far.
#[derive(Debug)]
pub struct Profiler {
    span: Span,
    kinds: [Kind; 3],
    left_out: u64,
    end_bytes: u64,
    block_bytes: u64,
    /// Completions to come, and the last one.
    outstanding: BinaryHeap<Reverse<i64>>,
    last_ns: Option<i64>,
    found: Histogram,
    /// By powers of two: 0, 1, 2 to 3, ….
    found_by: BTreeMap<u64, u64>,
    think: Histogram,
}

impl Profiler {
    /// Of a device's requests.
    pub fn new(span: Span) -> Self {
        let kind = || Kind {
            requests: 0,
            arrivals: Arrivals::new(span.length_ns),
            sizes: BTreeMap::new(),
            places: Places::default(),
            responses: Histogram::default(),
        };
        Self {
            span,
            kinds: [kind(), kind(), kind()],
            left_out: 0,
            end_bytes: 0,
            block_bytes: 0,
            outstanding: BinaryHeap::new(),
            last_ns: None,
            found: Histogram::default(),
            found_by: BTreeMap::new(),
            think: Histogram::default(),
        }
    }

    /// Adds a row.
    pub fn add(&mut self, row: &Request) {
        if row.device != self.span.device || !is_request(row) {
            return;
        }
        let place = row.offset_bytes.filter(|_| row.length_bytes > 0);
        let (kind, place) = match (row.op, place) {
            (Op::Read, Some(place)) => (0, Some(place)),
            (Op::Write, Some(place)) => (1, Some(place)),
            (Op::Flush, _) => (2, None),
            _ => {
                self.left_out += 1;
                return;
            }
        };
        let Some(arrived_ns) = row.arrival_ns() else { return };
        self.count_outstanding(arrived_ns, row.completed_ns);
        let at_ns = arrived_ns.saturating_sub(self.span.began_ns);
        let length = u64::from(row.length_bytes);
        if let Some(offset) = place {
            self.end_bytes = self.end_bytes.max(offset.saturating_add(length));
            self.block_bytes = [offset, length].into_iter().fold(self.block_bytes, divisor);
        }
        let Some(kind) = self.kinds.get_mut(kind) else { return };
        kind.requests += 1;
        kind.arrivals.add(u64::try_from(at_ns).unwrap_or(0));
        if let Some(completed_ns) = row.completed_ns.filter(|ns| *ns >= arrived_ns) {
            kind.responses.record(completed_ns.abs_diff(arrived_ns));
        }
        if let Some(offset) = place {
            let is_new = kind.sizes.len() == SIZES_MAX && !kind.sizes.contains_key(&length);
            let counted = if is_new { 1 << length.ilog2() } else { length };
            *kind.sizes.entry(counted).or_default() += 1;
            kind.places.add(offset, length);
        }
    }

    fn count_outstanding(&mut self, arrived_ns: i64, completed_ns: Option<i64>) {
        while let Some(Reverse(at_ns)) = self.outstanding.peek().copied() {
            if at_ns > arrived_ns {
                break;
            }
            self.outstanding.pop();
            self.last_ns = Some(at_ns);
        }
        let found = self.outstanding.len() as u64;
        self.found.record(found);
        *self.found_by.entry(if found == 0 { 0 } else { 1 << found.ilog2() }).or_default() += 1;
        if let (0, Some(last_ns)) = (found, self.last_ns) {
            self.think.record(arrived_ns.abs_diff(last_ns));
        }
        self.outstanding.extend(completed_ns.map(Reverse));
    }

    /// The profile; none of no requests.
    pub fn profile(self, source: &str, device: &str) -> Option<Profile> {
        let requests = self.kinds.iter().map(|kind| kind.requests).sum();
        let outstanding = self.told_outstanding();
        let (end_bytes, block_bytes) = (self.end_bytes, self.block_bytes.max(1));
        // A device has no blocks of more than 4 KiB, whatever a trace's happen to share.
        let block_bytes = divisor(block_bytes, 4096);
        let [read, write, flush] = self
            .kinds
            .map(|kind| (kind.requests > 0).then(|| kind.traffic(end_bytes, block_bytes)));
        (requests > 0).then(|| Profile {
            schema: SCHEMA.into(),
            source: source.into(),
            device: device.into(),
            requests,
            left_out: self.left_out,
            length_s: (self.span.length_ns.max(1000) as f64) / 1e9,
            end_bytes,
            block_bytes,
            outstanding,
            read,
            write,
            flush,
        })
    }

    fn told_outstanding(&self) -> Outstanding {
        let us = |share| self.think.quantile_ns(share).map_or(0.0, |ns| ns as f64 / 1e3);
        let all = self.found.count().max(1) as f64;
        let share = |(from, count): (&u64, &u64)| (*from, rounded(100.0 * *count as f64 / all));
        Outstanding {
            found_mean: rounded(self.found.mean_ns().unwrap_or(0.0)),
            found_max: if self.found.count() > 0 { self.found.max_ns() } else { 0 },
            found_percent: self.found_by.iter().map(share).collect(),
            think_p50_us: us(0.5),
            think_p90_us: us(0.9),
        }
    }
}

impl Kind {
    fn traffic(self, end_bytes: u64, block_bytes: u64) -> Traffic {
        let told = self.places.told(end_bytes, block_bytes);
        let has_places = !self.sizes.is_empty();
        let responses = &self.responses;
        let us = |percent: f64| {
            let ns = responses.quantile_ns(percent / 100.0)?;
            Some((percent, ns as f64 / 1e3))
        };
        Traffic {
            requests: self.requests,
            sequential_percent: told.sequential_percent,
            area_bytes: told.area_bytes,
            working_set_bytes: told.working_set_bytes,
            sizes: sizes(&self.sizes, block_bytes),
            streams: told.streams,
            zones: if has_places { told.zones } else { vec![] },
            hot: if has_places { told.hot } else { vec![] },
            bursts: self.arrivals.bursts(),
            response_us: SHARES.into_iter().filter_map(us).collect(),
        }
    }
}

/// The greatest common divisor; of 0 and a number the number.
fn divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { divisor(b, a % b) }
}

/// The most frequent lengths with their shares; others with the nearest of these.
fn sizes(counts: &BTreeMap<u64, u64>, block_bytes: u64) -> Vec<(u64, f64)> {
    let all: u64 = counts.values().sum();
    let mut frequent: Vec<(u64, u64)> = counts.iter().map(|(b, c)| (*b, *c)).collect();
    frequent.sort_by_key(|(_, count)| Reverse(*count));
    let rare = frequent.split_off(frequent.len().min(SIZES));
    for (bytes, count) in rare {
        let nearest = frequent.iter_mut().min_by_key(|(known, _)| known.abs_diff(bytes));
        nearest.into_iter().for_each(|(_, sum)| *sum += count);
    }
    let mut shares: BTreeMap<u64, f64> = BTreeMap::new();
    for (bytes, count) in frequent {
        // What was counted with a power of two may be no whole number of blocks.
        let bytes = bytes.next_multiple_of(block_bytes);
        *shares.entry(bytes).or_default() += 100.0 * count as f64 / all.max(1) as f64;
    }
    shares.into_iter().map(|(bytes, percent)| (bytes, rounded(percent))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(n: u64, op: Op) -> Request {
        let at_ns = n as i64 * 1_000_000;
        Request {
            request_id: n,
            op,
            offset_bytes: (op != Op::Flush).then_some(n % 50 * 8192),
            length_bytes: if op == Op::Flush { 0 } else { 4096 },
            queued_ns: Some(at_ns),
            completed_ns: Some(at_ns + 1_500_000),
            ..Request::default()
        }
    }

    fn profile(rows: &[Request]) -> Profile {
        let length_ns = rows.len() as u64 * 1_000_000;
        let mut profiler = Profiler::new(Span { device: 0, began_ns: 0, length_ns });
        rows.iter().for_each(|row| profiler.add(row));
        profiler.profile("test", "sda").unwrap()
    }

    #[test]
    fn what_is_told_is_what_was_requested() {
        let kinds = [Op::Read, Op::Read, Op::Write, Op::Flush, Op::Discard];
        let rows: Vec<Request> = (0..5000).map(|n| row(n, kinds[n as usize % 5])).collect();
        let profile = profile(&rows);
        assert_eq!((profile.requests, profile.left_out), (4000, 1000));
        assert_eq!((profile.block_bytes, profile.end_bytes), (4096, 47 * 8192 + 4096));
        let read = profile.read.as_ref().unwrap();
        assert_eq!((read.requests, read.sizes.as_slice()), (2000, &[(4096, 100.0)][..]));
        assert_eq!((read.sequential_percent, read.working_set_bytes), (0.0, 20 * 4096));
        assert_eq!(profile.outstanding.found_max, 1);
        let text = profile.text().unwrap();
        assert_eq!(Profile::parse(&text).unwrap(), profile, "{text}");
    }

    #[test]
    fn a_single_request_has_a_profile_and_none_has_none() {
        let one = profile(&[row(0, Op::Read)]);
        assert_eq!(Profile::parse(&one.text().unwrap()).unwrap(), one);
        let span = Span { device: 0, began_ns: 0, length_ns: 0 };
        assert!(Profiler::new(span).profile("test", "sda").is_none());
    }
}
