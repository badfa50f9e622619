//! Runs jobs: a thread each, in which the job says what to do next and the
//! engine does it. This loop is inside every measured request.

use crate::clock::HostClock;
use crate::engine::{Blocking, Buffers, IoUring, JobFile, Null, Psync, Sync as SyncCalls};
use model::seam::{Clock, Completion, Engine, Job, JobCpu, Lane, SubjectError, Turn};
use model::workload::EngineKind;
use std::io;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What the world outside sees of running jobs, and how it stops them.
#[derive(Debug, Default)]
pub struct Control {
    /// Set by a signal: jobs end at their next turn.
    pub stop: std::sync::Arc<AtomicBool>,
    /// Bytes moved so far, by all jobs, for the progress display.
    pub bytes: AtomicU64,
}

impl Control {
    /// Whether the user wants to stop.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Turns the job until it is done.
fn turn_all<J: Job, E: Engine>(
    job: &mut J,
    engine: &mut E,
    clock: &HostClock,
    control: &Control,
) -> io::Result<()> {
    let mut completions: Vec<Completion> = Vec::with_capacity(64);
    let mut event = None;
    let mut unreported = 0;
    while !control.is_stopped() {
        match job.turn(clock, event.take()) {
            Turn::Submit(request) => engine.submit(&request, &mut completions)?,
            Turn::Wait { min, until_ns } => {
                let timeout_ns = match until_ns {
                    u64::MAX => u64::MAX,
                    until_ns => until_ns.saturating_sub(clock.now_ns()),
                };
                engine.reap(min, timeout_ns, &mut completions)?;
            }
            Turn::Done => return Ok(()),
        }
        event = completions.pop();
        if let Some(completion) = event {
            unreported += completion.result.max(0);
            if unreported > 1 << 22 {
                control.bytes.fetch_add(unreported as u64, Ordering::Relaxed);
                unreported = 0;
            }
        }
    }
    Err(io::ErrorKind::Interrupted.into())
}

/// The running thread's CPU time so far.
fn thread_cpu() -> JobCpu {
    // SAFETY: getrusage fills the whole structure, which is plain data.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &mut usage);
        usage
    };
    let ns = |t: libc::timeval| t.tv_sec as u64 * 1_000_000_000 + t.tv_usec as u64 * 1_000;
    JobCpu { user_ns: ns(usage.ru_utime), system_ns: ns(usage.ru_stime) }
}

/// Builds the lane's engine and turns the job over it. One `match` for the whole job,
/// so that the loop is compiled for each engine.
fn run_lane<J: Job>(
    job: &mut J,
    lane: &Lane,
    file: JobFile,
    clock: &HostClock,
    control: &Control,
    start: &Barrier,
) -> io::Result<JobCpu> {
    /// Everything is ready before the barrier; only the job's own turns come after it.
    fn timed<J: Job, E: Engine>(
        job: &mut J,
        engine: io::Result<E>,
        clock: &HostClock,
        control: &Control,
        start: &Barrier,
    ) -> io::Result<JobCpu> {
        start.wait();
        let mut engine = engine?;
        let before = thread_cpu();
        turn_all(job, &mut engine, clock, control)?;
        let after = thread_cpu();
        Ok(JobCpu {
            user_ns: after.user_ns - before.user_ns,
            system_ns: after.system_ns - before.system_ns,
        })
    }
    let buffers = || Buffers::new(lane.depth, lane.block_bytes);
    match lane.engine {
        EngineKind::Null => timed(job, Ok(Null), clock, control, start),
        EngineKind::Sync => timed(
            job,
            buffers().map(|b| Blocking::<SyncCalls>::new(file, b)),
            clock,
            control,
            start,
        ),
        EngineKind::Psync => {
            timed(job, buffers().map(|b| Blocking::<Psync>::new(file, b)), clock, control, start)
        }
        EngineKind::IoUring => {
            let engine = buffers().and_then(|b| IoUring::new(file, b, lane.depth));
            timed(job, engine, clock, control, start)
        }
    }
}

/// Runs all jobs at once to their ends, one thread each.
///
/// # Errors
/// `Interrupted` if the user stopped them; otherwise the first interface's failure.
pub(crate) fn run_all<J: Job>(
    jobs: Vec<(Lane, JobFile, J)>,
    clock: &HostClock,
    control: &Control,
) -> Result<Vec<(J, JobCpu)>, SubjectError> {
    let start = Barrier::new(jobs.len());
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = jobs
            .into_iter()
            .map(|(lane, file, mut job)| {
                let start = &start;
                scope.spawn(move || {
                    let cpu = run_lane(&mut job, &lane, file, clock, control, start);
                    (lane, job, cpu)
                })
            })
            .collect();
        threads.into_iter().map(std::thread::ScopedJoinHandle::join).collect()
    });
    outcomes
        .into_iter()
        .map(|outcome| {
            let (lane, job, cpu) = outcome.map_err(|_| {
                SubjectError::Failed("a job's thread panicked; this is a bug".into())
            })?;
            match cpu {
                Ok(cpu) => Ok((job, cpu)),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => Err(SubjectError::Interrupted),
                Err(e) => Err(engine_error(&lane, &e)),
            }
        })
        .collect()
}

/// An interface that the kernel refuses is *not measured*, with the reason.
fn engine_error(lane: &Lane, error: &io::Error) -> SubjectError {
    let name = lane.engine.name();
    match error.raw_os_error() {
        Some(libc::EPERM | libc::ENOSYS) if lane.engine == EngineKind::IoUring => {
            SubjectError::Unavailable(format!(
                "the kernel refuses io_uring ({error}); see sysctl kernel.io_uring_disabled, or give --iodepth 1"
            ))
        }
        Some(libc::ENOMEM) => SubjectError::Unavailable(format!(
            "no memory for {} requests of {} bytes: give a smaller --iodepth or --bs",
            lane.depth, lane.block_bytes
        )),
        _ => SubjectError::Failed(format!("{name}: {error}")),
    }
}
