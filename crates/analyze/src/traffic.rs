//! Requests that have something in common: how many, how many bytes, and how long they took, in the parts of their
//! response time. Two of them merge into that of all their requests.
//!
//! Response times are of what was asked for (rows without a parent), device times of what the device did (rows that
//! were issued).
//!
//! Non-goals: what they have in common.

use model::histogram::{Buckets, ByOctave, Store};
use model::record::{Finding, Request, Verdict, quantity};

/// The parts of a response time, and the time in the device: their places in what is summed.
const WAIT: usize = 0;
const ADMISSION: usize = 1;
const SCHEDULER: usize = 2;
const DEVICE: usize = 3;
const PARTS: usize = 4;

/// The sums of times, and of how many each is. Sums are exact up to 104 days, and as good as a double beyond.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    ns: [f64; PARTS],
    counts: [u64; PARTS],
}

impl Sums {
    #[inline(always)]
    fn add(&mut self, other: &Self) {
        // By place: the compiler makes of it two additions of four.
        for part in 0..PARTS {
            self.ns[part] += other.ns[part];
            self.counts[part] += other.counts[part];
        }
    }

    #[inline(always)]
    fn set(&mut self, part: usize, time_ns: Option<i64>) {
        if let Some(time_ns) = time_ns {
            (self.ns[part], self.counts[part]) = (time_ns as f64, 1);
        }
    }

    fn mean(&self, part: usize) -> Option<f64> {
        (self.counts[part] > 0).then(|| self.ns[part] / self.counts[part] as f64)
    }
}

/// The times of a row: worked out once, however many it is added to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    /// Whether it was asked for, and is not a part of what was.
    pub(crate) is_asked: bool,
    pub(crate) response_ns: Option<u64>,
    /// Admission and scheduler together, where the driver's issue is told.
    pub(crate) wait_ns: Option<i64>,
    /// A step is told to be before the one that it follows: the time between them is not known.
    pub(crate) is_reversed: bool,
    parts: Sums,
}

impl Times {
    #[inline]
    pub(crate) fn of(row: &Request) -> Self {
        let mut is_reversed = false;
        let mut between = |from: Option<i64>, to: Option<i64>| {
            let time_ns = to?.saturating_sub(from?);
            is_reversed |= time_ns < 0;
            Some(time_ns).filter(|ns| *ns >= 0)
        };
        let is_asked = row.parent_id.is_none();
        let asked = |time_ns: Option<i64>| if is_asked { time_ns } else { None };
        let first_ns = row.queued_ns.or(row.started_ns);
        let response_ns = asked(between(first_ns, row.completed_ns));
        let wait_ns = asked(between(first_ns, row.issued_ns));
        let mut parts = Sums::default();
        parts.set(WAIT, wait_ns);
        parts.set(ADMISSION, asked(between(row.queued_ns, row.started_ns)));
        parts.set(SCHEDULER, asked(between(row.started_ns, row.issued_ns)));
        parts.set(DEVICE, between(row.issued_ns, row.completed_ns));
        let response_ns = response_ns.map(|ns| u64::try_from(ns).unwrap_or(0));
        Self { is_asked, response_ns, wait_ns, is_reversed, parts }
    }
}

/// What requests amount to. `S` is how finely their responses are counted.
#[derive(Debug, Clone)]
pub(crate) struct Traffic<S: Store = ByOctave<128>> {
    pub(crate) asked: u64,
    pub(crate) answered: u64,
    bytes: u64,
    errors: u64,
    /// Made with the first response: there may be thousands of devices that tell none.
    pub(crate) response: Option<Buckets<S>>,
    parts: Sums,
}

/// Of classes of which many are in use at once: responses within 1.6 %.
pub(crate) type SmallTraffic = Traffic<ByOctave<32>>;

impl<S: Store> Default for Traffic<S> {
    fn default() -> Self {
        Self { asked: 0, answered: 0, bytes: 0, errors: 0, response: None, parts: Sums::default() }
    }
}

impl<S: Store> Traffic<S> {
    pub(crate) fn add(&mut self, row: &Request) {
        self.add_timed(row, &Times::of(row));
    }

    /// The same, the row's times being known.
    #[inline]
    pub(crate) fn add_timed(&mut self, row: &Request, times: &Times) {
        if times.is_asked {
            self.asked += 1;
            self.answered += u64::from(row.completed_ns.is_some());
            self.bytes += u64::from(row.length_bytes);
            self.errors += u64::from(row.error != 0);
            if let Some(response_ns) = times.response_ns {
                self.response.get_or_insert_default().record(response_ns);
            }
        }
        self.parts.add(&times.parts);
    }

    pub(crate) fn merge<O: Store>(&mut self, other: &Traffic<O>) {
        self.asked += other.asked;
        self.answered += other.answered;
        self.bytes += other.bytes;
        self.errors += other.errors;
        if let Some(response) = &other.response {
            self.response.get_or_insert_default().merge(response);
        }
        self.parts.add(&other.parts);
    }

    /// The sum of their responses.
    pub(crate) fn response_sum_ns(&self) -> f64 {
        self.response.as_ref().map_or(0.0, |response| response.sum_ns() as f64)
    }

    /// Mean length in bytes; none of none.
    pub(crate) fn length_mean(&self) -> Option<f64> {
        (self.asked > 0).then(|| self.bytes as f64 / self.asked as f64)
    }

    /// Mean time until the driver got them, and from there to the answer.
    pub(crate) fn part_means_ns(&self) -> (Option<f64>, Option<f64>) {
        (self.parts.mean(WAIT), self.parts.mean(DEVICE))
    }

    /// What is found of them. `span_ns` is the whole trace's.
    pub(crate) fn findings(&self, subject: &str, span_ns: Option<f64>) -> Vec<Finding> {
        let rate = span_ns.filter(|ns| *ns > 0.0).map(|ns| self.asked as f64 / ns * 1e9);
        let response = self.response.as_ref();
        let responses = response.map_or(0, Buckets::count);
        let mean = response.and_then(Buckets::mean_ns);
        let max = response.map(|response| response.max_ns() as f64);
        let of_response = |quantity, value| found(subject, quantity, value, responses, RESPONSE);
        let of_part = |quantity, part: usize, method| {
            found(subject, quantity, self.parts.mean(part), self.parts.counts[part], method)
        };
        let rows = "rows without a parent";
        vec![
            found(subject, "asked_count", Some(self.asked as f64), self.asked, rows),
            found(subject, "asked_bytes", Some(self.bytes as f64), self.asked, rows),
            found(subject, "failed_count", Some(self.errors as f64), self.asked, "error is not 0"),
            found(subject, "asked_per_s", rate, self.asked, "over the trace's span"),
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
        self.asked == 0 && self.parts.counts[DEVICE] == 0
    }

    /// What an analysis finds of them beyond that.
    pub(crate) fn more_findings(&self, subject: &str) -> Vec<Finding> {
        let wait = "queued (else started) to issued";
        vec![
            found(
                subject,
                "answered_count",
                Some(self.answered as f64),
                self.asked,
                "rows without a parent",
            ),
            found(subject, "wait_mean_ns", self.parts.mean(WAIT), self.parts.counts[WAIT], wait),
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
