//! A straight line through times as a function of the block size, by weighted least
//! squares: value = intercept + slope × bytes, with errors proportional to the value.
//!
//! The weights are 1/fitted², found by iteration. Weights of 1/observed² would draw the
//! line to the passes that happened to be fast, and make a call look cheaper than it is;
//! those of the fitted values give an estimating equation without bias (Wedderburn 1974,
//! quasi-likelihood with variance ∝ mean²). Relative weights make Bucher & Hayes's two
//! forms one: per sector over 1/B (eq. 6 and 8) and per call over B (eq. 5) have the same
//! relative residuals and so the same coefficients.
//!
//! Non-goals: whether a line suits (see `choice`), what it means (see `reading`).

use super::quantity::{Quantity, half_width};
use super::sizes::{Noise, Size};
use crate::statistics::student;

/// Rounds of weighting; five reach the last digit with noise of 20 %.
const ROUNDS: usize = 10;
/// How far a weight's value may be from the size's mean: where a line does not suit,
/// no size may outweigh the others by the line's own error.
const WEIGHT_RANGE: (f64, f64) = (0.5, 2.0);

/// A fitted line and its errors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    /// Value at a block of no bytes, ns.
    intercept_ns: f64,
    /// Change of the value with each byte, ns.
    slope_ns: f64,
    /// Variances and covariance of the two.
    intercept_variance: f64,
    slope_variance: f64,
    covariance: f64,
    /// Degrees of freedom of the variances.
    degrees: f64,
    /// The smallest block size under the line, bytes.
    pub from_bytes: u64,
    /// The largest block size under the line, bytes.
    pub to_bytes: u64,
}

impl Line {
    /// The line's value at a block size, ns an operation.
    pub fn at_ns(&self, block_bytes: f64) -> f64 {
        self.intercept_ns + self.slope_ns * block_bytes
    }

    /// What an operation costs whatever its size, ns: T_call, or the latency t0.
    pub fn intercept_ns(&self) -> Quantity {
        Quantity::new(self.intercept_ns, self.intercept_variance.sqrt(), self.degrees)
    }

    /// What each byte adds, ns.
    pub fn slope_ns_per_byte(&self) -> Quantity {
        Quantity::new(self.slope_ns, self.slope_variance.sqrt(), self.degrees)
    }

    /// The line of what remains when a cost of every operation, in ns, is taken away, such
    /// as the harness's own: the intercept moves, and the squares of the half-widths of
    /// the two intervals add (Zou & Donner 2008), whatever their degrees of freedom.
    #[must_use]
    pub fn less(&self, cost_ns: &Quantity) -> Self {
        let half = half_width(cost_ns.standard_error, cost_ns.degrees);
        let error = student(self.degrees).map_or(f64::INFINITY, |t| half / t);
        Self {
            intercept_ns: self.intercept_ns - cost_ns.value,
            intercept_variance: self.intercept_variance + error.powi(2),
            ..*self
        }
    }

    /// Intercept over slope, in bytes: where half of the value is the intercept's. The
    /// interval is Fieller's (1954); none if the slope is not surely positive.
    pub(super) fn intercept_over_slope(&self) -> Option<Quantity> {
        let t = student(self.degrees)?;
        let (a, b) = (self.intercept_ns, self.slope_ns);
        let [aa, ab, bb] = [
            a * a - t * t * self.intercept_variance,
            a * b - t * t * self.covariance,
            b * b - t * t * self.slope_variance,
        ];
        if b <= 0.0 || bb <= 0.0 {
            return None;
        }
        let (middle, half) = (ab / bb, (ab * ab - aa * bb).max(0.0).sqrt() / bb);
        let ratio = a / b;
        let variance = self.intercept_variance - 2.0 * ratio * self.covariance
            + ratio * ratio * self.slope_variance;
        let standard_error = variance.max(0.0).sqrt() / b;
        let interval = (middle - half, middle + half);
        Some(Quantity { value: ratio, standard_error, degrees: self.degrees, interval })
    }

    /// A number over the slope, with the slope's interval inverted; none if the slope is
    /// not surely positive.
    pub(super) fn over_slope(&self, number: f64) -> Option<Quantity> {
        let slope = self.slope_ns_per_byte();
        let (low, high) = slope.interval;
        let value = number / slope.value;
        (low > 0.0).then(|| Quantity {
            value,
            standard_error: value * slope.standard_error / slope.value,
            degrees: slope.degrees,
            interval: (number / high, number / low),
        })
    }

    /// The same line with the errors that a relative mean square implies.
    pub(super) fn with_noise(&self, noise: Noise) -> Self {
        let Noise { mean_square, degrees } = noise;
        Self {
            intercept_variance: self.intercept_variance * mean_square,
            slope_variance: self.slope_variance * mean_square,
            covariance: self.covariance * mean_square,
            degrees,
            ..*self
        }
    }

    /// The line over the same range whose coefficients are the weighted mean of several
    /// lines' and whose variances are the mean within the lines plus that between them.
    pub(super) fn averaged(&self, lines: &[(f64, Line)]) -> Self {
        let mean = |of: &dyn Fn(&Line) -> f64| -> f64 {
            lines.iter().map(|(weight, line)| weight * of(line)).sum()
        };
        let (intercept_ns, slope_ns) = (mean(&|l| l.intercept_ns), mean(&|l| l.slope_ns));
        let off = |l: &Line| (l.intercept_ns - intercept_ns, l.slope_ns - slope_ns);
        Self {
            intercept_ns,
            slope_ns,
            intercept_variance: mean(&|l| l.intercept_variance + off(l).0.powi(2)),
            slope_variance: mean(&|l| l.slope_variance + off(l).1.powi(2)),
            covariance: mean(&|l| l.covariance + off(l).0 * off(l).1),
            ..*self
        }
    }

    /// How far a size's mean is from the line, as a share of the mean.
    pub(super) fn misfit(&self, size: &Size) -> f64 {
        (size.mean_ns - self.at_ns(size.bytes)) / size.mean_ns
    }

    /// The sum of squares about the line, each as a share of the value.
    pub(super) fn squares(&self, sizes: &[Size]) -> f64 {
        let square = |size: &Size| {
            let residual_ns = size.mean_ns - self.at_ns(size.bytes);
            size.passes * (residual_ns / self.scale_ns(size)).powi(2)
        };
        sizes.iter().map(square).sum()
    }

    /// The value to which a size's noise is proportional.
    fn scale_ns(&self, size: &Size) -> f64 {
        let (low, high) = WEIGHT_RANGE;
        self.at_ns(size.bytes).clamp(low * size.mean_ns, high * size.mean_ns)
    }
}

/// The line through two or more sizes, its variances for a noise of one.
pub(super) fn fit_line(sizes: &[Size]) -> Line {
    let first = least_squares(sizes, |size| size.mean_ns);
    (0..ROUNDS).fold(first, |line, _| least_squares(sizes, |size| line.scale_ns(size)))
}

fn least_squares(sizes: &[Size], scale_ns: impl Fn(&Size) -> f64) -> Line {
    let weight = |size: &Size| size.passes / scale_ns(size).powi(2);
    let sum = |of: &dyn Fn(&Size) -> f64| -> f64 { sizes.iter().map(|s| weight(s) * of(s)).sum() };
    let total = sum(&|_| 1.0);
    let middle = sum(&|s| s.bytes) / total;
    let spread = sum(&|s| (s.bytes - middle).powi(2));
    let slope_ns = sum(&|s| (s.bytes - middle) * s.mean_ns) / spread;
    let bytes = |size: Option<&Size>| size.map_or(0, |size| size.bytes as u64);
    Line {
        intercept_ns: sum(&|s| s.mean_ns) / total - slope_ns * middle,
        slope_ns,
        intercept_variance: 1.0 / total + middle * middle / spread,
        slope_variance: 1.0 / spread,
        covariance: -middle / spread,
        degrees: f64::INFINITY,
        from_bytes: bytes(sizes.first()),
        to_bytes: bytes(sizes.last()),
    }
}
