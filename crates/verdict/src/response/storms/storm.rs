//! The storms of a device: what each was, and the reads that waited behind it.
//!
//! A storm begins with the first arrival of its bins and lasts until the last of its requests is
//! completed. The reads behind it are those that arrived in that time and found writes or flushes
//! outstanding; if the next storm begins before that, they are behind the next.

use super::super::processes::ProcessId;
use super::deeper::deeper;
use super::detect::{Detection, Series, detect};
use super::grid::{Bin, Grid};
use std::collections::BTreeMap;
use std::ops::Range;

#[derive(Debug, Clone)]
pub(super) struct Storm {
    pub(super) start_ns: i64,
    pub(super) end_ns: i64,
    /// By who requested how many, the most first.
    pub(super) blamed: Vec<(ProcessId, u64)>,
    /// What it wrote, and the reads behind it.
    pub(super) whole: Bin,
}

#[derive(Debug)]
pub(super) struct Storms {
    pub(super) all: Vec<Storm>,
    pub(super) detection: Detection,
    pub(super) width_ns: i64,
}

impl Storms {
    /// Of a device in a trace that lasts from the first to the last arrival.
    pub(super) fn of(grid: &Grid, width_ns: i64, arrivals_ns: (i64, i64)) -> Self {
        let (first, last) =
            (arrivals_ns.0.div_euclid(width_ns), arrivals_ns.1.div_euclid(width_ns));
        let place = |number: i64| u64::try_from(number.saturating_sub(first)).unwrap_or(0);
        let told = || grid.bins.iter().filter(|(_, bin)| bin.requests > 0);
        let bins: Vec<(u64, u64)> = told().map(|(n, bin)| (place(*n), bin.requests)).collect();
        let held: Vec<(u64, u64)> = told().map(|(n, bin)| (place(*n), bin.held_ns)).collect();
        let bin_ns = u64::try_from(width_ns).unwrap_or(1);
        let series = Series { bins: &bins, first: 0, last: place(last), bin_ns };
        let detection = deeper(detect(&series), &series, &held);
        let starts: Vec<Range<i64>> = detection
            .storms
            .iter()
            .map(|storm| first + storm.start as i64..first + storm.end as i64)
            .collect();
        let all = storms(grid, &starts, width_ns);
        Self { all, detection, width_ns }
    }

    /// Requests by who requested them, over all storms, the most first.
    pub(super) fn blamed(&self) -> Vec<(ProcessId, u64)> {
        let each = self.all.iter().flat_map(|storm| &storm.blamed);
        summed(each)
    }
}

fn storms(grid: &Grid, ranges: &[Range<i64>], width_ns: i64) -> Vec<Storm> {
    let followed = ranges.iter().skip(1).map(|next| next.start).chain([i64::MAX]);
    let made = ranges.iter().zip(followed).filter_map(|(range, next)| {
        let mut whole = Bin::default();
        within(grid, range.clone()).for_each(|bin| whole.merge(bin));
        let (start_ns, end_ns) = whole.first_ns.zip(whole.end_ns)?;
        // Until its last request is completed, or the next storm comes.
        let drained = end_ns.div_euclid(width_ns).saturating_add(1).min(next);
        within(grid, range.end..drained.max(range.end))
            .for_each(|bin| whole.behind.merge(&bin.behind));
        let blamed = summed(whole.blamed.iter());
        Some(Storm { start_ns, end_ns, blamed, whole })
    });
    made.collect()
}

fn within(grid: &Grid, range: Range<i64>) -> impl Iterator<Item = &Bin> {
    let from = grid.bins.partition_point(|(number, _)| *number < range.start);
    let rest = grid.bins.get(from..).unwrap_or_default().iter();
    rest.take_while(move |(number, _)| *number < range.end).map(|(_, bin)| bin)
}

fn summed<'a>(each: impl Iterator<Item = &'a (ProcessId, u64)>) -> Vec<(ProcessId, u64)> {
    let mut sums: BTreeMap<ProcessId, u64> = BTreeMap::new();
    each.for_each(|(process, count)| *sums.entry(*process).or_default() += count);
    let mut sums: Vec<(ProcessId, u64)> = sums.into_iter().collect();
    sums.sort_by_key(|(process, count)| (std::cmp::Reverse(*count), *process));
    sums
}
