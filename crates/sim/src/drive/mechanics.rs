//! Arm and platter: the time from one place to another, and the wait for an angle.

use super::layout::{Layout, Run, Spot};
use super::seek::SeekCurve;
use crate::profile::{ProfileError, Reader};

/// An angle that was passed by less than this share of a revolution (a nanosecond or two) is
/// reached: times are sums.
const REACHED: f64 = 1e-7;

/// What of a number of turns is no whole turn. What `fract` finds, by an instruction in place of a
/// call: no turns are more than an `i64` has room for.
#[inline(always)]
pub(super) fn fraction(turns: f64) -> f64 {
    turns - turns as i64 as f64
}

/// Where the heads stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Arm {
    /// Over which cylinder.
    pub cylinder: u32,
    /// Which head is active.
    pub head: u32,
}

impl Arm {
    /// Over the track of a run.
    pub fn over(run: &Run) -> Self {
        Self { cylinder: run.cylinder, head: run.head }
    }
}

crate::parameters! {
    /// A drive's moving parts.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Mechanics(drive) {
        /// Where its blocks lie.
        pub layout: Layout = Layout::read(&drive.below("layout"));
        /// How long its arm takes.
        pub seek: SeekCurve = SeekCurve::read(&drive.below("seek"), u64::from(layout.cylinders));
        /// Time of a revolution, ns.
        pub revolution_ns: f64 = drive.below("rotation").revolution_ns("speed");
        /// Time to go over to another head of the same cylinder, ns.
        pub head_switch_ns: f64 = drive.below("seek").time_ns_or("head_switch", 0.0);
        /// What a write waits longer than a read for the arm to settle, ns; it can be negative.
        pub write_settle_ns: f64 =
            drive.below("seek").or("write_settle", 0.0, Reader::correction_ns);
    }
}

impl Mechanics {
    /// Refuses a bus on which a sector takes longer than a revolution: the drive, whose next chance
    /// then is over, cannot wait so long.
    pub fn check_bus(&self, bus: &Reader, rate_bytes_per_s: f64) -> Result<(), ProfileError> {
        let sector_ns = f64::from(self.layout.sector_bytes) * 1e9 / rate_bytes_per_s;
        if sector_ns <= self.revolution_ns {
            return Ok(());
        }
        let reason = format!(
            "is slower than the drive can wait: a sector takes {:.1} ms, and a revolution {:.1} ms",
            sector_ns / 1e6,
            self.revolution_ns / 1e6
        );
        Err(bus.error("rate", reason))
    }

    /// Time for the arm to come from one place to another, ns.
    #[inline]
    pub fn position_ns(&self, from: Arm, to: Arm, is_write: bool) -> f64 {
        // The other head is chosen while the arm moves.
        let switch_ns = if from.head != to.head { self.head_switch_ns } else { 0.0 };
        let moved_ns = self.seek.time_ns(from.cylinder.abs_diff(to.cylinder)).max(switch_ns);
        if moved_ns == 0.0 {
            return 0.0;
        }
        (moved_ns + if is_write { self.write_settle_ns } else { 0.0 }).max(0.0)
    }

    /// The angle that is under the heads.
    #[inline]
    pub fn angle_at(&self, now_ns: f64) -> f64 {
        fraction(now_ns / self.revolution_ns)
    }

    /// Time until an angle comes under the heads, ns.
    #[inline]
    pub fn rotate_ns(&self, now_ns: f64, angle: f64) -> f64 {
        let ahead = angle - self.angle_at(now_ns);
        // What is reached at this very moment is reached: rounding must not cost a revolution.
        let ahead = if ahead < -REACHED { ahead + 1.0 } else { ahead.max(0.0) };
        ahead * self.revolution_ns
    }

    /// Time of one sector, where that spot is, ns.
    #[inline]
    pub fn sector_ns(&self, spot: &Spot) -> f64 {
        spot.sector_angle * self.revolution_ns
    }
}
