//! How fast the job's core ran in the middle of a run's passes, against its best: what CPU times of
//! passes that nobody chooses would hold of a neighbour on the same core (`experiment::overhead`,
//! its core-speed probe). The best is the core-speed probe's quickest piece, at the 5th percentile
//! over the passes: the least of thousands would be a fluke.
//!
//! Non-goals: correcting times by it. The core-speed probe is noisy itself: its power over times
//! came out between 0.4 and 1.2 in seven runs of one routine, and corrected times lay further apart
//! than uncorrected ones.

use model::record::{Role, Sample};

/// The share of passes whose quickest piece may be quicker than what is called the best.
const BEST_QUANTILE: f64 = 0.05;

/// The core's speed over a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Speed {
    /// The core-speed probe's time at the core's best, and in the middle of all passes; none
    /// without a core-speed probe.
    best_ns: Option<f64>,
    middle_ns: Option<f64>,
}

impl Speed {
    pub(super) fn of(samples: &[Sample]) -> Self {
        let passes = || samples.iter().filter(|s| s.role != Role::Calibration);
        let best_ns = quantile(passes().filter_map(|s| s.overhead().probe_least_ns), BEST_QUANTILE);
        let middle_ns = quantile(passes().filter_map(|s| s.overhead().probe_ns), 0.5);
        Self { best_ns: best_ns.filter(|ns| *ns > 0.0), middle_ns }
    }

    /// How much slower than at its best the core ran in the middle of all passes, by quantity.
    pub(super) fn by_quantity(&self) -> Option<(&'static str, f64)> {
        Some(("slowdown_percent", 100.0 * (self.middle_ns? / self.best_ns? - 1.0)))
    }
}

fn quantile(values: impl Iterator<Item = f64>, share: f64) -> Option<f64> {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    let place = (share * sorted.len().saturating_sub(1) as f64).round() as usize;
    sorted.get(place).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::record::Overhead;

    fn pass(probe_ns: Option<f64>) -> Sample {
        let part = Overhead { probe_ns, probe_least_ns: probe_ns, ..Overhead::default() };
        Sample { overhead: Some(Box::new(part)), ..Sample::default() }
    }

    #[test]
    fn passes_are_held_against_the_best_but_for_a_fluke() {
        let mut samples: Vec<Sample> =
            (0..99).map(|n| pass(Some(if n < 60 { 200.0 } else { 250.0 }))).collect();
        samples.push(pass(Some(120.0)));
        samples.push(pass(None));
        let speed = Speed::of(&samples);
        let (name, percent) = speed.by_quantity().unwrap();
        assert!(model::record::quantity(name).is_some() && percent == 0.0, "{percent}");
        assert_eq!(Speed::of(&[]).by_quantity(), None);
    }
}
