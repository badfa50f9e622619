//! What the page is told of the trace as a whole.
//!
//! Non-goals: what a selection is made of (`explore::View`).

use super::Explored;
use ::explore::{OPERATIONS, within_percent};
use analysis::trace::{REJECTED, device_name};
use model::text::visible;
use model::units::counted;
use serde::Serialize;

/// The trace as a whole, and the names that answers give numbers of.
#[derive(Debug, Serialize)]
pub(super) struct Trace {
    title: String,
    requests: u64,
    left_out: u64,
    from_ns: i64,
    until_ns: i64,
    started_unix_ns: Option<i64>,
    devices: Vec<String>,
    operations: Vec<&'static str>,
    roles: Vec<String>,
    files: Vec<String>,
    /// How far off response times are that are counted by bins.
    within_percent: f64,
    /// What is to be known of the trace.
    remarks: Vec<String>,
}

pub(super) fn trace(explored: &Explored) -> Trace {
    let index = &explored.index;
    let provenance = explored.file.provenance();
    let shown = |name: &String| visible(name).into_owned();
    let device = |device: &u32| visible(&device_name(*device, &provenance)).into_owned();
    let (from_ns, until_ns) = index.span_ns().unwrap_or((0, 1));
    Trace {
        title: visible(&explored.title).into_owned(),
        requests: explored.requests(),
        left_out: index.left_out(),
        from_ns,
        until_ns,
        started_unix_ns: provenance.started_unix_ns,
        devices: index.devices().iter().map(device).collect(),
        operations: OPERATIONS.iter().map(|operation| operation.name()).collect(),
        roles: index.roles().iter().map(shown).collect(),
        files: index.files().iter().map(shown).collect(),
        within_percent: within_percent(),
        remarks: remarks(explored),
    }
}

fn remarks(explored: &Explored) -> Vec<String> {
    let counts = explored.file.provenance().counts;
    let some = |count: u64, what: &str| (count > 0).then(|| counted(count, what));
    [
        some(counts.lost, "event{s} {was|were} lost during the capture"),
        some(counts.rejected, REJECTED),
        some(
            explored.index.left_out(),
            "row{s} {is|are} left out (lbolt's own requests, or parts of \
                                         requests)",
        ),
        some(
            explored.index.from_issue(),
            "request{s} {tells|tell} no queueing: {its time is a device time|their times are \
             device times}, from issue to completion",
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}
