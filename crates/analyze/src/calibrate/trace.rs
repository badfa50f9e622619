//! From a trace's requests to what its device is like: a time by direction, order and size, how
//! that changes with the number outstanding when a request comes, and how times are spread. Every
//! tenth stretch of the trace is held out: no fit sees it, and it judges.
//!
//! Method: a load-dependent server (Lazowska, Zahorjan, Graham & Sevcik 1984, chapter 8), whose
//! times are regressed on what a request meets. Non-goals: reading traces, simulating the
//! stretches.

use super::buffer::NoBuffer;
use super::{Direction, Fit, Judged, LEAST, Load, Path, Range, line, spread};
use model::calibration::{Met, Pattern};
use model::histogram::Histogram;
use model::record::{Flags, Op, Request};
use model::units::show_size;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// A drive's blocks, bytes.
pub const BLOCK_BYTES: u64 = 512;
/// Parts of a trace, of as many requests each.
const STRETCHES: u64 = 100;
/// Of so many one is held out.
const HELD_OUT_OF: u64 = 10;
/// Parts of a trace whose differences give intervals.
const ROUNDS: usize = 10;
/// Requests that a number is fitted to, at the least.
const ENOUGH: u64 = 30;
/// Requests of a class that judge, at the least: the mean of fewer is chance.
const JUDGED_LEAST: u64 = 100;
/// Sizes that are not so far apart make no line.
const APART: f64 = 2.0;
/// Numbers outstanding from which on others times are fitted.
const LEVELS: [u32; 26] = [
    1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048,
    4096, 8192, 16_384, 32_768,
];
/// The same for classes that judge, which are coarser.
const JUDGED_LEVELS: [u32; 5] = [1, 2, 5, 17, 65];
/// Times over those expected are kept in a histogram of times: so many ns are once.
const ONCE_NS: f64 = 1e6;

/// The stretches of a trace's device.
#[derive(Debug, Clone, Copy)]
pub struct Stretches {
    /// Requests of the device.
    pub requests: u64,
}

impl Stretches {
    /// The stretch of a request by its number.
    pub fn of(self, number: u64) -> u64 {
        (u128::from(number) * u128::from(STRETCHES) / u128::from(self.requests.max(1))) as u64
    }

    /// Whether no fit sees it.
    pub fn is_held_out(stretch: u64) -> bool {
        stretch % HELD_OUT_OF == HELD_OUT_OF / 2
    }

    /// Requests of one.
    pub fn length(self) -> u64 {
        self.requests.div_ceil(STRETCHES)
    }
}

/// What a request is, and what it met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    writes: bool,
    pattern: Pattern,
    bytes: u64,
    /// Itself included.
    outstanding: u32,
    /// None where the trace does not tell.
    time_ns: Option<u64>,
    /// It waits for more than its own bytes.
    is_durable: bool,
}

/// Follows a device's requests in the order in which they came.
#[derive(Debug, Clone, Default)]
pub struct Follower {
    /// The block behind the last read, and behind the last write.
    ends: [Option<u64>; 2],
    completions_ns: BinaryHeap<Reverse<i64>>,
    /// The most that were outstanding at once.
    pub outstanding_max: u32,
    /// The largest request, bytes.
    pub bytes_max: u64,
    /// Where the last place ends that was asked for, bytes.
    pub end_bytes: u64,
}

impl Follower {
    /// What a request is; none of what neither reads nor writes a place.
    pub fn see(&mut self, row: &Request) -> Option<Seen> {
        let writes = match row.op {
            Op::Read => false,
            Op::Write => true,
            _ => return None,
        };
        let (offset_bytes, came_ns) = (row.offset_bytes?, row.arrival_ns()?);
        let bytes = u64::from(row.length_bytes);
        let end_bytes = offset_bytes.saturating_add(bytes);
        while self.completions_ns.peek().is_some_and(|of| of.0 <= came_ns) {
            self.completions_ns.pop();
        }
        let outstanding = u32::try_from(self.completions_ns.len() + 1).unwrap_or(u32::MAX);
        let completed_ns = row.completed_ns.filter(|at_ns| *at_ns >= came_ns && !row.is_orphan());
        self.completions_ns.extend(completed_ns.map(Reverse));
        // In blocks, as the model of the drive has them.
        let before = self.ends[usize::from(writes)].replace(end_bytes.div_ceil(BLOCK_BYTES));
        let is_next = before == Some(offset_bytes / BLOCK_BYTES);
        self.outstanding_max = self.outstanding_max.max(outstanding);
        self.bytes_max = self.bytes_max.max(bytes);
        self.end_bytes = self.end_bytes.max(end_bytes);
        Some(Seen {
            writes,
            pattern: if is_next { Pattern::Sequential } else { Pattern::Random },
            bytes,
            outstanding,
            time_ns: completed_ns.map(|at_ns| at_ns.abs_diff(came_ns)),
            is_durable: row.flags.contains(Flags::FUA) || row.flags.contains(Flags::PREFLUSH),
        })
    }
}

fn level_of(levels: &[u32], outstanding: u32) -> usize {
    levels.partition_point(|from| *from <= outstanding).saturating_sub(1)
}

/// The least power of two that is no smaller, as an exponent.
fn size_of(bytes: u64) -> u32 {
    bytes.max(1).next_power_of_two().trailing_zeros()
}

/// Direction and order.
type Way = (bool, Pattern);

/// Sums over requests.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    count: u64,
    time_ns: f64,
    bytes: f64,
    outstanding: f64,
}

impl Sums {
    fn add(&mut self, seen: &Seen, time_ns: u64) {
        self.count += 1;
        self.time_ns += time_ns as f64;
        self.bytes += seen.bytes as f64;
        self.outstanding += f64::from(seen.outstanding);
    }

    fn with(self, other: &Self) -> Self {
        Self {
            count: self.count + other.count,
            time_ns: self.time_ns + other.time_ns,
            bytes: self.bytes + other.bytes,
            outstanding: self.outstanding + other.outstanding,
        }
    }

    /// Mean bytes and mean time.
    fn point(&self) -> (f64, f64) {
        (self.bytes / self.count.max(1) as f64, self.time_ns / self.count.max(1) as f64)
    }
}

/// The means of what is not held out.
#[derive(Debug, Clone)]
pub struct Means {
    stretches: Stretches,
    number: u64,
    /// By way, level and size; by round.
    sums: BTreeMap<(Way, usize, u32), [Sums; ROUNDS]>,
    flushes: [Sums; ROUNDS],
    timed: u64,
}

impl Means {
    /// Of a device of so many requests.
    pub fn new(stretches: Stretches) -> Self {
        let flushes = [Sums::default(); ROUNDS];
        Self { stretches, number: 0, sums: BTreeMap::new(), flushes, timed: 0 }
    }

    /// Takes the next request; `seen` is what [`Follower::see`] says of it.
    pub fn add(&mut self, row: &Request, seen: Option<&Seen>) {
        let stretch = self.stretches.of(self.number);
        let round = ((stretch / HELD_OUT_OF) as usize).min(ROUNDS - 1);
        self.number += 1;
        if Stretches::is_held_out(stretch) {
            return;
        }
        match seen {
            Some(seen) if !seen.is_durable => {
                let Some(time_ns) = seen.time_ns else { return };
                self.timed += 1;
                let way = (seen.writes, seen.pattern);
                let key = (way, level_of(&LEVELS, seen.outstanding), size_of(seen.bytes));
                self.sums.entry(key).or_default()[round].add(seen, time_ns);
            }
            None if row.op == Op::Flush && !row.is_orphan() => {
                let took = row.arrival_ns().zip(row.completed_ns);
                if let Some((came_ns, completed_ns)) = took {
                    let sums = &mut self.flushes[round];
                    sums.count += 1;
                    sums.time_ns += completed_ns.saturating_sub(came_ns).max(0) as f64;
                }
            }
            _ => (),
        }
    }

    /// Requests whose times are known.
    pub fn timed(&self) -> u64 {
        self.timed
    }

    /// Times by what a request meets.
    pub fn lines(&self) -> Lines {
        let of = |writes, pattern| PathLines::of(&self.sums, (writes, pattern));
        let ways = [false, true].into_iter().flat_map(|writes| {
            [Pattern::Random, Pattern::Sequential].map(|pattern| (writes, pattern))
        });
        let paths = ways.filter_map(|way| Some((way, of(way.0, way.1)?))).collect();
        let flushes = self.flushes.iter().filter(|sums| sums.count > 0);
        let rounds: Vec<f64> = flushes.clone().map(|sums| sums.point().1).collect();
        let all = flushes.fold(Sums::default(), Sums::with);
        let flush_ns = Range::about(all.point().1, &rounds, 1.0);
        Lines { stretches: self.stretches, number: 0, paths, flush_ns }
    }
}

/// How it is from so many outstanding on.
#[derive(Debug, Clone)]
struct Level {
    outstanding: u32,
    fixed_ns: f64,
    byte_ns: f64,
    /// Times over those expected.
    ratios: Histogram,
}

#[derive(Debug, Clone)]
struct PathLines {
    fixed_ns: Range,
    bytes_per_s: Range,
    /// By the index of the level.
    levels: BTreeMap<usize, Level>,
}

/// Sizes of a level.
type Sizes = Vec<Sums>;

impl PathLines {
    fn of(all: &BTreeMap<(Way, usize, u32), [Sums; ROUNDS]>, way: Way) -> Option<Self> {
        let own = all.iter().filter(|((of, _, _), _)| *of == way);
        let mut levels: BTreeMap<usize, Vec<&[Sums; ROUNDS]>> = BTreeMap::new();
        own.for_each(|((_, level, _), rounds)| levels.entry(*level).or_default().push(rounds));
        let whole = |sizes: &Vec<&[Sums; ROUNDS]>| -> Sizes {
            sizes.iter().map(|rounds| rounds.iter().fold(Sums::default(), Sums::with)).collect()
        };
        levels.retain(|_, sizes| whole(sizes).iter().map(|of| of.count).sum::<u64>() >= ENOUGH);
        let (_, first) = levels.first_key_value()?;
        let (fixed, byte_ns) = line_of(&whole(first), None)?;
        let of_round = |round: usize| {
            line_of(&first.iter().map(|rounds| rounds[round]).collect::<Sizes>(), None)
        };
        // Where there is a line, a round without one says nothing of it.
        let is_like = |line: &(f64, f64)| is_flat(line.1) == is_flat(byte_ns);
        let rounds: Vec<(f64, f64)> = (0..ROUNDS).filter_map(of_round).filter(is_like).collect();
        let alone = |value| Range { value, low: value, high: value };
        let about = |value: f64, rounds: Vec<f64>| {
            Range::about(value, &rounds, LEAST).unwrap_or_else(|| alone(value))
        };
        let at_levels = levels.iter().filter_map(|(level, sizes)| {
            let sizes = whole(sizes);
            let (fixed_ns, byte_ns) = line_of(&sizes, Some((fixed, byte_ns)))?;
            let all = sizes.iter().fold(Sums::default(), Sums::with);
            let outstanding = (all.outstanding / all.count as f64).round() as u32;
            let ratios = Histogram::default();
            Some((*level, Level { outstanding, fixed_ns, byte_ns, ratios }))
        });
        Some(Self {
            fixed_ns: about(fixed, rounds.iter().map(|line| line.0).collect()),
            bytes_per_s: about(1e9 / byte_ns, rounds.iter().map(|line| 1e9 / line.1).collect()),
            levels: at_levels.collect(),
        })
    }

    fn path(&self) -> Option<Path> {
        let base = (self.fixed_ns.value, 1e9 / self.bytes_per_s.value);
        let loads = self.levels.values().map(|level| {
            Some(Load {
                outstanding: level.outstanding,
                fixed_factor: level.fixed_ns / base.0,
                bytes_factor: level.byte_ns / base.1,
                spread: spread(&level.ratios)?,
            })
        });
        // A level of which the ratios are unknown is between its neighbours.
        let loads: Vec<Load> = loads.flatten().collect();
        let (fixed_ns, bytes_per_s) = (self.fixed_ns, self.bytes_per_s);
        let sizes = vec![];
        (!loads.is_empty()).then_some(Path { fixed_ns, bytes_per_s, loads, sizes })
    }
}

/// Whether bytes are taken to cost nothing.
fn is_flat(byte_ns: f64) -> bool {
    byte_ns < LEAST * 100.0
}

/// A line through a level's mean times by size, whose mean over all requests is theirs; where sizes
/// do not tell, one that is so many times another, or, without one, the same for all sizes.
fn line_of(sizes: &[Sums], other: Option<(f64, f64)>) -> Option<(f64, f64)> {
    let all = sizes.iter().fold(Sums::default(), Sums::with);
    let enough = sizes.iter().filter(|of| of.count >= ENOUGH);
    let points: Vec<(f64, f64)> = enough.map(Sums::point).filter(|of| of.1 > 0.0).collect();
    let ends = points
        .iter()
        .map(|of| of.0)
        .fold((f64::MAX, 0.0_f64), |ends, bytes| (ends.0.min(bytes), ends.1.max(bytes)));
    let flat = (all.count >= ENOUGH).then(|| (all.point().1.max(LEAST), LEAST));
    let (fixed, byte_ns) = match ends.1 >= ends.0 * APART {
        true => line(&points),
        false => other.or(flat),
    }?;
    let expected_ns = fixed * all.count as f64 + byte_ns * all.bytes;
    let factor = (all.time_ns / expected_ns.max(LEAST)).max(LEAST);
    Some((fixed * factor, byte_ns * factor))
}

/// Times by what a request meets, and how they are spread about it.
#[derive(Debug, Clone)]
pub struct Lines {
    stretches: Stretches,
    number: u64,
    paths: BTreeMap<Way, PathLines>,
    flush_ns: Option<Range>,
}

/// What a trace says of its device.
#[derive(Debug, Clone, PartialEq)]
pub struct TraceFit {
    /// It.
    pub fit: Fit,
    /// What it does not tell, and what that is taken as.
    pub taken: Vec<String>,
}

impl Lines {
    /// Takes the requests a second time, for how times are spread.
    pub fn add(&mut self, seen: Option<&Seen>) {
        let stretch = self.stretches.of(self.number);
        self.number += 1;
        let Some(seen) = seen.filter(|seen| !seen.is_durable) else { return };
        let path = self.paths.get_mut(&(seen.writes, seen.pattern));
        let level = level_of(&LEVELS, seen.outstanding);
        let level = path.and_then(|path| path.levels.get_mut(&level));
        let (Some(level), Some(time_ns)) = (level, seen.time_ns) else { return };
        if !Stretches::is_held_out(stretch) {
            let expected_ns = level.fixed_ns + level.byte_ns * seen.bytes as f64;
            let ratio = time_ns as f64 / expected_ns.max(LEAST);
            level.ratios.record((ratio * ONCE_NS) as u64);
        }
    }

    /// What the device is like; none where no way of going there has enough requests.
    pub fn fit(&self) -> Option<TraceFit> {
        let mut taken = vec![];
        let of = |writes: bool, taken: &mut Vec<String>| {
            let path = |pattern| self.paths.get(&(writes, pattern)).and_then(PathLines::path);
            let what = if writes { "writes" } else { "reads" };
            let (random, sequential) = (path(Pattern::Random), path(Pattern::Sequential));
            if random.is_none() != sequential.is_none() {
                let (none, other) = match random {
                    None => ("random", "sequential"),
                    Some(_) => ("sequential", "random"),
                };
                taken.push(format!("{none} {what} are taken to be as {other} ones: too few came"));
            }
            let known = random.clone().or(sequential.clone())?;
            let other = known.clone();
            Some(Direction {
                random: random.unwrap_or(known),
                sequential: sequential.unwrap_or(other),
                ceiling: None,
            })
        };
        let (read, write) = (of(false, &mut taken), of(true, &mut taken));
        let alone = |way: &PathLines| is_flat(1e9 / way.bytes_per_s.value);
        if !self.paths.is_empty() && self.paths.values().all(alone) {
            taken.push("requests of all sizes are taken to be alike: too few sizes came".into());
        }
        if read.is_none() {
            taken.push("reads are taken to be as writes: too few came".into());
        }
        if write.is_none() {
            taken.push("writes are taken to be as reads: too few came".into());
        }
        let read = read.or_else(|| write.clone())?;
        let (flush_ns, buffer) = (self.flush_ns, Err(NoBuffer::NotWritten));
        Some(TraceFit { fit: Fit { read, write, flush_ns, buffer }, taken })
    }
}

/// Requests that are judged together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TraceClass {
    way: Way,
    size: u32,
    level: usize,
}

impl TraceClass {
    /// The class of a request; none of what is not judged.
    pub fn of(seen: &Seen) -> Option<Self> {
        let is_judged = !seen.is_durable && seen.time_ns.is_some();
        is_judged.then(|| Self {
            way: (seen.writes, seen.pattern),
            size: size_of(seen.bytes),
            level: level_of(&JUDGED_LEVELS, seen.outstanding),
        })
    }

    /// `random reads up to 4k, 5 to 16 outstanding`.
    pub fn name(&self) -> String {
        let order = match self.way.1 {
            Pattern::Random => "random",
            Pattern::Sequential => "sequential",
        };
        let what = if self.way.0 { "writes" } else { "reads" };
        let from = JUDGED_LEVELS[self.level];
        let outstanding = match JUDGED_LEVELS.get(self.level + 1).map(|next| next - 1) {
            Some(to) if to == from => format!("{from}"),
            Some(to) => format!("{from} to {to}"),
            None => format!("{from} or more"),
        };
        format!("{order} {what} up to {}, {outstanding} outstanding", show_size(1 << self.size))
    }
}

/// When a request came, and when it was completed, ns.
pub type Times = (i64, i64);

/// What held-out stretches met, and what was predicted of them.
#[derive(Debug, Clone, Default)]
pub struct Judge {
    classes: BTreeMap<TraceClass, [Met; 2]>,
}

impl Judge {
    /// Takes a stretch: the class of each request, its times in the trace, and as predicted.
    pub fn add(&mut self, stretch: &[(TraceClass, [Times; 2])]) {
        let mut own: BTreeMap<TraceClass, Vec<[Times; 2]>> = BTreeMap::new();
        stretch.iter().for_each(|(class, times)| own.entry(*class).or_default().push(*times));
        for (class, requests) in own {
            let met = self.classes.entry(class).or_default();
            for (which, met) in met.iter_mut().enumerate() {
                let times = || requests.iter().map(|of| of[which]);
                let began_ns = times().map(|of| of.0).min().unwrap_or(0);
                let ended_ns = times().map(|of| of.1).max().unwrap_or(0);
                met.wall_ns += ended_ns.abs_diff(began_ns);
                met.halves[0] += requests.len() as u64;
                let to = if class.way.0 { &mut met.writes } else { &mut met.reads };
                times().for_each(|of| to.record(of.1.abs_diff(of.0)));
            }
        }
    }

    /// The classes with enough requests, and the names of those with too few.
    pub fn judged(&self) -> (Vec<Judged>, Vec<String>) {
        let (mut judged, mut unknown) = (vec![], vec![]);
        for (class, [measured, predicted]) in &self.classes {
            match measured.count() {
                JUDGED_LEAST.. => judged.push(Judged::of(class.name(), measured, predicted)),
                _ => unknown.push(class.name()),
            }
        }
        (judged, unknown)
    }
}

#[cfg(test)]
mod tests;
