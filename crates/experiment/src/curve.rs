//! How much can a device do: latency against rate, as the number of requests outstanding rises, for
//! reads, writes and a mix of both at random places, and for large requests one after the other.
//!
//! Each pass is a closed loop past the page cache with one depth. Rounds go over all cells in turn,
//! so that a drift of the machine falls on all, until every rate is known or the time is over.
//! Non-goals: where the knee is (crate `analyze`), an open loop (`throughput --rate_iops`).

use crate::account::{add_cpu, add_devices};
use crate::checks::Meanwhile;
use crate::observer::{Observer, PassStart};
use crate::sequence::mix;
use crate::throughput::add_work;
use crate::throughput::job::{Stream, StreamPlan, StreamReport};
use crate::until::{Rounds, Until};
use model::doubt::Doubt;
use model::engine::EngineKind;
use model::plan::SystemPlan;
use model::record::subject::{self, Subject as About};
use model::record::{Experiment, Judgement, Role, Sample};
use model::seam::{Accounting, Clock, JobCpu, JobPlacement, PreparedTarget, Subject, SubjectError};
use model::units::show_size;
use model::workload::{Access, Program};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The plan. As JSON it is what `--dry-run` prints and run.json keeps.
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
    /// Time of a pass.
    pub pass_ns: u64,
    /// Rounds that there are; where there is an `until`, so many before any rate is looked at.
    pub runs: u32,
    /// Until when more of them go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Until>,
    /// The seed of all places.
    pub seed: u64,
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
const FILE: &str = "file.curve";
const FILL_BYTES: u64 = 1 << 20;

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

/// Runs the plan on one system.
/// Errors: `Interrupted`, or a failure of cleaning up. What the cells met is given back.
pub fn run_system<S: Subject>(
    subject: &mut S,
    column: &str,
    plan: &Plan,
    clock: &dyn Clock,
    observer: &mut dyn Observer,
) -> Result<Vec<SubjectError>, SubjectError> {
    let (place, failures) = (PreparedTarget::default(), vec![]);
    let mut run = Run { subject, column, plan, clock, observer, place, failures };
    let outcome = run.all();
    let failures = std::mem::take(&mut run.failures);
    subject.clean_up()?;
    outcome.map(|()| failures)
}

struct Run<'a, S: Subject> {
    subject: &'a mut S,
    column: &'a str,
    plan: &'a Plan,
    clock: &'a dyn Clock,
    observer: &'a mut dyn Observer,
    place: PreparedTarget,
    failures: Vec<SubjectError>,
}

/// A cell with what a request of it took in the last pass, ns; 0 where there was none yet.
struct Measured {
    cell: Cell,
    one_ns: f64,
}

impl<S: Subject> Run<'_, S> {
    fn all(&mut self) -> Result<(), SubjectError> {
        self.place = self.subject.prepare()?;
        if self.plan.fills {
            self.fill()?;
        }
        let planned = self.plan.cells.iter().copied();
        let wanted = (self.plan.runs, self.plan.until);
        let mut rounds = Rounds::new(planned.clone(), wanted, self.clock.now_ns());
        let mut cells: Vec<Measured> = planned.map(|cell| Measured { cell, one_ns: 0.0 }).collect();
        for round in 0.. {
            if !rounds.go_on(self.clock.now_ns()) {
                break;
            }
            self.round(&mut cells, &mut rounds, round)?;
            self.observer.cell_done();
        }
        Ok(())
    }

    /// A pass of each cell; those that are refused are not tried again.
    fn round(
        &mut self,
        cells: &mut Vec<Measured>,
        rounds: &mut Rounds<Cell>,
        round: u32,
    ) -> Result<(), SubjectError> {
        for place in 0..cells.len() {
            let alone = cells.iter().find(|of| {
                let (cell, own) = (of.cell, cells[place].cell);
                (cell.rw, cell.bs, cell.iodepth) == (own.rw, own.bs, 1)
            });
            let one_ns = alone.map_or(0.0, |of| of.one_ns);
            let cell = cells[place].cell;
            match self.pass(&cell, round, one_ns) {
                Ok(sample) => {
                    let of = &mut cells[place];
                    of.one_ns = sample.wall_ns as f64 / sample.operations.max(1) as f64;
                    rounds.add(&cell, sample.operations_per_s());
                    self.observer.pass_done(sample);
                }
                Err(SubjectError::Interrupted) => return Err(SubjectError::Interrupted),
                Err(error) => {
                    let mut sample = self.blank(&cell, round);
                    sample.judge(Judgement::not_measured(Doubt::refused(&error)));
                    self.observer.pass_done(sample);
                    self.failures.push(error);
                    rounds.leave_out(&cell);
                }
            }
        }
        cells.retain(|of| rounds.have(&of.cell));
        Ok(())
    }

    fn placement(&self, program: &Program) -> JobPlacement {
        JobPlacement {
            file: if self.place.is_device { String::new() } else { FILE.to_owned() },
            engine: program.engine(),
            direct: true,
            depth: program.iodepth,
            block_bytes: u32::try_from(program.bs).unwrap_or(u32::MAX),
            file_bytes: self.plan.size_bytes,
            ..JobPlacement::default()
        }
    }

    fn stream(
        &mut self,
        program: &Program,
        seed: u64,
    ) -> Result<Vec<(StreamReport, JobCpu)>, SubjectError> {
        let is_filling = program.runtime.is_none();
        let file_bytes = self.plan.size_bytes;
        let plan = StreamPlan { file_bytes, base_bytes: 0, final_sync: is_filling, seed };
        let placement = self.placement(program);
        let done = self.subject.run(vec![(placement.clone(), Stream::new(program, plan))])?;
        let reports: Vec<_> =
            done.into_iter().map(|(stream, cpu)| (stream.into_report(), cpu)).collect();
        match reports.iter().find_map(|(report, _)| report.error) {
            Some(error) => Err(error.on(&placement, &program.name)),
            None => Ok(reports),
        }
    }

    fn fill(&mut self) -> Result<(), SubjectError> {
        let name = format!("writing {}", show_size(self.plan.size_bytes));
        let access = if self.place.is_device { Access::Rewrite } else { Access::Write };
        let program = Program {
            bs: FILL_BYTES,
            direct: true,
            ioengine: Some(EngineKind::Psync),
            ..Program::new(name, access)
        };
        self.observer.pass_starts(&PassStart {
            program: &program.name,
            pass: None,
            role: Role::Warm,
            passes: 0,
            bytes: self.plan.size_bytes,
            captures: None,
        });
        self.stream(&program, 0).map(|_| ())
    }

    fn pass(&mut self, cell: &Cell, round: u32, one_ns: f64) -> Result<Sample, SubjectError> {
        let all_ns = (one_ns * f64::from(cell.iodepth) * PASS_TIMES).min(PASS_NS_MOST);
        let program = cell.program(self.plan.pass_ns.max(all_ns as u64));
        self.observer.pass_starts(&PassStart {
            program: &program.name,
            pass: Some(round),
            role: Role::Kept,
            passes: self.plan.runs,
            bytes: 0,
            captures: Some(&self.place.devices),
        });
        let seed = mix(self.plan.seed, (u64::from(round) << 16) | u64::from(cell.iodepth));
        let before = self.subject.counters(Accounting::Difference)?;
        let reports = self.stream(&program, seed)?;
        let after = self.subject.counters(Accounting::Difference)?;
        let mut sample = self.blank(cell, round);
        add_work(&mut sample, &reports);
        let jobs: Vec<JobCpu> = reports.iter().map(|(_, cpu)| *cpu).collect();
        add_cpu(&mut sample, &jobs, &before, &after);
        add_devices(&mut sample, &before, &after);
        let meanwhile = Meanwhile { sample: &sample, before: &before, after: &after }.doubts();
        sample.judge(Judgement::of([self.place.doubts.clone(), meanwhile].concat()));
        Ok(sample)
    }

    fn blank(&self, cell: &Cell, round: u32) -> Sample {
        Sample {
            experiment: Experiment::Curve,
            subject: cell.about(self.column),
            target: self.column.to_owned(),
            drives: 1,
            program: cell.name(),
            engine: EngineKind::IoUring,
            access: cell.rw,
            block_bytes: cell.bs,
            file_bytes: self.plan.size_bytes,
            jobs: 1,
            depth: u64::from(cell.iodepth),
            direct: 1,
            pass: u64::from(round),
            started_ns: i64::try_from(self.clock.now_ns()).unwrap_or(i64::MAX),
            ..Sample::default()
        }
    }
}
