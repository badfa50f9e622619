//! Where an operation's time went: the passes of an experiment joined with the requests that were
//! captured meanwhile.
//!
//! An operation's *time* T is its service time, from submission to completion, and its share of
//! fdatasync. With the depth it is not the wall time over the operations: by Little's law it is
//! that times the operations outstanding. Its parts:
//!
//! - *program*, *kernel*: CPU time of the job's thread over the operations, in either mode; their
//!   sum is exact, and ticks of the kernel's clock say how much is whose;
//! - *admission*, *scheduler*, *device*: the time in which operations waited for requests of the
//!   jobs' own (flag *job*);
//! - *journal*: the time in fdatasync in which a job had no request outstanding, and the file
//!   system's journal had. It has parts of its own ([`JOURNAL`]);
//! - *remainder*: T less all six. It is never hidden, and below 0 where CPU and device work at the
//!   same time.
//!
//! Each moment counts once for each operation that can wait ([`waiting`]), however many requests
//! there are. For one job with one operation at a time, T × operations = time with own requests +
//! time with the journal's alone + CPU time and remainder.
//!
//! The journal's requests are, in passes with fdatasync: those that a kernel thread (a slash is in
//! its name: jbd2/…, kworker/…) made with somebody waiting (flag *sync*), and metadata that a job's
//! own thread wrote; with the parts of their flush sequences, whoever issued these. A tested file
//! system is the jobs' alone, so that it is them who wait; no longer than fdatasync took, for
//! nobody else does. What else a device did meanwhile, writing back first of all, is beside them.
//!
//! Non-goals: measuring, capturing; which passes count (all that were captured do); storms, where
//! several streams run at once.

#[cfg(test)]
mod tests;
mod waiting;

use crate::requests::sequences::Open;
use analyze::statistics::estimate;
use analyze::throughput::verdict;
use model::doubt::{Code, Doubt, Judgement};
use model::record::{Finding, Flags, Op, Request, Sample, Subject};
use waiting::{Step, Sweep};

/// What was captured beside a pass: how many events were lost, or why nothing could be.
pub type Captured = Result<u64, String>;

/// CPU time from which on its modes can be distinguished: some tens of ticks, of 1 to 10 ms.
const TICKED_NS: u64 = 100_000_000;
/// More unanswered requests than one of so many are to be known.
const UNANSWERED_ONE_OF: u64 = 100;

/// How the parts are found, for the findings.
const METHOD: &str = "mean of the captured passes, 95 % interval by Student's t";
const OF_TIME: &str = "(service times + syncs) / operations";
const OF_CPU: &str =
    "CPU time of the jobs' threads / operations, split by mode as the kernel's ticks saw it";
const OF_REQUESTS: &str =
    "time in which operations waited for requests of the jobs / operations, each moment once";
const OF_JOURNAL: &str = "time in syncs with requests of the journal and none of the job / \
    operations, each moment once";
const OF_REMAINDER: &str =
    "operation_time_ns - program - kernel - admission - scheduler - device - journal";
const OF_COUNTS: &str = "requests issued in the passes / operations";
const OF_OVERLAP: &str = "response times of the jobs' requests / time in which operations waited";

/// The quantities in the order of the parts, each with its method and whether it takes requests.
const QUANTITIES: [(&str, &str, bool); COUNT] = [
    ("operation_time_ns", OF_TIME, false),
    ("operation_program_ns", OF_CPU, false),
    ("operation_kernel_ns", OF_CPU, false),
    ("operation_admission_ns", OF_REQUESTS, true),
    ("operation_scheduler_ns", OF_REQUESTS, true),
    ("operation_device_ns", OF_REQUESTS, true),
    ("operation_journal_ns", OF_JOURNAL, true),
    ("operation_remainder_ns", OF_REMAINDER, true),
    ("operation_requests_ratio", OF_COUNTS, true),
    ("operation_other_requests_ratio", OF_COUNTS, true),
    ("operation_overlap_ratio", OF_OVERLAP, true),
    ("operation_journal_queue_ns", OF_JOURNAL, true),
    ("operation_journal_data_ns", OF_JOURNAL, true),
    ("operation_journal_log_ns", OF_JOURNAL, true),
    ("operation_journal_preflush_ns", OF_JOURNAL, true),
    ("operation_journal_commit_ns", OF_JOURNAL, true),
    ("operation_journal_postflush_ns", OF_JOURNAL, true),
];
const COUNT: usize = 17;

/// The parts of the journal's time, in the order of their quantities.
const JOURNAL: [Step; 6] =
    [Step::Queue, Step::Data, Step::Log, Step::Preflush, Step::Commit, Step::Postflush];

/// For whom a request is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Own,
    Journal,
}

/// A flush sequence that may have more parts.
#[derive(Debug, Clone, Copy)]
struct Sequence {
    side: Side,
    /// What comes after its data is the postflush.
    has_data: bool,
}

/// A pass and what was captured beside it.
#[derive(Debug)]
struct Pass<'a> {
    sample: &'a Sample,
    captured: &'a Captured,
    from_ns: i64,
    to_ns: i64,
    waited: u64,
    /// Of those, the ones whose completion the trace has not.
    unanswered: u64,
    beside: u64,
    /// Sum over the jobs' own requests.
    response_ns: i64,
    sequences: Open<Sequence>,
    sweep: Sweep,
}

impl<'a> Pass<'a> {
    fn new(sample: &'a Sample, captured: &'a Captured) -> Self {
        let wall_ns = i64::try_from(sample.wall_ns).unwrap_or(i64::MAX);
        let (from_ns, to_ns) = (sample.started_ns, sample.started_ns.saturating_add(wall_ns));
        let sweep = Sweep::new(sample.jobs, sample.depth, from_ns, to_ns);
        let (waited, unanswered, beside, response_ns) = (0, 0, 0, 0);
        let sequences = Open::default();
        Self {
            sample,
            captured,
            from_ns,
            to_ns,
            waited,
            unanswered,
            beside,
            response_ns,
            sequences,
            sweep,
        }
    }

    /// For whom operations wait for a request; none where nobody does.
    fn side(&self, row: &Request, command: &str) -> Option<Side> {
        let sequence = row.parent_id.and_then(|parent| self.sequences.get(parent));
        let (is_synced, has) = (self.sample.sync_ns > 0, |flag| row.flags.contains(flag));
        let is_log = is_synced && has(Flags::META) && row.op == Op::Write;
        match sequence {
            Some(sequence) => Some(sequence.side),
            None if has(Flags::JOB) => Some(if is_log { Side::Journal } else { Side::Own }),
            None => {
                (is_synced && has(Flags::SYNC) && command.contains('/')).then_some(Side::Journal)
            }
        }
    }

    fn add(&mut self, row: &Request, arrival_ns: i64, command: &str) {
        self.sweep.advance(arrival_ns);
        let side = self.side(row, command);
        if row.issued_ns.is_some() {
            let count = if side.is_some() { &mut self.waited } else { &mut self.beside };
            *count += 1;
            self.unanswered += u64::from(side.is_some() && row.completed_ns.is_none());
        }
        let Some((side, completed_ns)) = side.zip(row.completed_ns) else { return };
        match row.parent_id {
            Some(parent) => self.part(row, parent, side, completed_ns),
            None => self.request(row, side, completed_ns),
        }
    }

    /// A part of a flush sequence.
    fn part(&mut self, row: &Request, parent: u64, side: Side, completed_ns: i64) {
        let Some(issued_ns) = row.issued_ns else { return };
        let sequence = self.sequences.get_mut(parent);
        let is_after = sequence.as_ref().is_some_and(|sequence| sequence.has_data);
        if let Some(sequence) = sequence {
            sequence.has_data |= row.op != Op::Flush;
        }
        let (step, part) = match (side, row.op) {
            (Side::Own, _) => (Step::Device, Step::OwnPart),
            (Side::Journal, Op::Flush) if is_after => (Step::Postflush, Step::JournalPart),
            (Side::Journal, Op::Flush) => (Step::Preflush, Step::JournalPart),
            (Side::Journal, _) => (Step::Commit, Step::JournalPart),
        };
        self.sweep.step(step, issued_ns, completed_ns);
        self.sweep.step(part, issued_ns, completed_ns);
    }

    /// What was requested, or a request from before the trace.
    fn request(&mut self, row: &Request, side: Side, completed_ns: i64) {
        let has = |flag| row.flags.contains(flag);
        let first_ns = row.queued_ns.or(row.started_ns).or(row.issued_ns);
        let Some(first_ns) = first_ns else { return };
        let allocated_ns = row.started_ns.or(row.issued_ns).unwrap_or(first_ns);
        let (admission, scheduler, device) = match side {
            Side::Own => (Step::Admission, Step::Scheduler, Step::Device),
            Side::Journal if row.op == Op::Flush => (Step::Queue, Step::Queue, Step::Preflush),
            Side::Journal if has(Flags::FUA) => (Step::Queue, Step::Queue, Step::Commit),
            Side::Journal if has(Flags::META) => (Step::Queue, Step::Queue, Step::Log),
            Side::Journal => (Step::Queue, Step::Queue, Step::Data),
        };
        if side == Side::Own {
            let until_ns = completed_ns.min(self.to_ns);
            self.response_ns += until_ns.saturating_sub(first_ns).max(0);
        }
        self.sweep.step(admission, first_ns, allocated_ns.min(completed_ns));
        match row.issued_ns {
            Some(issued_ns) => {
                self.sweep.step(scheduler, allocated_ns, issued_ns.min(completed_ns));
                self.sweep.step(device, issued_ns, completed_ns);
            }
            None => self.begin_sequence(row.request_id, side, allocated_ns, completed_ns),
        }
    }

    fn begin_sequence(&mut self, id: u64, side: Side, allocated_ns: i64, completed_ns: i64) {
        let sequence = Sequence { side, has_data: false };
        self.sequences.begin(id, allocated_ns, completed_ns, sequence);
        let step = if side == Side::Own { Step::OwnSequence } else { Step::JournalSequence };
        self.sweep.step(step, allocated_ns, completed_ns);
    }

    /// The values of the quantities, in their order.
    fn values(&self) -> [Option<f64>; COUNT] {
        let sample = self.sample;
        let operations = sample.operations.max(1) as f64;
        let each = |ns: f64| ns / operations;
        let time_ns = each((sample.service_sum_ns + sample.sync_ns) as f64);
        let cpu_ns = (sample.cpu_user_ns + sample.cpu_system_ns) as f64;
        // Where the timed part is known, opening and mapping are outside of it.
        let timed = sample.overhead().cpu_timed_ns.map_or(1.0, |ns| ns as f64 / cpu_ns.max(1.0));
        let program_ns = each(sample.cpu_user_ns as f64 * timed);
        let kernel_ns = each(sample.cpu_system_ns as f64 * timed);
        let waited = self.sweep.waited().with_journal_below(sample.sync_ns as f64);
        let of = |step| each(waited.of(step));
        let parts_ns = program_ns + kernel_ns + each(waited.own_ns() + waited.journal_ns());
        let overlap = self.response_ns as f64 / waited.own_ns();
        // Without fdatasync nobody waits for the journal.
        let journal = JOURNAL.map(|step| (sample.sync_ns > 0).then(|| of(step)));
        let [queue, data, log, preflush, commit, postflush] = journal;
        [
            Some(time_ns),
            Some(program_ns),
            Some(kernel_ns),
            Some(of(Step::Admission)),
            Some(of(Step::Scheduler)),
            Some(of(Step::Device)),
            Some(each(waited.journal_ns())),
            Some(time_ns - parts_ns),
            Some(each(self.waited as f64)),
            Some(each(self.beside as f64)),
            (waited.own_ns() > 0.0).then_some(overlap),
            queue,
            data,
            log,
            preflush,
            commit,
            postflush,
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
    /// The passes that were to be captured, but for those that have no operation to tell of, and
    /// storms: several streams share such a pass, and its CPU time and requests are of all of them.
    /// Who waited for whom there is the verdict's to say.
    pub fn new(passes: impl IntoIterator<Item = (&'a Sample, &'a Captured)>) -> Self {
        let is_of_one_stream = |sample: &Sample| !matches!(sample.subject, Subject::Storm(_));
        let passes = passes
            .into_iter()
            .filter(|(sample, _)| sample.operations > 0 && is_of_one_stream(sample));
        let mut passes: Vec<Pass> = passes.map(|(s, captured)| Pass::new(s, captured)).collect();
        passes.sort_by_key(|pass| pass.from_ns);
        Self { passes }
    }

    /// Adds a request, in the order of arrival, with the name of the command that requested it.
    pub fn add(&mut self, row: &Request, command: &str) {
        if row.flags.contains(Flags::OWN) {
            return;
        }
        let Some(arrival_ns) = row.arrival_ns() else { return };
        let begun = self.passes.partition_point(|pass| pass.from_ns <= arrival_ns);
        let pass = begun.checked_sub(1).and_then(|last| self.passes.get_mut(last));
        if let Some(pass) = pass.filter(|pass| arrival_ns <= pass.to_ns) {
            pass.add(row, arrival_ns, command);
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
            let judged = Judgement::not_measured(Doubt::refused(reason));
            return Some(Finding::not_measured(subject, name, judged));
        }
        let values: Option<Vec<f64>> = values.iter().map(|v| v.get(place).copied()?).collect();
        let mean = estimate(&values?)?;
        let judged = match *takes {
            true => &of_requests,
            false if *formula == OF_CPU => &of_modes,
            false => &of_passes,
        };
        let method = format!("{formula}; {METHOD}");
        Some(mean.finding(subject, name, &method).judged(judged.clone()))
    });
    found.collect()
}

/// Requests may be missing where events are, and their times where completions are.
fn with_losses(judged: Judgement, passes: &[&Pass]) -> Judgement {
    let lost = passes.iter().filter_map(|pass| pass.captured.as_ref().ok().copied());
    let (count, events) =
        lost.filter(|lost| *lost > 0).fold((0, 0), |(count, sum), lost| (count + 1, sum + lost));
    let lost = (count > 0).then(|| {
        let passes = passes.len();
        let values = [
            ("events", u64::into(events)),
            ("lossy_passes", u64::into(count)),
            ("passes", passes.into()),
        ];
        Doubt::new(Code::PassesLostEvents, values)
    });
    let sum = |of: fn(&Pass) -> u64| passes.iter().map(|pass| of(pass)).sum::<u64>();
    let (waited, unanswered) = (sum(|pass| pass.waited), sum(|pass| pass.unanswered));
    let open = (unanswered * UNANSWERED_ONE_OF > waited).then(|| {
        let values = [("missing", unanswered.into()), ("requests", waited.into())];
        Doubt::new(Code::CompletionsMissing, values)
    });
    judged.with(lost).with(open)
}

/// The two modes are distinguished by the kernel's ticks: few of them say little.
fn with_few_ticks(judged: Judgement, samples: &[&Sample]) -> Judgement {
    let cpu_ns: u64 = samples.iter().map(|s| s.cpu_user_ns + s.cpu_system_ns).sum();
    judged
        .with((cpu_ns < TICKED_NS).then(|| Doubt::new(Code::FewTicks, [("cpu_ns", cpu_ns.into())])))
}
