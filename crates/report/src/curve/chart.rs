//! The curve's charts: latency against rate as more requests are outstanding, with the knee; and
//! the ceilings.
//!
//! Non-goals: drawing.

use super::{AT_KNEE, PEAK_BYTES, RATE, Row, is_point, kind, rows};
use crate::chart::{Axis, Chart, Entry, Kind, Role, Scale};
use crate::experiments::Named;
use crate::figure::Figure;
use crate::number::RateUnit;

/// A latency: the chart's name, its title, the quantity.
const LATENCIES: [(&str, &str, &str); 2] = [
    ("latency-mean", "Mean latency against IOPS", "latency_mean_ns"),
    ("latency-p99", "p99 latency against IOPS", "latency_p99_ns"),
];

/// A point of a curve: its series, whether it is the knee, and its figures.
type Point = (String, bool, Row);

/// All charts of these runs.
pub(super) fn all(runs: &[Named<'_>]) -> Vec<Chart> {
    let curves = LATENCIES.iter().filter_map(|latency| curves(runs, latency));
    curves.chain(ceilings(runs)).collect()
}

fn points(named: &Named<'_>) -> Vec<Point> {
    let (points, wholes) = rows(named.run.findings);
    let knee = |point: &Row| {
        let whole = wholes.iter().find(|whole| is_point(point, whole))?;
        whole.told(AT_KNEE[0])
    };
    let point = |row: Row| {
        let is_knee = depth(&row).is_some() && knee(&row) == depth(&row);
        (named.within(&kind(&row.key)), is_knee, row)
    };
    points.into_iter().filter(|row| row.key.access.is_random()).map(point).collect()
}

fn depth(row: &Row) -> Option<f64> {
    row.key.depth.map(|depth| depth as f64)
}

fn curves(runs: &[Named<'_>], (id, title, quantity): &(&str, &str, &str)) -> Option<Chart> {
    let both = |row: &Row| Some((row.figure(RATE)?.clone(), row.figure(quantity)?.clone()));
    let points = runs.iter().flat_map(points).filter_map(|point| Some((both(&point.2)?, point)));
    let points: Vec<((Figure, Figure), Point)> = points.collect();
    points.iter().find(|((rate, latency), _)| rate.told().and(latency.told()).is_some())?;
    let axes = (Axis::new("IOPS", "1/s", Scale::Linear), Axis::new("latency", "ns", Scale::Log));
    let latency = |of: fn(&Figure) -> Option<f64>| points.iter().map(move |((_, f), _)| of(f));
    let mark = |is_knee: bool| if is_knee { "knee" } else { "" }.to_owned();
    let chart = Chart::plane(id, title, Kind::Lines, axes)
        .texts(Role::Series, "requests", points.iter().map(|(_, (series, ..))| series.clone()))
        .numbers(Role::Extra, "queue depth", "", points.iter().map(|(_, (.., row))| depth(row)))
        .numbers(Role::X, "rate", "1/s", points.iter().map(|((rate, _), _)| rate.told()))
        .numbers(Role::Y, "latency", "ns", latency(Figure::told))
        .numbers(Role::Low, "from", "ns", latency(|figure| figure.told().and(figure.low)))
        .numbers(Role::High, "to", "ns", latency(|figure| figure.told().and(figure.high)))
        .texts(Role::Mark, "knee", points.iter().map(|(_, (_, is_knee, _))| mark(*is_knee)))
        .texts(Role::Note, "doubts", points.iter().map(|((rate, _), _)| rate.reason()));
    let method = "Each point has a greater queue depth than the one before it; the knee is where \
        IOPS over mean latency is greatest (Kleinrock 1979).";
    Some(chart.by(method).half())
}

/// The greatest rate in bytes of each kind.
fn ceilings(runs: &[Named<'_>]) -> Option<Chart> {
    let curves: Vec<(&Named<'_>, Vec<Row>)> =
        runs.iter().map(|named| (named, rows(named.run.findings).1)).collect();
    let rates =
        curves.iter().flat_map(|(_, wholes)| wholes).filter_map(|row| row.value(PEAK_BYTES));
    let unit = RateUnit::for_rates(rates);
    let found = curves.iter().flat_map(|(named, wholes)| {
        let of =
            |row: &Row| Some((kind(&row.key), named.within(""), row.figure(PEAK_BYTES)?.clone()));
        wholes.iter().filter_map(of).collect::<Vec<_>>()
    });
    let found: Vec<Entry> = found.collect();
    let axis = Axis::new("rate", "B/s", Scale::Linear);
    let chart = Chart::rows("device-ceilings", "Peak bandwidth", Kind::Bars, axis, &found)?;
    let method = "The highest rate of any queue depth.";
    Some(chart.by(method).in_rates_of(unit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Values;
    use crate::experiments::Run;
    use model::engine::EngineKind;
    use model::record::subject::Curve;
    use model::record::{Finding, Interval, Subject};
    use model::workload::Access;

    /// Its latency is the same measure, and has no interval by which a reader would see it.
    #[test]
    fn a_point_whose_rate_is_not_told_is_not_drawn() {
        let point = |depth: u64, half: f64| {
            let subject = Subject::Curve(Curve {
                access: Access::RandRead,
                block_bytes: 4096,
                depth: Some(depth),
                direct: 1,
                engine: EngineKind::IoUring,
                target: Some("d".into()),
            });
            let ends = (Some(1000.0 - half), Some(1000.0 + half));
            let rate = Finding::new(&subject, RATE, Some(1000.0), 3, "x");
            let latency = Finding::new(&subject, "latency_mean_ns", Some(1e6), 3, "x");
            [rate.within(Interval::Passes, ends), latency]
        };
        let findings = [point(1, 10.0), point(2, 1000.0)].concat();
        let charts = all(&[Named { name: "", run: Run { findings: &findings, rows: &[] } }]);
        let values = |role| {
            let column = charts[0].columns.iter().find(|column| column.role == role);
            column.map(|column| column.values.clone()).unwrap()
        };
        assert_eq!(values(Role::X), Values::Numbers(vec![Some(1000.0), None]));
        assert_eq!(values(Role::Y), Values::Numbers(vec![Some(1e6), None]));
        let Values::Texts(notes) = values(Role::Note) else { panic!("{charts:?}") };
        assert!(notes[1].starts_with("cannot tell: "), "{notes:?}");
        let unknown = point(1, 1000.0);
        let run = Run { findings: &unknown, rows: &[] };
        assert!(all(&[Named { name: "", run }]).is_empty());
    }
}
