//! Requests column by column, in the order of their arrival, in 14 bytes each. Times are kept
//! from the beginning of their block of 65,536 rows: to the nanosecond, but in blocks of more than
//! 4.3 s, where they are to a four-billionth of the block.
//!
//! Non-goals: what a class is (`classes`).

use super::scale;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Rows of a block.
pub(super) const BLOCK: usize = 1 << 16;
/// The place of what has none.
pub(super) const NO_PLACE: u32 = u32::MAX;
/// Lengths below this are in sectors; above it in steps of 256 of them.
const LONG: u32 = 1 << 15;
const STEP: u32 = 256;
const SECTOR_BYTES: u32 = 512;

/// Where the times of a block begin, and in which unit they are.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Block {
    pub(super) first_ns: i64,
    pub(super) last_ns: i64,
    /// Nanoseconds of a unit are this power of two.
    pub(super) shift: u8,
}

/// A row before it is kept.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Row {
    pub(super) arrived_ns: i64,
    pub(super) place: u32,
    pub(super) response: u16,
    pub(super) length: u16,
    pub(super) class: u16,
    /// Its number in the file.
    pub(super) number: u32,
}

/// All of them.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Rows {
    pub(super) blocks: Vec<Block>,
    pub(super) times: Vec<u32>,
    pub(super) places: Vec<u32>,
    pub(super) responses: Vec<u16>,
    pub(super) lengths: Vec<u16>,
    pub(super) classes: Vec<u16>,
    /// Numbers in the file, where they are not the places here.
    pub(super) numbers: Option<Vec<u32>>,
}

impl Rows {
    pub(super) fn len(&self) -> usize {
        self.times.len()
    }

    /// Adds the next rows, in their order: a whole block, but for the last ones.
    pub(super) fn push_block(&mut self, rows: &[Row]) {
        let Some((first, last)) = rows.first().zip(rows.last()) else { return };
        let (first_ns, last_ns) = (first.arrived_ns, last.arrived_ns);
        let bits = u64::BITS - last_ns.abs_diff(first_ns).leading_zeros();
        let shift = bits.saturating_sub(u32::BITS) as u8;
        self.blocks.push(Block { first_ns, last_ns, shift });
        let from_first = |row: &Row| (row.arrived_ns.abs_diff(first_ns) >> shift) as u32;
        self.times.extend(rows.iter().map(from_first));
        self.places.extend(rows.iter().map(|row| row.place));
        self.responses.extend(rows.iter().map(|row| row.response));
        self.lengths.extend(rows.iter().map(|row| row.length));
        self.classes.extend(rows.iter().map(|row| row.class));
        if let Some(numbers) = &mut self.numbers {
            numbers.extend(rows.iter().map(|row| row.number));
        }
    }

    /// When a row arrived.
    pub(super) fn arrived_ns(&self, row: usize) -> i64 {
        match (self.blocks.get(row / BLOCK), self.times.get(row)) {
            (Some(block), Some(time)) => {
                block.first_ns.saturating_add_unsigned(u64::from(*time) << block.shift)
            }
            _ => i64::MAX,
        }
    }

    /// The first row that arrived at a moment or later.
    pub(super) fn first_at(&self, moment_ns: i64) -> usize {
        let block = self.blocks.partition_point(|block| block.last_ns < moment_ns);
        first_not_before(self.block(block), |row| self.arrived_ns(row) < moment_ns)
    }

    /// The rows of a block.
    pub(super) fn block(&self, block: usize) -> Range<usize> {
        let start = (block * BLOCK).min(self.len());
        start..(start + BLOCK).min(self.len())
    }

    /// The rows of a time.
    pub(super) fn within(&self, from_ns: i64, until_ns: i64) -> Range<usize> {
        let from = self.first_at(from_ns);
        from..self.first_at(until_ns).max(from)
    }

    /// From the first arrival to behind the last one; none of a trace without rows.
    pub(super) fn span_ns(&self) -> Option<(i64, i64)> {
        let last = self.len().checked_sub(1)?;
        Some((self.arrived_ns(0), self.arrived_ns(last).saturating_add(1)))
    }

    /// Its number in the file.
    pub(super) fn number(&self, row: usize) -> u64 {
        let listed = self.numbers.as_ref().and_then(|numbers| numbers.get(row));
        listed.map_or(row as u64, |number| u64::from(*number))
    }
}

/// The first number of a range that is not before; its end if all are.
fn first_not_before(range: Range<usize>, is_before: impl Fn(usize) -> bool) -> usize {
    let Range { start: mut low, end: mut high } = range;
    while low < high {
        let middle = low + (high - low) / 2;
        match is_before(middle) {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    low
}

/// A length as it is kept: in sectors, and of 16 MiB and more in steps of 128 KiB.
pub(super) fn length(bytes: u32) -> u16 {
    let sectors = bytes.div_ceil(SECTOR_BYTES);
    match sectors < LONG {
        true => sectors as u16,
        false => (LONG + (sectors / STEP).min(LONG - 1)) as u16,
    }
}

/// The sectors of a length as it is kept.
pub(super) fn sectors(length: u16) -> u32 {
    let length = u32::from(length);
    if length < LONG { length } else { (length - LONG) * STEP }
}

/// Bytes of so many sectors.
pub(super) fn bytes(sectors: u64) -> u64 {
    sectors * u64::from(SECTOR_BYTES)
}

/// The response that a row is kept with.
pub(super) fn response(arrived_ns: i64, completed_ns: Option<i64>) -> u16 {
    completed_ns.map_or(scale::NEVER_FINE, |completed_ns| scale::fine(completed_ns - arrived_ns))
}
