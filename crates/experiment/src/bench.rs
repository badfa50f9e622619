//! What every experiment does with a subject: prepares it, tells the observer, lays files out, runs
//! jobs between two readings of the counters, and cleans up.
//!
//! Non-goals: which passes there are, and in what order.

use crate::account::{add_cpu, add_devices, within_pass};
use crate::checks::{Meanwhile, lowest_bytes};
use crate::observer::{Observer, PassStart};
use crate::on_file::{Layer, Measured, OnFile, Work};
use model::doubt::{Doubt, Judgement};
use model::record::{Role, Sample};
use model::seam::{
    Accounting, Clock, Counters, JobCpu, JobPlacement, PreparedTarget, Subject, SubjectError,
};
use model::units::show_size;

/// Jobs of a pass, each where it does its work.
pub(crate) type Jobs<J> = Vec<(JobPlacement, J)>;

/// What an experiment gives back: what its cells met.
/// Errors: `Interrupted`, or a failure of cleaning up.
pub(crate) type Met = Result<Vec<SubjectError>, SubjectError>;

/// A subject with those who watch it.
pub(crate) struct Bench<'a, S: Subject> {
    pub(crate) subject: &'a mut S,
    pub(crate) clock: &'a dyn Clock,
    pub(crate) observer: &'a mut dyn Observer,
    pub(crate) place: PreparedTarget,
    /// What the cells met so far.
    pub(crate) failures: Vec<SubjectError>,
}

/// What jobs came to, and the counters around them.
pub(crate) struct Done<J> {
    pub(crate) jobs: Vec<(J, JobCpu)>,
    pub(crate) before: Counters,
    pub(crate) after: Counters,
}

impl<J> Done<J> {
    /// CPU time and the devices' counts, as columns of a sample.
    pub(crate) fn account(&self, sample: &mut Sample) {
        let cpu: Vec<JobCpu> = self.jobs.iter().map(|(_, cpu)| *cpu).collect();
        add_cpu(sample, &cpu, &self.before, &self.after);
        within_pass(sample, self.after.cpu.cpus);
        add_devices(sample, &self.before, &self.after);
    }

    /// What is doubtful about a sample: these, whether a cache lies beneath the tested device, and
    /// what was so meanwhile.
    pub(crate) fn judge(&self, sample: &mut Sample, mut doubts: Vec<Doubt>) {
        let Self { before, after, .. } = self;
        doubts.extend(lowest_bytes(before, after));
        doubts.extend(Meanwhile { sample, before, after }.doubts());
        sample.judge(Judgement::of(doubts));
    }
}

/// A sample that knows where such jobs do their work.
pub(crate) fn placed<J>(jobs: &Jobs<J>) -> Sample {
    let Some((first, _)) = jobs.first() else { return Sample::default() };
    Sample {
        engine: first.engine,
        block_bytes: u64::from(first.block_bytes),
        file_bytes: first.file_bytes,
        jobs: jobs.len() as u64,
        depth: u64::from(first.depth),
        direct: u64::from(first.direct),
        ..Sample::default()
    }
}

/// Runs jobs; what stopped one of them is an error.
pub(crate) fn run<S: Subject, J: Measured>(
    subject: &mut S,
    label: &str,
    jobs: Jobs<J>,
) -> Result<Vec<(J, JobCpu)>, SubjectError> {
    let placements: Vec<JobPlacement> =
        jobs.iter().map(|(placement, _)| placement.clone()).collect();
    let done = subject.run(jobs)?;
    let failed = done
        .iter()
        .zip(&placements)
        .find_map(|((job, _), placement)| Some(job.error()?.on(placement, label)));
    failed.map_or(Ok(done), Err)
}

/// Runs one job's work; what stopped it is an error.
pub(crate) fn run_work<S: Subject, W: Work>(
    subject: &mut S,
    label: &str,
    placement: JobPlacement,
    work: W,
) -> Result<W, SubjectError> {
    let job = OnFile::new(work, placement.depth);
    let done = run(subject, label, vec![(placement, job)])?.pop();
    let done = done.ok_or_else(|| SubjectError::Failed(format!("{label}: no job came back")))?;
    Ok(done.0.work)
}

impl<'a, S: Subject> Bench<'a, S> {
    pub(crate) fn new(
        subject: &'a mut S,
        clock: &'a dyn Clock,
        observer: &'a mut dyn Observer,
    ) -> Self {
        Self { subject, clock, observer, place: PreparedTarget::default(), failures: vec![] }
    }

    /// Prepares the place.
    pub(crate) fn prepare(&mut self) -> Result<(), SubjectError> {
        self.place = self.subject.prepare()?;
        Ok(())
    }

    /// Cleans up, whatever came of it all.
    pub(crate) fn end(&mut self, outcome: Result<(), SubjectError>) -> Met {
        self.subject.clean_up()?;
        outcome.map(|()| std::mem::take(&mut self.failures))
    }

    /// Whether the place has room for so many bytes, which `what` needs.
    /// Errors: it has not.
    pub(crate) fn check_room(&self, what: &str, needed: u64) -> Result<(), SubjectError> {
        let free = self.place.capacity_bytes;
        if needed <= free {
            return Ok(());
        }
        Err(SubjectError::Unavailable(format!(
            "{what} {}, but there is space for {}; give a smaller --size",
            show_size(needed),
            show_size(free)
        )))
    }

    /// A moment of now, as samples have it.
    pub(crate) fn now(&self) -> i64 {
        i64::try_from(self.clock.now_ns()).unwrap_or(i64::MAX)
    }

    /// A pass is about to begin, one of so many; whether its requests are to be captured.
    pub(crate) fn starts(
        &mut self,
        program: &str,
        (role, number, passes): (Role, u32, u32),
        bytes: u64,
        is_captured: bool,
    ) {
        self.observer.pass_starts(&PassStart {
            program,
            pass: Some(number),
            role,
            passes,
            bytes,
            captures: is_captured.then_some(&self.place.devices),
        });
    }

    /// Lays files out, so many bytes.
    pub(crate) fn lay_out(
        &mut self,
        label: &str,
        bytes: u64,
        files: Jobs<OnFile<Layer>>,
    ) -> Result<(), SubjectError> {
        let (pass, passes, captures, role) = (None, 0, None, Role::Warm);
        let start = PassStart { program: label, pass, role, passes, bytes, captures };
        self.observer.pass_starts(&start);
        run(self.subject, label, files).map(|_| ())
    }

    /// Runs jobs between two readings of the counters.
    pub(crate) fn measure<J: Measured>(
        &mut self,
        accounting: Accounting,
        label: &str,
        jobs: Jobs<J>,
    ) -> Result<Done<J>, SubjectError> {
        let before = self.subject.counters(accounting)?;
        let done = run(self.subject, label, jobs);
        // Whatever became of it, a trace ends.
        let after = self.subject.counters(Accounting::Difference)?;
        Ok(Done { jobs: done?, before, after })
    }

    /// What was measured; none where it was refused, which `blank` tells of.
    /// Errors: `Interrupted`.
    pub(crate) fn taken<T>(
        &mut self,
        measured: Result<T, SubjectError>,
        blank: Sample,
    ) -> Result<Option<T>, SubjectError> {
        match measured {
            Ok(measured) => return Ok(Some(measured)),
            Err(SubjectError::Interrupted) => return Err(SubjectError::Interrupted),
            Err(error) => self.refuse(blank, error),
        }
        Ok(None)
    }

    /// A cell could not be measured, for this reason.
    pub(crate) fn refuse(&mut self, mut blank: Sample, error: SubjectError) {
        blank.judge(Judgement::not_measured(Doubt::refused(&error)));
        self.observer.pass_done(blank);
        self.failures.push(error);
    }
}
