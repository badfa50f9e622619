//! A modelled machine as a subject of the experiments: its jobs take their turns in virtual time.
//!
//! What a machine does between the turns (system calls, interrupts, drives) is behind one small
//! trait, so that the jobs' type is known here alone, and a machine is compiled once.

use crate::clock::VirtualClock;
use model::doubt::Doubt;
use model::seam::{
    Accounting, Counters, Job, JobCpu, JobPlacement, PreparedTarget, Subject, SubjectError,
    TimedCompletion, Turn,
};

/// A job whose turn it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wake {
    /// Which, by its number among the placements.
    pub job: usize,
    /// What it was waiting for, if anything.
    pub completion: Option<TimedCompletion>,
}

/// A modelled machine that runs jobs.
pub trait Machine {
    /// Makes a fresh file system (or raw drives) and says what is there.
    fn prepare(&mut self) -> Result<PreparedTarget, SubjectError>;

    /// Jobs begin now, one for each placement; each will be woken for its first turn.
    /// Errors: what the machine cannot do: an interface that it does not have, a drive that is not
    /// there.
    fn start(&mut self, placements: &[JobPlacement]) -> Result<(), SubjectError>;

    /// Virtual time goes on until a job is to take a turn; none when all are done.
    fn next(&mut self) -> Option<Wake>;

    /// What the job that was woken last wants.
    fn take(&mut self, job: usize, turn: Turn);

    /// Virtual time, ns since the machine was made.
    fn now_ns(&self) -> u64;

    /// CPU time of a job of the present run; of a machine without a processor none.
    fn job_cpu(&self, _job: usize) -> JobCpu {
        JobCpu::default()
    }

    /// Forgets what is cached of the files, where anything is; first it writes what is dirty.
    fn make_cold(&mut self, _files: &[(usize, String)]) -> Result<(), SubjectError> {
        Ok(())
    }

    /// The machine's own counters, by which the experiment checks itself.
    /// Errors: a law that they break ([`broken`]).
    fn counters(&mut self) -> Result<Counters, SubjectError>;
}

/// The error of a machine whose counters cannot be, however it came to that: requests that got
/// lost, time that was used twice, data faster than a link.
pub fn broken(law: &str, found: impl std::fmt::Display) -> SubjectError {
    SubjectError::Failed(format!("the model violates a law ({law}): {found}; report this"))
}

/// A modelled machine as the experiments see it.
pub struct ModelSubject {
    machine: Box<dyn Machine>,
    clock: VirtualClock,
    doubts: Vec<Doubt>,
}

impl std::fmt::Debug for ModelSubject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ModelSubject")
            .field("now_ns", &self.machine.now_ns())
            .finish_non_exhaustive()
    }
}

impl ModelSubject {
    /// A subject of a machine.
    pub fn new(machine: Box<dyn Machine>) -> Self {
        Self { machine, clock: VirtualClock::default(), doubts: vec![] }
    }

    /// With reasons to doubt whatever is measured on it.
    #[must_use]
    pub fn doubted(mut self, reasons: impl IntoIterator<Item = Doubt>) -> Self {
        self.doubts.extend(reasons);
        self
    }

    /// The machine's clock.
    pub fn clock(&self) -> VirtualClock {
        self.clock.clone()
    }
}

impl Subject for ModelSubject {
    fn prepare(&mut self) -> Result<PreparedTarget, SubjectError> {
        let place = self.machine.prepare();
        self.clock.set_ns(self.machine.now_ns());
        let mut place = place?;
        place.doubts.extend(self.doubts.iter().cloned());
        Ok(place)
    }

    fn run<J: Job>(
        &mut self,
        jobs: Vec<(JobPlacement, J)>,
    ) -> Result<Vec<(J, JobCpu)>, SubjectError> {
        let (placements, mut jobs): (Vec<JobPlacement>, Vec<J>) = jobs.into_iter().unzip();
        self.machine.start(&placements)?;
        while let Some(wake) = self.machine.next() {
            self.clock.set_ns(self.machine.now_ns());
            let Some(job) = jobs.get_mut(wake.job) else { continue };
            let turn = job.turn(&self.clock, wake.completion);
            self.machine.take(wake.job, turn);
        }
        self.clock.set_ns(self.machine.now_ns());
        let with_cpu = |(index, job)| (job, self.machine.job_cpu(index));
        Ok(jobs.into_iter().enumerate().map(with_cpu).collect())
    }

    fn make_cold(&mut self, files: &[(usize, String)]) -> Result<(), SubjectError> {
        let outcome = self.machine.make_cold(files);
        self.clock.set_ns(self.machine.now_ns());
        outcome
    }

    fn counters(&mut self, accounting: Accounting) -> Result<Counters, SubjectError> {
        match accounting {
            Accounting::Difference => self.machine.counters(),
            Accounting::Trace => Err(SubjectError::Unavailable(
                "a modelled machine accounts for all its CPU time and has no trace".into(),
            )),
        }
    }

    fn clean_up(&mut self) -> Result<(), SubjectError> {
        Ok(())
    }
}
