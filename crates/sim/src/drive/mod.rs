//! Drives. Of rotating ones: where a block lies, how long the arm and the platter take to it, and
//! what the drive's electronics make of a request. Of flash: buffer, channels, dies, mapping.
//!
//! Times within a drive are `f64` nanoseconds; angles are shares of a revolution. A drive of
//! another kind is a file or a folder, and a row of [`KINDS`].

mod cache;
pub mod flash;
pub mod layout;
pub mod mechanics;
mod reading;
mod rules;
pub mod seek;
mod serve;
pub mod speed_matching;
mod virtual_drive;
mod writing;

pub use flash::Flash;
pub use layout::{Layout, Run, Sparing, Spot, Zone};
pub use mechanics::{Arm, Mechanics};
pub use rules::{After, BusTimes, CacheRules, ExtraDisconnect, Overheads, ReadAhead};
pub use seek::SeekCurve;
pub use serve::{CachedDrive, PastEnd};
pub use speed_matching::SpeedMatching;
pub use virtual_drive::{Allowance, Limits, VirtualDrive};

use crate::bus::Bus;
use crate::profile::{ProfileError, Reader};

/// What a request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Data from the drive.
    Read,
    /// Data to the drive.
    Write {
        /// It is completed when it is durable (forced unit access), and not in a buffer alone.
        fua: bool,
    },
    /// All that was completed before becomes durable; it has no blocks.
    Flush,
}

/// What a drive gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// The first block, in sectors of the drive.
    pub block: u64,
    /// How many; none moves nothing.
    pub blocks: u64,
    /// What is done with them.
    pub operation: Operation,
}

impl Access {
    /// A flush.
    pub const FLUSH: Self = Self { block: 0, blocks: 0, operation: Operation::Flush };

    /// A read.
    pub fn read(block: u64, blocks: u64) -> Self {
        Self { block, blocks, operation: Operation::Read }
    }

    /// A write that is completed when the drive says so.
    pub fn write(block: u64, blocks: u64) -> Self {
        Self { block, blocks, operation: Operation::Write { fua: false } }
    }

    /// Whether it writes blocks.
    pub fn is_write(&self) -> bool {
        matches!(self.operation, Operation::Write { .. })
    }

    /// The block behind it.
    fn end(&self) -> u64 {
        self.block + self.blocks
    }
}

crate::parameters! {
    /// How much a drive holds.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub struct Capacity(reader) {
        /// Bytes of a sector.
        pub sector_bytes: u32 =
            reader.size_bytes_in("sector_size", 512..=65_536).map(|bytes| bytes as u32);
        /// Sectors in all.
        pub blocks: u64 = reader.size_bytes("size").map(|bytes| bytes / u64::from(sector_bytes));
    }
}

impl Capacity {
    /// Bytes in all.
    pub fn bytes(&self) -> u64 {
        self.blocks * u64::from(self.sector_bytes)
    }
}

/// A drive that serves requests, and has its data moved over a bus.
pub trait Drive: std::fmt::Debug + Send {
    /// How much it holds.
    fn capacity(&self) -> Capacity;

    /// The cylinder of a block, by which queues sort; 0 where nothing moves.
    fn cylinder(&self, _block: u64) -> u32 {
        0
    }

    /// How many requests it serves at once.
    fn depth(&self) -> usize {
        1
    }

    /// Serves a request that is given to it at a moment, not before the one that was given last;
    /// returns when it is completed, ns. At most [`Self::depth`] are given and not completed; a
    /// later one may be completed first.
    fn serve(&mut self, given_ns: f64, access: Access, bus: &mut Bus) -> f64;

    /// Another one, as new.
    fn fresh(&self) -> Box<dyn Drive>;
}

type Kind = fn(&Reader) -> Result<Box<dyn Drive>, ProfileError>;

const CACHED: Kind = |reader| Ok(Box::new(CachedDrive::read(reader)?));

/// The kinds by the words of the profiles' `design.kind`.
const KINDS: &[(&str, Kind)] = &[
    ("cached", CACHED),
    ("speed-matching", |reader| Ok(Box::new(SpeedMatching::read(reader)?))),
    ("flash", |reader| Ok(Box::new(Flash::read(reader)?))),
    ("virtual", |reader| Ok(Box::new(VirtualDrive::read(reader)?))),
];

/// The drive of a profile, by its `design.kind`; a rotating one with a cache of segments where it
/// names none.
pub fn read(reader: &Reader) -> Result<Box<dyn Drive>, ProfileError> {
    let of_design = |design: &Reader, key: &str| design.one_of(key, KINDS);
    reader.below("design").or("kind", CACHED, of_design)?(reader)
}

/// Refuses a bus for which the drive's platter turns too fast, where it has one.
pub(crate) fn check_bus(drive: &Reader, reader: &Reader, bus: &Bus) -> Result<(), ProfileError> {
    match drive.below("rotation").has_any() {
        true => Mechanics::read(drive)?.check_bus(reader, bus.rate_bytes_per_s),
        false => Ok(()),
    }
}
