//! The demerit figure of Ruemmler & Wilkes (1994): how far the distribution of a model's times lies
//! from the real one, as the root mean square of their horizontal distance over 10,000 quantiles.

const QUANTILES: usize = 10_000;

/// How far a model's times are from the real ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Demerit {
    /// Root mean square of the quantiles' distances, in the times' unit.
    pub distance: f64,
    /// The same, as a share of the real mean.
    pub share: f64,
    /// Mean of the model's times.
    pub mean: f64,
    /// Mean of the real ones.
    pub real_mean: f64,
}

/// Compares times of a model with real ones, all in one unit; none where either are none.
pub fn demerit(
    simulated: impl IntoIterator<Item = f64>,
    real: impl IntoIterator<Item = f64>,
) -> Option<Demerit> {
    of_sorted(&sorted(simulated), &sorted(real), |time| time)
}

/// The same of times in rising order, in whole units.
pub fn demerit_of_sorted(simulated: &[u64], real: &[u64]) -> Option<Demerit> {
    of_sorted(simulated, real, |time| time as f64)
}

fn of_sorted<T: Copy>(simulated: &[T], real: &[T], value: fn(T) -> f64) -> Option<Demerit> {
    if simulated.is_empty() || real.is_empty() {
        return None;
    }
    let squared =
        |step: usize| (value(quantile(simulated, step)) - value(quantile(real, step))).powi(2);
    let distance = ((1..=QUANTILES).map(squared).sum::<f64>() / QUANTILES as f64).sqrt();
    let mean =
        |times: &[T]| times.iter().map(|time| value(*time)).sum::<f64>() / times.len() as f64;
    let (mean, real_mean) = (mean(simulated), mean(real));
    Some(Demerit { distance, share: distance / real_mean, mean, real_mean })
}

fn sorted(times: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut times: Vec<f64> = times.into_iter().collect();
    times.sort_by(f64::total_cmp);
    times
}

/// The time that a share of them does not exceed, by nearest rank.
fn quantile<T: Copy>(sorted: &[T], step: usize) -> T {
    let rank = (step * sorted.len()).div_ceil(QUANTILES).max(1);
    sorted[rank - 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_answers() {
        let real = [1.0, 2.0, 3.0, 4.0];
        let same = demerit(real, [4.0, 3.0, 2.0, 1.0]).unwrap();
        assert_eq!((same.distance, same.mean), (0.0, 2.5));
        let shifted = demerit(real.map(|time| time + 0.5), real).unwrap();
        assert!((shifted.distance - 0.5).abs() < 1e-12 && (shifted.share - 0.2).abs() < 1e-12);
        // A constant at the mean scores the standard deviation.
        let constant = demerit([2.5], real).unwrap();
        assert!((constant.distance - 1.25f64.sqrt()).abs() < 1e-12);
        assert_eq!(demerit([], real), None);
    }
}
