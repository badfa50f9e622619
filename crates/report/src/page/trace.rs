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
const MARKED: &str = "Above it: when there were storms; numbers are those that are opened below.";

impl Traced {
    /// The charts over time, device by device: responses, their parts, depth, places.
    fn charts(&self, number: usize, run: &str) -> Vec<Chart> {
        let mut devices: Vec<&str> = Vec::new();
        let names = self.density.iter().map(|map| &map.device);
        for device in names.chain(self.over_time.iter().map(|over| &over.device)) {
            if !devices.contains(&device.as_str()) {
                devices.push(device);
            }
        }
        let all = devices.iter().enumerate().flat_map(|(place, device)| {
            let id = format!("{number}-{}", place + 1);
            let marks = self.marks.get(*device).map_or(&[][..], Vec::as_slice);
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
    let over_time = numbered(sources).flat_map(|(number, name, of)| of.charts(number, name));
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
        sentences: sentences.chain(said).collect(),
        charts: charts.collect(),
        folds: opened.collect(),
        tables: runs.iter().flat_map(tables).collect(),
    }
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
