//! A system as a subject: one type for whatever a run measures, so that an experiment's code is
//! compiled once. The hot loop is inside `Subject::run`, where the kind is known again.

use super::tracing::TraceSource;
use crate::resolve::place::SystemKind;
use host::clock::HostClock;
use host::drive::Control;
use host::subject::{BlockDevice, Directory, Fresh};
use model::seam::{
    Accounting, Clock, Counters, Job, JobCpu, JobPlacement, PreparedTarget, Subject, SubjectError,
};
use sim::subject::ModelSubject;
use std::sync::Arc;

/// What an experiment says of a run on one subject: what it met, or what ended it.
pub(crate) type Ran = Result<Vec<SubjectError>, SubjectError>;

/// The subject of a system.
pub(crate) enum SystemSubject {
    Directory(Box<Directory>),
    Device(Box<BlockDevice>),
    Fresh(Box<Fresh>),
    Model(Box<ModelSubject>),
}

impl SystemSubject {
    /// Makes the subject of a system, and says by which clock it runs: this machine's, or its own.
    /// Errors: a modelled machine that cannot be made.
    pub(crate) fn new(
        kind: &SystemKind,
        run: &str,
        (clock, control): (&HostClock, &Arc<Control>),
        trace: TraceSource,
    ) -> Result<(Self, Box<dyn Clock>), SubjectError> {
        let (own_clock, control) = (clock.clone(), control.clone());
        let subject = match kind {
            SystemKind::Directory(directory) => {
                let subject = Directory::new(directory, run, own_clock, control);
                Self::Directory(Box::new(subject.traced_by(trace)))
            }
            SystemKind::Device { path, number, permit } => {
                let (path, permit) = (path.clone(), permit.clone());
                let subject = BlockDevice::new(path, *number, permit, own_clock, control);
                Self::Device(Box::new(subject.traced_by(trace)))
            }
            SystemKind::Fresh(fresh) => {
                let subject = Fresh::new(fresh.clone(), own_clock, control);
                Self::Fresh(Box::new(subject.traced_by(trace)))
            }
            SystemKind::Model(model) => {
                let made = model.subject();
                let subject = made.map_err(|e| SubjectError::Unavailable(e.to_string()))?;
                let clock = Box::new(subject.clock());
                return Ok((Self::Model(Box::new(subject)), clock));
            }
        };
        Ok((subject, Box::new(clock.clone())))
    }
}

/// The same call on the subject of each kind.
macro_rules! each {
    ($of:expr, $subject:ident => $call:expr) => {
        match $of {
            SystemSubject::Directory($subject) => $call,
            SystemSubject::Device($subject) => $call,
            SystemSubject::Fresh($subject) => $call,
            SystemSubject::Model($subject) => $call,
        }
    };
}

impl Subject for SystemSubject {
    fn prepare(&mut self) -> Result<PreparedTarget, SubjectError> {
        each!(self, subject => subject.prepare())
    }

    fn run<J: Job>(
        &mut self,
        jobs: Vec<(JobPlacement, J)>,
    ) -> Result<Vec<(J, JobCpu)>, SubjectError> {
        each!(self, subject => subject.run(jobs))
    }

    fn make_cold(&mut self, files: &[(usize, String)]) -> Result<(), SubjectError> {
        each!(self, subject => subject.make_cold(files))
    }

    fn counters(&mut self, accounting: Accounting) -> Result<Counters, SubjectError> {
        each!(self, subject => subject.counters(accounting))
    }

    fn clean_up(&mut self) -> Result<(), SubjectError> {
        each!(self, subject => subject.clean_up())
    }
}
