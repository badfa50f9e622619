//! The passes of a storm: all remedies in turn, round after round, each with the same places and
//! moments of its round, so that remedies are compared within a round.

use super::committer::{self, Committer};
use super::dirtier::{self, Dirtier};
use super::halving::Standing;
use super::reader::{self, Reader, Syncing};
use super::{Plan, Surroundings, Tried};
use crate::account::add_one_by_one;
use crate::bench::{Bench, Jobs, Met, run_work};
use crate::observer::Observer;
use crate::on_file::{At, Next, OnFile, Report, Work, layer};
use crate::sequence::mix;
use model::histogram::Histogram;
use model::record::subject::{Storm, StormStream, Subject as About};
use model::record::{Experiment, Role, Sample};
use model::seam::{Accounting, Clock, JobPlacement, Operation, Request, Subject, SubjectError};
use model::workload::Access;
use std::sync::Arc;

/// How long it is looked what the target can do.
pub(super) const PROBE_NS: u64 = 2_000_000_000;

/// Runs the plan on one system.
/// Errors: `Interrupted`, or a failure of cleaning up. What the passes met is given back.
pub fn run_system<S: Subject>(
    subject: &mut S,
    column: &str,
    plan: &Plan,
    (clock, surroundings): (&dyn Clock, &mut dyn Surroundings),
    observer: &mut dyn Observer,
) -> Met {
    let (bench, plan) = (Bench::new(subject, clock, observer), plan.clone());
    let began_ns = clock.now_ns();
    let standing = Standing::default();
    let mut run = Run { bench, column, plan, surroundings, standing, began_ns };
    let outcome = run.all();
    run.bench.end(outcome)
}

pub(super) struct Run<'a, S: Subject> {
    pub(super) bench: Bench<'a, S>,
    column: &'a str,
    pub(super) plan: Plan,
    pub(super) surroundings: &'a mut dyn Surroundings,
    pub(super) standing: Standing,
    /// When it began, before anything was laid out.
    pub(super) began_ns: u64,
}

impl<S: Subject> Run<'_, S> {
    fn all(&mut self) -> Result<(), SubjectError> {
        self.bench.prepare()?;
        let is_beside = !self.plan.command.is_empty();
        if !is_beside {
            self.lay_out()?;
        }
        self.surroundings.laid_out(&self.bench.place).map_err(SubjectError::Failed)?;
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
        let one_by_one = JobPlacement { depth: 1, ..reader::placement(&self.plan) };
        let reads_per_s = self.rate(one_by_one, reader)?;
        if self.plan.commit.rate.is_some() {
            return Ok((reads_per_s, 0.0));
        }
        let committer = Part::Committer(Committer::probe(&self.plan, PROBE_NS / 2));
        Ok((reads_per_s, self.rate(committer::placement(&self.plan), committer)?))
    }

    /// What a job does in a second.
    fn rate(&mut self, placement: JobPlacement, part: Part) -> Result<f64, SubjectError> {
        let label = "measuring the target's rates";
        let part = run_work(self.bench.subject, label, placement, part)?;
        let Report { latency, started_ns, ended_ns, .. } = part.report();
        let time_ns = ended_ns.saturating_sub(*started_ns).max(1);
        Ok(latency.count() as f64 * 1e9 / time_ns as f64)
    }

    /// Writes the files.
    fn lay_out(&mut self) -> Result<(), SubjectError> {
        for (file, stream) in self.plan.files().into_iter().filter(|(_, stream)| stream.is_on()) {
            let bytes = stream.from_bytes..stream.from_bytes + stream.file_bytes;
            let files = vec![layer(&self.bench.place, file, (false, bytes))];
            self.bench.lay_out(file, stream.file_bytes, files)?;
        }
        Ok(())
    }

    pub(super) fn pass(&mut self, tried: &Tried, round: u32) -> Result<(), SubjectError> {
        self.surroundings.change(&tried.name).map_err(SubjectError::Unavailable)?;
        self.bench.starts(&tried.name, (Role::Kept, round, self.plan.rounds), 0, true);
        let samples = match self.watch(tried, round)? {
            Some(samples) => samples,
            None => self.measure(tried, round)?,
        };
        for sample in samples {
            self.standing.see(&sample);
            self.bench.observer.pass_done(sample);
        }
        Ok(())
    }

    /// A pass of our own streams: a sample of each.
    fn measure(&mut self, tried: &Tried, round: u32) -> Result<Vec<Sample>, SubjectError> {
        let jobs = self.jobs(tried, round);
        let done = self.bench.measure(Accounting::Difference, &tried.name, jobs)?;
        let doubts = [self.bench.place.doubts.clone(), self.surroundings.doubts()].concat();
        let of = |(job, _): &(OnFile<Part>, _)| self.samples(&job.work, tried, round);
        let mut samples: Vec<Sample> = done.jobs.iter().flat_map(of).collect();
        for sample in &mut samples {
            done.account(sample);
            done.judge(sample, doubts.clone());
        }
        Ok(samples)
    }

    fn jobs(&self, tried: &Tried, round: u32) -> Jobs<OnFile<Part>> {
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
        let job = |(at, part): (JobPlacement, Part)| (at.clone(), OnFile::new(part, at.depth));
        jobs.into_iter().map(job).collect()
    }

    /// A sample of each stream; of the reads that met a sync, and of the others, too.
    fn samples(&self, part: &Part, tried: &Tried, round: u32) -> Vec<Sample> {
        let Report { started_ns, ended_ns, latency, sync_ns } = part.report();
        let sample = |(stream, latency): (StormStream, &Histogram)| {
            let mut sample = self.blank(tried, stream, round);
            add_one_by_one(&mut sample, latency, (*started_ns, *ended_ns), *sync_ns);
            sample
        };
        let streams = match part {
            Part::Reader(reader) => vec![
                (StormStream::Read, latency),
                (StormStream::ReadInSync, &reader.in_sync),
                (StormStream::ReadBetween, &reader.between),
            ],
            Part::Committer(_) => vec![(StormStream::Commit, latency)],
            Part::Writer(_) => vec![(StormStream::Write, latency)],
        };
        streams.into_iter().map(sample).collect()
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
            started_ns: self.bench.now(),
            ..Sample::default()
        }
    }
}

/// The work of a job of a pass.
enum Part {
    Reader(Reader),
    Committer(Committer),
    Writer(Dirtier),
}

impl Part {
    fn report(&self) -> &Report {
        match self {
            Self::Reader(reader) => &reader.report,
            Self::Committer(committer) => &committer.report,
            Self::Writer(writer) => &writer.report,
        }
    }
}

impl Work for Part {
    fn opening(&mut self, now_ns: u64) -> Operation {
        match self {
            Self::Reader(reader) => reader.opening(now_ns),
            Self::Committer(committer) => committer.opening(now_ns),
            Self::Writer(writer) => writer.opening(now_ns),
        }
    }

    fn next(&mut self, at: At, now_ns: u64) -> Next {
        match self {
            Self::Reader(reader) => reader.next(at, now_ns),
            Self::Committer(committer) => committer.next(at, now_ns),
            Self::Writer(writer) => writer.next(at, now_ns),
        }
    }

    fn done(&mut self, request: &Request, now_ns: u64) {
        match self {
            Self::Reader(reader) => reader.done(request, now_ns),
            Self::Committer(committer) => committer.done(request, now_ns),
            Self::Writer(writer) => writer.done(request, now_ns),
        }
    }
}
