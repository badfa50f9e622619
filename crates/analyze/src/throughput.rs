//! The throughput experiment's findings: from the samples of all passes to one number
//! a quantity and cell. It is a function of the samples alone, so that it can be
//! done again after every cell, and again years later.

use crate::statistics::{Estimate, estimate, trend};
use model::doubt::{Doubt, Judgement, Passes};
use model::engine::EngineKind;
use model::histogram::Histogram;
use model::record::{Finding, Interval, Role, Sample, Subject, Verdict};
use model::units::show_change;
use model::workload::Access;
use std::collections::BTreeMap;

/// What was measured of machine and harness before the first pass, by quantity.
pub type Calibration = [(&'static str, f64)];

/// How far the passes of a cell may spread or drift before it is not steady, per cent.
pub const STEADY_PERCENT: f64 = 10.0;

struct Cell<'a> {
    subject: &'a Subject,
    kept: Vec<&'a Sample>,
    not_measured: Option<&'a Sample>,
}

/// Half of a rate's 95 % interval at which no more passes are made, per cent of the rate, where
/// nobody says. A wider one is shown as it is, and is no doubt: imprecise is not wrong.
pub const PRECISION_PERCENT: f64 = 10.0;

/// All findings of a run: calibration first, then each cell in the order of measuring.
pub fn findings(samples: &[Sample], calibration: &Calibration) -> Vec<Finding> {
    let run = Subject::this_run();
    let calibrated = calibration.iter().map(|(name, value)| {
        Finding::new(&run, name, Some(*value), 1, "calibrated before the first pass")
    });
    let copy = calibration.iter().find(|(name, _)| *name == "memory_copy_bytes_per_s");
    let ceilings = Ceilings::of(samples, copy.map(|(_, rate)| *rate));
    let of_cell = |cell: &Cell| cell_findings(cell, &ceilings);
    calibrated.chain(cells(samples).iter().flat_map(of_cell)).collect()
}

/// What is found of the cells of another experiment: these quantities, of which the first says why
/// a cell was not measured.
pub(crate) fn of_cells(samples: &[Sample], wanted: &[&str]) -> Vec<Finding> {
    let of_cell = |cell: &Cell| match (cell.not_measured, wanted.first()) {
        (Some(sample), Some(name)) => {
            vec![Finding::not_measured(cell.subject, name, sample.judgement())]
        }
        _ => {
            let mut found = passes_findings(cell, PER_PASS.iter().chain(PER_COMMIT));
            found.extend(latency_findings(cell, &verdict(&cell.kept)));
            found.retain(|finding| wanted.contains(&finding.quantity.as_str()));
            found
        }
    };
    cells(samples).iter().flat_map(of_cell).collect()
}

fn cells(samples: &[Sample]) -> Vec<Cell<'_>> {
    let mut cells: Vec<Cell> = Vec::new();
    for sample in samples.iter().filter(|s| s.role != Role::Ceiling) {
        let position = cells.iter().position(|cell| *cell.subject == sample.subject);
        let position = position.unwrap_or_else(|| {
            cells.push(Cell { subject: &sample.subject, kept: vec![], not_measured: None });
            cells.len() - 1
        });
        let cell = &mut cells[position];
        if sample.verdict == Verdict::NotMeasured {
            cell.not_measured = Some(sample);
        } else if sample.role == Role::Kept {
            cell.kept.push(sample);
        }
    }
    cells.retain(|cell| cell.not_measured.is_some() || !cell.kept.is_empty());
    cells
}

/// What passes in one direction share on the way to their data.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Path {
    target: String,
    drives: u64,
    reads: bool,
    /// The page cache took most of the bytes, and the device did not.
    is_memory: bool,
}

impl Path {
    /// None of a mix of directions, and without I/O.
    fn of(sample: &Sample) -> Option<Self> {
        if sample.access == Access::RandRw || sample.engine == EngineKind::Null {
            return None;
        }
        let reads = !sample.access.writes();
        let moved = if reads { sample.device_read_bytes } else { sample.device_write_bytes };
        let is_memory = sample.direct == 0 && moved.is_some_and(|moved| moved < sample.bytes / 2);
        let (target, drives) = (sample.target.clone(), sample.drives);
        Some(Self { target, drives, reads, is_memory })
    }
}

/// The greatest rate of a path, and whose it is.
#[derive(Debug, Clone, PartialEq)]
struct Ceiling {
    bytes_per_s: f64,
    of: String,
}

impl Ceiling {
    /// A program that was faster than what was to find the path's ceiling has found it itself.
    fn raise(&mut self, sample: &Sample) {
        if rate(sample) > self.bytes_per_s {
            *self = Self::by(sample);
        }
    }

    fn by(sample: &Sample) -> Self {
        Self { bytes_per_s: rate(sample), of: format!("a pass of {}", sample.program) }
    }
}

/// The greatest rate of every path whose ceiling was looked for.
struct Ceilings(BTreeMap<Path, Ceiling>);

impl Ceilings {
    fn of(samples: &[Sample], memory_copy: Option<f64>) -> Self {
        let passes = |role| samples.iter().filter(move |sample| sample.role == role);
        let mut ceilings: BTreeMap<Path, Ceiling> = BTreeMap::new();
        for (path, sample) in passes(Role::Ceiling).filter_map(|s| Some((Path::of(s)?, s))) {
            ceilings.entry(path).or_insert_with(|| Ceiling::by(sample)).raise(sample);
        }
        for (path, sample) in passes(Role::Kept).filter_map(|s| Some((Path::of(s)?, s))) {
            if let Some(bytes_per_s) = memory_copy.filter(|_| path.is_memory) {
                let copy = Ceiling { bytes_per_s, of: "copying in memory".into() };
                ceilings.entry(path).or_insert(copy).raise(sample);
            } else if let Some(ceiling) = ceilings.get_mut(&path) {
                ceiling.raise(sample);
            }
        }
        Self(ceilings)
    }

    /// The greatest that this cell's passes could reach: that of the faster path, where the page
    /// cache took the bytes of some.
    fn for_cell(&self, passes: &[&Sample]) -> Option<&Ceiling> {
        let of = passes.iter().map(|sample| self.0.get(&Path::of(sample)?));
        let all: Option<Vec<&Ceiling>> = of.collect();
        all?.into_iter().max_by(|a, b| a.bytes_per_s.total_cmp(&b.bytes_per_s))
    }
}

fn rate(sample: &Sample) -> f64 {
    sample.bytes as f64 / sample.wall_ns.max(1) as f64 * 1e9
}

/// A share of one CPU, in per cent of the pass's wall time.
fn cpu_percent(ns: u64, sample: &Sample) -> f64 {
    100.0 * ns as f64 / sample.wall_ns.max(1) as f64
}

fn over_operations(sample: &Sample, ns: u64) -> Option<f64> {
    (sample.operations > 0).then(|| ns as f64 / sample.operations as f64)
}

/// What is estimated over passes: a value of each pass, or none where it has none.
type PerPass = (&'static str, fn(&Sample) -> Option<f64>);

const PER_PASS: &[PerPass] = &[
    ("rate_bytes_per_s", |s| Some(rate(s))),
    ("rate_operations_per_s", |s| Some(s.operations_per_s())),
    ("cpu_percent", |s| Some(cpu_percent(s.cpu_user_ns + s.cpu_system_ns, s))),
    ("cpu_total_percent", |s| {
        Some(cpu_percent(s.cpu_user_ns + s.cpu_system_ns + s.cpu_other_ns?, s))
    }),
    ("cpu_operation_ns", |s| over_operations(s, s.cpu_user_ns + s.cpu_system_ns)),
    ("cpu_total_operation_ns", |s| {
        over_operations(s, s.cpu_user_ns + s.cpu_system_ns + s.cpu_other_ns?)
    }),
    ("cpu_test_bed_percent", |s| Some(cpu_percent(s.cpu_test_bed_ns?, s))),
    ("cpu_elsewhere_percent", |s| Some(cpu_percent(s.cpu_elsewhere_ns?, s))),
    ("stolen_percent", |s| s.cpu_other_ns.map(|_| cpu_percent(s.stolen_ns, s))),
    ("sync_percent", |s| {
        (s.sync_ns > 0).then(|| 100.0 * s.sync_ns as f64 / (s.wall_ns * s.jobs).max(1) as f64)
    }),
    ("device_bytes_ratio", |s| ratio(s, s.device_read_bytes, s.device_write_bytes)),
    ("lowest_bytes_ratio", |s| ratio(s, s.lowest_read_bytes, s.lowest_write_bytes)),
    ("depth_achieved", |s| s.depth_achieved),
];

/// The same of commits alone.
const PER_COMMIT: &[PerPass] =
    &[("flushes_ratio", |s| Some(s.device_flushes? as f64 / s.operations.max(1) as f64))];

/// What is found of a histogram.
#[derive(Clone, Copy)]
enum Figure {
    Mean,
    Quantile(f64),
    Max,
}

/// The quantities of a sample's histogram, and what each is of it.
struct Times {
    of: fn(&Sample) -> Option<Histogram>,
    quantities: &'static [(&'static str, Figure)],
}

const LATENCY: Times = Times {
    of: Sample::latency,
    quantities: &[
        ("latency_mean_ns", Figure::Mean),
        ("latency_p50_ns", Figure::Quantile(0.5)),
        ("latency_p99_ns", Figure::Quantile(0.99)),
        ("latency_p999_ns", Figure::Quantile(0.999)),
        ("latency_max_ns", Figure::Max),
    ],
};

/// Of an open loop alone: in a closed one they are the latencies.
const SERVICE: Times = Times {
    of: Sample::service,
    quantities: &[
        ("service_p50_ns", Figure::Quantile(0.5)),
        ("service_p99_ns", Figure::Quantile(0.99)),
    ],
};

const SYNC_LATENCY: Times = Times {
    of: Sample::sync_latency,
    quantities: &[
        ("sync_latency_mean_ns", Figure::Mean),
        ("sync_latency_p50_ns", Figure::Quantile(0.5)),
        ("sync_latency_p99_ns", Figure::Quantile(0.99)),
        ("sync_latency_p999_ns", Figure::Quantile(0.999)),
        ("sync_latency_max_ns", Figure::Max),
    ],
};

impl Times {
    /// The quantities with their values; nothing of an empty histogram.
    fn values(&self, histogram: &Histogram) -> Vec<(&'static str, f64)> {
        let value = |figure| match figure {
            Figure::Mean => histogram.mean_ns(),
            Figure::Quantile(q) => histogram.quantile_ns(q).map(|ns| ns as f64),
            Figure::Max => (histogram.count() > 0).then(|| histogram.max_ns() as f64),
        };
        self.quantities.iter().filter_map(|(name, figure)| Some((*name, value(*figure)?))).collect()
    }
}

/// The quantities of one pass with their values: what is estimated over passes, and latencies.
pub(crate) fn per_pass(sample: &Sample) -> Vec<(&'static str, f64)> {
    let simple = PER_PASS.iter().filter_map(|(name, value)| Some((*name, value(sample)?)));
    let of = |times: Times| (times.of)(sample).map_or_else(Vec::new, |h| times.values(&h));
    simple.chain([LATENCY, SYNC_LATENCY].into_iter().flat_map(of)).collect()
}

/// Bytes at a device over the program's, in the program's direction.
fn ratio(s: &Sample, read: Option<u64>, write: Option<u64>) -> Option<f64> {
    let moved = match s.access {
        Access::Read | Access::RandRead => read?,
        Access::RandRw => read? + write?,
        _ => write?,
    };
    (s.engine != EngineKind::Null).then(|| moved as f64 / s.bytes.max(1) as f64)
}

fn cell_findings(cell: &Cell, ceilings: &Ceilings) -> Vec<Finding> {
    if let Some(sample) = cell.not_measured {
        return ["rate_bytes_per_s", "cpu_percent"]
            .map(|name| Finding::not_measured(cell.subject, name, sample.judgement()))
            .to_vec();
    }
    let verdict = verdict(&cell.kept);
    let mut found = passes_findings(cell, PER_PASS);
    found.extend(ceiling_findings(cell, ceilings, &verdict));
    found.extend(latency_findings(cell, &verdict));
    found.extend(steadiness_findings(cell, &verdict));
    found
}

/// What is estimated over passes.
fn passes_findings<'p>(
    cell: &Cell,
    quantities: impl IntoIterator<Item = &'p PerPass>,
) -> Vec<Finding> {
    let verdict = verdict(&cell.kept);
    let of = |(name, value): &PerPass| {
        let values: Option<Vec<f64>> = cell.kept.iter().map(|s| value(s)).collect();
        let estimated = estimate(&values?)?;
        Some(estimated.finding(cell.subject, name, OF_PASSES).judged(verdict.clone()))
    };
    quantities.into_iter().filter_map(of).collect()
}

const OF_PASSES: &str = "mean of the kept passes, 95 % interval by Student's t";

fn rates(cell: &Cell) -> Vec<f64> {
    cell.kept.iter().map(|s| rate(s)).collect()
}

fn ceiling_findings(cell: &Cell, ceilings: &Ceilings, verdict: &Judgement) -> Vec<Finding> {
    let ceiling = ceilings.for_cell(&cell.kept).filter(|ceiling| ceiling.bytes_per_s > 0.0);
    let (Some(ceiling), Some(e)) = (ceiling, estimate(&rates(cell))) else {
        return vec![];
    };
    let percent = |rate: f64| 100.0 * rate / ceiling.bytes_per_s;
    // Nothing on the path was faster than its ceiling: no interval goes beyond it.
    let within = e.interval.map(|(low, high)| (percent(low), percent(high).min(100.0)));
    let best = format!("the greatest rate of the path in the same run: {}", ceiling.of);
    let share = "mean rate over the greatest of the path in the same run; the interval is the \
        rate's, as far as the ceiling";
    let within = (within.map(|(low, _)| low), within.map(|(_, high)| high));
    let bytes_per_s = Some(ceiling.bytes_per_s);
    vec![
        Finding::new(cell.subject, "ceiling_bytes_per_s", bytes_per_s, 1, best),
        Finding::new(cell.subject, "ceiling_percent", Some(percent(e.mean)), e.count as u64, share)
            .within(Interval::Passes, within)
            .judged(verdict.clone()),
    ]
}

/// Quantiles over all kept passes together.
fn latency_findings(cell: &Cell, verdict: &Judgement) -> Vec<Finding> {
    let is_open_loop = cell.kept.iter().any(|s| s.rate_requested_iops.is_some());
    let service = is_open_loop.then_some(SERVICE);
    let method = "log-linear histogram of all kept passes, within 0.4 %; mean and max exact";
    let of = |times: Times| {
        let mut all = Histogram::default();
        cell.kept.iter().filter_map(|s| (times.of)(s)).for_each(|one| all.merge(&one));
        let finding = |(name, value)| {
            Finding::new(cell.subject, name, Some(value), all.count(), method)
                .judged(verdict.clone())
        };
        times.values(&all).into_iter().map(finding).collect::<Vec<_>>()
    };
    [LATENCY].into_iter().chain(service).chain([SYNC_LATENCY]).flat_map(of).collect()
}

fn steadiness_findings(cell: &Cell, verdict: &Judgement) -> Vec<Finding> {
    let rates = rates(cell);
    let Some(Estimate { mean, deviation: Some(deviation), count, .. }) = estimate(&rates) else {
        return vec![];
    };
    let percent = |value: f64| 100.0 * value / mean.max(f64::MIN_POSITIVE);
    let of = |name, value: f64, method| {
        Finding::new(cell.subject, name, Some(percent(value)), count as u64, method)
            .judged(verdict.clone())
    };
    let spread = "standard deviation over mean of the kept passes' rates";
    let mut found = vec![of("rate_spread_percent", deviation, spread)];
    found.extend(trend(&rates).map(|t| {
        let method = match t.is_significant {
            true => "least-squares line over the kept passes; significant at 5 %",
            false => "least-squares line over the kept passes; not significant at 5 %",
        };
        Finding::new(
            cell.subject,
            "rate_trend_percent",
            Some(t.percent(&rates)),
            count as u64,
            method,
        )
        .judged(verdict.clone())
    }));
    found
}

/// The cells that are not steady: a spread beyond the bound, or a significant trend beyond it.
pub fn unsteady(samples: &[Sample], bound_percent: f64) -> Vec<String> {
    cells(samples)
        .iter()
        .filter(|cell| cell.not_measured.is_none())
        .filter_map(|cell| {
            let rates = rates(cell);
            let e = estimate(&rates)?;
            let spread = 100.0 * e.deviation? / e.mean;
            let drift = trend(&rates)
                .filter(|t| t.is_significant)
                .map(|t| t.percent(&rates))
                .filter(|drift| drift.abs() > bound_percent);
            let first = cell.kept.first()?;
            let name = format!("{} on {} × {}", first.program, first.target, first.drives);
            match drift {
                Some(drift) => {
                    let drift = show_change(drift, 1);
                    Some(format!("{name}: the rate drifts by {drift} % over the passes"))
                }
                None if spread > bound_percent => {
                    Some(format!("{name}: the passes spread by {spread:.1} %"))
                }
                None => None,
            }
        })
        .collect()
}

/// The worst verdict of the passes; each doubt once, with the passes in which it holds. Doubts that
/// differ only in their figures are one.
pub fn verdict(kept: &[&Sample]) -> Judgement {
    let mut found: Vec<(Doubt, u64)> = Vec::new();
    for doubt in kept.iter().flat_map(|sample| &sample.doubts) {
        match found.iter_mut().find(|(known, _)| known.is_like(doubt)) {
            Some((_, passes)) => *passes += 1,
            None => found.push((doubt.clone(), 1)),
        }
    }
    let all = kept.len() as u64;
    let in_passes = |(doubt, held): (Doubt, u64)| Doubt {
        passes: (held < all).then_some(Passes { held, all }),
        ..doubt
    };
    Judgement::of(found.into_iter().map(in_passes).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::doubt::Code;
    use model::record::quantity;

    fn pass(subject: &str, wall_ns: u64, role: Role) -> Sample {
        let mut latency = Histogram::default();
        (0..100).for_each(|i| latency.record(1000 + i));
        let mut sample = Sample {
            subject: Subject::cell("fresh:ext4", subject, 1),
            program: "read_8192".into(),
            target: "fresh:ext4".into(),
            drives: 1,
            jobs: 1,
            bytes: 1_000_000,
            operations: 100,
            wall_ns,
            cpu_user_ns: wall_ns / 10,
            cpu_system_ns: wall_ns / 5,
            cpu_other_ns: Some(wall_ns / 4),
            device_read_bytes: Some(1_000_000),
            role,
            depth_achieved: Some(0.9),
            ..Sample::default()
        };
        sample.set_latency(&latency);
        sample
    }

    fn value(findings: &[Finding], name: &str) -> Finding {
        findings.iter().find(|f| f.quantity == name).cloned().unwrap_or_else(|| panic!("{name}"))
    }

    #[test]
    fn a_cell_becomes_its_numbers() {
        let mut samples = vec![pass("a", 1, Role::Warm)];
        samples
            .extend([900_000_000, 1_000_000_000, 1_100_000_000].map(|w| pass("a", w, Role::Kept)));
        let mut ceiling = pass("c", 500_000_000, Role::Ceiling);
        ceiling.program = "ceiling_read".into();
        samples.push(ceiling);
        let found = findings(&samples, &[("clock_cost_ns", 10.0)]);
        let rate = value(&found, "rate_bytes_per_s");
        let mean = (1e6 / 0.9 + 1e6 + 1e6 / 1.1) / 3.0;
        assert!((rate.value.unwrap() - mean).abs() < 1.0 && rate.count == 3, "{rate:?}");
        assert!(rate.low.unwrap() < mean && mean < rate.high.unwrap());
        assert!((value(&found, "cpu_percent").value.unwrap() - 30.0).abs() < 1e-6);
        assert!((value(&found, "cpu_total_percent").value.unwrap() - 55.0).abs() < 1e-6);
        assert!((value(&found, "cpu_operation_ns").value.unwrap() - 3e6).abs() < 1e-3);
        assert!((value(&found, "cpu_total_operation_ns").value.unwrap() - 5.5e6).abs() < 1e-3);
        assert!(
            (value(&found, "ceiling_percent").value.unwrap() - 100.0 * mean / 2e6).abs() < 1e-6
        );
        assert_eq!(value(&found, "latency_max_ns").value, Some(1099.0));
        assert_eq!(value(&found, "latency_p50_ns").count, 300);
        assert_eq!(value(&found, "device_bytes_ratio").value, Some(1.0));
        assert_eq!(value(&found, "clock_cost_ns").value, Some(10.0));
        assert!(found.iter().all(|f| quantity(&f.quantity).is_some() && !f.unit.is_empty()));
        assert!(found.iter().all(|f| f.verdict == Verdict::Ok));
    }

    #[test]
    fn syncs_have_quantities_of_their_own_over_all_passes() {
        let mut samples = [pass("a", 1000, Role::Kept), pass("a", 1000, Role::Kept)];
        for (sample, sync_ns) in samples.iter_mut().zip([2_000_000, 8_000_000]) {
            let mut syncs = Histogram::default();
            (0..50).for_each(|_| syncs.record(sync_ns));
            sample.set_sync_latency(&syncs);
        }
        let found = findings(&samples, &[]);
        assert_eq!(value(&found, "sync_latency_mean_ns").value, Some(5e6));
        assert_eq!(value(&found, "sync_latency_max_ns").value, Some(8e6));
        let (p50, p99) = (value(&found, "sync_latency_p50_ns"), value(&found, "latency_p99_ns"));
        assert!((p50.value.unwrap() / 2e6 - 1.0).abs() < 0.004 && p50.count == 100, "{p50:?}");
        assert!(p99.value.unwrap() < 2000.0 && p99.count == 200, "{p99:?}");
        let of_pass = per_pass(&samples[1]);
        assert!(of_pass.contains(&("sync_latency_max_ns", 8e6)), "{of_pass:?}");
        // Without syncs there is nothing of them.
        let without = findings(&[pass("a", 1000, Role::Kept)], &[]);
        assert!(!without.iter().any(|f| f.quantity.starts_with("sync_latency")));
    }

    #[test]
    fn a_doubt_in_one_pass_makes_the_cell_suspect_and_says_in_how_many() {
        let mut samples = vec![pass("a", 1000, Role::Kept), pass("a", 1000, Role::Kept)];
        let stolen = Doubt::new(Code::StolenTime, [("percent", 7.0.into())]);
        let shared = Doubt::new(Code::NoDeviceBeneath, []);
        samples[1].judge(Judgement::of(vec![stolen.clone(), shared.clone()]));
        samples[0].judge(Judgement::of(vec![shared.clone()]));
        let rate = value(&findings(&samples, &[]), "rate_bytes_per_s");
        assert_eq!(rate.verdict, Verdict::Suspect);
        let passes = Some(Passes { held: 1, all: 2 });
        assert_eq!(rate.doubts, [shared, Doubt { passes, ..stolen }]);
    }

    #[test]
    fn a_wide_interval_is_shown_and_no_doubt() {
        let samples = [500, 1000, 4000].map(|wall| pass("a", wall * 1_000_000, Role::Kept));
        let found = findings(&samples, &[]);
        for quantity in ["rate_bytes_per_s", "rate_operations_per_s"] {
            let rate = value(&found, quantity);
            assert!(rate.high.unwrap() > rate.value.unwrap() * 1.5, "{rate:?}");
            assert_eq!((rate.verdict, rate.doubts.len()), (Verdict::Ok, 0));
        }
    }

    #[test]
    fn what_was_not_measured_is_no_number() {
        let mut failed = pass("a", 0, Role::Kept);
        failed.judge(Judgement::not_measured(Doubt::refused("no root")));
        let found = findings(&[pass("a", 1000, Role::Kept), failed], &[]);
        assert!(found.iter().all(|f| f.value.is_none() && f.verdict == Verdict::NotMeasured));
        assert_eq!(found[0].doubts, [Doubt::refused("no root")]);
        assert!(findings(&[], &[]).is_empty());
    }

    #[test]
    fn steadiness_sees_spread_and_drift() {
        let series = |walls: &[u64]| -> Vec<Sample> {
            walls.iter().map(|w| pass("a", *w, Role::Kept)).collect()
        };
        assert!(unsteady(&series(&[1000, 1001, 999, 1000, 1002]), 10.0).is_empty());
        assert!(unsteady(&series(&[1000, 2000, 900, 1800, 1000]), 10.0)[0].contains("spread"));
        assert!(
            unsteady(&series(&[1000, 1060, 1120, 1180, 1240]), 10.0)[0].contains("drifts by -")
        );
        assert!(unsteady(&series(&[1000]), 10.0).is_empty());
    }

    #[test]
    fn what_the_page_cache_took_is_held_against_the_memory() {
        let copy = [("memory_copy_bytes_per_s", 4e12)];
        let mut cached = pass("a", 1000, Role::Kept);
        cached.device_read_bytes = Some(0);
        let mut ceiling = pass("c", 500, Role::Ceiling);
        for access in [Access::Read, Access::Rewrite] {
            (cached.access, ceiling.access) = (access, access);
            (cached.device_write_bytes, ceiling.device_write_bytes) = (Some(0), Some(1_000_000));
            let found = findings(&[ceiling.clone(), cached.clone()], &copy);
            let of = value(&found, "ceiling_bytes_per_s");
            assert_eq!((of.value, of.method.contains("copying")), (Some(4e12), true), "{access:?}");
        }
        let found = findings(&[ceiling, cached], &[]);
        assert!(found.iter().all(|f| f.quantity != "ceiling_percent"), "the memory is not known");
    }

    /// Read-ahead keeps more outstanding than the ceiling's own passes did.
    #[test]
    fn nothing_is_above_its_ceiling() {
        let passes = [250_000, 500_000, 400_000].map(|wall| pass("a", wall, Role::Kept));
        let samples = [&passes[..], &[pass("c", 1_000_000, Role::Ceiling)]].concat();
        let found = findings(&samples, &[]);
        let ceiling = value(&found, "ceiling_bytes_per_s");
        assert_eq!(ceiling.value, Some(4e9), "its own fastest pass");
        assert!(ceiling.method.contains("a pass of read_8192"), "{}", ceiling.method);
        let share = value(&found, "ceiling_percent");
        assert!((share.value.unwrap() - 100.0 * (4.0 + 2.0 + 2.5) / 12.0).abs() < 1e-6);
        assert_eq!(share.high, Some(100.0));
        // Without passes that look for it there is none.
        assert!(findings(&passes, &[]).iter().all(|f| f.quantity != "ceiling_percent"));
    }
}
