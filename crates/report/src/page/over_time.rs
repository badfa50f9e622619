//! A device over time: how many requests were outstanding, and how long those that started then
//! queued and were served. The bins come counted, as wide as those of the heat maps beside them.
//!
//! Non-goals: counting (`verdict::response::over_time`), drawing.

use crate::chart::{Axis, Chart, Kind, Role, Scale};
use crate::words::name;

/// Pixels of such a chart.
const HEIGHT: usize = 260;

/// Mean times of the requests that started in a bin, ns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parts {
    /// Until the driver got those that tell when they were queued; none if none does.
    pub queue_ns: Option<f64>,
    /// In the driver and the device, of all.
    pub service_ns: f64,
}

/// What a bin of time holds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Bin {
    /// Requests outstanding, on average over its time.
    pub depth_mean: f64,
    /// The most at once.
    pub depth_max: f64,
    /// Of reads; none if there were none whose parts are known.
    pub reads: Option<Parts>,
    /// Of all others.
    pub others: Option<Parts>,
}

/// A device's bins.
#[derive(Debug, Clone, PartialEq)]
pub struct OverTime {
    /// The device's name.
    pub device: String,
    /// Where the first bin begins, ns.
    pub from_ns: f64,
    /// How wide a bin is, ns.
    pub width_ns: f64,
    /// One after the other.
    pub bins: Vec<Bin>,
}

/// The charts of a device; `id` tells them from others of the page.
pub(super) fn charts(of: &OverTime, id: &str, run: &str) -> Vec<Chart> {
    let run = if run.is_empty() { String::new() } else { format!("{run}: ") };
    let titled = |what: &str| name(&format!("{run}{what}, device {}", of.device));
    let parts = SIDES.iter().filter_map(|side| {
        let what = format!("Queueing and service against start time: {}", side.0);
        parts_chart(of, &format!("parts-{}-{id}", side.0), &titled(&what), side)
    });
    let depth = depth(of, &format!("depth-{id}"), &titled("Requests outstanding over time"));
    parts.chain(depth).collect()
}

/// Requests of a direction: their name, and what a bin has of them.
type Side = (&'static str, fn(&Bin) -> Option<Parts>);

const SIDES: [Side; 2] = [("reads", |bin| bin.reads), ("writes", |bin| bin.others)];

/// A part of a response.
type Part = (&'static str, fn(&Parts) -> Option<f64>);

const PARTS: [Part; 2] =
    [("queueing", |parts| parts.queue_ns), ("service", |parts| Some(parts.service_ns))];

/// The axis of time, which all charts of a device over time share.
fn time(of: &OverTime) -> Axis {
    let end = of.from_ns + of.width_ns * of.bins.len() as f64;
    Axis {
        domain: Some((of.from_ns, end)),
        bins: Some(of.bins.len()),
        ..Axis::new("start time", "ns", Scale::Linear)
    }
}

fn begins(of: &OverTime) -> impl Iterator<Item = Option<f64>> + '_ {
    (0..of.bins.len()).map(|place| Some(of.from_ns + place as f64 * of.width_ns))
}

/// What is drawn on a logarithmic axis.
fn some(value: f64) -> Option<f64> {
    (value > 0.0).then_some(value)
}

fn depth(of: &OverTime, id: &str, title: &str) -> Option<Chart> {
    of.bins.iter().find(|bin| bin.depth_max > 0.0)?;
    let x = Axis { label: "time".into(), ..time(of) };
    let y = Axis::new("requests outstanding", "1", Scale::Log);
    let most = of.bins.iter().map(|bin| some(bin.depth_max));
    let means = of.bins.iter().map(|bin| some(bin.depth_mean));
    let of_all = |name: &'static str| of.bins.iter().map(move |_| name);
    let names = of_all("most at once").chain(of_all("mean"));
    let chart = Chart::plane(id, title, Kind::Over, (x, y))
        .texts(Role::Series, "which", names.map(str::to_owned))
        .numbers(Role::X, "from", "ns", begins(of).chain(begins(of)))
        .numbers(Role::Y, "outstanding", "", most.chain(means));
    let method = "Requests queued or at the device: the most at once in a bin, and the mean over \
        its time. Nothing is drawn where none was outstanding.";
    Some(chart.by(method).high(HEIGHT))
}

fn parts_chart(of: &OverTime, id: &str, title: &str, (_, side): &Side) -> Option<Chart> {
    of.bins.iter().find_map(side)?;
    let of_part = |(_, part): &Part| {
        let mean = |bin: &Bin| side(bin).and_then(|parts| part(&parts)).and_then(some);
        of.bins.iter().map(mean).collect::<Vec<_>>()
    };
    let names = PARTS.iter().flat_map(|(name, _)| of.bins.iter().map(|_| (*name).to_owned()));
    let axes = (time(of), Axis::new("mean", "ns", Scale::Log));
    let chart = Chart::plane(id, title, Kind::Over, axes)
        .texts(Role::Series, "part", names)
        .numbers(Role::X, "from", "ns", PARTS.iter().flat_map(|_| begins(of)))
        .numbers(Role::Y, "mean", "ns", PARTS.iter().flat_map(of_part));
    // An import may tell the one of fewer requests than the other: then they are of two sets.
    let is_untold = |bin: &Bin| side(bin).is_some_and(|parts| parts.queue_ns.is_none());
    let untold = match of.bins.iter().any(is_untold) {
        true => " In some bins no request tells its queueing: there it is unknown, not 0.",
        false => "",
    };
    let method = format!(
        "Means of the requests that started in a bin: queueing is until the driver got them, of \
         those that tell when they were queued; service is what all of them took in the driver \
         and the device, so the two need not add up to a response.{untold} What is no read \
         counts as a write."
    );
    Some(chart.by(&method).high(HEIGHT).half())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Values;

    #[test]
    fn what_was_not_there_is_not_drawn_and_one_time_stands_at_one_place() {
        let parts = Parts { queue_ns: Some(0.0), service_ns: 5.0 };
        let busy = Bin { depth_mean: 0.5, depth_max: 3.0, reads: Some(parts), others: None };
        let of = OverTime {
            device: "vda".into(),
            from_ns: 100.0,
            width_ns: 10.0,
            bins: vec![Bin::default(), busy],
        };
        let charts = charts(&of, "1-1", "run");
        let ids: Vec<&str> = charts.iter().map(|chart| chart.id.as_str()).collect();
        assert_eq!(ids, ["parts-reads-1-1", "depth-1-1"], "no writes, no chart of them");
        let numbers = |chart: &Chart, place: usize| match &chart.columns[place].values {
            Values::Numbers(numbers) => numbers.clone(),
            Values::Texts(_) => vec![],
        };
        assert_eq!(numbers(&charts[0], 1), [Some(100.0), Some(110.0), Some(100.0), Some(110.0)]);
        assert_eq!(numbers(&charts[0], 2), [None, None, None, Some(5.0)], "no logarithm of 0");
        assert_eq!(numbers(&charts[1], 2), [None, Some(3.0), None, Some(0.5)]);
        assert!(charts.iter().all(|chart| chart.x.domain == Some((100.0, 120.0))));
        assert_eq!(charts[1].title, "run: Requests outstanding over time, device vda");
        assert!(!charts[0].method.contains("unknown, not 0"), "all tell their queueing");
        let untold = Parts { queue_ns: None, ..parts };
        let bins = vec![Bin { reads: Some(untold), ..busy }];
        let untold = super::charts(&OverTime { bins, ..of.clone() }, "1-1", "run");
        assert_eq!(numbers(&untold[0], 2), [None, Some(5.0)]);
        assert!(untold[0].method.contains("unknown, not 0"), "{}", untold[0].method);
        let none = OverTime { bins: vec![Bin::default(); 4], ..of };
        assert_eq!(super::charts(&none, "1-1", ""), []);
    }
}
