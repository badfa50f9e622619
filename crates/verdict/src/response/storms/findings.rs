//! What is published of storms: each of them, and of each device what they did to its reads.

use super::super::device::Device;
use super::super::names::Names;
use super::super::processes::{ProcessId, Processes, label};
use super::detect::Calmness;
use super::grid::Behind;
use super::period::{Period, period};
use super::storm::{Storm, Storms};
use crate::requests::found;
use model::doubt::{Code, Doubt, Judgement};
use model::histogram::CoarseHistogram;
use model::record::{Finding, Subject};
use model::units::{show_moment, show_time_ns};

/// Processes that are told of all storms of a device.
const MOST_BLAMED: usize = 16;

pub(in super::super) struct Context<'a> {
    pub(in super::super) names: &'a Names<'a>,
    pub(in super::super) processes: &'a Processes,
    /// Whether processes are known with their cgroups.
    pub(in super::super) with_cgroup: bool,
    pub(in super::super) width_ns: i64,
    /// The first and the last arrival of the whole trace.
    pub(in super::super) arrivals_ns: (i64, i64),
    pub(in super::super) span_ns: f64,
}

/// The findings of a device's storms. `reads` are the responses of all its reads.
pub(in super::super) fn findings(
    device: &Device,
    reads: &CoarseHistogram,
    context: &Context<'_>,
) -> Vec<Finding> {
    let device_name = (context.names.device)(device.number);
    let mut findings = Vec::new();
    for (kind, grid) in device.grids.written() {
        let name = format!("{} to {device_name}", kind.name);
        if device.is_summed() {
            findings.push(not_looked_for(&name));
            continue;
        }
        let storms = Storms::of(grid, context.width_ns, context.arrivals_ns);
        findings.extend(of_kind(&name, &storms, reads, context));
        findings.extend(by_process(&name, &storms, context));
        findings.extend(storms.all.iter().flat_map(|storm| of_storm(&name, storm, context)));
    }
    findings
}

/// Of requests that are known as sums alone, it is not told when each one came.
fn not_looked_for(name: &str) -> Finding {
    let finding = found(&Subject::class("storms", name), "storms_count", None, 0, "none");
    finding.judged(Judgement::not_measured(Doubt::new(Code::StormsSummed, [])))
}

/// How the storms were distinguished from the rest.
fn method(storms: &Storms) -> String {
    let detection = &storms.detection;
    let window_ns = detection.scale_bins as f64 * storms.width_ns as f64;
    match detection.calmness {
        Some(_) => "none".into(),
        None => format!(
            "at least {} writes and flushes in {}, which a steady load of {:.3} in that time (and \
             its own variation) \
             does not explain: negative binomial, false alarms 1 % a trace",
            detection.window_least,
            show_time_ns(window_ns),
            detection.calm_per_bin * detection.scale_bins as f64,
        ),
    }
}

fn calm(reason: Calmness) -> Doubt {
    let code = match reason {
        Calmness::Few => Code::StormsFew,
        Calmness::Short => Code::StormsShort,
        Calmness::Steady => Code::StormsSteady,
        Calmness::Batches => Code::StormsBatches,
        Calmness::Faster => Code::StormsFaster,
    };
    Doubt::new(code, [])
}

/// How many, how often, and what the reads behind them went through, beside those that were not.
fn of_kind(
    name: &str,
    storms: &Storms,
    reads: &CoarseHistogram,
    context: &Context<'_>,
) -> Vec<Finding> {
    let subject = Subject::class("storms", name);
    let (all, method) = (&storms.all, method(storms));
    let count = all.len() as u64;
    let of = |quantity, value, count| found(&subject, quantity, value, count, &method);
    let doubts = storms.detection.calmness.map(calm).into_iter().collect();
    let mut findings = vec![Finding { doubts, ..of("storms_count", Some(count as f64), count) }];
    if all.is_empty() {
        return findings;
    }
    let lasted_ns: f64 = all.iter().map(length_ns).sum();
    let share = (context.span_ns > 0.0).then(|| lasted_ns / context.span_ns * 100.0);
    let starts: Vec<i64> = all.iter().map(|storm| storm.start_ns).collect();
    let period = period(&starts);
    let requests: u64 = all.iter().map(|storm| storm.whole.requests).sum();
    let flushes: u64 = all.iter().map(|storm| storm.whole.flushes).sum();
    findings.extend([
        of("storm_time_percent", share, count),
        of("storm_requests_count", Some(requests as f64), count),
        of("storm_flushes_count", Some(flushes as f64), count),
        of("storm_bytes", Some(all.iter().map(|storm| storm.whole.bytes as f64).sum()), count),
        of_period(&subject, period.as_ref(), count),
    ]);
    let mut behind = Behind::default();
    all.iter().for_each(|storm| behind.merge(&storm.whole.behind));
    findings.extend(of_reads(&subject, &behind, reads));
    findings
}

/// How often they come.
fn of_period(subject: &Subject, period: Option<&Period>, count: u64) -> Finding {
    const METHOD: &str = "the longest time of which most gaps between starts are a multiple";
    let (name, count) = ("storm_period_ns", period.map_or(count, |period| period.gaps as u64));
    let irregular = || Judgement::not_measured(Doubt::new(Code::NoRegularTimes, []));
    let value = period.map(|period| period.period_ns);
    let finding = Finding::new(subject, name, value, count, METHOD);
    if value.is_some() { finding } else { finding.judged(irregular()) }
}

fn of_reads(subject: &Subject, behind: &Behind, reads: &CoarseHistogram) -> Vec<Finding> {
    let apart = reads.without(&behind.response);
    let (inside, outside) = (&behind.response, &apart);
    let at =
        |histogram: &CoarseHistogram, quantile| histogram.quantile_ns(quantile).map(|ns| ns as f64);
    let ratio = at(inside, 0.99).zip(at(outside, 0.99).filter(|ns| *ns > 0.0));
    let of = |quantity, value, count| {
        found(
            subject,
            quantity,
            value,
            count,
            "reads that found some of them outstanding in a burst",
        )
    };
    let apart_of = |quantity, value| {
        found(subject, quantity, value, outside.count(), "all other reads of the device")
    };
    let queue = (behind.waits_response_ns > 0)
        .then(|| behind.wait_ns as f64 / behind.waits_response_ns as f64 * 100.0);
    let means = inside.mean_ns().filter(|ns| *ns > 0.0).zip(outside.mean_ns());
    let excess = means.map(|(inside, outside)| (inside - outside) / inside * 100.0);
    vec![
        of("reads_behind_count", Some(inside.count() as f64), inside.count()),
        of("reads_behind_mean_ns", inside.mean_ns(), inside.count()),
        of("reads_behind_p50_ns", at(inside, 0.5), inside.count()),
        of("reads_behind_p99_ns", at(inside, 0.99), inside.count()),
        of("reads_behind_wait_percent", queue, behind.waits),
        of("reads_behind_excess_percent", excess, inside.count()),
        apart_of("reads_apart_count", Some(outside.count() as f64)),
        apart_of("reads_apart_mean_ns", outside.mean_ns()),
        apart_of("reads_apart_p50_ns", at(outside, 0.5)),
        apart_of("reads_apart_p99_ns", at(outside, 0.99)),
        of(
            "reads_behind_p99_ratio",
            ratio.map(|(inside, outside)| inside / outside),
            inside.count(),
        ),
    ]
}

/// Who requested the writes and flushes of all storms.
fn by_process(name: &str, storms: &Storms, context: &Context<'_>) -> Vec<Finding> {
    let blamed = storms.blamed();
    let all: u64 = storms.all.iter().map(|storm| storm.whole.requests).sum();
    let told = blamed.iter().filter(|_| context.processes.tell()).take(MOST_BLAMED);
    let each = told.map(|(process, count)| {
        let subject =
            Subject::class("storms by process", &format!("{name}: {}", who(*process, context)));
        let share = (all > 0).then(|| *count as f64 / all as f64 * 100.0);
        found(&subject, "blame_percent", share, *count, "its share of their writes and flushes")
    });
    each.collect()
}

fn who(process: ProcessId, context: &Context<'_>) -> String {
    label(&context.processes.get(process), context.names, context.with_cgroup)
}

fn length_ns(storm: &Storm) -> f64 {
    storm.end_ns.saturating_sub(storm.start_ns) as f64
}

fn of_storm(name: &str, storm: &Storm, context: &Context<'_>) -> Vec<Finding> {
    let blamed = storm.blamed.first().filter(|_| context.processes.tell());
    let by = blamed
        .map_or_else(String::new, |(process, _)| format!(" by process {}", who(*process, context)));
    let at = show_moment(storm.start_ns as f64);
    let subject = Subject::class("storm", &format!("{name} at {at}{by}"));
    let of = |quantity, value: f64| {
        found(&subject, quantity, Some(value), storm.whole.requests, "of its writes and flushes")
    };
    let reads = &storm.whole.behind.response;
    let of_reads = |quantity, value| {
        found(&subject, quantity, value, reads.count(), "reads that found some of them outstanding")
    };
    vec![
        of("storm_start_ns", storm.start_ns as f64),
        of("storm_length_ns", length_ns(storm)),
        of("storm_requests_count", storm.whole.requests as f64),
        of("storm_flushes_count", storm.whole.flushes as f64),
        of("storm_bytes", storm.whole.bytes as f64),
        of("storm_depth_max", storm.whole.depth_max as f64),
        of_reads("reads_behind_count", Some(reads.count() as f64)),
        of_reads("reads_behind_mean_ns", reads.mean_ns()),
        of_reads("reads_behind_max_ns", (reads.count() > 0).then(|| reads.max_ns() as f64)),
    ]
}
