//! The quantities of traces: what a capture cost and saw, and how requests were served.
//!
//! Non-goals: what was lost on the way (`crate::record::requests::Counts`).

use super::RUN;

/// The keys of requests that have something in common.
const CLASS: &[&str] = &["by", "class"];
/// The same, or those of a device's requests that do the same.
const TRAFFIC: &[&[&str]] = &[&["device", "op"], CLASS];

/// The keys of what is found of the run as a whole and of some of its classes.
const RUN_AND_CLASS: &[&[&str]] = &[&["run"], CLASS];

quantities! {
    pub(super) const TRACED of {
        traced: RUN, "record, import, --trace";
        traffic: TRAFFIC, "record, import, response, --trace";
        class: &[CLASS], "response";
        response: RUN_AND_CLASS, "response";
        kernel: &[&["device"]], "record, --trace";
    }

    traced "trace_span_ns" "ns" "from the first arrival to the last arrival or completion";
    traced "calls_told" "1"
        "1: calls that make files durable and waits of threads were captured; 0: requests alone";
    traced "named_devices_whole" "1"
        "1: only named devices were captured (-d), and no event was lost: a request that is not in \
         the trace was for another device";
    traced "slower_than_ns" "ns" "response time below which requests have no rows (--slower-than)";
    traced "summed_count" "1" "requests without rows, because they were quick: in summed.parquet";
    traced "summed_bytes" "B" "bytes of the requests of summed_count";
    traced "tracer_ns_per_event" "ns"
        "CPU time of the BPF programs per block-layer event that they saw";
    traced "tracer_percent" "%" "CPU time of the BPF programs as a share of one CPU";
    traced "consumer_ns_per_request" "ns"
        "lbolt's own CPU time per request, from the kernel's buffer into the file";
    traced "tracer_slowdown_percent" "%"
        "requests per second lost with the tracer, in interleaved pairs (--measure-overhead)";
    kernel "kernel_completed_count" "1"
        "requests that the device completed between two readings of the kernel's counters; the \
         finding's count is the trace's";
    kernel "device_changed_count" "1"
        "times that the device was gone or another one at the capture's end";
    kernel "kernel_completed_bytes" "B"
        "bytes of these requests; the finding's count is the trace's";
    kernel "kernel_parts_count" "1"
        "parts that the kernel counts beyond the trace's requests: a driver of bios splits them \
         (dm)";
    kernel "kernel_preflushes_count" "1"
        "writes that the kernel counts twice, because of the flush before them (dm)";
    kernel "kernel_empty_flushes_count" "1"
        "flushes without data that the kernel does not count (md)";
    kernel "kernel_bypassed_bytes" "B"
        "bytes of writes past the cache; the kernel counts only their requests (bcache)";
    kernel "kernel_failed_count" "1" "requests that failed before the kernel counted them (dm)";
    kernel "kernel_commands_count" "1"
        "commands passed through to the device (by udev, smartd, nvme-cli) that the kernel does \
         not count";
    traffic "requested_count" "1" "requests made; a flush sequence counts once";
    traffic "requested_bytes" "B"
        "bytes read and written; those of discards are in discarded_bytes";
    traffic "discarded_bytes" "B"
        "bytes of discards, secure erases and write zeroes, where there are any";
    traffic lower "failed_count" "1" "requests completed with an error";
    traffic "requested_per_s" "1/s" "requests per second of the trace's span";
    traffic "completed_count" "1" "requests completed";
    traffic "response_known_count" "1"
        "of these, requests whose response is known: they tell when they were queued or started";
    traffic lower "response_mean_ns", "response_p50_ns", "response_p99_ns", "response_max_ns" "ns"
        "response";
    traffic lower "admission_mean_ns" "ns"
        "mean time until a request was allocated: waiting for a tag, or throttled";
    traffic lower "scheduler_mean_ns" "ns"
        "mean time from allocation to the driver; for a flush sequence also between its parts";
    traffic lower "wait_mean_ns" "ns"
        "mean queueing, until the driver got the request: response minus device";
    traffic "device_known_count" "1"
        "completed requests whose device time is known: they tell when the driver got them";
    traffic lower "device_mean_ns" "ns"
        "mean time in the driver and the device, over the responses (where some requests tell no \
         response: over device_known_count); for a flush sequence in all its parts";
    traffic "rest_mean_ns" "ns"
        "mean unexplained part of a response: response minus admission, scheduler (else queue) and \
         device";
    traffic "done_count" "1"
        "requests that the device did: those issued, each part of a flush sequence by itself";
    traffic lower "done_mean_ns", "done_p50_ns", "done_p99_ns", "done_max_ns" "ns"
        "device time (issue to completion) of the requests of done_count";
    class lower "response_p25_ns", "response_p75_ns", "response_p90_ns", "response_p999_ns",
        "response_p9999_ns" "ns"
        "response";
    class "response_whisker_low_ns", "response_whisker_high_ns" "ns"
        "lowest and highest response within 1.5 interquartile ranges of the quartiles";
    class "response_outliers_count" "1" "completions beyond the whiskers";
    class lower "done_p25_ns", "done_p75_ns", "done_p90_ns", "done_p999_ns", "done_p9999_ns" "ns"
        "device time, where some requests tell no response";
    class "done_whisker_low_ns", "done_whisker_high_ns" "ns"
        "lowest and highest device time within 1.5 interquartile ranges of the quartiles";
    class "done_outliers_count" "1" "device times beyond the whiskers";
    response "depth_mean" "1" "mean requests outstanding over the trace's span";
    response "depth_at_arrival_mean" "1" "mean requests outstanding when a request arrived";
    response "depth_max" "1" "most requests outstanding at once, the arriving one included";
    response "little_ratio" "1"
        "depth by the clock / depth by Little's law (arrival rate × mean response)";
    response "late_count" "1"
        "rows behind a row that arrived later, as the analysis met them; they falsify depth, seeks \
         and outstanding counts";
    response "reversed_count" "1"
        "rows with a step earlier than the step before it; the time between is left out";
    class "time_percent" "%"
        "the class's share of all requests' response times (else device times)";
    class "slope_response_ns_per_kib" "ns/KiB"
        "mean response per additional KiB: the line through the size classes";
    class "slope_wait_ns_per_kib" "ns/KiB" "mean queueing per additional KiB";
    class "slope_device_ns_per_kib" "ns/KiB" "mean time in driver and device per additional KiB";
    class "busy_percent" "%" "time in which the device had a request outstanding";
    class "arrival_variation_ratio" "1"
        "standard deviation / mean of the times between arrivals: 0 a clock, 1 chance, above 1 \
         bursts";
    class "sequential_percent" "%" "requests that begin where the previous one ended";
    class "seek_p50_bytes", "seek_mean_bytes" "B"
        "distance from the end of a request to the start of the next";
    class "storms_count" "1" "bursts of writes and flushes that a steady load does not explain";
    class "storm_time_percent" "%" "time in storms, up to their last completion";
    class "storm_period_ns" "ns" "time of which the gaps between the storms' starts are multiples";
    class "storm_start_ns" "ns" "first arrival of a storm";
    class "storm_length_ns" "ns" "from a storm's first arrival to its last completion";
    class "storm_requests_count" "1" "writes and flushes of the storm, or of all storms";
    class "storm_flushes_count" "1" "flushes, and writes that ask for one, among these";
    class "storm_bytes" "B" "bytes written by these";
    class "storm_depth_max" "1" "most requests outstanding when one of these arrived";
    class "beneath_count" "1" "requests to the device that serve requests to a device above it";
    class "blame_percent" "%" "a process's share of the storms' writes and flushes";
    class "reads_behind_count" "1"
        "reads that arrived in a storm and found writes or flushes outstanding";
    class "reads_behind_mean_ns", "reads_behind_p50_ns", "reads_behind_p99_ns",
        "reads_behind_max_ns" "ns"
        "response of these reads";
    class "reads_behind_wait_percent" "%"
        "queueing of these reads (until the driver got them) as a share of their response";
    class "reads_behind_excess_percent" "%"
        "reads_behind_mean_ns minus reads_apart_mean_ns, as a share of reads_behind_mean_ns";
    class "reads_behind_p99_ratio" "1" "reads_behind_p99_ns / reads_apart_p99_ns";
    class "reads_apart_count" "1" "all other reads of the device";
    class "reads_apart_mean_ns", "reads_apart_p50_ns", "reads_apart_p99_ns" "ns"
        "response of the other reads";
}
