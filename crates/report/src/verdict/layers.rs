//! Where the time of requests to a stack of devices goes: a row for each layer, from the top down.
//!
//! Non-goals: dividing it (`verdict::layers`).

use super::rows::{self, Label};
use super::shown::Shown;
use super::told::{Of, Told};
use crate::grid::Grid;
use crate::number::significant;
use crate::requests::show_count;
use crate::rows::Column;
use model::record::subject::Layer;
use model::units::show_time_ns;

/// Layers that are shown where there is no room for more: stacks are no deeper, but may have many
/// disks.
const LEAST: usize = 8;

/// A share of the time above which it is told that requests could not be followed, in per cent.
const UNFOLLOWED_PERCENT: f64 = 0.05;

/// The stacks, those whose requests took most time first, each from its top down.
fn rows<'a>(told: &Told<'a>, shown: &Shown) -> Vec<Of<'a, Layer>> {
    let is_shown =
        |(of, _): &&Of<'_, Layer>| shown.has_device(&of.device) || shown.has_device(&of.layer);
    let whole_ns = |of: &Layer| {
        let is_top =
            |(known, _): &&Of<'_, Layer>| known.device == of.device && known.layer == known.device;
        let top = told.layers.iter().find(is_top);
        top.map_or(0.0, |(_, values)| values.or_zero("layer_response_ns"))
    };
    let mut rows: Vec<_> = told.layers.iter().filter(is_shown).cloned().collect();
    rows.sort_by(|a, b| {
        whole_ns(b.0).total_cmp(&whole_ns(a.0)).then_with(|| a.0.device.cmp(&b.0.device))
    });
    rows.truncate(shown.rows().max(LEAST));
    rows
}

/// The column of what could not be followed.
const UNFOLLOWED: &str = "not followed";
const COLUMNS: &[Column] = &[
    ("", "requests", "layer_requests_count", show_count),
    ("", "own time", "layer_own_mean_ns", show_time_ns),
    ("", "p99", "layer_own_p99_ns", show_time_ns),
    ("", "of the time", "layer_own_percent", percent),
    ("", UNFOLLOWED, "layer_unfollowed_percent", |of| match of > 0.0 {
        true => percent(of),
        false => String::new(),
    }),
];

fn percent(value: f64) -> String {
    format!("{} %", significant(value))
}

pub(super) fn table(told: &Told<'_>, shown: &Shown) -> Grid {
    let rows = rows(told, shown);
    let unfollowed = |(_, values): &Of<'_, Layer>| {
        values.or_zero("layer_unfollowed_percent") > UNFOLLOWED_PERCENT
    };
    let is_followed = !rows.iter().any(unfollowed);
    let labels: [Label<Layer>; 2] =
        [("of", |of| of.device.clone()), ("layer", |of| of.layer.clone())];
    rows::table(&rows, &labels, COLUMNS)
        .grid()
        .without_figures(|name| name == UNFOLLOWED && is_followed)
}

/// Whether a device is shown as a layer of a stack.
pub(super) fn is_layer(told: &Told<'_>, device: &str) -> bool {
    told.layers.iter().any(|(of, _)| of.layer == device && of.device != device)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::record::{Finding, Subject};

    fn findings(top: &str) -> Vec<Finding> {
        let of = |layer: &str, quantity: &str, value| {
            let subject = Subject::Layer(Layer { device: top.into(), layer: layer.into() });
            Finding::new(&subject, quantity, Some(value), 1, "m")
        };
        let all = |layer: &str, own: f64, unfollowed: f64| {
            vec![
                of(layer, "layer_requests_count", 7.0),
                of(layer, "layer_response_ns", 1e6),
                of(layer, "layer_own_percent", own),
                of(layer, "layer_unfollowed_percent", unfollowed),
            ]
        };
        [all(top, 25.0, 0.0), all("sda", 70.0, if top == "md0" { 5.0 } else { 0.0 })].concat()
    }

    #[test]
    fn a_column_stands_only_where_it_tells_something() {
        let text = |tops: &[&str]| {
            let found = tops.iter().flat_map(|top| findings(top)).collect::<Vec<_>>();
            table(&Told::of(&found), &Shown::default()).text(None)
        };
        let one = text(&["dm-0"]);
        assert!(one.starts_with("layer  requests"), "{one}");
        assert!(one.contains("70.0 %") && !one.contains("not followed"), "{one}");
        let two = text(&["dm-0", "md0"]);
        assert!(two.starts_with("of    layer"), "{two}");
        assert!(two.contains("not followed") && two.contains("5.00 %"), "{two}");
    }
}
