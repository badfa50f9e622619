//! Response times by device and operation, those of the trace beside those of the model.

use model::record::{Finding, Op, Request, Verdict, quantity, subject_text};
use sim::random::Random;
use sim::replay::demerit;
use std::collections::BTreeMap;

/// Times that are kept of each kind; of more, a random sample of so many.
const KEPT: usize = 1 << 20;

/// A sample of times and what is known of all of them.
#[derive(Debug, Clone)]
struct Times {
    sample_ns: Vec<f64>,
    count: u64,
    sum_ns: f64,
    max_ns: f64,
    random: Random,
}

impl Default for Times {
    fn default() -> Self {
        let random = Random::new(1);
        Self { sample_ns: Vec::new(), count: 0, sum_ns: 0.0, max_ns: 0.0, random }
    }
}

impl Times {
    /// Adds one (reservoir sampling: Vitter 1985, algorithm R).
    fn add(&mut self, time_ns: f64) {
        self.count += 1;
        self.sum_ns += time_ns;
        self.max_ns = self.max_ns.max(time_ns);
        if self.sample_ns.len() < KEPT {
            self.sample_ns.push(time_ns);
        } else if let Some(place) = self.sample_ns.get_mut(self.random.below(self.count) as usize) {
            *place = time_ns;
        }
    }

    fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns / self.count as f64)
    }

    /// In rising order.
    fn sorted(&self) -> Vec<f64> {
        let mut sorted = self.sample_ns.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        sorted
    }
}

/// The same of the trace and of the model.
#[derive(Debug, Clone, Default)]
struct Both {
    measured: Times,
    simulated: Times,
}

/// What the times are of: response, or from the driver to the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Of {
    Response,
    Service,
}

/// Times by device, operation (none: both) and what they are of.
#[derive(Debug, Clone, Default)]
pub(crate) struct Comparison {
    by: BTreeMap<(u32, Option<Op>, Of), Both>,
}

/// A request's times.
fn times(row: &Request) -> [(Of, Option<i64>); 2] {
    let since = |from: Option<i64>| Some(row.completed_ns? - from?);
    [(Of::Response, since(row.arrival_ns())), (Of::Service, since(row.issued_ns))]
}

impl Comparison {
    /// A request as the trace tells it.
    pub(crate) fn add_measured(&mut self, row: &Request) {
        self.add(row, |both| &mut both.measured);
    }

    /// A request as the model served it.
    pub(crate) fn add_simulated(&mut self, row: &Request) {
        self.add(row, |both| &mut both.simulated);
    }

    fn add(&mut self, row: &Request, side: fn(&mut Both) -> &mut Times) {
        for (of, time_ns) in times(row) {
            let Some(time_ns) = time_ns.filter(|ns| *ns >= 0) else { continue };
            for op in [None, Some(row.op)] {
                side(self.by.entry((row.device, op, of)).or_default()).add(time_ns as f64);
            }
        }
    }

    /// Takes the trace's side from another one.
    pub(crate) fn merge_measured(&mut self, other: Self) {
        for (key, both) in other.by {
            self.by.entry(key).or_default().measured = both.measured;
        }
    }

    /// What is found, of each device and operation that the model served.
    pub(crate) fn findings(&self, model: &str, name: impl Fn(u32) -> String) -> Vec<Finding> {
        let served = self.by.iter().filter(|(_, both)| both.simulated.count > 0);
        let of_key = |((device, op, of), both): (&(u32, Option<Op>, Of), &Both)| {
            let subject = subject_text([
                ("device", name(*device)),
                ("model", model.to_owned()),
                ("op", op.map_or("all", Op::name).to_owned()),
            ]);
            both.findings(&subject, *of)
        };
        served.flat_map(of_key).collect()
    }
}

impl Both {
    fn findings(&self, subject: &str, of: Of) -> Vec<Finding> {
        let (measured, simulated) = (self.measured.sorted(), self.simulated.sorted());
        let demerit = demerit(simulated.iter().copied(), measured.iter().copied());
        let distance_ns = demerit.map(|demerit| demerit.distance);
        let percent = demerit.map(|demerit| 100.0 * demerit.share);
        let rows = match of {
            Of::Response => vec![
                ("simulated_count", Some(self.simulated.count as f64)),
                ("simulated_mean_ns", self.simulated.mean_ns()),
                ("simulated_p50_ns", quantile(&simulated, 0.5)),
                ("simulated_p99_ns", quantile(&simulated, 0.99)),
                ("simulated_max_ns", Some(self.simulated.max_ns)),
                ("measured_mean_ns", self.measured.mean_ns()),
                ("measured_p50_ns", quantile(&measured, 0.5)),
                ("measured_p99_ns", quantile(&measured, 0.99)),
                ("measured_max_ns", (!measured.is_empty()).then_some(self.measured.max_ns)),
                ("demerit_ns", distance_ns),
                ("demerit_percent", percent),
            ],
            Of::Service => vec![
                ("simulated_service_mean_ns", self.simulated.mean_ns()),
                ("measured_service_mean_ns", self.measured.mean_ns()),
                ("service_demerit_ns", distance_ns),
                ("service_demerit_percent", percent),
            ],
        };
        let count = self.simulated.count;
        let known = rows.into_iter().filter_map(|(name, value)| Some((name, value?)));
        known.map(|(name, value)| finding(subject, name, value, count)).collect()
    }
}

/// The value that a share of them does not exceed.
fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied()
}

/// A number of a simulation.
pub(super) fn finding(subject: &str, name: &str, value: f64, count: u64) -> Finding {
    Finding {
        subject: subject.to_owned(),
        quantity: name.to_owned(),
        value: Some(value),
        unit: quantity(name).map_or("", |quantity| quantity.unit).to_owned(),
        count,
        method: "simulated".into(),
        verdict: Verdict::Ok.name().into(),
        ..Finding::default()
    }
}
