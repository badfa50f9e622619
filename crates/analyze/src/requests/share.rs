//! What a row adds to each class that it belongs to: counts and times, worked out once.
//!
//! The parts of a response are of the same requests as the response (rows without a parent that
//! tell it), and add up to it: response = admission + scheduler + device + rest, and where the
//! trace does not tell admission from scheduler, response = queue + device + rest. The rest is of
//! steps that the trace does not tell. A flush sequence is one request: its device time is that of
//! its parts ([`super::sequences`]), and all other time after its start is the scheduler's.
//!
//! What the device did (rows that were issued, parts of sequences one by one) is counted beside
//! that.

use model::histogram::Binned;
use model::record::Request;

/// The parts of a response time, and what the device did: their places in what is summed.
pub(super) const WAIT: usize = 0;
pub(super) const ADMISSION: usize = 1;
pub(super) const SCHEDULER: usize = 2;
pub(super) const DEVICE: usize = 3;
pub(super) const DONE: usize = 4;
const PARTS: usize = 5;
/// The places behind them, of what is only counted.
pub(super) const ASKED: usize = 5;
pub(super) const COMPLETED: usize = 6;
pub(super) const BYTES: usize = 7;
pub(super) const ERRORS: usize = 8;
const COUNTS: usize = 9;

/// The sums of times, of how many each is, and of what else is counted. Times are exact up to 104
/// days, and as good as a double beyond.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sums {
    pub(super) ns: [f64; PARTS],
    pub(super) counts: [u64; COUNTS],
}

impl Sums {
    #[inline(always)]
    pub(super) fn add(&mut self, other: &Self) {
        // By place: the compiler makes of it additions of several at once.
        for part in 0..PARTS {
            self.ns[part] += other.ns[part];
        }
        for count in 0..COUNTS {
            self.counts[count] += other.counts[count];
        }
    }

    /// The sum of a part, where any request tells it.
    pub(super) fn known_ns(&self, part: usize) -> Option<f64> {
        (self.counts[part] > 0).then(|| self.ns[part])
    }

    /// What has been found out of a response's parts, where the trace tells any.
    pub(super) fn placed_ns(&self) -> Option<f64> {
        let [admission, scheduler, device, wait] =
            [ADMISSION, SCHEDULER, DEVICE, WAIT].map(|part| self.known_ns(part));
        let is_split = admission.is_some() || scheduler.is_some();
        let parts = if is_split { [admission, scheduler, device] } else { [wait, device, None] };
        let told = || parts.iter().flatten();
        (told().count() > 0).then(|| told().sum())
    }
}

/// What a row adds to the traffic that it belongs to: worked out once, however many that are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Share {
    /// Whether it was asked for, and is not a part of what was.
    pub(crate) is_asked: bool,
    pub(crate) response: Option<Binned>,
    /// Until the driver's issue, where that and the response are told.
    pub(crate) wait_ns: Option<i64>,
    /// A step is told to be before the one that it follows: the time between them is not known.
    pub(crate) is_reversed: bool,
    pub(super) sums: Sums,
}

/// The time from one step to another, where both are told and in order.
#[derive(Clone, Copy)]
struct Step {
    ns: i64,
    is_told: bool,
    is_reversed: bool,
}

impl Step {
    #[inline(always)]
    fn between(from: Option<i64>, to: Option<i64>) -> Self {
        let ns = to.unwrap_or(0).saturating_sub(from.unwrap_or(0));
        let are_told = from.is_some() & to.is_some();
        let is_told = are_told & (ns >= 0);
        Self { ns: if is_told { ns } else { 0 }, is_told, is_reversed: are_told & (ns < 0) }
    }

    /// The same where a condition holds.
    #[inline(always)]
    fn only_if(self, holds: bool) -> Self {
        let is_told = self.is_told & holds;
        Self { ns: if is_told { self.ns } else { 0 }, is_told, ..self }
    }

    /// What another one leaves of it, where both are told and it leaves any.
    #[inline(always)]
    fn less(self, other: Self) -> Self {
        let is_told = self.is_told & other.is_told & (other.ns <= self.ns);
        Self { ns: if is_told { self.ns - other.ns } else { 0 }, is_told, ..self }
    }
}

impl Share {
    #[inline(always)]
    pub(crate) fn of(row: &Request) -> Self {
        let is_asked = row.parent_id.is_none();
        let first_ns = row.queued_ns.or(row.started_ns);
        let response = Step::between(first_ns, row.completed_ns).only_if(is_asked);
        let done = Step::between(row.issued_ns, row.completed_ns);
        let (queueing, scheduling) = (
            Step::between(first_ns, row.issued_ns).only_if(is_asked),
            Step::between(row.started_ns, row.issued_ns).only_if(is_asked),
        );
        let wait = response.less(done);
        let device = response.less(wait);
        let left_ns = response.ns - device.ns;
        let admission = Step::between(row.queued_ns, row.started_ns).only_if(is_asked);
        let is_reversed = [response, queueing, admission, scheduling, done];
        let is_reversed = is_reversed.iter().any(|step| step.is_reversed);
        let admission = admission.only_if(response.is_told & (admission.ns <= left_ns));
        let is_split = row.started_ns.is_some() & (admission.is_told | row.queued_ns.is_none());
        // What is not told is of no time.
        let scheduler = Step { ns: wait.ns - admission.ns, ..wait }.only_if(is_split);
        let asked = u64::from(is_asked);
        let parts = [wait, admission, scheduler, device, done];
        let told = parts.map(|part| u64::from(part.is_told));
        let sums = Sums {
            ns: parts.map(|part| part.ns as f64),
            counts: [
                told[WAIT],
                told[ADMISSION],
                told[SCHEDULER],
                told[DEVICE],
                told[DONE],
                asked,
                asked & u64::from(row.completed_ns.is_some()),
                asked * u64::from(row.length_bytes),
                asked & u64::from(row.error != 0),
            ],
        };
        Self {
            is_asked,
            response: response.is_told.then(|| Binned::new(response.ns.unsigned_abs())),
            wait_ns: wait.is_told.then_some(wait.ns),
            is_reversed,
            sums,
        }
    }

    /// What more of a flush sequence's device time adds, which until then counted as waiting; the
    /// first of it also what the sequence's own row could not tell.
    pub(crate) fn of_sequence(sequence: &Request, device_ns: i64, is_first: bool) -> Self {
        let whole = Self::of(sequence);
        let response_ns = whole.response.map_or(0, |response| response.value_ns() as i64);
        let is_split = whole.sums.counts[ADMISSION] > 0 || sequence.queued_ns.is_none();
        let is_split = sequence.started_ns.is_some() && is_split;
        let first = if is_first { 1 } else { 0 };
        let wait_ns = if is_first { response_ns } else { 0 } - device_ns;
        let admitted_ns = if is_first { whole.sums.ns[ADMISSION] } else { 0.0 };
        let mut sums = Sums::default();
        (sums.ns[WAIT], sums.counts[WAIT]) = (wait_ns as f64, first);
        (sums.ns[DEVICE], sums.counts[DEVICE]) = (device_ns as f64, first);
        if is_split {
            sums.ns[SCHEDULER] = wait_ns as f64 - admitted_ns;
            sums.counts[SCHEDULER] = first;
        }
        Self { is_asked: false, response: None, wait_ns: None, is_reversed: false, sums }
    }
}
