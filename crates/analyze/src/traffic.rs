//! Requests that have something in common: how many, how many bytes, and how long they took, in the parts of their
//! response time. Two of them merge into that of all their requests.
//!
//! Response times are of what was asked for (rows without a parent), device times of what the device did (rows that
//! were issued).
//!
//! Non-goals: what they have in common.

use model::histogram::{Binned, Buckets, ByOctave, Store};
use model::record::{Finding, Request, Verdict, quantity};

/// The parts of a response time, and the time in the device: their places in what is summed.
const WAIT: usize = 0;
const ADMISSION: usize = 1;
const SCHEDULER: usize = 2;
const DEVICE: usize = 3;
const PARTS: usize = 4;
/// The places behind them, of what is only counted.
const ASKED: usize = 4;
const ANSWERED: usize = 5;
const BYTES: usize = 6;
const ERRORS: usize = 7;
const COUNTS: usize = 8;

/// The sums of times, of how many each is, and of what else is counted. Times are exact up to 104 days, and as good as
/// a double beyond.
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

    fn mean(&self, part: usize) -> Option<f64> {
        (self.counts[part] > 0).then(|| self.ns[part] / self.counts[part] as f64)
    }
}

/// What a row adds to the traffic that it belongs to: worked out once, however many that are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Share {
    /// Whether it was asked for, and is not a part of what was.
    pub(crate) is_asked: bool,
    pub(crate) response: Option<Binned>,
    /// Admission and scheduler together, where the driver's issue is told.
    pub(crate) wait_ns: Option<i64>,
    /// A step is told to be before the one that it follows: the time between them is not known.
    pub(crate) is_reversed: bool,
    sums: Sums,
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

    /// The same of what counts only for what was asked for.
    #[inline(always)]
    fn wanted(self, is_wanted: bool) -> Self {
        let ns = if is_wanted { self.ns } else { 0 };
        Self { ns, is_told: self.is_told & is_wanted, ..self }
    }
}

impl Share {
    #[inline(always)]
    pub(crate) fn of(row: &Request) -> Self {
        let is_asked = row.parent_id.is_none();
        let first_ns = row.queued_ns.or(row.started_ns);
        let response = Step::between(first_ns, row.completed_ns).wanted(is_asked);
        let wait = Step::between(first_ns, row.issued_ns).wanted(is_asked);
        let admission = Step::between(row.queued_ns, row.started_ns).wanted(is_asked);
        let scheduler = Step::between(row.started_ns, row.issued_ns).wanted(is_asked);
        let device = Step::between(row.issued_ns, row.completed_ns);
        let asked = u64::from(is_asked);
        let sums = Sums {
            ns: [wait.ns as f64, admission.ns as f64, scheduler.ns as f64, device.ns as f64],
            counts: [
                wait.is_told.into(),
                admission.is_told.into(),
                scheduler.is_told.into(),
                device.is_told.into(),
                asked,
                asked & u64::from(row.completed_ns.is_some()),
                asked * u64::from(row.length_bytes),
                asked & u64::from(row.error != 0),
            ],
        };
        let steps = [response, wait, admission, scheduler, device];
        Self {
            is_asked,
            response: response.is_told.then(|| Binned::new(response.ns.unsigned_abs())),
            wait_ns: wait.is_told.then_some(wait.ns),
            is_reversed: steps.iter().any(|step| step.is_reversed),
            sums,
        }
    }
}

/// As many responses as a tally holds before they are counted.
const TALLIED: usize = 56;

/// Shares that are put together before they are added to all the traffic that they belong to. The responses are kept as
/// a list: what is counted one histogram after the other stays in the core's own cache.
#[derive(Debug, Clone)]
pub(crate) struct Tally {
    sums: Sums,
    response_sum_ns: u64,
    response_min_ns: u64,
    response_max_ns: u64,
    listed: usize,
    buckets: [u16; TALLIED],
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            sums: Sums::default(),
            response_sum_ns: 0,
            response_min_ns: u64::MAX,
            response_max_ns: 0,
            listed: 0,
            buckets: [0; TALLIED],
        }
    }
}

impl Tally {
    /// Adds a row's share. Says whether the tally is full: then it is to be settled and cleared.
    #[inline(always)]
    pub(crate) fn add(&mut self, share: &Share) -> bool {
        self.sums.add(&share.sums);
        let Some(response) = share.response else { return false };
        let response_ns = response.value_ns();
        self.response_sum_ns = self.response_sum_ns.wrapping_add(response_ns);
        self.response_min_ns = self.response_min_ns.min(response_ns);
        self.response_max_ns = self.response_max_ns.max(response_ns);
        if let Some(bucket) = self.buckets.get_mut(self.listed) {
            *bucket = response.bucket();
        }
        self.listed += 1;
        self.listed >= TALLIED
    }

    /// Begins anew.
    pub(crate) fn clear(&mut self) {
        self.sums = Sums::default();
        self.response_sum_ns = 0;
        (self.response_min_ns, self.response_max_ns) = (u64::MAX, 0);
        self.listed = 0;
    }
}

/// What requests amount to. `S` is how finely their responses are counted.
#[derive(Debug, Clone)]
pub(crate) struct Traffic<S: Store = ByOctave<128>> {
    /// Made with the first response: there may be thousands of devices that tell none.
    pub(crate) response: Option<Buckets<S>>,
    sums: Sums,
}

/// Of classes of which many are in use at once: responses within 1.6 %.
pub(crate) type SmallTraffic = Traffic<ByOctave<32>>;

impl<S: Store> Default for Traffic<S> {
    fn default() -> Self {
        Self { response: None, sums: Sums::default() }
    }
}

impl<S: Store> Traffic<S> {
    /// Requests that were asked for.
    pub(crate) fn asked(&self) -> u64 {
        self.sums.counts[ASKED]
    }

    /// Those of them that were answered.
    pub(crate) fn answered(&self) -> u64 {
        self.sums.counts[ANSWERED]
    }

    /// Adds a row's share.
    #[inline(always)]
    pub(crate) fn add(&mut self, share: &Share) {
        self.sums.add(&share.sums);
        if let Some(response) = share.response {
            self.response.get_or_insert_default().record_binned(response);
        }
    }

    /// Adds what a tally put together.
    pub(crate) fn settle(&mut self, tally: &Tally) {
        self.sums.add(&tally.sums);
        let listed = tally.buckets.get(..tally.listed).unwrap_or_default();
        if !listed.is_empty() {
            let ns = (tally.response_sum_ns, tally.response_min_ns, tally.response_max_ns);
            self.response.get_or_insert_default().record_all(listed, ns);
        }
    }

    pub(crate) fn merge<O: Store>(&mut self, other: &Traffic<O>) {
        if let Some(response) = &other.response {
            self.response.get_or_insert_default().merge(response);
        }
        self.sums.add(&other.sums);
    }

    /// The sum of their responses.
    pub(crate) fn response_sum_ns(&self) -> f64 {
        self.response.as_ref().map_or(0.0, |response| response.sum_ns() as f64)
    }

    /// Mean length in bytes; none of none.
    pub(crate) fn length_mean(&self) -> Option<f64> {
        (self.asked() > 0).then(|| self.sums.counts[BYTES] as f64 / self.asked() as f64)
    }

    /// Mean time until the driver got them, and from there to the answer.
    pub(crate) fn part_means_ns(&self) -> (Option<f64>, Option<f64>) {
        (self.sums.mean(WAIT), self.sums.mean(DEVICE))
    }

    /// What is found of them. `span_ns` is the whole trace's.
    pub(crate) fn findings(&self, subject: &str, span_ns: Option<f64>) -> Vec<Finding> {
        let counted = |place: usize| self.sums.counts[place];
        let (asked, bytes, errors) = (counted(ASKED), counted(BYTES), counted(ERRORS));
        let rate = span_ns.filter(|ns| *ns > 0.0).map(|ns| asked as f64 / ns * 1e9);
        let response = self.response.as_ref();
        let responses = response.map_or(0, Buckets::count);
        let mean = response.and_then(Buckets::mean_ns);
        let max = response.map(|response| response.max_ns() as f64);
        let of_response = |quantity, value| found(subject, quantity, value, responses, RESPONSE);
        let of_part = |quantity, part: usize, method| {
            found(subject, quantity, self.sums.mean(part), self.sums.counts[part], method)
        };
        let rows = "rows without a parent";
        vec![
            found(subject, "asked_count", Some(asked as f64), asked, rows),
            found(subject, "asked_bytes", Some(bytes as f64), asked, rows),
            found(subject, "failed_count", Some(errors as f64), asked, "error is not 0"),
            found(subject, "asked_per_s", rate, asked, "over the trace's span"),
            of_response("response_mean_ns", mean),
            at_quantile(subject, "response_p50_ns", response, 0.5),
            at_quantile(subject, "response_p99_ns", response, 0.99),
            of_response("response_max_ns", max),
            of_part("admission_mean_ns", ADMISSION, "queued to started"),
            of_part("scheduler_mean_ns", SCHEDULER, "started to issued"),
            of_part(
                "device_mean_ns",
                DEVICE,
                "issued to completed, flush sequences by their parts",
            ),
        ]
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.asked() == 0 && self.sums.counts[DEVICE] == 0
    }

    /// What an analysis finds of them beyond that.
    pub(crate) fn more_findings(&self, subject: &str) -> Vec<Finding> {
        let wait = "queued (else started) to issued";
        vec![
            found(
                subject,
                "answered_count",
                Some(self.answered() as f64),
                self.asked(),
                "rows without a parent",
            ),
            found(subject, "wait_mean_ns", self.sums.mean(WAIT), self.sums.counts[WAIT], wait),
        ]
    }
}

/// How a response is told from a row.
const RESPONSE: &str = "queued (else started) to completed, rows without a parent";
/// Standard deviations of an interval of 95 %.
const DEVIATIONS: f64 = 1.96;

/// A percentile by the nearest rank, and its 95 % interval by the binomial distribution of ranks (David & Nagaraja,
/// Order Statistics, section 7.1, in its normal form): as wide as independent requests would make it.
pub(crate) fn at_quantile<S: Store>(
    subject: &str,
    name: &str,
    response: Option<&Buckets<S>>,
    quantile: f64,
) -> Finding {
    let count = response.map_or(0, Buckets::count);
    let value = |quantile: f64| response?.quantile_ns(quantile).map(|ns| ns as f64);
    let within = S::WITHIN_PERCENT;
    let method =
        format!("nearest rank, within {within} %; interval by ranks, as of independent requests");
    let half = DEVIATIONS * (quantile * (1.0 - quantile) / count.max(1) as f64).sqrt();
    // Beyond the last value there is no end that could be told.
    let end = |quantile: f64| (0.0..1.0).contains(&quantile).then(|| value(quantile)).flatten();
    Finding {
        low: end(quantile - half),
        high: end(quantile + half),
        ..found(subject, name, value(quantile), count, &method)
    }
}

/// A finding; one without a value was not measured.
pub(crate) fn found(
    subject: &str,
    name: &str,
    value: Option<f64>,
    count: u64,
    method: &str,
) -> Finding {
    let verdict = if value.is_some() { Verdict::Ok } else { Verdict::NotMeasured };
    Finding {
        subject: subject.to_owned(),
        quantity: name.to_owned(),
        value,
        unit: quantity(name).map_or("", |q| q.unit).to_owned(),
        count,
        method: method.to_owned(),
        verdict: verdict.name().to_owned(),
        reason: value.is_none().then(|| "the trace does not tell".to_owned()),
        ..Finding::default()
    }
}
