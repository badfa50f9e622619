//! What it costs to make a write durable: each method of the kernel's, in blocks of several sizes,
//! appending and overwriting, with one writer and with several at once (whose commits a journal can
//! make together). After PostgreSQL's pg_test_fsync.
//!
//! A *commit* is a write and what makes it durable. Its latency is that of both; `sync_ns` is the
//! part in which the data became durable: what follows the write, or the whole call where the write
//! itself does it. Rounds go over all cells in turn, so that a drift of the machine falls on all.
//! The order of each round is drawn, so that no cell always comes after the same one.
//!
//! Non-goals: what a device does with a flush; power failures.

use crate::account::add_one_by_one;
use crate::bench::{Done, Jobs};
use crate::on_file::{At, Layer, Next, OnFile, Report, Work, layer};
use crate::rounds::{Cells, Turns};
use model::doubt::{Code, Doubt};
use model::histogram::Histogram;
use model::plan::SystemPlan;
use model::record::subject::{self, Subject as About};
use model::record::{Experiment, Sample};
use model::seam::{Durability, JobPlacement, Operation, PreparedTarget, Request};
use model::units::show_size;
use model::workload::{Access, EngineKind};
use serde::{Deserialize, Serialize};

/// A way to make a write durable.
#[derive(Debug, Clone, Copy)]
pub struct Method {
    /// Its name, as pg_test_fsync and the manual pages have it.
    pub name: &'static str,
    engine: EngineKind,
    durability: Durability,
    /// What follows each write.
    after: &'static [Operation],
}

const fn method(name: &'static str, after: &'static [Operation]) -> Method {
    Method { name, engine: EngineKind::Psync, durability: Durability::OnRequest, after }
}

/// Every method.
pub const METHODS: [Method; 6] = [
    method("fdatasync", &[Operation::Fdatasync]),
    method("fsync", &[Operation::Fsync]),
    Method { durability: Durability::OpenDsync, ..method("O_DSYNC", &[]) },
    Method { durability: Durability::OpenSync, ..method("O_SYNC", &[]) },
    method("sync_file_range+fdatasync", &[Operation::SyncFileRange, Operation::Fdatasync]),
    Method {
        engine: EngineKind::Pvsync2,
        durability: Durability::CallDsync,
        ..method("RWF_DSYNC", &[])
    },
];

/// The plan.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Plan {
    /// What is measured: one system.
    pub systems: Vec<SystemPlan>,
    /// Names of [`METHODS`].
    pub methods: Vec<String>,
    /// Bytes a write.
    pub block_bytes: Vec<u64>,
    /// Writers at once, each with its own file.
    pub writers: Vec<u32>,
    /// Through the page cache, past it, or both.
    pub direct: Vec<bool>,
    /// Bytes of the file that is overwritten, over and over.
    pub file_bytes: u64,
    /// An append ends its pass when its file has grown so long.
    pub appended_bytes: u64,
    /// How often the cells take turns, each round in an order of its own.
    #[serde(flatten)]
    pub turns: Turns,
    /// The least time in which the medium can make anything durable.
    pub medium_least_ns: u64,
    /// Capture the requests of the passes.
    pub trace: bool,
}

/// One cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Cell {
    /// Its place among [`METHODS`].
    method: usize,
    block_bytes: u64,
    appends: bool,
    direct: bool,
    writers: u32,
}

impl Cell {
    fn method(&self) -> &'static Method {
        &METHODS[self.method]
    }

    fn pattern(&self) -> &'static str {
        if self.appends { "append" } else { "overwrite" }
    }

    fn placement(&self, writer: u32, plan: &Plan) -> JobPlacement {
        JobPlacement {
            file: file(self.pattern(), writer),
            engine: self.method().engine,
            direct: self.direct,
            durability: self.method().durability,
            block_bytes: self.block_bytes as u32,
            file_bytes: plan.file_bytes,
            ..JobPlacement::default()
        }
    }
}

/// A writer's file.
fn file(pattern: &str, writer: u32) -> String {
    format!("file.{pattern}.{writer}")
}

impl Cells for Plan {
    const KIND: Experiment = Experiment::Sync;
    type Cell = Cell;
    type Job = OnFile<Writer>;
    /// The median of the last pass.
    type Seen = u64;

    fn cells(&self) -> Vec<Cell> {
        let is_wanted = |place: &usize| self.methods.iter().any(|m| m == METHODS[*place].name);
        let mut cells = Vec::new();
        for method in (0..METHODS.len()).filter(is_wanted) {
            for &direct in &self.direct {
                for appends in [false, true] {
                    for &block_bytes in &self.block_bytes {
                        for &writers in &self.writers {
                            cells.push(Cell { method, block_bytes, appends, direct, writers });
                        }
                    }
                }
            }
        }
        cells
    }

    fn turns(&self) -> &Turns {
        &self.turns
    }

    fn order_seed(&self) -> Option<u64> {
        Some(self.turns.seed)
    }

    fn traces(&self) -> bool {
        self.trace
    }

    fn label(&self, cell: &Cell) -> String {
        let size = show_size(cell.block_bytes);
        let path = if cell.direct { " O_DIRECT" } else { "" };
        format!("{}{path} {size} × {}", cell.method().name, cell.writers)
    }

    fn about(&self, cell: &Cell, column: &str) -> (About, Access) {
        let about = About::Commit(subject::Commit {
            block_bytes: cell.block_bytes,
            direct: u64::from(cell.direct),
            method: cell.method().name.to_owned(),
            pattern: cell.pattern().to_owned(),
            target: Some(column.to_owned()),
            writers: u64::from(cell.writers),
        });
        (about, if cell.appends { Access::Write } else { Access::Rewrite })
    }

    /// The files that are overwritten.
    fn files(&self, place: &PreparedTarget) -> Jobs<OnFile<Layer>> {
        let writers = self.writers.iter().copied().max().unwrap_or(1);
        let file = |writer| layer(place, &file("overwrite", writer), (false, 0..self.file_bytes));
        (0..writers).map(file).collect()
    }

    fn jobs(&self, _: &u64, cell: &Cell, _: u32, _: &PreparedTarget) -> Jobs<OnFile<Writer>> {
        let writer = || OnFile::new(Writer::new(cell, self), 1);
        (0..cell.writers).map(|number| (cell.placement(number, self), writer())).collect()
    }

    fn add(&self, p50_ns: &mut u64, _: &Cell, sample: &mut Sample, done: &Done<OnFile<Writer>>) {
        let all = || done.jobs.iter().map(|(job, _)| &job.work.report);
        let mut latency = Histogram::default();
        all().for_each(|report| latency.merge(&report.latency));
        let started_ns = all().map(|report| report.started_ns).min().unwrap_or(0);
        let ended_ns = all().map(|report| report.ended_ns).max().unwrap_or(0);
        let sync_ns = all().map(|report| report.sync_ns).sum();
        add_one_by_one(sample, &latency, (started_ns, ended_ns), sync_ns);
        sample.service_sum_ns = latency.sum_ns().saturating_sub(sample.sync_ns);
        *p50_ns = latency.quantile_ns(0.5).unwrap_or(0);
    }

    /// What no commit that is durable can be.
    fn doubts(&self, p50_ns: &u64, cell: &Cell, sample: &Sample) -> Vec<Doubt> {
        let (p50_ns, least_ns) = (*p50_ns, self.medium_least_ns);
        let too_quick = (p50_ns < least_ns && sample.operations > 0).then(|| {
            let values = [("p50_ns", p50_ns.into()), ("least_ns", least_ns.into())];
            Doubt::new(Code::CommitTooQuick, values)
        });
        // A direct write that is durable by itself may carry its own flag to the device (FUA).
        let may_be_forced = cell.direct && cell.method().after.is_empty();
        let unflushed = sample
            .device_flushes
            .filter(|flushes| *flushes == 0 && sample.operations > 0 && !may_be_forced);
        let unflushed =
            unflushed.map(|_| Doubt::new(Code::NoFlush, [("commits", sample.operations.into())]));
        too_quick.into_iter().chain(unflushed).collect()
    }
}

/// One writer: commits until the time is over.
pub(crate) struct Writer {
    cell: Cell,
    /// Where the file ends for it; it starts anew there, or ends where it appends.
    wraps_at_bytes: u64,
    pass_ns: u64,
    end_ns: u64,
    offset_bytes: u64,
    /// Of a commit: 0 is the write, and then come those after it.
    step: usize,
    began_ns: u64,
    written_ns: u64,
    is_over: bool,
    report: Report,
}

impl Writer {
    fn new(cell: &Cell, plan: &Plan) -> Self {
        Self {
            cell: *cell,
            wraps_at_bytes: if cell.appends { plan.appended_bytes } else { plan.file_bytes },
            pass_ns: plan.turns.pass_ns,
            end_ns: u64::MAX,
            offset_bytes: 0,
            step: 0,
            began_ns: 0,
            written_ns: 0,
            is_over: false,
            report: Report::default(),
        }
    }

    fn after(&self) -> &'static [Operation] {
        self.cell.method().after
    }

    /// A write is durable: another one, or the end.
    fn committed(&mut self, now_ns: u64) {
        let is_by_itself = self.after().is_empty();
        let began_durable_ns = if is_by_itself { self.began_ns } else { self.written_ns };
        self.report.latency.record(now_ns.saturating_sub(self.began_ns));
        self.report.sync_ns += now_ns.saturating_sub(began_durable_ns);
        self.report.ended_ns = now_ns;
        self.step = 0;
        let is_full = self.offset_bytes + self.cell.block_bytes > self.wraps_at_bytes;
        self.is_over = now_ns >= self.end_ns || is_full && self.cell.appends;
        if is_full {
            self.offset_bytes = 0;
        }
    }
}

impl Work for Writer {
    fn opening(&mut self, _: u64) -> Operation {
        if self.cell.appends { Operation::Create } else { Operation::OpenReadWrite }
    }

    fn next(&mut self, _: At, now_ns: u64) -> Next {
        let after = self.step.checked_sub(1).and_then(|place| self.after().get(place));
        match after {
            Some(operation) => Next::Do(*operation, self.offset_bytes, 0),
            None if self.is_over => Next::Over,
            None => {
                self.began_ns = now_ns;
                Next::Do(Operation::Write, self.offset_bytes, self.cell.block_bytes as u32)
            }
        }
    }

    fn done(&mut self, request: &Request, now_ns: u64) {
        match request.operation {
            Operation::Close => return,
            Operation::Create | Operation::OpenReadWrite => {
                self.report.started_ns = now_ns;
                self.end_ns = now_ns.saturating_add(self.pass_ns);
                return;
            }
            Operation::Write => {
                self.written_ns = now_ns;
                self.offset_bytes += self.cell.block_bytes;
            }
            _ => {}
        }
        self.step += 1;
        if self.step > self.after().len() {
            self.committed(now_ns);
        }
    }
}
