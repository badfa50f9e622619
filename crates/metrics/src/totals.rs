//! Totals since the start, by series: rows of seconds are added, in whatever order they come.
//!
//! Of a metric there are at most ten times as many series as there may be roles. Beyond that, what
//! is new counts as of `others`; a series that was shown once stays.
//!
//! Non-goals: which rows a metric adds up (`metric`), how totals are written (`exposition`,
//! `protobuf`) and shown (`server`).

use crate::family::{Family, Series, Value};
use crate::format::Format;
use crate::metric::{Id, Kind, Metric, Unit};
use crate::names::{Names, OTHERS, Roles};
use crate::responses::Responses;

use model::circumstance::Circumstance;
use model::record::{Counted, Rollup, operations};
use server::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, OnceLock};

/// How many names there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Roles with a name of their own; what others do is of `others`.
    pub roles: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { roles: 200 }
    }
}

/// Devices with a name of their own.
const DEVICES: usize = 256;
/// Kinds of operations and waits.
const OPERATIONS: usize = 64;
/// Series of a metric, for each role that there may be.
const SERIES: usize = 10;

/// What a series adds up.
#[derive(Debug)]
enum Sum {
    /// What is added may be less than nothing; what is shown never falls.
    Number {
        sum: i128,
        shown: i128,
    },
    Responses(Box<Responses>),
}

impl Sum {
    fn of(kind: Kind) -> Self {
        match kind {
            Kind::Histogram => Self::Responses(Box::default()),
            Kind::Counter | Kind::Gauge | Kind::Info => Self::number(0),
        }
    }

    fn number(value: i128) -> Self {
        Self::Number { sum: value, shown: value }
    }

    fn add(&mut self, row: &Rollup, metric: &Metric) {
        match self {
            Self::Number { sum, shown } => {
                *sum = sum.saturating_add((metric.source.value)(row));
                *shown = (*shown).max(*sum);
            }
            Self::Responses(responses) => responses.add(row),
        }
    }

    fn value(&self, unit: Unit) -> Value<'_> {
        let scale = if unit == Unit::Seconds { 1e9 } else { 1.0 };
        match self {
            Self::Number { shown, .. } => Value::Number(*shown as f64 / scale),
            Self::Responses(responses) => Value::Responses(responses),
        }
    }
}

type Labels = Vec<Arc<str>>;

/// Of who adds to them and who shows them.
pub type Shared = Arc<Mutex<Totals>>;

/// Totals since the start.
#[derive(Debug)]
pub struct Totals {
    most: usize,
    roles: Roles,
    devices: Names,
    operations: Names,
    sums: BTreeMap<(Id, Labels), Sum>,
    series: BTreeMap<Id, usize>,
    /// The text in each format, if it was requested since the last rows were added.
    texts: [OnceLock<Bytes>; Format::COUNT],
}

impl Default for Totals {
    fn default() -> Self {
        Self::new(Limits::default())
    }
}

impl Totals {
    /// Nothing yet.
    pub fn new(limits: Limits) -> Self {
        let mut sums =
            BTreeMap::from([((Id::Build, vec![env!("CARGO_PKG_VERSION").into()]), Sum::number(1))]);
        // What has no labels is there from the start.
        let plain = Id::ALL.iter().filter(|id| id.metric().labels.is_empty());
        sums.extend(plain.map(|id| ((*id, vec![]), Sum::number(0))));
        let directions =
            ["back", "forward"].map(|direction| (Id::ClockSet, vec![direction.into()]));
        sums.extend(directions.map(|series| (series, Sum::number(0))));
        Self {
            most: limits.roles.saturating_mul(SERIES).max(1),
            roles: Roles::new(limits.roles),
            devices: Names::new(DEVICES),
            operations: Names::new(OPERATIONS),
            sums,
            series: BTreeMap::new(),
            texts: Default::default(),
        }
    }

    /// Adds the rows of a second, and those of earlier seconds that came with them.
    pub fn add(&mut self, rows: &[Rollup]) {
        self.texts = Default::default();
        self.roles.admit(rows.iter().flat_map(times));
        let is_sum = |id: &&Id| matches!(id.metric().kind, Kind::Counter | Kind::Histogram);
        for row in rows {
            for id in Id::ALL.iter().filter(is_sum) {
                let metric = id.metric();
                if metric.source.includes(row) {
                    let labels = metric.labels.iter().map(|label| self.label(label, row));
                    let labels = labels.collect();
                    self.sum(*id, labels).add(row, metric);
                }
            }
        }
        self.set_outstanding(rows);
    }

    /// All of them in a format. The text may be megabytes, so it is written once and shared until
    /// more rows are added.
    pub fn text(&self, format: Format) -> Bytes {
        let text = || format.write(&self.families()).into();
        self.texts[format as usize].get_or_init(text).clone()
    }

    /// All series by their metrics.
    pub(crate) fn families(&self) -> Vec<Family<'_>> {
        let mut families: Vec<Family<'_>> = Vec::new();
        for ((id, labels), sum) in &self.sums {
            let metric = id.metric();
            let series = Series { labels, value: sum.value(metric.unit) };
            match families.last_mut().filter(|family| family.metric.name == metric.name) {
                Some(family) => family.series.push(series),
                None => families.push(Family { metric, series: vec![series] }),
            }
        }
        families
    }

    /// The value of a label of a row.
    fn label(&mut self, label: &str, row: &Rollup) -> Arc<str> {
        match (label, row.cause.as_deref()) {
            ("device", _) => {
                self.devices.label(row.device.as_deref().or(row.file_system.as_deref()))
            }
            ("role" | "victim", _) => self.roles.label(row.role.as_deref()),
            ("cause", Some(cause)) if Circumstance::of_marked(cause).is_some() => cause.into(),
            ("cause", cause) => self.roles.label(cause),
            ("direction", _) if row.operation == operations::CLOCK_BACK => "back".into(),
            ("direction", _) => "forward".into(),
            _ => self.operations.label(Some(&row.operation)),
        }
    }

    /// The last row of each device. One without a row in a second that was watched has none.
    fn set_outstanding(&mut self, rows: &[Rollup]) {
        let of = |id: Id| rows.iter().filter(move |row| id.metric().source.includes(row));
        if of(Id::Rollup).next().is_some() {
            let old = self.sums.iter_mut().filter(|((id, _), _)| *id == Id::Outstanding);
            old.for_each(|(_, sum)| *sum = Sum::number(0));
        }
        let mut last: BTreeMap<&Option<String>, &Rollup> = BTreeMap::new();
        for row in of(Id::Outstanding) {
            let known = last.entry(&row.device).or_insert(row);
            if known.until_unix_ns <= row.until_unix_ns {
                *known = row;
            }
        }
        let mut counts: BTreeMap<Labels, i128> = BTreeMap::new();
        for row in last.values() {
            *counts.entry(vec![self.label("device", row)]).or_default() += i128::from(row.count);
        }
        let shown = |(labels, count)| ((Id::Outstanding, labels), Sum::number(count));
        self.sums.extend(counts.into_iter().map(shown));
    }

    /// The sum of a series: its own or, if it is new and there are too many, that of others.
    fn sum(&mut self, id: Id, labels: Labels) -> &mut Sum {
        let (metric, mut key) = (id.metric(), (id, labels));
        // The cause goes first, then who lost by it.
        for role in ["cause", "victim", "role"] {
            let is_full = self.series.get(&id).is_some_and(|series| *series >= self.most);
            if !is_full || self.sums.contains_key(&key) {
                break;
            }
            let place = metric.labels.iter().position(|label| *label == role);
            if let Some(label) = place.and_then(|place| key.1.get_mut(place)) {
                *label = OTHERS.into();
            }
        }
        self.sums.entry(key).or_insert_with(|| {
            *self.series.entry(id).or_default() += 1;
            Sum::of(metric.kind)
        })
    }
}

/// Who had how much time in a row.
fn times(row: &Rollup) -> impl Iterator<Item = (&str, u64)> {
    let ns = match row.counted {
        Counted::Requests | Counted::Calls | Counted::Waits => row.sum_ns,
        Counted::Lost => row.lost_ns.unsigned_abs(),
        Counted::Class | Counted::Disk | Counted::File | Counted::Storm | Counted::Watch => 0,
    };
    let cause = row.cause.as_deref().filter(|cause| Circumstance::of_marked(cause).is_none());
    let roles: BTreeSet<&str> = row.role.as_deref().into_iter().chain(cause).collect();
    roles.into_iter().filter(|role| !role.is_empty()).map(move |role| (role, ns))
}

#[cfg(test)]
mod tests;
