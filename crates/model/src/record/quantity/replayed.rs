//! The quantities of replays: of a trace whose requests were made again.

use super::RUN;

/// The keys of what is found of a device's requests of one operation.
const DEVICE_OP: &[&[&str]] = &[&["device", "op"]];
/// The keys of what was left out, by its reason.
const REASON: &[&[&str]] = &[&["by", "class"]];

quantities! {
    pub(super) const REPLAYED of {
        pace: RUN, "replay";
        replayed: DEVICE_OP, "replay";
        left_out: REASON, "replay";
    }

    pace lower "lateness_mean_ns" "ns"
        "mean of how long after it was due a request was handed over";
    pace lower "lateness_p50_ns" "ns" "median of that time";
    pace lower "lateness_p99_ns" "ns" "99th percentile of that time";
    pace lower "lateness_max_ns" "ns" "greatest of those times";
    pace "lateness_target_percent" "%"
        "share of all lateness in which the target took no request: its queue was full, or handing \
         over an earlier one lasted";
    pace "replay_rate_error_percent" "%"
        "how far the rate of handing requests over is from the rate at which they were due";
    pace "replay_rounded_count" "1"
        "requests whose place or length was rounded outward to the target's blocks";
    pace "replay_wrapped_count" "1"
        "requests beyond the target's end, whose places were taken modulo its size (--wrap)";
    pace "replay_failed_count" "1" "requests that the target completed with an error";
    replayed "replayed_count" "1" "requests that the target completed";
    replayed "replayed_per_s" "1/s" "the same a second, from the first that was due to the last";
    replayed lower "replayed_mean_ns" "ns"
        "mean of the target's response times, from handing over to the completion";
    replayed lower "replayed_p50_ns" "ns" "median of the target's response times";
    replayed lower "replayed_p99_ns" "ns" "99th percentile of the target's response times";
    replayed lower "replayed_max_ns" "ns" "greatest of the target's response times";
    replayed "recorded_mean_ns" "ns" "mean of the same requests' response times in the trace";
    replayed "recorded_p50_ns" "ns" "median of their response times in the trace";
    replayed "recorded_p99_ns" "ns" "99th percentile of their response times in the trace";
    replayed "recorded_max_ns" "ns" "greatest of their response times in the trace";
    left_out "replay_left_out_count" "1" "requests of the trace that were not made, by the reason";
}
