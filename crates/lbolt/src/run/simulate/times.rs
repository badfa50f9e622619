//! Response times by device and operation: of the trace, of the model, and the one beside the
//! other. Counts, means and extremes are those of every analysis of requests; here is what only a
//! simulation needs: a sample of the times, for ranks and for the demerit.

use ::verdict::requests::{Class as Counted, Figures};
use analyze::stretches::{Statistic, Stretches};
use analyze::whatif::Noise;
use model::record::subject::{ModelOp, Subject};
use model::record::{Finding, Flags, Op, Request};
use sim::random::Random;
use sim::replay::demerit_of_sorted;
use std::collections::BTreeMap;

/// Times that are kept of each kind; of more, a random sample of so many.
const KEPT: usize = 1 << 20;

/// A sample of times, and of how many it is.
#[derive(Debug, Clone)]
struct Sample {
    times_ns: Vec<u64>,
    count: u64,
    random: Random,
}

impl Default for Sample {
    fn default() -> Self {
        Self { times_ns: Vec::new(), count: 0, random: Random::new(1) }
    }
}

impl Sample {
    /// Adds one (reservoir sampling: Vitter 1985, algorithm R).
    fn add(&mut self, time_ns: u64) {
        self.count += 1;
        if self.times_ns.len() < KEPT {
            self.times_ns.push(time_ns);
        } else if let Some(place) = self.times_ns.get_mut(self.random.below(self.count) as usize) {
            *place = time_ns;
        }
    }

    fn sort(&mut self) {
        self.times_ns.sort_unstable();
    }

    /// With those of another class, both in rising order. Samples of different shares are thinned
    /// to the lesser.
    fn with(mut self, other: &Self) -> Self {
        let share = |sample: &Self| sample.times_ns.len() as f64 / sample.count.max(1) as f64;
        if self.count == 0 {
            return other.clone();
        }
        let (own, its) = (share(&self), share(other));
        let least = own.min(its);
        let random = &mut self.random;
        let mut is_kept = |share: f64| least >= share || random.unit() * share < least;
        self.times_ns.retain(|_| is_kept(own));
        self.times_ns.reserve(other.times_ns.len());
        self.times_ns.extend(other.times_ns.iter().filter(|_| is_kept(its)));
        // This sort finds what is in order already, and merges.
        self.times_ns.sort();
        self.count += other.count;
        self
    }

    /// The time that a share of them does not exceed, once they are in rising order.
    fn quantile_ns(&self, share: f64) -> Option<f64> {
        let rank = (share * self.times_ns.len() as f64).ceil() as usize;
        self.times_ns.get(rank.max(1) - 1).map(|time_ns| *time_ns as f64)
    }
}

/// A device's requests of one operation.
#[derive(Debug, Clone, Default)]
struct Class {
    device: u32,
    /// All together, where it is none.
    op: Option<Op>,
    counted: Counted,
    /// From arrival to completion.
    response: Sample,
    /// From the driver to the completion; none while every request went to the driver when it
    /// arrived: both are one then.
    service: Option<Sample>,
}

impl Class {
    /// Adds a request that was completed.
    fn add(&mut self, row: &Request) {
        let (response_ns, service_ns) = self.counted.add(row);
        if response_ns != service_ns && self.service.is_none() {
            self.service = Some(self.response.clone());
        }
        if let Some(response_ns) = response_ns {
            self.response.add(response_ns);
        }
        if let Some((service, service_ns)) = self.service.as_mut().zip(service_ns) {
            service.add(service_ns);
        }
    }

    fn sort(&mut self) {
        self.response.sort();
        self.service.as_mut().into_iter().for_each(Sample::sort);
    }

    fn service(&self) -> &Sample {
        self.service.as_ref().unwrap_or(&self.response)
    }

    /// With another class, both in rising order.
    fn with(mut self, other: &Self) -> Self {
        self.counted.merge(&other.counted);
        let are_one = self.service.is_none() && other.service.is_none();
        let service = (!are_one).then(|| self.service().clone().with(other.service()));
        let response = self.response.with(&other.response);
        Self { device: other.device, op: None, counted: self.counted, response, service }
    }

    fn key(&self) -> (u32, Option<Op>) {
        (self.device, self.op)
    }
}

/// Requests by device and operation, as they come.
#[derive(Debug, Clone, Default)]
struct Tally(Vec<Class>);

impl Tally {
    /// Adds a request that was completed.
    fn add(&mut self, device: u32, row: &Request) {
        if row.completed_ns.is_some() {
            self.class(device, row.op).add(row);
        }
    }

    /// There are few.
    fn class(&mut self, device: u32, op: Op) -> &mut Class {
        let key = (device, Some(op));
        let known = self.0.iter().position(|class| class.key() == key);
        let place = known.unwrap_or_else(|| {
            self.0.push(Class { device, op: Some(op), ..Class::default() });
            self.0.len() - 1
        });
        &mut self.0[place]
    }

    /// In rising order, with all operations of each device together.
    fn ranked(mut self) -> Ranked {
        self.0.iter_mut().for_each(Class::sort);
        self.0.sort_by_key(Class::key);
        let of_devices = self.0.chunk_by(|a, b| a.device == b.device);
        let together = of_devices.map(|of| of.iter().fold(Class::default(), Class::with));
        let mut classes: Vec<Class> = together.collect();
        classes.append(&mut self.0);
        // What is of all operations comes first.
        classes.sort_by_key(Class::key);
        Ranked(classes)
    }
}

/// The same, with the samples in rising order.
#[derive(Debug, Default)]
struct Ranked(Vec<Class>);

impl Ranked {
    /// What is found of these times of a model, of each device and operation, beside those of the
    /// trace.
    pub(super) fn findings(
        &self,
        traced: &Self,
        model: &str,
        name: impl Fn(u32) -> String,
    ) -> Vec<Finding> {
        let none = Class::default();
        let of_class = |class: &Class| {
            let op = class.op.map_or("all", Op::name);
            let (device, model, op) = (name(class.device), model.to_owned(), op.to_owned());
            let subject = Subject::ModelOp(ModelOp { device, model, op });
            let measured = traced.0.iter().find(|other| other.key() == class.key());
            let own = class.counted.figures();
            let known = known((&own, class), measured.unwrap_or(&none)).into_iter();
            let known = known.filter_map(|(name, value)| Some((name, value?)));
            let findings = known.map(|(name, value)| finding(&subject, name, value, own.responses));
            findings.collect::<Vec<Finding>>()
        };
        self.0.iter().flat_map(of_class).collect()
    }
}

/// What is known of a class on both sides: the figures of its times, and samples of them.
fn known(
    (own, sample): (&Figures, &Class),
    their_sample: &Class,
) -> [(&'static str, Option<f64>); 15] {
    let theirs = their_sample.counted.figures();
    let (response, their_response) = (&sample.response, &their_sample.response);
    let demerit =
        |own: &Sample, theirs: &Sample| demerit_of_sorted(&own.times_ns, &theirs.times_ns);
    let of_response = demerit(response, their_response);
    let of_service = demerit(sample.service(), their_sample.service());
    let their_max_ns = (theirs.responses > 0).then_some(theirs.max_ns as f64);
    [
        ("simulated_count", Some(own.responses as f64)),
        ("simulated_mean_ns", own.mean_ns),
        ("simulated_p50_ns", response.quantile_ns(0.5)),
        ("simulated_p99_ns", response.quantile_ns(0.99)),
        ("simulated_max_ns", Some(own.max_ns as f64)),
        ("measured_mean_ns", theirs.mean_ns),
        ("measured_p50_ns", their_response.quantile_ns(0.5)),
        ("measured_p99_ns", their_response.quantile_ns(0.99)),
        ("measured_max_ns", their_max_ns),
        ("demerit_ns", of_response.map(|demerit| demerit.distance)),
        ("demerit_percent", of_response.map(|demerit| 100.0 * demerit.share)),
        ("simulated_service_mean_ns", own.service_mean_ns),
        ("measured_service_mean_ns", theirs.service_mean_ns),
        ("service_demerit_ns", of_service.map(|demerit| demerit.distance)),
        ("service_demerit_percent", of_service.map(|demerit| 100.0 * demerit.share)),
    ]
}

/// Times of whatever operations, and where that was requested of writes that nobody waits for and
/// of the others, each on their own.
#[derive(Debug, Default)]
pub(super) struct Times {
    whole: Tally,
    /// Of writes: those that somebody waits for, and the asynchronous ones.
    writes: Option<[Tally; 2]>,
    /// By device and class, where they are to be held against another run's, stretch by stretch.
    stretches: Option<ByClass>,
}

/// Times of each device's classes by stretches.
type ByClass = BTreeMap<(u32, &'static str), Stretches>;

/// What the two kinds of writes are called, in their order.
const WRITES: [&str; 2] = ["sync write", "async write"];

impl Times {
    pub(super) fn new(splits_writes: bool) -> Self {
        let writes = splits_writes.then(Default::default);
        Self { whole: Tally::default(), writes, stretches: None }
    }

    /// The same, with stretches.
    pub(super) fn by_stretches(self) -> Self {
        Self { stretches: Some(BTreeMap::new()), ..self }
    }

    /// Adds a request of a device that was completed.
    pub(super) fn add(&mut self, device: u32, row: &Request) {
        self.whole.add(device, row);
        let is_async = usize::from(row.flags.contains(Flags::BACKGROUND));
        if let (Op::Write, Some(writes)) = (row.op, &mut self.writes) {
            writes[is_async].add(device, row);
        }
        let times = self.stretches.as_mut().zip(row.arrival_ns().zip(row.completed_ns));
        if let Some((stretches, (came_ns, completed_ns))) = times {
            let write = (row.op == Op::Write).then_some(WRITES[is_async]);
            for class in ["all", row.op.name()].into_iter().chain(write) {
                let response_ns = u64::try_from(completed_ns - came_ns).unwrap_or(0);
                stretches.entry((device, class)).or_default().add(response_ns);
            }
        }
    }

    pub(super) fn ranked(self) -> RankedTimes {
        let writes = self.writes.map(|of| of.map(Tally::ranked));
        let stretches = self.stretches.unwrap_or_default();
        RankedTimes { whole: self.whole.ranked(), writes, stretches }
    }
}

/// The same, with the samples in rising order.
#[derive(Debug)]
pub(super) struct RankedTimes {
    whole: Ranked,
    writes: Option<[Ranked; 2]>,
    stretches: ByClass,
}

impl RankedTimes {
    /// What is found of these times of a model, beside those of the trace.
    pub(super) fn findings(
        &self,
        traced: &Self,
        model: &str,
        name: impl Fn(u32) -> String,
    ) -> Vec<Finding> {
        let whole = self.whole.findings(&traced.whole, model, &name);
        let pairs = self.writes.iter().flatten().zip(traced.writes.iter().flatten());
        let of_writes = pairs.zip(WRITES).flat_map(|((own, theirs), class)| {
            let found = own.findings(theirs, model, &name).into_iter();
            found.filter_map(move |finding| named(finding, class))
        });
        whole.into_iter().chain(of_writes).collect()
    }

    /// By how much these times of a model differ from those of the trace by chance.
    pub(super) fn noises(
        &self,
        traced: &Self,
        model: &str,
        name: impl Fn(u32) -> String,
    ) -> Vec<Noise> {
        let pairs = self
            .stretches
            .iter()
            .filter_map(|(class, own)| Some((class, own, traced.stretches.get(class)?)));
        let noises = pairs.flat_map(|((device, op), own, theirs)| {
            let (device, model, op) = (name(*device), model.to_owned(), (*op).to_owned());
            let subject = Subject::ModelOp(ModelOp { device, model, op });
            let noise = move |number| {
                let log = own.log_noise(theirs, number)?;
                Some(Noise { subject: subject.clone(), number, log })
            };
            NUMBERS.into_iter().filter_map(noise)
        });
        noises.collect()
    }
}

/// What is asked of each class.
const NUMBERS: [Statistic; 4] =
    [Statistic::Mean, Statistic::Median, Statistic::P99, Statistic::Max];

/// What is found of writes, as of a class of them.
fn named(finding: Finding, class: &str) -> Option<Finding> {
    match finding.subject {
        Subject::ModelOp(of) if of.op == Op::Write.name() => {
            let subject = Subject::ModelOp(ModelOp { op: class.to_owned(), ..of });
            Some(Finding { subject, ..finding })
        }
        _ => None,
    }
}

/// A number of a simulation.
pub(super) fn finding(subject: &Subject, name: &str, value: f64, count: u64) -> Finding {
    Finding::new(subject, name, Some(value), count, "simulated")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(number: i64, op: Op) -> Request {
        let (queued_ns, issued_ns) = (Some(0), Some(number % 3));
        Request { op, queued_ns, issued_ns, completed_ns: Some(10 + number), ..Request::default() }
    }

    fn value(findings: &[Finding], op: &str, quantity: &str) -> f64 {
        let is_it =
            |f: &&Finding| f.quantity == quantity && f.subject.get("op").as_deref() == Some(op);
        findings.iter().find(is_it).unwrap().value.unwrap()
    }

    #[test]
    fn service_is_distinguished_from_response_from_the_first_request_on_that_waited() {
        let (mut model, mut trace) = (Tally::default(), Tally::default());
        for number in [0, 3, 6, 7, 8] {
            model.add(0, &row(number, Op::Read));
            trace.add(0, &Request { issued_ns: Some(0), ..row(number, Op::Read) });
        }
        assert!(trace.0[0].service.is_none() && model.0[0].service.is_some());
        let found = model.ranked().findings(&trace.ranked(), "m", |device| device.to_string());
        assert_eq!(value(&found, "read", "simulated_mean_ns"), 14.8);
        assert_eq!(value(&found, "read", "simulated_service_mean_ns"), 14.2);
        assert_eq!(value(&found, "read", "measured_service_mean_ns"), 14.8);
        assert_eq!(value(&found, "read", "demerit_ns"), 0.0);
        assert!(value(&found, "read", "service_demerit_ns") > 0.0);
    }

    #[test]
    fn all_operations_of_a_device_are_together_and_nothing_else_is() {
        let mut model = Tally::default();
        for (number, op) in [(1, Op::Write), (5, Op::Read), (3, Op::Write)] {
            model.add(0, &row(number, op));
            model.add(7, &row(100 + number, op));
        }
        let found = model.ranked().findings(&Ranked::default(), "m", |device| device.to_string());
        let counts = found.iter().filter(|f| f.quantity == "simulated_count");
        let of = |f: &Finding, key: &str| f.subject.get(key).unwrap_or_default();
        let counts: Vec<_> =
            counts.map(|f| (of(f, "device"), of(f, "op"), f.value.unwrap())).collect();
        let wanted = |device: &str| {
            [("all", 3.0), ("read", 1.0), ("write", 2.0)]
                .map(|(op, count)| (device.to_owned(), op.to_owned(), count))
        };
        assert_eq!(counts, [wanted("0"), wanted("7")].concat());
        assert_eq!(value(&found[..], "all", "simulated_p50_ns"), 13.0);
        assert!(!found.iter().any(|f| f.quantity.starts_with("demerit")));
    }
}
