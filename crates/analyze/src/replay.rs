//! What a replay came to: how late its requests were, by whose doing, and the target's response
//! times beside those of the trace.
//!
//! The target's response is from handing over to the completion: what was late before that is the
//! replay's lateness, and in no response. Where lateness is beyond its bounds, or reads reached no
//! device, the requests were another load than the trace's, and every finding is suspect.

use model::doubt::{Code, Doubt};
use model::histogram::Histogram;
use model::record::{Finding, Op, Subject};

/// A request that was made again. Times are ns from the replay's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Remade {
    /// What it does.
    pub op: Op,
    /// When it was due.
    pub due_ns: u64,
    /// When it was handed over.
    pub submitted_ns: u64,
    /// When it was completed.
    pub completed_ns: u64,
    /// What of its lateness was the target's, ns.
    pub target_ns: u64,
    /// Its response time in the trace, ns; none where the trace does not tell.
    pub recorded_ns: Option<u64>,
    /// Whether it read what was never written, and reached no device.
    pub is_hole: bool,
    /// Whether the target refused it, or did a part of it.
    pub has_failed: bool,
}

/// So many of a hundred reads may reach no device: p99 is then still of the device.
const HOLES_MOST_PERCENT: u64 = 1;

/// How late requests may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Half of them, ns.
    pub p50_ns: u64,
    /// One in a hundred, ns.
    pub p99_ns: u64,
}

/// Times of requests of one operation.
#[derive(Debug, Default)]
struct Class {
    replayed: Histogram,
    recorded: Histogram,
}

/// Requests that were made again, as they come.
#[derive(Debug, Default)]
pub struct Lateness {
    late: Histogram,
    target_ns: u64,
    failed: u64,
    reads: u64,
    holes: u64,
    /// When the first and the last were due, and when they were handed over.
    first: Option<(u64, u64)>,
    last: (u64, u64),
    classes: [Class; Op::ALL.len()],
    all: Class,
}

impl Lateness {
    /// Adds a request; they come in the order in which they were due.
    pub fn add(&mut self, remade: &Remade) {
        self.late.record(remade.submitted_ns.saturating_sub(remade.due_ns));
        self.target_ns += remade.target_ns;
        self.reads += u64::from(remade.op == Op::Read);
        self.holes += u64::from(remade.is_hole);
        self.first.get_or_insert((remade.due_ns, remade.submitted_ns));
        self.last = (remade.due_ns, remade.submitted_ns.max(self.last.1));
        if remade.has_failed {
            self.failed += 1;
            return;
        }
        let response_ns = remade.completed_ns.saturating_sub(remade.submitted_ns);
        let own = self.classes.get_mut(remade.op as usize);
        for class in own.into_iter().chain([&mut self.all]) {
            class.replayed.record(response_ns);
            remade.recorded_ns.into_iter().for_each(|ns| class.recorded.record(ns));
        }
    }

    /// Why the requests were another load than the trace's, if they were.
    fn doubts(&self, bounds: Bounds) -> impl Iterator<Item = Doubt> {
        let values = [("holes", self.holes.into()), ("reads", self.reads.into())];
        let is_hollow = self.holes * 100 > self.reads * HOLES_MOST_PERCENT;
        let hollow = is_hollow.then(|| Doubt::new(Code::ReplayHoles, values));
        self.late(bounds).into_iter().chain(hollow)
    }

    fn late(&self, bounds: Bounds) -> Option<Doubt> {
        let [p50_ns, p99_ns] = [0.5, 0.99].map(|share| self.late.quantile_ns(share).unwrap_or(0));
        let is_beyond = p50_ns > bounds.p50_ns || p99_ns > bounds.p99_ns;
        is_beyond.then(|| {
            let values = [
                ("p50_ns", p50_ns.into()),
                ("p99_ns", p99_ns.into()),
                ("p50_bound_ns", bounds.p50_ns.into()),
                ("p99_bound_ns", bounds.p99_ns.into()),
            ];
            Doubt::new(Code::ReplayLate, values)
        })
    }

    /// What is found of all, on a target of this name.
    pub fn findings(&self, target: &str, bounds: Bounds) -> Vec<Finding> {
        let mut found = self.pace();
        found.extend(self.responses(target));
        for doubt in self.doubts(bounds) {
            found.iter_mut().for_each(|finding| finding.doubt(doubt.clone()));
        }
        found
    }

    /// How late they were.
    fn pace(&self) -> Vec<Finding> {
        let (late, run) = (&self.late, Subject::this_run());
        let of = |name: &str, value: Option<f64>| {
            value.map(|value| Finding::new(&run, name, Some(value), late.count(), METHOD))
        };
        let quantile = |share| late.quantile_ns(share).map(|ns| ns as f64);
        let target = 100.0 * self.target_ns as f64 / late.sum_ns().max(1) as f64;
        [
            of("lateness_mean_ns", late.mean_ns()),
            of("lateness_p50_ns", quantile(0.5)),
            of("lateness_p99_ns", quantile(0.99)),
            of("lateness_max_ns", Some(late.max_ns() as f64)),
            of("lateness_target_percent", (late.sum_ns() > 0).then_some(target)),
            of("replay_rate_error_percent", self.rate_error_percent()),
            of("replay_failed_count", Some(self.failed as f64)),
            of("replay_hole_count", Some(self.holes as f64)),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// None of a single moment.
    fn rate_error_percent(&self) -> Option<f64> {
        let (due_ns, submitted_ns) = self.first?;
        let wanted_ns = self.last.0.checked_sub(due_ns).filter(|ns| *ns > 0)? as f64;
        let reached_ns = self.last.1.saturating_sub(submitted_ns).max(1) as f64;
        Some(100.0 * (wanted_ns / reached_ns - 1.0))
    }

    /// The target's response times beside the trace's, of all and by operation.
    fn responses<'a>(&'a self, target: &'a str) -> impl Iterator<Item = Finding> + 'a {
        let span_s = self.first.map_or(0, |(due_ns, _)| self.last.0.saturating_sub(due_ns));
        let span_s = span_s as f64 / 1e9;
        let by_op = Op::ALL.into_iter().map(Op::name).zip(&self.classes);
        let classes = std::iter::once(("all", &self.all)).chain(by_op);
        let classes = classes.filter(|(_, class)| class.replayed.count() > 0);
        classes.flat_map(move |(op, class)| {
            let subject = Subject::device_op(target, op);
            let count = class.replayed.count();
            let rate = (span_s > 0.0).then(|| count as f64 / span_s);
            let of = |name: &str, value: Option<f64>, count: u64| {
                value.map(|value| Finding::new(&subject, name, Some(value), count, METHOD))
            };
            let counts = [
                of("replayed_count", Some(count as f64), count),
                of("replayed_per_s", rate, count),
            ];
            let times =
                of_times("replayed", &class.replayed).chain(of_times("recorded", &class.recorded));
            let times = times.map(|(name, value, count)| of(&name, value, count));
            counts.into_iter().chain(times).flatten().collect::<Vec<_>>()
        })
    }
}

const METHOD: &str = "replayed";

/// The times of a side: names of their quantities, values, and of how many.
fn of_times(
    side: &str,
    times: &Histogram,
) -> impl Iterator<Item = (String, Option<f64>, u64)> + use<> {
    let quantile = |share| times.quantile_ns(share).map(|ns| ns as f64);
    let greatest = (times.count() > 0).then(|| times.max_ns() as f64);
    let count = times.count();
    let (p50, p99) = (quantile(0.5), quantile(0.99));
    [("mean", times.mean_ns()), ("p50", p50), ("p99", p99), ("max", greatest)]
        .map(|(name, value)| (format!("{side}_{name}_ns"), value, count))
        .into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::record::Verdict;

    const BOUNDS: Bounds = Bounds { p50_ns: 50_000, p99_ns: 1_000_000 };

    fn remade(place: u64, late_ns: u64) -> Remade {
        let due_ns = place * 1_000_000;
        Remade {
            op: if place.is_multiple_of(2) { Op::Read } else { Op::Write },
            due_ns,
            submitted_ns: due_ns + late_ns,
            completed_ns: due_ns + late_ns + 200_000,
            target_ns: late_ns / 4,
            recorded_ns: Some(400_000),
            is_hole: false,
            has_failed: false,
        }
    }

    fn value(found: &[Finding], op: Option<&str>, quantity: &str) -> f64 {
        let is_it = |f: &&Finding| f.quantity == quantity && f.subject.get("op").as_deref() == op;
        found.iter().find(is_it).unwrap().value.unwrap()
    }

    #[test]
    fn lateness_and_responses_are_told_apart() {
        let mut lateness = Lateness::default();
        (0..1001).for_each(|place| lateness.add(&remade(place, 20_000)));
        let found = lateness.findings("loop0", BOUNDS);
        assert!(found.iter().all(|finding| finding.verdict == Verdict::Ok));
        assert!((value(&found, None, "lateness_p50_ns") - 20_000.0).abs() < 200.0);
        assert!((value(&found, None, "lateness_target_percent") - 25.0).abs() < 0.1);
        assert_eq!(value(&found, None, "replay_rate_error_percent"), 0.0);
        for (op, count) in [("all", 1001.0), ("read", 501.0), ("write", 500.0)] {
            assert_eq!(value(&found, Some(op), "replayed_count"), count);
            assert!((value(&found, Some(op), "replayed_mean_ns") - 200_000.0).abs() < 1.0);
            assert!((value(&found, Some(op), "recorded_mean_ns") - 400_000.0).abs() < 1.0);
        }
        assert!((value(&found, Some("all"), "replayed_per_s") - 1001.0).abs() < 0.1);
    }

    #[test]
    fn a_replay_beyond_its_bounds_is_doubted_in_all() {
        for (late_ns, every, is_late) in [(60_000, 1, true), (2_000_000, 60, true), (900, 1, false)]
        {
            let mut lateness = Lateness::default();
            (0..1000).for_each(|place: u64| {
                let late_ns = if place.is_multiple_of(every) { late_ns } else { 0 };
                lateness.add(&remade(place, late_ns));
            });
            let found = lateness.findings("loop0", BOUNDS);
            let is_suspect = |f: &Finding| f.verdict == Verdict::Suspect;
            assert_eq!(found.iter().all(is_suspect), is_late, "{late_ns} {every}");
            assert_eq!(found.iter().any(is_suspect), is_late, "{late_ns} {every}");
        }
    }

    #[test]
    fn reads_that_reach_no_device_are_doubted_where_they_are_more_than_one_in_a_hundred() {
        for (holes, is_hollow) in [(0, false), (5, false), (6, true), (500, true)] {
            let mut lateness = Lateness::default();
            for place in 0..1000 {
                let is_hole = place % 2 == 0 && place < 2 * holes;
                lateness.add(&Remade { is_hole, ..remade(place, 0) });
            }
            let found = lateness.findings("image", BOUNDS);
            assert_eq!(value(&found, None, "replay_hole_count"), holes as f64);
            let is_doubted =
                |f: &Finding| f.doubts.iter().any(|doubt| doubt.code == Code::ReplayHoles);
            assert_eq!(found.iter().all(is_doubted), is_hollow, "{holes}");
            assert_eq!(found.iter().any(is_doubted), is_hollow, "{holes}");
        }
    }

    #[test]
    fn what_failed_is_in_no_response_and_nothing_is_found_of_nothing() {
        let mut lateness = Lateness::default();
        lateness.add(&Remade { has_failed: true, ..remade(0, 5) });
        let found = lateness.findings("loop0", BOUNDS);
        assert_eq!(value(&found, None, "replay_failed_count"), 1.0);
        assert!(!found.iter().any(|finding| finding.quantity.starts_with("replayed")));
        let none = Lateness::default().findings("loop0", BOUNDS);
        assert!(none.iter().all(|finding| finding.value.is_some_and(f64::is_finite)));
    }
}
