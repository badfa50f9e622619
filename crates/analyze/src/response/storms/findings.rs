//! What is published of storms: each of them, and of each device what they did to its reads.

use super::super::device::Device;
use super::super::findings::Names;
use super::super::processes::{ProcessId, Processes, label};
use super::detect::Calmness;
use super::grid::Behind;
use super::kinds::KINDS;
use super::period::period;
use super::storm::{Storm, Storms};
use crate::requests::found;
use model::histogram::CoarseHistogram;
use model::record::{Finding, subject_text};
use model::units::show_time_ns;

/// Processes that are told of all storms of a device.
const MOST_BLAMED: usize = 16;

/// What the storms of a trace are told with.
#[derive(Debug)]
pub(in super::super) struct Context<'a> {
    pub(in super::super) names: &'a Names<'a>,
    pub(in super::super) processes: &'a Processes,
    /// Whether processes are told with their cgroups.
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
    let told: Vec<_> =
        KINDS.iter().zip(&device.grids.0).filter(|(_, grid)| grid.is_written()).collect();
    let mut findings = Vec::new();
    for (kind, grid) in told {
        let name = format!("{} to {device_name}", kind.name);
        let storms = Storms::of(grid, context.width_ns, context.arrivals_ns);
        findings.extend(of_kind(&name, &storms, reads, context));
        findings.extend(by_process(&name, &storms, context));
        findings.extend(storms.all.iter().flat_map(|storm| of_storm(&name, storm, context)));
    }
    findings
}

fn subject(by: &str, class: String) -> String {
    subject_text([("by", by.to_owned()), ("class", class)])
}

/// How the storms were told from the rest.
fn method(storms: &Storms) -> String {
    let detection = &storms.detection;
    let window_ns = detection.scale_bins as f64 * storms.width_ns as f64;
    match detection.calmness {
        Some(reason) => format!("none: {}", reason_text(reason)),
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

fn reason_text(reason: Calmness) -> &'static str {
    match reason {
        Calmness::Few => "fewer than 30 writes and flushes",
        Calmness::Short => "a trace too short to tell a storm from a load",
        Calmness::Steady => "a steady load explains what arrived",
        Calmness::Batches => "the load comes in batches all the time",
        Calmness::Faster => "what came faster was answered faster: a loop",
    }
}

/// How many, how often, and what the reads behind them went through, beside those that were not.
fn of_kind(
    name: &str,
    storms: &Storms,
    reads: &CoarseHistogram,
    context: &Context<'_>,
) -> Vec<Finding> {
    let subject = subject("storms", name.to_owned());
    let (all, method) = (&storms.all, method(storms));
    let count = all.len() as u64;
    let of = |quantity, value, count| found(&subject, quantity, value, count, &method);
    let mut findings = vec![of("storms_count", Some(count as f64), count)];
    if all.is_empty() {
        return findings;
    }
    let lasted_ns: f64 = all.iter().map(length_ns).sum();
    let share = (context.span_ns > 0.0).then(|| lasted_ns / context.span_ns * 100.0);
    let starts: Vec<i64> = all.iter().map(|storm| storm.start_ns).collect();
    let period = period(&starts);
    let requests: u64 = all.iter().map(|storm| storm.requests).sum();
    let flushes: u64 = all.iter().map(|storm| storm.flushes).sum();
    findings.extend([
        of("storm_time_percent", share, count),
        of("storm_requests_count", Some(requests as f64), count),
        of("storm_flushes_count", Some(flushes as f64), count),
        of("storm_bytes", Some(all.iter().map(|storm| storm.bytes as f64).sum()), count),
        Finding {
            reason: period.is_none().then(|| "they come at no regular times".to_owned()),
            method: "the longest time of which most gaps between starts are a multiple".into(),
            ..of(
                "storm_period_ns",
                period.as_ref().map(|period| period.period_ns),
                period.as_ref().map_or(count, |period| period.gaps as u64),
            )
        },
    ]);
    let mut behind = Behind::default();
    all.iter().for_each(|storm| behind.merge(&storm.behind));
    findings.extend(of_reads(&subject, &behind, reads));
    findings
}

/// The reads behind storms, and all others.
fn of_reads(subject: &str, behind: &Behind, reads: &CoarseHistogram) -> Vec<Finding> {
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
            "reads that found some of them outstanding in a storm",
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

/// Who asked for the writes and flushes of all storms.
fn by_process(name: &str, storms: &Storms, context: &Context<'_>) -> Vec<Finding> {
    let blamed = storms.blamed();
    let all: u64 = storms.all.iter().map(|storm| storm.requests).sum();
    let told = blamed.iter().filter(|_| context.processes.tell()).take(MOST_BLAMED);
    let each = told.map(|(process, count)| {
        let subject = subject("storms by process", format!("{name}: {}", who(*process, context)));
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
    let by =
        blamed.map_or_else(String::new, |(process, _)| format!(" by {}", who(*process, context)));
    let at = show_time_ns(storm.start_ns as f64);
    let subject = subject("storm", format!("{name} at {at}{by}"));
    let of = |quantity, value: f64| {
        found(&subject, quantity, Some(value), storm.requests, "of its writes and flushes")
    };
    let reads = &storm.behind.response;
    let of_reads = |quantity, value| {
        found(&subject, quantity, value, reads.count(), "reads that found some of them outstanding")
    };
    vec![
        of("storm_start_ns", storm.start_ns as f64),
        of("storm_length_ns", length_ns(storm)),
        of("storm_requests_count", storm.requests as f64),
        of("storm_flushes_count", storm.flushes as f64),
        of("storm_bytes", storm.bytes as f64),
        of("storm_depth_max", storm.depth_max as f64),
        of_reads("reads_behind_count", Some(reads.count() as f64)),
        of_reads("reads_behind_mean_ns", reads.mean_ns()),
        of_reads("reads_behind_max_ns", (reads.count() > 0).then(|| reads.max_ns() as f64)),
    ]
}
