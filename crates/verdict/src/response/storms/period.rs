//! Whether storms come at regular times, and how far apart: 30 s of a UNIX update daemon, 5 s of a
//! journal's commits.
//!
//! A storm may fail to come, because there was nothing to write, so the gaps from start to start
//! are whole multiples of the period. By chance a fifth of the gaps are, within a tenth of a
//! period: the phase would be uniform. Candidates are the gaps themselves, each refined to the
//! median of the gaps that are its multiples, divided by how many: of the small multiples first,
//! for an error of the period grows with the multiple. A candidate counts if so many multiples
//! would come by chance with a probability below [`ALARM`] over all candidates (Chernoff's bound of
//! a binomial), and if most gaps are. Half of a period explains the same gaps, twice of it only
//! some: so it is the longest candidate that explains nearly as many gaps beyond chance as any
//! does.
//!
//! Non-goals: several periods at once, phases, periods of which not one gap is a single one.

/// Distance of a gap from a multiple, in periods.
const TOLERANCE: f64 = 0.1;
/// Share of multiples by chance.
const CHANCE: f64 = 2.0 * TOLERANCE;
/// Probability of a period where there is none.
const ALARM: f64 = 0.01;
/// Of random gaps that are all about as long, more than a fifth can be multiples; but not most.
const SHARE_LEAST: f64 = 0.5;
/// Most candidates: these quantiles of the gaps.
const CANDIDATES: usize = 256;
/// Largest multiples of the steps in which a candidate is refined.
const MULTIPLES: [f64; 4] = [3.0, 10.0, 30.0, f64::INFINITY];
/// How much of what the best candidate explains is nearly as much.
const NEARLY: f64 = 0.9;

/// Storms that come at regular times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Period {
    /// From start to start.
    pub(crate) period_ns: f64,
    /// Gaps that are a multiple of the period, of all; a fifth are by chance.
    pub(crate) share: f64,
    /// How many gaps are a multiple.
    pub(crate) gaps: usize,
}

/// The period of storms that start at these times, in order; none if they come at random, or are
/// too few to tell.
pub(crate) fn period(starts_ns: &[i64]) -> Option<Period> {
    let pairs = starts_ns.iter().zip(starts_ns.iter().skip(1));
    let mut gaps: Vec<f64> = pairs.map(|(from, to)| to.saturating_sub(*from) as f64).collect();
    gaps.retain(|gap| *gap > 0.0);
    gaps.sort_unstable_by(f64::total_cmp);
    let step = gaps.len().div_ceil(CANDIDATES).max(1);
    let price = (gaps.len().div_ceil(step) as f64 / ALARM).ln();
    let candidates = gaps.iter().skip(step / 2).step_by(step);
    let mut fits: Vec<Fit> = candidates.map(|gap| Fit::refined(*gap, &gaps)).collect();
    fits.retain(|fit| fit.share > SHARE_LEAST && gaps.len() as f64 * fit.odds() >= price);
    let most = fits.iter().map(|fit| fit.share).fold(0.0, f64::max) - CHANCE;
    let longest = fits.iter().filter(|fit| fit.share - CHANCE >= NEARLY * most);
    let best = longest.max_by(|a, b| a.period.total_cmp(&b.period))?;
    let multiples = (best.share * gaps.len() as f64).round() as usize;
    Some(Period { period_ns: best.period, share: best.share, gaps: multiples })
}

/// How well a period fits the gaps.
#[derive(Debug)]
struct Fit {
    period: f64,
    /// Gaps that are a multiple, of all.
    share: f64,
}

impl Fit {
    fn refined(gap: f64, gaps: &[f64]) -> Self {
        let mut period = gap;
        for most in MULTIPLES {
            let mut single: Vec<f64> =
                gaps.iter().filter_map(|gap| single(*gap, period, most)).collect();
            let middle = single.len() / 2;
            if middle < single.len() {
                period = *single.select_nth_unstable_by(middle, f64::total_cmp).1;
            }
        }
        let is_multiple = |gap: &&f64| single(**gap, period, f64::INFINITY).is_some();
        let share = gaps.iter().filter(is_multiple).count() as f64 / gaps.len() as f64;
        Self { period, share }
    }

    /// Logarithm of the odds against such a share, or more, by chance, for each gap.
    fn odds(&self) -> f64 {
        let missed = 1.0 - self.share;
        let of_missed = if missed > 0.0 { missed * (missed / (1.0 - CHANCE)).ln() } else { 0.0 };
        self.share * (self.share / CHANCE).ln() + of_missed
    }
}

/// The period that a gap is so many of, if it is a multiple, and not too large a one.
fn single(gap: f64, period: f64, most: f64) -> Option<f64> {
    let multiple = (gap / period).round();
    let is_near = (gap / period - multiple).abs() <= TOLERANCE;
    (is_near && multiple >= 1.0 && multiple <= most).then_some(gap / multiple)
}
