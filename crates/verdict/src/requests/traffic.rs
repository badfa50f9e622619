//! Requests that have something in common: how many, how many bytes, and how long they took, in the
//! parts of their response time. A row adds a [`Share`], which is worked out once for all traffic
//! that it belongs to; two of them merge into that of all their requests.
//!
//! The parts of a response are of the same requests as the response (rows without a parent that
//! know it), and add up to it: response = admission + scheduler + device + rest, and where the
//! trace does not tell admission from scheduler, response = queue + device + rest. The rest is of
//! steps that the trace does not have. A flush sequence is one request: its device time is that of
//! its parts ([`super::sequences`]), and all other time after its start is the scheduler's.
//!
//! What the device did (rows that were issued, parts of sequences one by one) is counted apart from
//! that, with a distribution of its own: many traces tell no more than the issue and the completion
//! of a request. Then its device time is all that is known of it, and a response nothing.
//!
//! Non-goals: what they have in common.

mod tally;

pub(crate) use tally::Tally;

use analyze::statistics::NORMAL_95;
use model::doubt::{Code, Doubt, Judgement};
use model::histogram::{Binned, Buckets, ByOctave, Store};
use model::record::{Finding, Interval, Request, Subject, Summed};

/// The parts of a response time, and what the device did: their places in what is summed.
const WAIT: usize = 0;
const ADMISSION: usize = 1;
const SCHEDULER: usize = 2;
const DEVICE: usize = 3;
const DONE: usize = 4;
/// The device time of what was requested and does not tell its response.
const ALONE: usize = 5;
const PARTS: usize = 6;
/// The places behind them, of what is only counted.
const REQUESTED: usize = 6;
const COMPLETED: usize = 7;
/// Bytes that were read or written, and those that were discarded, which move nowhere.
const BYTES: usize = 8;
const DISCARDED: usize = 9;
const ERRORS: usize = 10;
const COUNTS: usize = 11;

/// The sums of times, of how many each is, and of what else is counted. Times are exact up to 104
/// days, and as good as a double beyond.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    ns: [f64; PARTS],
    counts: [u64; COUNTS],
}

impl Sums {
    #[inline(always)]
    fn add(&mut self, other: &Self) {
        // By place: the compiler makes of it additions of several at once.
        for part in 0..PARTS {
            self.ns[part] += other.ns[part];
        }
        for count in 0..COUNTS {
            self.counts[count] += other.counts[count];
        }
    }

    /// Bytes of all requests, whatever they do with them.
    fn bytes(&self) -> u64 {
        self.counts[BYTES] + self.counts[DISCARDED]
    }

    /// The sum of a part, where any request tells it.
    fn known_ns(&self, part: usize) -> Option<f64> {
        (self.counts[part] > 0).then(|| self.ns[part])
    }

    /// What has been found out of a response's parts, where the trace tells any.
    fn placed_ns(&self) -> Option<f64> {
        let [admission, scheduler, device, wait] =
            [ADMISSION, SCHEDULER, DEVICE, WAIT].map(|part| self.known_ns(part));
        let is_split = admission.is_some() || scheduler.is_some();
        let parts = if is_split { [admission, scheduler, device] } else { [wait, device, None] };
        let told = || parts.iter().flatten();
        (told().count() > 0).then(|| told().sum())
    }
}

/// What a row adds to the traffic that it belongs to: worked out once, however many that are.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Share {
    /// Whether it was requested, and is not a part of what was.
    pub(crate) is_requested: bool,
    pub(crate) response: Option<Binned>,
    /// From the driver's issue to the completion, of whatever was issued; of what was requested and
    /// does not tell its response, that is `alone`.
    done: Option<Binned>,
    alone: Option<Binned>,
    /// Until the driver's issue, where that and the response are known.
    pub(crate) wait_ns: Option<i64>,
    /// A step's time is before that of the step it follows: the time between them is not known.
    pub(crate) is_reversed: bool,
    sums: Sums,
}

/// The time from one step to another, where both are known and in order.
#[derive(Clone, Copy)]
pub(super) struct Step {
    ns: i64,
    is_known: bool,
    is_reversed: bool,
}

impl Step {
    #[inline(always)]
    fn between(from: Option<i64>, to: Option<i64>) -> Self {
        let ns = to.unwrap_or(0).saturating_sub(from.unwrap_or(0));
        let are_known = from.is_some() & to.is_some();
        let is_known = are_known & (ns >= 0);
        Self { ns: if is_known { ns } else { 0 }, is_known, is_reversed: are_known & (ns < 0) }
    }

    #[inline(always)]
    pub(super) fn known_ns(self) -> Option<u64> {
        self.is_known.then_some(self.ns.unsigned_abs())
    }

    /// The response of what was requested, which begins at some moment.
    #[inline(always)]
    pub(super) fn response(from_ns: Option<i64>, row: &Request) -> Self {
        Self::between(from_ns, row.completed_ns).only_if(row.parent_id.is_none())
    }

    /// The device's time for a row.
    #[inline(always)]
    pub(super) fn done(row: &Request) -> Self {
        Self::between(row.issued_ns, row.completed_ns)
    }

    /// The same where a condition holds.
    #[inline(always)]
    fn only_if(self, holds: bool) -> Self {
        let is_known = self.is_known & holds;
        Self { ns: if is_known { self.ns } else { 0 }, is_known, ..self }
    }

    /// What another one leaves of it, where both are known and it leaves any.
    #[inline(always)]
    fn less(self, other: Self) -> Self {
        let is_known = self.is_known & other.is_known & (other.ns <= self.ns);
        Self { ns: if is_known { self.ns - other.ns } else { 0 }, is_known, ..self }
    }
}

impl Share {
    #[inline(always)]
    pub(crate) fn of(row: &Request) -> Self {
        let is_requested = row.parent_id.is_none();
        let first_ns = row.queued_ns.or(row.started_ns);
        let (response, done) = (Step::response(first_ns, row), Step::done(row));
        let (queueing, scheduling) = (
            Step::between(first_ns, row.issued_ns).only_if(is_requested),
            Step::between(row.started_ns, row.issued_ns).only_if(is_requested),
        );
        let wait = response.less(done);
        let device = response.less(wait);
        let left_ns = response.ns - device.ns;
        let admission = Step::between(row.queued_ns, row.started_ns).only_if(is_requested);
        let is_reversed = [response, queueing, admission, scheduling, done];
        let is_reversed = is_reversed.iter().any(|step| step.is_reversed);
        let admission = admission.only_if(response.is_known & (admission.ns <= left_ns));
        let is_split = row.started_ns.is_some() & (admission.is_known | row.queued_ns.is_none());
        // What is not known is of no time.
        let scheduler = Step { ns: wait.ns - admission.ns, ..wait }.only_if(is_split);
        let requested = u64::from(is_requested);
        let alone = done.only_if(is_requested & !response.is_known);
        let (moved, bytes) = (row.moved_bytes(), u64::from(row.length_bytes));
        let sums = Sums {
            ns: [
                wait.ns as f64,
                admission.ns as f64,
                scheduler.ns as f64,
                device.ns as f64,
                done.ns as f64,
                alone.ns as f64,
            ],
            counts: [
                u64::from(wait.is_known),
                u64::from(admission.is_known),
                u64::from(scheduler.is_known),
                u64::from(device.is_known),
                u64::from(done.is_known),
                u64::from(alone.is_known),
                requested,
                requested & u64::from(row.completed_ns.is_some()),
                requested * moved,
                requested * (bytes - moved),
                requested & u64::from(row.error != 0),
            ],
        };
        Self {
            is_requested,
            response: response.known_ns().map(Binned::new),
            done: done.only_if(!alone.is_known).known_ns().map(Binned::new),
            alone: alone.known_ns().map(Binned::new),
            wait_ns: wait.is_known.then_some(wait.ns),
            is_reversed,
            sums,
        }
    }

    /// The longest time that is known of what was requested: its response, else its device time.
    #[inline(always)]
    pub(crate) fn took(&self) -> Option<Binned> {
        self.response.or(self.alone)
    }

    /// Whether that is a device time.
    pub(crate) fn is_from_issue(&self) -> bool {
        self.alone.is_some()
    }

    /// The part of that until the driver's issue, where its other part is known: none of a device
    /// time.
    #[inline(always)]
    pub(crate) fn wait_ns(&self) -> Option<u64> {
        let wait_ns = self.wait_ns.map(|ns| u64::try_from(ns).unwrap_or(0));
        wait_ns.or(self.alone.map(|_| 0))
    }

    /// Its bytes where it was requested, whatever it does with them.
    pub(crate) fn bytes(&self) -> u64 {
        self.sums.bytes()
    }

    /// Whether what was requested has failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.sums.counts[ERRORS] > 0
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
        Self { is_requested: false, sums, ..Self::default() }
    }
}

/// What requests amount to. `S` is how finely their responses are counted.
#[derive(Debug, Clone)]
pub(crate) struct Traffic<S: Store = ByOctave<128>> {
    /// Made with the first response: there may be thousands of devices that tell none.
    pub(crate) response: Option<Buckets<S>>,
    /// The times of what the device did, as far as rows tell them: of all else, and of what was
    /// requested and does not tell its response.
    done: Option<Buckets<S>>,
    alone: Option<Buckets<S>>,
    sums: Sums,
}

/// The values of two histograms in one.
fn both<S: Store>(one: Option<&Buckets<S>>, other: Option<&Buckets<S>>) -> Option<Buckets<S>> {
    let mut sum = one.or(other)?.clone();
    one.and(other).into_iter().for_each(|other| sum.merge(other));
    Some(sum)
}

fn merge<S: Store, O: Store>(into: &mut Option<Buckets<S>>, from: Option<&Buckets<O>>) {
    from.into_iter().for_each(|from| into.get_or_insert_default().merge(from));
}

fn record<S: Store>(into: &mut Option<Buckets<S>>, time: Option<Binned>) {
    time.into_iter().for_each(|time| into.get_or_insert_default().record_binned(time));
}

/// Of classes of which many are in use at once: responses within 1.6 %.
pub(crate) type SmallTraffic = Traffic<ByOctave<32>>;

impl<S: Store> Default for Traffic<S> {
    fn default() -> Self {
        Self { response: None, done: None, alone: None, sums: Sums::default() }
    }
}

impl<S: Store> Traffic<S> {
    /// Requests that were made; parts of flush sequences are none.
    pub(crate) fn requested(&self) -> u64 {
        self.sums.counts[REQUESTED]
    }

    /// Those of them that were completed.
    pub(crate) fn completed(&self) -> u64 {
        self.sums.counts[COMPLETED]
    }

    #[inline(always)]
    pub(crate) fn add(&mut self, share: &Share) {
        self.sums.add(&share.sums);
        record(&mut self.response, share.response);
        record(&mut self.done, share.done);
        record(&mut self.alone, share.alone);
    }

    /// Adds what a tally put together.
    pub(crate) fn settle(&mut self, tally: &Tally) {
        self.sums.add(&tally.sums);
        tally.responses.settle(&mut self.response);
        tally.done.settle(&mut self.done);
        tally.alone.settle(&mut self.alone);
    }

    pub(crate) fn merge<O: Store>(&mut self, other: &Traffic<O>) {
        merge(&mut self.response, other.response.as_ref());
        merge(&mut self.done, other.done.as_ref());
        merge(&mut self.alone, other.alone.as_ref());
        self.sums.add(&other.sums);
    }

    /// Adds quick requests that have no rows; how many they are. None where their columns
    /// contradict each other.
    pub(crate) fn add_summed(&mut self, summed: &Summed) -> Option<u64> {
        let mut responses = Buckets::<S>::default();
        let count = summed.add_responses(&mut responses).then(|| responses.count())?;
        let scheduler_ns = summed.queue_ns.saturating_sub(summed.admission_ns);
        let device_ns = summed.sum_ns.saturating_sub(summed.queue_ns);
        let ns = [summed.queue_ns, summed.admission_ns, scheduler_ns, device_ns, device_ns, 0];
        let mut counts = [count; COUNTS];
        let moved = summed.moved_bytes();
        (counts[BYTES], counts[DISCARDED]) = (moved, summed.bytes.saturating_sub(moved));
        (counts[ERRORS], counts[ALONE]) = (0, 0);
        self.sums.add(&Sums { ns: ns.map(|ns| ns as f64), counts });
        self.response.get_or_insert_default().merge(&responses);
        Some(count)
    }

    /// The sum of their responses.
    pub(crate) fn response_sum_ns(&self) -> f64 {
        self.response.as_ref().map_or(0.0, |response| response.sum_ns() as f64)
    }

    /// The longest times that are known of them: the response of each, else its device time.
    pub(crate) fn took(&self) -> Option<Buckets<S>> {
        both(self.response.as_ref(), self.alone.as_ref())
    }

    /// The sum of these.
    pub(crate) fn took_sum_ns(&self) -> f64 {
        self.response_sum_ns() + self.sums.ns[ALONE]
    }

    /// How many do not tell their response, but their device time.
    pub(crate) fn alone(&self) -> u64 {
        self.sums.counts[ALONE]
    }

    /// The times of all that the device did; none where some of it is known as sums alone.
    pub(crate) fn done(&self) -> Option<Buckets<S>> {
        let done = both(self.done.as_ref(), self.alone.as_ref());
        done.filter(|done| done.count() == self.sums.counts[DONE])
    }

    /// Mean length in bytes; none of none.
    pub(crate) fn length_mean(&self) -> Option<f64> {
        (self.requested() > 0).then(|| self.sums.bytes() as f64 / self.requested() as f64)
    }

    /// How many tell their response.
    pub(crate) fn responses(&self) -> u64 {
        self.response.as_ref().map_or(0, Buckets::count)
    }

    /// The mean of a sum over all responses.
    fn mean_of(&self, sum_ns: Option<f64>) -> Option<f64> {
        let responses = self.responses();
        sum_ns.filter(|_| responses > 0).map(|ns| ns / responses as f64)
    }

    /// The part of the mean response until the driver got them.
    pub(crate) fn wait_mean_ns(&self) -> Option<f64> {
        self.mean_of(self.sums.known_ns(WAIT))
    }

    /// The mean time in the driver and the device, and of how many: the part of the mean response;
    /// where some tell no response, that of all which tell a device time.
    pub(crate) fn device_mean_ns(&self) -> (Option<f64>, u64) {
        let (ns, devices) = (&self.sums.ns, self.devices());
        match self.alone() {
            0 => (self.mean_of(self.sums.known_ns(DEVICE)), self.responses()),
            _ => (Some((ns[DEVICE] + ns[ALONE]) / devices as f64), devices),
        }
    }

    /// How many tell their device time.
    fn devices(&self) -> u64 {
        self.sums.counts[DEVICE] + self.sums.counts[ALONE]
    }

    /// The mean time from the driver's issue to the completion, of each row that was issued.
    pub(super) fn done_mean_ns(&self) -> Option<f64> {
        self.sums.known_ns(DONE).map(|ns| ns / self.sums.counts[DONE] as f64)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.requested() == 0 && self.sums.counts[DONE] == 0
    }

    /// What is found of them. `span_ns` is the whole trace's.
    pub(crate) fn findings(&self, subject: &Subject, span_ns: Option<f64>) -> Vec<Finding> {
        let counted = |place: usize| self.sums.counts[place];
        let (requested, bytes, errors) = (counted(REQUESTED), counted(BYTES), counted(ERRORS));
        let rate = span_ns.filter(|ns| *ns > 0.0).map(|ns| requested as f64 / ns * 1e9);
        let (response, responses) = (self.response.as_ref(), self.responses());
        let of_response = |quantity, value| found(subject, quantity, value, responses, RESPONSE);
        let of_part = |quantity, part: usize, method| {
            let mean = self.mean_of(self.sums.known_ns(part));
            found(subject, quantity, mean, self.sums.counts[part], method)
        };
        let rest = self.sums.placed_ns().map(|placed_ns| self.response_sum_ns() - placed_ns);
        let (device, devices) = (self.device_mean_ns().0, self.devices());
        let rows = "rows without a parent";
        let count = |quantity, count: u64, of: u64, method| {
            found(subject, quantity, Some(count as f64), of, method)
        };
        let mut all = vec![
            count("requested_count", requested, requested, rows),
            count("requested_bytes", bytes, requested, rows),
            count("failed_count", errors, requested, "error is not 0"),
            found(subject, "requested_per_s", rate, requested, "over the trace's span"),
            count("completed_count", counted(COMPLETED), requested, rows),
            count("response_known_count", responses, counted(COMPLETED), RESPONSE),
            of_response("response_mean_ns", response.and_then(Buckets::mean_ns)),
            at_quantile(subject, "response_p50_ns", response, 0.5),
            at_quantile(subject, "response_p99_ns", response, 0.99),
            of_response("response_max_ns", response.map(|response| response.max_ns() as f64)),
            of_part("admission_mean_ns", ADMISSION, "queued to started, over the responses"),
            of_part("scheduler_mean_ns", SCHEDULER, OF_SCHEDULER),
            of_part("wait_mean_ns", WAIT, "response less device, over the responses"),
            count("device_known_count", devices, counted(COMPLETED), OF_DEVICE),
            found(subject, "device_mean_ns", device, devices, OF_DEVICE),
            found(subject, "rest_mean_ns", self.mean_of(rest), responses, OF_REST),
        ];
        all.extend(self.done_findings(subject));
        all.extend(self.discarded(subject));
        all.into_iter().map(|finding| self.judged(finding)).collect()
    }

    /// What the device did.
    fn done_findings(&self, subject: &Subject) -> [Finding; 5] {
        let (count, done) = (self.sums.counts[DONE], self.done());
        let max = done.as_ref().map(|done| done.max_ns() as f64);
        let of = |quantity, value| found(subject, quantity, value, count, DONE_METHOD);
        [
            of("done_count", Some(count as f64)),
            of("done_mean_ns", self.done_mean_ns()),
            at_quantile(subject, "done_p50_ns", done.as_ref(), 0.5),
            at_quantile(subject, "done_p99_ns", done.as_ref(), 0.99),
            of("done_max_ns", max),
        ]
    }

    /// A finding; one of responses is doubted where many completions do not tell theirs.
    pub(crate) fn judged(&self, mut finding: Finding) -> Finding {
        let is_of_them = finding.value.is_some() && is_response(&finding.quantity);
        self.doubts().into_iter().filter(|_| is_of_them).for_each(|doubt| finding.doubt(doubt));
        finding
    }

    /// Why the responses that are known may not stand for all.
    pub(crate) fn doubts(&self) -> Option<Doubt> {
        let (known, completed) = (self.responses(), self.completed());
        let untold = completed.saturating_sub(known) as f64;
        let values = [("known", known.into()), ("completed", completed.into())];
        (untold > UNTOLD_MOST * completed as f64).then(|| Doubt::new(Code::ResponsesUntold, values))
    }

    /// What was discarded; nothing where nothing was.
    fn discarded(&self, subject: &Subject) -> Option<Finding> {
        let bytes = Some(self.sums.counts[DISCARDED]).filter(|bytes| *bytes > 0)?;
        let method = "discards without a parent";
        Some(found(subject, "discarded_bytes", Some(bytes as f64), self.requested(), method))
    }
}

/// Whether a quantity is of response times.
pub(crate) fn is_response(quantity: &str) -> bool {
    quantity.starts_with("response_") && quantity.ends_with("_ns")
}

/// The share of completions without a response up to which the responses of the others stand for
/// all: what was in flight as a capture began is a part of every trace.
const UNTOLD_MOST: f64 = 0.01;

/// How the parts of a response are found.
const OF_SCHEDULER: &str = "started to issued, over the responses; of flush sequences what is \
    neither admission nor device";
const OF_DEVICE: &str = "issued to completed, over the responses (where some tell none: over what \
    tells it); of a flush sequence the sum of its parts";
const OF_REST: &str =
    "response - device - admission - scheduler (queue, where these are not known)";
/// How what the device did is computed from a row.
const DONE_METHOD: &str = "rows that were issued: issued to completed";
/// How a response is computed from a row.
const RESPONSE: &str = "queued (else started) to completed, rows without a parent";

/// A percentile by the nearest rank, and its 95 % interval by the binomial distribution of ranks
/// (David & Nagaraja, Order Statistics, section 7.1, in its normal form): as wide as independent
/// requests would make it.
pub(crate) fn at_quantile<S: Store>(
    subject: &Subject,
    name: &str,
    response: Option<&Buckets<S>>,
    quantile: f64,
) -> Finding {
    let count = response.map_or(0, Buckets::count);
    let value = |quantile: f64| response?.quantile_ns(quantile).map(|ns| ns as f64);
    let within = S::WITHIN_PERCENT;
    let method =
        format!("nearest rank, within {within} %; interval by ranks, as of independent requests");
    let half = NORMAL_95 * (quantile * (1.0 - quantile) / count.max(1) as f64).sqrt();
    // Beyond the last value there is no end that could be known.
    let end = |quantile: f64| (0.0..1.0).contains(&quantile).then(|| value(quantile)).flatten();
    found(subject, name, value(quantile), count, &method)
        .within(Interval::Ranks, (end(quantile - half), end(quantile + half)))
}

/// A finding; one without a value was not measured.
pub(crate) fn found(
    subject: &Subject,
    name: &str,
    value: Option<f64>,
    count: u64,
    method: &str,
) -> Finding {
    let unknown = || Judgement::not_measured(Doubt::new(Code::NotInTrace, []));
    let finding = Finding::new(subject, name, value, count, method);
    if value.is_some() { finding } else { finding.judged(unknown()) }
}

#[cfg(test)]
mod tests;
