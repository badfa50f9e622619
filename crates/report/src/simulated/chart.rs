//! A simulation's chart: response times of the trace beside the model's.
//!
//! Non-goals: drawing.

use crate::chart::{Axis, Chart, Entry, Kind, Scale};
use crate::experiments::Named;
use crate::figure::Figure;
use model::record::Finding;

/// A series and what its quantities begin with.
const SIDES: [(&str, &str); 2] = [("measured", "measured"), ("on the model", "simulated")];

/// What of the responses is shown.
const STATISTICS: [&str; 4] = ["mean", "p50", "p99", "max"];

/// All charts of these runs.
pub(crate) fn all(runs: &[Named<'_>]) -> Vec<Chart> {
    let mut found: Vec<Entry> = Vec::new();
    for named in runs {
        let findings = named.run.findings;
        for count in findings.iter().filter(|finding| finding.quantity == "simulated_count") {
            let of = |key: &str| count.subject.get(key).unwrap_or_default();
            for statistic in STATISTICS {
                let category = named.within(&format!("{} {}, {statistic}", of("device"), of("op")));
                found.extend(SIDES.iter().filter_map(|(series, side)| {
                    let quantity = format!("{side}_{statistic}_ns");
                    let is_it = |finding: &&Finding| {
                        finding.quantity == quantity && finding.subject == count.subject
                    };
                    let figure = Figure::of(findings.iter().find(is_it)?);
                    Some((category.clone(), (*series).to_owned(), figure))
                }));
            }
        }
    }
    let axis = Axis::new("response", "ns", Scale::Log);
    let chart = Chart::rows("predicted", "Predicted and measured", Kind::Dots, axis, &found);
    let method = "Times from queueing to completion, in the trace and on the model; the model's \
        interval spans samples of its uncertain parameters.";
    chart.map(|chart| chart.by(method)).into_iter().collect()
}
