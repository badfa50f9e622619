//! Totals since the start, by series: rows of seconds are added, in whatever order they come.
//!
//! Of a metric there are at most ten times as many series as there may be roles. Beyond that, what
//! is new counts as of `others`; a series that was shown once stays.
//!
//! Non-goals: how they are written (`exposition`, `protobuf`) and shown (`server`).

use crate::family::{Family, Series, Value};
use crate::format::Format;
use crate::metric::{Id, Unit};
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
/// Seconds are counted in these, so that fractions of nanoseconds add up exactly.
const PS: i128 = 1_000;

/// A counter. What is added may be less than nothing; what is shown never falls.
#[derive(Debug, Clone, Copy, Default)]
struct Count {
    sum: i128,
    shown: i128,
}

impl Count {
    fn add(&mut self, value: i128) {
        self.sum = self.sum.saturating_add(value);
        self.shown = self.shown.max(self.sum);
    }

    fn value(self, unit: Unit) -> f64 {
        let scale = if unit == Unit::Seconds { 1e12 } else { 1.0 };
        self.shown as f64 / scale
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
    responses: BTreeMap<(Id, Labels), Responses>,
    counts: BTreeMap<(Id, Labels), Count>,
    series: BTreeMap<Id, usize>,
    outstanding: BTreeMap<Labels, u64>,
    build: Labels,
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
        let mut totals = Self {
            most: limits.roles.saturating_mul(SERIES).max(1),
            roles: Roles::new(limits.roles),
            devices: Names::new(DEVICES),
            operations: Names::new(OPERATIONS),
            responses: BTreeMap::new(),
            counts: BTreeMap::new(),
            series: BTreeMap::new(),
            outstanding: BTreeMap::new(),
            build: vec![env!("CARGO_PKG_VERSION").into()],
            texts: Default::default(),
        };
        // What has no labels is there from the start.
        for id in Id::ALL.iter().filter(|id| id.metric().labels.is_empty()) {
            totals.count(*id, Vec::new(), 0);
        }
        for direction in ["back", "forward"] {
            totals.count(Id::ClockSet, vec![direction.into()], 0);
        }
        totals
    }

    /// Adds the rows of a second, and those of earlier seconds that came with them.
    pub fn add(&mut self, rows: &[Rollup]) {
        self.texts = Default::default();
        self.roles.admit(rows.iter().flat_map(times));
        for row in rows {
            match row.counted {
                Counted::Requests => self.add_requests(row),
                Counted::Calls => self.add_calls(row),
                Counted::Waits => self.add_waits(row),
                Counted::Lost => self.add_lost(row),
                Counted::Disk => self.add_disk(row),
                Counted::Watch => self.add_watch(row),
                Counted::Class | Counted::File | Counted::Storm => {}
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

    fn families(&self) -> Vec<Family<'_>> {
        let mut series: BTreeMap<Id, Vec<Series<'_>>> = BTreeMap::new();
        let mut show = |id: Id, labels, value| {
            series.entry(id).or_default().push(Series { labels, value });
        };
        show(Id::Build, &self.build, Value::Number(1.0));
        for ((id, labels), responses) in &self.responses {
            show(*id, labels, Value::Responses(responses));
        }
        for ((id, labels), count) in &self.counts {
            show(*id, labels, Value::Number(count.value(id.metric().unit)));
        }
        for (labels, count) in &self.outstanding {
            show(Id::Outstanding, labels, Value::Number(*count as f64));
        }
        series.into_iter().map(|(id, series)| Family { metric: id.metric(), series }).collect()
    }

    fn add_requests(&mut self, row: &Rollup) {
        let labels = self.labels(row.device.as_deref(), row);
        self.respond(Id::RequestResponse, labels.clone(), row);
        self.count(Id::RequestBytes, labels.clone(), row.bytes.into());
        self.count(Id::RequestsFailed, labels, row.failed.into());
    }

    fn add_calls(&mut self, row: &Rollup) {
        let labels = self.labels(row.device.as_deref().or(row.file_system.as_deref()), row);
        self.respond(Id::Call, labels.clone(), row);
        self.count(Id::CallsFailed, labels, row.failed.into());
    }

    /// Device, operation and role.
    fn labels(&mut self, device: Option<&str>, row: &Rollup) -> Labels {
        let device = self.devices.label(device);
        let operation = self.operations.label(Some(&row.operation));
        vec![device, operation, self.roles.label(row.role.as_deref())]
    }

    fn add_waits(&mut self, row: &Rollup) {
        let device = self.devices.label(row.device.as_deref().or(row.file_system.as_deref()));
        let wait = self.operations.label(Some(&row.operation));
        let labels = vec![device, self.roles.label(row.role.as_deref()), wait];
        self.count(Id::Waits, labels.clone(), row.count.into());
        self.count(Id::WaitSeconds, labels, i128::from(row.sum_ns) * PS);
    }

    fn add_lost(&mut self, row: &Rollup) {
        let device = self.devices.label(row.device.as_deref().or(row.file_system.as_deref()));
        let wait = self.operations.label(Some(&row.operation));
        let cause = match row.cause.as_deref() {
            Some(cause) if Circumstance::of_marked(cause).is_some() => cause.into(),
            cause => self.roles.label(cause),
        };
        let labels = vec![device, self.roles.label(row.role.as_deref()), wait, cause];
        self.count(Id::Lost, labels, i128::from(row.lost_ns) * PS);
    }

    fn add_disk(&mut self, row: &Rollup) {
        let device = self.devices.label(row.device.as_deref());
        let ps = i128::from(row.sum_ns) * PS;
        match row.operation.as_str() {
            operations::BUSY => self.count(Id::DiskBusy, vec![device], ps),
            operations::QUEUED => self.count(Id::DiskQueued, vec![device], ps),
            operation => {
                let labels = vec![device, self.operations.label(Some(operation))];
                self.count(Id::DiskRequests, labels.clone(), row.count.into());
                self.count(Id::DiskBytes, labels.clone(), row.bytes.into());
                self.count(Id::DiskRequestSeconds, labels, ps);
            }
        }
    }

    fn add_watch(&mut self, row: &Rollup) {
        let ps = i128::from(row.sum_ns) * PS;
        let (id, labels, value) = match row.operation.as_str() {
            operations::WATCHED => (Id::Rollup, vec![], ps),
            operations::EVENTS_LOST => (Id::EventsLost, vec![], row.count.into()),
            operations::CPUS => (Id::Cpu, vec![], ps),
            operations::CPUS_IDLE => (Id::CpuIdle, vec![], ps),
            operations::CPUS_STOLEN => (Id::CpuStolen, vec![], ps),
            operations::CLOCK_FORWARD => (Id::ClockSet, vec!["forward".into()], row.count.into()),
            operations::CLOCK_BACK => (Id::ClockSet, vec!["back".into()], row.count.into()),
            operations::NOT_KEPT => (Id::NotKept, vec![], row.count.into()),
            _ => return,
        };
        self.count(id, labels, value);
    }

    /// The last row of each device. One without a row in a second that was watched has none.
    fn set_outstanding(&mut self, rows: &[Rollup]) {
        let of_watch = |row: &&Rollup| row.counted == Counted::Watch;
        let is = |row: &Rollup, operation| row.operation == operation;
        if rows.iter().filter(of_watch).any(|row| is(row, operations::WATCHED)) {
            self.outstanding.values_mut().for_each(|count| *count = 0);
        }
        let mut last: BTreeMap<&Option<String>, &Rollup> = BTreeMap::new();
        for row in rows.iter().filter(of_watch).filter(|row| is(row, operations::OUTSTANDING)) {
            let known = last.entry(&row.device).or_insert(row);
            if known.until_unix_ns <= row.until_unix_ns {
                *known = row;
            }
        }
        let mut counts: BTreeMap<Labels, u64> = BTreeMap::new();
        for row in last.values() {
            *counts.entry(vec![self.devices.label(row.device.as_deref())]).or_default() +=
                row.count;
        }
        self.outstanding.extend(counts);
    }

    fn respond(&mut self, id: Id, labels: Labels, row: &Rollup) {
        let labels = self.place(id, labels, |totals, key| totals.responses.contains_key(key));
        self.responses.entry((id, labels)).or_default().add(row);
    }

    fn count(&mut self, id: Id, labels: Labels, value: i128) {
        let labels = self.place(id, labels, |totals, key| totals.counts.contains_key(key));
        self.counts.entry((id, labels)).or_default().add(value);
    }

    /// The series that counts: its own or, if it is new and there are too many, that of others.
    fn place(
        &mut self,
        id: Id,
        mut labels: Labels,
        is_there: impl Fn(&Self, &(Id, Labels)) -> bool,
    ) -> Labels {
        // The cause goes first, then who lost by it.
        for role in ["cause", "victim", "role"] {
            let key = (id, labels);
            let is_known = is_there(self, &key);
            labels = key.1;
            if is_known {
                return labels;
            }
            if self.series.get(&id).is_none_or(|series| *series < self.most) {
                break;
            }
            let place = id.metric().labels.iter().position(|label| *label == role);
            if let Some(label) = place.and_then(|place| labels.get_mut(place)) {
                *label = OTHERS.into();
            }
        }
        let key = (id, labels);
        if !is_there(self, &key) {
            *self.series.entry(id).or_default() += 1;
        }
        key.1
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
