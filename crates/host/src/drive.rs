//! Runs jobs: a thread each, in which the job says what to do next and the
//! engine does it. This loop is inside every measured request.

use crate::account::process_cpu_ns;
use crate::children::cpu_ns;
use crate::clock::{HostClock, clock_ns};
use crate::compute::Computers;
use crate::engine::{self, JobFile, Visitor};
use crate::scheduling::set_policy;
use model::job_role::JobRole;
use model::seam::{
    Clock, Completion, Engine, Job, JobCpu, JobPlacement, SubjectError, TimedCompletion, Turn,
};
use model::workload::IoPriority;
use rustix::thread::{CpuSet, sched_setaffinity};
use rustix::time::ClockId;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, mpsc};

/// What the world outside sees of running jobs, and how it stops them.
#[derive(Debug, Default)]
pub struct Control {
    /// Set by a signal: jobs end at their next turn.
    pub stop: Arc<AtomicBool>,
    /// Bytes moved so far, by all jobs, for the progress display.
    pub bytes: AtomicU64,
    /// CPU time of job threads outside their jobs, ns: buffers, rings, waiting for the start.
    pub(crate) setup_cpu_ns: AtomicU64,
    /// A job of the present run failed: the others would run for nothing, or for ever.
    gave_up: AtomicBool,
}

impl Control {
    /// Whether the user wants to stop.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// What was to stop has stopped: a further signal is for what is left to do.
    pub fn go_on(&self) {
        self.stop.store(false, Ordering::Relaxed);
    }
}

/// The longest that a job sleeps before it looks whether it is to stop.
const SLEEP_NS_MAX: u64 = 100_000_000;

/// Completions that were found together and are handled one after the other.
#[derive(Default)]
struct Batch {
    completions: Vec<Completion>,
    handled: usize,
    found_ns: u64,
}

impl Batch {
    #[inline(always)]
    fn next(&mut self) -> Option<TimedCompletion> {
        let c = self.completions.get(self.handled).copied()?;
        self.handled += 1;
        Some(TimedCompletion {
            token: u64::from(c.token),
            result: c.result,
            found_ns: self.found_ns,
        })
    }

    #[inline(always)]
    fn is_empty(&self) -> bool {
        self.handled == self.completions.len()
    }

    /// Lets an engine add what it finds. An engine that completes as it submits is asked only when
    /// all before is handled (its depth is 1), so that one stamp is every completion's own.
    #[inline(always)]
    fn fill(
        &mut self,
        clock: &HostClock,
        engine: impl FnOnce(&mut Vec<Completion>) -> io::Result<()>,
    ) -> io::Result<()> {
        if self.is_empty() {
            self.completions.clear();
            self.handled = 0;
        }
        let before = self.completions.len();
        engine(&mut self.completions)?;
        if self.completions.len() > before {
            self.found_ns = clock.now_ns();
        }
        Ok(())
    }
}

/// Turns the job until it is done.
fn turn_all<J: Job, E: Engine>(
    job: &mut J,
    engine: &mut E,
    computers: &mut Computers,
    clock: &HostClock,
    control: &Control,
) -> io::Result<Marks> {
    let mut marks = Marks::default();
    let mut batch = Batch::default();
    let mut unreported = 0;
    while !control.is_stopped() && !control.gave_up.load(Ordering::Relaxed) {
        let completion = batch.next();
        if let Some(completion) = completion {
            unreported += completion.result.max(0);
            if unreported > 1 << 22 {
                control.bytes.fetch_add(unreported as u64, Ordering::Relaxed);
                unreported = 0;
            }
        }
        match job.turn(clock, completion) {
            Turn::Submit(request) => batch.fill(clock, |found| engine.submit(&request, found))?,
            // What is found already is handled first.
            Turn::Wait { .. } if !batch.is_empty() => {}
            Turn::Wait { min, until_ns } => {
                let timeout_ns = match (min, until_ns) {
                    (0, _) => 0,
                    (_, u64::MAX) => u64::MAX,
                    (_, until_ns) => until_ns.saturating_sub(clock.now_ns()).min(SLEEP_NS_MAX),
                };
                batch.fill(clock, |found| engine.reap(min, timeout_ns, found))?;
            }
            Turn::Compute { arithmetic, loops } => computers
                .run(arithmetic, loops)
                .ok_or_else(|| io::Error::other("the placement does not compute with that"))?,
            Turn::Mark => marks.set(),
            Turn::Done => return Ok(marks),
        }
    }
    Err(io::ErrorKind::Interrupted.into())
}

/// The running thread's CPU time so far.
fn thread_cpu() -> JobCpu {
    let (user_ns, system_ns) = cpu_ns(libc::RUSAGE_THREAD);
    JobCpu { user_ns, system_ns, ..JobCpu::default() }
}

/// The running thread's CPU time so far, ns, both modes together: finer than the former.
fn thread_cpu_ns() -> u64 {
    clock_ns(ClockId::ThreadCPUTime)
}

/// The marks that a job set. The first reads the clock twice, so that what a reading costs is
/// known and deducted, as the program of Bucher & Hayes (1980, appendix A) does.
#[derive(Debug, Default)]
struct Marks {
    first_ns: Option<u64>,
    last_ns: u64,
    reading_ns: u64,
    /// The whole process's clock, read outside of what the thread's own is read around.
    process_first_ns: u64,
    process_last_ns: u64,
}

impl Marks {
    #[cold]
    fn set(&mut self) {
        if self.first_ns.is_some() {
            self.last_ns = thread_cpu_ns();
            self.process_last_ns = process_cpu_ns();
        } else {
            self.process_first_ns = process_cpu_ns();
            self.last_ns = thread_cpu_ns();
            let again_ns = thread_cpu_ns();
            self.reading_ns = again_ns.saturating_sub(self.last_ns);
            self.last_ns = again_ns;
            self.first_ns = Some(again_ns);
        }
    }

    /// CPU time between the first mark and the last; none where there are no two.
    fn timed_ns(&self) -> Option<u64> {
        let timed_ns = self.last_ns.checked_sub(self.first_ns?)?;
        (timed_ns > 0).then(|| timed_ns.saturating_sub(self.reading_ns))
    }

    /// The whole process's CPU time between the first mark and the last.
    fn process_ns(&self) -> Option<u64> {
        self.process_last_ns.checked_sub(self.process_first_ns).filter(|ns| *ns > 0)
    }
}

/// Lets a sleep end when it is due: by default the kernel may let it last 50 us longer.
fn sleep_exactly() {
    // SAFETY: prctl with plain numbers changes this thread's timer slack and nothing else.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}

/// Lets everything else go before this thread, where the placement says so.
fn be_background(placement: &JobPlacement) -> io::Result<()> {
    if !placement.is_background {
        return Ok(());
    }
    set_policy(libc::SCHED_IDLE, 0)
}

/// Gives this thread's requests the placement's priority (ioprio_set(2); Linux
/// include/uapi/linux/ioprio.h).
fn prioritize(placement: &JobPlacement) -> io::Result<()> {
    const THIS_THREAD: libc::c_long = 1;
    const CLASS_SHIFT: u32 = 13;
    let (class, level) = match placement.priority {
        None => return Ok(()),
        Some(IoPriority::RealTime) => (1, 0),
        Some(IoPriority::Lowest) => (2, 7),
        Some(IoPriority::Idle) => (3, 0),
    };
    let priority: libc::c_long = (class << CLASS_SHIFT) | level;
    // SAFETY: the call takes numbers, of which 0 means this thread.
    let set = unsafe { libc::syscall(libc::SYS_ioprio_set, THIS_THREAD, 0, priority) };
    if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Lets nothing else go before this thread, where the placement says so, a right to it is there,
/// and there is another CPU for everything else. The kernel takes a share of the time back from a
/// thread that never sleeps. What this thread starts is as urgent as anything else.
fn be_urgent(placement: &JobPlacement) {
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    if !placement.is_urgent || cpus < 2 {
        return;
    }
    // Without the right to it the job runs as it is, and says how late that made it.
    let _ = set_policy(libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, 1);
}

/// Binds this thread to the placement's CPU, where it has one: after the engine is made, whose own
/// threads are bound to none.
fn bind(placement: &JobPlacement) -> io::Result<()> {
    let Some(cpu) = placement.cpu else { return Ok(()) };
    let mut one = CpuSet::new();
    one.set(cpu as usize);
    Ok(sched_setaffinity(None, &one)?)
}

/// The common start of all jobs: each says that it is ready, and waits.
struct Start {
    ready: mpsc::Sender<()>,
    gate: Arc<RwLock<bool>>,
}

impl Start {
    /// Waits for the others; an error if one of them could not begin, which says why itself.
    fn wait(self) -> io::Result<()> {
        let Self { ready, gate } = self;
        // Nobody listens any more only where the run is given up, which the gate says.
        let _ = ready.send(());
        // Whoever counts the ready ones hears of one that will never be by all having hung up.
        drop(ready);
        match *gate.read().unwrap_or_else(PoisonError::into_inner) {
            true => Ok(()),
            false => Err(io::ErrorKind::Interrupted.into()),
        }
    }
}

/// A job with everything but its engine.
struct Ready<'a, J> {
    job: &'a mut J,
    placement: &'a JobPlacement,
    computers: Computers,
    clock: &'a HostClock,
    control: &'a Control,
    start: Start,
}

impl<J: Job> Visitor for Ready<'_, J> {
    type Output = io::Result<JobCpu>;

    /// Everything is ready before the start; only the job's own turns come after it.
    fn visit<E: Engine>(mut self, engine: io::Result<E>) -> io::Result<JobCpu> {
        bind(self.placement)?;
        self.start.wait()?;
        let mut engine = engine?;
        let before = thread_cpu();
        let marks = turn_all(self.job, &mut engine, &mut self.computers, self.clock, self.control)?;
        let after = thread_cpu();
        Ok(JobCpu {
            user_ns: after.user_ns.saturating_sub(before.user_ns),
            system_ns: after.system_ns.saturating_sub(before.system_ns),
            timed_ns: marks.timed_ns(),
            process_ns: marks.process_ns(),
        })
    }
}

/// Builds the placement's engine and turns the job over it.
fn run_lane<J: Job>(
    job: &mut J,
    placement: &JobPlacement,
    file: JobFile,
    clock: &HostClock,
    control: &Control,
    start: Start,
) -> io::Result<JobCpu> {
    be_background(placement)?;
    prioritize(placement)?;
    placement.group.as_deref().map_or(Ok(()), crate::group::join)?;
    be_urgent(placement);
    let computers = Computers::new(&placement.arithmetic);
    let ready = Ready { job, placement, computers, clock, control, start };
    engine::make(file, placement, ready)
}

/// Has the other jobs stop when this one's thread panics.
struct Unwinding<'a>(&'a Control);

impl Drop for Unwinding<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.gave_up.store(true, Ordering::Relaxed);
        }
    }
}

/// One job's thread from its beginning to its end, its own work set apart from what surrounds it.
fn thread_main<J: Job>(
    mut placed: (JobPlacement, JobFile, J),
    clock: &HostClock,
    control: &Control,
    start: Start,
) -> (JobPlacement, J, io::Result<JobCpu>) {
    let _unwinding = Unwinding(control);
    sleep_exactly();
    let (placement, file, job) = (&placed.0, placed.1, &mut placed.2);
    let cpu = run_lane(job, placement, file, clock, control, start);
    if cpu.is_err() {
        control.gave_up.store(true, Ordering::Relaxed);
    }
    let all = thread_cpu();
    let own = cpu.as_ref().map_or(0, |own| own.user_ns + own.system_ns);
    let setup_ns = (all.user_ns + all.system_ns).saturating_sub(own);
    control.setup_cpu_ns.fetch_add(setup_ns, Ordering::Relaxed);
    (placed.0, placed.2, cpu)
}

/// Runs all jobs at once to their ends, one thread each.
/// Errors: `Interrupted` if the user stopped them; otherwise the first interface's failure.
pub(crate) fn run_all<J: Job>(
    jobs: Vec<(JobPlacement, JobFile, J)>,
    clock: &HostClock,
    control: &Control,
) -> Result<Vec<(J, JobCpu)>, SubjectError> {
    let count = jobs.len();
    control.gave_up.store(false, Ordering::Relaxed);
    let gate = Arc::new(RwLock::new(false));
    let (ready, are_ready) = mpsc::channel();
    let outcomes = std::thread::scope(|scope| {
        let mut closed = gate.write().unwrap_or_else(PoisonError::into_inner);
        let mut threads = Vec::with_capacity(count);
        for placed in jobs {
            let start = Start { ready: ready.clone(), gate: gate.clone() };
            let builder = std::thread::Builder::new().name(JobRole::thread_name(placed.0.role));
            let run = move || thread_main(placed, clock, control, start);
            threads.push(builder.spawn_scoped(scope, run)?);
        }
        drop(ready);
        // A thread that ends before it is ready hangs up, so that this does not wait for ever.
        *closed = are_ready.iter().take(count).count() == count;
        drop(closed);
        Ok(threads.into_iter().map(std::thread::ScopedJoinHandle::join).collect::<Vec<_>>())
    });
    let outcomes = outcomes.map_err(|e: io::Error| {
        SubjectError::Unavailable(format!(
            "failed to start a thread for one of {count} jobs ({e}); give a smaller --numjobs"
        ))
    })?;
    settle(outcomes, control)
}

/// What one job's thread left: nothing if it panicked.
type Left<J> = std::thread::Result<(JobPlacement, J, io::Result<JobCpu>)>;

/// All jobs with their CPU time; where one failed, what it met, and not that the others stopped.
fn settle<J>(outcomes: Vec<Left<J>>, control: &Control) -> Result<Vec<(J, JobCpu)>, SubjectError> {
    let mut done = Vec::with_capacity(outcomes.len());
    let mut error = None;
    for outcome in outcomes {
        match outcome {
            Ok((_, job, Ok(cpu))) => done.push((job, cpu)),
            Ok((_, _, Err(e))) if e.kind() == io::ErrorKind::Interrupted => {}
            Ok((placement, _, Err(e))) => error = error.or(Some(engine::refusal(&placement, &e))),
            Err(_) => {
                let sentence = "a job's thread panicked; this is a bug";
                error = error.or(Some(SubjectError::Failed(sentence.into())));
            }
        }
    }
    match error {
        Some(error) => Err(error),
        None if control.is_stopped() => Err(SubjectError::Interrupted),
        None => Ok(done),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn completions_come_in_order_with_the_stamp_of_their_batch_and_keep_no_memory() {
        let clock = HostClock::by_kernel();
        let mut batch = Batch::default();
        let find = |tokens: &'static [u32]| {
            |found: &mut Vec<Completion>| {
                found.extend(tokens.iter().map(|token| Completion { token: *token, result: 0 }));
                Ok(())
            }
        };
        batch.fill(&clock, find(&[1, 2])).unwrap();
        let (first, found_ns) = (batch.next().unwrap(), batch.found_ns);
        // A submission that completes nothing yet changes no stamp.
        batch.fill(&clock, find(&[])).unwrap();
        let second = batch.next().unwrap();
        assert_eq!((first.token, second.token), (1, 2));
        assert_eq!((first.found_ns, second.found_ns), (found_ns, found_ns));
        assert!(batch.next().is_none());
        for _ in 0..1000 {
            batch.fill(&clock, find(&[7])).unwrap();
            assert!(batch.next().is_some() && batch.completions.len() == 1);
        }
    }
}
