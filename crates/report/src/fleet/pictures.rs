//! The charts of a fleet's page: small multiples of the worst hosts, a heat map of hosts by hours,
//! and response times by device model.
//!
//! Non-goals: drawing (`viewer/`); which hosts are the worst (`verdict::fleet`).

use crate::chart::{Axis, Chart, Kind, Role, Scale};
use crate::page::Section;
use crate::words::name;
use model::fleet::{FleetModel, FleetPictures, FleetTrack};
use model::history::{DAY_NS, HOUR_NS};

/// Hosts of the small multiples.
const MULTIPLES: usize = 24;
/// Bars of each.
const BARS: i64 = 31;
/// Device models of the charts.
const MODELS: usize = 8;
/// Pixels of a host in the heat map, of what is not hosts, and of a line of small multiples.
const LINE: usize = 12;
const AROUND: usize = 76;
const HIGH: usize = 104;
/// Small multiples beside each other, where there is room.
const ACROSS: usize = 4;
/// Pixels of a model's row.
const ROW: usize = 34;
/// Pixels of the least chart of models.
const PLANE: usize = 320;
/// Digits of a number of the heat map at most: there are many of them.
const GREATEST: f64 = 99_999.0;
/// Units of times, and how many ns they are.
const UNITS: [(&str, f64); 4] = [("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)];
/// The percentiles of the rows of models.
const PERCENTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)];

/// The sections with charts.
pub(super) fn sections(of: &FleetPictures) -> Vec<Section> {
    let lost: Vec<Chart> = multiples(of).into_iter().chain(heat(of)).collect();
    let models: Vec<Chart> =
        percentiles(&of.models).into_iter().chain(slower(&of.models)).collect();
    let section = |(id, title, charts): (&str, &str, Vec<Chart>)| Section {
        id: id.into(),
        title: title.into(),
        charts,
        ..Section::default()
    };
    let all = [
        ("lost", "Time lost by host", lost),
        ("responses", "Response times by device model", models),
    ];
    all.into_iter().filter(|of| !of.2.is_empty()).map(section).collect()
}

/// Numbers of hosts in bins that divide the evenly spaced ones of the page into days.
struct Bars {
    width_ns: i64,
    /// When the first begins.
    from_ns: i64,
    count: usize,
}

impl Bars {
    /// Days, or several of them for a long time; the page's own bins for a short one.
    fn of(of: &FleetPictures, bins: usize) -> Self {
        let span_ns = of.bin_ns.saturating_mul(bins as i64);
        let days = (span_ns / DAY_NS - 1).div_euclid(BARS) + 1;
        let day_ns = DAY_NS.saturating_mul(days.max(1)).max(of.bin_ns);
        // A number of the page's own bins.
        let long_ns = (day_ns + of.bin_ns - 1) / of.bin_ns.max(1) * of.bin_ns;
        let width_ns = if span_ns <= 2 * DAY_NS { of.bin_ns } else { long_ns }.max(1);
        let from_ns = of.from_unix_ns.div_euclid(width_ns).saturating_mul(width_ns);
        let end_ns = of.from_unix_ns.saturating_add(span_ns);
        let count = (end_ns.saturating_sub(from_ns) - 1).div_euclid(width_ns) + 1;
        Self { width_ns, from_ns, count: usize::try_from(count).unwrap_or(1).max(1) }
    }

    /// What a host lost in each; none where it was not watched.
    fn lost_ns(&self, of: &FleetPictures, track: &FleetTrack) -> Vec<Option<f64>> {
        let mut bars = vec![None; self.count];
        for (place, lost_ns) in track.lost_ns.iter().enumerate() {
            let at_ns = of.from_unix_ns.saturating_add(of.bin_ns.saturating_mul(place as i64));
            let bar = usize::try_from((at_ns - self.from_ns).div_euclid(self.width_ns)).ok();
            if let (Some(bar), Some(ns)) = (bar.and_then(|bar| bars.get_mut(bar)), lost_ns) {
                *bar = Some(bar.unwrap_or(0.0) + *ns as f64);
            }
        }
        bars.into_iter().map(|bar: Option<f64>| bar.map(|ns| ns.max(0.0))).collect()
    }

    /// When each begins, in seconds.
    fn begins(&self) -> impl Iterator<Item = Option<f64>> + '_ {
        (0..self.count).map(|bar| Some((self.from_ns + self.width_ns * bar as i64) as f64 / 1e9))
    }

    fn axis(&self) -> Axis {
        let from = self.from_ns as f64 / 1e9;
        let until = from + self.width_ns as f64 / 1e9 * self.count as f64;
        Axis {
            domain: Some((from, until)),
            bins: Some(self.count),
            ..Axis::new("time (UTC)", "date", Scale::Linear)
        }
    }

    /// `day`, `hour`, `2 days`.
    fn each(&self) -> String {
        match (self.width_ns / DAY_NS, self.width_ns / HOUR_NS) {
            (1, _) => "day".into(),
            (0, 1) => "hour".into(),
            (0, hours) => format!("{hours} hours"),
            (days, _) => format!("{days} days"),
        }
    }
}

fn multiples(of: &FleetPictures) -> Option<Chart> {
    let hosts = of.hosts.get(..MULTIPLES).unwrap_or(&of.hosts);
    let bars = Bars::of(of, hosts.first()?.lost_ns.len());
    let names = hosts.iter().flat_map(|of| vec![name(&of.host.host); bars.count]);
    let title = format!("Time lost per {}: the worst {} hosts", bars.each(), hosts.len());
    let axes = (bars.axis(), Axis::new("lost", "ns", Scale::Linear));
    let lost = hosts.iter().flat_map(|host| bars.lost_ns(of, host));
    let chart = Chart::plane("worst-hosts", &title, Kind::Multiples, axes)
        .texts(Role::Category, "host", names)
        .numbers(Role::X, "from", "date", hosts.iter().flat_map(|_| bars.begins()))
        .numbers(Role::Y, "lost", "ns", lost)
        .by("The same scale for all hosts. No bar: nothing was lost, or the host was not watched.")
        .noted(of.is_spread.then(spread));
    Some(chart.high(AROUND + HIGH * hosts.len().div_ceil(ACROSS).max(2)))
}

fn spread() -> String {
    "Some rows of the rollup span several bars: their losses are divided evenly among these.".into()
}

/// Hosts by the time's bins, the worst host at the top.
fn heat(of: &FleetPictures) -> Option<Chart> {
    let bins = of.hosts.first()?.lost_ns.len();
    let lost = || of.hosts.iter().flat_map(|host| host.lost_ns.iter().flatten());
    let most = lost().max().copied().unwrap_or(0) as f64;
    let (unit, each) =
        UNITS.into_iter().find(|(_, each)| most / each <= GREATEST).unwrap_or(UNITS[3]);
    let shown = |ns: &Option<i64>| ns.map(|ns| (ns.max(0) as f64 / each).round());
    // Lines come from below.
    let values = of.hosts.iter().rev().flat_map(|host| host.lost_ns.iter().map(shown));
    let from = of.from_unix_ns as f64 / 1e9;
    let width = of.bin_ns as f64 / 1e9;
    let x = Axis {
        domain: Some((from, from + width * bins as f64)),
        bins: Some(bins),
        ..Axis::new("time (UTC)", "date", Scale::Linear)
    };
    let y = Axis {
        domain: Some((0.0, of.hosts.len() as f64)),
        bins: Some(of.hosts.len()),
        names: of.hosts.iter().rev().map(|of| name(&of.host.host)).collect(),
        ..Axis::new("host", "", Scale::Linear)
    };
    let bars = Bars { width_ns: of.bin_ns, from_ns: of.from_unix_ns, count: bins };
    let title = format!("Time lost by {}: the worst {} hosts", bars.each(), of.hosts.len());
    let method = format!(
        "The darker the shade, the more time was lost in the {} (darkest: {}; on dark paper the \
         lightest). The table has the sum of each host, the CSV each shade.",
        bars.each(),
        super::time(most),
    );
    let chart = Chart::plane("hours", &title, Kind::Heat, (x, y))
        .numbers(Role::Value, "lost", unit, values)
        .by(&method)
        .noted(of.is_spread.then(spread));
    Some(chart.high(AROUND + LINE * of.hosts.len().max(4)))
}

fn shown(models: &[FleetModel]) -> &[FleetModel] {
    models.get(..MODELS).unwrap_or(models)
}

fn called(model: &FleetModel) -> String {
    if model.model.is_empty() { "(unknown)".into() } else { name(&model.model) }
}

fn left_out(models: &[FleetModel]) -> Option<String> {
    let left = models.len() - shown(models).len();
    let said = format!("The {MODELS} models with most requests; {left} more with --by model.");
    (left > 0).then_some(said)
}

fn height(models: &[FleetModel]) -> usize {
    PLANE.max(AROUND + ROW * shown(models).len())
}

/// Percentiles, a row for each model.
fn percentiles(models: &[FleetModel]) -> Option<Chart> {
    models.first()?;
    let rows = || {
        let each = |model: &FleetModel| {
            let found = PERCENTILES.map(|(label, share)| {
                let known = model.quantiles_ns.iter().find(|(of, _)| *of == share);
                known.map(|(_, ns)| (called(model), label, *ns as f64, model.hosts))
            });
            found.into_iter().flatten().collect::<Vec<_>>()
        };
        shown(models).iter().flat_map(each)
    };
    let axes = (Axis::new("response", "ns", Scale::Log), Axis::default());
    let chart = Chart::plane("percentiles", "Response percentiles", Kind::Dots, axes)
        .texts(Role::Category, "model", rows().map(|row| row.0))
        .texts(Role::Series, "percentile", rows().map(|row| row.1.to_owned()))
        .numbers(Role::Value, "response", "ns", rows().map(|row| Some(row.2)))
        .numbers(Role::Extra, "hosts", "", rows().map(|row| Some(row.3 as f64)))
        .by("Percentiles of the merged histograms of all hosts; of hours they are within 7 %.")
        .noted(left_out(models));
    Some(chart.high(height(models)).half())
}

/// The share of requests that took longer.
fn slower(models: &[FleetModel]) -> Option<Chart> {
    models.first()?;
    let rows = || {
        let each = |model: &FleetModel| {
            let name = called(model);
            let of = |(share, ns): &(f64, u64)| (name.clone(), *ns as f64, 100.0 * (1.0 - share));
            model.quantiles_ns.iter().map(of).collect::<Vec<_>>()
        };
        shown(models).iter().flat_map(each)
    };
    let axes =
        (Axis::new("response", "ns", Scale::Log), Axis::new("slower requests", "%", Scale::Log));
    let chart = Chart::plane("slower", "Share of slower requests", Kind::Lines, axes)
        .texts(Role::Series, "model", rows().map(|row| row.0))
        .numbers(Role::X, "response", "ns", rows().map(|row| Some(row.1)))
        .numbers(Role::Y, "slower requests", "%", rows().map(|row| Some(row.2)))
        .by("How many per cent of the requests took longer than a response time.");
    Some(chart.high(height(models)).half())
}
