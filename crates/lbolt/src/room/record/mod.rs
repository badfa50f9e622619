//! A capture from beginning to end: which devices, what runs meanwhile, when it is over, and where
//! the rows go.
//!
//! Non-goals: the capture itself (`trace::capture`), what the rows mean.

pub(crate) mod areas;
mod cost;
mod devices;
mod flight;
mod load;
mod method;
mod trigger;
mod witness;

pub(crate) use cost::{Cost, measure as measure_slowdown, thread_cpu_ns};
pub(crate) use devices::{Devices, resolve};
pub(crate) use flight::Flight;
pub(crate) use load::Load;
pub(crate) use method::CaptureMethod;
pub(crate) use trigger::Condition;
pub(crate) use trigger::Trigger;
pub(crate) use witness::{Completions, Readings, Witness};

use crate::command::note;
use crate::exit::of_records;
use host::drive::Control;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use trace::capture::{CaptureOptions, Method, Tracer, TracerError};
use trace::intake::{Epoch, Intake, RowsError};

/// How often the ring is emptied: seldom enough to cost little, often enough that it holds what
/// comes meanwhile.
pub(crate) const POLL: Duration = Duration::from_millis(20);

/// How often what a kill is to leave is written.
const KEEP_EVERY: Duration = Duration::from_secs(1);

/// What is captured, and until when.
pub(crate) struct Plan {
    pub(crate) capture: CaptureOptions,
    pub(crate) method: Method,
    pub(crate) duration: Option<Duration>,
}

/// What others see of a capture while it goes on: its progress line, and whoever counts its rows as
/// the kernel does.
#[derive(Debug, Default)]
pub(crate) struct Live {
    pub(crate) readings: Arc<Readings>,
    pub(crate) requests: AtomicU64,
    pub(crate) lost: AtomicU64,
}

/// Why a capture was over.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The command ended.
    Command,
    /// The time was over.
    Time,
    /// A signal.
    Signal,
    /// What the flight recorder was waiting for.
    Trigger(String),
}

/// What a capture leaves beside the rows.
pub(crate) struct Captured {
    pub(crate) end: End,
    pub(crate) cost: Cost,
    /// The kernel's own counts meanwhile.
    pub(crate) witness: Witness,
    /// Why the output took no more.
    pub(crate) refused: Option<RowsError>,
}

/// Captures into an intake until something ends it; what is in the ring then is taken too. A
/// command that still runs is left running: see [`Load::end`].
///
/// # Errors
/// A kernel that refuses the capture, or a command that cannot be started: nothing was captured
/// then.
pub(crate) fn capture(
    plan: &Plan,
    devices: &Devices,
    intake: &mut Intake,
    load: &mut Load,
    control: &Control,
    live: &Arc<Live>,
    mut is_triggered: impl FnMut() -> Option<String>,
) -> anyhow::Result<Captured> {
    let mut capture = begin(plan, intake)?;
    let zero_ns = set_clock(intake);
    let mut witness = Witness::begin(devices, zero_ns, live.readings.clone());
    load.begin()?;
    let began = Instant::now();
    let mut cost = Cost::begin();
    let mut taking =
        Taking { capture: &mut capture, intake, live, kept: Instant::now(), refused: None };
    let end = loop {
        std::thread::sleep(POLL);
        taking.take();
        cost.poll(taking.capture);
        if taking.refused.is_some() || control.stop.load(Ordering::Relaxed) {
            break End::Signal;
        }
        if load.is_over() {
            break End::Command;
        }
        if plan.duration.is_some_and(|limit| began.elapsed() >= limit) {
            break End::Time;
        }
        if let Some(why) = is_triggered() {
            break End::Trigger(why);
        }
    };
    cost.end(taking.capture);
    witness.end();
    // What was captured is kept, whatever the kernel says to its end: dropping it detaches, too.
    let second = taking.capture.second_source();
    let stopped = taking.capture.stop();
    if taking.refused.is_none() {
        taking.take();
    }
    let refused = taking.refused;
    if let Some(second) = second {
        intake.note("second_source", second);
    }
    let counted = stopped.and_then(|()| count_losses(&capture, intake));
    if let Err(error) = counted {
        intake.note("lost.unknown", format!("failed to {error}"));
    }
    Ok(Captured { end, cost, witness, refused })
}

/// By the method that was asked for, or the one that works.
fn begin(plan: &Plan, intake: &mut Intake) -> anyhow::Result<Tracer> {
    let (capture, why_not_bpf) = Tracer::load(&plan.capture, plan.method).map_err(of_records)?;
    intake.note("method", capture.name().to_owned());
    if let Some(why) = why_not_bpf {
        note(&format!(
            "captured by perf, whose events name no requests: they are matched by place, which is \
             inexact. \
             BPF would be exact, but failed to {why}"
        ));
        intake.note("method.why", format!("BPF failed to {why}"));
    }
    Ok(capture)
}

/// One emptying of the ring after the other.
struct Taking<'a, 'b> {
    capture: &'a mut Tracer,
    intake: &'a mut Intake<'b>,
    live: &'a Live,
    /// When it was kept for the case of a kill.
    kept: Instant,
    refused: Option<RowsError>,
}

impl Taking<'_, '_> {
    fn take(&mut self) {
        match self.capture.drain(self.intake) {
            Ok(drained) => self.intake.counts_mut().rejected += drained.malformed,
            Err(refused) => self.refused = Some(refused),
        }
        if self.refused.is_none() && self.kept.elapsed() >= KEEP_EVERY {
            self.kept = Instant::now();
            self.refused = self.intake.keep().err();
        }
        let lost = self.capture.losses().map_or(0, |losses| losses.records.iter().sum());
        self.live.lost.store(lost, Ordering::Relaxed);
        self.live.requests.store(self.intake.seen(), Ordering::Relaxed);
    }
}

/// Times are CLOCK_MONOTONIC's, counted from now; what it shows now, in ns.
fn set_clock(intake: &mut Intake) -> i64 {
    let monotonic_ns = set_epoch(intake);
    intake.set_zero(monotonic_ns);
    monotonic_ns
}

/// Times are CLOCK_MONOTONIC's; what it shows now, in ns.
pub(crate) fn set_epoch(intake: &mut Intake) -> i64 {
    use rustix::time::{ClockId, clock_gettime};
    let ns = |clock| {
        let time = clock_gettime(clock);
        time.tv_sec * 1_000_000_000 + time.tv_nsec
    };
    let (wall_ns, monotonic_ns) = (ns(ClockId::Realtime), ns(ClockId::Monotonic));
    intake.set_clock("CLOCK_MONOTONIC", Epoch::At(wall_ns - monotonic_ns));
    monotonic_ns
}

/// What the kernel could not keep, in all and by CPU.
pub(crate) fn count_losses(capture: &Tracer, intake: &mut Intake) -> Result<(), TracerError> {
    let losses = capture.losses()?;
    for (cpu, lost) in losses.records.iter().enumerate().filter(|(_, lost)| **lost > 0) {
        intake.note(&format!("lost.cpu.{cpu}"), lost.to_string());
    }
    if losses.runs > 0 {
        intake.note("lost.runs", losses.runs.to_string());
    }
    let counts = intake.counts_mut();
    counts.lost += losses.records.iter().sum::<u64>() + losses.runs + losses.second;
    counts.queue_time_missed += losses.queue_times.iter().sum::<u64>();
    Ok(())
}
