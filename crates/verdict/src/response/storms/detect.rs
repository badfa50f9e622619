//! Which bins of a time grid belong to storms: the windows whose counts a steady load
//! ([`super::calm`]) does not explain, at the width of window at which they are the least
//! explicable.
//!
//! 1. *Scales.* Windows of 0.1 s and of every doubling of it, as long as there are [`LEAST`] of
//!    them. What is shorter than the 0.1 s in which a person sees no delay (Nielsen, "Usability
//!    Engineering", 1993, section 5.5) is a batch, or the catching up after a pause.
//! 2. *Null model.* At each scale the calm load is fitted, and the windows of at least twice its
//!    rate stand out which it does not explain: of those that do, a share of [`ALARM`] by chance.
//!    The windows of all scales are counted (Bonferroni), so that a whole trace of a steady load
//!    has a storm with that probability.
//! 3. *Storms.* Windows that stand out are one storm until a second of calm separates them
//!    (Nielsen's limit for an uninterrupted flow of thought), if together they hold 7 requests more
//!    than the calm load would bring. A scale at which storms fill half of the time, where the
//!    median breaks down, shows a load that comes in batches: a coarser one decides.
//! 4. *Choice.* Of the scales with storms, the one at which a rate for each storm and one for the
//!    rest explain most, less the price of an alarm for each storm.
//! 5. *Edges.* Around the first and the last window, where the stretch of bins begins and ends that
//!    the storm's mean rate explains best against the calm one (the maximal-sum segment: Bentley,
//!    Commun. ACM 27, 1984, p. 865).
//!
//! Non-goals: storms shorter apart than a second, storms that fill most of a trace, loads that
//! differ by less than twice.

use super::calm::{Calm, TIMES};
use std::ops::Range;

/// Probability of a storm where there is only a steady load.
const ALARM: f64 = 0.01;
/// Fewest windows, and requests of a trace, from which a variance is estimated: the usual 30.
const LEAST: u64 = 30;
/// The narrowest window.
const NARROWEST_NS: u64 = 100_000_000;
/// What is less apart is one storm.
const APART_NS: u64 = 1_000_000_000;
/// Largest share of the time that storms can have: the breakdown point of the median.
const SHARE_MOST: f64 = 0.5;

/// Counts by bins of one width; only those that hold something.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Series<'a> {
    /// Number of a bin, and requests that arrived in it; in order.
    pub(crate) bins: &'a [(u64, u64)],
    /// First bin of the trace, whether or not it holds something.
    pub(crate) first: u64,
    /// Last bin of the trace.
    pub(crate) last: u64,
    pub(crate) bin_ns: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Calmness {
    /// Fewer than 30 requests.
    Few,
    /// Fewer than 30 windows of 0.1 s, or of a bin.
    Short,
    /// No window stands out.
    Steady,
    /// What stands out does so all the time.
    Batches,
    /// What stands out is a closed loop that went faster ([`super::deeper`]).
    Faster,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Detection {
    /// Bins of the storms, in order.
    pub(crate) storms: Vec<Range<u64>>,
    pub(crate) calmness: Option<Calmness>,
    /// Requests a bin outside of storms.
    pub(crate) calm_per_bin: f64,
    /// Requests a bin within storms.
    pub(crate) storm_per_bin: f64,
    /// Relative standard deviation of the calm load's rate, beyond that of Poisson arrivals.
    pub(crate) calm_variation: f64,
    pub(crate) scale_bins: u64,
    /// Fewest requests of a window that stands out.
    pub(crate) window_least: u64,
}

/// Fewest requests of a storm, beyond what the calm brings: of fewer it could not be shown that
/// they are twice as many as an equal time of calm brings, at the level of the alarm (s^-n ≤ α).
fn storm_least() -> f64 {
    (ALARM.recip().ln() / TIMES.ln()).ceil()
}

pub(crate) fn detect(series: &Series) -> Detection {
    let requests: u64 = series.bins.iter().map(|(_, requests)| requests).sum();
    if requests < LEAST {
        return none(Calmness::Few);
    }
    let scales = series.scales();
    let windows: u64 = scales.clone().map(|shift| series.windows(shift)).sum();
    let price = (windows as f64 / ALARM).ln();
    let mut counts = series.counts(scales.start);
    let mut best: Option<(f64, Detection)> = None;
    let mut calmness = Calmness::Short;
    for shift in scales {
        match at_scale(series, shift, &counts, price) {
            Ok((gain, storms)) => {
                if best.as_ref().is_none_or(|(most, _)| gain > *most) {
                    best = Some((gain, storms));
                }
            }
            Err(reason) => calmness = calmness.max(reason),
        }
        counts = summed(counts.iter().map(|(window, requests)| (window / 2, *requests)));
    }
    best.map_or_else(|| none(calmness), |(_, detection)| detection)
}

fn none(calmness: Calmness) -> Detection {
    Detection { calmness: Some(calmness), ..Detection::default() }
}

impl Series<'_> {
    fn span(&self) -> u64 {
        self.last.saturating_sub(self.first).saturating_add(1)
    }

    /// Binary logarithms of the widths of windows, in bins.
    fn scales(&self) -> Range<u32> {
        let bins = NARROWEST_NS.div_ceil(self.bin_ns.max(1));
        let narrowest = bins.next_power_of_two().ilog2();
        let widest = (self.span() / LEAST).checked_ilog2();
        narrowest..widest.map_or(narrowest, |widest| narrowest.max(widest + 1))
    }

    fn windows(&self, shift: u32) -> u64 {
        ((self.span() - 1) >> shift) + 1
    }

    fn counts(&self, shift: u32) -> Vec<(u64, u64)> {
        let window = |bin: u64| bin.saturating_sub(self.first) >> shift;
        summed(self.bins.iter().map(|(bin, requests)| (window(*bin), *requests)))
    }

    fn within(&self, range: &Range<u64>) -> &[(u64, u64)] {
        let from = self.bins.partition_point(|(bin, _)| *bin < range.start);
        let to = self.bins.partition_point(|(bin, _)| *bin < range.end);
        self.bins.get(from..to).unwrap_or_default()
    }

    /// Windows in bins.
    fn range(&self, windows: Range<u64>, shift: u32) -> Range<u64> {
        let bin = |window: u64| self.first.saturating_add(window << shift);
        bin(windows.start)..bin(windows.end).min(self.last.saturating_add(1))
    }
}

/// Neighbours with the same number become one.
fn summed(counts: impl Iterator<Item = (u64, u64)>) -> Vec<(u64, u64)> {
    let mut sums: Vec<(u64, u64)> = Vec::new();
    for (number, requests) in counts {
        match sums.last_mut() {
            Some(last) if last.0 == number => last.1 += requests,
            _ => sums.push((number, requests)),
        }
    }
    sums
}

/// The storms at one scale, and what they gain.
fn at_scale(
    series: &Series,
    shift: u32,
    counts: &[(u64, u64)],
    price: f64,
) -> Result<(f64, Detection), Calmness> {
    let requests = counts.iter().map(|(_, requests)| *requests).collect();
    let calm = Calm::fit(requests, series.windows(shift), price);
    let least = calm.least.ok_or(Calmness::Steady)?;
    let remarkable = counts.iter().filter(|(_, requests)| *requests >= least);
    let apart = (APART_NS / series.bin_ns.max(1)).max(1);
    let rough = joined(remarkable.map(|(w, _)| series.range(*w..w + 1, shift)), apart);
    if length(&rough) as f64 > SHARE_MOST * series.span() as f64 {
        return Err(Calmness::Batches);
    }
    let scale_bins = 1u64 << shift;
    let calm_per_bin = calm.mean / scale_bins as f64;
    let exact = rough.iter().filter_map(|storm| edges(series, storm, scale_bins, calm_per_bin));
    let mut storms = joined(exact, apart);
    storms.retain(|storm| {
        let calm = (storm.end - storm.start) as f64 * calm_per_bin;
        requests_within(series, storm) as f64 - calm >= storm_least()
    });
    if storms.is_empty() {
        return Err(Calmness::Steady);
    }
    let [calm_per_bin, storm_per_bin] = rates(series, &storms);
    let gain = gain(series, &storms) - price * storms.len() as f64;
    let detection = Detection {
        storms,
        calmness: None,
        calm_per_bin,
        storm_per_bin,
        calm_variation: calm.shape.recip().sqrt(),
        scale_bins,
        window_least: least,
    };
    Ok((gain, detection))
}

/// Requests a bin outside of storms, and within.
fn rates(series: &Series, storms: &[Range<u64>]) -> [f64; 2] {
    let all: u64 = series.bins.iter().map(|(_, requests)| requests).sum();
    let stormy: u64 = storms.iter().map(|storm| requests_within(series, storm)).sum();
    let bins = length(storms);
    let rate = |requests: u64, bins: u64| requests as f64 / bins.max(1) as f64;
    [rate(all - stormy, series.span().saturating_sub(bins)), rate(stormy, bins)]
}

/// What a rate for each storm and one for the rest explain more than one rate for all, in nats: the
/// likelihood ratio of Poisson arrivals, which unlike the odds of windows can be compared between
/// scales.
fn gain(series: &Series, storms: &[Range<u64>]) -> f64 {
    let likelihood = |rate: f64, bins: u64| match rate {
        0.0 => 0.0,
        _ => rate * bins as f64 * rate.ln(),
    };
    let [calm, _] = rates(series, storms);
    let [whole, _] = rates(series, &[]);
    let each = storms.iter().map(|storm| {
        let bins = storm.end - storm.start;
        likelihood(requests_within(series, storm) as f64 / bins.max(1) as f64, bins)
    });
    let rest = series.span().saturating_sub(length(storms));
    each.sum::<f64>() + likelihood(calm, rest) - likelihood(whole, series.span())
}

fn length(ranges: &[Range<u64>]) -> u64 {
    ranges.iter().map(|range| range.end - range.start).sum()
}

fn requests_within(series: &Series, range: &Range<u64>) -> u64 {
    series.within(range).iter().map(|(_, requests)| requests).sum()
}

/// Ranges in order; those with less than `apart` between them become one.
fn joined(ranges: impl Iterator<Item = Range<u64>>, apart: u64) -> Vec<Range<u64>> {
    let mut all: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match all.last_mut() {
            Some(last) if range.start < last.end.saturating_add(apart) => {
                last.start = last.start.min(range.start);
                last.end = last.end.max(range.end);
            }
            _ => all.push(range),
        }
    }
    all
}

/// Where a storm that windows of so many bins found rough begins and ends. It may begin in the
/// window before, where it was too little to stand out, and end in the one after.
fn edges(series: &Series, rough: &Range<u64>, scale_bins: u64, calm: f64) -> Option<Range<u64>> {
    let own = requests_within(series, rough) as f64 / (rough.end - rough.start).max(1) as f64;
    let rates = [calm, own.max(TIMES * calm)];
    let head = rough.start.saturating_sub(scale_bins)..rough.start.saturating_add(scale_bins);
    let tail = rough.end.saturating_sub(scale_bins)..rough.end.saturating_add(scale_bins);
    let start = segment(series.within(&head), rates)?.start;
    let end = segment(series.within(&tail), rates)?.end;
    (start < end).then_some(start..end)
}

/// The stretch of bins that the second of two rates explains best, against the first: each request
/// counts the logarithm of their ratio for it, and each bin their difference against it (Poisson).
fn segment(bins: &[(u64, u64)], [calm, storm]: [f64; 2]) -> Option<Range<u64>> {
    let (request, bin_against) = ((storm / calm).ln(), storm - calm);
    let (mut most, mut best) = (0.0, None);
    let (mut run, mut start, mut next) = (0.0, 0, 0);
    for (bin, requests) in bins {
        run -= bin_against * bin.saturating_sub(next) as f64;
        if run <= 0.0 {
            (run, start) = (0.0, *bin);
        }
        next = bin.saturating_add(1);
        run += *requests as f64 * request - bin_against;
        if run > most {
            (most, best) = (run, Some(start..next));
        }
    }
    best
}
