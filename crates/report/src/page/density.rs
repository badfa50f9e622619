//! Heat maps of a trace: how long requests took over time, and which places they were of. The bins
//! come counted; the page's size does not depend on the trace.
//!
//! Non-goals: counting (`verdict::density`), drawing.

use crate::chart::{Axis, Chart, Kind, Role, Scale};
use crate::words::name;

/// Pixels of a heat map.
const HEIGHT: usize = 320;

/// What lies over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over {
    /// Times from queueing to the completion.
    Responses,
    /// Places on the device.
    Places,
}

/// Counts of a device's requests in bins of time and of something else.
#[derive(Debug, Clone, PartialEq)]
pub struct Density {
    /// The device's name.
    pub device: String,
    /// `reads` or `writes`.
    pub requests: String,
    /// What the other axis is.
    pub over: Over,
    /// Where the bins of time begin and end, ns, and their number.
    pub times: ((f64, f64), usize),
    /// Where the other bins begin and end, and their number.
    pub others: ((f64, f64), usize),
    /// Line by line from the lowest, each in the order of time.
    pub counts: Vec<u64>,
}

/// The chart of a run's density; `id` tells it from others of the page.
pub(super) fn chart(density: &Density, id: &str, run: &str) -> Chart {
    let kind = if density.over == Over::Responses { "responses" } else { "places" };
    let id = format!("{kind}-{}-{id}", density.requests);
    let (label, unit, scale, what) = match density.over {
        // From the queueing, or the issue where nothing else is known.
        Over::Responses => {
            ("time to completion", "ns", Scale::Log, "Time to completion against start time")
        }
        Over::Places => ("place", "B", Scale::Linear, "Places over time"),
    };
    let run = if run.is_empty() { String::new() } else { format!("{run}: ") };
    let title = format!("{run}{what}: {}, device {}", density.requests, density.device);
    let x = Axis {
        domain: Some(density.times.0),
        bins: Some(density.times.1),
        ..Axis::new("start time", "ns", Scale::Linear)
    };
    let (domain, bins) = density.others;
    let y = Axis { domain: Some(domain), bins: Some(bins), ..Axis::new(label, unit, scale) };
    let counts = density.counts.iter().map(|count| Some(*count as f64));
    let paper = match density.over {
        Over::Responses => " Figure 7 of the 1986 paper, of all requests.",
        Over::Places => "",
    };
    let total: u64 = density.counts.iter().sum();
    let method = format!("{total} requests; the stronger the shade, the more in a bin.{paper}");
    Chart::plane(&id, &name(&title), Kind::Heat, (x, y))
        .numbers(Role::Value, "requests", "", counts)
        .by(&method)
        .high(HEIGHT)
        .half()
}
