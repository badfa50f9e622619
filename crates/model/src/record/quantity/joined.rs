//! The quantities of a run joined with the requests captured in it: where an operation's time went.

use super::{CELL, OPERATION};

/// The keys of an operation of either experiment.
const TIMED: &[&[&str]] = &[CELL[0], OPERATION[0]];

quantities! {
    pub(super) const JOINED of {
        timed: TIMED, "throughput --trace, overhead --trace";
    }

    timed "operation_time_ns" "ns"
        "mean time of an operation: from submission to completion, and its share of fdatasync";
    timed "operation_program_ns" "ns" "user CPU time of the job's thread, the harness included";
    timed "operation_kernel_ns" "ns" "kernel CPU time of the job's thread";
    timed "operation_admission_ns" "ns" "time until the operation's requests were allocated";
    timed "operation_scheduler_ns" "ns" "time from allocation until the driver got the requests";
    timed "operation_device_ns" "ns" "time of the requests in driver and device";
    timed "operation_journal_ns" "ns"
        "time in syncs in which only the file system's journal, not the job, had requests \
         outstanding";
    timed "operation_journal_queue_ns" "ns"
        "journal time: its requests waited for the driver, or between the parts of a flush \
         sequence";
    timed "operation_journal_data_ns" "ns"
        "journal time: writing file data that must precede the commit";
    timed "operation_journal_log_ns" "ns" "journal time: writing metadata to the log";
    timed "operation_journal_preflush_ns" "ns"
        "journal time: flushing the device's cache before the commit block";
    timed "operation_journal_commit_ns" "ns" "journal time: writing the commit block";
    timed "operation_journal_postflush_ns" "ns"
        "journal time: flushing the device's cache after the commit block";
    timed "operation_remainder_ns" "ns"
        "operation_time_ns minus its six parts, so unexplained; negative where the parts overlap";
    timed "operation_requests_ratio" "1"
        "device requests that operations waited for, per operation";
    timed "operation_other_requests_ratio" "1"
        "device requests that no operation waited for, per operation";
    timed "operation_overlap_ratio" "1"
        "response times of the jobs' requests / time in which operations waited for them; above 1 \
         requests ran in parallel";
}
