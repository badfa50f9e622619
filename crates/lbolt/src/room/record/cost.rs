//! What the tracer itself costs, measured on this machine while it traces: the CPU time of the
//! programs in the kernel, that of lbolt's own thread, and, if it is asked for, how many requests a
//! second less there are.

use super::{Devices, Load, Plan, set_clock, witness};
use crate::exit::{Fault, failure, of_records};
use host::device::Tree;
use host::drive::Control;
use model::doubt::{Code, Doubt, Judgement};
use model::record::requests::Counts;
use model::record::{Commands, Finding, Interval, Request, Subject};
use rustix::time::{ClockId, clock_gettime};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use trace::bpf::RunCounting;
use trace::capture::Tracer;
use trace::intake::{Intake, Rows, RowsError};

/// A window with the tracer, or without it.
const WINDOW: Duration = Duration::from_millis(500);
/// Pairs of windows.
const PAIRS: usize = 8;

/// The kernel counts what the programs cost during one of so many emptyings of the ring: counting
/// costs, too.
const COUNTED_ONE_OF: u64 = 16;

/// The cost of a capture while it goes on.
#[derive(Debug)]
pub(crate) struct Cost {
    /// Before the capture, then during it.
    consumer_ns: u64,
    polls: u64,
    /// While it lives, the kernel counts.
    counting: Option<(RunCounting, Instant, (u64, u64))>,
    counted: Duration,
    runs: u64,
    programs_ns: u64,
}

impl Cost {
    /// From now on.
    pub(crate) fn begin() -> Self {
        Self {
            consumer_ns: thread_cpu_ns(),
            polls: 0,
            counting: None,
            counted: Duration::ZERO,
            runs: 0,
            programs_ns: 0,
        }
    }

    /// The ring was emptied. Where the kernel does not count, the cost of its programs is not
    /// measured.
    pub(crate) fn poll(&mut self, capture: &Tracer) {
        self.end(capture);
        if self.polls.is_multiple_of(COUNTED_ONE_OF) {
            let counting = RunCounting::start().ok();
            self.counting = counting.map(|counting| (counting, Instant::now(), totals(capture)));
        }
        self.polls += 1;
    }

    /// Until now; before the programs are detached, which ends their counts. What was counted at
    /// other times, because somebody else asked for it, is left out.
    pub(crate) fn end(&mut self, capture: &Tracer) {
        if let Some((_, since, (runs, ns))) = self.counting.take() {
            let (runs_now, ns_now) = totals(capture);
            self.counted += since.elapsed();
            self.runs += runs_now - runs;
            self.programs_ns += ns_now - ns;
        }
    }

    /// So much of this thread's time was for something else, such as loading the programs.
    pub(crate) fn leave_out(&mut self, time_ns: u64) {
        self.consumer_ns += time_ns;
    }

    /// All that was captured is in the file.
    pub(crate) fn written(&mut self) {
        self.consumer_ns = thread_cpu_ns().saturating_sub(self.consumer_ns);
    }

    /// The findings: of the kernel's programs, and of lbolt's own thread.
    pub(crate) fn findings(&self, counts: &Counts) -> Vec<Finding> {
        let runs = self.runs;
        let each = (runs > 0).then(|| self.programs_ns as f64 / runs as f64);
        let counted_ns = self.counted.as_nanos() as f64;
        let share = (runs > 0).then(|| 100.0 * self.programs_ns as f64 / counted_ns);
        let requests = counts.requests;
        let consumer = (requests > 0).then(|| self.consumer_ns as f64 / requests as f64);
        let kernel = "the kernel's own count (bpf_stats) in one sixteenth of the time; it includes \
            some 20 ns of counting";
        let own = "CPU time of lbolt's thread, from the ring into the file";
        vec![
            finding("tracer_ns_per_event", each, runs, kernel),
            finding("tracer_percent", share, runs, kernel),
            finding("consumer_ns_per_request", consumer, requests, own),
        ]
    }
}

/// Runs of all programs so far, and their time in ns.
fn totals(capture: &Tracer) -> (u64, u64) {
    let times = capture.run_times();
    times.iter().fold((0, 0), |(runs, ns), program| (runs + program.runs, ns + program.time_ns))
}

/// CPU time of this thread so far.
pub(crate) fn thread_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    (time.tv_sec * 1_000_000_000 + time.tv_nsec) as u64
}

fn finding(name: &str, value: Option<f64>, count: u64, method: &str) -> Finding {
    let untraced = || Judgement::not_measured(Doubt::new(Code::NothingTraced, []));
    let finding = Finding::new(&Subject::this_run(), name, value, count, method);
    if value.is_some() { finding } else { finding.judged(untraced()) }
}

/// Rows that go nowhere: of a window that is only to cost what a capture costs.
#[derive(Debug)]
struct Nowhere;

impl Rows for Nowhere {
    fn push(&mut self, _: &Request, _: &Commands) -> Result<(), RowsError> {
        Ok(())
    }
}

/// How many requests a second less there are with the tracer, in interleaved pairs of windows while
/// the load runs: the median of the pairs, and the spread between them.
///
/// # Errors
/// A capture that the kernel refuses; a load that ends before, or does nothing.
pub(crate) fn measure(
    plan: &Plan,
    devices: &Devices,
    load: &mut Load,
    control: &Control,
) -> anyhow::Result<Finding> {
    load.begin()?;
    let mut losses = Vec::with_capacity(PAIRS);
    for pair in 0..PAIRS {
        // Which goes first alternates, so that a drift falls on both alike.
        let with_first = pair % 2 == 1;
        let first = window(plan, devices, with_first)?;
        let second = window(plan, devices, !with_first)?;
        let (with, without) = if with_first { (first, second) } else { (second, first) };
        if control.stop.load(Ordering::Relaxed) {
            return Err(failure(Fault::Interrupted, "interrupted; nothing was captured"));
        }
        if load.is_over() {
            let sentence = format!(
                "the load ended within the {} s in which the overhead is measured; give it longer",
                (2 * PAIRS as u32 * WINDOW).as_secs()
            );
            return Err(failure(Fault::Usage, sentence));
        }
        if without > 0.0 {
            losses.push(100.0 * (1.0 - with / without));
        }
    }
    if losses.is_empty() {
        let sentence =
            "no requests were answered while the overhead was to be measured; start a load first";
        return Err(failure(Fault::Usage, sentence));
    }
    losses.sort_by(f64::total_cmp);
    let (low, high) = (losses[0], losses[losses.len() - 1]);
    let method = "median of interleaved pairs of half a second, by the kernel's own count; low and \
        high are their extremes";
    let median = (losses[(losses.len() - 1) / 2] + losses[losses.len() / 2]) / 2.0;
    let count = losses.len() as u64;
    Ok(finding("tracer_slowdown_percent", Some(median), count, method)
        .within(Interval::Extremes, (Some(low), Some(high))))
}

/// Requests a second in a window.
fn window(plan: &Plan, devices: &Devices, is_traced: bool) -> anyhow::Result<f64> {
    let mut nowhere = Nowhere;
    let mut intake = Intake::new(&mut nowhere, "capture");
    let mut capture = match is_traced {
        true => Some(Tracer::load(&plan.capture, plan.method).map_err(of_records)?.0),
        false => None,
    };
    set_clock(&mut intake);
    let (began, before) = (Instant::now(), answered(devices));
    while began.elapsed() < WINDOW {
        std::thread::sleep(super::POLL);
        if let Some(capture) = &mut capture {
            capture.drain(&mut intake).map_err(of_records)?;
        }
    }
    let answered = answered(devices).saturating_sub(before);
    Ok(answered as f64 / began.elapsed().as_secs_f64())
}

/// Requests that the captured devices answered since they are there.
fn answered(devices: &Devices) -> u64 {
    let tree = Tree::system();
    devices.captured().filter_map(|device| witness::completed(&tree, device)).sum()
}
