//! The response-time analysis: what Johnson, Smith & Wilson (1986, section 3) drew by hand, in one pass over the rows
//! in their order of arrival, in memory that grows with the devices and with what is outstanding, not with the rows.
//!
//! Their figures are classes of requests here ([`classes`]): by drive, by size, by direction, by origin (their block
//! against raw interface), by block region and by start time ([`slices`]), and their conclusion is one more: reads by
//! the writes that they found outstanding ([`outstanding`]). Rows that lbolt itself made are left out.
//!
//! Non-goals: storms, confidence intervals, other traces to compare with.

mod boxes;
mod classes;
mod outstanding;
mod slices;
mod storms;
mod ticks;

use crate::traffic::{Traffic, found};
use classes::{DIMENSIONS, Dimension};
use hashbrown::HashMap;
use model::record::{Finding, Flags, Op, Request, subject_text};
use outstanding::{Classes, Outstanding};
use slices::Slices;
pub use ticks::TickCount;
use ticks::Ticks;

/// Slices of a device, and of the trace's span, at the most.
const REGIONS: u64 = 32;
const PERIODS: u64 = 32;
/// Regions and periods begin with this width, and double it as often as they must: nine times, and it is a second.
const REGION_BYTES: u64 = 1 << 20;
const PERIOD_NS: u64 = 1_953_125;

/// What the rows so far say of response times.
#[derive(Debug)]
pub struct Response {
    whole: Traffic,
    by: [HashMap<u64, Traffic>; DIMENSIONS.len()],
    regions: HashMap<u32, Slices>,
    periods: Slices,
    behind: [Classes; 2],
    outstanding: HashMap<u32, Outstanding>,
    ticks: Ticks,
    span_ns: Option<(i64, i64)>,
}

impl Default for Response {
    fn default() -> Self {
        Self {
            whole: Traffic::default(),
            by: std::array::from_fn(|_| HashMap::new()),
            regions: HashMap::new(),
            periods: Slices::new(PERIOD_NS, PERIODS),
            behind: Default::default(),
            outstanding: HashMap::new(),
            ticks: Ticks::default(),
            span_ns: None,
        }
    }
}

impl Response {
    /// Adds a row; rows come in the order of their arrival.
    pub fn add(&mut self, row: &Request) {
        if row.flags.contains(Flags::OWN) {
            return;
        }
        self.whole.add(row);
        for (dimension, groups) in DIMENSIONS.iter().zip(&mut self.by) {
            groups.entry((dimension.class)(row)).or_default().add(row);
        }
        if let Some(offset) = row.offset_bytes {
            let regions = self.regions.entry(row.device);
            regions.or_insert_with(|| Slices::new(REGION_BYTES, REGIONS)).add(offset, row);
        }
        let Some(arrival_ns) = row.arrival_ns() else { return };
        let last_ns = row.completed_ns.unwrap_or(arrival_ns).max(arrival_ns);
        let (first, last) = self.span_ns.unwrap_or((arrival_ns, last_ns));
        self.span_ns = Some((first.min(arrival_ns), last.max(last_ns)));
        self.periods.add(u64::try_from(arrival_ns).unwrap_or(0), row);
        if row.parent_id.is_none() {
            self.arrive(row, arrival_ns);
        }
    }

    /// What was asked for finds others outstanding, and is outstanding itself from now on.
    fn arrive(&mut self, row: &Request, arrival_ns: i64) {
        let outstanding = self.outstanding.entry(row.device).or_default();
        let found = outstanding.arrive(row, arrival_ns);
        if row.op == Op::Read {
            self.behind[0].add(found.writes, row);
            self.behind[1].add(found.background_writes, row);
        }
        let asked_ns = row.queued_ns.or(row.started_ns);
        if let Some((from, to)) = asked_ns.zip(row.completed_ns) {
            self.ticks.add(u64::try_from(to.saturating_sub(from)).unwrap_or(0));
        }
    }

    /// How many responses took how many ticks of 1/60 s.
    pub fn ticks(&self) -> Vec<TickCount> {
        self.ticks.counts()
    }

    /// All findings. `name` is a device's.
    pub fn findings(&self, name: impl Fn(u32) -> String) -> Vec<Finding> {
        let span_ns = self.span_ns.map(|(first, last)| (last - first) as f64);
        let class = |by: &str, class: String, traffic: &Traffic| {
            let subject = subject_text([("by", by.to_owned()), ("class", class)]);
            of_class(&subject, traffic, span_ns)
        };
        let mut findings = class("whole", "all".into(), &self.whole);
        for (dimension, groups) in DIMENSIONS.iter().zip(&self.by) {
            for (key, traffic) in told(dimension, groups) {
                findings.extend(class(dimension.name, (dimension.label)(key, &name), traffic));
            }
        }
        let mut devices: Vec<_> = self.regions.iter().collect();
        devices.sort_by_key(|(device, _)| **device);
        for (device, regions) in devices {
            for (range, traffic) in regions.iter() {
                let label = format!("{} {}", name(*device), classes::bytes_label(&range));
                findings.extend(class("region", label, traffic));
            }
        }
        for (range, traffic) in self.periods.iter() {
            findings.extend(class("start", classes::time_label(&range), traffic));
        }
        let names = ["writes outstanding", "background writes outstanding"];
        for (by, behind) in names.into_iter().zip(&self.behind).filter(|(_, b)| b.tell()) {
            for (label, traffic) in behind.iter() {
                findings.extend(class(by, label.to_owned(), traffic));
            }
        }
        findings.extend(self.depth(span_ns));
        findings
    }

    /// The depth over all devices.
    fn depth(&self, span_ns: Option<f64>) -> Vec<Finding> {
        let run = subject_text([("run", "this".to_owned())]);
        let of = |get: fn(&Outstanding) -> u64| self.outstanding.values().map(get);
        let arrivals: u64 = of(|o| o.arrivals).sum();
        let time_ns: f64 = of(|o| o.time_ns).map(|ns| ns as f64).sum();
        let mean = span_ns.filter(|ns| *ns > 0.0).map(|ns| time_ns / ns);
        let seen = of(|o| o.seen).sum::<u64>() as f64;
        let at_arrival = (arrivals > 0).then(|| seen / arrivals as f64);
        let max = of(|o| o.depth_max).max().map(|max| max as f64);
        let answered = "rows that were answered";
        vec![
            found(
                &run,
                "depth_mean",
                mean,
                arrivals,
                "time outstanding over the trace's span, all devices",
            ),
            found(&run, "depth_at_arrival_mean", at_arrival, arrivals, answered),
            found(&run, "depth_max", max, arrivals, answered),
        ]
    }
}

/// The classes of a dimension, in order; none where there is but one that says nothing.
fn told<'a>(dimension: &Dimension, groups: &'a HashMap<u64, Traffic>) -> Vec<(u64, &'a Traffic)> {
    let mut classes: Vec<_> = groups.iter().map(|(key, traffic)| (*key, traffic)).collect();
    classes.sort_by_key(|(key, _)| *key);
    let is_silent = matches!(classes.as_slice(), [(key, _)] if dimension.silent == Some(*key));
    if is_silent { vec![] } else { classes }
}

/// What is found of a class: what a trace's summary says, and the whole of its distribution.
fn of_class(subject: &str, traffic: &Traffic, span_ns: Option<f64>) -> Vec<Finding> {
    let mut findings = traffic.findings(subject, span_ns);
    findings.extend(traffic.more_findings(subject));
    findings.extend(boxes::findings(subject, traffic.response.as_deref()));
    findings
}

#[cfg(test)]
mod tests;
