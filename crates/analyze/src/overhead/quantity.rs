//! An estimate with its error and its 95 % interval, and what is done with two of
//! them: one less the other, and whether they agree.
//!
//! The degrees of freedom of a difference are those of Welch (1947) and
//! Satterthwaite (1946). Non-goals: estimating; correlated estimates.

use crate::statistics::student;

/// An estimate, in the unit that its holder's name says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quantity {
    /// The estimate.
    pub value: f64,
    /// Its standard error, in the same unit; zero for what is known.
    pub standard_error: f64,
    /// Degrees of freedom of the standard error; infinite for what is known.
    pub degrees: f64,
    /// The 95 % interval, in the same unit; a bound may be infinite.
    pub interval: (f64, f64),
}

impl Quantity {
    /// An estimate with the interval by Student's t.
    pub fn new(value: f64, standard_error: f64, degrees: f64) -> Self {
        let half = half_width(standard_error, degrees);
        Self { value, standard_error, degrees, interval: (value - half, value + half) }
    }

    /// What is known without error.
    pub fn known(value: f64) -> Self {
        Self::new(value, 0.0, f64::INFINITY)
    }

    /// The same in another unit; the factor is positive.
    pub(super) fn scaled(self, factor: f64) -> Self {
        let (low, high) = self.interval;
        Self {
            value: self.value * factor,
            standard_error: self.standard_error * factor,
            degrees: self.degrees,
            interval: (low * factor, high * factor),
        }
    }

    /// Whether zero is outside the interval.
    pub fn is_distinguishable_from_zero(&self) -> bool {
        self.interval.0 > 0.0 || self.interval.1 < 0.0
    }

    /// This less another, the two being independent: the errors add in quadrature.
    pub fn less(&self, other: &Self) -> Self {
        let (first, second) = (self.standard_error.powi(2), other.standard_error.powi(2));
        let share = first.powi(2) / self.degrees + second.powi(2) / other.degrees;
        let degrees = if share > 0.0 { (first + second).powi(2) / share } else { f64::INFINITY };
        Self::new(self.value - other.value, (first + second).sqrt(), degrees)
    }

    /// Whether this and another, independent estimate of one quantity differ by no more
    /// than chance would at the 5 % level.
    ///
    /// Two estimates can agree and yet have intervals too wide to say anything:
    /// [`Quantity::less`] gives the difference and its interval.
    pub fn agrees_with(&self, other: &Self) -> bool {
        !self.less(other).is_distinguishable_from_zero()
    }
}

/// Half of the 95 % interval; infinite if there is an error and nothing to judge it by.
pub(super) fn half_width(standard_error: f64, degrees: f64) -> f64 {
    match standard_error {
        0.0 => 0.0,
        error => student(degrees).map_or(f64::INFINITY, |t| t * error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-4 * b.abs().max(1.0)
    }

    #[test]
    fn the_difference_is_welchs() {
        // Student's sleep data in two groups: R's t.test(extra ~ group) gives
        // t = -1.8608 on 17.776 degrees, -3.3654832 to 0.2054832.
        let first = Quantity::new(0.75, 1.789010 / 10f64.sqrt(), 9.0);
        let second = Quantity::new(2.33, 2.002249 / 10f64.sqrt(), 9.0);
        let difference = first.less(&second);
        assert!(close(difference.degrees, 17.776_47), "{difference:?}");
        assert!(close(difference.value / difference.standard_error, -1.860_81));
        assert!(
            close(difference.interval.0, -3.365_483) && close(difference.interval.1, 0.205_483)
        );
        assert!(first.agrees_with(&second));
    }

    #[test]
    fn two_loop_lengths_agree_or_do_not() {
        // The paper's RDISK: 660 ± 10 µs. A second loop that gave 700 ± 10 would not agree.
        let first = Quantity::new(660.0, 5.0, 20.0);
        assert!(first.agrees_with(&Quantity::new(668.0, 5.0, 20.0)));
        assert!(!first.agrees_with(&Quantity::new(700.0, 5.0, 20.0)));
        assert!(!first.agrees_with(&Quantity::known(600.0)));
    }

    #[test]
    fn what_is_known_has_no_error() {
        let known = Quantity::known(3.0);
        assert_eq!(known.interval, (3.0, 3.0));
        assert!(known.is_distinguishable_from_zero() && known.agrees_with(&known));
        let less = Quantity::new(5.0, 1.0, 4.0).less(&known);
        assert!(close(less.degrees, 4.0) && close(less.value, 2.0), "{less:?}");
    }

    #[test]
    fn an_error_without_degrees_is_no_interval() {
        let blind = Quantity::new(5.0, 1.0, 0.0);
        assert_eq!(blind.interval, (f64::NEG_INFINITY, f64::INFINITY));
        assert!(!blind.is_distinguishable_from_zero());
    }
}
