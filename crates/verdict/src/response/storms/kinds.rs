//! Writes of two kinds, whose storms have different causes: those that nobody waits for (the
//! kernel's own writing back), and all others with the flushes. Each has a grid of its own.

use super::super::outstanding::Kind;
use super::super::processes::ProcessId;
use super::super::taken::Taken;
use super::grid::{Grid, Resolution};
use model::record::{Op, Request};

#[derive(Debug)]
pub(super) struct WriteKind {
    pub(super) name: &'static str,
    of: &'static [Kind],
}

pub(super) const KINDS: [WriteKind; 2] = [
    WriteKind { name: "background writes", of: &[Kind::Background] },
    WriteKind { name: "writes and flushes", of: &[Kind::Write, Kind::Flush] },
];

/// A device's grids, in the order of the kinds.
#[derive(Debug, Default)]
pub(in super::super) struct Grids([Grid; KINDS.len()]);

impl Grids {
    /// Adds a row that was requested at that time.
    #[inline]
    pub(in super::super) fn add(
        &mut self,
        row: &Request,
        taken: &Taken,
        arrival_ns: i64,
        resolution: &mut Resolution,
    ) {
        let is_read = row.op == Op::Read;
        for (write, grid) in KINDS.iter().zip(&mut self.0) {
            if write.of.contains(&taken.kind) {
                grid.write(row, taken, arrival_ns, resolution);
            } else if is_read && write.of.iter().any(|kind| taken.found.of(*kind) > 0) {
                grid.at(arrival_ns, resolution).behind.add(&taken.share);
            }
        }
    }

    /// The kinds that anything was written of, with their grids.
    pub(super) fn written(&self) -> impl Iterator<Item = (&'static WriteKind, &Grid)> {
        KINDS.iter().zip(&self.0).filter(|(_, grid)| grid.is_written())
    }

    /// Puts neighbours together.
    pub(in super::super) fn widen(&mut self, resolution: &mut Resolution) {
        for grid in &mut self.0 {
            grid.widen();
            resolution.count(grid);
        }
    }

    /// Adds another part's grids of the same width; `process` is the place here of each of its
    /// processes.
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
