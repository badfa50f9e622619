//! The quantities of replays: of a trace whose requests were made again.

use super::RUN;
use crate::record::subject::{Class, DeviceOp};

quantities! {
    pub(super) const REPLAYED of {
        pace: RUN, "replay";
        replayed: &[DeviceOp::KEYS], "replay";
        left_out: &[Class::KEYS], "replay";
    }

    pace lower "lateness_mean_ns", "lateness_p50_ns", "lateness_p99_ns", "lateness_max_ns" "ns"
        "lateness: from when a request was due until it was handed over";
    pace "lateness_target_percent" "%"
        "share of all lateness in which the target took no request: its queue was full, or an \
         earlier handover lasted";
    pace "replay_rate_error_percent" "%" "error of the handover rate relative to the due rate";
    pace "replay_rounded_count" "1"
        "requests whose place or length was rounded outward to the target's blocks";
    pace "replay_wrapped_count" "1"
        "requests beyond the target's end, taken modulo its size (--wrap)";
    pace "replay_hole_count" "1"
        "reads of what was never written in the target's file: they reach no device";
    pace "replay_failed_count" "1" "requests that the target completed with an error";
    replayed "replayed_count" "1" "requests that the target completed";
    replayed "replayed_per_s" "1/s" "requests completed per second, from the first due to the last";
    replayed lower "replayed_mean_ns", "replayed_p50_ns", "replayed_p99_ns", "replayed_max_ns" "ns"
        "response of the target, from handover to completion";
    replayed "recorded_mean_ns", "recorded_p50_ns", "recorded_p99_ns", "recorded_max_ns" "ns"
        "response of the same requests in the trace";
    left_out "replay_left_out_count" "1" "requests that were not replayed, by reason";
}
