//! One line, two lines, or none: the tests that decide.
//!
//! - *Lack of fit* (Fisher; Draper & Smith, section 2.1): what the lines leave of the
//!   sizes' means, against the noise of the passes about those means.
//! - *Break*: two lines must leave so much less than one that chance would do it in one
//!   case of a hundred, shared among all the breaks tried (Bonferroni), since the best
//!   of many breaks is better than one break by chance alone.
//! - *Practical bound*: passes of one run can agree within 0.1 %, and then no model is
//!   ever right. Lines within [`MISFIT_BOUND_PERCENT`] of the mean at every size are
//!   accepted all the same, and their intervals are made from the misfit rather than
//!   from the noise.
//!
//! The two lines need not meet. They did not in Bucher & Hayes's figure 1 (BUFFER IN
//! misses one revolution more from 18 sectors on), and where the truth does meet, free
//! lines cost one parameter and find it so; a forced join would be wrong in the first case.
//!
//! Where the passes cannot tell one break from another, both lines are the mean over the
//! breaks, each with its likelihood for its weight, and the doubt is in their intervals
//! (Buckland, Burnham & Augustin 1997). A clear break has all the weight.
//!
//! Non-goals: three lines, curves.

use super::line::{Line, fit_line};
use super::sizes::{FEWEST_SIZES, Noise, Size};
use statrs::distribution::{ContinuousCDF, FisherSnedecor};

/// The misfit up to which lines are accepted although it is beyond the noise, per cent of
/// the value at each block size.
pub const MISFIT_BOUND_PERCENT: f64 = 5.0;
/// The level at which a misfit counts as more than noise, and the intervals are made from it.
const LACK_LEVEL: f64 = 0.05;
/// The level at which the model counts as inapplicable: it is not refused to one clean
/// routine in twenty.
const REFUSAL_LEVEL: f64 = 0.001;
/// The level at which two lines count as better than one, all breaks together.
const BREAK_LEVEL: f64 = 0.01;
/// Intercept and slope.
const PARAMETERS_OF_A_LINE: f64 = 2.0;

/// The F test of the lines against the noise of the passes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LackOfFit {
    /// Mean square of the misfit over that of the noise.
    pub ratio: f64,
    /// Degrees of freedom of the misfit and of the noise.
    pub degrees: (f64, f64),
    /// How likely a ratio so great is by chance.
    pub probability: f64,
}

impl LackOfFit {
    /// Whether the misfit is beyond the noise at the 5 % level.
    pub fn is_significant(&self) -> bool {
        self.probability < LACK_LEVEL
    }
}

/// One or two lines through all sizes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Candidate {
    /// In the order of the sizes.
    pub(super) lines: Vec<Line>,
    /// None with one pass a size: there is no noise to hold the misfit against.
    pub(super) lack_of_fit: Option<LackOfFit>,
    /// The size at which the lines are worst: bytes, and the misfit in per cent of the mean.
    pub(super) worst: (u64, f64),
    squares: f64,
    /// Mean square and degrees of freedom of the errors.
    error: Noise,
}

impl Candidate {
    /// Whether the lines describe the sizes, by the test or by the practical bound.
    pub(super) fn is_accepted(&self) -> bool {
        let fits = self.lack_of_fit.is_some_and(|test| test.probability > REFUSAL_LEVEL);
        fits || self.worst.1.abs() <= MISFIT_BOUND_PERCENT
    }
}

/// The simplest lines that the sizes ask for: one, two, or three where two do not describe them.
pub(super) fn choose(sizes: &[Size], noise: Noise) -> Candidate {
    let one = candidate(&[sizes], noise);
    let breaks = FEWEST_SIZES..FEWEST_SIZES + breaks(sizes.len());
    let two: Vec<Candidate> =
        breaks.map(|at| candidate(&[&sizes[..at], &sizes[at..]], noise)).collect();
    let best = match better(&two, &one) {
        Some(best) => best,
        None => return one,
    };
    if best.is_accepted() {
        return averaged(best, &two);
    }
    let three: Vec<Candidate> = pairs_of_breaks(sizes.len())
        .map(|(a, b)| candidate(&[&sizes[..a], &sizes[a..b], &sizes[b..]], noise))
        .collect();
    match better(&three, best) {
        Some(best) => averaged(best, &three),
        None => averaged(best, &two),
    }
}

/// The best of the candidates with one line more, where it is surely better than what there is.
fn better<'a>(more: &'a [Candidate], than: &Candidate) -> Option<&'a Candidate> {
    let best = more.iter().min_by(|a, b| a.squares.total_cmp(&b.squares))?;
    is_better(best, than, more.len()).then_some(best)
}

/// Two breaks that leave enough sizes on all sides.
fn pairs_of_breaks(sizes: usize) -> impl Iterator<Item = (usize, usize)> {
    let first = FEWEST_SIZES..=sizes.saturating_sub(2 * FEWEST_SIZES);
    first.flat_map(move |a| {
        (a + FEWEST_SIZES..=sizes.saturating_sub(FEWEST_SIZES)).map(move |b| (a, b))
    })
}

/// How many breaks leave enough sizes on both sides.
pub(super) fn breaks(sizes: usize) -> usize {
    (sizes + 1).saturating_sub(2 * FEWEST_SIZES)
}

/// Whether one line more is better by more than the search for its break explains.
fn is_better(two: &Candidate, one: &Candidate, breaks: usize) -> bool {
    let gain = (one.squares - two.squares) / PARAMETERS_OF_A_LINE;
    let ratio = gain / two.error.mean_square;
    probability(ratio, PARAMETERS_OF_A_LINE, two.error.degrees) * (breaks as f64) < BREAK_LEVEL
}

/// The best lines, with the doubt about their breaks in their errors: each break counts
/// with its likelihood beside the best one's.
fn averaged(best: &Candidate, all: &[Candidate]) -> Candidate {
    let likelihood =
        |two: &Candidate| (0.5 * (best.squares - two.squares) / best.error.mean_square).exp();
    let total: f64 = all.iter().map(likelihood).sum();
    let average = |(place, line): (usize, &Line)| {
        let weighted = |two: &Candidate| Some((likelihood(two) / total, *two.lines.get(place)?));
        line.averaged(&all.iter().filter_map(weighted).collect::<Vec<_>>())
    };
    Candidate { lines: best.lines.iter().enumerate().map(average).collect(), ..best.clone() }
}

fn candidate(segments: &[&[Size]], noise: Noise) -> Candidate {
    let lines: Vec<Line> = segments.iter().map(|sizes| fit_line(sizes)).collect();
    let parts = || lines.iter().zip(segments);
    let squares = parts().map(|(line, sizes)| line.squares(sizes)).sum();
    let misfits = parts().flat_map(|(line, sizes)| {
        sizes.iter().map(|size| (size.bytes as u64, 100.0 * line.misfit(size)))
    });
    let worst = misfits.max_by(|a, b| a.1.abs().total_cmp(&b.1.abs())).unwrap_or_default();
    let count: usize = segments.iter().map(|sizes| sizes.len()).sum();
    let degrees = count as f64 - PARAMETERS_OF_A_LINE * segments.len() as f64;
    let misfit = Noise { mean_square: squares / degrees, degrees };
    let lack_of_fit = lack_of_fit(misfit, noise);
    let error = match lack_of_fit {
        Some(test) if !test.is_significant() => noise,
        _ => Noise { mean_square: misfit.mean_square.max(noise.mean_square), degrees },
    };
    let lines = lines.iter().map(|line| line.with_noise(error)).collect();
    Candidate { lines, lack_of_fit, worst, squares, error }
}

fn lack_of_fit(misfit: Noise, noise: Noise) -> Option<LackOfFit> {
    let ratio = misfit.mean_square / noise.mean_square;
    (noise.degrees > 0.0).then(|| LackOfFit {
        ratio,
        degrees: (misfit.degrees, noise.degrees),
        probability: probability(ratio, misfit.degrees, noise.degrees),
    })
}

/// The upper tail of Fisher's F.
fn probability(ratio: f64, of: f64, against: f64) -> f64 {
    FisherSnedecor::new(of, against).map_or(1.0, |f| f.sf(ratio))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overhead::Observation;
    use crate::overhead::sizes::{noise, sizes};
    use crate::random::Random;

    #[test]
    fn the_upper_tail_is_fishers() {
        // Fisher & Yates, table V: the 5 % and 1 % points.
        for (ratio, of, against, level) in
            [(3.708, 3.0, 10.0, 0.05), (4.459, 2.0, 8.0, 0.05), (8.649, 2.0, 8.0, 0.01)]
        {
            assert!((probability(ratio, of, against) / level - 1.0).abs() < 2e-3, "{ratio}");
        }
        assert_eq!(probability(f64::INFINITY, 2.0, 8.0), 0.0);
    }

    #[test]
    fn the_lack_of_fit_is_the_ratio_of_the_mean_squares() {
        // Means of 90, 120 and 90 at 1, 2 and 3: a flat line by symmetry, were it not for the
        // weights; with passes 10 % about each mean the noise is 2 × 0.01 on each degree.
        let passes = [(1, 81.0), (1, 99.0), (2, 108.0), (2, 132.0), (3, 81.0), (3, 99.0)]
            .map(|(block_bytes, value_ns)| Observation { block_bytes, value_ns });
        let sizes = sizes(&passes).unwrap();
        let noise = noise(&sizes);
        assert!((noise.mean_square - 0.02).abs() < 1e-12 && noise.degrees == 3.0);
        let one = candidate(&[&sizes], noise);
        // Flat at c with weights 2/c²: c = 100, misfits of 10, 20 and 10 % of it.
        let test = one.lack_of_fit.unwrap();
        assert!((test.ratio - 2.0 * (0.01 + 0.04 + 0.01) / 0.02).abs() < 1e-9, "{test:?}");
        assert_eq!(test.degrees, (1.0, 3.0));
        assert_eq!(one.worst.0, 2);
        assert!((one.worst.1 - 100.0 * 20.0 / 120.0).abs() < 1e-9, "{:?}", one.worst);
    }

    #[test]
    fn a_line_is_said_to_lack_fit_in_one_case_of_twenty() {
        let mut random = Random::new(1925);
        let mut lacks = || {
            let one = |pass: u64| {
                let block_bytes = 512 << (pass % 9);
                let truth_ns = 900.0 + 0.17 * block_bytes as f64;
                Observation { block_bytes, value_ns: truth_ns * (1.0 + 0.03 * random.normal()) }
            };
            let sizes = sizes(&(0..36).map(one).collect::<Vec<_>>()).unwrap();
            candidate(&[&sizes], noise(&sizes)).lack_of_fit.unwrap().is_significant()
        };
        let found = (0..1000).filter(|_| lacks()).count();
        assert!((30..=70).contains(&found), "{found}");
    }

    #[test]
    fn breaks_leave_three_sizes_on_both_sides() {
        assert_eq!([3, 5, 6, 7, 12].map(breaks), [0, 0, 1, 2, 7]);
        assert_eq!([8, 9, 10, 12].map(|sizes| pairs_of_breaks(sizes).count()), [0, 1, 3, 10]);
        assert!(pairs_of_breaks(12).all(|(a, b)| a >= 3 && b - a >= 3 && 12 - b >= 3));
    }
}
