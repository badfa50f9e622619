//! How fast the job's core ran beside each pass, against its best in the run: CPU times are given at
//! that best, or a neighbour on the same core would be in them (`experiment::overhead`, its gauge).
//!
//! The best is the gauge's 5th percentile over the run's passes: the least of thousands would be a
//! fluke. Non-goals: rates, which are as they were; times counted in loops, which slow with the core.

use model::record::{Role, Sample};

/// The share of passes that may be quicker than what is called the best.
const BEST_QUANTILE: f64 = 0.05;

/// The core's speed over a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Speed {
    /// The gauge's time at the core's best, and in the middle of all passes; none without a gauge.
    best_ns: Option<f64>,
    middle_ns: Option<f64>,
}

impl Speed {
    pub(super) fn of(samples: &[Sample]) -> Self {
        let passes = samples.iter().filter(|s| s.role != Role::Calibration.name());
        let mut gauged: Vec<f64> = passes.filter_map(|s| s.gauge_ns).collect();
        gauged.sort_by(f64::total_cmp);
        let at = |quantile: f64| {
            let place = (quantile * gauged.len().saturating_sub(1) as f64).round() as usize;
            gauged.get(place).copied()
        };
        Self { best_ns: at(BEST_QUANTILE), middle_ns: at(0.5) }
    }

    /// By what a pass's CPU time is divided; 1 where its core's speed was not looked at.
    pub(super) fn slowdown(&self, sample: &Sample) -> f64 {
        match (self.best_ns, sample.gauge_ns) {
            (Some(best_ns), Some(gauge_ns)) if best_ns > 0.0 => gauge_ns / best_ns,
            _ => 1.0,
        }
    }

    /// How much slower than at its best the core ran in the middle of all passes, by quantity.
    pub(super) fn by_quantity(&self) -> Option<(&'static str, f64)> {
        let slower = self.middle_ns? / self.best_ns.filter(|best_ns| *best_ns > 0.0)? - 1.0;
        Some(("slowdown_percent", 100.0 * slower))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pass(gauge_ns: Option<f64>) -> Sample {
        Sample { gauge_ns, role: "kept".into(), ..Sample::default() }
    }

    #[test]
    fn passes_are_held_against_the_best_but_for_a_fluke() {
        let mut samples: Vec<Sample> =
            (0..99).map(|n| pass(Some(if n < 50 { 200.0 } else { 250.0 }))).collect();
        samples.push(pass(Some(120.0)));
        samples.push(pass(None));
        let speed = Speed::of(&samples);
        assert_eq!(speed.slowdown(&pass(Some(250.0))), 1.25);
        assert_eq!(speed.slowdown(&pass(None)), 1.0);
        let (name, percent) = speed.by_quantity().unwrap();
        assert!(model::record::quantity(name).is_some() && percent == 0.0, "{percent}");
        assert_eq!(Speed::of(&[]).slowdown(&pass(Some(9.0))), 1.0);
    }
}
