//! Writes of two kinds, whose storms have different causes: those that nobody waits for (the kernel's own writing back),
//! and all others with the flushes. Each has a grid of its own.

use super::super::outstanding::{Found, Kind};
use super::super::processes::ProcessId;
use super::grid::{Arrived, Grid, Resolution};
use model::record::Op;

/// A kind of writes.
#[derive(Debug)]
pub(super) struct WriteKind {
    pub(super) name: &'static str,
    is_of: fn(Kind) -> bool,
    /// How many of them a request found outstanding.
    found: fn(&Found) -> u64,
}

pub(super) const KINDS: [WriteKind; 2] = [
    WriteKind {
        name: "background writes",
        is_of: |kind| kind == Kind::Background,
        found: |found| found.background_writes,
    },
    WriteKind {
        name: "writes and flushes",
        is_of: |kind| matches!(kind, Kind::Write | Kind::Flush),
        found: |found| found.writes - found.background_writes + found.flushes,
    },
];

/// A device's grids, in the order of the kinds.
#[derive(Debug, Default)]
pub(in super::super) struct Grids(pub(super) [Grid; KINDS.len()]);

impl Grids {
    /// Adds a row.
    #[inline]
    pub(in super::super) fn add(&mut self, arrived: &Arrived<'_>, resolution: &mut Resolution) {
        let is_read = arrived.row.op == Op::Read;
        if is_read && arrived.found.writes + arrived.found.flushes == 0 {
            return;
        }
        let kind = Kind::of(arrived.row);
        for (of, grid) in KINDS.iter().zip(&mut self.0) {
            if (of.is_of)(kind) {
                grid.write(arrived, resolution);
            } else if is_read && (of.found)(&arrived.found) > 0 {
                grid.read_behind(arrived, resolution);
            }
        }
    }

    /// Puts neighbours together.
    pub(in super::super) fn widen(&mut self, resolution: &mut Resolution) {
        for grid in &mut self.0 {
            grid.widen();
            resolution.count(grid);
        }
    }

    /// Adds another part's grids of the same width; `process` is the place here of each of its processes.
    pub(in super::super) fn merge(
        &mut self,
        other: Self,
        process: &[ProcessId],
        resolution: &mut Resolution,
    ) {
        for (own, theirs) in self.0.iter_mut().zip(other.0) {
            own.merge(theirs, process, resolution);
        }
    }
}
