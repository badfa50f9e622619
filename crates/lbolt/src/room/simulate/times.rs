//! Response times by device and operation, those of the trace beside those of the model.

use model::record::{Finding, Op, Request, Verdict, quantity, subject_text};
use sim::random::Random;
use sim::replay::demerit;

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

    /// Adds those of another class. Samples of different shares are thinned to the lesser.
    fn append(&mut self, other: &Self) {
        let share = |times: &Self| times.sample_ns.len() as f64 / times.count.max(1) as f64;
        let (own, its) = (share(self), share(other));
        let least = if self.count == 0 { its } else { own.min(its) };
        let random = &mut self.random;
        let mut thin = |sample: &[f64], share: f64| -> Vec<f64> {
            sample
                .iter()
                .copied()
                .filter(|_| least >= share || random.unit() * share < least)
                .collect()
        };
        let sample = [thin(&self.sample_ns, own), thin(&other.sample_ns, its)].concat();
        self.sample_ns = sample;
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.max_ns = self.max_ns.max(other.max_ns);
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    Response,
    Service,
}

/// A device's requests of one operation.
#[derive(Debug, Clone)]
struct Class {
    device: u32,
    op: Op,
    response: Both,
    service: Both,
}

/// Times by device and operation.
#[derive(Debug, Clone, Default)]
pub(crate) struct Comparison {
    classes: Vec<Class>,
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
        let Some(completed_ns) = row.completed_ns else { return };
        let class = self.class(row.device, row.op);
        let pairs = [(row.arrival_ns(), &mut class.response), (row.issued_ns, &mut class.service)];
        for (from_ns, both) in pairs {
            if let Some(from_ns) = from_ns.filter(|from_ns| *from_ns <= completed_ns) {
                side(both).add((completed_ns - from_ns) as f64);
            }
        }
    }

    /// There are few.
    fn class(&mut self, device: u32, op: Op) -> &mut Class {
        let known = self.classes.iter().position(|class| class.device == device && class.op == op);
        let place = known.unwrap_or_else(|| {
            let (response, service) = (Both::default(), Both::default());
            self.classes.push(Class { device, op, response, service });
            self.classes.len() - 1
        });
        &mut self.classes[place]
    }

    /// Takes the trace's side from another one.
    pub(crate) fn merge_measured(&mut self, other: Self) {
        for class in other.classes {
            let own = self.class(class.device, class.op);
            own.response.measured = class.response.measured;
            own.service.measured = class.service.measured;
        }
    }

    /// What is found, of each device and operation that the model served.
    pub(crate) fn findings(&self, model: &str, name: impl Fn(u32) -> String) -> Vec<Finding> {
        let mut served: Vec<&Class> =
            self.classes.iter().filter(|class| class.response.simulated.count > 0).collect();
        served.sort_by_key(|class| (class.device, class.op));
        let of_device = |classes: &[&Class]| {
            let device = classes.first().map_or(0, |class| class.device);
            let whole = |of: fn(&Class) -> &Both| {
                classes.iter().fold(Both::default(), |whole, class| whole.with(of(class)))
            };
            let (response, service) =
                (whole(|class| &class.response), whole(|class| &class.service));
            let found = |op: &str, response: &Both, service: &Both| {
                let keys =
                    [("device", name(device)), ("model", model.to_owned()), ("op", op.into())];
                let subject = subject_text(keys);
                [response.findings(&subject, Of::Response), service.findings(&subject, Of::Service)]
                    .concat()
            };
            let each = classes
                .iter()
                .flat_map(|class| found(class.op.name(), &class.response, &class.service));
            [found("all", &response, &service), each.collect()].concat()
        };
        served.chunk_by(|a, b| a.device == b.device).flat_map(of_device).collect()
    }
}

impl Both {
    /// With the times of another class.
    fn with(mut self, other: &Self) -> Self {
        self.measured.append(&other.measured);
        self.simulated.append(&other.simulated);
        self
    }

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
