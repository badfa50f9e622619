//! What the analysis publishes: every class of requests in the same figures, then each device's
//! depth, flow and use.

use super::classes::Combination;
use super::device::{Device, Times};
use super::names::Names;
use super::outstanding::{BEHIND, Outstanding};
use super::processes::{Process, label};
use super::storms::{self, Context, StormSpan};
use super::{Response, boxes, classes, line};
use crate::requests::{SmallTraffic, Traffic, found};
use classes::{DIMENSIONS, bytes_label, time_label};
use model::histogram::{Buckets, CoarseHistogram, Store};
use model::record::{Finding, Op, Subject};
use std::collections::BTreeMap;

/// Processes and cgroups that are known one by one, by the time that their requests took.
const MOST_WHO: usize = 32;
/// Devices whose regions are known.
const MOST_DEVICES: usize = 16;

/// What every class is held against.
#[derive(Debug, Clone, Copy)]
struct Frame {
    whole_ns: f64,
    span_ns: Option<f64>,
    /// Whether some requests do not tell their response, but their device time.
    has_alone: bool,
}

impl Response {
    /// All findings. What is still outstanding is completed first.
    pub fn findings(&mut self, names: &Names<'_>) -> Vec<Finding> {
        self.settle();
        self.complete();
        let whole = self.whole();
        let frame = Frame {
            whole_ns: whole.took_sum_ns(),
            span_ns: self.span_ns(),
            has_alone: self.totals.joint.by(|_| Some(())).iter().any(|(_, all)| all.alone() > 0),
        };
        let mut findings = frame.class("whole", "all", &whole);
        findings.extend(self.by_response_time(&whole));
        findings.extend(self.by_dimension(names, frame));
        findings.extend(self.by_who(names, frame));
        let is_summed = self.devices.iter().any(Device::is_summed);
        for (kind, device, area, traffic) in self.areas.iter().filter(|_| !is_summed) {
            let device = device.map(|device| format!("{} ", (names.device)(device)));
            let label = format!("{}{area}", device.unwrap_or_default());
            findings.extend(frame.class(kind, &label, traffic));
        }
        findings.extend(self.by_region(names, frame));
        for (range, traffic) in self.totals.periods.iter() {
            findings.extend(frame.class("start", &time_label(&range), traffic));
        }
        for (kind, by) in BEHIND.into_iter().enumerate().filter(|_| !is_summed) {
            let classes = self.totals.behind.by(kind);
            findings.extend(classes.iter().flat_map(|(label, t)| frame.class(by, label, t)));
        }
        findings.extend(line::findings(&self.totals.joint));
        let beneath = self.totals.joint.by(|c| c.is_beneath.then_some(c.device));
        let beneath: BTreeMap<u32, u64> =
            beneath.iter().map(|(device, traffic)| (*device, traffic.requested())).collect();
        for device in self.devices.sorted() {
            let subject = Subject::class("device", &(names.device)(device.number));
            let span_ns = device.times.map_or(frame.span_ns, |times| Some(times.span_ns()));
            findings.extend(of_device(&subject, device, span_ns));
            let count = beneath.get(&device.number).copied().unwrap_or(0);
            let method = "rows with above_id";
            let told = || found(&subject, "beneath_count", Some(count as f64), count, method);
            findings.extend((count > 0).then(told));
        }
        findings.extend(self.of_run(frame.span_ns));
        findings.extend(self.storms(names));
        findings
    }

    /// The storms of each device that was written to.
    fn storms(&self, names: &Names<'_>) -> Vec<Finding> {
        let with_cgroup = self.totals.processes.tell_cgroups();
        let mut reads: BTreeMap<u32, CoarseHistogram> = BTreeMap::new();
        for (device, traffic) in self.totals.joint.by(|c| (c.op == Op::Read).then_some(c.device)) {
            let reads = reads.entry(device).or_default();
            traffic.took().iter().for_each(|took| reads.merge(took));
        }
        let none = CoarseHistogram::default();
        let of_device = |device: &Device| {
            let Some(times) = device.times.or(self.times()) else { return Vec::new() };
            let context = Context {
                names,
                processes: &self.totals.processes,
                with_cgroup,
                width_ns: self.resolution.width_ns(),
                arrivals_ns: (times.first_ns, times.arrived_ns),
                span_ns: times.span_ns(),
            };
            storms::findings(device, reads.get(&device.number).unwrap_or(&none), &context)
        };
        self.devices.sorted().into_iter().flat_map(of_device).collect()
    }

    /// Where the storms of all devices lie.
    pub fn storm_spans(&mut self) -> Vec<StormSpan> {
        self.settle();
        let Some(arrivals_ns) = self.first_ns.zip(self.arrived_ns) else { return Vec::new() };
        let width_ns = self.resolution.width_ns();
        let devices = self.devices.sorted().into_iter();
        devices.flat_map(|device| storms::spans(device, width_ns, arrivals_ns)).collect()
    }

    pub(super) fn span_ns(&self) -> Option<f64> {
        self.told_span_ns.or_else(|| self.times().map(Times::span_ns))
    }

    fn whole(&self) -> Traffic {
        let whole = self.totals.joint.by(|c| (!c.is_beneath).then_some(()));
        whole.into_iter().next().map(|(_, traffic)| traffic).unwrap_or_default()
    }

    /// What all requests have something of.
    fn by_dimension(&self, names: &Names<'_>, frame: Frame) -> Vec<Finding> {
        let mut findings = Vec::new();
        for dimension in &DIMENSIONS {
            let is_in = |c: &Combination| dimension.is_of_device || !c.is_beneath;
            let classes = self.totals.joint.by(|c| is_in(c).then(|| (dimension.class)(c)));
            let is_silent =
                matches!(classes.as_slice(), [(key, _)] if dimension.silent == Some(*key));
            for (key, traffic) in classes.iter().filter(|_| !is_silent) {
                let label = (dimension.label)(*key, names.device);
                findings.extend(frame.class(dimension.name, &label, traffic));
            }
        }
        findings
    }

    /// By process and by cgroup, those whose requests took longest first.
    fn by_who(&self, names: &Names<'_>, frame: Frame) -> Vec<Finding> {
        if !self.totals.processes.tell() {
            return Vec::new();
        }
        let with_cgroup = self.totals.processes.tell_cgroups();
        let processes = longest(self.totals.processes.iter().collect());
        let cgroups = self.totals.processes.by_cgroup();
        let cgroups = longest(cgroups.iter().map(|(cgroup, t)| (*cgroup, t)).collect());
        // One cgroup that all are in tells nothing.
        let cgroups = if with_cgroup { cgroups } else { Vec::new() };
        let of_process = |(process, traffic): (Process, &SmallTraffic)| {
            frame.class("process", &label(&process, names, with_cgroup), traffic)
        };
        let of_cgroup = |(cgroup, traffic)| frame.class("cgroup", &(names.cgroup)(cgroup), traffic);
        let mut findings: Vec<Finding> = processes.into_iter().flat_map(of_process).collect();
        findings.extend(cgroups.into_iter().flat_map(of_cgroup));
        findings
    }

    fn by_region(&self, names: &Names<'_>, frame: Frame) -> Vec<Finding> {
        let requested =
            |device: &Device| device.regions.iter().map(|(_, t)| t.requested()).sum::<u64>();
        let mut devices: Vec<(u64, &Device)> =
            self.devices.iter().filter(|d| !d.is_summed()).map(|d| (requested(d), d)).collect();
        devices.sort_by_key(|(requested, device)| (std::cmp::Reverse(*requested), device.number));
        devices.truncate(MOST_DEVICES);
        devices.sort_by_key(|(_, device)| device.number);
        let of_device = |device: &Device| {
            let name = (names.device)(device.number);
            let label = |range| format!("{name} {}", bytes_label(&range));
            let regions = device.regions.iter();
            regions
                .flat_map(|(range, t)| frame.class("region", &label(range), t))
                .collect::<Vec<_>>()
        };
        devices.into_iter().flat_map(|(_, device)| of_device(device)).collect()
    }

    /// The first figure of the paper: how many responses took how long, on an axis of 1, 2, 5, 10.
    fn by_response_time(&self, whole: &Traffic) -> Vec<Finding> {
        let Some(response) = whole.took() else { return Vec::new() };
        let bounds = || (0..20).flat_map(|e| [1, 2, 5].map(|n| 10u64.saturating_pow(e) * n));
        let bounds: Vec<u64> = std::iter::once(0).chain(bounds().take(57)).collect();
        let mut counts = vec![0; bounds.len()];
        for (ns, count) in response.values() {
            let class = bounds.partition_point(|bound| *bound <= ns).saturating_sub(1);
            if let Some(counted) = counts.get_mut(class) {
                *counted += count;
            }
        }
        let is_known = |place: &usize| counts.get(*place).is_some_and(|count| *count > 0);
        let told: Vec<usize> = (0..counts.len()).filter(is_known).collect();
        let (Some(first), Some(last)) = (told.first(), told.last()) else { return Vec::new() };
        (*first..=*last)
            .filter_map(|place| {
                let range = *bounds.get(place)?..*bounds.get(place + 1)?;
                let subject = Subject::class("response time", &time_label(&range));
                let count = *counts.get(place)?;
                let method = "completions by their response (else their device time), within 0.4 %";
                Some(found(&subject, "completed_count", Some(count as f64), count, method))
            })
            .collect()
    }

    /// Over all devices.
    fn of_run(&self, span_ns: Option<f64>) -> Vec<Finding> {
        let run = Subject::this_run();
        let outstanding: Vec<&Outstanding> = self.devices.iter().map(|d| &d.outstanding).collect();
        let mut findings = depth(&run, &outstanding, span_ns);
        let depth_time_ns: f64 = outstanding.iter().map(|o| o.depth_time_ns as f64).sum();
        // The depth is of each layer's requests.
        let whole = self.totals.joint.by(|_| Some(())).into_iter().next();
        let whole = whole.map(|(_, traffic)| traffic).unwrap_or_default();
        // Where some completions tell no response, the two are not of the same requests.
        let responses = whole.response.as_ref().map_or(0, Buckets::count);
        let sum_ns = whole.response_sum_ns();
        let is_known = responses > 0 && responses == whole.completed() && sum_ns > 0.0;
        findings.push(found(
            &run,
            "little_ratio",
            is_known.then(|| depth_time_ns / sum_ns),
            responses,
            "depth by the clock over arrival rate times mean response",
        ));
        // Where none is completed, the trace does not tell completions.
        let unanswered = self.unanswered.finding(self.last_ns).filter(|_| whole.completed() > 0);
        findings.extend(unanswered);
        let unsorted = Some(self.unsorted as f64);
        findings.push(found(&run, "late_count", unsorted, 1, "while the rows were analysed"));
        let reversed = Some(self.reversed as f64);
        findings.push(found(&run, "reversed_count", reversed, 1, "their times are left out"));
        findings
    }
}

/// Those whose requests took longest, or with most requests where no time is known.
fn longest<K>(mut classes: Vec<(K, &SmallTraffic)>) -> Vec<(K, &SmallTraffic)> {
    let weight = |traffic: &SmallTraffic| (traffic.took_sum_ns(), traffic.requested());
    classes.sort_by(|a, b| {
        let (a, b) = (weight(a.1), weight(b.1));
        b.0.total_cmp(&a.0).then(b.1.cmp(&a.1))
    });
    classes.truncate(MOST_WHO);
    classes
}

impl Frame {
    /// What is found of a class: what a trace's summary says, its share, and the whole of its
    /// distribution.
    fn class<S: Store>(self, by: &str, class: &str, traffic: &Traffic<S>) -> Vec<Finding> {
        let subject = Subject::class(by, class);
        let mut findings = traffic.findings(&subject, self.span_ns);
        let share = traffic.took_sum_ns() / self.whole_ns * 100.0;
        let share = (self.whole_ns > 0.0).then_some(share);
        let method = "sum of the class's responses (else device times) over that of all";
        findings.push(found(&subject, "time_percent", share, traffic.completed(), method));
        let boxes = boxes::of_responses(&subject, traffic.response.as_ref()).into_iter();
        findings.extend(boxes.map(|finding| traffic.judged(finding)));
        if self.has_alone {
            findings.extend(boxes::of_device(&subject, traffic.done().as_ref()));
        }
        findings
    }
}

/// The depth over devices.
fn depth(subject: &Subject, outstanding: &[&Outstanding], span_ns: Option<f64>) -> Vec<Finding> {
    let summed: u64 = outstanding.iter().map(|o| o.summed).sum();
    let arrivals = summed + outstanding.iter().map(|o| o.arrivals).sum::<u64>();
    let time_ns: f64 = outstanding.iter().map(|o| o.depth_time_ns as f64).sum();
    // Of requests whose completion is not told, nobody knows how many were outstanding.
    let is_known = arrivals > 0;
    let mean = span_ns.filter(|ns| is_known && *ns > 0.0).map(|ns| time_ns / ns);
    let seen = outstanding.iter().map(|o| o.seen).sum::<u64>() as f64;
    // What sums found in flight is not known.
    let at_arrival = (arrivals > 0 && summed == 0).then(|| seen / arrivals as f64);
    let max = outstanding.iter().map(|o| o.depth_max).max().map(|max| max as f64);
    let max = max.filter(|_| is_known && summed == 0);
    let completed = "rows that were completed";
    let of_time = "by a clock over the trace's span";
    vec![
        found(subject, "depth_mean", mean, arrivals, of_time),
        found(subject, "depth_at_arrival_mean", at_arrival, arrivals, completed),
        found(subject, "depth_max", max, arrivals, completed),
    ]
}

/// A device's depth, use and flow.
fn of_device(subject: &Subject, device: &Device, span_ns: Option<f64>) -> Vec<Finding> {
    let mut findings = depth(subject, &[&device.outstanding], span_ns);
    let busy_ns = device.outstanding.busy_ns as f64;
    let is_known = !device.is_summed();
    let (flow, arrivals) = (&device.flow, device.outstanding.arrivals);
    let busy = span_ns.filter(|ns| is_known && arrivals > 0 && *ns > 0.0);
    let busy = busy.map(|ns| busy_ns / ns * 100.0);
    let seeks = if is_known { flow.seeks.count() } else { 0 };
    let seek = |value: Option<f64>| value.filter(|_| seeks > 0);
    let sequential = seek(Some(flow.sequential as f64 / seeks.max(1) as f64 * 100.0));
    let median = seek(flow.seeks.quantile_ns(0.5).map(|bytes| bytes as f64));
    let ends = "end of one to begin of the next, in order of arrival";
    let busy_method = "time with something outstanding over the trace's span";
    findings.extend([
        found(subject, "busy_percent", busy, arrivals, busy_method),
        found(
            subject,
            "arrival_variation_ratio",
            flow.arrival_variation().filter(|_| is_known),
            flow.steps(),
            "standard deviation of the times between arrivals over their mean",
        ),
        found(subject, "sequential_percent", sequential, seeks, ends),
        found(subject, "seek_p50_bytes", median, seeks, ends),
        found(subject, "seek_mean_bytes", seek(flow.seeks.mean_ns()), seeks, ends),
    ]);
    findings
}
