//! Cylinders with tracks of one length: which sector a block of theirs has, around slipped defects
//! and spare sectors.
//!
//! Positions count a zone's sectors, spare and bad ones included, from its first track's first.

/// Where the spare sectors are that defects slip blocks into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sparing {
    /// Whole tracks at the end of the zone; slips and spares count tracks.
    Tracks,
    /// At the end of each track.
    Track,
    /// At the end of each cylinder.
    Cylinder,
    /// At the end of each range of so many cylinders.
    Range(u32),
    /// At the end of the zone, or of the drive.
    Zone,
}

impl Sparing {
    /// Whether a slip moves the skew of what comes behind it too.
    fn moves_skew(self) -> bool {
        matches!(self, Self::Track | Self::Cylinder)
    }
}

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
    /// Its blocks.
    pub blocks: u64,
    pub(super) first_block: u64,
    /// The angle of its first sector, in sectors.
    pub(super) first_angle_sectors: f64,
    /// Sectors at its front that hold no block.
    pub(super) empty_front: u64,
    /// Sectors of the unit that has its own spares.
    pub(super) unit_sectors: u64,
    /// Good places of such a unit.
    pub(super) unit_blocks: u64,
    /// Positions of its defects, ascending; for spare tracks, the tracks' numbers.
    pub(super) slips: Vec<u64>,
    /// Sectors that one slip passes over.
    pub(super) slip_sectors: u64,
    pub(super) sparing: Sparing,
}

/// A block's position in its zone, and the blocks (of the zone) around it with positions one behind
/// the other on its track.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PhysicalPosition {
    pub(super) position: u64,
    pub(super) first: u64,
    pub(super) end: u64,
    /// No defect is on the track, so that these are all of its blocks.
    pub(super) is_track: bool,
}

impl Zone {
    /// Where a block of this zone lies, counted from its first.
    #[inline]
    pub(super) fn place(&self, block: u64) -> PhysicalPosition {
        let counted = block + self.empty_front;
        let (unit, offset) = match self.unit_blocks > counted {
            true => (0, counted),
            false => (counted / self.unit_blocks, counted % self.unit_blocks),
        };
        let unit_begin = unit * self.unit_sectors;
        let first_slip = self.slips_before(unit_begin);
        let slips = self.slips.get(first_slip..).unwrap_or_default();
        let wanted = (unit_begin + offset) / self.slip_sectors;
        let slipped = slipped_by(slips, wanted);
        let position = unit_begin + offset + slipped as u64 * self.slip_sectors;
        let track_begin = position - position % u64::from(self.sectors);
        let track_end = track_begin + u64::from(self.sectors);
        let (mut low, mut high) = (track_begin, track_end);
        if self.slip_sectors == 1 {
            let before = slipped.checked_sub(1).and_then(|index| slips.get(index));
            low = before.map_or(low, |slip| low.max(slip + 1));
            high = slips.get(slipped).map_or(high, |slip| high.min(*slip));
        }
        // A run ends where its unit's good places do, and begins behind the empty front.
        let unit_first = (unit * self.unit_blocks).saturating_sub(self.empty_front);
        let unit_end = ((unit + 1) * self.unit_blocks - self.empty_front).min(self.blocks);
        PhysicalPosition {
            position,
            first: block - (position - low).min(block - unit_first),
            end: (block + (high - position)).min(unit_end),
            is_track: (low, high) == (track_begin, track_end),
        }
    }

    /// How many of its blocks lie before a position.
    pub(super) fn blocks_before(&self, position: u64) -> u64 {
        // Most often the whole zone is one unit: that costs no division.
        let (unit, offset) = match self.unit_sectors > position {
            true => (0, position),
            false => (position / self.unit_sectors, position % self.unit_sectors),
        };
        let slipped = self.slips_before(position) - self.slips_before(position - offset);
        let good = offset.saturating_sub(slipped as u64 * self.slip_sectors).min(self.unit_blocks);
        (unit * self.unit_blocks + good).saturating_sub(self.empty_front).min(self.blocks)
    }

    /// Slips before a position.
    fn slips_before(&self, position: u64) -> usize {
        if self.slips.is_empty() || position == 0 {
            return 0;
        }
        let at = position.div_ceil(self.slip_sectors);
        self.slips.partition_point(|slip| *slip < at)
    }

    /// Slips that moved the skew before a track.
    pub(super) fn slipped_before(&self, track: u64, heads: u32) -> usize {
        if !self.sparing.moves_skew() || self.slips.is_empty() {
            return 0;
        }
        let track = match self.sparing {
            Sparing::Cylinder => track - track % u64::from(heads),
            _ => track,
        };
        self.slips_before(track * u64::from(self.sectors))
    }
}

/// How many of the ascending slips a block passes over that would lie at `wanted` without them: the
/// k-th (from 0) if it is at `wanted + k` or before.
fn slipped_by(slips: &[u64], wanted: u64) -> usize {
    let (mut low, mut high) = (0, slips.len());
    while low < high {
        let middle = usize::midpoint(low, high);
        if slips[middle] <= wanted + middle as u64 {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}
