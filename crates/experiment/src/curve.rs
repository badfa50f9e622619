//! How much can a device do: latency against rate, as the number of requests outstanding rises, for
//! reads, writes and a mix of both at random places, and for large requests one after the other.
//!
//! Each pass is a closed loop past the page cache with one depth; cells take turns (`rounds`).
//!
//! Non-goals: where the knee is (crate `analyze`), an open loop (`throughput --rate_iops`).

use crate::bench::{Done, Jobs, Met};
use crate::observer::Observer;
use crate::on_file::{Layer, OnFile, layer};
use crate::rounds::{self, Cells, Planned, Turns};
use crate::sequence::mix;
use crate::throughput::add_work;
use crate::throughput::job::{Stream, StreamPlan};
use model::engine::EngineKind;
use model::plan::SystemPlan;
use model::record::subject::{self, Subject as About};
use model::record::{Experiment, Sample};
use model::seam::{Clock, JobPlacement, PreparedTarget, Subject};
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

    fn about(&self, target: &str) -> About {
        About::Curve(subject::Curve {
            access: self.rw,
            block_bytes: self.bs,
            depth: Some(u64::from(self.iodepth)),
            direct: 1,
            engine: EngineKind::IoUring,
            target: Some(target.to_owned()),
        })
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

impl Planned for Plan {
    const KIND: Experiment = Experiment::Curve;

    fn turns(&self) -> &Turns {
        &self.turns
    }

    fn count(&self) -> usize {
        self.cells.len()
    }

    fn run<S: Subject>(
        &self,
        subject: &mut S,
        column: &str,
        clock: &dyn Clock,
        observer: &mut dyn Observer,
    ) -> Met {
        let curve = Curve { plan: self, alone_ns: HashMap::new() };
        rounds::run(subject, column, curve, clock, observer)
    }
}

struct Curve<'a> {
    plan: &'a Plan,
    /// What a request took in the last pass with nothing else outstanding, by access and size.
    alone_ns: HashMap<(Access, u64), f64>,
}

/// The scratch file; a device has only itself.
fn file(place: &PreparedTarget) -> &'static str {
    if place.is_device { "" } else { "file.curve" }
}

impl Cells for Curve<'_> {
    type Cell = Cell;
    type Job = OnFile<Stream>;

    fn cells(&self) -> Vec<Cell> {
        self.plan.cells.clone()
    }

    fn turns(&self) -> &Turns {
        &self.plan.turns
    }

    fn label(&self, cell: &Cell) -> String {
        cell.name()
    }

    fn sample(&self, cell: &Cell, column: &str) -> Sample {
        Sample {
            experiment: Experiment::Curve,
            subject: cell.about(column),
            engine: EngineKind::IoUring,
            access: cell.rw,
            block_bytes: cell.bs,
            file_bytes: self.plan.size_bytes,
            jobs: 1,
            depth: u64::from(cell.iodepth),
            direct: 1,
            ..Sample::default()
        }
    }

    fn files(&self, place: &PreparedTarget) -> Jobs<OnFile<Layer>> {
        let file = layer(place, file(place), (true, 0..self.plan.size_bytes));
        if self.plan.fills { vec![file] } else { vec![] }
    }

    fn jobs(&self, cell: &Cell, round: u32, place: &PreparedTarget) -> Jobs<OnFile<Stream>> {
        let alone_ns = self.alone_ns.get(&(cell.rw, cell.bs)).copied().unwrap_or(0.0);
        let all_ns = (alone_ns * f64::from(cell.iodepth) * PASS_TIMES).min(PASS_NS_MOST);
        let program = cell.program(self.plan.turns.pass_ns.max(all_ns as u64));
        let file_bytes = self.plan.size_bytes;
        let placement = JobPlacement {
            file: file(place).to_owned(),
            engine: program.engine(),
            direct: true,
            depth: program.iodepth,
            block_bytes: u32::try_from(program.bs).unwrap_or(u32::MAX),
            file_bytes,
            ..JobPlacement::default()
        };
        let seed = mix(self.plan.turns.seed, (u64::from(round) << 16) | u64::from(cell.iodepth));
        let stream = StreamPlan { file_bytes, base_bytes: 0, final_sync: false, seed };
        vec![(placement, Stream::job(&program, stream))]
    }

    fn add(&mut self, cell: &Cell, sample: &mut Sample, done: &Done<OnFile<Stream>>) {
        add_work(sample, done);
        if cell.iodepth == 1 {
            let alone_ns = sample.wall_ns as f64 / sample.operations.max(1) as f64;
            self.alone_ns.insert((cell.rw, cell.bs), alone_ns);
        }
    }
}
