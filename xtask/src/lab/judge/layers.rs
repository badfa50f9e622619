//! The time of a stack's top device, divided among its layers: what is published against the
//! response times of the rows themselves.

use super::Fault;
use crate::lab::evidence::{Counters, Run};
use serde_json::Value;

/// The layers' own times may be off by so much of the top's time, in sum.
const SHARE: f64 = 0.01;
/// A layer's own time, of the top's response times.
const OWN: &str = "layer_own_ns";

/// The time of the top's requests, by the rows.
fn top_ns(run: &Run, device: u32) -> f64 {
    let of = run
        .requests
        .iter()
        .map(|(row, _)| row)
        .filter(|row| row.device == device && row.parent_id.is_none());
    of.filter_map(|row| Some((row.completed_ns? - row.arrival_ns()?) as f64)).sum()
}

/// The first device is the top; all of them must be layers.
pub(super) fn layers(run: &Run, published: &Value, devices: &[Counters]) -> Vec<Fault> {
    let Some(top) = devices.first() else {
        return vec![Fault::new("a top device", "none was counted")];
    };
    let is_of_top = |finding: &&Value| {
        let name = &finding["subject"]["device"];
        finding["quantity"] == OWN && (*name == top.mapped.as_str() || *name == top.name.as_str())
    };
    let own = published["findings"].as_array().into_iter().flatten().filter(is_of_top);
    let own = own.filter_map(|finding| finding["value"].as_f64());
    let own: Vec<f64> = own.collect();
    let mut faults = vec![];
    if own.len() != devices.len() {
        let wanted = format!("{}: {} layers", top.mapped, devices.len());
        faults.push(Fault::new(wanted, own.len().to_string()));
    }
    let (sum, wanted) = (own.iter().sum::<f64>(), top_ns(run, top.number));
    if wanted == 0.0 || (sum / wanted - 1.0).abs() > SHARE {
        let text = format!("{}: the layers' times sum to {:.3} ms", top.mapped, wanted / 1e6);
        faults.push(Fault::new(text, format!("{:.3} ms", sum / 1e6)));
    }
    faults
}
