//! What a byte more costs: the straight line through the mean times of the size classes, each weighted by its requests,
//! for the time in the device and for the time in the queue. Where the device's line is steep, transfers are long by
//! their bandwidth; where the queue's is, large requests wait for something.
//!
//! Non-goals: a model of the device; a line says what the trace's sizes have in common with their times, not why.

use super::findings::SIZED;
use super::joint::Joint;
use crate::traffic::{Traffic, found};
use model::record::{Finding, Op, subject_text};

/// Requests of a class that a line takes up: fewer are no mean.
const ENOUGH: u64 = 10;

/// A class's point: weight, bytes, ns.
type Point = (f64, f64, f64);

/// A mean time of a class, in ns.
type MeanTime = fn(&Traffic) -> Option<f64>;

/// ns a KiB; none through one size.
fn slope(points: &[Point]) -> Option<f64> {
    let weight: f64 = points.iter().map(|(w, _, _)| w).sum();
    let mean = |of: fn(&Point) -> f64| points.iter().map(|p| p.0 * of(p)).sum::<f64>() / weight;
    let (x, y) = (mean(|p| p.1), mean(|p| p.2));
    let sxx: f64 = points.iter().map(|p| p.0 * (p.1 - x).powi(2)).sum();
    let sxy: f64 = points.iter().map(|p| p.0 * (p.1 - x) * (p.2 - y)).sum();
    (points.len() > 1 && sxx > 0.0).then(|| sxy / sxx * 1024.0)
}

pub(super) fn findings(joint: &Joint) -> Vec<Finding> {
    SIZED.iter().flat_map(|op| of_direction(joint, *op)).collect()
}

fn of_direction(joint: &Joint, op: Op) -> Vec<Finding> {
    // Classes of this direction by size; all others are put aside.
    let other = u64::from(u8::MAX);
    let classes = joint.by(|c| if c.op == op { c.size.into() } else { other });
    let classes: Vec<Traffic> = classes
        .into_iter()
        .filter(|(size, traffic)| *size != other && traffic.answered() >= ENOUGH)
        .map(|(_, traffic)| traffic)
        .collect();
    let points = |of: MeanTime| -> Vec<Point> {
        let point = |t: &Traffic| Some((t.answered() as f64, t.length_mean()?, of(t)?));
        classes.iter().filter_map(point).collect()
    };
    let subject = subject_text([("by", "direction".into()), ("class", op.name().into())]);
    let count = classes.iter().map(|traffic| traffic.answered()).sum();
    let method = "least squares through the means of the size classes, weighted by requests";
    let lines: [(&str, MeanTime); 3] = [
        ("slope_response_ns_per_kib", |t| {
            (t.answered() > 0).then(|| t.response_sum_ns() / t.answered() as f64)
        }),
        ("slope_wait_ns_per_kib", |t| t.part_means_ns().0),
        ("slope_device_ns_per_kib", |t| t.part_means_ns().1),
    ];
    // No line where there is no response: a sum of nothing is 0.
    let is_told = classes.iter().any(|traffic| traffic.response.is_some());
    let slopes = lines.into_iter().map(|(name, of)| {
        found(&subject, name, slope(&points(of)).filter(|_| is_told), count, method)
    });
    if classes.is_empty() { Vec::new() } else { slopes.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slope_of_points_on_a_line_is_the_lines() {
        // 2 ns a byte and 1,000 ns whatever the size.
        let points = [(3.0, 512.0, 2024.0), (50.0, 4096.0, 9192.0), (1.0, 65536.0, 132_072.0)];
        assert!((slope(&points).unwrap() - 2048.0).abs() < 1e-6);
        assert_eq!(slope(&points[..1]), None);
        assert_eq!(slope(&[(1.0, 7.0, 1.0), (1.0, 7.0, 2.0)]), None);
    }
}
