//! Where a block lies: its cylinder, its head, and the angle at which it begins.
//!
//! Cylinders are in *zones* of one track length each. A track begins later than the one before it
//! by the track skew, and by the cylinder skew where it is the first of its cylinder, so that
//! switching loses no revolution. Blocks are numbered around defects, which *slip* them to the next
//! sector, into *spare* sectors that each unit of space (a track, a cylinder, a range of cylinders,
//! a zone) has at its end; or a defect's block is *remapped* to another place.
//!
//! Source: the layout `dm_layout_g1` of DiskSim 4.0 (Bucy, Schindler, Schlosser & Ganger 2008,
//! CMU-PDL-08-101), for which the parameters of many drives were extracted. Written anew; one
//! difference: a slipped sector takes its time when it passes.

mod read;
mod zone;

use super::Capacity;
use super::mechanics::fraction;
use std::cell::Cell;
use zone::PhysicalPosition;
pub use zone::{Sparing, Zone};

/// Where a block lies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spot {
    /// Its cylinder.
    pub cylinder: u32,
    /// Its head.
    pub head: u32,
    /// Its place on the track.
    pub sector: u32,
    /// The angle at which it begins, as a share of a revolution.
    pub angle: f64,
    /// The share of a revolution that a sector takes there.
    pub sector_angle: f64,
    /// Blocks from here to the end of the track (or to a defect), this one included.
    pub left_on_track: u32,
}

/// Blocks that lie one behind the other on one track, as many as there are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Run {
    /// The first of them.
    pub first: u64,
    /// The one after the last.
    pub end: u64,
    /// Their cylinder.
    pub cylinder: u32,
    /// Their head.
    pub head: u32,
    /// The first one's place on the track.
    pub sector: u32,
    /// The angle at which the first begins, as a share of a revolution.
    pub angle: f64,
    /// The share of a revolution that a sector takes.
    pub sector_angle: f64,
    /// No defect is on the track, so that these are all of its blocks.
    is_track: bool,
}

impl Run {
    /// The angle at which one of its blocks begins, as a share of a revolution; it may be above
    /// one.
    #[inline]
    pub fn angle_of(&self, block: u64) -> f64 {
        self.angle + real(block - self.first) * self.sector_angle
    }
}

/// A number of sectors or tracks, of which there are never so many that the sign matters: as an
/// `i64` it takes one instruction.
#[inline(always)]
pub(super) fn real(count: u64) -> f64 {
    count as i64 as f64
}

/// The run that was found last, of which the next question often is, too. It makes no difference
/// between layouts.
#[derive(Debug, Clone, Default)]
struct Latest(Cell<Option<Run>>);

impl PartialEq for Latest {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// A block whose sector is bad, and where it went.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Remapped {
    block: u64,
    zone: usize,
    position: u64,
}

/// A drive's blocks in their places.
#[derive(Debug, Clone, PartialEq)]
pub struct Layout {
    zones: Vec<Zone>,
    /// By their numbers.
    remapped: Vec<Remapped>,
    heads: u32,
    is_serpentine: bool,
    latest: Latest,
    /// Bytes of a sector.
    pub sector_bytes: u32,
    /// Blocks in all.
    pub blocks: u64,
    /// Cylinders in all.
    pub cylinders: u32,
}

impl Layout {
    /// Heads, which are tracks of a cylinder.
    pub fn heads(&self) -> u32 {
        self.heads
    }

    /// What it holds.
    pub fn capacity(&self) -> Capacity {
        Capacity { sector_bytes: self.sector_bytes, blocks: self.blocks }
    }

    /// Its zones, outermost first.
    pub fn zones(&self) -> &[Zone] {
        &self.zones
    }

    /// Where a block lies; past the end, where the last does.
    #[inline]
    pub fn spot(&self, block: u64) -> Spot {
        let block = block.min(self.blocks.saturating_sub(1));
        let run = self.run(block);
        Spot {
            cylinder: run.cylinder,
            head: run.head,
            sector: run.sector + (block - run.first) as u32,
            angle: fraction(run.angle_of(block)),
            sector_angle: run.sector_angle,
            left_on_track: (run.end - block) as u32,
        }
    }

    /// The blocks around one that lie one behind the other on its track; past the end, those around
    /// the last.
    #[inline]
    pub fn run(&self, block: u64) -> Run {
        let block = block.min(self.blocks.saturating_sub(1));
        match self.latest.0.get() {
            Some(run) if run.first <= block && block < run.end => run,
            _ => {
                let run = self.found(block);
                self.latest.0.set(Some(run));
                run
            }
        }
    }

    fn found(&self, block: u64) -> Run {
        let zone = self.zone_of(block);
        let place = zone.place(block - zone.first_block);
        let (first, end) = (zone.first_block + place.first, zone.first_block + place.end);
        let begin = place.position - (block - first);
        let run = self.run_at(zone, PhysicalPosition { position: begin, ..place }, first, end);
        if self.remapped.is_empty() { run } else { self.around_remapped(run, block) }
    }

    /// The cylinder of a block; past the end, that of the last.
    #[inline]
    pub fn cylinder(&self, block: u64) -> u32 {
        self.run(block).cylinder
    }

    fn zone_of(&self, block: u64) -> &Zone {
        let index = self.zones.partition_point(|zone| zone.first_block <= block).max(1) - 1;
        &self.zones[index]
    }

    fn run_at(&self, zone: &Zone, place: PhysicalPosition, first: u64, end: u64) -> Run {
        let sectors = u64::from(zone.sectors);
        let (track, sector) = (place.position / sectors, place.position % sectors);
        let cylinder = track / u64::from(self.heads);
        // The heads as they are used; skews add up in this order.
        let turn = track % u64::from(self.heads);
        let head = match self.is_serpentine && cylinder % 2 == 1 {
            true => u64::from(self.heads) - 1 - turn,
            false => turn,
        };
        let switches = turn + u64::from(self.heads - 1) * cylinder;
        let skew = zone.first_angle_sectors
            + real(switches) * zone.track_skew
            + real(cylinder) * zone.cylinder_skew
            + zone.slipped_before(track, self.heads) as f64;
        let sector_angle = 1.0 / f64::from(zone.sectors);
        Run {
            first,
            end,
            cylinder: zone.first_cylinder + cylinder as u32,
            head: head as u32,
            sector: sector as u32,
            angle: fraction((real(sector) + skew) * sector_angle),
            sector_angle,
            is_track: place.is_track,
        }
    }

    /// A remapped block is a run of its own, and ends the one that it is missing from.
    fn around_remapped(&self, run: Run, block: u64) -> Run {
        let after = self.remapped.partition_point(|remapped| remapped.block < block);
        if let Some(own) = self.remapped.get(after).filter(|own| own.block == block) {
            let zone = &self.zones[own.zone];
            let place =
                PhysicalPosition { position: own.position, first: 0, end: 1, is_track: false };
            return self.run_at(zone, place, block, block + 1);
        }
        let first = after.checked_sub(1).map_or(0, |before| self.remapped[before].block + 1);
        let end = self.remapped.get(after).map_or(run.end, |next| next.block);
        let first = first.max(run.first);
        let skipped = first - run.first;
        Run {
            first,
            end: end.min(run.end),
            sector: run.sector + skipped as u32,
            angle: fraction(run.angle_of(first)),
            is_track: false,
            ..run
        }
    }

    /// The sectors of a block's track.
    pub fn track_sectors(&self, block: u64) -> u32 {
        self.zone_of(block.min(self.blocks.saturating_sub(1))).sectors
    }

    /// The first block of a block's track, and the one after its last.
    pub fn track(&self, block: u64) -> (u64, u64) {
        let run = self.run(block);
        if run.is_track {
            return (run.first, run.end);
        }
        let block = block.min(self.blocks.saturating_sub(1));
        let zone = self.zone_of(block);
        let place = zone.place(block - zone.first_block);
        let track = place.position / u64::from(zone.sectors);
        let bound =
            |track: u64| zone.first_block + zone.blocks_before(track * u64::from(zone.sectors));
        (bound(track), bound(track + 1))
    }
}

#[cfg(test)]
mod tests;
