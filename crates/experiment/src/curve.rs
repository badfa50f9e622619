//! How much can a device do: latency against rate, as the number of requests outstanding rises, for
//! reads, writes and a mix of both at random places, and for large requests one after the other.
//!
//! Each pass is a closed loop past the page cache with one depth; cells take turns (`rounds`).
//!
//! Non-goals: where the knee is (crate `analyze`), an open loop (`throughput --rate_iops`).

use crate::bench::{Done, Jobs};
use crate::on_file::{Layer, OnFile, layer};
use crate::rounds::{Cells, Turns};
use crate::sequence::mix;
use crate::throughput::add_work;
use crate::throughput::job::{Stream, StreamPlan};
use model::engine::EngineKind;
use model::plan::SystemPlan;
use model::record::subject::{self, Subject as About};
use model::record::{Experiment, Sample};
use model::seam::{JobPlacement, PreparedTarget};
use model::units::show_size;
use model::workload::{Access, Program};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::time::Duration;

/// The plan.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Plan {
    /// What is measured: one system.
    pub systems: Vec<SystemPlan>,
    /// What is done to it.
    pub cells: Vec<Cell>,
    /// Bytes that requests stay within.
    pub size_bytes: u64,
    /// These are all written first: what was never written is read without its medium.
    pub fills: bool,
    /// How often the depths take turns.
    #[serde(flatten)]
    pub turns: Turns,
}

/// Requests with so many outstanding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Cell {
    /// What they do.
    pub rw: Access,
    /// Bytes of each.
    pub bs: u64,
    /// Requests outstanding.
    pub iodepth: u32,
    /// Of a mix, per cent that read.
    pub rwmixread: u8,
}

/// A pass is no shorter than so many times what its outstanding requests took one by one.
const PASS_TIMES: f64 = 8.0;
/// What that makes a pass at the most.
const PASS_NS_MOST: f64 = 1e10;

impl Cell {
    fn name(&self) -> String {
        format!("{} {} × {}", self.rw.name(), show_size(self.bs), self.iodepth)
    }

    fn program(&self, pass_ns: u64) -> Program {
        Program {
            bs: self.bs,
            iodepth: self.iodepth,
            direct: true,
            rwmixread: self.rwmixread,
            ioengine: Some(EngineKind::IoUring),
            runtime: Some(Duration::from_nanos(pass_ns)),
            time_based: true,
            ..Program::new(self.name(), self.rw)
        }
    }
}

/// The scratch file; a device has only itself.
fn file(place: &PreparedTarget) -> &'static str {
    if place.is_device { "" } else { "file.curve" }
}

impl Cells for Plan {
    const KIND: Experiment = Experiment::Curve;
    type Cell = Cell;
    type Job = OnFile<Stream>;
    /// What a request took in the last pass with nothing else outstanding, by access and size.
    type Seen = HashMap<(Access, u64), f64>;

    fn cells(&self) -> Vec<Cell> {
        self.cells.clone()
    }

    fn turns(&self) -> &Turns {
        &self.turns
    }

    fn label(&self, cell: &Cell) -> String {
        cell.name()
    }

    fn about(&self, cell: &Cell, column: &str) -> (About, Access) {
        let about = About::Curve(subject::Curve {
            access: cell.rw,
            block_bytes: cell.bs,
            depth: Some(u64::from(cell.iodepth)),
            direct: 1,
            engine: EngineKind::IoUring,
            target: Some(column.to_owned()),
        });
        (about, cell.rw)
    }

    fn files(&self, place: &PreparedTarget) -> Jobs<OnFile<Layer>> {
        let file = layer(place, file(place), (true, 0..self.size_bytes));
        if self.fills { vec![file] } else { vec![] }
    }

    fn jobs(
        &self,
        alone_ns: &Self::Seen,
        cell: &Cell,
        round: u32,
        place: &PreparedTarget,
    ) -> Jobs<OnFile<Stream>> {
        let alone_ns = alone_ns.get(&(cell.rw, cell.bs)).copied().unwrap_or(0.0);
        let all_ns = (alone_ns * f64::from(cell.iodepth) * PASS_TIMES).min(PASS_NS_MOST);
        let program = cell.program(self.turns.pass_ns.max(all_ns as u64));
        let file_bytes = self.size_bytes;
        let placement = JobPlacement {
            file: file(place).to_owned(),
            engine: program.engine(),
            direct: true,
            depth: program.iodepth,
            block_bytes: u32::try_from(program.bs).unwrap_or(u32::MAX),
            file_bytes,
            ..JobPlacement::default()
        };
        let seed = mix(self.turns.seed, (u64::from(round) << 16) | u64::from(cell.iodepth));
        let stream = StreamPlan { file_bytes, base_bytes: 0, final_sync: false, seed };
        vec![(placement, Stream::job(&program, stream))]
    }

    fn add(
        &self,
        seen: &mut Self::Seen,
        cell: &Cell,
        sample: &mut Sample,
        done: &Done<OnFile<Stream>>,
    ) {
        add_work(sample, done);
        if cell.iodepth == 1 {
            let alone_ns = sample.wall_ns as f64 / sample.operations.max(1) as f64;
            seen.insert((cell.rw, cell.bs), alone_ns);
        }
    }
}
