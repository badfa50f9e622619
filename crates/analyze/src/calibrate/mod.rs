//! From a calibration's passes to what a device is like: a time and a rate by direction and order,
//! how both change with the number outstanding, and how times are spread; and how near a model
//! comes to the classes that no fit has seen.
//!
//! A line through the mean times by size is fitted in each round, with errors as shares of the
//! times; intervals are Student's t over the rounds. Non-goals: what is inside the device.

pub mod buffer;
pub mod trace;

use crate::statistics::estimate;
use buffer::{Buffer, NoBuffer};
use model::calibration::{Burst, Class, Met, Pass, Pattern, SHARES};
use model::histogram::Histogram;
use std::collections::BTreeMap;

/// A number between two others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    /// The number.
    pub value: f64,
    /// The end below of its 95 % interval.
    pub low: f64,
    /// The end above.
    pub high: f64,
}

impl Range {
    /// The mean of rounds, none of which is below `least`.
    fn of(values: &[f64], least: f64) -> Option<Self> {
        let estimate = estimate(values)?;
        let (low, high) = estimate.interval.unwrap_or((estimate.mean, estimate.mean));
        let value = estimate.mean.max(least);
        Some(Self { value, low: low.clamp(least, value), high: high.max(value) })
    }

    /// The same about the value of all rounds together: where rounds differ, the mean over requests
    /// is not the mean of the rounds' means, for slow rounds have fewer.
    fn about(value: f64, rounds: &[f64], least: f64) -> Option<Self> {
        let of_rounds = Self::of(rounds, least)?;
        let value = value.max(least);
        Some(Self { value, low: of_rounds.low.min(value), high: of_rounds.high.max(value) })
    }
}

/// How it is at so many outstanding.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    /// So many, the request itself included.
    pub outstanding: u32,
    /// The time over that at depth 1.
    pub fixed_factor: f64,
    /// The bytes' time over that at depth 1.
    pub bytes_factor: f64,
    /// Times over their mean at [`SHARES`].
    pub spread: Vec<f64>,
}

/// Requests of one direction and order.
#[derive(Debug, Clone, PartialEq)]
pub struct Path {
    /// A request without its bytes, at depth 1, ns.
    pub fixed_ns: Range,
    /// Of its bytes, at depth 1, a second.
    pub bytes_per_s: Range,
    /// By the number outstanding, rising.
    pub loads: Vec<Load>,
    /// By size and number outstanding, rising, where more than two sizes are known: what a line
    /// through them leaves.
    pub sizes: Vec<OfSize>,
}

/// How it is of one size at so many outstanding.
#[derive(Debug, Clone, PartialEq)]
pub struct OfSize {
    /// Bytes of each.
    pub bytes: f64,
    /// So many, the request itself included.
    pub outstanding: u32,
    /// The time over what the line says.
    pub factor: f64,
    /// Times over their mean at [`SHARES`].
    pub spread: Vec<f64>,
}

/// Requests of one direction.
#[derive(Debug, Clone, PartialEq)]
pub struct Direction {
    /// Anywhere.
    pub random: Path,
    /// One after the other.
    pub sequential: Path,
    /// The most that it does, where it was driven to that.
    pub ceiling: Option<Ceiling>,
}

/// The most that a device does.
#[derive(Debug, Clone, PartialEq)]
pub struct Ceiling {
    /// How many random ones of the smallest size are served at once.
    pub parallelism: Range,
    /// The most of these a second.
    pub per_s: Range,
    /// The most bytes a second, of whatever size.
    pub bytes_per_s: Range,
}

/// What a device is like.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// Reads.
    pub read: Direction,
    /// Writes, where leave was given.
    pub write: Option<Direction>,
    /// A flush after a write, ns.
    pub flush_ns: Option<Range>,
    /// The write buffer, or why none is known.
    pub buffer: Result<Buffer, NoBuffer>,
}

/// A factor, a time or a rate is not less than this, so that a model can divide by it.
const LEAST: f64 = 1e-6;
/// A request takes at the least this share of the smallest one's time, whatever the line says.
const LEAST_SHARE: f64 = 0.02;

/// Passes by class.
type ByClass<'a> = BTreeMap<Class, Vec<&'a Met>>;

fn by_class(passes: &[Pass], is_held_out: bool) -> ByClass<'_> {
    let mut by_class = ByClass::new();
    for pass in passes.iter().filter(|pass| pass.cell.is_held_out == is_held_out) {
        by_class.entry(pass.cell.class).or_default().push(&pass.met);
    }
    by_class
}

/// What the device is like by the passes that are not held out; none where a class has no request.
pub fn fit(passes: &[Pass], bursts: &[Burst]) -> Option<Fit> {
    let classes = by_class(passes, false);
    let flushes = classes.iter().find(|(class, _)| class.flushes);
    let flush_ns = flushes.and_then(|(_, met)| Range::of(&means(met)?, 1.0));
    let writes = classes.keys().any(|class| class.writes() && !class.flushes);
    Some(Fit {
        read: direction(&classes, 100)?,
        write: if writes { Some(direction(&classes, 0)?) } else { None },
        flush_ns,
        buffer: buffer::buffer(bursts),
    })
}

fn direction(classes: &ByClass<'_>, read_percent: u32) -> Option<Direction> {
    let own: ByClass<'_> = classes
        .iter()
        .filter(|(class, _)| class.read_percent == read_percent && !class.flushes)
        .map(|(class, met)| (*class, met.clone()))
        .collect();
    let small = own.keys().map(|class| class.block_bytes).min()?;
    let rates = |block_bytes: Option<u64>| {
        own.iter().filter_map(move |(class, met)| {
            let is_wanted = block_bytes.is_none_or(|bytes| class.block_bytes == bytes);
            let is_random = class.pattern == Pattern::Random || block_bytes.is_none();
            let unit = if block_bytes.is_none() { class.block_bytes as f64 } else { 1.0 };
            let rates: Vec<f64> = met.iter().map(|met| met.rate() * unit).collect();
            if is_wanted && is_random { Range::of(&rates, LEAST) } else { None }
        })
    };
    let greatest =
        |ranges: &mut dyn Iterator<Item = Range>| ranges.max_by(|a, b| a.value.total_cmp(&b.value));
    Some(Direction {
        random: path(&own, Pattern::Random)?,
        sequential: path(&own, Pattern::Sequential)?,
        ceiling: Some(Ceiling {
            parallelism: parallelism(&own, small)?,
            per_s: greatest(&mut rates(Some(small)))?,
            bytes_per_s: greatest(&mut rates(None))?,
        }),
    })
}

/// Times over those at depth 1: what would be one by one, served so many at once.
fn parallelism(own: &ByClass<'_>, small: u64) -> Option<Range> {
    let of = own
        .iter()
        .filter(|(class, _)| class.pattern == Pattern::Random && class.block_bytes == small);
    let times: Vec<(u32, Vec<f64>)> =
        of.filter_map(|(class, met)| Some((class.depth, means(met)?))).collect();
    let alone = &times.iter().find(|(depth, _)| *depth == 1)?.1;
    let ranges = times.iter().filter_map(|(depth, met)| {
        let ratios: Vec<f64> =
            met.iter().zip(alone).map(|(mean, one)| f64::from(*depth) * one / mean).collect();
        Range::of(&ratios, LEAST)
    });
    ranges.max_by(|a, b| a.value.total_cmp(&b.value))
}

/// The mean time of each pass, ns; none where a pass has none.
fn means(met: &[&Met]) -> Option<Vec<f64>> {
    met.iter().map(|met| met.all().mean_ns()).collect()
}

fn path(own: &ByClass<'_>, pattern: Pattern) -> Option<Path> {
    let mut by_depth: BTreeMap<u32, Vec<(f64, Vec<f64>, Histogram)>> = BTreeMap::new();
    for (class, met) in own.iter().filter(|(class, _)| class.pattern == pattern) {
        let mut all = Histogram::default();
        met.iter().for_each(|met| all.merge(&met.all()));
        let size = class.block_bytes as f64;
        by_depth.entry(class.depth).or_default().push((size, means(met)?, all));
    }
    let alone = by_depth.get(&1)?;
    let rounds = alone.iter().map(|(_, means, _)| means.len()).min()?;
    let lines = (0..rounds).map(|round| {
        let points: Vec<(f64, f64)> =
            alone.iter().map(|(size, means, _)| (*size, means[round])).collect();
        line(&points)
    });
    let lines: Vec<(f64, f64)> = lines.collect::<Option<_>>()?;
    let fixed: Vec<f64> = lines.iter().map(|line| line.0).collect();
    let rates: Vec<f64> = lines.iter().map(|line| 1e9 / line.1).collect();
    let line_of = |sizes: &[(f64, Vec<f64>, Histogram)]| {
        let points = sizes.iter().map(|(size, _, all)| Some((*size, all.mean_ns()?)));
        line(&points.collect::<Option<Vec<_>>>()?)
    };
    let (all_fixed, all_byte_ns) = line_of(alone)?;
    let fixed_ns = Range::about(all_fixed, &fixed, LEAST)?;
    let bytes_per_s = Range::about(1e9 / all_byte_ns, &rates, LEAST)?;
    let loads = by_depth.iter().map(|(depth, sizes)| {
        let (fixed, byte_ns) = line_of(sizes)?;
        Some(Load {
            outstanding: *depth,
            fixed_factor: fixed / fixed_ns.value,
            bytes_factor: byte_ns * bytes_per_s.value / 1e9,
            spread: spread(&sizes.first()?.2)?,
        })
    });
    let loads: Vec<Load> = loads.collect::<Option<_>>()?;
    let mut sizes = Vec::new();
    for (load, own) in loads.iter().zip(by_depth.values()).filter(|(_, own)| own.len() > 2) {
        for (bytes, _, all) in own {
            let fixed = fixed_ns.value * load.fixed_factor;
            let line_ns = fixed + bytes * load.bytes_factor * 1e9 / bytes_per_s.value;
            let (outstanding, bytes) = (load.outstanding, *bytes);
            let factor = all.mean_ns()? / line_ns.max(LEAST);
            sizes.push(OfSize { bytes, outstanding, factor, spread: spread(all)? });
        }
    }
    sizes.sort_by(|a, b| a.bytes.total_cmp(&b.bytes).then(a.outstanding.cmp(&b.outstanding)));
    Some(Path { fixed_ns, bytes_per_s, loads, sizes })
}

/// The line through times by size whose errors, as shares of the times, have the least squares: a
/// time at no bytes, and a time a byte, both above zero.
fn line(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let (mut w, mut wx, mut wy, mut wxx, mut wxy) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for &(x, y) in points {
        let weight = 1.0 / (y * y).max(LEAST);
        (w, wx, wy) = (w + weight, wx + weight * x, wy + weight * y);
        (wxx, wxy) = (wxx + weight * x * x, wxy + weight * x * y);
    }
    let least = points.iter().map(|(_, y)| *y).min_by(f64::total_cmp)? * LEAST_SHARE;
    let slope = ((w * wxy - wx * wy) / (w * wxx - wx * wx).max(f64::MIN_POSITIVE)).max(LEAST);
    let fixed = (wy - slope * wx) / w;
    if fixed >= least { Some((fixed, slope)) } else { Some((least, (wy / wx).max(LEAST))) }
}

/// Times over their mean at [`SHARES`]; their mean along straight lines between is 1.
fn spread(times: &Histogram) -> Option<Vec<f64>> {
    let at = |share: f64| match share {
        0.0 => Some(times.min_ns() as f64),
        1.0 => Some(times.max_ns() as f64),
        share => Some(times.quantile_ns(share)? as f64),
    };
    let mut values: Vec<f64> = SHARES.iter().map(|share| at(*share)).collect::<Option<_>>()?;
    for place in 1..values.len() {
        values[place] = values[place].max(values[place - 1]);
    }
    let pairs = values.windows(2).zip(SHARES.windows(2));
    let mean: f64 = pairs.map(|(v, s)| (v[0] + v[1]) / 2.0 * (s[1] - s[0])).sum();
    Some(values.iter().map(|value| value / mean.max(LEAST)).collect())
}

/// How near a prediction has to come, per cent: of the mean, the 99th percentile and the rate.
pub const BOUNDS_PERCENT: [f64; 3] = [15.0, 30.0, 10.0];
/// Below so many requests a 99th percentile says little.
const TAIL_COUNT: u64 = 300;

/// A class that was held out.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// Which, in words.
    pub name: String,
    /// Measured mean and 99th percentile, ns, and requests a second.
    pub measured: [f64; 3],
    /// Predicted ones.
    pub predicted: [f64; 3],
    /// Requests measured.
    pub count: u64,
    /// How far the distributions of times are apart, as a share of the measured mean: the demerit
    /// figure of Ruemmler & Wilkes (1994).
    pub demerit: Option<f64>,
}

/// Quantiles by which distributions are held against each other.
const QUANTILES: u32 = 1000;

/// The root mean square of the distances of quantiles, as a share of the measured mean.
fn demerit(predicted: &Histogram, measured: &Histogram) -> Option<f64> {
    let mean = measured.mean_ns().filter(|mean| *mean > 0.0)?;
    let mut sum = 0.0;
    for step in 0..QUANTILES {
        let share = (f64::from(step) + 0.5) / f64::from(QUANTILES);
        let apart = predicted.quantile_ns(share)? as f64 - measured.quantile_ns(share)? as f64;
        sum += apart * apart;
    }
    Some((sum / f64::from(QUANTILES)).sqrt() / mean)
}

impl Judged {
    /// A class of that name.
    pub fn of(name: String, measured: &Met, predicted: &Met) -> Self {
        let figures = |met: &Met| {
            let all = met.all();
            let p99_ns = all.quantile_ns(0.99).unwrap_or(0) as f64;
            [all.mean_ns().unwrap_or(0.0), p99_ns, met.rate()]
        };
        Self {
            name,
            measured: figures(measured),
            predicted: figures(predicted),
            count: measured.count(),
            demerit: demerit(&predicted.all(), &measured.all()),
        }
    }

    /// How far the prediction is off, per cent of what was measured; none of a percentile of too
    /// few.
    pub fn off_percent(&self) -> [Option<f64>; 3] {
        let off = |which: usize| {
            let is_known = which != 1 || self.count >= TAIL_COUNT;
            let off = (self.predicted[which] / self.measured[which] - 1.0) * 100.0;
            (is_known && off.is_finite()).then_some(off)
        };
        [0, 1, 2].map(off)
    }

    /// Whether all that is known of it is within its bounds.
    pub fn holds(&self) -> bool {
        let off = self.off_percent();
        let is_near = |(off, bound): (&Option<f64>, f64)| off.is_none_or(|off| off.abs() <= bound);
        off[0].is_some() && off.iter().zip(BOUNDS_PERCENT).all(is_near)
    }
}

/// Judges what `predict` says of each class that was held out.
/// Errors: those of `predict`.
pub fn judge<E>(
    passes: &[Pass],
    predict: impl Fn(Class) -> Result<Met, E>,
) -> Result<Vec<Judged>, E> {
    held_against(by_class(passes, true), predict)
}

/// The same of the classes that are fitted: to choose by, and no judgement.
/// Errors: those of `predict`.
pub fn compare<E>(
    passes: &[Pass],
    predict: impl Fn(Class) -> Result<Met, E>,
) -> Result<Vec<Judged>, E> {
    held_against(by_class(passes, false), predict)
}

fn held_against<E>(
    classes: ByClass<'_>,
    predict: impl Fn(Class) -> Result<Met, E>,
) -> Result<Vec<Judged>, E> {
    let judged = classes.into_iter().map(|(class, met)| {
        let mut all = Met::default();
        met.iter().for_each(|met| all.add(met));
        Ok(Judged::of(class.name(), &all, &predict(class)?))
    });
    judged.collect()
}

/// A class whose later rounds are so much slower than its first ones is throttled.
const THROTTLED_RATIO: f64 = 0.7;
/// Of so many of the classes.
const THROTTLED_SHARE: f64 = 0.25;

/// By how much later passes are slower, where something throttles: a bucket that was emptied.
pub fn throttled(passes: &[Pass]) -> Option<f64> {
    let mut by_cell: BTreeMap<Class, Vec<f64>> = BTreeMap::new();
    for pass in passes {
        let halves = pass.met.halves.map(|count| count as f64);
        by_cell
            .entry(pass.cell.class)
            .or_default()
            .extend(halves.map(|half| half / pass.seconds()));
    }
    let ratios = by_cell.values().filter(|rates| rates.len() >= 6).map(|rates| {
        let third = rates.len() / 3;
        let (first, last) = (&rates[..third], &rates[rates.len() - third..]);
        last.iter().sum::<f64>() / first.iter().sum::<f64>().max(LEAST)
    });
    let ratios: Vec<f64> = ratios.collect();
    let slow: Vec<f64> = ratios.iter().copied().filter(|ratio| *ratio < THROTTLED_RATIO).collect();
    let is_throttled = slow.len() as f64 > THROTTLED_SHARE * ratios.len() as f64;
    is_throttled.then(|| slow.iter().sum::<f64>() / slow.len() as f64)
}

/// From this share of a limit on, requests wait for it.
const NEAR_LIMIT: f64 = 0.9;

/// Whether so many requests and bytes a second are well below the provider's limits.
pub fn stays_below(limits: &[(String, f64)], rates: [f64; 2]) -> bool {
    let limit = |key: &str| limits.iter().find(|(name, _)| name == key).map(|(_, limit)| *limit);
    let limits = ["requests_per_s", "bytes_per_s"].map(limit);
    rates.iter().zip(limits).all(|(rate, of)| of.is_none_or(|of| *rate < NEAR_LIMIT * of))
}

/// The passes of the classes that stay below the provider's limits. The others tell the limit and
/// not the device: a profile with their times and the limit would have requests wait twice.
pub fn unthrottled(passes: &[Pass], limits: &[(String, f64)]) -> Vec<Pass> {
    let mut by_class: BTreeMap<Class, Vec<&Pass>> = BTreeMap::new();
    for pass in passes {
        by_class.entry(pass.cell.class).or_default().push(pass);
    }
    let is_below = |(class, all): &(&Class, &Vec<&Pass>)| {
        let mut rates: Vec<f64> = all.iter().map(|pass| pass.met.rate()).collect();
        rates.sort_by(f64::total_cmp);
        let rate = rates.get(rates.len() / 2).copied().unwrap_or(0.0);
        stays_below(limits, [rate, rate * class.block_bytes as f64])
    };
    let below = by_class.iter().filter(is_below).flat_map(|(_, all)| all);
    below.map(|pass| (*pass).clone()).collect()
}

/// As many outstanding show a limit.
const LIMITED_DEPTH: u32 = 8;
/// Rates are the same within this share.
const LIMITED_SAME: f64 = 0.03;

/// Requests a second where they are as many of any size and order, so many outstanding: no device
/// does that by itself, but a limit of requests with a bucket that is empty.
pub fn limited(passes: &[Pass]) -> Option<f64> {
    let mut rates: Vec<f64> = vec![];
    for (class, met) in by_class(passes, false) {
        if class.depth >= LIMITED_DEPTH && class.read_percent == 100 {
            // The first round may have emptied the bucket.
            let mut own: Vec<f64> = met.iter().map(|met| met.rate()).collect();
            own.sort_by(f64::total_cmp);
            rates.extend(own.get(own.len() / 2));
        }
    }
    let mean = rates.iter().sum::<f64>() / (rates.len() as f64).max(1.0);
    let is_same = |rate: &f64| (rate / mean - 1.0).abs() < LIMITED_SAME;
    (rates.len() > 4 && rates.iter().all(is_same)).then_some(mean)
}

/// What others moved on the device, as a share of what the passes did; none where nothing tells.
pub fn foreign_share(passes: &[Pass]) -> Option<f64> {
    let foreign: u64 = passes.iter().map(|pass| pass.foreign_bytes).sum::<Option<u64>>()?;
    let own: u64 = passes.iter().map(Pass::bytes).sum();
    Some(foreign as f64 / (own as f64).max(1.0))
}

#[cfg(test)]
mod tests;
