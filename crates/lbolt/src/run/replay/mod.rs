//! The replay of a trace: its requests are read and planned, made on the target by one job, and
//! kept as a run of requests.
//!
//! In its rows `queued_ns` is when a request was due, `issued_ns` when it was handed over, and
//! `completed_ns` when its completion was found: the time between the first two is its lateness.

mod plan;

pub(crate) use plan::{Plan, PlanRequest, plan};

use crate::resolve::replay::{ReplayTarget, ReplayTargetKind};
use analyze::replay::{Bounds, Lateness, Remade};
use experiment::replay::{Planned, Replay, Times};
use host::clock::HostClock;
use host::drive::Control;
use host::subject::{BlockDevice, RegularFile};
use messages::fault::{Fault, failure};
use model::record::subject::Subject as About;
use model::record::{Commands, Finding, Flags, Request};
use model::seam::{JobPlacement, Subject, SubjectError};
use model::workload::EngineKind;
use plan::Origin;
use std::sync::Arc;
use trace::intake::{Rows, RowsError};

/// The errno by which direct I/O is refused.
const EINVAL: i32 = 22;

/// Requests that were made, in the order in which they were due.
pub(crate) struct Made {
    requests: Vec<Planned>,
    times: Vec<Times>,
    origins: Vec<Origin>,
    /// Places of the requests, by when they were due.
    order: Vec<u32>,
}

/// Makes the requests.
/// Errors: a target that cannot be opened or is refused; interruption.
pub(crate) fn make(
    plan: Plan,
    target: &ReplayTarget,
    clock: &HostClock,
    control: &Arc<Control>,
) -> anyhow::Result<Made> {
    let Plan { requests, origins, depth, largest_bytes, .. } = plan;
    let placement = JobPlacement {
        engine: EngineKind::IoUring,
        direct: true,
        is_urgent: true,
        depth,
        block_bytes: largest_bytes,
        file_bytes: target.size_bytes,
        ..JobPlacement::default()
    };
    let job = (placement, Replay::new(requests, depth));
    let (own, control) = (clock.clone(), control.clone());
    let ran = match &target.kind {
        ReplayTargetKind::Device { path, number, permit } => {
            let (path, permit) = (path.clone(), permit.clone());
            run_on(BlockDevice::new(path, *number, permit, own, control), job)
        }
        ReplayTargetKind::File { path, may_write } => {
            run_on(RegularFile::new(path.clone(), *may_write, own, control), job)
        }
    };
    let (requests, times) = ran.map_err(of_subject)?.into_times().map_err(|errno| {
        let why = std::io::Error::from_raw_os_error(errno);
        let remedy = if errno == EINVAL {
            "; it does not support O_DIRECT, choose another \
                                           target"
        } else {
            ""
        };
        failure(Fault::Usage, format!("failed to open {}: {why}{remedy}", target.path.display()))
    })?;
    let mut order: Vec<u32> = (0..requests.len() as u32).collect();
    let due_ns = |place: &u32| times.get(*place as usize).and_then(|times| times.due_ns);
    order.retain(|place| due_ns(place).is_some());
    order.sort_by_key(due_ns);
    Ok(Made { requests, times, origins, order })
}

/// Runs the job on a subject, and cleans up.
fn run_on(mut subject: impl Subject, job: (JobPlacement, Replay)) -> Result<Replay, SubjectError> {
    subject.prepare()?;
    let mut done = subject.run(vec![job])?;
    subject.clean_up()?;
    let none = || SubjectError::Failed("the job is gone; this is a bug".into());
    done.pop().map(|(job, _)| job).ok_or_else(none)
}

fn of_subject(error: SubjectError) -> anyhow::Error {
    let fault = match error {
        SubjectError::Unavailable(_) => Fault::Usage,
        SubjectError::Failed(_) => Fault::Io,
        SubjectError::Refused(_) => Fault::Guard,
        SubjectError::Interrupted => Fault::Interrupted,
    };
    match error {
        SubjectError::Interrupted => failure(fault, "interrupted; nothing was kept"),
        other => failure(fault, other),
    }
}

impl Made {
    /// Everything of each request, by when they were due.
    fn iter(&self) -> impl Iterator<Item = (&Planned, &Times, &Origin)> {
        self.order.iter().filter_map(|place| {
            let place = *place as usize;
            let times = self.times.get(place)?;
            Some((self.requests.get(place)?, times, self.origins.get(place)?))
        })
    }

    /// Gives each as a row.
    /// Errors: what the output refuses.
    pub(crate) fn write(&self, rows: &mut impl Rows) -> Result<(), RowsError> {
        let commands = Commands::default();
        let ns = |ns: u64| i64::try_from(ns).ok();
        for (planned, times, origin) in self.iter() {
            let row = Request {
                request_id: planned.request_id,
                op: origin.op,
                flags: origin.flags | Flags::DIRECT,
                offset_bytes: origin.has_place().then_some(planned.offset_bytes),
                length_bytes: planned.length_bytes,
                queued_ns: times.due_ns.and_then(ns),
                issued_ns: ns(times.submitted_ns),
                completed_ns: ns(times.completed_ns),
                error: times.error,
                ..Request::default()
            };
            rows.push(&row, &commands)?;
        }
        Ok(())
    }

    /// What is found of them on a target of this name.
    pub(crate) fn findings(&self, target: &str, bounds: Bounds) -> Vec<Finding> {
        let mut lateness = Lateness::default();
        for (_, times, origin) in self.iter() {
            lateness.add(&Remade {
                op: origin.op,
                due_ns: times.due_ns.unwrap_or(times.submitted_ns),
                submitted_ns: times.submitted_ns,
                completed_ns: times.completed_ns,
                target_ns: times.target_ns,
                recorded_ns: origin.recorded_ns,
                is_hole: origin.is_hole,
                has_failed: times.error != 0,
            });
        }
        lateness.findings(target, bounds)
    }
}

/// Findings of what a plan changed and left out.
pub(crate) fn of_plan(plan: &Plan) -> Vec<Finding> {
    let run = About::this_run();
    let of = |subject: &About, name: &str, count: u64| {
        Finding::new(subject, name, Some(count as f64), count, "replayed")
    };
    let changed = [
        of(&run, "replay_rounded_count", plan.rounded),
        of(&run, "replay_wrapped_count", plan.wrapped),
    ];
    let left_out = plan.left_out.iter().map(|(reason, count)| {
        of(&About::class("left out", reason), "replay_left_out_count", *count)
    });
    changed.into_iter().chain(left_out).collect()
}
