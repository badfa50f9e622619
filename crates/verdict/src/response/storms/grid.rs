//! A device's trace on a grid of time: of each bin that holds something, what was written, by whom,
//! and the reads that found writes or flushes outstanding. All devices have the same width of a
//! bin, which doubles, neighbours being put together, whenever there are more than [`MOST`] of
//! them or they tell of more than [`MOST_BLAMED`] processes: which bin something is in depends on
//! the whole and not on the order, and a process's share is exact, however many write.

use super::super::processes::ProcessId;
use super::super::taken::Taken;
use crate::requests::Share;
use model::histogram::CoarseHistogram;
use model::record::{Flags, Op, Request};
use smallvec::SmallVec;
use std::cmp::Ordering;
use std::ops::Range;

/// Bins of all devices together.
const MOST: usize = 1 << 16;
/// What a bin begins with.
const WIDTH_NS: u64 = 1_000_000;
/// Processes in the bins, each counted in every bin that it wrote in: 16 MiB.
const MOST_BLAMED: usize = 1 << 20;
/// A grid as wide as this is widened no further.
const WIDEST_NS: i64 = 1 << 60;

/// The reads that found writes or flushes outstanding.
#[derive(Debug, Clone, Default)]
pub(super) struct Behind {
    pub(super) response: CoarseHistogram,
    pub(super) wait_ns: i128,
    /// Reads whose wait is known, and what they took.
    pub(super) waits: u64,
    pub(super) waits_response_ns: i128,
}

impl Behind {
    #[inline]
    pub(super) fn add(&mut self, share: &Share) {
        if let Some(took) = share.took() {
            self.response.record_binned(took);
            if let Some(wait_ns) = share.wait_ns {
                self.wait_ns += i128::from(wait_ns);
                self.waits += 1;
                self.waits_response_ns += i128::from(took.value_ns());
            }
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.response.merge(&other.response);
        self.wait_ns += other.wait_ns;
        self.waits += other.waits;
        self.waits_response_ns += other.waits_response_ns;
    }
}

#[derive(Debug, Clone, Default)]
pub(super) struct Bin {
    /// Writes and flushes that arrived.
    pub(super) requests: u64,
    /// Flushes, and writes that ask for one.
    pub(super) flushes: u64,
    pub(super) bytes: u64,
    /// Outstanding at once, of all kinds, with the writes that arrived here.
    pub(super) depth_max: u64,
    /// The first arrival of a write or flush, and the last completion of one that arrived here.
    pub(super) first_ns: Option<i64>,
    pub(super) end_ns: Option<i64>,
    /// Their responses, summed.
    pub(super) held_ns: u64,
    /// Writes and flushes by who requested them, in the order of the processes.
    pub(super) blamed: SmallVec<[(ProcessId, u64); 2]>,
    pub(super) behind: Behind,
}

impl Bin {
    fn write(&mut self, row: &Request, taken: &Taken, arrival_ns: i64) {
        self.requests += 1;
        self.flushes += u64::from(is_flush(row));
        self.bytes += u64::from(row.length_bytes);
        self.depth_max = self.depth_max.max(taken.found.all() + 1);
        self.first_ns = Some(self.first_ns.map_or(arrival_ns, |first| first.min(arrival_ns)));
        let end_ns = row.completed_ns.unwrap_or(arrival_ns);
        let held_ns = u64::try_from(end_ns.saturating_sub(arrival_ns)).unwrap_or(0);
        self.held_ns = self.held_ns.saturating_add(held_ns);
        self.end_ns = Some(self.end_ns.map_or(end_ns, |end| end.max(end_ns)));
        self.blame(taken.process, 1);
    }

    fn blame(&mut self, process: ProcessId, count: u64) {
        match self.blamed.binary_search_by_key(&process, |(known, _)| *known) {
            Ok(place) => self.blamed[place].1 += count,
            Err(place) => self.blamed.insert(place, (process, count)),
        }
    }

    /// The same of several, which are in the order of the processes, too.
    fn blame_all(&mut self, others: &[(ProcessId, u64)]) {
        let mut more = others.iter().copied().peekable();
        let mut blamed = SmallVec::with_capacity(self.blamed.len().max(others.len()));
        for (process, count) in std::mem::take(&mut self.blamed) {
            while let Some(before) = more.next_if(|(other, _)| *other < process) {
                blamed.push(before);
            }
            let same = more.next_if(|(other, _)| *other == process);
            blamed.push((process, count + same.map_or(0, |(_, count)| count)));
        }
        blamed.extend(more);
        self.blamed = blamed;
    }

    /// The same where processes have other places, of which several may be one.
    fn renumbered(mut self, place: impl Fn(ProcessId) -> ProcessId) -> Self {
        self.blamed.iter_mut().for_each(|(process, _)| *process = place(*process));
        self.blamed.sort_unstable_by_key(|(process, _)| *process);
        self.blamed.dedup_by(|(next, count), (process, sum)| {
            *sum += if next == process { *count } else { 0 };
            next == process
        });
        self
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.requests += other.requests;
        self.held_ns = self.held_ns.saturating_add(other.held_ns);
        self.flushes += other.flushes;
        self.bytes += other.bytes;
        self.depth_max = self.depth_max.max(other.depth_max);
        self.first_ns = self.first_ns.into_iter().chain(other.first_ns).min();
        self.end_ns = self.end_ns.max(other.end_ns);
        self.blame_all(&other.blamed);
        self.behind.merge(&other.behind);
    }
}

/// A row that makes what was written durable, alone or with its own data.
fn is_flush(row: &Request) -> bool {
    row.op == Op::Flush || row.flags.contains(Flags::PREFLUSH)
}

/// The bins of a device that hold something, in order, by their numbers.
#[derive(Default)]
pub(super) struct Grid {
    pub(super) bins: Vec<(i64, Bin)>,
    /// The times of the last bin, as long as that is the one that was used last.
    last_ns: Range<i64>,
}

impl std::fmt::Debug for Grid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.bins.fmt(f)
    }
}

/// How fine all grids of a trace are.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Resolution {
    width_ns: i64,
    bins: usize,
    blamed: usize,
}

impl Default for Resolution {
    fn default() -> Self {
        Self { width_ns: WIDTH_NS as i64, bins: 0, blamed: 0 }
    }
}

impl Resolution {
    pub(in super::super) fn width_ns(&self) -> i64 {
        self.width_ns
    }

    /// At least as coarse as that of another part of the same trace: the whole is no finer.
    pub(in super::super) fn at_least(width_ns: i64) -> Self {
        Self { width_ns: width_ns.max(WIDTH_NS as i64), ..Self::default() }
    }

    /// Whether the bins hold too much; then all grids are to be widened.
    pub(in super::super) fn is_too_fine(&self) -> bool {
        let is_full = self.bins > MOST || self.blamed > MOST_BLAMED;
        is_full && self.width_ns < WIDEST_NS
    }

    /// The next one, with nothing in it yet.
    pub(in super::super) fn widened(self) -> Self {
        Self { width_ns: self.width_ns.saturating_mul(2), ..Self::default() }
    }

    pub(in super::super) fn is_finer_than(&self, other: &Self) -> bool {
        self.width_ns < other.width_ns
    }

    pub(super) fn count(&mut self, grid: &Grid) {
        self.bins += grid.bins.len();
        self.blamed += grid.bins.iter().map(|(_, bin)| bin.blamed.len()).sum::<usize>();
    }
}

impl Grid {
    /// Whether anything was written or flushed.
    pub(super) fn is_written(&self) -> bool {
        self.bins.iter().any(|(_, bin)| bin.requests > 0)
    }

    /// Adds a write or flush.
    #[inline]
    pub(super) fn write(
        &mut self,
        row: &Request,
        taken: &Taken,
        arrival_ns: i64,
        resolution: &mut Resolution,
    ) {
        let bin = self.at(arrival_ns, resolution);
        let before = bin.blamed.len();
        bin.write(row, taken, arrival_ns);
        resolution.blamed += bin.blamed.len() - before;
    }

    /// The bin of an arrival.
    #[inline]
    pub(super) fn at(&mut self, arrival_ns: i64, resolution: &mut Resolution) -> &mut Bin {
        let is_last = self.last_ns.contains(&arrival_ns);
        if is_last && !self.bins.is_empty() {
            let last = self.bins.len() - 1;
            return &mut self.bins[last].1;
        }
        let width_ns = resolution.width_ns;
        let number = arrival_ns.div_euclid(width_ns);
        if self.bins.last().is_none_or(|(last, _)| *last <= number) {
            let start_ns = number.saturating_mul(width_ns);
            self.last_ns = start_ns..start_ns.saturating_add(width_ns);
        }
        self.bin(number, resolution)
    }

    fn bin(&mut self, number: i64, resolution: &mut Resolution) -> &mut Bin {
        // Rows are in order, nearly always.
        let after = self.bins.last().map_or(Ordering::Greater, |(last, _)| number.cmp(last));
        let search = || self.bins.binary_search_by_key(&number, |(number, _)| *number);
        let place = match after {
            Ordering::Equal => Ok(self.bins.len() - 1),
            Ordering::Greater => Err(self.bins.len()),
            Ordering::Less => search(),
        };
        let place = place.unwrap_or_else(|place| {
            resolution.bins += 1;
            self.bins.insert(place, (number, Bin::default()));
            place
        });
        &mut self.bins[place].1
    }

    /// Puts neighbours together.
    pub(super) fn widen(&mut self) {
        let mut wide: Vec<(i64, Bin)> = Vec::with_capacity(self.bins.len() / 2 + 1);
        for (number, bin) in self.bins.drain(..) {
            let number = number.div_euclid(2);
            match wide.last_mut() {
                Some((last, merged)) if *last == number => merged.merge(&bin),
                _ => wide.push((number, bin)),
            }
        }
        (self.bins, self.last_ns) = (wide, 0..0);
    }

    /// Adds another part's grid of the same width; `process` is the place here of each of its
    /// processes.
    pub(super) fn merge(
        &mut self,
        other: Self,
        process: &[ProcessId],
        resolution: &mut Resolution,
    ) {
        self.last_ns = 0..0;
        let place = |theirs: ProcessId| process.get(theirs as usize).copied().unwrap_or_default();
        for (number, bin) in other.bins {
            let bin = bin.renumbered(place);
            // A part that follows has nearly all of its bins to itself.
            if self.bins.last().is_none_or(|(last, _)| *last < number) {
                resolution.bins += 1;
                resolution.blamed += bin.blamed.len();
                self.bins.push((number, bin));
                continue;
            }
            let own = self.bin(number, resolution);
            let before = own.blamed.len();
            own.merge(&bin);
            resolution.blamed += own.blamed.len() - before;
        }
    }
}
