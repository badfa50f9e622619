//! What a calibration measures: classes of requests in a closed loop, and what each pass of one
//! met, on a device or on a model of it.
//!
//! Non-goals: fits.

use crate::histogram::Histogram;
use crate::named::named;
use crate::units::show_size;
use serde::{Deserialize, Serialize};

/// The shares of requests at which a distribution of times is given.
pub const SHARES: [f64; 14] =
    [0.0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975, 0.99, 0.995, 0.999, 1.0];

named! {
    /// The order of places.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Pattern {
        /// Anywhere, evenly.
        Random = "random",
        /// Each where the one before it ended.
        Sequential = "sequential",
    }
}

/// What the requests of a class are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Class {
    /// Their order.
    pub pattern: Pattern,
    /// Per cent of them that read.
    pub read_percent: u32,
    /// Bytes of each.
    pub block_bytes: u64,
    /// So many are outstanding at every moment.
    pub depth: u32,
    /// Each write is followed by a flush, which is what is timed.
    pub flushes: bool,
}

impl Class {
    /// Whether any of them writes.
    pub fn writes(&self) -> bool {
        self.read_percent < 100
    }

    /// `random reads of 4k at depth 16`.
    pub fn name(&self) -> String {
        let pattern = self.pattern.name();
        let what = match self.read_percent {
            _ if self.flushes => "writes with flushes".to_owned(),
            100 => "reads".to_owned(),
            0 => "writes".to_owned(),
            reads => format!("reads and writes ({reads} % reads)"),
        };
        let size = show_size(self.block_bytes);
        format!("{pattern} {what} of {size} at depth {}", self.depth)
    }

    /// Whether the request of that number reads: a fixed mix, without runs of either.
    pub fn reads(&self, mixed: u64) -> bool {
        mixed % 100 < u64::from(self.read_percent)
    }
}

/// A cell of the plan: a class, and what its passes are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// What is done.
    #[serde(flatten)]
    pub class: Class,
    /// Its passes are not used by the fit, but judge it.
    pub is_held_out: bool,
}

/// What one pass of a class met.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Met {
    /// The time in which completions count for the rate, ns.
    pub wall_ns: u64,
    /// Times of reads, ns.
    pub reads: Histogram,
    /// Times of writes, ns; of flushes, where each write has one.
    pub writes: Histogram,
    /// Requests completed in the first half of the counted time, and in the second.
    pub halves: [u64; 2],
}

impl Met {
    /// Requests whose times are known, those that were outstanding at the end included.
    pub fn count(&self) -> u64 {
        self.reads.count() + self.writes.count()
    }

    /// Times of both directions.
    pub fn all(&self) -> Histogram {
        let mut all = self.reads.clone();
        all.merge(&self.writes);
        all
    }

    /// Requests completed a second, within the counted time.
    pub fn rate(&self) -> f64 {
        let [first, second] = self.halves;
        (first + second) as f64 * 1e9 / self.wall_ns.max(1) as f64
    }

    /// Adds another pass of the class.
    pub fn add(&mut self, other: &Self) {
        self.wall_ns += other.wall_ns;
        self.reads.merge(&other.reads);
        self.writes.merge(&other.writes);
        for (own, others) in self.halves.iter_mut().zip(other.halves) {
            *own += others;
        }
    }
}

/// A pass of a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pass {
    /// Which cell.
    pub cell: Cell,
    /// Which round, from 0.
    pub round: u32,
    /// What it met.
    pub met: Met,
    /// Bytes that others moved on the device meanwhile, where its counters tell.
    pub foreign_bytes: Option<u64>,
}

impl Pass {
    /// Its counted time, s; above zero.
    pub fn seconds(&self) -> f64 {
        self.met.wall_ns.max(1) as f64 / 1e9
    }

    /// Bytes that it moved itself.
    pub fn bytes(&self) -> u64 {
        self.met.count() * self.cell.class.block_bytes
    }
}

/// Writes as fast as a device takes them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Burst {
    /// Which round, from 0.
    pub round: u32,
    /// How long nothing was written before it; none: the buffer was empty.
    pub pause_ns: Option<u64>,
    /// Bytes of each write.
    pub block_bytes: u64,
    /// When each was taken, ns from the burst's beginning.
    pub taken_ns: Vec<u64>,
}

/// Cylinders whose tracks hold as many sectors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DiskZone {
    /// Its first.
    pub first_cylinder: u64,
    /// So many.
    pub cylinders: u64,
    /// Of a revolution.
    pub sectors: u64,
    /// Of them, those at each track's end that have no number.
    pub spares: u64,
    /// How far a track's first sector is turned against that of the track before, in sectors:
    /// within a cylinder, and to the next.
    pub skews: [f64; 2],
}

/// A seek.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Seek {
    /// Cylinders.
    pub distance: u64,
    /// It takes so long at the least, ns.
    pub low_ns: f64,
    /// And at the most, ns.
    pub high_ns: f64,
}

/// How far a disk reads on behind what was requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadAhead {
    /// Not at all.
    None,
    /// So many sectors.
    Blocks(u64),
    /// To the end of the track.
    Track,
    /// To the end of the next one.
    NextTrack,
    /// To the end of the cylinder.
    Cylinder,
}

/// What is inside a rotating disk.
#[derive(Debug, Clone, PartialEq)]
pub struct Disk {
    /// Bytes of a sector.
    pub sector_bytes: u64,
    /// Sectors in all.
    pub blocks: u64,
    /// A revolution at the least, as found, and at the most, ns.
    pub turn_ns: [f64; 3],
    /// Tracks of a cylinder; none where they could not be told, and each track is a cylinder.
    pub heads: Option<u64>,
    /// From the outside.
    pub zones: Vec<DiskZone>,
    /// A read's command without arm, platter and sectors, at the least, as found, at the most, ns.
    pub command_ns: [f64; 3],
    /// Going over to the next track of a cylinder, at the least, as found, at the most, ns.
    pub switch_ns: Option<[f64; 3]>,
    /// By distance.
    pub seeks: Vec<Seek>,
    /// The command of a read from the cache, ns; none where it has no cache.
    pub hit_ns: Option<f64>,
    /// A sector's way from the cache, ns.
    pub sector_from_cache_ns: f64,
    /// Places that stay in the cache at once.
    pub segments: u64,
    /// What was read stays there, whatever is read ahead behind it.
    pub keeps: bool,
    /// How far it reads on.
    pub read_ahead: ReadAhead,
}
