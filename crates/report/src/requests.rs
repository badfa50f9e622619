//! What a trace holds, as a table: each device's requests by operation, the parts of their response
//! time, and a line of what is missing from them or doubtful.
//!
//! Non-goals: counting (the findings hold the numbers), printing.

use crate::doubt::sentence;
use crate::history::stamp;
use crate::listing::Listing;
use crate::number::{show_bytes, significant};
use crate::rows::{Column, Row, plain, rows};
use crate::sheet::{Sheet, lines, markdown_paragraphs};
use crate::words::hang;
use model::record::{Finding, Op, Subject, Verdict};
use model::units::{counted, show_time_ns};

const COLUMNS: &[Column] = &[
    ("", "requests", "requested_count", show_count),
    ("", "1/s", "requested_per_s", significant),
    ("", "bytes", "requested_bytes", show_bytes),
    KNOWN,
    ("response", "mean", "response_mean_ns", show_time_ns),
    ("response", "p50", "response_p50_ns", show_time_ns),
    ("response", "p99", "response_p99_ns", show_time_ns),
    ("response", "max", "response_max_ns", show_time_ns),
    ("mean time in", "admission", "admission_mean_ns", show_time_ns),
    ("mean time in", "scheduler", "scheduler_mean_ns", show_time_ns),
    ("mean time in", "queue", "wait_mean_ns", show_time_ns),
    ("mean time in", "device", "device_mean_ns", show_time_ns),
    REST,
    DONE_COUNT,
    ("at the device", "mean", "done_mean_ns", show_time_ns),
    ("at the device", "p50", "done_p50_ns", show_time_ns),
    ("at the device", "p99", "done_p99_ns", show_time_ns),
    ("at the device", "max", "done_max_ns", show_time_ns),
    ("", "failed", "failed_count", show_count),
];

/// How many responses are known, what the trace does not tell of a response, and what the device
/// did: shown where they tell anything new.
pub(crate) const KNOWN: Column = ("response", "known", "response_known_count", show_count);
pub(crate) const REST: Column = ("mean time in", "rest", "rest_mean_ns", show_time_ns);
pub(crate) const DONE_COUNT: Column = ("at the device", "requests", "done_count", show_count);

/// A rest of no more than this is none: the parts are sums of ns.
const NO_REST_NS: f64 = 1e-3;

/// Whether a column tells what its table does not tell without it: a rest where there is one; the
/// queue where admission and scheduler, whose sum it is, are not known by themselves; what
/// the device did where that is more than was requested, as in flush sequences; and where device
/// times are known of more requests than responses are, these, and no column of nothing but
/// responses that are not known.
pub(crate) fn is_news<R>(
    column: &Column,
    rows: &[R],
    value: impl Fn(&R, &'static str) -> Option<f64>,
) -> bool {
    let has_parts = |row: &R| value(row, "done_count") > value(row, "requested_count");
    let has_alone = |row: &R| value(row, "device_known_count") > value(row, "response_known_count");
    let has_alone = rows.iter().any(has_alone);
    let is_known = |quantity| rows.iter().any(|row| value(row, quantity).is_some_and(|v| v != 0.0));
    let tells = |row: &R, part| value(row, part).is_some();
    let is_unsplit = |row: &R| {
        tells(row, "wait_mean_ns")
            && !tells(row, "admission_mean_ns")
            && !tells(row, "scheduler_mean_ns")
    };
    match column.2 {
        "response_known_count" => {
            let lacks = |row: &R| value(row, "completed_count") > value(row, column.2);
            is_known(column.2) && rows.iter().any(lacks)
        }
        // Beside its parts it would count twice.
        "wait_mean_ns" => rows.iter().any(is_unsplit) && (!has_alone || is_known(column.2)),
        of if has_alone && is_of_response(of) => is_known(of),
        "rest_mean_ns" => {
            rows.iter().any(|row| value(row, "rest_mean_ns").is_some_and(|ns| ns > NO_REST_NS))
        }
        "done_count" => rows.iter().any(has_parts),
        "done_mean_ns" => has_alone || rows.iter().any(has_parts),
        of if of.starts_with("done_") => has_alone,
        _ => true,
    }
}

/// Whether a quantity is of responses, or of a part of them before the device.
fn is_of_response(quantity: &str) -> bool {
    let parts = ["admission_mean_ns", "scheduler_mean_ns", "wait_mean_ns"];
    quantity.starts_with("response_") || parts.contains(&quantity)
}

/// Of how many completed requests the times are known, where that is not all: their number, those
/// that tell a response, and those that tell a device time.
pub(crate) fn known([completed, responses, devices]: [f64; 3]) -> Option<String> {
    if responses >= completed {
        return None;
    }
    let of = |known: f64| match known {
        known if known == completed => format!("all {}", show_count(completed)),
        known => format!("{} of {}", show_count(known), show_count(completed)),
    };
    let completed = show_count(completed);
    Some(match (responses > 0.0, devices > responses) {
        (false, true) => format!(
            "The trace does not tell when requests were queued: times are device times, from the \
             issue to the completion, known of {} completed requests.",
            of(devices)
        ),
        (false, false) => format!(
            "The trace tells neither when requests were queued nor when they were issued: no time \
             is known of its {completed} completed requests."
        ),
        (true, true) => format!(
            "Response times are known of {} completed requests: the others do not tell when they \
             were queued. Device times, from the issue to the completion, are known of {}.",
            of(responses),
            of(devices)
        ),
        (true, false) => format!(
            "Response times are known of {} completed requests: the others do not tell when they \
             were queued.",
            of(responses)
        ),
    })
}

/// The counts that [`known`] takes.
pub(crate) const KNOWN_COUNTS: [&str; 3] =
    ["completed_count", "response_known_count", "device_known_count"];

/// The same of each device's operations together.
pub(crate) fn known_of_devices(findings: &[Finding]) -> Option<String> {
    let is_traffic = |f: &&Finding| matches!(f.subject, Subject::DeviceOp(_));
    let sum = |quantity: &str| -> f64 {
        let of_it = findings.iter().filter(|f| f.quantity == quantity).filter(is_traffic);
        of_it.filter_map(|finding| finding.value).sum()
    };
    known(KNOWN_COUNTS.map(sum))
}

pub(crate) const PARTS_LEGEND: [(&str, &str); 4] = [
    ("device", "in the driver and the device; of a flush sequence in all of its parts"),
    (
        "queue",
        "admission and scheduler: until the driver got it; of a sequence between its parts, too",
    ),
    ("rest", "of the response, what the trace does not tell"),
    ("at the device", "what the driver was given: each part of a flush sequence by itself"),
];

/// What is said of a whole trace: always, or only if it is not 0.
const COUNTS: &[(&str, &str, bool)] = &[
    ("requests_count", "request{s}", true),
    ("summed_count", "quicker request{s} as sums", false),
    ("events_count", "event{s}", true),
    ("lost_count", "event{s} lost", true),
    ("unwritten_count", "request{s} for which there was no space on the disk", false),
    ("rejected_count", "line{s} or record{s} not understood", false),
    ("before_start_count", "from before the start", false),
    ("orphaned_count", "completion{s} whose request was not seen to begin", false),
    (
        "unanswered_count",
        "without a completion in the trace (in flight at its end, or lost)",
        false,
    ),
    ("ambiguous_count", "paired ambiguously", false),
    ("reused_count", "completion{s} lost (identities came again before them)", false),
    ("recovered_count", "step{s} recovered that no program saw", false),
    ("requeued_count", "requeued", false),
    ("partially_completed_count", "completed in part", false),
    ("merged_count", "merged", false),
    ("queue_time_missed_count", "without their time of queueing", false),
    ("out_of_order_count", "event{s} out of order", false),
    ("unsorted_count", "row{s} out of order", false),
    ("own_count", "of lbolt's own, left out", false),
];

/// The quantity of the time that was judged: findings without it say nothing of who waited.
pub(crate) const VERDICT_SPAN: &str = "verdict_span_ns";

/// The clock at 0.
pub(crate) const CLOCK_ZERO: &str = "clock_zero_unix_ns";

/// The kernel's own count, which stands beside the trace's.
const KERNEL_COUNT: &str = "kernel_completed_count";

/// The kernel is asked after the trace begins and before it ends: the trace has more.
const BY_KERNEL: &str = "Completed by the kernel's own count, from its first reading to its last";

/// A device that is gone or another one at the capture's end.
const DEVICE_CHANGED: &str = "device_changed_count";

/// What the kernel and a trace count otherwise, with words for it.
const APART: &[(&str, &str)] = &[
    ("kernel_parts_count", "more by the kernel: parts that the driver split"),
    ("kernel_preflushes_count", "more by the kernel: writes counted again for their preflush"),
    ("kernel_empty_flushes_count", "flushes without data, which its driver does not count"),
    ("kernel_bypassed_bytes", "bytes of writes past the cache, which bcache does not count"),
    ("kernel_failed_count", "failed before the kernel counted them"),
    ("kernel_commands_count", "commands of udev, smartd and the like, which it does not count"),
];

/// A device's requests by the kernel's own count, beside the trace's and what is known of the
/// difference.
fn kernel_count(findings: &[Finding], counted: &Finding) -> Option<String> {
    let of = |(quantity, words): &(&str, &str)| {
        let of_it = |f: &&Finding| f.quantity == *quantity && f.subject == counted.subject;
        let count = findings.iter().find(of_it)?.value.filter(|count| count.is_finite())?;
        Some(format!("; {} {words}", show_count(count)))
    };
    let apart: String = APART.iter().filter_map(of).collect();
    let device = counted.subject.get("device")?;
    let count = counted.value.filter(|count| count.is_finite())?;
    Some(format!(
        "{device} {} ({} in the trace of that time{apart})",
        show_count(count),
        counted.count
    ))
}

/// What the tracer cost, where it was measured: before the number, quantity, behind it.
const COSTS: &[(&str, &str, &str)] = &[
    ("the BPF programs took ", "tracer_ns_per_event", " ns an event"),
    ("", "tracer_percent", " % of a CPU"),
    ("lbolt itself ", "consumer_ns_per_request", " ns a request"),
    ("requests a second less with the tracer: ", "tracer_slowdown_percent", " %"),
];

pub(crate) fn show_count(value: f64) -> String {
    format!("{value:.0}")
}

const LEGEND: [(&str, &str); 2] = [
    ("admission", "until a request was allocated for it"),
    ("scheduler", "from there until the driver got it; of a flush sequence between its parts"),
];

/// The report for a terminal of `width` columns.
pub(crate) fn table(findings: &[Finding], width: Option<u16>) -> String {
    let sheet = sheet(findings).map(|sheet| sheet.text(width));
    let said = said(findings).into_iter().chain(clock_of(findings));
    let said = said.map(|line| hang("", &line, width));
    sheet.into_iter().chain(said).collect::<Vec<_>>().join("\n")
}

/// The same as Markdown.
pub(crate) fn markdown(findings: &[Finding]) -> String {
    let sheet = sheet(findings).map(|sheet| sheet.markdown());
    let said = markdown_paragraphs(said(findings).into_iter().chain(clock_of(findings)));
    sheet.into_iter().chain(said).collect::<Vec<_>>().join("\n")
}

/// A device and what its requests do.
type Traffic = (String, String);

fn sheet(findings: &[Finding]) -> Option<Sheet> {
    let rows = rows(findings, |finding| match &finding.subject {
        Subject::DeviceOp(of) => {
            Some(((of.device.clone(), of.op.clone()), finding.quantity.clone()))
        }
        _ => None,
    });
    if rows.is_empty() {
        return None;
    }
    let value = |row: &Row<Traffic>, quantity| row.value(quantity);
    let is_shown = |column: &&Column| is_news(column, &rows, value);
    let columns: Vec<Column> = COLUMNS.iter().filter(is_shown).copied().collect();
    let mut sheet = Listing::of(&rows)
        .label("device", |row| row.key.0.clone())
        .label("op", |row| row.key.1.clone())
        .columns(&columns, figure)
        .sheet("Requests by device and operation");
    let is_shown = |name: &str| columns.iter().any(|c| c.0 == name || c.1 == name);
    sheet.legend = lines(LEGEND.iter().chain(&PARTS_LEGEND).filter(|(name, _)| is_shown(name)));
    Some(sheet)
}

/// A figure of an operation: of discards, the bytes are what was discarded.
fn figure(row: &Row<Traffic>, column: &Column) -> String {
    let discarded = ("", "bytes", "discarded_bytes", column.3);
    let is_discards = row.key.1 == Op::Discard.name() && column.2 == "requested_bytes";
    plain(row, if is_discards { &discarded } else { column })
}

/// What a capture says of itself, for a terminal of `width` columns.
pub fn capture_text(findings: &[Finding], width: Option<u16>) -> String {
    said(findings).iter().map(|line| hang("", line, width)).collect()
}

/// Of a trace whose quick requests have no rows (`record --slower-than`, an incident of a watch):
/// what its figures are of. `value` is that of a quantity of the run.
pub(crate) fn only_slow(value: impl Fn(&str) -> Option<f64>) -> Option<String> {
    let (slow, quick) = (value("requests_count")?, value("summed_count")?);
    let all = show_count(slow + quick);
    let figures = "they are in all figures but those by place, by what a request found in flight, \
                   and of bursts of writes.";
    let Some(threshold_ns) = value("slower_than_ns") else {
        let quick = show_count(quick);
        return Some(format!("{quick} of {all} requests were summed up by the kernel: {figures}"));
    };
    let threshold = show_time_ns(threshold_ns);
    let of = format!("Only requests of {threshold} or longer are traced one by one");
    Some(match quick {
        // Of a capture that was killed, say.
        0.0 => format!("{of} (--slower-than); there are no sums of the others."),
        _ => format!(
            "{of} (--slower-than): {} of {all}. The others are summed up: {figures}",
            show_count(slow),
        ),
    })
}

/// What the clock on the wall was at 0 of a trace.
pub(crate) fn clock(zero_unix_ns: f64) -> String {
    let zero = stamp(zero_unix_ns as i64, "%Y-%m-%d %H:%M:%S%.1fZ");
    format!("Times count from {zero} (UTC).")
}

/// The same, where the verdict has not said so.
fn clock_of(findings: &[Finding]) -> Option<String> {
    let of = |quantity: &str| findings.iter().find(|finding| finding.quantity == quantity);
    let zero = of(CLOCK_ZERO).filter(|_| of(VERDICT_SPAN).is_none());
    zero?.value.map(clock)
}

/// Lines on the whole trace: what is in it, and what it cost to take.
pub(crate) fn said(findings: &[Finding]) -> Vec<String> {
    let value = |quantity: &str| {
        findings.iter().find(|f| f.quantity == quantity)?.value.filter(|value| value.is_finite())
    };
    let counts = COUNTS.iter().filter_map(|(quantity, words, always)| {
        let count = value(quantity).filter(|count| *always || *count > 0.0)?;
        Some(counted(count as u64, words))
    });
    let costs = COSTS.iter().filter_map(|(before, quantity, behind)| {
        Some(format!("{before}{}{behind}", significant(value(quantity)?)))
    });
    let line = |head: &str, parts: Vec<String>| {
        (!parts.is_empty()).then(|| format!("{head}: {}", parts.join(", ")))
    };
    let kernel = || findings.iter().filter(|f| f.quantity == KERNEL_COUNT);
    let doubted = |verdict| kernel().filter(move |f| f.verdict == verdict);
    let sentences = |verdict| doubted(verdict).flat_map(|f| f.doubts.iter().map(sentence));
    let changed = findings.iter().filter(|f| f.quantity == DEVICE_CHANGED);
    let changed = changed.flat_map(|f| f.doubts.iter().map(sentence));
    let of_kernel = kernel().filter_map(|counted| kernel_count(findings, counted));
    let is_unknown = |quantity: &str| {
        let counted = findings.iter().find(|finding| finding.quantity == quantity);
        counted.is_some_and(|finding| finding.value.is_none())
    };
    let unknown = COUNTS.iter().filter(|(quantity, ..)| is_unknown(quantity));
    let unknown = unknown.map(|(_, words, _)| words.replace("{s}", "s"));
    [
        known_of_devices(findings),
        line("Changed meanwhile", changed.collect()),
        line("In the trace", counts.collect()),
        joined_share(&value),
        line("Unknown, for the file's footer does not tell", unknown.collect()),
        line(BY_KERNEL, of_kernel.collect()),
        line("Not counted by the kernel", sentences(Verdict::NotMeasured).collect()),
        line("Suspect", sentences(Verdict::Suspect).collect()),
        line("Tracer", costs.collect()),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// How many of the requests beneath another device are known to serve one of its requests.
fn joined_share(value: &impl Fn(&str) -> Option<f64>) -> Option<String> {
    let count = |quantity| value(quantity).unwrap_or(0.0);
    let (bio, place) = (count("joined_by_bio_count"), count("joined_by_place_count"));
    let all = bio + place + count("not_joined_count");
    let percent = 100.0 * (bio + place) / all;
    (all > 0.0).then(|| {
        format!(
            "Layers: of {all:.0} requests beneath another device {} % are joined to the one that \
             they serve: {bio:.0} as the kernel tells, {place:.0} by place and time",
            significant(percent)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sheet::NOT_MEASURED;

    #[test]
    fn the_share_that_is_joined_is_told_where_devices_lie_on_others() {
        let run = &Subject::this_run();
        let found = |quantity: &str, value| Finding::new(run, quantity, Some(value), 1, "");
        let counts = |not| {
            let all = [("joined_by_bio_count", 90.0), ("joined_by_place_count", 9.0)];
            let all = all.into_iter().chain([("not_joined_count", not)]);
            said(&all.map(|(name, value)| found(name, value)).collect::<Vec<_>>())
        };
        let line = "Layers: of 100 requests beneath another device 99.0 % are joined to the one \
            that they serve: 90 as the kernel tells, 9 by place and time";
        assert_eq!(counts(1.0), [line]);
        assert!(said(&[found("joined_by_bio_count", 0.0)]).is_empty());
    }

    /// The two counts of requests are of two times.
    #[test]
    fn the_kernels_count_is_of_the_time_between_its_readings() {
        let run = Finding::new(&Subject::this_run(), "requests_count", Some(36_287.0), 1, "");
        let vda = Subject::device("vda");
        let kernel = Finding::new(&vda, KERNEL_COUNT, Some(36_276.0), 36_276, "");
        let lines = [
            "In the trace: 36287 requests",
            "Completed by the kernel's own count, from its first reading to its last: vda 36276 \
             (36276 in the trace of that time)",
        ];
        assert_eq!(said(&[run, kernel]), lines);
    }

    /// The verdict says so by itself.
    #[test]
    fn the_clock_at_0_is_told_once() {
        let run = Subject::this_run();
        let found = |quantity: &str, value| Finding::new(&run, quantity, Some(value), 1, "");
        let mut findings = vec![found("requests_count", 3.0), found(CLOCK_ZERO, 1e18)];
        let clock = "Times count from 2001-09-09 01:46:40.0Z (UTC).\n";
        assert!(table(&findings, None).ends_with(clock), "{}", table(&findings, None));
        assert!(markdown(&findings).ends_with(clock));
        findings.push(found(VERDICT_SPAN, 1e9));
        assert!(!table(&findings, None).contains("Times count"));
    }

    /// As in iostat: what is discarded is neither read nor written.
    #[test]
    fn the_bytes_of_discards_are_what_was_discarded() {
        let found = |op: &str, quantity: &str, value| {
            Finding::new(&Subject::device_op("sda", op), quantity, Some(value), 1, "")
        };
        let findings = [
            found("write", "requested_bytes", 186.0 * 1048576.0),
            found("discard", "requested_bytes", 0.0),
            found("discard", "discarded_bytes", 794.0 * 1048576.0),
        ];
        let text = table(&findings, None);
        assert!(text.contains("186 MiB") && text.contains("794 MiB"), "{text}");
        assert!(!text.contains("0 B"), "{text}");
    }

    #[test]
    fn every_quantity_shown_is_in_the_models_table() {
        let shown = COLUMNS.iter().map(|(_, _, quantity, _)| quantity);
        let counted = COUNTS.iter().map(|(quantity, ..)| quantity);
        for name in shown.chain(counted).chain(COSTS.iter().map(|(_, quantity, _)| quantity)) {
            assert!(model::record::quantity(name).is_some(), "{name} is no quantity");
        }
    }

    #[test]
    fn a_loss_is_always_told_and_what_was_not_measured_has_no_number() {
        let found = |subject: &Subject, quantity: &str, value| {
            Finding::new(subject, quantity, value, 1, "")
        };
        let (traffic, run) = (&Subject::device_op("sda", "read"), &Subject::this_run());
        let findings = [
            found(run, "lost_count", Some(0.0)),
            found(run, "orphaned_count", Some(0.0)),
            found(traffic, "requested_count", Some(3.0)),
            found(traffic, "response_p99_ns", Some(1.5e6)),
            found(traffic, "device_mean_ns", None),
        ];
        let text = table(&findings, None);
        assert!(text.contains("0 events lost") && !text.contains("never seen"), "{text}");
        assert!(text.contains("1.50 ms") && text.contains(NOT_MEASURED), "{text}");
        assert!(markdown(&findings).contains("| sda"), "{}", markdown(&findings));
        let unknown = [found(run, "lost_count", None)];
        let text = table(&unknown, None);
        assert!(text.contains("Unknown") && text.contains(": events lost"), "{text}");
        assert!(!text.contains('0'), "{text}");
    }

    /// Columns that say nothing new are not there.
    #[test]
    fn a_rest_a_queue_and_what_the_device_did_are_shown_where_they_tell_something() {
        let of = |values: &[(&str, f64)]| -> String {
            let found = |(quantity, value): &(&str, f64)| Finding {
                subject: Subject::device_op("sda", "write"),
                quantity: (*quantity).into(),
                value: Some(*value),
                ..Finding::default()
            };
            table(&values.iter().map(found).collect::<Vec<_>>(), None)
        };
        let told = [
            ("requested_count", 3.0),
            ("done_count", 3.0),
            ("rest_mean_ns", 0.0),
            ("admission_mean_ns", 10.0),
            ("wait_mean_ns", 30.0),
            ("device_mean_ns", 90.0),
        ];
        let text = of(&told);
        let news = ["rest", "queue", "at the device"];
        assert!(news.iter().all(|word| !text.contains(word)), "{text}");
        let mut other = told.map(|(quantity, value)| match quantity {
            "done_count" => (quantity, 9.0),
            "rest_mean_ns" => (quantity, 5000.0),
            _ => (quantity, value),
        });
        other[3].0 = "failed_count";
        let text = of(&other);
        assert!(news.iter().all(|word| text.contains(word)), "{text}");
        assert!(text.contains("5.00 µs") && text.contains("30 ns"), "{text}");
    }
}
