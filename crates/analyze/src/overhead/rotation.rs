//! Rotating media: revolutions missed and sectors transferred a revolution
//! (Bucher & Hayes 1980, eq. 3-7).
//!
//! A cylinder of ten tracks takes eleven revolutions, for one is missed at its end. With
//! S sectors a revolution, and M revolutions missed by each call of B sectors:
//! N_B = 1.1 B/S + M. This is a line over the block size, so that S and M are read from
//! the slope and the intercept of a line of wall times.
//!
//! Non-goals: seeks, zones of different density.

use super::line::Line;
use super::quantity::Quantity;

const SECOND_NS: f64 = 1e9;

/// What is known of a rotating drive beforehand.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drive {
    /// Size of a sector, bytes.
    pub sector_bytes: f64,
    /// Time of a revolution, ns.
    pub revolution_ns: f64,
    /// Tracks that pass before a revolution is missed.
    pub tracks_per_cylinder: f64,
}

impl Drive {
    /// The paper's drive on the Cray-1: sectors of 512 words of eight bytes, 60 revolutions
    /// a second, ten tracks a cylinder.
    pub const CRAY_1: Self = Self {
        sector_bytes: 512.0 * 8.0,
        revolution_ns: SECOND_NS / 60.0,
        tracks_per_cylinder: 10.0,
    };

    /// The paper's 819 on the CDC 7600: as above, but a word is 60 bits.
    pub const CDC_7600: Self = Self { sector_bytes: 512.0 * 7.5, ..Self::CRAY_1 };

    /// Revolutions a revolution's worth of sectors takes in the long run: the paper's 1.1.
    fn stretch(&self) -> f64 {
        1.0 + 1.0 / self.tracks_per_cylinder
    }

    /// Revolutions of one call, N_B (eq. 5).
    pub fn revolutions_per_call(
        &self,
        sectors_per_revolution: f64,
        missed_revolutions_per_call: f64,
        sectors_per_call: f64,
    ) -> f64 {
        self.stretch() * sectors_per_call / sectors_per_revolution + missed_revolutions_per_call
    }

    /// Rate of transfer, sectors a second (eq. 7).
    pub fn rate_sectors_per_s(
        &self,
        sectors_per_revolution: f64,
        missed_revolutions_per_call: f64,
        sectors_per_call: f64,
    ) -> f64 {
        let revolutions = self.revolutions_per_call(
            sectors_per_revolution,
            missed_revolutions_per_call,
            sectors_per_call,
        );
        sectors_per_call / (revolutions * self.revolution_ns) * SECOND_NS
    }

    /// The greatest rate, sectors a second: no revolution missed but at the end of
    /// cylinders (eq. 3 and 4).
    pub fn greatest_rate_sectors_per_s(&self, sectors_per_revolution: f64) -> f64 {
        self.rate_sectors_per_s(sectors_per_revolution, 0.0, sectors_per_revolution)
    }

    /// What a line of wall times says of the drive.
    pub fn rotation(&self, line: &Line) -> Rotation {
        let sectors_ns = self.stretch() * self.revolution_ns / self.sector_bytes;
        Rotation {
            sectors_per_revolution: line.over_slope(sectors_ns),
            missed_revolutions_per_call: line.intercept_ns().scaled(1.0 / self.revolution_ns),
        }
    }
}

/// A line of wall times, read as revolutions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rotation {
    /// S: sectors transferred a revolution; none if a sector's time is not
    /// distinguishable from zero.
    pub sectors_per_revolution: Option<Quantity>,
    /// M: revolutions missed by each call.
    pub missed_revolutions_per_call: Quantity,
}
