//! The overhead experiment's model: what one call of an I/O routine costs and what each
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
mod findings;
mod line;
mod quantity;
mod reading;
mod rotation;
mod sizes;

#[cfg(test)]
mod tests;

pub use choice::{LackOfFit, MISFIT_BOUND_PERCENT};
pub use disturbed::{DEVIATIONS_BOUND, Sorted, set_aside_disturbed};
pub use findings::findings;
pub use line::Line;
pub use quantity::Quantity;
pub use reading::{CallCost, Rate};
pub use rotation::{Drive, Rotation};
pub use sizes::{FEWEST_SIZES, Observation};

use choice::Candidate;
use model::doubt::{Code, Doubt};

/// Why there is nothing to fit.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what each is")]
pub enum CannotFit {
    #[error("{sizes} block sizes, fewer than {FEWEST_SIZES}")]
    TooFewSizes { sizes: usize },
    #[error("a mean of {mean_ns} ns at {block_bytes} bytes, which is no positive number")]
    NotPositive { block_bytes: u64, mean_ns: f64 },
}

impl CannotFit {
    /// The same as a finding's doubt.
    fn doubt(&self) -> Doubt {
        match *self {
            Self::TooFewSizes { sizes } => Doubt::new(
                Code::TooFewSizes,
                [("sizes", sizes.into()), ("least", FEWEST_SIZES.into())],
            ),
            Self::NotPositive { block_bytes, mean_ns } => Doubt::new(
                Code::MeanNotPositive,
                [("mean_ns", mean_ns.into()), ("bytes", block_bytes.into())],
            ),
        }
    }
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
    /// Three lines: a page, what the caches hold, and what they do not.
    ThreeLines {
        /// The line where a call's cost shows.
        small: Line,
        /// The line between the two breaks.
        middle: Line,
        /// The line where the bytes' cost shows.
        large: Line,
    },
    /// The model does not apply, for this reason.
    DoesNotApply(Doubt),
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
            Shape::OneLine(line)
            | Shape::TwoLines { small: line, .. }
            | Shape::ThreeLines { small: line, .. } => Some(line),
            Shape::DoesNotApply(_) => None,
        }
    }

    /// The line of the largest blocks, from which the asymptotic rate is read.
    pub fn large_blocks(&self) -> Option<&Line> {
        match &self.shape {
            Shape::OneLine(line)
            | Shape::TwoLines { large: line, .. }
            | Shape::ThreeLines { large: line, .. } => Some(line),
            Shape::DoesNotApply(_) => None,
        }
    }

    /// The fit of what remains when a cost of every operation, in ns, is taken away, such
    /// as the harness's own. What remains must still make sense.
    #[must_use]
    pub fn less(&self, cost_ns: &Quantity) -> Self {
        let shape = match &self.shape {
            Shape::OneLine(line) => shape(&[line.less(cost_ns)]),
            Shape::TwoLines { small, large } => shape(&[small.less(cost_ns), large.less(cost_ns)]),
            Shape::ThreeLines { small, middle, large } => {
                shape(&[small.less(cost_ns), middle.less(cost_ns), large.less(cost_ns)])
            }
            Shape::DoesNotApply(_) => self.shape.clone(),
        };
        Self { shape, ..self.clone() }
    }
}

/// Fits one line, or two or three where one is not enough, to passes at three or more block sizes.
/// Errors: see [`CannotFit`].
pub fn fit(observations: &[Observation]) -> Result<Fit, CannotFit> {
    let sizes = sizes::sizes(observations)?;
    let noise = sizes::noise(&sizes);
    let chosen = choice::choose(&sizes, noise);
    let shape = match chosen.is_accepted() {
        true => shape(&chosen.lines),
        false => Shape::DoesNotApply(misfit(&chosen, sizes.len())),
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
    match (negative_cost(lines), lines) {
        (Some(doubt), _) => Shape::DoesNotApply(doubt),
        (None, [small, large]) => Shape::TwoLines { small: *small, large: *large },
        (None, [small, middle, large]) => {
            Shape::ThreeLines { small: *small, middle: *middle, large: *large }
        }
        (None, lines) => lines.first().map_or_else(
            || Shape::DoesNotApply(Doubt::new(Code::NoLine, [])),
            |line| Shape::OneLine(*line),
        ),
    }
}

/// Which cost is negative, if one is: surely so, and by more than the misfit that is accepted
/// anyway. The intercept of a second line is no cost.
fn negative_cost(lines: &[Line]) -> Option<Doubt> {
    let call = lines.first().and_then(|line| {
        let value_ns = line.at_ns(line.from_bytes as f64);
        negative(&line.intercept_ns(), 1.0, value_ns, Code::CallCostsNegative)
    });
    let transfer = lines.iter().find_map(|line| {
        let bytes = (line.to_bytes - line.from_bytes) as f64;
        let value_ns = line.at_ns(line.from_bytes as f64);
        negative(&line.slope_ns_per_byte(), bytes, value_ns, Code::ByteCostsNegative)
    });
    call.or(transfer)
}

fn negative(cost: &Quantity, count: f64, value_ns: f64, code: Code) -> Option<Doubt> {
    let is_large = -cost.value * count > MISFIT_BOUND_PERCENT / 100.0 * value_ns;
    let (low, high) = cost.interval;
    let values =
        || [("cost_ns", cost.value.into()), ("low_ns", low.into()), ("high_ns", high.into())];
    (high < 0.0 && is_large).then(|| Doubt::new(code, values()))
}

/// What keeps the best lines from being accepted.
fn misfit(chosen: &Candidate, sizes: usize) -> Doubt {
    let (bytes, percent) = chosen.worst;
    let code = match (chosen.lines.len(), choice::breaks(sizes)) {
        (1, 0) => Code::OneLineMissesFewSizes,
        (1, _) => Code::OneLineMisses,
        _ => Code::TwoLinesMiss,
    };
    let bound = MISFIT_BOUND_PERCENT.into();
    let values = [("bytes", bytes.into()), ("percent", percent.into()), ("bound_percent", bound)];
    let mut doubt = Doubt::new(code, values);
    if code == Code::OneLineMissesFewSizes {
        doubt.values.insert("sizes".into(), sizes.into());
    }
    if let Some(test) = chosen.lack_of_fit {
        let (of, against) = test.degrees;
        doubt.values.insert("f_ratio".into(), test.ratio.into());
        doubt.values.insert("degrees".into(), of.into());
        doubt.values.insert("degrees_of_noise".into(), against.into());
    }
    doubt
}
