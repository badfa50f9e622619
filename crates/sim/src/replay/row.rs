//! What a row of a trace asks of a drive.
//!
//! What was requested is served: of a flush sequence its own row, and not its parts, which the
//! kernel made for a drive of other abilities. A write that asks for a flush first is a flush, and
//! then a write.

use super::outcome::ReplayError;
use crate::drive::{Access, Capacity, Operation};
use model::record::{Flags, Op, Request};

/// Rows as a replay takes them, one by one in a place of its own.
pub fn each(rows: impl IntoIterator<Item = Request>) -> impl FnMut(&mut Request) -> bool {
    let mut rows = rows.into_iter();
    move |place| rows.next().map(|row| *place = row).is_some()
}

/// Whether a drive has something to do with a row: a read or a write of a place and a length, or a
/// flush, if it has a beginning and is no part of another row.
pub fn is_served(row: &Request) -> bool {
    let is_whole = match row.op {
        Op::Read | Op::Write => row.offset_bytes.is_some() && row.length_bytes > 0,
        Op::Flush => true,
        Op::Discard | Op::Other => false,
    };
    is_whole && row.parent_id.is_none() && !row.is_orphan()
}

/// What a row that [`is_served`] asks of a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Accesses {
    /// What was written before is to be durable before the rest begins.
    pub(super) flushes_first: bool,
    /// The rest.
    pub(super) main: Access,
}

impl Accesses {
    #[inline]
    pub(super) fn of(row: &Request, capacity: Capacity) -> Self {
        let operation = match row.op {
            Op::Flush => return Self { flushes_first: false, main: Access::FLUSH },
            Op::Write => Operation::Write { fua: row.flags.contains(Flags::FUA) },
            _ => Operation::Read,
        };
        let block_bytes = u64::from(capacity.sector_bytes);
        let block = row.offset_bytes.unwrap_or(0) / block_bytes;
        let blocks = end_bytes(row).div_ceil(block_bytes) - block;
        let flushes_first = row.op == Op::Write && row.flags.contains(Flags::PREFLUSH);
        Self { flushes_first, main: Access { block, blocks, operation } }
    }

    /// One after the other.
    pub(super) fn in_order(self) -> impl Iterator<Item = Access> {
        self.flushes_first.then_some(Access::FLUSH).into_iter().chain([self.main])
    }
}

/// Refuses a row that ends past its drive.
pub(super) fn check(row: &Request, capacity: Capacity) -> Result<(), ReplayError> {
    let drive_bytes = capacity.bytes();
    let (request_id, device, end_bytes) = (row.request_id, row.device, end_bytes(row));
    if end_bytes > drive_bytes && row.op != Op::Flush {
        return Err(ReplayError::PastEnd { request_id, device, end_bytes, drive_bytes });
    }
    Ok(())
}

/// Where a row ends, bytes; one that ends beyond all numbers is beyond all drives too.
fn end_bytes(row: &Request) -> u64 {
    row.offset_bytes.unwrap_or(0).saturating_add(u64::from(row.length_bytes))
}
