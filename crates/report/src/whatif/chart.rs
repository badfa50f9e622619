//! A change's chart: what it makes of response times, ranked.
//!
//! Non-goals: drawing.

use super::undecided::undecided;
use super::{Row, rows};
use crate::chart::{Axis, Chart, Entry, Kind, Scale};
use crate::experiments::Named;
use crate::figure::Figure;

/// All charts of these runs.
pub(crate) fn all(runs: &[Named<'_>]) -> Vec<Chart> {
    let mut found: Vec<Entry> = Vec::new();
    for named in runs {
        let mut rows = rows(named.run.findings);
        let ratio = |row: &Row<'_>| row.ratio.value.unwrap_or(f64::INFINITY);
        rows.sort_by(|a, b| a.statistic.cmp(b.statistic).then(ratio(a).total_cmp(&ratio(b))));
        found.extend(rows.iter().map(|row| {
            let class = format!("{} {}, {}", row.device, row.op, row.statistic);
            (named.within(&class), row.change.clone(), figure(row))
        }));
    }
    let axis = Axis::new("after / before", "1", Scale::Log);
    let chart = Chart::rows("changes", "Who gains and who loses", Kind::Dots, axis, &found);
    let method = "Response times on the model after the change over those before it; the interval \
        holds the span over samples of uncertain parameters, the model's error and chance.";
    chart.map(|chart| chart.by(method).ruled("x", 1.0, "no change")).into_iter().collect()
}

/// A ratio, which is not drawn where the table cannot tell it.
fn figure(row: &Row<'_>) -> Figure {
    let mut figure = Figure::of(row.ratio);
    figure.is_open = undecided(row).is_some();
    figure
}
