//! The overhead room's model: what one call of an I/O routine costs and what each
//! byte adds, from passes at several block sizes. After I. Y. Bucher and A. H. Hayes,
//! *I/O performance measurement on Cray-1 and CDC 7600 computers* (CPEUG, 1980).
//!
//! One line serves CPU times (eq. 8), wall times and rotating media (eq. 5 and 6); only
//! its reading differs:
//!
//! ```
//! use analyze::overhead::{CallCost, Observation, Quantity, fit, set_aside_disturbed};
//! // RDISK on the Cray-1: 660 µs a call and 6 µs a sector of 4096 bytes.
//! let pass = |sectors: u64| Observation {
//!     block_bytes: sectors * 4096,
//!     value_ns: 660_000.0 + 6_000.0 * sectors as f64,
//! };
//! let passes: Vec<_> = [1, 2, 3, 9, 18, 36, 90, 180].map(pass).into();
//! let found = fit(&set_aside_disturbed(&passes).kept)?;
//! let harness_ns = Quantity::new(20.0, 1.0, 4.0);
//! let cost = found.less(&harness_ns).small_blocks().map(CallCost::from);
//! assert!(cost.is_some_and(|c| (c.call_ns.value - 659_980.0).abs() < 1.0));
//! # Ok::<(), analyze::overhead::CannotFit>(())
//! ```
//!
//! Non-goals: measuring; samples and findings; queues, where operations wait for each other.

mod choice;
mod disturbed;
mod line;
mod quantity;
mod reading;
mod rotation;
mod sizes;

#[cfg(test)]
mod paper;
#[cfg(test)]
mod recovery;

pub use choice::{LackOfFit, MISFIT_BOUND_PERCENT};
pub use disturbed::{DEVIATIONS_BOUND, Sorted, set_aside_disturbed};
pub use line::Line;
pub use quantity::Quantity;
pub use reading::{CallCost, Rate};
pub use rotation::{Drive, Rotation};
pub use sizes::{FEWEST_SIZES, Observation};

use choice::Candidate;
use model::units::show_size;

/// Why there is nothing to fit.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum CannotFit {
    /// A line through two points has nothing left to be judged by.
    #[error("{sizes} block sizes, fewer than {FEWEST_SIZES}")]
    TooFewSizes {
        /// Distinct block sizes that there are.
        sizes: usize,
    },
    /// Noise is taken as a share of the value.
    #[error("a mean of {mean_ns} ns at {block_bytes} bytes, which is no positive number")]
    NotPositive {
        /// The block size, bytes.
        block_bytes: u64,
        /// The mean of its passes, ns.
        mean_ns: f64,
    },
}

/// What describes the passes.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// One line over all block sizes.
    OneLine(Line),
    /// One line for small blocks, another for large ones, the break between
    /// `small.to_bytes` and `large.from_bytes`.
    TwoLines {
        /// The line where a call's cost shows.
        small: Line,
        /// The line where the bytes' cost shows; its intercept is no cost of a call, and
        /// may be negative.
        large: Line,
    },
    /// The model does not apply.
    DoesNotApply {
        /// One sentence with the numbers.
        reason: String,
    },
}

/// The outcome of a fit.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// What describes the passes.
    pub shape: Shape,
    /// Distinct block sizes.
    pub sizes: usize,
    /// Passes of all sizes.
    pub passes: usize,
    /// Standard deviation of the passes about their size's mean, per cent of it; none with
    /// one pass a size.
    pub noise_percent: Option<f64>,
    /// The greatest distance of a size's mean from the lines, per cent of the mean.
    pub misfit_percent: f64,
    /// The test of the lines that were tried last; none with one pass a size.
    pub lack_of_fit: Option<LackOfFit>,
}

impl Fit {
    /// The line of the smallest blocks, from which a call's cost is read.
    pub fn small_blocks(&self) -> Option<&Line> {
        match &self.shape {
            Shape::OneLine(line) | Shape::TwoLines { small: line, .. } => Some(line),
            Shape::DoesNotApply { .. } => None,
        }
    }

    /// The line of the largest blocks, from which the asymptotic rate is read.
    pub fn large_blocks(&self) -> Option<&Line> {
        match &self.shape {
            Shape::OneLine(line) | Shape::TwoLines { large: line, .. } => Some(line),
            Shape::DoesNotApply { .. } => None,
        }
    }

    /// The fit of what remains when a cost of every operation, in ns, is taken away, such
    /// as the harness's own. What remains must still make sense.
    #[must_use]
    pub fn less(&self, cost_ns: &Quantity) -> Self {
        let shape = match &self.shape {
            Shape::OneLine(line) => shape(&[line.less(cost_ns)]),
            Shape::TwoLines { small, large } => shape(&[small.less(cost_ns), large.less(cost_ns)]),
            Shape::DoesNotApply { .. } => self.shape.clone(),
        };
        Self { shape, ..self.clone() }
    }
}

/// Fits one line, or two where one is not enough, to passes at three or more block sizes.
///
/// # Errors
/// See [`CannotFit`].
pub fn fit(observations: &[Observation]) -> Result<Fit, CannotFit> {
    let sizes = sizes::sizes(observations)?;
    let noise = sizes::noise(&sizes);
    let chosen = choice::choose(&sizes, noise);
    let shape = match chosen.is_accepted() {
        true => shape(&chosen.lines),
        false => Shape::DoesNotApply { reason: misfit_sentence(&chosen, sizes.len()) },
    };
    Ok(Fit {
        shape,
        sizes: sizes.len(),
        passes: observations.len(),
        noise_percent: (noise.degrees > 0.0).then(|| 100.0 * noise.mean_square.sqrt()),
        misfit_percent: chosen.worst.1.abs(),
        lack_of_fit: chosen.lack_of_fit,
    })
}

/// The shape of accepted lines, unless one of them means a negative cost.
fn shape(lines: &[Line]) -> Shape {
    match (negative_sentence(lines), lines) {
        (Some(reason), _) => Shape::DoesNotApply { reason },
        (None, [small, large]) => Shape::TwoLines { small: *small, large: *large },
        (None, lines) => lines.first().map_or_else(
            || Shape::DoesNotApply { reason: "there is no line".into() },
            |line| Shape::OneLine(*line),
        ),
    }
}

/// Which cost is negative, if one is: surely so, and by more than the misfit that is accepted anyway.
/// The intercept of a second line is no cost.
fn negative_sentence(lines: &[Line]) -> Option<String> {
    let call = lines.first().and_then(|line| {
        let value_ns = line.at_ns(line.from_bytes as f64);
        negative(&line.intercept_ns(), 1.0, value_ns, "a call would cost")
    });
    let transfer = lines.iter().find_map(|line| {
        let bytes = (line.to_bytes - line.from_bytes) as f64;
        let value_ns = line.at_ns(line.from_bytes as f64);
        negative(&line.slope_ns_per_byte(), bytes, value_ns, "a byte would cost")
    });
    call.or(transfer)
}

fn negative(cost: &Quantity, count: f64, value_ns: f64, words: &str) -> Option<String> {
    let is_large = -cost.value * count > MISFIT_BOUND_PERCENT / 100.0 * value_ns;
    let (low, high) = cost.interval;
    (high < 0.0 && is_large)
        .then(|| format!("{words} {:.4} ns ({low:.4} to {high:.4}), less than nothing", cost.value))
}

fn misfit_sentence(chosen: &Candidate, sizes: usize) -> String {
    let (bytes, percent) = chosen.worst;
    let (lines, search) = match (chosen.lines.len(), choice::breaks(sizes)) {
        (1, 0) => ("one line misses", format!("; {sizes} sizes are too few to look for a break")),
        (1, _) => ("one line misses", "; no break makes two lines surely better".to_owned()),
        _ => ("the best two lines miss", String::new()),
    };
    let test = chosen.lack_of_fit.map_or_else(String::new, |test| {
        let (of, against) = test.degrees;
        format!(", F = {:.1} on {of} and {against} degrees of freedom", test.ratio)
    });
    let size = show_size(bytes);
    format!(
        "at {size} {lines} the mean by {percent:+.1} % (bound {MISFIT_BOUND_PERCENT} %{test}){search}"
    )
}

#[cfg(test)]
mod tests {
    use super::recovery::Random;
    use super::*;

    /// Passes from 512 bytes on in powers of two, of what a function says, with noise.
    fn passes(sizes: u32, count: u32, noise: f64, value_ns: fn(f64) -> f64) -> Vec<Observation> {
        let mut random = Random::new(3);
        let one = |pass: u32| {
            let block_bytes = 512 << (pass % sizes);
            let value_ns = value_ns(block_bytes as f64) * (1.0 + noise * random.normal());
            Observation { block_bytes, value_ns }
        };
        (0..sizes * count).map(one).collect()
    }

    fn reason(fit: Fit) -> String {
        match fit.shape {
            Shape::DoesNotApply { reason } => reason,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_curve_is_refused_with_its_numbers() {
        let curve = fit(&passes(12, 5, 0.001, |bytes| 0.01 * bytes.powf(1.5))).unwrap();
        assert!(curve.misfit_percent > MISFIT_BOUND_PERCENT);
        assert!(curve.small_blocks().is_none() && curve.large_blocks().is_none());
        let reason = reason(curve);
        println!("{reason}");
        assert!(reason.contains("the best two lines miss the mean by "), "{reason}");
    }

    #[test]
    fn a_curve_of_few_sizes_is_refused() {
        let reason = reason(fit(&passes(5, 3, 0.001, |bytes| 0.01 * bytes.powf(1.5))).unwrap());
        println!("{reason}");
        assert!(reason.ends_with("; 5 sizes are too few to look for a break"), "{reason}");
    }

    #[test]
    fn a_small_misfit_beyond_the_noise_is_accepted_and_widens_the_intervals() {
        // A ripple of 1 % over passes that agree within 0.01 %.
        let ripple =
            |bytes: f64| (900.0 + 0.17 * bytes) * (1.0 + 0.01 * (2.5 * bytes.log2()).sin());
        let found = fit(&passes(12, 5, 1e-4, ripple)).unwrap();
        let test = found.lack_of_fit.unwrap();
        assert!(test.is_significant() && test.ratio > 1000.0, "{found:?}");
        let Shape::OneLine(line) = found.shape else { panic!("{found:?}") };
        let call = line.intercept_ns();
        assert_eq!(call.degrees, 10.0);
        assert!(call.interval.0 < 900.0 && 900.0 < call.interval.1, "{call:?}");
        // From the noise alone the error would be 0.03 ns.
        assert!(call.standard_error > 2.0, "{call:?}");
    }

    #[test]
    fn a_negative_call_or_byte_is_refused_and_a_doubtful_one_is_not() {
        let call = reason(fit(&passes(6, 5, 0.01, |bytes| 0.2 * bytes - 50.0)).unwrap());
        assert!(call.starts_with("a call would cost -"), "{call}");
        let byte = reason(fit(&passes(6, 5, 0.01, |bytes| 9000.0 - 0.2 * bytes)).unwrap());
        assert!(byte.starts_with("a byte would cost -"), "{byte}");
        let free = fit(&passes(6, 5, 0.01, |bytes| 0.2 * bytes)).unwrap();
        let line = free.small_blocks().unwrap();
        assert!(!line.intercept_ns().is_distinguishable_from_zero(), "{line:?}");
    }

    #[test]
    fn the_large_lines_intercept_may_be_negative() {
        // Beyond the cache each byte costs more, and the lines meet at 64 KiB.
        let bent = |bytes: f64| 900.0 + 0.1 * bytes + 0.3 * (bytes - 65_536.0).max(0.0);
        let found = fit(&passes(12, 5, 0.01, bent)).unwrap();
        let (small, large) = (found.small_blocks().unwrap(), found.large_blocks().unwrap());
        assert!(large.intercept_ns().interval.1 < 0.0 && small.from_bytes == 512, "{found:?}");
        assert!((small.to_bytes, large.from_bytes) == (65_536, 131_072), "{found:?}");
        let (low, high) = CallCost::from(small).call_ns.interval;
        assert!(low < 900.0 && 900.0 < high, "{found:?}");
    }

    #[test]
    fn a_harness_dearer_than_the_routine_is_refused() {
        let found = fit(&passes(6, 5, 0.01, |bytes| 900.0 + 0.2 * bytes)).unwrap();
        let reason = reason(found.less(&Quantity::new(1200.0, 5.0, 9.0)));
        assert!(reason.starts_with("a call would cost -"), "{reason}");
        let less = found.less(&Quantity::new(200.0, 5.0, 9.0));
        let (before, after) = (found.small_blocks().unwrap(), less.small_blocks().unwrap());
        assert!((before.intercept_ns().value - after.intercept_ns().value - 200.0).abs() < 1e-9);
    }

    #[test]
    fn single_passes_are_fitted_by_their_misfit() {
        let found = fit(&passes(8, 1, 0.01, |bytes| 900.0 + 0.2 * bytes)).unwrap();
        assert_eq!((found.noise_percent, found.lack_of_fit), (None, None));
        let call = found.small_blocks().unwrap().intercept_ns();
        assert!(call.degrees == 6.0 && call.standard_error > 1.0, "{call:?}");
    }
}
