//! Seek times by distance: by measured points with straight lines between them, or by the equation
//! of Ruemmler & Wilkes (1994), `a + b·√d` for short seeks and `c + e·d` for long ones.

use crate::profile::{ProfileError, Reader};

/// The time of a seek by its distance, tabulated for each whole number of cylinders.
#[derive(Debug, Clone, PartialEq)]
pub struct SeekCurve {
    /// By distance in cylinders; the first is no seek.
    by_distance_ns: Vec<f64>,
}

impl SeekCurve {
    /// Reads `points_ms`, or `short_base`, `short_root`, `long_base`, `long_slope` and `boundary`
    /// (with `first_ms`, the times of the first few distances, where they were measured), or
    /// `minimum`, `average` and `maximum`.
    /// Errors: missing keys, or a curve that falls by more than measurement error explains.
    pub fn read(reader: &Reader, cylinders: u64) -> Result<Self, ProfileError> {
        let distances = usize::try_from(cylinders.max(1)).unwrap_or(usize::MAX);
        let tabulate = |curve: Curve| -> Vec<f64> {
            (0..distances).map(|d| if d == 0 { 0.0 } else { curve(d as f64) }).collect()
        };
        if reader.has("points_ms") {
            return Ok(Self { by_distance_ns: tabulate(by_points(reader, cylinders)?) });
        }
        let (key, curve) = match reader.has("boundary") {
            true => ("boundary", by_equation(reader)?),
            false => ("average", by_three(reader, cylinders)?),
        };
        let by_distance_ns = tabulate(curve);
        match first_fall(by_distance_ns.iter().copied()) {
            None => Ok(Self { by_distance_ns }),
            Some(distance) => {
                let reason =
                    format!("the curve falls: at {distance} cylinders it is far below its highest");
                Err(reader.error(key, reason))
            }
        }
    }

    /// The time of a seek over that many cylinders, in ns.
    #[inline]
    pub fn time_ns(&self, distance: u32) -> f64 {
        let last = self.by_distance_ns.last().copied().unwrap_or(0.0);
        self.by_distance_ns.get(distance as usize).copied().unwrap_or(last)
    }
}

type Curve = Box<dyn Fn(f64) -> f64>;

/// A measured curve falls here and there by its noise; one that falls by more is no seek curve.
const FALL_MAX: f64 = 0.25;

/// The first time of these that is below the highest before it by more than noise.
fn first_fall(times: impl Iterator<Item = f64>) -> Option<usize> {
    let mut highest = 0.0f64;
    times.into_iter().position(|time| {
        highest = highest.max(time);
        time < highest * (1.0 - FALL_MAX)
    })
}

fn by_points(reader: &Reader, cylinders: u64) -> Result<Curve, ProfileError> {
    const KEY: &str = "points_ms";
    let mut points = reader.pairs(KEY)?;
    if points.is_empty() || points.iter().any(|(distance, ms)| *distance < 1.0 || *ms <= 0.0) {
        return Err(reader.error(KEY, "needs points of a distance from 1 and a time above zero"));
    }
    if let Some(pair) = points.windows(2).find(|pair| pair[1].0 <= pair[0].0) {
        return Err(reader.error(KEY, format!("{} does not come after {}", pair[1].0, pair[0].0)));
    }
    if let Some(index) = first_fall((0..points.len()).map(|index| level(&points, index))) {
        let reason = format!("falls to {} ms at {} cylinders", points[index].1, points[index].0);
        return Err(reader.error(KEY, reason));
    }
    if let Some((distance, _)) = points.iter().find(|(distance, _)| *distance > cylinders as f64) {
        let reason = format!("goes to {distance} cylinders, and the drive has {cylinders}");
        return Err(reader.error(KEY, reason));
    }
    points.iter_mut().for_each(|(_, ms)| *ms *= 1e6);
    Ok(Box::new(move |distance| interpolate(&points, distance)))
}

/// A point's time, or the middle one of its own and its neighbours', so that one outlier is no
/// fall.
fn level(points: &[(f64, f64)], index: usize) -> f64 {
    match (index.checked_sub(1).and_then(|before| points.get(before)), points.get(index + 1)) {
        (Some((_, a)), Some((_, c))) => {
            let b = points[index].1;
            a.min(*c).max(b.min(a.max(*c)))
        }
        _ => points[index].1,
    }
}

/// On straight lines between points; beyond the last, on the line of the last two unless it falls.
fn interpolate(points: &[(f64, f64)], distance: f64) -> f64 {
    let after = points.partition_point(|(at, _)| *at < distance).clamp(1, points.len().max(2) - 1);
    match (points.get(after - 1), points.get(after)) {
        (Some(a), Some(b)) if distance > b.0 && b.1 < a.1 => b.1,
        (Some(a), Some(b)) if distance > a.0 => a.1 + (b.1 - a.1) * (distance - a.0) / (b.0 - a.0),
        (Some(a), _) => a.1,
        _ => 0.0,
    }
}

fn by_equation(reader: &Reader) -> Result<Curve, ProfileError> {
    let boundary = reader.count("boundary")? as f64;
    let (short_base, short_root) = (reader.time_ns("short_base")?, reader.time_ns("short_root")?);
    let (long_base, long_slope) = (reader.time_ns("long_base")?, reader.time_ns("long_slope")?);
    let first = reader.or("first_ms", vec![], Reader::numbers)?;
    let first: Vec<f64> = first.into_iter().map(|ms| ms * 1e6).collect();
    if first.iter().any(|time_ns| *time_ns <= 0.0) {
        return Err(reader.error("first_ms", "has a time that is not above zero"));
    }
    Ok(Box::new(move |distance| match first.get(distance as usize - 1) {
        Some(time_ns) => *time_ns,
        None if distance < boundary => short_base + short_root * distance.sqrt(),
        None => long_base + long_slope * distance,
    }))
}

/// From a data sheet's three numbers: `minimum` at one cylinder, `maximum` at all, `average` over
/// random pairs (at a third of them), by `a + b·√d + c·d` through the three.
fn by_three(reader: &Reader, cylinders: u64) -> Result<Curve, ProfileError> {
    let times =
        [reader.time_ns("minimum")?, reader.time_ns("average")?, reader.time_ns("maximum")?];
    if !(times[0] <= times[1] && times[1] <= times[2]) {
        return Err(
            reader.error("average", "the curve falls: minimum, average and maximum are to rise")
        );
    }
    if cylinders < 8 {
        return Err(reader.error("average", "a drive of fewer than 8 cylinders has no such curve"));
    }
    let at = [1.0, cylinders as f64 / 3.0, cylinders as f64 - 1.0];
    let roots = at.map(f64::sqrt);
    let slope = |i: usize, j: usize| {
        ((times[j] - times[i]) / (roots[j] - roots[i]), (at[j] - at[i]) / (roots[j] - roots[i]))
    };
    let ((s1, r1), (s2, r2)) = (slope(0, 1), slope(1, 2));
    let linear = (s2 - s1) / (r2 - r1);
    let root = s1 - linear * r1;
    let base = times[0] - root - linear;
    Ok(Box::new(move |distance| base + root * distance.sqrt() + linear * distance))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::CATALOG;

    fn curve(text: &str) -> Result<SeekCurve, ProfileError> {
        let text = format!("kind = 'drive'\n[seek]\nassumed = 'x'\n{text}");
        let profile = CATALOG.load_text("d", "d.toml", &text).unwrap();
        SeekCurve::read(&profile.reader().below("drive").below("seek"), 842)
    }

    fn assert_near(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-3, "{a} {b}");
    }

    #[test]
    fn the_three_forms() {
        let three = curve("minimum='5 ms'\naverage='18 ms'\nmaximum='35 ms'").unwrap();
        assert_near(three.time_ns(0), 0.0);
        assert_near(three.time_ns(1), 5e6);
        assert_near(three.time_ns(841), 35e6);
        assert!((three.time_ns(281) - 18e6).abs() < 2e4);
        let points = curve("points_ms=[[1, 2.0], [3, 4.0], [10, 11]]").unwrap();
        assert_near(points.time_ns(2), 3e6);
        assert_near(points.time_ns(10), 11e6);
        assert_near(points.time_ns(12), 13e6);
        // What falls by its noise at the end does not go on falling.
        let noisy = curve("points_ms=[[1, 5.0], [2, 4.5]]").unwrap();
        assert_near(noisy.time_ns(800), 4.5e6);
        let equation = curve(
            "boundary=616\nshort_base='3.45 ms'\nshort_root='0.597 ms'\nlong_base='10.84 \
             ms'\nlong_slope='0.012 ms'",
        );
        let equation = equation.unwrap();
        assert_near(equation.time_ns(100), 3.45e6 + 5.97e6);
        assert_near(equation.time_ns(700), 10.84e6 + 8.4e6);
    }

    #[test]
    fn curves_that_cannot_be_are_refused() {
        for (text, sentence) in [
            ("points_ms=[[1, 2.0], [3, 1.0]]", "falls to 1 ms at 3"),
            ("points_ms=[[3, 2.0], [3, 3.0]]", "does not come after"),
            ("points_ms=[]", "needs points"),
            ("points_ms=[[900, 2.0]]", "goes to 900"),
            ("minimum='5 ms'\naverage='4 ms'\nmaximum='35 ms'", "falls"),
            ("minimum='5 ms'", "missing"),
            ("minimum='5 ms'\naverage='5 ms'\nmaximum='400 ms'", "average: the curve falls"),
            (
                "boundary=300\nshort_base='5 ms'\nshort_root='1 ms'\nlong_base='2 \
                 ms'\nlong_slope='0 ms'",
                "boundary: the curve falls: at 300 cylinders",
            ),
            (
                "first_ms=[3, -1]\nboundary=300\nshort_base='3 ms'\nshort_root='0 \
                 ms'\nlong_base='3 ms'\nlong_slope='0 ms'",
                "first_ms: has a time that is not above zero",
            ),
            (
                "first_ms=[9]\nboundary=300\nshort_base='3 ms'\nshort_root='0 ms'\nlong_base='3 \
                 ms'\nlong_slope='0 ms'",
                "at 2 cylinders",
            ),
        ] {
            let error = curve(text).unwrap_err().to_string();
            assert!(error.contains(sentence), "{text}: {error}");
        }
    }
}
