//! The test of a row, and the interval that fits it.
//!
//! Exact ranks where so few units can be as sure as the correction for the number of comparisons
//! asks; else Student's t (Welch, *Biometrika* 34, 1947), because no ranks of five and five are
//! surer than one in 126, however far apart the sides are. Which test it is depends on the numbers
//! of units and of comparisons alone, never on the values. Both need as many units as the ranks
//! need for one comparison.
//!
//! Non-goals: the correction, verdicts.

use super::LEVEL;
use super::rank::{Design, middle};
use crate::statistics::{estimate, student_at, student_probability};

/// How a row is tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Test {
    design: Design,
    by_ranks: bool,
}

/// How far an interval reaches, by its test.
#[derive(Debug, Clone, Copy)]
pub(super) enum Limit {
    /// So many sorted differences are left out at each end.
    Cut(usize),
    /// It misses the shift with this probability.
    Level(f64),
}

impl Test {
    /// The test of so many units a side at a level.
    pub(super) fn of(design: Design, units: (usize, usize), level: f64) -> Self {
        let by_ranks = design.cut(units, level).is_some() || design.cut(units, LEVEL).is_none();
        Self { design, by_ranks }
    }

    /// What it is called.
    pub(super) fn name(self) -> &'static str {
        match (self.design, self.by_ranks) {
            (Design::Apart, true) => "rank sums (Mann-Whitney), exact",
            (Design::Pairs, true) => "signed ranks of pairs (Wilcoxon), exact",
            (Design::Apart, false) => "Student's t of the logarithms (Welch)",
            (Design::Pairs, false) => "Student's t of the logarithms, in pairs",
        }
    }

    /// How likely so great a shift is by chance.
    pub(super) fn probability(self, a: &[f64], b: &[f64]) -> f64 {
        match (self.by_ranks, self.error(a, b)) {
            (false, Some((error, degrees))) if error > 0.0 => {
                student_probability(shift(a, b).unwrap_or(0.0) / error, degrees)
            }
            // Of values that do not scatter only the ranks know anything.
            _ => self.design.probability(a, b),
        }
    }

    /// The interval of the shift that misses it with the probability `level`. The shift itself is
    /// always in it.
    pub(super) fn interval(self, a: &[f64], b: &[f64], level: f64) -> Option<(f64, f64)> {
        let units = (a.len().min(b.len()), a.len().max(b.len()));
        self.interval_by(a, b, self.limit(units, level)?)
    }

    /// What a level means for so many units.
    pub(super) fn limit(self, units: (usize, usize), level: f64) -> Option<Limit> {
        match self.by_ranks {
            true => self.design.cut(units, level).map(Limit::Cut),
            false => Some(Limit::Level(level)),
        }
    }

    pub(super) fn interval_by(self, a: &[f64], b: &[f64], limit: Limit) -> Option<(f64, f64)> {
        let shift = shift(a, b)?;
        let (low, high) = match limit {
            Limit::Cut(cut) => self.design.between(a, b, cut)?,
            Limit::Level(level) => {
                let (error, degrees) = self.error(a, b)?;
                let half = match error > 0.0 {
                    true => student_at(degrees, 1.0 - level)? * error,
                    false => 0.0,
                };
                (shift - half, shift + half)
            }
        };
        Some((low.min(shift), high.max(shift)))
    }

    /// The standard error of the shift, and its degrees of freedom.
    fn error(self, a: &[f64], b: &[f64]) -> Option<(f64, f64)> {
        let of = |values: &[f64]| {
            let deviation = estimate(values)?.deviation?;
            Some((deviation.powi(2) / values.len() as f64, values.len() as f64 - 1.0))
        };
        if self.design == Design::Pairs {
            let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| b - a).collect();
            return of(&differences).map(|(square, degrees)| (square.sqrt(), degrees));
        }
        let ((of_a, degrees_a), (of_b, degrees_b)) = (of(a)?, of(b)?);
        let sum = of_a + of_b;
        let degrees = sum.powi(2) / (of_a.powi(2) / degrees_a + of_b.powi(2) / degrees_b);
        Some((sum.sqrt(), degrees))
    }
}

/// From the middle of A to the middle of B.
pub(super) fn shift(a: &[f64], b: &[f64]) -> Option<f64> {
    Some(middle(b)? - middle(a)?)
}
