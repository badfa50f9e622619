//! Where a block lies: its cylinder, its head, and the angle at which it begins.
//!
//! Cylinders are in *zones* of one track length each. A track begins later than the one before it by the track
//! skew, and by the cylinder skew where it is the first of its cylinder, so that switching loses no revolution.

use crate::profile::{ProfileError, Reader};

/// Cylinders with tracks of one length.
#[derive(Debug, Clone, PartialEq)]
pub struct Zone {
    /// The first of its cylinders.
    pub first_cylinder: u32,
    /// Number of cylinders.
    pub cylinders: u32,
    /// Sectors of a track.
    pub sectors: u32,
    /// How much later the next track of a cylinder begins, in sectors.
    pub track_skew: f64,
    /// How much later the first track of the next cylinder begins, in sectors.
    pub cylinder_skew: f64,
    /// The number of its first block.
    first_block: u64,
}

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
    /// Blocks from here to the end of the track, this one included.
    pub left_on_track: u32,
}

/// A drive's blocks in their places.
#[derive(Debug, Clone, PartialEq)]
pub struct Layout {
    zones: Vec<Zone>,
    heads: u32,
    /// Bytes of a sector.
    pub sector_bytes: u32,
    /// Blocks in all.
    pub blocks: u64,
    /// Cylinders in all.
    pub cylinders: u32,
}

impl Layout {
    /// Reads `heads`, `sector_size`, and either `cylinders`, `sectors_per_track`, `track_skew` and `cylinder_skew`, or
    /// `zones`.
    ///
    /// # Errors
    /// Numbers that cannot be, zones that overlap or leave a gap.
    pub fn read(reader: &Reader) -> Result<Self, ProfileError> {
        let heads = reader.count_in("heads", 1..=1024)? as u32;
        let sector_bytes = reader.size_bytes("sector_size")? as u32;
        let listed = reader.list("zones");
        let mut zones = Vec::new();
        if listed.is_empty() {
            let cylinders = reader.count_in("cylinders", 1..=10_000_000)? as u32;
            zones.push(zone(reader, 0, cylinders)?);
        }
        for reader in &listed {
            let first = reader.count("first_cylinder")? as u32;
            let last = reader.count("last_cylinder")? as u32;
            let expected = zones.last().map_or(0, |z: &Zone| z.first_cylinder + z.cylinders);
            if first != expected || last < first {
                let reason =
                    format!("zones overlap or leave a gap: cylinder {expected} comes next");
                return Err(reader.error("first_cylinder", reason));
            }
            zones.push(zone(reader, first, last - first + 1)?);
        }
        let mut blocks = 0;
        for zone in &mut zones {
            zone.first_block = blocks;
            blocks += u64::from(zone.cylinders) * u64::from(heads) * u64::from(zone.sectors);
        }
        let cylinders = zones.last().map_or(0, |zone| zone.first_cylinder + zone.cylinders);
        Ok(Self { zones, heads, sector_bytes, blocks, cylinders })
    }

    /// Heads, which are tracks of a cylinder.
    pub fn heads(&self) -> u32 {
        self.heads
    }

    /// Where a block lies; past the end, where the last does.
    #[inline]
    pub fn spot(&self, block: u64) -> Spot {
        let block = block.min(self.blocks.saturating_sub(1));
        let index = self.zones.partition_point(|zone| zone.first_block <= block).max(1) - 1;
        let zone = &self.zones[index];
        let within = block - zone.first_block;
        let track = within / u64::from(zone.sectors);
        let sector = (within % u64::from(zone.sectors)) as u32;
        let (cylinder, head) = (track / u64::from(self.heads), track % u64::from(self.heads));
        let per_cylinder = f64::from(self.heads - 1) * zone.track_skew + zone.cylinder_skew;
        let skew = cylinder as f64 * per_cylinder + head as f64 * zone.track_skew;
        let sector_angle = 1.0 / f64::from(zone.sectors);
        Spot {
            cylinder: zone.first_cylinder + cylinder as u32,
            head: head as u32,
            sector,
            angle: ((f64::from(sector) + skew) * sector_angle).fract(),
            sector_angle,
            left_on_track: zone.sectors - sector,
        }
    }
}

fn zone(reader: &Reader, first_cylinder: u32, cylinders: u32) -> Result<Zone, ProfileError> {
    let skew = |key: &str| if reader.has(key) { reader.number(key) } else { Ok(0.0) };
    Ok(Zone {
        first_cylinder,
        cylinders,
        sectors: reader.count_in("sectors_per_track", 1..=100_000)? as u32,
        track_skew: skew("track_skew")?,
        cylinder_skew: skew("cylinder_skew")?,
        first_block: 0,
    })
}
