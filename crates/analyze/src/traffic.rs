//! Requests that have something in common: how many, how many bytes, and how long they took, in the parts of their
//! response time. Two of them merge into that of all their requests.
//!
//! Response times are of what was asked for (rows without a parent), device times of what the device did (rows that
//! were issued).
//!
//! Non-goals: what they have in common.

use model::histogram::Histogram;
use model::record::{Finding, Request, Verdict, quantity};

/// The sum of so many times.
#[derive(Debug, Clone, Copy, Default)]
struct Mean {
    sum_ns: i128,
    count: u64,
}

impl Mean {
    fn add(&mut self, from: Option<i64>, to: Option<i64>) {
        if let (Some(from), Some(to)) = (from, to) {
            self.sum_ns += i128::from(to) - i128::from(from);
            self.count += 1;
        }
    }

    fn merge(&mut self, other: &Self) {
        self.sum_ns += other.sum_ns;
        self.count += other.count;
    }

    fn value(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns as f64 / self.count as f64)
    }
}

/// What requests amount to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Traffic {
    pub(crate) asked: u64,
    pub(crate) answered: u64,
    bytes: u64,
    errors: u64,
    /// Made with the first response: there may be thousands of devices that tell none.
    pub(crate) response: Option<Box<Histogram>>,
    /// Admission and scheduler together, where the driver's issue is told.
    wait: Mean,
    admission: Mean,
    scheduler: Mean,
    device: Mean,
}

impl Traffic {
    pub(crate) fn add(&mut self, row: &Request) {
        if row.parent_id.is_none() {
            self.asked += 1;
            self.answered += u64::from(row.completed_ns.is_some());
            self.bytes += u64::from(row.length_bytes);
            self.errors += u64::from(row.error != 0);
            if let Some((from, to)) = row.queued_ns.or(row.started_ns).zip(row.completed_ns) {
                let response = u64::try_from(to.saturating_sub(from)).unwrap_or(0);
                self.response.get_or_insert_default().record(response);
            }
            self.wait.add(row.queued_ns.or(row.started_ns), row.issued_ns);
            self.admission.add(row.queued_ns, row.started_ns);
            self.scheduler.add(row.started_ns, row.issued_ns);
        }
        self.device.add(row.issued_ns, row.completed_ns);
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.asked += other.asked;
        self.answered += other.answered;
        self.bytes += other.bytes;
        self.errors += other.errors;
        if let Some(response) = &other.response {
            self.response.get_or_insert_default().merge(response);
        }
        self.wait.merge(&other.wait);
        self.admission.merge(&other.admission);
        self.scheduler.merge(&other.scheduler);
        self.device.merge(&other.device);
    }

    /// What is found of them. `span_ns` is the whole trace's.
    pub(crate) fn findings(&self, subject: &str, span_ns: Option<f64>) -> Vec<Finding> {
        let rate = span_ns.filter(|ns| *ns > 0.0).map(|ns| self.asked as f64 / ns * 1e9);
        let response = self.response.as_deref();
        let responses = response.map_or(0, Histogram::count);
        let at = |quantile| response?.quantile_ns(quantile).map(|ns| ns as f64);
        let max = response.map(|response| response.max_ns() as f64);
        let mean = response.and_then(Histogram::mean_ns);
        let of_response = |quantity, value| {
            let method = "queued (else started) to completed, rows without a parent";
            found(subject, quantity, value, responses, method)
        };
        let of_part = |quantity, mean: &Mean, method| {
            found(subject, quantity, mean.value(), mean.count, method)
        };
        vec![
            found(
                subject,
                "asked_count",
                Some(self.asked as f64),
                self.asked,
                "rows without a parent",
            ),
            found(
                subject,
                "asked_bytes",
                Some(self.bytes as f64),
                self.asked,
                "rows without a parent",
            ),
            found(subject, "failed_count", Some(self.errors as f64), self.asked, "error is not 0"),
            found(subject, "asked_per_s", rate, self.asked, "over the trace's span"),
            of_response("response_mean_ns", mean),
            of_response("response_p50_ns", at(0.5)),
            of_response("response_p99_ns", at(0.99)),
            of_response("response_max_ns", max),
            of_part("admission_mean_ns", &self.admission, "queued to started"),
            of_part("scheduler_mean_ns", &self.scheduler, "started to issued"),
            of_part(
                "device_mean_ns",
                &self.device,
                "issued to completed, flush sequences by their parts",
            ),
        ]
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.asked == 0 && self.device.count == 0
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
            found(subject, "wait_mean_ns", self.wait.value(), self.wait.count, wait),
        ]
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
