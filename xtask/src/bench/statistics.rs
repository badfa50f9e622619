//! Medians and what can be said of them: intervals from order statistics,
//! which assume no distribution, and the verdict that an interval allows.

/// Confidence that is wanted of an interval.
const CONFIDENCE: f64 = 0.95;

/// The median; none without values.
pub(super) fn median(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => sorted.get(middle).copied(),
        _ => Some((sorted.get(middle - 1)? + sorted.get(middle)?) / 2.0),
    }
}

/// The least and the greatest value.
pub(super) fn extremes(values: &[f64]) -> Option<(f64, f64)> {
    let sorted = sorted(values);
    Some((*sorted.first()?, *sorted.last()?))
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// An interval for the median of what the values were drawn from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Interval {
    pub(super) low: f64,
    pub(super) high: f64,
    /// The probability that it holds the median: at least 95 % from six values on.
    pub(super) confidence: f64,
}

/// The narrowest symmetrical pair of order statistics that holds the median with 95 %
/// confidence, and the extremes where none does: between the k-th least and the k-th greatest
/// of n values it lies with probability 1 - 2 P(Bin(n, 1/2) < k).
pub(super) fn median_interval(values: &[f64]) -> Option<Interval> {
    let sorted = sorted(values);
    let n = sorted.len();
    let (low, high) = extremes(values)?;
    let mut interval = Interval { low, high, confidence: coverage(n, 1) };
    for k in 2..=n / 2 {
        let confidence = coverage(n, k);
        if confidence < CONFIDENCE {
            break;
        }
        interval = Interval { low: *sorted.get(k - 1)?, high: *sorted.get(n - k)?, confidence };
    }
    Some(interval)
}

/// How surely the k-th least and the k-th greatest of n values enclose the median.
fn coverage(n: usize, k: usize) -> f64 {
    let mut term = 0.5f64.powi(i32::try_from(n).unwrap_or(i32::MAX));
    let mut below = 0.0;
    for i in 0..k {
        below += term;
        term *= (n - i) as f64 / (i + 1) as f64;
    }
    (1.0 - 2.0 * below).max(0.0)
}

/// Between what a figure must lie.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bound {
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Bound {
    pub(super) const fn at_most(high: f64) -> Self {
        Self { low: f64::NEG_INFINITY, high }
    }

    pub(super) const fn at_least(low: f64) -> Self {
        Self { low, high: f64::INFINITY }
    }

    /// What the interval says: wholly inside, wholly outside, or neither.
    pub(super) fn judge(self, interval: Interval) -> Verdict {
        let Interval { low, high, .. } = interval;
        if low >= self.low && high <= self.high {
            Verdict::Reached
        } else if high < self.low || low > self.high {
            Verdict::Missed
        } else {
            Verdict::CouldNotTell("the interval spans the bound".into())
        }
    }
}

impl std::fmt::Display for Bound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.low.is_finite(), self.high.is_finite()) {
            (true, true) => write!(f, "{} to {}", self.low, self.high),
            (true, false) => write!(f, "≥ {}", self.low),
            (false, _) => write!(f, "≤ {}", self.high),
        }
    }
}

/// What became of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    Reached,
    Missed,
    /// With the reason.
    CouldNotTell(String),
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Reached => f.write_str("reached"),
            Self::Missed => f.write_str("MISSED"),
            Self::CouldNotTell(reason) => write!(f, "could not tell: {reason}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!((median(&[7.0]), median(&[])), (Some(7.0), None));
        assert_eq!(extremes(&[3.0, 1.0, 2.0]), Some((1.0, 3.0)));
    }

    #[test]
    fn intervals_are_the_textbooks_order_statistics() {
        // Conover, Practical Nonparametric Statistics: n, the order statistic, its coverage.
        for (n, k, percent) in
            [(3, 1, 75.00), (6, 1, 96.88), (9, 2, 96.09), (10, 2, 97.85), (20, 6, 95.86)]
        {
            let values: Vec<f64> = (1..=n).rev().map(f64::from).collect();
            let interval = median_interval(&values).unwrap();
            assert_eq!((interval.low, interval.high), (f64::from(k), f64::from(n + 1 - k)), "{n}");
            assert!((interval.confidence * 100.0 - percent).abs() < 0.005, "{n}: {interval:?}");
        }
        assert_eq!(median_interval(&[5.0]).unwrap().confidence, 0.0);
        assert_eq!(median_interval(&[]), None);
    }

    #[test]
    fn only_a_whole_interval_decides() {
        let same = Bound { low: 0.95, high: 1.05 };
        let judged = |low, high| same.judge(Interval { low, high, confidence: 0.96 });
        assert_eq!(judged(0.95, 1.05), Verdict::Reached);
        assert_eq!(judged(0.8, 0.94), Verdict::Missed);
        assert_eq!(judged(1.06, 1.2), Verdict::Missed);
        for (low, high) in [(0.9, 1.0), (1.0, 1.1), (0.9, 1.1)] {
            assert!(matches!(judged(low, high), Verdict::CouldNotTell(_)), "{low} {high}");
        }
        let interval = Interval { low: 24.0, high: 26.0, confidence: 0.96 };
        assert_eq!(Bound::at_most(30.0).judge(interval), Verdict::Reached);
        assert_eq!(Bound::at_least(30.0).judge(interval), Verdict::Missed);
        let words = [Bound::at_most(30.0), Bound::at_least(1.2), same].map(|b| b.to_string());
        assert_eq!(words, ["≤ 30", "≥ 1.2", "0.95 to 1.05"]);
    }
}
