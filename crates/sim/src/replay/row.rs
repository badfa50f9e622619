//! What a row of a trace asks of a drive.

use super::outcome::ReplayError;
use crate::drive::{Access, Layout};
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

/// What a row that [`is_served`] asks of a drive.
pub(super) fn access(row: &Request, layout: &Layout) -> Access {
    let block_bytes = u64::from(layout.sector_bytes);
    let block = row.offset_bytes.unwrap_or(0) / block_bytes;
    let blocks = end_bytes(row).div_ceil(block_bytes) - block;
    Access { block, blocks, is_write: row.op == Op::Write }
}

/// Refuses a row that ends past its drive.
pub(super) fn check(row: &Request, layout: &Layout) -> Result<(), ReplayError> {
    let drive_bytes = layout.bytes();
    let (request_id, device, end_bytes) = (row.request_id, row.device, end_bytes(row));
    if end_bytes > drive_bytes {
        return Err(ReplayError::PastEnd { request_id, device, end_bytes, drive_bytes });
    }
    Ok(())
}

/// Where a row ends, bytes; one that ends beyond all numbers is beyond all drives too.
fn end_bytes(row: &Request) -> u64 {
    row.offset_bytes.unwrap_or(0).saturating_add(u64::from(row.length_bytes))
}
