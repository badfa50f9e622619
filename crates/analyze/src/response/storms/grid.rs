//! A device's trace on a grid of time: of each bin that holds something, what was written, by whom, and the reads that
//! found writes or flushes outstanding. All devices have the same width of a bin, which doubles, neighbours being put
//! together, whenever there are more than [`MOST`] of them: which bin something is in depends on the whole and not on
//! the order.

use super::super::outstanding::{Found, Kind};
use super::super::processes::ProcessId;
use crate::traffic::Times;
use model::histogram::CoarseHistogram;
use model::record::{Flags, Op, Request};

/// Bins of all devices together.
const MOST: usize = 1 << 16;
/// What a bin begins with.
const WIDTH_NS: u64 = 1_000_000;
/// Processes that are told apart in a bin.
const MOST_BLAMED: usize = 8;

/// The reads that found writes or flushes outstanding.
#[derive(Debug, Clone, Default)]
pub(super) struct Behind {
    pub(super) response: CoarseHistogram,
    pub(super) wait_ns: i128,
    /// Reads whose wait is told, and what they took.
    pub(super) waits: u64,
    pub(super) waits_response_ns: i128,
}

impl Behind {
    #[inline]
    pub(super) fn add(&mut self, times: &Times) {
        if let Some(response_ns) = times.response_ns {
            self.response.record(response_ns);
            if let Some(wait_ns) = times.wait_ns {
                self.wait_ns += i128::from(wait_ns);
                self.waits += 1;
                self.waits_response_ns += i128::from(response_ns);
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

/// What a bin holds.
#[derive(Debug, Clone, Default)]
pub(super) struct Bin {
    pub(super) writes: u64,
    /// Also writes that ask for one.
    pub(super) flushes: u64,
    pub(super) bytes: u64,
    /// Outstanding at once, of all kinds, with the writes that arrived here.
    pub(super) depth_max: u64,
    /// The first arrival of a write or flush, and the last answer to one that arrived here.
    pub(super) first_ns: Option<i64>,
    pub(super) end_ns: Option<i64>,
    /// Writes and flushes by who asked for them.
    pub(super) blamed: Vec<(ProcessId, u64)>,
    pub(super) behind: Behind,
}

impl Bin {
    fn write(&mut self, row: &Request, arrival_ns: i64, depth: u64, process: ProcessId) {
        self.writes += u64::from(row.op != Op::Flush);
        self.flushes += u64::from(is_flush(row));
        self.bytes += u64::from(row.length_bytes);
        self.depth_max = self.depth_max.max(depth);
        self.first_ns = Some(self.first_ns.map_or(arrival_ns, |first| first.min(arrival_ns)));
        let end_ns = row.completed_ns.unwrap_or(arrival_ns);
        self.end_ns = Some(self.end_ns.map_or(end_ns, |end| end.max(end_ns)));
        self.blame(process, 1);
    }

    fn blame(&mut self, process: ProcessId, count: u64) {
        if let Some((_, counted)) = self.blamed.iter_mut().find(|(known, _)| *known == process) {
            *counted += count;
        } else if self.blamed.len() < MOST_BLAMED {
            // Whoever comes after these asked for little, or many did.
            self.blamed.push((process, count));
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.writes += other.writes;
        self.flushes += other.flushes;
        self.bytes += other.bytes;
        self.depth_max = self.depth_max.max(other.depth_max);
        self.first_ns = self.first_ns.into_iter().chain(other.first_ns).min();
        self.end_ns = self.end_ns.max(other.end_ns);
        other.blamed.iter().for_each(|(process, count)| self.blame(*process, *count));
        self.behind.merge(&other.behind);
    }
}

/// A row that makes what was written durable, alone or with its own data.
fn is_flush(row: &Request) -> bool {
    row.op == Op::Flush || row.flags.contains(Flags::PREFLUSH)
}

/// The bins of a device that hold something, in order, by their numbers.
#[derive(Debug, Default)]
pub(in super::super) struct Grid {
    pub(super) bins: Vec<(i64, Bin)>,
}

/// How fine all grids of a trace are.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Resolution {
    pub(super) width_ns: i64,
    bins: usize,
}

impl Default for Resolution {
    fn default() -> Self {
        Self { width_ns: WIDTH_NS as i64, bins: 0 }
    }
}

impl Resolution {
    /// Whether there are too many bins; then all grids are to be widened.
    pub(in super::super) fn is_too_fine(&self) -> bool {
        self.bins > MOST
    }

    /// The next one, of so many bins.
    pub(in super::super) fn widened(self) -> Self {
        Self { width_ns: self.width_ns.saturating_mul(2), bins: 0 }
    }

    pub(in super::super) fn is_finer_than(&self, other: &Self) -> bool {
        self.width_ns < other.width_ns
    }

    pub(in super::super) fn count(&mut self, grid: &Grid) {
        self.bins += grid.bins.len();
    }
}

impl Grid {
    /// Adds a row that was asked for and what it found.
    #[inline]
    pub(in super::super) fn add(
        &mut self,
        row: &Request,
        times: &Times,
        arrival_ns: i64,
        found: &Found,
        process: ProcessId,
        resolution: &mut Resolution,
    ) {
        let is_behind = row.op == Op::Read && found.writes + found.flushes > 0;
        let is_write = Kind::of(row) != Kind::Other;
        if !is_behind && !is_write {
            return;
        }
        let bin = self.bin(arrival_ns.div_euclid(resolution.width_ns), resolution);
        if is_behind {
            bin.behind.add(times);
        } else {
            bin.write(row, arrival_ns, found.all + 1, process);
        }
    }

    fn bin(&mut self, number: i64, resolution: &mut Resolution) -> &mut Bin {
        let is_last = self.bins.last().is_some_and(|(last, _)| *last == number);
        let place = match is_last {
            true => self.bins.len() - 1,
            // Rows are in order, nearly always: the search ends at once.
            false => match self.bins.binary_search_by_key(&number, |(number, _)| *number) {
                Ok(place) => place,
                Err(place) => {
                    resolution.bins += 1;
                    self.bins.insert(place, (number, Bin::default()));
                    place
                }
            },
        };
        &mut self.bins[place].1
    }

    /// Puts neighbours together.
    pub(in super::super) fn widen(&mut self) {
        let mut wide: Vec<(i64, Bin)> = Vec::with_capacity(self.bins.len() / 2 + 1);
        for (number, bin) in self.bins.drain(..) {
            let number = number.div_euclid(2);
            match wide.last_mut() {
                Some((last, merged)) if *last == number => merged.merge(&bin),
                _ => wide.push((number, bin)),
            }
        }
        self.bins = wide;
    }

    /// Adds another part's grid of the same width; `process` is the place here of each of its processes.
    pub(in super::super) fn merge(
        &mut self,
        other: Self,
        process: &[ProcessId],
        resolution: &mut Resolution,
    ) {
        for (number, mut bin) in other.bins {
            for (blamed, _) in &mut bin.blamed {
                *blamed = process.get(*blamed as usize).copied().unwrap_or_default();
            }
            self.bin(number, resolution).merge(&bin);
        }
    }
}
