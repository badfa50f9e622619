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

/// Rounds of weighting; a test holds that they suffice at a noise of 20 %.
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
    slope_ns_per_byte: f64,
    /// Variances and covariance of the two.
    intercept_variance: f64,
    slope_variance: f64,
    covariance: f64,
    degrees: f64,
    /// The smallest block size under the line, bytes.
    pub from_bytes: u64,
    /// The largest block size under the line, bytes.
    pub to_bytes: u64,
}

impl Line {
    /// The line's value at a block size, ns an operation.
    pub fn at_ns(&self, block_bytes: f64) -> f64 {
        self.intercept_ns + self.slope_ns_per_byte * block_bytes
    }

    /// What an operation costs whatever its size, ns: T_call, or the latency t0.
    pub fn intercept_ns(&self) -> Quantity {
        Quantity::new(self.intercept_ns, self.intercept_variance.sqrt(), self.degrees)
    }

    /// What each byte adds, ns.
    pub fn slope_ns_per_byte(&self) -> Quantity {
        Quantity::new(self.slope_ns_per_byte, self.slope_variance.sqrt(), self.degrees)
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
        let (a, b) = (self.intercept_ns, self.slope_ns_per_byte);
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
    /// lines'; its standard errors are the mean of theirs about that mean (Buckland,
    /// Burnham & Augustin 1997), and so is their correlation.
    pub(super) fn averaged(&self, lines: &[(f64, Line)]) -> Self {
        let mean = |of: &dyn Fn(&Line) -> f64| -> f64 {
            lines.iter().map(|(weight, line)| weight * of(line)).sum()
        };
        let (intercept_ns, slope_ns_per_byte) =
            (mean(&|l| l.intercept_ns), mean(&|l| l.slope_ns_per_byte));
        let off =
            |l: &Line| (l.intercept_ns - intercept_ns, l.slope_ns_per_byte - slope_ns_per_byte);
        let intercept_error = |l: &Line| (l.intercept_variance + off(l).0.powi(2)).sqrt();
        let slope_error = |l: &Line| (l.slope_variance + off(l).1.powi(2)).sqrt();
        let together = |l: &Line| l.covariance + off(l).0 * off(l).1;
        let correlation = mean(&|l| together(l) / (intercept_error(l) * slope_error(l)));
        let (intercept, slope) = (mean(&intercept_error), mean(&slope_error));
        Self {
            intercept_ns,
            slope_ns_per_byte,
            intercept_variance: intercept.powi(2),
            slope_variance: slope.powi(2),
            covariance: correlation * intercept * slope,
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
    let slope_ns_per_byte = sum(&|s| (s.bytes - middle) * s.mean_ns) / spread;
    let bytes = |size: Option<&Size>| size.map_or(0, |size| size.bytes as u64);
    Line {
        intercept_ns: sum(&|s| s.mean_ns) / total - slope_ns_per_byte * middle,
        slope_ns_per_byte,
        intercept_variance: 1.0 / total + middle * middle / spread,
        slope_variance: 1.0 / spread,
        covariance: -middle / spread,
        degrees: f64::INFINITY,
        from_bytes: bytes(sizes.first()),
        to_bytes: bytes(sizes.last()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overhead::Observation;
    use crate::overhead::sizes::{noise, sizes};
    use crate::random::Random;

    fn noisy(random: &mut Random) -> Vec<Size> {
        let passes = (0..27u32).map(|pass| {
            let block_bytes = 512 << (pass % 9);
            let truth_ns = 900.0 + 0.2 * block_bytes as f64;
            Observation { block_bytes, value_ns: truth_ns * (1.0 + 0.2 * random.normal()) }
        });
        sizes(&passes.collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn the_weights_are_those_of_the_fitted_values() {
        let mut random = Random::new(1974);
        for _ in 0..100 {
            let sizes = noisy(&mut random);
            let line = fit_line(&sizes);
            // Wedderburn's equations: the sums of residual/fitted², bare and times the bytes,
            // vanish.
            let sum = |of: fn(&Size) -> f64| -> f64 {
                let term = |s: &Size| {
                    let fitted = line.at_ns(s.bytes);
                    of(s) * s.passes * (s.mean_ns - fitted) / fitted.powi(2)
                };
                sizes.iter().map(term).sum()
            };
            assert!((sum(|_| 1.0) * line.intercept_ns).abs() < 1e-4, "{line:?}");
            assert!((sum(|s| s.bytes) * line.slope_ns_per_byte).abs() < 1e-4, "{line:?}");
        }
    }

    #[test]
    fn the_bounds_of_the_ratio_are_fiellers() {
        let mut random = Random::new(1954);
        let sizes = noisy(&mut random);
        let line = fit_line(&sizes).with_noise(noise(&sizes));
        let ratio = line.intercept_over_slope().unwrap();
        let t = student(line.degrees).unwrap();
        for bound in [ratio.interval.0, ratio.interval.1] {
            // A ratio is a bound where intercept - ratio × slope is t standard errors from zero.
            let variance = line.intercept_variance - 2.0 * bound * line.covariance
                + bound * bound * line.slope_variance;
            let distance =
                (line.intercept_ns - bound * line.slope_ns_per_byte).abs() / variance.sqrt();
            assert!((distance - t).abs() < 1e-6, "{distance} {t}");
        }
    }

    #[test]
    fn a_cost_taken_away_widens_by_quadrature() {
        let sizes = noisy(&mut Random::new(1980));
        let line = fit_line(&sizes).with_noise(noise(&sizes));
        let cost = Quantity::new(100.0, 40.0, 3.0);
        let (before, after) = (line.intercept_ns(), line.less(&cost).intercept_ns());
        let half = |q: &Quantity| (q.interval.1 - q.interval.0) / 2.0;
        assert!((after.value - (before.value - 100.0)).abs() < 1e-9);
        assert!((half(&after) - half(&before).hypot(half(&cost))).abs() < 1e-6);
        assert_eq!(line.less(&cost).slope_ns_per_byte(), line.slope_ns_per_byte());
        assert_eq!(line.less(&Quantity::known(0.0)), line);
    }

    #[test]
    fn a_slope_of_no_sign_has_no_inverse() {
        let flat: Vec<Observation> = [(1, 9.0), (1, 11.0), (2, 11.0), (2, 9.0), (3, 10.0)]
            .map(|(block_bytes, value_ns)| Observation { block_bytes, value_ns })
            .into();
        let sizes = sizes(&flat).unwrap();
        let line = fit_line(&sizes).with_noise(noise(&sizes));
        assert_eq!(line.over_slope(1.0), None);
        assert_eq!(line.intercept_over_slope(), None);
        assert!(!line.slope_ns_per_byte().is_distinguishable_from_zero());
    }
}
