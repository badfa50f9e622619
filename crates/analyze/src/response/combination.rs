//! What requests have in common in several ways at once: device, operation, origin and size. A row
//! is added to its combination; what is asked of one of the four, or of all, is merged from them.

use super::classes::{ORIGIN_FLAGS, size};
use model::record::{Flags, Op, Request};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Combination {
    pub(super) device: u32,
    pub(super) op: Op,
    /// Those that tell the origin.
    pub(super) flags: Flags,
    pub(super) size: u8,
}

impl Combination {
    #[inline(always)]
    pub(super) fn of(row: &Request) -> Self {
        let flags = Flags(row.flags.0 & ORIGIN_FLAGS);
        Self { device: row.device, op: row.op, flags, size: size(row.length_bytes) }
    }
}
