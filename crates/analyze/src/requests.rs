//! What a trace holds, in the figures that are printed when it was captured or imported: how many requests,
//! what is missing from them, and each device's times by operation.
//!
//! One pass in bounded memory: rows are added, and two summaries merge into that of both. Rows that lbolt itself
//! made are counted and left out of every other figure. Response times are of what was asked for (rows without a
//! parent), device times of what the device did (rows that were issued).
//!
//! Non-goals: percentiles by anything else, storms, who waited for whom (the response room).

use hashbrown::HashMap;
use model::histogram::Histogram;
use model::record::requests::{Counts, Provenance};
use model::record::{Finding, Flags, Op, Request, Verdict, quantity, subject_text};
use std::collections::BTreeMap;

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

/// The requests of one device that do the same.
#[derive(Debug, Clone, Default)]
struct Group {
    asked: u64,
    answered: u64,
    bytes: u64,
    errors: u64,
    /// Made with the first response: there may be thousands of devices that tell none.
    response: Option<Box<Histogram>>,
    admission: Mean,
    scheduler: Mean,
    device: Mean,
}

/// What the rows so far amount to.
#[derive(Debug, Clone, Default)]
pub struct TraceSummary {
    groups: HashMap<(u32, Op), Group>,
    /// Answers to lbolt itself, by device.
    own: BTreeMap<u32, u64>,
    first_ns: Option<i64>,
    last_ns: Option<i64>,
}

impl TraceSummary {
    /// Adds a row.
    pub fn add(&mut self, row: &Request) {
        if row.flags.contains(Flags::OWN) {
            let is_answer = row.parent_id.is_none() && row.completed_ns.is_some();
            *self.own.entry(row.device).or_default() += u64::from(is_answer);
            return;
        }
        for time_ns in [row.arrival_ns(), row.completed_ns].into_iter().flatten() {
            self.first_ns = Some(self.first_ns.map_or(time_ns, |first| first.min(time_ns)));
            self.last_ns = Some(self.last_ns.map_or(time_ns, |last| last.max(time_ns)));
        }
        self.groups.entry((row.device, row.op)).or_default().add(row);
    }

    /// Adds what another summary, of other rows, found.
    pub fn merge(&mut self, other: &Self) {
        self.first_ns = other.first_ns.into_iter().chain(self.first_ns).min();
        self.last_ns = other.last_ns.into_iter().chain(self.last_ns).max();
        other.own.iter().for_each(|(device, count)| *self.own.entry(*device).or_default() += count);
        for (key, group) in &other.groups {
            self.groups.entry(*key).or_default().merge(group);
        }
    }

    /// Answers to what a device was asked for, lbolt's own too.
    pub fn answered(&self, device: u32) -> u64 {
        let of_device = Op::ALL.iter().filter_map(|op| self.groups.get(&(device, *op)));
        of_device.map(|group| group.answered).sum::<u64>() + self.own.get(&device).unwrap_or(&0)
    }

    /// All findings: what the footer counts, and each device's times by operation. `name` is a device's.
    pub fn findings(&self, provenance: &Provenance, name: impl Fn(u32) -> String) -> Vec<Finding> {
        let span_ns = self
            .first_ns
            .zip(self.last_ns)
            .map(|(first, last)| (i128::from(last) - i128::from(first)) as f64);
        let run = subject_text([("run", "this".to_owned())]);
        let counts = Counts::ALL.iter().map(|(count, _, get, _)| {
            let method = "counted while the rows were made";
            found(&run, &format!("{count}_count"), Some(get(&provenance.counts) as f64), 1, method)
        });
        let span = found(&run, "trace_span_ns", span_ns, 1, "from the first arrival to the last");
        let mut groups: Vec<_> = self.groups.iter().collect();
        groups.sort_by_key(|(key, _)| **key);
        let groups = groups.into_iter().flat_map(|((device, op), group)| {
            let op = op.name().to_owned();
            group.findings(&subject_text([("device", name(*device)), ("op", op)]), span_ns)
        });
        counts.chain([span]).chain(groups).collect()
    }
}

impl Group {
    fn add(&mut self, row: &Request) {
        if row.parent_id.is_none() {
            self.asked += 1;
            self.answered += u64::from(row.completed_ns.is_some());
            self.bytes += u64::from(row.length_bytes);
            self.errors += u64::from(row.error != 0);
            if let Some((from, to)) = row.queued_ns.or(row.started_ns).zip(row.completed_ns) {
                let response = u64::try_from(to.saturating_sub(from)).unwrap_or(0);
                self.response.get_or_insert_default().record(response);
            }
            self.admission.add(row.queued_ns, row.started_ns);
            self.scheduler.add(row.started_ns, row.issued_ns);
        }
        self.device.add(row.issued_ns, row.completed_ns);
    }

    fn merge(&mut self, other: &Self) {
        self.asked += other.asked;
        self.answered += other.answered;
        self.bytes += other.bytes;
        self.errors += other.errors;
        if let Some(response) = &other.response {
            self.response.get_or_insert_default().merge(response);
        }
        self.admission.merge(&other.admission);
        self.scheduler.merge(&other.scheduler);
        self.device.merge(&other.device);
    }

    fn findings(&self, subject: &str, span_ns: Option<f64>) -> Vec<Finding> {
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
}

fn found(subject: &str, name: &str, value: Option<f64>, count: u64, method: &str) -> Finding {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn row(op: Op, queued_ns: i64, response_ns: i64) -> Request {
        Request {
            op,
            length_bytes: 4096,
            queued_ns: Some(queued_ns),
            started_ns: Some(queued_ns + 10),
            issued_ns: Some(queued_ns + 30),
            completed_ns: Some(queued_ns + response_ns),
            ..Request::default()
        }
    }

    fn value(findings: &[Finding], op: &str, quantity: &str) -> Option<f64> {
        let is_it = |f: &&Finding| {
            f.quantity == quantity && f.subject_value("op").is_none_or(|found| found == op)
        };
        findings.iter().find(is_it).unwrap().value
    }

    /// A flush sequence is one request that was asked for, and two that the device did.
    #[test]
    fn asked_for_and_done_are_told_apart_and_own_rows_are_left_out() {
        let whole = Request { request_id: 1, issued_ns: None, ..row(Op::Write, 0, 1000) };
        let data = Request {
            parent_id: Some(1),
            queued_ns: None,
            started_ns: None,
            ..row(Op::Write, 100, 400)
        };
        let flush = Request { op: Op::Flush, length_bytes: 0, ..data };
        let own = Request { flags: Flags::OWN, ..row(Op::Write, 0, 1_000_000) };
        let mut summary = TraceSummary::default();
        [whole, data, flush, own].iter().for_each(|row| summary.add(row));
        let findings = summary.findings(&Provenance::default(), |d| d.to_string());
        assert_eq!(value(&findings, "write", "asked_count"), Some(1.0));
        assert_eq!(value(&findings, "write", "asked_bytes"), Some(4096.0));
        assert_eq!(value(&findings, "write", "response_mean_ns"), Some(1000.0));
        assert_eq!(value(&findings, "write", "device_mean_ns"), Some(370.0));
        assert_eq!(value(&findings, "write", "scheduler_mean_ns"), None);
        assert_eq!(value(&findings, "flush", "asked_count"), Some(0.0));
        assert_eq!(value(&findings, "flush", "device_mean_ns"), Some(370.0));
        assert_eq!(value(&findings, "flush", "trace_span_ns"), Some(1000.0));
    }

    #[test]
    fn parts_merge_into_the_whole_and_every_quantity_is_known() {
        let rows: Vec<_> = (0..100).map(|n| row(Op::Read, n * 50, 100 + n * n)).collect();
        let (mut first, mut rest) = (TraceSummary::default(), TraceSummary::default());
        let mut whole = TraceSummary::default();
        rows[..37].iter().for_each(|row| first.add(row));
        rows[37..].iter().for_each(|row| rest.add(row));
        rows.iter().for_each(|row| whole.add(row));
        first.merge(&rest);
        let of = |s: &TraceSummary| s.findings(&Provenance::default(), |d| d.to_string());
        assert_eq!(of(&first), of(&whole));
        for finding in of(&whole) {
            let known =
                quantity(&finding.quantity).unwrap_or_else(|| panic!("{}", finding.quantity));
            assert_eq!(known.unit, finding.unit);
        }
    }
}
