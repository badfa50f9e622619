//! A drive as a replay sees it: it serves one request after another, and has its data moved over a
//! bus.
//!
//! Here also the kinds that a profile's `buffer.kind` may name; a drive of another kind is a file
//! and a row of the table.

use super::bus::Bus;
use crate::drive::{self, DriveRequest, SpeedMatching};
use crate::profile::{ProfileError, Reader};
use model::record::{Op, Request};

/// Whether a drive has something to do with a row: not with what neither reads nor writes, has no
/// place, no length or no beginning, or is a part of another row.
pub fn is_served(row: &Request) -> bool {
    matches!(row.op, Op::Read | Op::Write)
        && row.parent_id.is_none()
        && row.offset_bytes.is_some()
        && row.length_bytes > 0
        && !row.is_orphan()
}

/// Where a row that [`is_served`] ends, bytes; one that ends beyond all numbers is beyond all
/// drives too.
pub(super) fn end_bytes(row: &Request) -> u64 {
    row.offset_bytes.unwrap_or(0).saturating_add(u64::from(row.length_bytes))
}

/// What is asked of a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// The first block.
    pub block: u64,
    /// How many; at least one.
    pub blocks: u64,
    /// Whether it writes.
    pub is_write: bool,
}

impl Access {
    /// What a row that [`is_served`] asks of a drive with such blocks.
    pub(super) fn of(row: &Request, block_bytes: u32) -> Self {
        let block_bytes = u64::from(block_bytes);
        let block = row.offset_bytes.unwrap_or(0) / block_bytes;
        let blocks = end_bytes(row).div_ceil(block_bytes) - block;
        Self { block, blocks, is_write: row.op == Op::Write }
    }
}

/// A drive that serves requests.
pub trait Drive: std::fmt::Debug {
    /// How many blocks it has.
    fn blocks(&self) -> u64;

    /// Bytes of a block.
    fn block_bytes(&self) -> u32;

    /// The cylinder of a block.
    fn cylinder(&self, block: u64) -> u32;

    /// Serves a request that is given to it at a moment; returns when it is answered, ns.
    fn serve(&mut self, given_ns: f64, access: Access, bus: &mut Bus) -> f64;

    /// Another one, as new.
    fn fresh(&self) -> Box<dyn Drive>;
}

type Kind = fn(&Reader) -> Result<Box<dyn Drive>, ProfileError>;

const KINDS: &[(&str, Kind)] =
    &[("speed-matching", |reader| Ok(Box::new(SpeedMatching::read(reader)?)))];

/// The drive of a profile, by its `buffer.kind`; one with a cache of segments where it names none.
///
/// # Errors
/// An unknown kind; whatever of the drive cannot be.
pub fn read(reader: &Reader) -> Result<Box<dyn Drive>, ProfileError> {
    let buffer = reader.below("buffer");
    if buffer.has("kind") {
        return buffer.one_of("kind", KINDS)?(reader);
    }
    Ok(Box::new(drive::Drive::read(reader)?))
}

/// Its own bus is in its overheads: another one is not used.
impl Drive for drive::Drive {
    fn blocks(&self) -> u64 {
        self.mechanics.layout.blocks
    }

    fn block_bytes(&self) -> u32 {
        self.mechanics.layout.sector_bytes
    }

    fn cylinder(&self, block: u64) -> u32 {
        self.mechanics.layout.cylinder(block)
    }

    fn serve(&mut self, given_ns: f64, access: Access, _: &mut Bus) -> f64 {
        let Access { block, blocks, is_write } = access;
        let blocks = u32::try_from(blocks).unwrap_or(u32::MAX);
        // Whoever replays has looked that it does not end past the drive.
        drive::Drive::serve(self, given_ns, DriveRequest { block, blocks, is_write })
            .unwrap_or(given_ns)
    }

    fn fresh(&self) -> Box<dyn Drive> {
        Box::new(self.clone())
    }
}
