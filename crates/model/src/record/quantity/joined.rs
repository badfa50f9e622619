//! The quantities of a run joined with the requests captured in it: where an operation's time went.

use super::{CELL, OPERATION};

/// The keys of an operation of either experiment.
const TIMED: &[&[&str]] = &[CELL[0], OPERATION[0]];

quantities! {
    pub(super) const JOINED of {
        timed: TIMED, "throughput --trace, overhead --trace";
    }

    timed "operation_time_ns" "ns"
        "mean time of an operation: from its submission to its completion, and its share of \
         fdatasync";
    timed "operation_program_ns" "ns"
        "CPU time of the job's thread in user mode, the harness included";
    timed "operation_kernel_ns" "ns" "CPU time of the job's thread in the kernel";
    timed "operation_admission_ns" "ns"
        "time that an operation waited for its requests to be allocated";
    timed "operation_scheduler_ns" "ns" "time that its requests then waited for the driver";
    timed "operation_device_ns" "ns" "time that its requests then were in driver and device";
    timed "operation_journal_ns" "ns"
        "time in syncs in which the job had no request outstanding and the file system's \
         journal had";
    timed "operation_journal_queue_ns" "ns"
        "of the journal's time: its requests waited for the driver, or between the parts of a \
         flush sequence";
    timed "operation_journal_data_ns" "ns"
        "of the journal's time: file data was written that is to be there before the commit";
    timed "operation_journal_log_ns" "ns" "of the journal's time: metadata was written to the log";
    timed "operation_journal_preflush_ns" "ns"
        "of the journal's time: the device's cache was flushed before the commit block";
    timed "operation_journal_commit_ns" "ns" "of the journal's time: the commit block was written";
    timed "operation_journal_postflush_ns" "ns"
        "of the journal's time: the device's cache was flushed after the commit block";
    timed "operation_remainder_ns" "ns"
        "operation_time_ns less its six parts: what they do not explain; below 0 where they \
         overlap";
    timed "operation_requests_ratio" "1" "requests at the device that an operation waited for";
    timed "operation_other_requests_ratio" "1"
        "requests at the device meanwhile that no operation waited for, over the operations";
    timed "operation_overlap_ratio" "1"
        "response times of the jobs' requests over the time in which operations waited for them; \
         above 1 an operation's requests ran side by side";
}
