//! Whether storms come at regular times, and how far apart: 30 s of a UNIX update daemon, 5 s of a journal's commits.
//!
//! A storm may fail to come, because there was nothing to write, so the gaps from start to start are one, two or three
//! periods. Candidates are the gaps themselves, each refined to the median of the gaps that are its multiples within
//! a tenth of it, divided by how many. The best candidate is the one that codes the gaps shortest: a gap that is k periods saves
//! ln(1 / (2δ (k + 1))), with the prior 1 / (k (k + 1)) of k, δ the tolerance, and a gap's density without a period
//! that of its logarithm (Jeffreys); k = 4 saves nothing at δ = 0.1, which is why three multiples are enough, and why
//! neither half nor twice the period is taken for it. It counts if as many gaps are multiples by chance, for which the
//! phase would be uniform, with a probability below [`ALARM`] over all candidates (Chernoff's bound of a binomial).
//!
//! Non-goals: several periods at once, phases.

/// Distance of a gap from a multiple, in periods.
const TOLERANCE: f64 = 0.1;
/// The multiples.
const MULTIPLES: f64 = 3.0;
/// Probability of a period where there is none.
const ALARM: f64 = 0.01;
/// Most candidates: these quantiles of the gaps.
const CANDIDATES: usize = 256;
/// The median changes what is a multiple, which changes the median: so many times.
const REFINEMENTS: usize = 3;

/// Storms that come at regular times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Period {
    /// From start to start.
    pub(crate) period_ns: f64,
    /// Gaps that are one, two or three periods, of all.
    pub(crate) share: f64,
    /// How many gaps are these.
    pub(crate) gaps: usize,
}

/// The period of storms that start at these times, in order; none if they come at random, or are too few to tell.
pub(crate) fn period(starts_ns: &[i64]) -> Option<Period> {
    let pairs = starts_ns.iter().zip(starts_ns.iter().skip(1));
    let mut gaps: Vec<f64> = pairs.map(|(from, to)| to.saturating_sub(*from) as f64).collect();
    gaps.retain(|gap| *gap > 0.0);
    gaps.sort_unstable_by(f64::total_cmp);
    let step = gaps.len().div_ceil(CANDIDATES).max(1);
    let candidates = gaps.len().div_ceil(step);
    let all = gaps.iter().skip(step / 2).step_by(step).map(|gap| Fit::refined(*gap, &gaps));
    let best = all.max_by(|a, b| a.saved.total_cmp(&b.saved))?;
    let is_chance = best.odds() < (candidates as f64 / ALARM).ln();
    (!is_chance).then(|| Period {
        period_ns: best.period,
        share: best.hits / gaps.len() as f64,
        gaps: best.hits as usize,
    })
}

/// How well a period fits the gaps.
#[derive(Debug, Default)]
struct Fit {
    period: f64,
    /// Gaps that are a multiple.
    hits: f64,
    /// Gaps that could have been one: from half a period to three and a half.
    tried: f64,
    /// What coding the gaps as multiples saves, in nats.
    saved: f64,
}

impl Fit {
    fn of(period: f64, gaps: &[f64]) -> Self {
        let mut fit = Self { period, ..Self::default() };
        for gap in gaps {
            let multiple = (gap / period).round();
            fit.tried += f64::from(u8::from((1.0..=MULTIPLES).contains(&multiple)));
            if fit.single(*gap).is_some() {
                fit.hits += 1.0;
                fit.saved -= (2.0 * TOLERANCE * (multiple + 1.0)).ln();
            }
        }
        fit
    }

    /// The period that a gap would be one, two or three of, if it is.
    fn single(&self, gap: f64) -> Option<f64> {
        let multiple = (gap / self.period).round();
        let is_near = (gap / self.period - multiple).abs() <= TOLERANCE;
        (is_near && (1.0..=MULTIPLES).contains(&multiple)).then_some(gap / multiple)
    }

    /// The period that is the median of the gaps that are its multiples, each divided by how many.
    fn refined(gap: f64, gaps: &[f64]) -> Self {
        let mut fit = Self::of(gap, gaps);
        for _ in 0..REFINEMENTS {
            let mut single: Vec<f64> = gaps.iter().filter_map(|gap| fit.single(*gap)).collect();
            single.sort_unstable_by(f64::total_cmp);
            if let Some(median) = single.get(single.len() / 2) {
                fit = Self::of(*median, gaps);
            }
        }
        fit
    }

    /// Logarithm of the odds against so many hits by chance.
    fn odds(&self) -> f64 {
        let (chance, share) = (2.0 * TOLERANCE, self.hits / self.tried.max(1.0));
        if share <= chance {
            return 0.0;
        }
        let missed = 1.0 - share;
        let of_missed = if missed > 0.0 { missed * (missed / (1.0 - chance)).ln() } else { 0.0 };
        self.tried * (share * (share / chance).ln() + of_missed)
    }
}
