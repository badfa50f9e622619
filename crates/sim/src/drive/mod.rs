//! Rotating drives: where a block lies, how long the arm and the platter take to it, and what the
//! drive's electronics make of a request.
//!
//! Times within a drive are `f64` nanoseconds; angles are shares of a revolution. A drive of
//! another kind is a file, and a row of [`KINDS`].

mod cache;
pub mod layout;
pub mod mechanics;
mod reading;
mod rules;
pub mod seek;
mod serve;
pub mod speed_matching;
mod writing;

pub use layout::{Layout, Run, Sparing, Spot, Zone};
pub use mechanics::{Arm, Mechanics};
pub use rules::{After, BusTimes, CacheRules, ExtraDisconnect, Overheads, ReadAhead};
pub use seek::SeekCurve;
pub use serve::{CachedDrive, PastEnd};
pub use speed_matching::SpeedMatching;

use crate::bus::Bus;
use crate::profile::{ProfileError, Reader};

/// What a drive gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// The first block, in sectors of the drive.
    pub block: u64,
    /// How many; none moves nothing.
    pub blocks: u64,
    /// Whether it writes.
    pub is_write: bool,
}

impl Access {
    /// The block behind it.
    fn end(&self) -> u64 {
        self.block + self.blocks
    }
}

/// A drive that serves one request after another, and has its data moved over a bus.
pub trait Drive: std::fmt::Debug + Send {
    /// Where its blocks lie.
    fn layout(&self) -> &Layout;

    /// Serves a request that is given to it at a moment; returns when it is completed, ns.
    fn serve(&mut self, given_ns: f64, access: Access, bus: &mut Bus) -> f64;

    /// Another one, as new.
    fn fresh(&self) -> Box<dyn Drive>;
}

type Kind = fn(&Reader) -> Result<Box<dyn Drive>, ProfileError>;

/// The kinds by the words of the profiles' `buffer.kind`.
const KINDS: &[(&str, Kind)] =
    &[("speed-matching", |reader| Ok(Box::new(SpeedMatching::read(reader)?)))];

/// The drive of a profile, by its `buffer.kind`; one with a cache of segments where it names none.
pub fn read(reader: &Reader) -> Result<Box<dyn Drive>, ProfileError> {
    let buffer = reader.below("buffer");
    if buffer.has("kind") {
        return buffer.one_of("kind", KINDS)?(reader);
    }
    Ok(Box::new(CachedDrive::read(reader)?))
}
