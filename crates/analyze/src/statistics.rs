//! Means with their intervals, and trends: the textbook's formulas, each with a
//! known result in its test.

use model::record::{Finding, Interval, Subject};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Confidence of every interval that is published.
pub const CONFIDENCE: f64 = 0.95;
/// So many standard deviations to both sides hold it, where the deviation is known.
/// Deviations of a normal distribution that hold 95 % of it.
pub const NORMAL_95: f64 = 1.96;

/// A mean and its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// The interval by Student's t; none for a single value.
    pub interval: Option<(f64, f64)>,
    /// Standard deviation of the values; none for a single value.
    pub deviation: Option<f64>,
    /// How many values.
    pub count: usize,
}

/// Degrees of freedom beyond which Student's t no longer changes; the library has none for
/// infinity.
const DEGREES_ENOUGH: f64 = 1e5;

/// Student's t at which the two tails together hold what the confidence leaves.
pub fn student(degrees: f64) -> Option<f64> {
    student_at(degrees, CONFIDENCE)
}

/// The same at another confidence.
pub(crate) fn student_at(degrees: f64, confidence: f64) -> Option<f64> {
    let t = StudentsT::new(0.0, 1.0, degrees.clamp(0.0, DEGREES_ENOUGH)).ok()?;
    Some(t.inverse_cdf(0.5 + confidence / 2.0))
}

/// How likely a t so far from 0 is by chance, both tails together; 1 where it is not a number.
pub(crate) fn student_probability(t: f64, degrees: f64) -> f64 {
    let student = StudentsT::new(0.0, 1.0, degrees.clamp(0.0, DEGREES_ENOUGH)).ok();
    student.filter(|_| !t.is_nan()).map_or(1.0, |student| 2.0 * student.cdf(-t.abs()))
}

/// Student's t at which so many intervals hold all together what one alone would (Bonferroni).
pub fn student_of(count: usize, degrees: f64) -> Option<f64> {
    student_at(degrees, 1.0 - (1.0 - CONFIDENCE) / count.max(1) as f64)
}

/// Mean and interval; none without values.
pub fn estimate(values: &[f64]) -> Option<Estimate> {
    let count = values.len();
    let n = count as f64;
    if count == 0 {
        return None;
    }
    let mean = values.iter().sum::<f64>() / n;
    if count == 1 {
        return Some(Estimate { mean, interval: None, deviation: None, count });
    }
    let deviation = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
    let half = student(n - 1.0).map(|t| t * deviation / n.sqrt());
    let interval = half.map(|half| (mean - half, mean + half));
    Some(Estimate { mean, interval, deviation: Some(deviation), count })
}

impl Estimate {
    /// The mean as a finding, within its interval.
    pub fn finding(&self, subject: &Subject, name: &str, method: &str) -> Finding {
        let within = (self.interval.map(|(low, _)| low), self.interval.map(|(_, high)| high));
        Finding::new(subject, name, Some(self.mean), self.count as u64, method)
            .within(Interval::Passes, within)
    }

    /// Half of the interval, per cent of the mean; none where there is no interval or no mean.
    pub fn half_percent(&self) -> Option<f64> {
        let (low, high) = self.interval.filter(|_| self.mean != 0.0)?;
        Some(100.0 * ((high - low) / 2.0 / self.mean).abs())
    }
}

/// Half of the 95 % interval of these values, per cent of their mean.
pub fn half_percent(values: &[f64]) -> Option<f64> {
    estimate(values)?.half_percent()
}

/// The middle value; none without values.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    median_of_sorted(&sorted)
}

/// The middle of sorted values.
pub(crate) fn median_of_sorted(sorted: &[f64]) -> Option<f64> {
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    match sorted.len().is_multiple_of(2) {
        true => Some((sorted.get(middle - 1)? + upper) / 2.0),
        false => Some(upper),
    }
}

/// A straight line through values at 0, 1, 2, …
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trend {
    /// Change of the fitted value from the first to the last.
    pub change: f64,
    /// Whether the slope differs from none at the 5 % level.
    pub is_significant: bool,
}

impl Trend {
    /// The change in per cent of where the line begins. A line's end that no value reached is no
    /// rate: it counts as the value that is nearest to it, so that nothing falls by more than all.
    pub fn percent(&self, values: &[f64]) -> f64 {
        let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
        let (least, most) = values
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, m), v| (l.min(*v), m.max(*v)));
        let end = |sign: f64| (mean + sign * self.change / 2.0).max(least).min(most);
        100.0 * (end(1.0) / end(-1.0).max(f64::MIN_POSITIVE) - 1.0)
    }
}

/// The least-squares trend; none below three values.
pub fn trend(values: &[f64]) -> Option<Trend> {
    let n = values.len() as f64;
    if values.len() < 3 {
        return None;
    }
    let (x_mean, y_mean) = ((n - 1.0) / 2.0, values.iter().sum::<f64>() / n);
    let x = |i: usize| i as f64 - x_mean;
    let sxx: f64 = (0..values.len()).map(|i| x(i).powi(2)).sum();
    let sxy: f64 = values.iter().enumerate().map(|(i, y)| x(i) * (y - y_mean)).sum();
    let slope = sxy / sxx;
    let residuals: f64 =
        values.iter().enumerate().map(|(i, y)| (y - y_mean - slope * x(i)).powi(2)).sum();
    let error = (residuals / (n - 2.0) / sxx).sqrt();
    let is_significant = student(n - 2.0).is_some_and(|t| slope.abs() > t * error);
    Some(Trend { change: slope * (n - 1.0), is_significant })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-4 * b.abs().max(1.0)
    }

    #[test]
    fn nothing_falls_by_more_than_all() {
        let of = |values: &[f64]| trend(values).unwrap().percent(values);
        assert!(close(of(&[100.0, 101.0, 102.0]), 2.0));
        assert!(close(of(&[102.0, 101.0, 100.0]), -1.960_784));
        for values in [&[500.0, 1.0, 1.0, 1.0][..], &[900.0, 800.0, 2.0, 1.0, 1.0, 1.0]] {
            let percent = of(values);
            assert!((-100.0..0.0).contains(&percent), "{percent}");
        }
    }

    #[test]
    fn students_t_is_the_tables() {
        // Fisher & Yates, table III, at 5 %.
        let table = [(1.0, 12.7062), (2.0, 4.3027), (10.0, 2.2281), (120.0, 1.9799)];
        for (degrees, t) in table {
            assert!(close(student(degrees).unwrap(), t), "{degrees}");
        }
        assert!(close(student(f64::INFINITY).unwrap(), 1.9600));
        // Of many intervals each is wider: 5 % of 1,000 leaves 4.056 deviations (Abramowitz, 26.1).
        assert!(close(student_of(1_000, f64::INFINITY).unwrap(), 4.0558));
        assert_eq!(student_of(1, 10.0), student(10.0));
        assert!(close(student_probability(-2.2281, 10.0), 0.05));
        assert_eq!(student_probability(f64::NAN, 10.0), 1.0);
        assert_eq!(student(0.0), None);
        assert_eq!(student(f64::NAN), None);
    }

    #[test]
    fn the_interval_is_students() {
        // Student (1908), the soporific data: additional sleep, drug 2 less drug 1.
        let sleep = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4];
        let e = estimate(&sleep).unwrap();
        let (low, high) = e.interval.unwrap();
        assert!(close(e.mean, 1.58) && close(e.deviation.unwrap(), 1.229995), "{e:?}");
        // R: t.test(extra ~ group, paired = TRUE) gives 0.7001142 to 2.4598858.
        assert!(close(low, 0.7001142) && close(high, 2.4598858), "{low} {high}");
        assert_eq!(estimate(&[]), None);
        assert_eq!(estimate(&[3.0]).unwrap().interval, None);
        assert!(close(half_percent(&sleep).unwrap(), 100.0 * (high - low) / 2.0 / e.mean));
        assert_eq!([half_percent(&[3.0]), half_percent(&[-1.0, 1.0])], [None; 2]);
    }

    #[test]
    fn the_trend_is_the_least_squares_line() {
        // Anscombe's first set (1973), ordered by x from 4 to 14: slope 0.5001, t 4.241 on 9
        // degrees.
        let y = [4.26, 5.68, 7.24, 4.82, 6.95, 8.81, 8.04, 8.33, 10.84, 7.58, 9.96];
        let t = trend(&y).unwrap();
        assert!(close(t.change, 5.000909) && t.is_significant, "{t:?}");
        assert!(!trend(&[1.0, 2.0, 1.0, 2.0, 1.0]).unwrap().is_significant);
        assert_eq!(trend(&[1.0, 2.0]), None);
        // A perfect line is significant, a constant is not.
        assert!(trend(&[1.0, 2.0, 3.0]).unwrap().is_significant);
        assert!(!trend(&[2.0, 2.0, 2.0]).unwrap().is_significant);
        // On three degrees t must exceed 3.182. A line does not see (2, -1, -2, -1, 2): w times
        // that leaves residuals of 14 w², and t is 1.4639 / w.
        for (w, is_significant) in [(0.459, true), (0.461, false)] {
            let y = [2.0 * w, 1.0 - w, 2.0 - 2.0 * w, 3.0 - w, 4.0 + 2.0 * w];
            let t = trend(&y).unwrap();
            assert!(close(t.change, 4.0) && t.is_significant == is_significant, "{w}");
        }
    }
}
