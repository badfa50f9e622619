//! The quantities of the verdict: who waited, for whom, on which file.

const WAIT: &[&[&str]] = &[&["device", "victim", "wait"]];
const BLAME: &[&[&str]] = &[&["cause", "device", "is_role", "storm", "victim", "wait"]];
const FILE: &[&[&str]] = &[&["device", "file"]];
const STACK: &[&[&str]] = &[&["device", "kernel", "role", "user"]];
const LAYER: &[&[&str]] = &[&["device", "layer"]];
const RUN: &[&[&str]] = &[&["run"]];
const CLASS: &[&[&str]] = &[&["by", "class"]];
const RUN_OR_CLASS: &[&[&str]] = &[&["run"], &["by", "class"]];

quantities! {
    pub(super) const VERDICT of {
        wait: WAIT, "record, response";
        blame: BLAME, "record, response";
        file: FILE, "record, response";
        stack: STACK, "response";
        layer: LAYER, "record, response";
        run: RUN, "record, response";
        run_or_class: RUN_OR_CLASS, "record, response";
        class: CLASS, "record, response";
    }

    wait "waits_count" "1" "waits that ended: calls, or requests that a thread waits for";
    wait "waited_ns" "ns" "their sum; several may go on at once";
    wait "waited_mean_ns" "ns" "their mean";
    wait "calm_mean_ns" "ns"
        "mean of comparable waits while others were hardly busy, or in the quietest tenth";
    wait "uncompared_count" "1"
        "waits that had no calm to be compared with, and of whose time others had a good part";
    wait "uncompared_ns" "ns" "their sum";
    wait "call_data_ns" "ns" "of a call: until its thread's own data was written";
    wait "call_commit_wait_ns" "ns" "of a call: then until the journal's commit began";
    wait "call_commit_ns" "ns"
        "of a call: in the commit, but for the sequence at its end: others' data, the log";
    wait "call_preflush_ns" "ns" "of a call: the device's cache flushed before the commit block";
    wait "call_commit_block_ns" "ns" "of a call: the commit block written";
    wait "call_postflush_ns" "ns" "of a call: the cache flushed after the commit block";
    wait "call_flush_ns" "ns" "of a call: its own flush of the device's cache";
    wait "call_rest_ns" "ns" "of a call: the rest; all eight parts sum to waited_mean_ns";
    wait "calls_of_commit" "1" "calls that shared a commit, on average";
    blame "lost_ns" "ns" "what waits took beyond calm, in the time that the cause had in them";
    blame "lost_percent" "%" "this as a share of all that the victim waited for this";
    blame "lost_to_reads_percent" "%" "what reads of the cause have of it";
    blame "lost_to_writes_percent" "%" "what its writes have of it";
    blame "lost_to_flushes_percent" "%" "what its flushes have of it";
    blame "lost_to_discards_percent" "%" "what its discards have of it";
    blame "affected_count" "1" "waits that were longer by it";
    blame "affected_mean_ns" "ns" "their mean";
    blame "affected_calm_mean_ns" "ns" "what they would have taken in calm";
    blame "affected_from_ns" "ns" "when a storm of it began";
    blame "affected_until_ns" "ns" "when it ended";
    blame "affected_period_ns" "ns" "time of which the gaps between their begins are multiples";
    blame "lock_held_ns" "ns" "waits for locks that the cause held when they were found taken";
    blame "matters" "1"
        "1: sure, of waits that took 1.3 times as long as in calm, at least 5 % of the victim's \
         waiting and 0.5 % of the time or 1 s; or of waits that took twice as long 1 % and 0.5 %; \
         else 0";
    file "file_requests_count" "1" "requests of its data";
    file "file_read_bytes" "B" "what they read";
    file "file_write_bytes" "B" "what they wrote";
    file "file_calls_count" "1" "calls that made it durable";
    file "file_calls_mean_ns" "ns" "their mean time";
    stack "stack_requests_count" "1" "requests that were queued by these functions";
    stack "stack_bytes" "B" "what they read and wrote";
    stack "stack_response_ns" "ns" "their response times, summed";
    stack "stack_waited_ns" "ns" "waits of threads in these functions, of 1 ms and more, summed";
    layer "layer_requests_count" "1"
        "requests to the layer that serve requests to the top of its stack; of the top all";
    layer "layer_response_ns" "ns"
        "their response times, summed, within those of the requests that they serve";
    layer "layer_own_ns" "ns"
        "what of the top's response times is the layer's own: none beneath served it then";
    layer "layer_own_mean_ns" "ns" "its mean over the layer's requests";
    layer "layer_own_p99_ns" "ns" "its 99th percentile over them";
    layer "layer_own_percent" "%"
        "layer_own_ns as a share of the top's response times: with layer_unfollowed_percent those \
         of all layers sum to 100";
    layer "layer_unfollowed_ns" "ns"
        "time of requests to a layer that lies on others, beneath which no request is known";
    layer "layer_unfollowed_percent" "%" "this as a share of the top's response times";
    run "files_known_percent" "%"
        "of the bytes of all requests: those of which it is known what their file was called at \
         the request, or that they are a journal's, metadata or a device's";
    run "file_calls_known_percent" "%"
        "of all calls for a file: those of which it is known what it was called at the call";
    run "verdict_span_ns" "ns"
        "the time that was looked at, from the run's start or from where a selection begins";
    run "cpu_idle_percent" "%" "of all CPUs' time: idle, as /proc/stat tells";
    run "cpu_stolen_percent" "%" "of all CPUs' time: the hypervisor had given it to others";
    run_or_class "unplaced_waits_count" "1"
        "waits of threads without a request, of which it is not known for which device they were";
    run_or_class "unplaced_waits_ns" "ns" "their sum";
    class "short_waits_ns" "ns"
        "how long a role's threads waited for requests in all, less what is told of one by one: \
         waits of less than 1 ms, and of devices that were not traced";
    run_or_class "io_pressure_ns" "ns"
        "how long some thread of the machine, or of a cgroup, waited for requests, as the kernel \
         counts it by itself (/proc/pressure/io and io.pressure, some)";
    run_or_class "io_pressure_percent" "%" "this as a share of the time in which it was counted";
    run_or_class "io_pressure_seen_percent" "%"
        "the time in which some wait for a request is known here, as a share of io_pressure_ns: \
         what is missing waited for devices that were not traced, or was not seen";
    run "selected_from_ns" "ns" "of a selection: where it begins in the trace";
    run "selected_until_ns" "ns" "of a selection: where it ends";
    run "whole_until_ns" "ns" "of a selection: where the trace ends";
}
