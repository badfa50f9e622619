//! Straight lines through points, as the paper drew them: a quantity of a sector against 1/B.

/// `y = intercept + slope · x`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    /// Where it meets 1/B = 0: 1.1/S revolutions, or T_trans.
    pub intercept: f64,
    /// What one call adds: M revolutions, or T_call.
    pub slope: f64,
}

impl Line {
    /// The line of least squares; none through fewer than two different places.
    pub fn through(points: &[(f64, f64)]) -> Option<Self> {
        let count = points.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
        let (x, y) = (mean(|point| point.0), mean(|point| point.1));
        let square: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
        let product: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
        (square > 0.0).then(|| {
            let slope = product / square;
            Self { intercept: y - slope * x, slope }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_comes_back() {
        let points = [1.0, 0.5, 0.1].map(|x| (x, 0.061 + 2.0 * x));
        let line = Line::through(&points).unwrap();
        assert!((line.intercept - 0.061).abs() < 1e-12 && (line.slope - 2.0).abs() < 1e-12);
        assert_eq!(Line::through(&points[..1]), None);
    }
}
