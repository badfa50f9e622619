//! The passes of a storm: all remedies in turn, round after round, each with the same places and
//! moments of its round, so that remedies are compared within a round.

use super::committer::{self, Committer};
use super::dirtier::{self, Dirtier};
use super::halving::Standing;
use super::reader::{self, Reader, Syncing};
use super::{Plan, Stream, Surroundings, Tried};
use crate::account::{add_cpu, add_devices};
use crate::checks::Meanwhile;
use crate::failure::StreamError;
use crate::observer::{Observer, PassStart};
use crate::sequence::mix;
use model::doubt::Doubt;
use model::histogram::Histogram;
use model::record::subject::{Storm, StormStream, Subject as About};
use model::record::{Experiment, Judgement, Role, Sample};
use model::seam::{
    Accounting, Clock, Job, JobCpu, JobPlacement, Operation, PreparedTarget, Request, Subject,
    SubjectError, TimedCompletion, Turn,
};
use model::workload::{Access, EngineKind};
use std::sync::Arc;

/// How long it is looked what the target can do.
const PROBE_NS: u64 = 2_000_000_000;
/// Files are laid out in blocks of this size.
const LAYOUT_BLOCK_BYTES: u64 = 1 << 20;

/// Runs the plan on one system.
/// Errors: `Interrupted`, or a failure of cleaning up. What the passes met is given back.
pub fn run_system<S: Subject>(
    subject: &mut S,
    column: &str,
    plan: &Plan,
    (clock, surroundings): (&dyn Clock, &mut dyn Surroundings),
    observer: &mut dyn Observer,
) -> Result<Vec<SubjectError>, SubjectError> {
    let (place, failures) = (PreparedTarget::default(), vec![]);
    let plan = plan.clone();
    let standing = Standing::default();
    let mut run =
        Run { subject, column, plan, clock, surroundings, observer, place, failures, standing };
    let outcome = run.all();
    let failures = std::mem::take(&mut run.failures);
    subject.clean_up()?;
    outcome.map(|()| failures)
}

pub(super) struct Run<'a, S: Subject> {
    pub(super) subject: &'a mut S,
    column: &'a str,
    pub(super) plan: Plan,
    pub(super) clock: &'a dyn Clock,
    pub(super) surroundings: &'a mut dyn Surroundings,
    pub(super) observer: &'a mut dyn Observer,
    pub(super) place: PreparedTarget,
    pub(super) failures: Vec<SubjectError>,
    pub(super) standing: Standing,
}

impl<S: Subject> Run<'_, S> {
    fn all(&mut self) -> Result<(), SubjectError> {
        self.place = self.subject.prepare()?;
        let is_beside = !self.plan.command.is_empty();
        if !is_beside {
            self.lay_out()?;
        }
        self.surroundings.laid_out(&self.place).map_err(SubjectError::Failed)?;
        let (reads_per_s, commits_per_s) = if is_beside { (0.0, 0.0) } else { self.probe()? };
        self.plan = self.plan.with_rates(reads_per_s, commits_per_s);
        self.surroundings.begin(&self.plan);
        self.rounds()
    }

    /// Reads and commits that the target does in a second, one by one.
    fn probe(&mut self) -> Result<(f64, f64), SubjectError> {
        let streams = [&self.plan.read, &self.plan.commit, &self.plan.write];
        if streams.iter().all(|stream| stream.rate.is_some()) || !self.plan.read.is_on() {
            return Ok((0.0, 0.0));
        }
        let reader = Part::Reader(Reader::probe(&self.plan, PROBE_NS));
        let reads_per_s = self.rate(reader::placement(&self.plan), reader)?;
        if self.plan.commit.rate.is_some() {
            return Ok((reads_per_s, 0.0));
        }
        let committer = Part::Committer(Committer::probe(&self.plan, PROBE_NS / 2));
        Ok((reads_per_s, self.rate(committer::placement(&self.plan), committer)?))
    }

    /// What a job does in a second.
    fn rate(&mut self, placement: JobPlacement, job: Part) -> Result<f64, SubjectError> {
        let done = self.subject.run(vec![(placement.clone(), job)])?;
        let Some((part, _)) = done.first() else { return Ok(0.0) };
        match part.error() {
            Some(error) => Err(error.on(&placement, "measuring the target's rates")),
            None => Ok(part.rate()),
        }
    }

    pub(super) fn not_measured(&mut self, tried: &Tried, round: u32, error: &SubjectError) {
        let mut sample = self.blank(tried, StormStream::Read, round);
        sample.judge(Judgement::not_measured(Doubt::refused(error)));
        self.observer.pass_done(sample);
    }

    /// Writes the files.
    fn lay_out(&mut self) -> Result<(), SubjectError> {
        let plan = self.plan.clone();
        for (file, stream) in plan.files() {
            if !stream.is_on() {
                continue;
            }
            self.observer.pass_starts(&PassStart {
                program: file,
                pass: None,
                role: Role::Warm,
                passes: 0,
                bytes: stream.file_bytes,
                captures: None,
            });
            let placement = JobPlacement {
                file: file.to_owned(),
                engine: EngineKind::Psync,
                block_bytes: LAYOUT_BLOCK_BYTES as u32,
                file_bytes: stream.from_bytes + stream.file_bytes,
                ..JobPlacement::default()
            };
            let layer = Layer::new(stream, self.place.is_device);
            let done = self.subject.run(vec![(placement.clone(), layer)])?;
            if let Some(error) = done.first().and_then(|(layer, _)| layer.error) {
                return Err(error.on(&placement, "laying out files"));
            }
        }
        Ok(())
    }

    pub(super) fn pass(&mut self, tried: &Tried, round: u32) -> Result<(), SubjectError> {
        self.surroundings.change(&tried.name).map_err(SubjectError::Unavailable)?;
        self.observer.pass_starts(&PassStart {
            program: &tried.name,
            pass: Some(round),
            role: Role::Kept,
            passes: self.plan.rounds,
            bytes: 0,
            captures: Some(&self.place.devices),
        });
        let samples = match self.watch(tried, round)? {
            Some(samples) => samples,
            None => self.measure(tried, round)?,
        };
        for sample in samples {
            self.standing.see(&sample);
            self.observer.pass_done(sample);
        }
        Ok(())
    }

    /// A pass of our own streams: a sample of each.
    fn measure(&mut self, tried: &Tried, round: u32) -> Result<Vec<Sample>, SubjectError> {
        let before = self.subject.counters(Accounting::Difference)?;
        let told = self.run_jobs(tried, round)?;
        let after = self.subject.counters(Accounting::Difference)?;
        let doubts = [self.place.doubts.clone(), self.surroundings.doubts()].concat();
        let mut samples = told.samples(self, tried, round);
        for sample in &mut samples {
            add_cpu(sample, &told.cpu, &before, &after);
            add_devices(sample, &before, &after);
            let meanwhile = Meanwhile { sample, before: &before, after: &after }.doubts();
            sample.judge(Judgement::of([doubts.clone(), meanwhile].concat()));
        }
        Ok(samples)
    }

    fn run_jobs(&mut self, tried: &Tried, round: u32) -> Result<Told, SubjectError> {
        let plan = &self.plan;
        let syncing = Arc::new(Syncing::default());
        let seed = |stream: u64| mix(plan.seed, u64::from(round) * 3 + stream);
        let mut jobs = Vec::new();
        if plan.read.is_on() {
            let reader = Reader::new(plan, seed(0), syncing.clone());
            jobs.push((reader::placement(plan), Part::Reader(reader)));
        }
        if plan.commit.is_on() {
            let committer = Committer::new(plan, seed(1));
            jobs.push((committer::placement(plan), Part::Committer(committer)));
        }
        if plan.write.is_on() {
            let writer = Dirtier::new(plan, tried, seed(2), syncing);
            let placement = dirtier::placement(plan, tried, self.surroundings.writer_group());
            jobs.push((placement, Part::Writer(writer)));
        }
        let placements: Vec<JobPlacement> = jobs.iter().map(|job| job.0.clone()).collect();
        let done = self.subject.run(jobs)?;
        let errors = done
            .iter()
            .zip(&placements)
            .filter_map(|((part, _), placement)| Some(part.error()?.on(placement, &tried.name)));
        match errors.into_iter().next() {
            Some(error) => Err(error),
            None => Ok(Told::of(done)),
        }
    }

    pub(super) fn blank(&self, tried: &Tried, stream: StormStream, round: u32) -> Sample {
        let plan = &self.plan;
        let of = match stream {
            StormStream::Commit => &plan.commit,
            StormStream::Write => &plan.write,
            _ => &plan.read,
        };
        Sample {
            experiment: Experiment::Storm,
            subject: About::Storm(Storm {
                remedy: tried.name.clone(),
                stream,
                target: Some(self.column.to_owned()),
            }),
            target: self.column.to_owned(),
            drives: 1,
            program: tried.name.clone(),
            access: match stream {
                StormStream::Commit => Access::Rewrite,
                StormStream::Write => Access::RandWrite,
                _ => Access::RandRead,
            },
            block_bytes: of.block_bytes,
            file_bytes: of.file_bytes,
            jobs: 1,
            depth: 1,
            pass: u64::from(round),
            rate_requested_iops: Some(of.rate_iops()),
            started_ns: i64::try_from(self.clock.now_ns()).unwrap_or(i64::MAX),
            ..Sample::default()
        }
    }
}

/// What the jobs of a pass had to say.
struct Told {
    parts: Vec<Part>,
    cpu: Vec<JobCpu>,
}

impl Told {
    fn of(done: Vec<(Part, JobCpu)>) -> Self {
        let (parts, cpu) = done.into_iter().unzip();
        Self { parts, cpu }
    }

    /// A sample of each stream; of the reads that met a sync, and of the others, too.
    fn samples<S: Subject>(&self, run: &Run<'_, S>, tried: &Tried, round: u32) -> Vec<Sample> {
        let sample = |stream, latency: &Histogram, span: (u64, u64), sync_ns| {
            sample_of(run.blank(tried, stream, round), latency, span, sync_ns)
        };
        let of = |part: &Part| match part {
            Part::Reader(reader) => {
                let reader::Report { latency, in_sync, between, .. } = &reader.report;
                let span = (reader.report.started_ns, reader.report.ended_ns);
                vec![
                    sample(StormStream::Read, latency, span, 0),
                    sample(StormStream::ReadInSync, in_sync, span, 0),
                    sample(StormStream::ReadBetween, between, span, 0),
                ]
            }
            Part::Committer(committer) => {
                let committer::Report { started_ns, ended_ns, latency, sync_ns, .. } =
                    &committer.report;
                vec![sample(StormStream::Commit, latency, (*started_ns, *ended_ns), *sync_ns)]
            }
            Part::Writer(writer) => {
                let dirtier::Report { started_ns, ended_ns, latency, sync_ns, .. } = &writer.report;
                vec![sample(StormStream::Write, latency, (*started_ns, *ended_ns), *sync_ns)]
            }
        };
        self.parts.iter().flat_map(of).collect()
    }
}

/// A stream's sample: what its requests took, from when to when, and its time in syncs.
pub(super) fn sample_of(
    blank: Sample,
    latency: &Histogram,
    (from_ns, to_ns): (u64, u64),
    sync_ns: u64,
) -> Sample {
    let operations = latency.count();
    let mut sample = Sample {
        started_ns: i64::try_from(from_ns).unwrap_or(i64::MAX),
        wall_ns: to_ns.saturating_sub(from_ns),
        operations,
        bytes: operations * blank.block_bytes,
        sync_ns,
        ..blank
    };
    sample.set_latency(latency);
    sample
}

/// A job of a pass.
enum Part {
    Reader(Reader),
    Committer(Committer),
    Writer(Dirtier),
}

impl Part {
    fn error(&self) -> Option<StreamError> {
        match self {
            Self::Reader(reader) => reader.report.error,
            Self::Committer(committer) => committer.report.error,
            Self::Writer(writer) => writer.report.error,
        }
    }

    /// Requests a second.
    fn rate(&self) -> f64 {
        let (count, from_ns, to_ns) = match self {
            Self::Reader(of) => {
                (of.report.latency.count(), of.report.started_ns, of.report.ended_ns)
            }
            Self::Committer(of) => {
                (of.report.latency.count(), of.report.started_ns, of.report.ended_ns)
            }
            Self::Writer(of) => {
                (of.report.latency.count(), of.report.started_ns, of.report.ended_ns)
            }
        };
        count as f64 * 1e9 / to_ns.saturating_sub(from_ns).max(1) as f64
    }
}

impl Job for Part {
    fn turn<C: Clock>(&mut self, clock: &C, completion: Option<TimedCompletion>) -> Turn {
        match self {
            Self::Reader(reader) => reader.turn(clock, completion),
            Self::Committer(committer) => committer.turn(clock, completion),
            Self::Writer(writer) => writer.turn(clock, completion),
        }
    }
}

/// Lays a file out: large blocks one after the other, the last of them durable.
struct Layer {
    step: LayerStep,
    is_sent: bool,
    opening: Operation,
    end_bytes: u64,
    offset_bytes: u64,
    error: Option<StreamError>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LayerStep {
    Open,
    Write,
    Sync,
    Close,
    Done,
}

impl Layer {
    fn new(stream: &Stream, is_device: bool) -> Self {
        let opening = if is_device { Operation::OpenReadWrite } else { Operation::Create };
        let (offset_bytes, end_bytes) = (stream.from_bytes, stream.from_bytes + stream.file_bytes);
        let step = LayerStep::Open;
        Self { step, is_sent: false, opening, end_bytes, offset_bytes, error: None }
    }

    fn operation(&self) -> Option<Operation> {
        match self.step {
            LayerStep::Open => Some(self.opening),
            LayerStep::Write => Some(Operation::Write),
            LayerStep::Sync => Some(Operation::Fsync),
            LayerStep::Close => Some(Operation::Close),
            LayerStep::Done => None,
        }
    }

    fn length_bytes(&self) -> u64 {
        match self.step {
            LayerStep::Write => LAYOUT_BLOCK_BYTES.min(self.end_bytes - self.offset_bytes),
            _ => 0,
        }
    }

    fn complete(&mut self, result: i64) {
        self.is_sent = false;
        if result != self.length_bytes() as i64 && self.step != LayerStep::Close {
            let errno = i32::try_from(-result.min(0)).unwrap_or(0);
            let offset_bytes = self.offset_bytes;
            self.error =
                self.operation().map(|operation| StreamError { operation, offset_bytes, errno });
            self.step = LayerStep::Done;
            return;
        }
        self.offset_bytes += self.length_bytes();
        self.step = match self.step {
            LayerStep::Open | LayerStep::Write if self.offset_bytes < self.end_bytes => {
                LayerStep::Write
            }
            LayerStep::Open | LayerStep::Write => LayerStep::Sync,
            LayerStep::Sync => LayerStep::Close,
            LayerStep::Close | LayerStep::Done => LayerStep::Done,
        };
    }
}

impl Job for Layer {
    fn turn<C: Clock>(&mut self, _: &C, completion: Option<TimedCompletion>) -> Turn {
        if let Some(completion) = completion {
            self.complete(completion.result);
        }
        if self.is_sent {
            return Turn::Wait { min: 1, until_ns: u64::MAX };
        }
        let Some(operation) = self.operation() else { return Turn::Done };
        self.is_sent = true;
        let length_bytes = self.length_bytes() as u32;
        let offset_bytes = self.offset_bytes;
        Turn::Submit(Request { token: 0, operation, offset_bytes, length_bytes })
    }
}
