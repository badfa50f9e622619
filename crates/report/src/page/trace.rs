//! The section of a trace: what its requests went through, over time and by class, and the storms
//! in it.
//!
//! Non-goals: what a chart or a table says (each has a file of its own).

use super::density::{self, Density};
use super::over_time::{self, OverTime};
use super::storms::{self, Storm};
use super::{Fold, Section, Source};
use crate::chart::{Band, Chart, Kind};
use crate::experiments::Named;
use crate::words::first_seen;
use crate::{response, verdict};
use std::collections::BTreeMap;

/// What was counted of a run's requests for its page alone.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Traced {
    /// Where requests lie over time, of the busiest devices first.
    pub density: Vec<Density>,
    /// Devices over time, in the same order.
    pub over_time: Vec<OverTime>,
    /// The worst storms, the worst first.
    pub storms: Vec<Storm>,
    /// When there were storms, by the device's name; in order.
    pub marks: BTreeMap<String, Vec<Band>>,
    /// How many storms there are in all.
    pub all_storms: usize,
}

/// What stands under a figure that has marks.
const MARKED: &str =
    "Above it: when there were bursts of writes; numbers are those that are opened below.";

/// Devices of a run that are shown over time on a page of so many runs: the page stays small.
fn most_devices(runs: usize) -> usize {
    match runs {
        0 | 1 => 2,
        2 | 3 => 1,
        _ => 0,
    }
}

impl Traced {
    /// The devices that are shown over time, the busiest first.
    fn devices(&self) -> Vec<String> {
        let names = self.density.iter().map(|map| &map.device);
        first_seen(names.chain(self.over_time.iter().map(|over| &over.device)))
    }

    /// The charts over time, device by device: responses, their parts, depth, places.
    fn charts(&self, number: usize, run: &str, most: usize) -> Vec<Chart> {
        let mut devices = self.devices();
        devices.truncate(most);
        let all = devices.iter().enumerate().flat_map(|(place, device)| {
            let id = format!("{number}-{}", place + 1);
            let marks = self.marks.get(device).map_or(&[][..], Vec::as_slice);
            self.of_device(device, &id, run).into_iter().map(|chart| marked(chart, marks))
        });
        all.collect()
    }

    fn of_device(&self, device: &str, id: &str, run: &str) -> Vec<Chart> {
        let maps = |over| {
            let own = self
                .density
                .iter()
                .filter(move |map| (map.device.as_str(), map.over) == (device, over));
            own.map(move |map| density::chart(map, id, run))
        };
        let over_time = self.over_time.iter().filter(|over| over.device == device);
        let over_time = over_time.flat_map(|over| over_time::charts(over, id, run));
        maps(density::Over::Responses).chain(over_time).chain(maps(density::Over::Places)).collect()
    }
}

/// A chart with the times of storms.
fn marked(chart: Chart, marks: &[Band]) -> Chart {
    if marks.is_empty() || !matches!(chart.kind, Kind::Heat | Kind::Over) {
        return chart;
    }
    let method = format!("{} {MARKED}", chart.method);
    Chart { bands: marks.to_vec(), method, ..chart }
}

/// The section; `runs` are those of the sources that have requests.
pub(super) fn section(
    sources: &[Source<'_>],
    runs: &[Named<'_>],
    tables: impl Fn(&Named<'_>) -> Vec<super::table::Table>,
) -> Section {
    let most = most_devices(runs.len());
    let over_time = numbered(sources).flat_map(|(number, name, of)| of.charts(number, name, most));
    let by_class = response::charts(runs);
    let charts = verdict::charts(runs).into_iter().chain(over_time).chain(by_class);
    let sentences = runs.iter().flat_map(|named| {
        response::sentences(named.run.findings).into_iter().map(|text| named.within(&text))
    });
    let opened = numbered(sources).flat_map(|(number, name, of)| folds(number, name, of));
    let said =
        numbered(sources).filter_map(|(.., of)| storms::said(of.storms.len(), of.all_storms));
    Section {
        id: "response".into(),
        title: "What requests went through".into(),
        sentences: sentences.chain(said).chain(left_out(sources, most)).collect(),
        charts: charts.collect(),
        folds: opened.collect(),
        tables: runs.iter().flat_map(tables).collect(),
    }
}

/// That devices are left out, where they are for the page's size.
fn left_out(sources: &[Source<'_>], most: usize) -> Option<String> {
    let is_left_out = sources.iter().any(|source| source.traced.devices().len() > most);
    is_left_out.then(|| match most {
        0 => {
            "There are too many runs to show their devices over time; a page of fewer does.".into()
        }
        _ => "Of each run the device with most requests is shown over time; a page of one run has \
              two."
            .into(),
    })
}

/// Each run with its number, and with its name where there are several.
fn numbered<'a>(
    sources: &'a [Source<'a>],
) -> impl Iterator<Item = (usize, &'a str, &'a Traced)> + use<'a> {
    let is_one = sources.len() == 1;
    sources.iter().enumerate().map(move |(place, source)| {
        (place + 1, if is_one { "" } else { source.info.name.as_str() }, source.traced)
    })
}

fn folds(run: usize, name: &str, of: &Traced) -> Vec<Fold> {
    let fold = |(place, storm): (usize, &Storm)| {
        storms::fold(storm, place + 1, format!("storm-{run}-{}", place + 1), name)
    };
    of.storms.iter().enumerate().map(fold).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::over_time::Bin;

    #[test]
    fn more_runs_have_fewer_devices_over_time() {
        let device = |name: &str| OverTime {
            device: name.into(),
            from_ns: 0.0,
            width_ns: 1.0,
            bins: vec![Bin { depth_mean: 1.0, depth_max: 1.0, ..Bin::default() }],
        };
        let band = Band { from: 0.0, until: 1.0, label: String::new() };
        let of = Traced {
            over_time: vec![device("a"), device("b")],
            marks: [("b".to_owned(), vec![band])].into(),
            ..Traced::default()
        };
        let shown = |runs| of.charts(1, "", most_devices(runs)).len();
        assert_eq!([1, 2, 3, 4].map(shown), [2, 1, 1, 0]);
        let charts = of.charts(1, "", 2);
        assert_eq!([charts[0].bands.len(), charts[1].bands.len()], [0, 1], "each its own marks");
        assert!(charts[1].method.contains(MARKED) && !charts[0].method.contains(MARKED));
    }
}
