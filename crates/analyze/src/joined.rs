//! Where an operation's time went: the passes of a room joined with the requests that were captured beside them.
//!
//! An operation's *time* T is its service time, from submission to answer, and its share of fdatasync. With the depth
//! it is not the wall time over the operations: by Little's law it is that times the operations outstanding. Its parts:
//!
//! - *program*, *kernel*: CPU time of the job's thread over the operations, in either mode; their sum is exact, and ticks
//!   of the kernel's clock say how much is whose;
//! - *admission*, *scheduler*, *device*: the times of the requests that operations waited for, over the operations.
//!   Operations can wait for no more than the time in which any request was outstanding (busy), each of them: where the
//!   requests' response times are more than depth × busy, several of an operation's ran side by side (a large one that
//!   was split, read-ahead, a flush of many pages), and their times are scaled to depth × busy;
//! - *remainder*: T less all five. It is never hidden, and below 0 where CPU and device work at the same time.
//!
//! Operations wait for what their own threads asked for (flag *job*), and in passes with fdatasync for what a kernel
//! thread (a slash is in its name: jbd2/…, kworker/…) did with somebody waiting (flag *sync*). What else a device did
//! meanwhile, writing back first of all, is beside them.
//!
//! Non-goals: measuring, capturing; which passes count (all that were captured do).

#[cfg(test)]
mod tests;

use crate::statistics::estimate;
use crate::throughput::{Judged, finding, verdict};
use model::record::{Finding, Flags, Request, Sample, Verdict};
use model::units::show_time_ns;

/// What was captured beside a pass: how many events were lost, or why nothing could be.
pub type Captured = Result<u64, String>;

/// CPU time from which on its modes can be told apart: some tens of ticks, of 1 to 10 ms.
const TICKED_NS: u64 = 100_000_000;
/// More unanswered requests than one of so many are to be told.
const UNANSWERED_ONE_OF: u64 = 100;

/// How the parts are found, for the findings.
const METHOD: &str = "mean of the captured passes, 95 % interval by Student's t";
const OF_TIME: &str = "(service times + fdatasync) / operations";
const OF_CPU: &str =
    "CPU time of the jobs' threads / operations, split by mode as the kernel's ticks saw it";
const OF_REQUESTS: &str =
    "sum over the requests waited for / operations, times min(1, depth × busy / response times)";
const OF_REMAINDER: &str = "operation_time_ns - program - kernel - admission - scheduler - device";
const OF_COUNTS: &str = "requests issued in the passes / operations";
const OF_OVERLAP: &str =
    "response times of the requests waited for / (depth × time in which any was outstanding)";

/// The quantities in the order of the parts, each with its method and whether it takes requests.
const QUANTITIES: [(&str, &str, bool); 10] = [
    ("operation_time_ns", OF_TIME, false),
    ("operation_program_ns", OF_CPU, false),
    ("operation_kernel_ns", OF_CPU, false),
    ("operation_admission_ns", OF_REQUESTS, true),
    ("operation_scheduler_ns", OF_REQUESTS, true),
    ("operation_device_ns", OF_REQUESTS, true),
    ("operation_remainder_ns", OF_REMAINDER, true),
    ("operation_requests_ratio", OF_COUNTS, true),
    ("operation_beside_ratio", OF_COUNTS, true),
    ("operation_overlap_ratio", OF_OVERLAP, true),
];

/// The requests of a pass, in sum.
#[derive(Debug, Clone, Copy, Default)]
struct Work {
    waited: u64,
    /// Of those, the ones whose answer the trace has not.
    unanswered: u64,
    beside: u64,
    admission_ns: i64,
    scheduler_ns: i64,
    device_ns: i64,
    response_ns: i64,
    busy_ns: i64,
    /// Until when busy_ns is counted.
    covered_ns: i64,
}

/// A pass and what was captured beside it.
#[derive(Debug)]
struct Pass<'a> {
    sample: &'a Sample,
    captured: &'a Captured,
    from_ns: i64,
    to_ns: i64,
    work: Work,
}

impl<'a> Pass<'a> {
    fn new(sample: &'a Sample, captured: &'a Captured) -> Self {
        let wall_ns = i64::try_from(sample.wall_ns).unwrap_or(i64::MAX);
        let (from_ns, to_ns) = (sample.started_ns, sample.started_ns.saturating_add(wall_ns));
        let work = Work { covered_ns: from_ns, ..Work::default() };
        Self { sample, captured, from_ns, to_ns, work }
    }

    fn add(&mut self, row: &Request, command: &str) {
        let is_for_sync = || row.flags.contains(Flags::SYNC) && command.contains('/');
        let is_waited_for =
            row.flags.contains(Flags::JOB) || self.sample.sync_ns > 0 && is_for_sync();
        let work = &mut self.work;
        if row.issued_ns.is_some() {
            let count = if is_waited_for { &mut work.waited } else { &mut work.beside };
            *count += 1;
            work.unanswered += u64::from(is_waited_for && row.completed_ns.is_none());
        }
        let Some(completed_ns) = row.completed_ns.filter(|_| is_waited_for) else { return };
        // Nobody in the pass waits beyond its end.
        let between = |from: Option<i64>, to: Option<i64>| match from.zip(to) {
            Some((from, to)) => to.min(self.to_ns).saturating_sub(from.min(self.to_ns)).max(0),
            None => 0,
        };
        work.device_ns += between(row.issued_ns, Some(completed_ns));
        if row.parent_id.is_some() {
            return;
        }
        let first_ns = row.queued_ns.or(row.started_ns).or(row.issued_ns);
        work.admission_ns += between(row.queued_ns, row.started_ns);
        work.scheduler_ns += between(row.started_ns, row.issued_ns);
        work.response_ns += between(first_ns, Some(completed_ns));
        let new_ns = first_ns.map(|first| first.max(work.covered_ns));
        work.busy_ns += between(new_ns, Some(completed_ns));
        work.covered_ns = work.covered_ns.max(completed_ns);
    }

    /// The values of the quantities, in their order.
    fn values(&self) -> [Option<f64>; 10] {
        let (sample, work) = (self.sample, &self.work);
        let operations = sample.operations.max(1) as f64;
        let each = |ns: f64| ns / operations;
        let time_ns = each((sample.service_sum_ns + sample.sync_ns) as f64);
        let cpu_ns = (sample.cpu_user_ns + sample.cpu_system_ns) as f64;
        // Where the timed part is known, opening and mapping are outside of it.
        let timed = sample.cpu_timed_ns.map_or(1.0, |ns| ns as f64 / cpu_ns.max(1.0));
        let program_ns = each(sample.cpu_user_ns as f64 * timed);
        let kernel_ns = each(sample.cpu_system_ns as f64 * timed);
        let depth = (sample.depth * sample.jobs).max(1) as f64;
        let overlap = work.response_ns as f64 / (depth * work.busy_ns as f64).max(1.0);
        let waited = |ns: i64| each(ns as f64) / overlap.max(1.0);
        let (admission_ns, scheduler_ns, device_ns) =
            (waited(work.admission_ns), waited(work.scheduler_ns), waited(work.device_ns));
        let parts_ns = program_ns + kernel_ns + admission_ns + scheduler_ns + device_ns;
        [
            Some(time_ns),
            Some(program_ns),
            Some(kernel_ns),
            Some(admission_ns),
            Some(scheduler_ns),
            Some(device_ns),
            Some(time_ns - parts_ns),
            Some(each(work.waited as f64)),
            Some(each(work.beside as f64)),
            (work.busy_ns > 0).then_some(overlap),
        ]
    }
}

/// Passes that are being joined with requests.
#[derive(Debug)]
pub struct Joined<'a> {
    /// In the order of time.
    passes: Vec<Pass<'a>>,
}

impl<'a> Joined<'a> {
    /// The passes that were to be captured. One that moved nothing has no operation to tell of.
    pub fn new(passes: impl IntoIterator<Item = (&'a Sample, &'a Captured)>) -> Self {
        let passes = passes.into_iter().filter(|(sample, _)| sample.operations > 0);
        let mut passes: Vec<Pass> = passes.map(|(s, captured)| Pass::new(s, captured)).collect();
        passes.sort_by_key(|pass| pass.from_ns);
        Self { passes }
    }

    /// Adds a request, in the order of arrival, with the name of the command that asked for it.
    pub fn add(&mut self, row: &Request, command: &str) {
        if row.flags.contains(Flags::OWN) {
            return;
        }
        let Some(arrival_ns) = row.arrival_ns() else { return };
        let begun = self.passes.partition_point(|pass| pass.from_ns <= arrival_ns);
        let pass = begun.checked_sub(1).and_then(|last| self.passes.get_mut(last));
        if let Some(pass) = pass.filter(|pass| arrival_ns <= pass.to_ns) {
            pass.add(row, command);
        }
    }

    /// What is found of each cell, in the order in which they were first measured.
    pub fn findings(&self) -> Vec<Finding> {
        let mut cells: Vec<Vec<&Pass>> = Vec::new();
        for pass in &self.passes {
            let subject = &pass.sample.subject;
            let is_it = |cell: &&mut Vec<&Pass>| {
                cell.first().is_some_and(|first| first.sample.subject == *subject)
            };
            match cells.iter_mut().find(is_it) {
                Some(cell) => cell.push(pass),
                None => cells.push(vec![pass]),
            }
        }
        cells.iter().flat_map(|cell| of_cell(cell)).collect()
    }
}

fn of_cell(passes: &[&Pass]) -> Vec<Finding> {
    let Some(first) = passes.first() else { return vec![] };
    let subject = &first.sample.subject;
    let samples: Vec<&Sample> = passes.iter().map(|pass| pass.sample).collect();
    let of_passes = verdict(&samples);
    let of_requests = with_losses(of_passes.clone(), passes);
    let of_modes = with_few_ticks(of_passes.clone(), &samples);
    let refused = passes.iter().find_map(|pass| pass.captured.as_ref().err());
    let values: Vec<_> = passes.iter().map(|pass| pass.values()).collect();
    let found = QUANTITIES.iter().enumerate().filter_map(|(place, (name, formula, takes))| {
        if let Some(reason) = refused.filter(|_| *takes) {
            let judged = (Verdict::NotMeasured, Some(reason.clone()));
            return Some(finding(subject, name, None, None, 0, "not measured", judged));
        }
        let values: Option<Vec<f64>> = values.iter().map(|v| v.get(place).copied()?).collect();
        let mean = estimate(&values?)?;
        let judged = match *takes {
            true => &of_requests,
            false if *formula == OF_CPU => &of_modes,
            false => &of_passes,
        };
        let method = format!("{formula}; {METHOD}");
        Some(finding(
            subject,
            name,
            Some(mean.mean),
            mean.interval,
            mean.count,
            &method,
            judged.clone(),
        ))
    });
    found.collect()
}

/// A judgement with one more sentence against it.
fn with(judged: Judged, sentence: Option<String>) -> Judged {
    match sentence {
        None => judged,
        Some(sentence) => {
            let reasons: Vec<String> = judged.1.into_iter().chain([sentence]).collect();
            (Verdict::Suspect, Some(reasons.join("\n")))
        }
    }
}

/// Requests may be missing where events are, and their times where answers are.
fn with_losses(judged: Judged, passes: &[&Pass]) -> Judged {
    let lost = passes.iter().filter_map(|pass| pass.captured.as_ref().ok().copied());
    let (count, events) =
        lost.filter(|lost| *lost > 0).fold((0, 0), |(count, sum), lost| (count + 1, sum + lost));
    let lost = (count > 0).then(|| {
        format!(
            "{events} events of the trace were lost (in {count} of {} passes): requests are missing from the parts",
            passes.len()
        )
    });
    let sum = |of: fn(&Work) -> u64| passes.iter().map(|pass| of(&pass.work)).sum::<u64>();
    let (waited, unanswered) = (sum(|work| work.waited), sum(|work| work.unanswered));
    let open = (unanswered * UNANSWERED_ONE_OF > waited).then(|| {
        format!("the trace has no answer to {unanswered} of {waited} requests: their times are missing from the parts")
    });
    with(with(judged, lost), open)
}

/// The two modes are told apart by the kernel's ticks: few of them say little.
fn with_few_ticks(judged: Judged, samples: &[&Sample]) -> Judged {
    let cpu_ns: u64 = samples.iter().map(|s| s.cpu_user_ns + s.cpu_system_ns).sum();
    let sentence = (cpu_ns < TICKED_NS).then(|| {
        format!(
            "the passes took {} of CPU time, too little to tell the modes apart by ticks: program and kernel are known in sum alone",
            show_time_ns(cpu_ns as f64)
        )
    });
    with(judged, sentence)
}
