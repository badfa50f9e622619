//! Observations grouped by block size: each size's mean, and the noise that its
//! passes show among themselves, which needs no model ("pure error": Draper & Smith,
//! *Applied Regression Analysis*, section 2.1).
//!
//! Noise is taken as multiplicative: the standard deviation is proportional to the
//! value, with one proportion for all sizes. Non-goals: fitting, outliers.

use super::CannotFit;
use std::collections::BTreeMap;

/// One pass of a routine at one block size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observation {
    /// Block size, bytes.
    pub block_bytes: u64,
    /// CPU or wall time of one operation, ns.
    pub value_ns: f64,
}

/// Fewest distinct block sizes for a line.
pub const FEWEST_SIZES: usize = 3;

/// Below this relative deviation nothing is resolved: Bucher & Hayes's own bound on the
/// error of their clocks, section 2. It keeps the tests defined where passes are identical.
const RESOLUTION: f64 = 1e-6;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Size {
    pub(super) bytes: f64,
    pub(super) mean_ns: f64,
    pub(super) passes: f64,
    /// Sum of the squared deviations from the mean, as shares of the mean.
    squares: f64,
}

/// The noise of a single pass, as a share of its value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Noise {
    pub(super) mean_square: f64,
    /// Degrees of freedom; zero with one pass a size.
    pub(super) degrees: f64,
}

/// All values by block size, smallest first.
pub(super) fn by_size(observations: &[Observation]) -> BTreeMap<u64, Vec<f64>> {
    let mut groups: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for observation in observations {
        groups.entry(observation.block_bytes).or_default().push(observation.value_ns);
    }
    groups
}

/// The sizes, smallest first.
/// Errors: fewer than three sizes, or a size whose mean is no positive number: relative weights
/// have no meaning there.
pub(super) fn sizes(observations: &[Observation]) -> Result<Vec<Size>, CannotFit> {
    let groups = by_size(observations);
    if groups.len() < FEWEST_SIZES {
        return Err(CannotFit::TooFewSizes { sizes: groups.len() });
    }
    groups.iter().map(|(bytes, values)| size(*bytes, values)).collect()
}

fn size(block_bytes: u64, values: &[f64]) -> Result<Size, CannotFit> {
    let passes = values.len() as f64;
    let mean_ns = values.iter().sum::<f64>() / passes;
    if !(mean_ns.is_finite() && mean_ns > 0.0) {
        return Err(CannotFit::NotPositive { block_bytes, mean_ns });
    }
    let squares = values.iter().map(|value| (value / mean_ns - 1.0).powi(2)).sum();
    Ok(Size { bytes: block_bytes as f64, mean_ns, passes, squares })
}

/// The noise pooled over the sizes.
pub(super) fn noise(sizes: &[Size]) -> Noise {
    let degrees: f64 = sizes.iter().map(|size| size.passes - 1.0).sum();
    let squares: f64 = sizes.iter().map(|size| size.squares).sum();
    let mean_square = if degrees > 0.0 { squares / degrees } else { 0.0 };
    Noise { mean_square: mean_square.max(RESOLUTION.powi(2)), degrees }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observations(values: &[(u64, f64)]) -> Vec<Observation> {
        let one = |(block_bytes, value_ns): &(u64, f64)| Observation {
            block_bytes: *block_bytes,
            value_ns: *value_ns,
        };
        values.iter().map(one).collect()
    }

    #[test]
    fn noise_is_pooled_over_the_sizes() {
        let passes = [(2, 90.0), (1, 10.0), (2, 110.0), (1, 10.0), (3, 7.0)];
        let sizes = sizes(&observations(&passes)).unwrap();
        assert_eq!(sizes.iter().map(|s| s.mean_ns).collect::<Vec<_>>(), [10.0, 100.0, 7.0]);
        let noise = noise(&sizes);
        // Two deviations of 10 % at one size, none at another: 0.02 on 2 degrees.
        assert!((noise.mean_square - 0.01).abs() < 1e-12 && noise.degrees == 2.0, "{noise:?}");
    }

    #[test]
    fn what_cannot_be_fitted_is_said() {
        let two = observations(&[(1, 1.0), (2, 2.0), (2, 2.0)]);
        assert_eq!(sizes(&two), Err(CannotFit::TooFewSizes { sizes: 2 }));
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let found = sizes(&observations(&[(1, 1.0), (2, bad), (3, 1.0)]));
            assert!(matches!(found, Err(CannotFit::NotPositive { block_bytes: 2, .. })));
        }
    }
}
