//! The quantities of the verdict: who waited, for whom, on which file.

use crate::record::subject::{Blame, Class, File, Layer, Run, Stack, Wait};

quantities! {
    pub(super) const VERDICT of {
        wait: &[Wait::KEYS], "record, response";
        blame: &[Blame::KEYS], "record, response";
        file: &[File::KEYS], "record, response";
        stack: &[Stack::KEYS], "response";
        layer: &[Layer::KEYS], "record, response";
        run: &[Run::KEYS], "record, response";
        run_or_blame: &[Run::KEYS, Blame::KEYS], "record, response";
        run_or_class: &[Run::KEYS, Class::KEYS], "record, response";
        class: &[Class::KEYS], "record, response";
    }

    wait "waits_count" "1" "waits that ended: calls, or requests that a thread waited for";
    wait "waited_ns" "ns" "sum of these waits; several may run at once";
    wait "waited_mean_ns" "ns" "mean of these waits";
    wait "waited_p99_ns" "ns" "99th percentile of these waits, within 0.4 %";
    wait "waited_max_ns" "ns" "the longest of these waits";
    wait "calm_mean_ns" "ns"
        "mean of comparable waits while others were hardly busy, or in the quietest tenth";
    wait "compared_mean_ns" "ns" "mean of the waits that have comparable ones in calm";
    wait "uncompared_count" "1"
        "waits without calm to compare with, in which others had a good part of the time";
    wait "uncompared_ns" "ns" "sum of the waits without calm";
    wait "call_data_ns" "ns" "call: until the thread's own data was written";
    wait "call_commit_wait_ns" "ns" "call: from then until the journal's commit began";
    wait "call_commit_ns" "ns"
        "call: in the commit before its final sequence: others' data and the log";
    wait "call_preflush_ns" "ns" "call: flushing the device's cache before the commit block";
    wait "call_commit_block_ns" "ns" "call: writing the commit block";
    wait "call_postflush_ns" "ns" "call: flushing the device's cache after the commit block";
    wait "call_flush_ns" "ns" "call: its own flush of the device's cache";
    wait "call_rest_ns" "ns" "call: the rest; all eight parts sum to waited_mean_ns";
    wait "calls_of_commit" "1" "mean number of calls that shared a commit";
    blame lower "lost_ns" "ns" "time that waits took beyond calm, in the cause's part of them";
    blame lower "lost_percent" "%" "lost_ns as a share of the victim's waits of this kind";
    blame "lost_to_reads_percent", "lost_to_writes_percent", "lost_to_flushes_percent",
        "lost_to_discards_percent" "%"
        "share of lost_ns due to the cause's requests of that kind";
    blame "lost_to_cpu_percent" "%"
        "share of lost_ns in which the victim waited for a CPU, and the cause used the most CPU \
         time";
    blame "lost_on_file_ns" "ns"
        "the part of lost_ns in waits for that file, where it is a tenth or more of it";
    blame "affected_count" "1" "waits that the cause made longer";
    blame "affected_mean_ns" "ns" "mean of the affected waits";
    blame "affected_calm_mean_ns" "ns" "mean of the affected waits, had there been calm";
    blame "affected_from_ns", "affected_until_ns" "ns" "start and end of one of the loss's storms";
    blame "affected_period_ns" "ns"
        "time of which the gaps between these storms' starts are multiples";
    blame "lock_held_ns" "ns" "waits for locks that the cause held when they were found taken";
    blame "matters" "1"
        "1 if the loss is beyond chance and large: 5 % of the victim's waiting and 0.5 % of the \
         time (or 1 s) in waits 1.3 times as long as in calm; 1 % and 0.5 % in waits twice as \
         long; a third of the waiting for an estimate. Else 0";
    file "file_requests_count" "1" "requests for the file's data";
    file "file_read_bytes" "B" "bytes read from the file";
    file "file_write_bytes" "B" "bytes written to the file";
    file "file_calls_count" "1" "calls that made the file durable";
    file "file_calls_mean_ns" "ns" "mean time of these calls";
    file "file_lost_ns" "ns"
        "time that was lost in waits for the file, to whomever: its part of the lost_ns of all";
    stack "stack_requests_count" "1" "requests queued by these functions";
    stack "stack_bytes" "B" "bytes read and written by these requests";
    stack "stack_response_ns" "ns" "sum of these requests' response times";
    stack "stack_waited_ns" "ns" "sum of waits of 1 ms and more in these functions";
    layer "layer_requests_count" "1"
        "requests to the layer that serve requests to the top of its stack; for the top, all";
    layer "layer_response_ns" "ns"
        "sum of these requests' response times, within the requests that they serve";
    layer "layer_own_ns" "ns"
        "the layer's own part of the top's response times: no lower layer served the request then";
    layer "layer_own_mean_ns", "layer_own_p99_ns" "ns" "layer_own_ns over the layer's requests";
    layer "layer_own_percent" "%"
        "layer_own_ns as a share of the top's response times; all layers and \
         layer_unfollowed_percent sum to 100";
    layer "layer_unfollowed_ns" "ns"
        "time of requests to a layer that lies on others, with no known request beneath";
    layer "layer_unfollowed_percent" "%"
        "layer_unfollowed_ns as a share of the top's response times";
    run "files_known_percent" "%"
        "share of all requests' bytes with a file name known at the request, or of a journal, \
         metadata or a device";
    run "file_calls_known_percent" "%"
        "share of all calls for a file with a name known at the call";
    run "file_lost_known_percent" "%"
        "share of the lost_ns of all waits, but for those for threads and evicted pages, in waits \
         for a file with a name known at the wait, or for a journal, metadata or a device";
    run "verdict_span_ns" "ns"
        "time examined, from the run's start or from the start of a selection";
    run "cpu_idle_percent" "%" "idle share of all CPUs' time, by /proc/stat";
    run_or_blame "clock_zero_unix_ns" "ns"
        "wall clock at 0 of the trace, since 1970, to 256 ns; of a loss: of its own trace";
    run "cpu_stolen_ns" "ns" "CPU time stolen by the hypervisor, summed over CPUs";
    run "cpu_stolen_percent" "%" "share of all CPUs' time stolen by the hypervisor";
    run "unanswered_longest_ns" "ns"
        "time from the first of the requests without a completion to the trace's end";
    run_or_class "unplaced_waits_count" "1"
        "waits of threads without a request, for an unknown device";
    run_or_class "unplaced_waits_ns" "ns" "sum of the waits for an unknown device";
    run_or_class "unplaced_untraced_ns" "ns"
        "the part of unplaced_waits_ns for a request, or a file system, of which the trace has no \
         request";
    class "short_waits_ns" "ns"
        "time a role's threads waited for requests beyond the recorded waits: waits under 1 ms, \
         and waits for devices not traced";
    run_or_class "io_pressure_ns" "ns"
        "time in which some thread of the machine or of a cgroup waited for requests \
         (/proc/pressure/io or io.pressure, some)";
    run_or_class "io_pressure_percent" "%"
        "io_pressure_ns as a share of the time in which it was counted";
    run_or_class "io_pressure_seen_percent" "%"
        "time with a known wait for a request, as a share of io_pressure_ns; the rest waited for \
         devices not traced, or was not seen";
    run "selected_from_ns", "selected_until_ns" "ns" "selection: its start and end in the trace";
    run "whole_until_ns" "ns" "selection: the end of the trace";
}
