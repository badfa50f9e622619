//! Where the time of requests to a stack of devices goes: a row for each layer, from the top down.
//!
//! Non-goals: dividing it (`analyze::layers`).

use super::tables::{Shown, column, cut};
use super::told::{Told, Values};
use crate::grid::{Grid, Labels};
use crate::number::significant;
use model::record::subject::Layer;
use model::units::show_time_ns;

/// Layers that are shown where there is no room for more: stacks are no deeper, but may have many
/// disks.
const LEAST: usize = 8;

/// A share of the time above which it is told that requests could not be followed, in per cent.
const UNFOLLOWED_PERCENT: f64 = 0.05;

/// The stacks, those whose requests took most time first, each from its top down.
fn rows<'t, 'a>(told: &'t Told<'a>, shown: &Shown) -> Vec<&'t (&'a Layer, Values<'a>)> {
    let is_shown = |(of, _): &&(&Layer, Values<'_>)| {
        shown.has_device(&of.device) || shown.has_device(&of.layer)
    };
    let whole_ns = |of: &Layer| {
        let is_top = |(known, _): &&(&Layer, Values<'_>)| {
            known.device == of.device && known.layer == known.device
        };
        let top = told.layers.iter().find(is_top);
        top.map_or(0.0, |(_, values)| values.or_zero("layer_response_ns"))
    };
    let mut rows: Vec<_> = told.layers.iter().filter(is_shown).collect();
    rows.sort_by(|a, b| {
        whole_ns(b.0).total_cmp(&whole_ns(a.0)).then_with(|| a.0.device.cmp(&b.0.device))
    });
    rows.truncate(shown.rows().max(LEAST));
    rows
}

pub(super) fn table(told: &Told<'_>, shown: &Shown) -> Grid {
    let rows = rows(told, shown);
    let first = rows.first().map(|(of, _)| &of.device);
    let mut labels = Vec::new();
    if rows.iter().any(|(of, _)| Some(&of.device) != first) {
        labels.push(Labels {
            head: "of",
            texts: rows.iter().map(|(of, _)| cut(&of.device)).collect(),
        });
    }
    labels
        .push(Labels { head: "layer", texts: rows.iter().map(|(of, _)| cut(&of.layer)).collect() });
    let of = |quantity: &str, show: &dyn Fn(f64) -> String| -> Vec<String> {
        let text =
            |(_, values): &&(_, Values<'_>)| values.get(quantity).map_or_else(String::new, show);
        rows.iter().map(text).collect()
    };
    let percent = |value: f64| format!("{} %", significant(value));
    let mut figures = vec![
        column("requests", of("layer_requests_count", &|value| format!("{value:.0}"))),
        column("own time", of("layer_own_mean_ns", &show_time_ns)),
        column("p99", of("layer_own_p99_ns", &show_time_ns)),
        column("of the time", of("layer_own_percent", &percent)),
    ];
    let unfollowed = |(_, values): &&(_, Values<'_>)| {
        values.or_zero("layer_unfollowed_percent") > UNFOLLOWED_PERCENT
    };
    if rows.iter().any(unfollowed) {
        let some = |value: f64| if value > 0.0 { percent(value) } else { String::new() };
        figures.push(column("not followed", of("layer_unfollowed_percent", &some)));
    }
    Grid::new(labels, figures)
}

/// Whether a device is shown as a layer of a stack.
pub(super) fn is_layer(told: &Told<'_>, device: &str) -> bool {
    told.layers.iter().any(|(of, _)| of.layer == device && of.device != device)
}
