//! Curves of latency against rate: each point's numbers, and where the knee is.
//!
//! The knee is where the power, rate over mean latency, is greatest (Kleinrock, *Power and
//! deterministic rules of thumb for probabilistic problems in computer communications*, ICC 1979):
//! with one outstanding more the latency rises by a greater share than the rate. The most is the
//! greatest rate of any depth. Non-goals: curves through the points.

use crate::throughput::of_cells;
use model::record::subject::Curve;
use model::record::{Finding, Sample, Subject};

/// The quantities of a point; what was refused has one finding that says why.
const QUANTITIES: [&str; 6] =
    [RATE, "rate_bytes_per_s", LATENCY, "latency_p50_ns", P99, "depth_achieved"];
const RATE: &str = "rate_operations_per_s";
const LATENCY: &str = "latency_mean_ns";
const P99: &str = "latency_p99_ns";
/// A curve has so many points at the least.
const POINTS_LEAST: usize = 3;

/// All findings, in the order in which the cells were first measured; then of each curve.
pub(crate) fn findings(samples: &[Sample]) -> Vec<Finding> {
    let mut found = of_cells(samples, &QUANTITIES);
    let of_curves: Vec<Finding> = curves(&found).iter().flat_map(whole).collect();
    found.extend(of_curves);
    found
}

/// What a curve takes over from the point at its knee, and from that of the greatest rate.
const KNEE: [(&str, &str); 3] = [
    ("knee_rate_operations_per_s", RATE),
    ("knee_latency_mean_ns", LATENCY),
    ("knee_latency_p99_ns", P99),
];
const MOST: [(&str, &str); 2] =
    [("most_rate_operations_per_s", RATE), ("most_rate_bytes_per_s", "rate_bytes_per_s")];
const AT_KNEE: &str = "where rate over mean latency is greatest";

/// A point of a curve, with its findings.
struct Point<'a> {
    depth: u64,
    rate: &'a Finding,
    per_s: f64,
    power: f64,
    own: Vec<&'a Finding>,
}

/// Points by curve, in the order in which they were first measured.
fn curves(found: &[Finding]) -> Vec<(Curve, Vec<Point<'_>>)> {
    let mut curves: Vec<(Curve, Vec<Point<'_>>)> = Vec::new();
    for rate in found.iter().filter(|finding| finding.quantity == RATE) {
        let Subject::Curve(point) = &rate.subject else { continue };
        let own: Vec<_> = found.iter().filter(|f| f.subject == rate.subject).collect();
        let latency_ns = own.iter().find(|f| f.quantity == LATENCY).and_then(|f| f.value);
        let Some(((depth, per_s), latency_ns)) = point.depth.zip(rate.value).zip(latency_ns) else {
            continue;
        };
        let whole = Curve { depth: None, ..point.clone() };
        let point = Point { depth, rate, per_s, power: per_s / latency_ns.max(1.0), own };
        match curves.iter_mut().find(|(curve, _)| *curve == whole) {
            Some((_, points)) => points.push(point),
            None => curves.push((whole, vec![point])),
        }
    }
    curves.retain(|(_, points)| points.len() >= POINTS_LEAST);
    curves
}

/// The knee and the most of a curve.
fn whole((curve, points): &(Curve, Vec<Point<'_>>)) -> Vec<Finding> {
    let subject = Subject::Curve(curve.clone());
    let new = |name: &str, value, from: &Finding, method: &str| {
        let found = Finding::new(&subject, name, value, from.count, method);
        Finding { verdict: from.verdict, doubts: from.doubts.clone(), ..found }
    };
    let taken = |point: &Point<'_>, names: &[(&str, &str)], method: &str| {
        let of = |(name, quantity): &(&str, &str)| {
            let from = point.own.iter().find(|found| found.quantity == *quantity)?;
            let (interval, low, high) = (from.interval, from.low, from.high);
            Some(Finding { interval, low, high, ..new(name, from.value, from, method) })
        };
        names.iter().filter_map(of).collect::<Vec<_>>()
    };
    let knee = points.iter().max_by(|a, b| a.power.total_cmp(&b.power));
    let most = points.iter().max_by(|a, b| a.per_s.total_cmp(&b.per_s));
    let (Some(knee), Some(most)) = (knee, most) else { return vec![] };
    let depth = new("knee_depth", Some(knee.depth as f64), knee.rate, AT_KNEE);
    let at_knee = taken(knee, &KNEE, AT_KNEE);
    [vec![depth], at_knee, taken(most, &MOST, "the greatest rate")].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::engine::EngineKind;
    use model::histogram::Histogram;
    use model::record::{Role, Verdict};
    use model::workload::Access;
    use proptest::prelude::*;

    /// Passes of a server for so many at once, each of which takes a time.
    fn passes(servers: u64, service_ns: u64, depths: &[u64]) -> Vec<Sample> {
        let of = |(depth, pass): (u64, u64)| {
            let subject = Subject::Curve(Curve {
                access: Access::RandRead,
                block_bytes: 4096,
                depth: Some(depth),
                direct: 1,
                engine: EngineKind::IoUring,
                target: Some("d".into()),
            });
            let latency_ns = service_ns * depth.div_ceil(servers).max(1);
            let latency_ns = latency_ns.max(service_ns * depth / servers);
            let mut latency = Histogram::default();
            (0..1000).for_each(|_| latency.record(latency_ns));
            let wall_ns = 1000 * latency_ns / depth;
            let (operations, bytes, role) = (1000, 4_096_000, Role::Kept);
            let mut sample =
                Sample { subject, operations, bytes, wall_ns, role, pass, ..Sample::default() };
            sample.set_latency(&latency);
            sample
        };
        let pairs = depths.iter().flat_map(|depth| (0..3).map(|pass| (*depth, pass)));
        pairs.map(of).collect()
    }

    fn value(found: &[Finding], quantity: &str) -> f64 {
        found.iter().find(|f| f.quantity == quantity).unwrap().value.unwrap()
    }

    proptest! {
        /// Of k servers the power is greatest with k outstanding.
        #[test]
        fn the_knee_is_where_all_servers_have_one(
            log in 0u32..6,
            service_ns in 1_000u64..10_000_000,
        ) {
            let servers = 1u64 << log;
            let depths = [1, 2, 4, 8, 16, 32, 64];
            let found = findings(&passes(servers, service_ns, &depths));
            prop_assert_eq!(value(&found, "knee_depth"), servers as f64);
            let most = servers as f64 * 1e9 / service_ns as f64;
            let off = value(&found, "most_rate_operations_per_s") / most - 1.0;
            prop_assert!(off.abs() < 0.02, "{}", off);
            let off = value(&found, "knee_latency_mean_ns") / service_ns as f64 - 1.0;
            prop_assert!(off.abs() < 0.02, "{}", off);
        }
    }

    #[test]
    fn two_points_are_no_curve_and_a_refusal_says_why() {
        let found = findings(&passes(4, 1000, &[1, 2]));
        assert!(found.iter().all(|f| !f.quantity.starts_with("knee")));
        let mut refused = passes(1, 1000, &[1]).remove(0);
        refused.judge(model::doubt::Judgement::not_measured(model::doubt::Doubt::refused("no")));
        let found = findings(&[refused]);
        assert_eq!((found.len(), found[0].quantity.as_str()), (1, RATE));
        assert_eq!(found[0].verdict, Verdict::NotMeasured);
    }
}
