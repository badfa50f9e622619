//! What is published of requests that have something in common.

use super::share::{ADMISSION, ASKED, BYTES, DEVICE, DONE, ERRORS, SCHEDULER, WAIT};
use super::traffic::Traffic;
use model::doubt::{Code, Doubt, Judgement};
use model::histogram::{Buckets, Store};
use model::record::{Finding, Interval, Subject};

impl<S: Store> Traffic<S> {
    /// What is found of them. `span_ns` is the whole trace's.
    pub(crate) fn findings(&self, subject: &Subject, span_ns: Option<f64>) -> Vec<Finding> {
        let counted = |place: usize| self.sums.counts[place];
        let (asked, bytes, errors) = (counted(ASKED), counted(BYTES), counted(ERRORS));
        let rate = span_ns.filter(|ns| *ns > 0.0).map(|ns| asked as f64 / ns * 1e9);
        let response = self.response.as_ref();
        let responses = self.responses();
        let mean = response.and_then(Buckets::mean_ns);
        let max = response.map(|response| response.max_ns() as f64);
        let of_response = |quantity, value| found(subject, quantity, value, responses, RESPONSE);
        let of_part = |quantity, part: usize, method| {
            let mean = self.mean_of(self.sums.known_ns(part));
            found(subject, quantity, mean, self.sums.counts[part], method)
        };
        let rest = self.sums.placed_ns().map(|placed_ns| self.response_sum_ns() - placed_ns);
        let done = self.done_mean_ns();
        let rows = "rows without a parent";
        let issued = "rows that were issued: issued to completed";
        vec![
            found(subject, "asked_count", Some(asked as f64), asked, rows),
            found(subject, "asked_bytes", Some(bytes as f64), asked, rows),
            found(subject, "failed_count", Some(errors as f64), asked, "error is not 0"),
            found(subject, "asked_per_s", rate, asked, "over the trace's span"),
            of_response("response_mean_ns", mean),
            at_quantile(subject, "response_p50_ns", response, 0.5),
            at_quantile(subject, "response_p99_ns", response, 0.99),
            of_response("response_max_ns", max),
            of_part("admission_mean_ns", ADMISSION, "queued to started, over the responses"),
            of_part("scheduler_mean_ns", SCHEDULER, OF_SCHEDULER),
            of_part("wait_mean_ns", WAIT, "response less device, over the responses"),
            of_part("device_mean_ns", DEVICE, OF_DEVICE),
            found(subject, "rest_mean_ns", self.mean_of(rest), responses, OF_REST),
            found(subject, "done_count", Some(counted(DONE) as f64), counted(DONE), issued),
            found(subject, "done_mean_ns", done, counted(DONE), issued),
        ]
    }

    /// What an analysis finds of them beyond that.
    pub(crate) fn more_findings(&self, subject: &Subject) -> Vec<Finding> {
        let (rows, completed) = ("rows without a parent", self.completed());
        vec![found(subject, "answered_count", Some(completed as f64), self.asked(), rows)]
    }
}

const OF_SCHEDULER: &str = "started to issued, over the responses; of flush sequences what is \
    neither admission nor device";
const OF_DEVICE: &str =
    "issued to completed, over the responses; of a flush sequence the sum of its parts";
const OF_REST: &str = "response - device - admission - scheduler (queue, where these are not told)";
const RESPONSE: &str = "queued (else started) to completed, rows without a parent";
/// Standard deviations of an interval of 95 %.
const DEVIATIONS: f64 = 1.96;

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
    let half = DEVIATIONS * (quantile * (1.0 - quantile) / count.max(1) as f64).sqrt();
    // Beyond the last value there is no end that could be told.
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
    let untold = || Judgement::not_measured(Doubt::new(Code::NotInTrace, []));
    let finding = Finding::new(subject, name, value, count, method);
    if value.is_some() { finding } else { finding.judged(untold()) }
}
