//! What a byte more costs: the straight line through the mean times of the size classes, each
//! weighted by its requests, for the response and for its parts in the queue and in the device.
//! Where the device's line is steep, transfers are long by their bandwidth; where the queue's is,
//! large requests wait for something.
//!
//! The interval of a slope is that of the classes' scatter about the line (Student's t on two
//! degrees of freedom less than there are classes): what the line misses widens it. A slope that
//! may as well be none, that falls, or whose line misses a class, is not measured.
//!
//! Non-goals: a model of the device; a line says what the trace's sizes have in common with their
//! times, not why.

use super::classes::Combination;
use crate::requests::{ByClass, Traffic, found};
use analyze::statistics::student;
use model::doubt::{Code, Doubt, Judgement};
use model::record::{Finding, Interval, Op, Subject};

/// Requests of a class that a line takes up: fewer are no mean.
const ENOUGH: u64 = 10;
/// Requests of a class that can show that a line does not fit: its mean is good to some per cent.
const MANY: f64 = 100.0;
/// How far from the line the mean of such a class may be.
const MISFIT_BOUND_PERCENT: f64 = 25.0;
const KIB: f64 = 1024.0;

/// A class: how many requests, their mean length, and a mean time.
#[derive(Debug, Clone, Copy)]
struct Point {
    weight: f64,
    bytes: f64,
    ns: f64,
}

/// A mean time of a class, in ns, and of how many requests it is.
type MeanTime = fn(&Traffic) -> Option<(f64, u64)>;

/// ns a KiB, with the 95 % interval.
#[derive(Debug, PartialEq)]
struct Slope {
    value: f64,
    low: f64,
    high: f64,
}

/// The slope through the points, or why there is none.
fn slope(points: &[Point]) -> Result<Slope, Doubt> {
    let weight: f64 = points.iter().map(|p| p.weight).sum();
    let mean =
        |of: fn(&Point) -> f64| points.iter().map(|p| p.weight * of(p)).sum::<f64>() / weight;
    let sum = |of: &dyn Fn(&Point) -> f64| points.iter().map(|p| p.weight * of(p)).sum::<f64>();
    let (x, y) = (mean(|p| p.bytes), mean(|p| p.ns));
    let spread = sum(&|p| (p.bytes - x).powi(2));
    if points.len() < 3 || spread <= 0.0 {
        let values = [("classes", points.len().into()), ("requests_least", ENOUGH.into())];
        return Err(Doubt::new(Code::FewSizeClasses, values));
    }
    let each = sum(&|p| (p.bytes - x) * (p.ns - y)) / spread;
    let on_line = |p: &Point| y + each * (p.bytes - x);
    let degrees = (points.len() - 2) as f64;
    let error = (sum(&|p| (p.ns - on_line(p)).powi(2)) / degrees / spread).sqrt();
    let half = student(degrees).map_or(f64::INFINITY, |t| t * error);
    let [value, low, high] = [each, each - half, each + half].map(|ns| ns * KIB);
    let interval = || [("low_ns_per_kib", low.into()), ("high_ns_per_kib", high.into())];
    if low <= 0.0 && high >= 0.0 {
        return Err(Doubt::new(Code::SlopeHoldsZero, interval()));
    }
    if high < 0.0 {
        return Err(Doubt::new(Code::LineFalls, interval()));
    }
    let misfit = |p: &Point| (p.ns - on_line(p)) / p.ns.max(1.0) * 100.0;
    let shown = points.iter().filter(|p| p.weight >= MANY);
    let worst = shown.max_by(|a, b| misfit(a).abs().total_cmp(&misfit(b).abs()));
    match worst.filter(|p| misfit(p).abs() > MISFIT_BOUND_PERCENT) {
        Some(p) => Err(Doubt::new(
            Code::SlopeMissesSize,
            [
                ("bytes", p.bytes.round().into()),
                ("percent", misfit(p).into()),
                ("bound_percent", MISFIT_BOUND_PERCENT.into()),
            ],
        )),
        None => Ok(Slope { value, low, high }),
    }
}

/// Reads and writes: the directions that have a size.
pub(super) const SIZED: [Op; 2] = [Op::Read, Op::Write];

pub(super) fn findings(joint: &ByClass<Combination>) -> Vec<Finding> {
    SIZED.iter().flat_map(|op| of_direction(joint, *op)).collect()
}

fn of_direction(joint: &ByClass<Combination>, op: Op) -> Vec<Finding> {
    let by_size = joint.by(|c| (c.op == op && !c.is_beneath).then_some(c.size)).into_iter();
    let is_enough = |traffic: &Traffic| traffic.requested() >= ENOUGH;
    let classes: Vec<Traffic> = by_size.map(|(_, traffic)| traffic).filter(is_enough).collect();
    let subject = Subject::class("direction", op.name());
    let lines: [(&str, MeanTime); 3] = [
        ("slope_response_ns_per_kib", |t| Some((t.response.as_ref()?.mean_ns()?, t.responses()))),
        ("slope_wait_ns_per_kib", |t| Some((t.wait_mean_ns()?, t.responses()))),
        ("slope_device_ns_per_kib", |t| {
            let (mean, count) = t.device_mean_ns();
            Some((mean?, count))
        }),
    ];
    let line = |(name, of): (&str, MeanTime)| {
        let point = |t: &Traffic| {
            let (ns, count) = of(t)?;
            Some(Point { weight: count as f64, bytes: t.length_mean()?, ns })
        };
        let points = classes.iter().filter_map(point).filter(|p| p.weight >= ENOUGH as f64);
        finding(&subject, name, &points.collect::<Vec<_>>())
    };
    if classes.is_empty() { Vec::new() } else { lines.map(line).into() }
}

fn finding(subject: &Subject, name: &str, points: &[Point]) -> Finding {
    const METHOD: &str = "least squares through the means of the size classes, weighted by \
        requests; interval by their scatter, Student's t";
    let count = points.iter().map(|p| p.weight).sum::<f64>() as u64;
    let of = |value| found(subject, name, value, count, METHOD);
    match slope(points) {
        // Where there is no time of any size, the trace does not tell.
        Err(_) if points.is_empty() => of(None),
        Err(doubt) => of(None).judged(Judgement::not_measured(doubt)),
        Ok(Slope { value, low, high }) => {
            of(Some(value)).within(Interval::Line, (Some(low), Some(high)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(all: &[(f64, f64, f64)]) -> Vec<Point> {
        all.iter()
            .map(|(weight, bytes, ns)| Point { weight: *weight, bytes: *bytes, ns: *ns })
            .collect()
    }

    #[test]
    fn the_slope_of_points_on_a_line_is_the_lines() {
        // 2 ns a byte and 1,000 ns whatever the size.
        let on = [(3.0, 512.0, 2024.0), (50.0, 4096.0, 9192.0), (1.0, 65536.0, 132_072.0)];
        let found = slope(&points(&on)).unwrap();
        assert!((found.value - 2048.0).abs() < 1e-6, "{found:?}");
        assert!((found.high - found.low).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn a_line_through_fewer_than_three_sizes_has_no_interval() {
        for few in [&[][..], &[(9.0, 7.0, 1.0)], &[(1.0, 7.0, 1.0), (1.0, 9.0, 2.0)]] {
            assert_eq!(slope(&points(few)).unwrap_err().code, Code::FewSizeClasses);
        }
        let one_size = [(1.0, 7.0, 1.0), (1.0, 7.0, 2.0), (1.0, 7.0, 3.0)];
        assert!(slope(&points(&one_size)).is_err());
    }

    /// PostgreSQL's: large writes are in the background, small ones wait for a flush.
    #[test]
    fn a_slope_that_may_be_none_or_falls_is_not_measured() {
        let scatter = [
            (400.0, 4096.0, 3e6),
            (90.0, 8192.0, 1e5),
            (60.0, 16384.0, 2.5e6),
            (80.0, 65536.0, 2e5),
        ];
        let doubt = slope(&points(&scatter)).unwrap_err();
        assert_eq!(doubt.code, Code::SlopeHoldsZero);
        assert!(doubt.values["low_ns_per_kib"] < 0.0.into(), "{doubt:?}");
        let falls = [
            (9.0, 4096.0, 9e5),
            (9.0, 8192.0, 8.8e5),
            (9.0, 16384.0, 8.4e5),
            (9.0, 32768.0, 7.6e5),
        ];
        let doubt = slope(&points(&falls)).unwrap_err();
        assert_eq!(doubt.code, Code::LineFalls);
        assert!(doubt.values["high_ns_per_kib"] < 0.0.into(), "{doubt:?}");
    }

    #[test]
    fn a_line_that_misses_a_size_is_refused_and_says_which() {
        let mut all = vec![
            (1e6, 4096.0, 1e4),
            (1e6, 8192.0, 2e4),
            (1e6, 16384.0, 4e4),
            (1e6, 65536.0, 16e4),
            (1e6, 131_072.0, 32e4),
        ];
        assert!(slope(&points(&all)).is_ok());
        all.push((200.0, 512.0, 5e6));
        let doubt = slope(&points(&all)).unwrap_err();
        assert_eq!((doubt.code, &doubt.values["bytes"]), (Code::SlopeMissesSize, &512.0.into()));
        // A few requests show nothing.
        all[5].0 = 20.0;
        assert!(slope(&points(&all)).is_ok());
    }
}
