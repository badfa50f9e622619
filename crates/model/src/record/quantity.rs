//! The one table that names every quantity of the findings. A finding with a
//! name that is not here fails a test; changing an entry bumps the schema.

/// A table of quantities. First the kinds, each with its subjects and its commands; then a row for
/// each quantity: its kind, which way it is better, name, unit and meaning.
#[macro_export]
macro_rules! quantities {
    (@better) => { None };
    (@better lower) => { Some($crate::record::Better::Lower) };
    (@better higher) => { Some($crate::record::Better::Higher) };
    (
        $(#[$meta:meta])*
        $visibility:vis const $table:ident of {
            $($kind:ident: $subjects:expr, $command:literal;)*
        }
        $($of:ident $($better:ident)? $name:literal $unit:literal $meaning:literal;)*
    ) => {
        $(#[$meta])*
        $visibility const $table: &[$crate::record::Quantity] = {
            use $crate::record::{Better, Quantity};
            $(const fn $kind(
                (name, unit, meaning): (&'static str, &'static str, &'static str),
                better: Option<Better>,
            ) -> Quantity {
                Quantity { name, unit, meaning, subjects: $subjects, command: $command, better }
            })*
            &[$($of(($name, $unit, $meaning), $crate::quantities!(@better $($better)?))),*]
        };
    };
}

mod joined;
mod replayed;
mod simulated;
#[cfg(test)]
mod tests;
mod verdict;

use std::fmt::Write as _;

/// Which way a quantity is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

/// A quantity that findings can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quantity {
    /// Its name, with its unit last.
    pub name: &'static str,
    /// The unit in the record.
    pub unit: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// The keys of its subject, one list for each kind of subject that it is found of.
    pub subjects: &'static [&'static [&'static str]],
    /// The commands that produce it.
    pub command: &'static str,
    /// Which way it is better; none where neither is. A share of the CPU rises with the rate.
    pub better: Option<Better>,
}

/// Quantities that can be below zero: changes, differences, and what others leave over. Whatever is
/// in no table of quantities can be, too.
const SIGNED: [&str; 16] = [
    "background_difference_percent",
    "lost_ns",
    "lost_percent",
    "operation_remainder_ns",
    "rank_agreement",
    "rank_stability",
    "rate_trend_percent",
    "reads_behind_excess_percent",
    "replay_rate_error_percent",
    "rest_mean_ns",
    "revolutions_missed",
    "slope_device_ns_per_kib",
    "slope_response_ns_per_kib",
    "slope_wait_ns_per_kib",
    "slowdown_percent",
    "tracer_slowdown_percent",
];

impl Quantity {
    /// Whether it can be below zero.
    pub fn is_signed(&self) -> bool {
        SIGNED.contains(&self.name)
    }
}

/// The keys of a cell of the throughput matrix.
const CELL: &[&[&str]] = &[&["drives", "program", "target"]];
/// The keys of a point of a curve of latency against rate.
const CURVE_POINT: &[&str] = &["access", "block_bytes", "depth", "direct", "engine", "target"];
/// The keys of a curve as a whole.
const CURVE: &[&str] = &["access", "block_bytes", "direct", "engine", "target"];
/// The keys of a way to make a write durable.
const COMMIT: &[&str] = &["block_bytes", "direct", "method", "pattern", "target", "writers"];
/// The keys of a stream of requests beside a storm.
const STORM: &[&str] = &["remedy", "stream", "target"];
/// What is found of cells and of such streams.
const CELL_AND_STORM: &[&[&str]] = &[&["drives", "program", "target"], STORM];
/// What is found of cells, of commits, of points of a curve and of streams beside a storm; and of
/// some of these.
const CELLS: &[&[&str]] = &[&["drives", "program", "target"], COMMIT, CURVE_POINT, STORM];
const CELL_AND_CURVE: &[&[&str]] = &[&["drives", "program", "target"], CURVE_POINT];
const CELL_AND_COMMIT: &[&[&str]] = &[&["drives", "program", "target"], COMMIT];
/// The keys of a number about the run as a whole.
const RUN: &[&[&str]] = &[&["run"]];

/// The keys of one request size of an I/O routine.
const OPERATION: &[&[&str]] = &[&[
    "access",
    "arithmetic",
    "block_bytes",
    "channels",
    "direct",
    "engine",
    "target",
    "test_interval_ns",
]];
/// The keys of a routine over all its request sizes, by an account of time.
const ROUTINE: &[&[&str]] = &[&[
    "access",
    "account",
    "arithmetic",
    "channels",
    "direct",
    "engine",
    "target",
    "test_interval_ns",
]];

/// The keys of requests that have something in common.
const CLASS: &[&str] = &["by", "class"];
/// The same, or those of a device's requests that do the same.
const TRAFFIC: &[&[&str]] = &[&["device", "op"], CLASS];

/// The keys of what is found of the run as a whole and of some of its classes.
const RUN_AND_CLASS: &[&[&str]] = &[&["run"], CLASS];

quantities! {
    /// Every quantity of what is measured, traced and compared.
    const MEASURED of {
        operation: OPERATION, "overhead, survey";
        routine: ROUTINE, "overhead, survey";
        background: RUN, "overhead, survey";
        cell: CELL, "throughput, survey";
        shared: CELL_AND_COMMIT, "throughput, survey, sync";
        common: CELLS, "throughput, survey, sync, storm, curve";
        pointed: CELL_AND_CURVE, "throughput, survey, curve";
        curve: &[CURVE], "curve, survey";
        streamed: CELL_AND_STORM, "throughput, survey, storm";
        storm: &[STORM], "storm";
        commit: &[COMMIT], "sync";
        calibration: RUN, "throughput, survey";
        traced: RUN, "record, import, --trace";
        traffic: TRAFFIC, "record, import, response, --trace";
        class: &[CLASS], "response";
        response: RUN_AND_CLASS, "response";
        kernel: &[&["device"]], "record, --trace";
    }

    pointed higher "rate_bytes_per_s" "B/s"
        "bytes that the program moved a second of wall time, summed over drives and jobs";
    common higher "rate_operations_per_s" "1/s"
        "requests a second of wall time, summed over drives and jobs";
    cell "cpu_percent" "%"
        "the submitting threads' CPU time as a share of one CPU (what the 1983 paper prints), \
         summed over jobs";
    cell "cpu_total_percent" "%"
        "total CPU as a share of one CPU: the submitting threads, kernel threads and \
         interrupts meanwhile; the test bed apart";
    shared lower "cpu_operation_ns" "ns" "the submitting threads' CPU time over its requests";
    cell lower "cpu_total_operation_ns" "ns" "total CPU over the requests";
    cell "cpu_test_bed_percent" "%" "the loop device's workers, as a share of one CPU";
    cell "cpu_elsewhere_percent" "%" "other user programs meanwhile, as a share of one CPU";
    cell "stolen_percent" "%"
        "CPU time that the hypervisor gave to others, over all CPUs, as a share of one CPU";
    cell higher "ceiling_bytes_per_s" "B/s"
        "the most that the path gave in the same run: sequential direct requests of 1 MiB or of \
         256 KiB, eight outstanding (the memory's copying where the page cache took the bytes), or \
         a program's own pass where that was faster; its method says which";
    cell "ceiling_percent" "%" "rate_bytes_per_s as a share of ceiling_bytes_per_s";
    pointed lower "latency_mean_ns" "ns" "mean latency from the intended start";
    common lower "latency_p50_ns" "ns" "median latency from the intended start";
    common lower "latency_p99_ns" "ns" "99th percentile of the latency from the intended start";
    streamed lower "latency_p999_ns" "ns"
        "99.9th percentile of the latency from the intended start";
    shared lower "latency_max_ns" "ns" "greatest latency from the intended start";
    cell lower "service_p50_ns" "ns"
        "median service time, from submission to completion (open loop)";
    cell lower "service_p99_ns" "ns" "99th percentile of the service time (open loop)";
    streamed lower "sync_percent" "%"
        "time in fsync and fdatasync as a share of the jobs' wall time";
    cell lower "sync_latency_mean_ns" "ns"
        "mean latency of the syncs between writes (--fsync, --fdatasync), from submission to \
         completion; the final fdatasync is none of them";
    cell lower "sync_latency_p50_ns" "ns" "median latency of these syncs";
    cell lower "sync_latency_p99_ns" "ns" "99th percentile of the latency of these syncs";
    cell lower "sync_latency_p999_ns" "ns" "99.9th percentile of the latency of these syncs";
    cell lower "sync_latency_max_ns" "ns" "greatest latency of these syncs";
    cell "device_bytes_ratio" "1"
        "bytes at the tested device over bytes of the program, in the program's direction";
    cell "lowest_bytes_ratio" "1"
        "bytes at the lowest device over bytes of the program, in the program's direction";
    pointed "depth_achieved" "1" "mean requests outstanding, by Little's law, summed over jobs";
    cell "rate_spread_percent" "%"
        "standard deviation of the passes' rates as a share of their mean";
    cell "rate_trend_percent" "%"
        "change of the fitted rate from the first kept pass to the last, as a share of the mean";
    curve "knee_depth" "1"
        "requests outstanding where rate over mean latency (the power) is greatest";
    curve higher "knee_rate_operations_per_s" "1/s" "requests a second there";
    curve lower "knee_latency_mean_ns" "ns" "mean latency there";
    curve lower "knee_latency_p99_ns" "ns" "99th percentile of the latency there";
    curve higher "most_rate_operations_per_s" "1/s" "the greatest rate of any depth";
    curve higher "most_rate_bytes_per_s" "B/s" "its bytes a second";
    commit "flushes_ratio" "1"
        "flushes of the device's cache over the commits, by the kernel's counters";
    storm lower "latency_p50_ratio" "1" "median latency over that without a remedy";
    storm lower "latency_p99_ratio" "1" "99th percentile over that without a remedy";
    storm lower "latency_p999_ratio" "1" "99.9th percentile over that without a remedy";
    storm higher "rate_ratio" "1" "the writer's rate over that without a remedy";
    storm lower "storm_ratio" "1"
        "99th percentile of the reads that met a sync over that of the others";
    storm lower "gain_ratio" "1"
        "what the remedy leaves of the mean of the slowest twentieth of reads and commits";
    storm lower "predicted_gain_ratio" "1" "the same, by the model of the drive and the kernel";
    storm lower "predicted_latency_p99_ns" "ns" "99th percentile, by that model";
    storm higher "predicted_rate_operations_per_s" "1/s" "rate, by that model";
    storm higher "rank_agreement" "1"
        "Kendall's tau-b of what remedies leave, as measured and as predicted";
    storm higher "rank_stability" "1"
        "Kendall's tau-b of what remedies leave in every second round, and in the others";
    storm higher "ranked_alike_percent" "%"
        "pairs of remedies predicted in their order, of those that the measurement tells apart";
    storm higher "predictions_held_percent" "%"
        "remedies whose measured gain lies within the interval that was predicted for it";
    storm lower "cpu_machine_percent" "%"
        "CPU time of the streams, or of the command and other programs, of kernel threads and of \
         interrupts, as a share of one CPU";
    storm "recommended" "1" "1 if the remedy helps beyond the noise, at a cost within bounds";
    calibration "clock_cost_ns" "ns" "one reading of the clock that stamps requests";
    calibration "clock_precision_ns" "ns" "the least step of that clock";
    calibration "harness_ns_per_operation" "ns"
        "the harness's own cost of a request, on the null engine with the histogram on";
    calibration "memory_copy_bytes_per_s" "B/s" "copying 64 MiB from memory to memory, one thread";
    operation higher "routine_bytes_per_s" "B/s"
        "R(B,N): bytes that the routine moved a second of wall time, all channels together";
    operation higher "routine_operations_per_s" "1/s"
        "requests a second of wall time, all channels together";
    operation lower "operation_latency_p50_ns" "ns"
        "median time from a request's submission to its completion";
    operation lower "operation_latency_p99_ns" "ns" "99th percentile of that time";
    operation lower "operation_wall_ns" "ns" "wall time of a pass over its requests";
    operation lower "operation_cpu_thread_ns" "ns"
        "the submitting thread's CPU time of a request, less the harness's";
    operation lower "operation_cpu_difference_ns" "ns"
        "total CPU of a request by difference: all CPUs' time less idle, stolen, other \
         programs' and the machine's by itself, less the harness's";
    operation lower "operation_cpu_idle_load_ns" "ns"
        "total CPU of a request by idle-priority loops: what they get of all CPUs less when idle, \
         less the harness's";
    operation lower "operation_cpu_trace_ns" "ns"
        "total CPU of a request by a trace of every switch and interrupt (BPF), less the \
         harness's";
    operation lower "operation_cpu_total_ns" "ns"
        "total CPU of a request: at least the clocks of all threads that worked in the program, at \
         most the difference over all CPUs, less the harness's";
    operation "cpu_total_ratio" "1"
        "total CPU over the submitting thread's CPU time, in the same passes";
    operation "cpu_total_difference_ratio" "1"
        "total CPU by difference over the submitting thread's CPU time, in the same passes";
    operation "cpu_total_idle_load_ratio" "1" "the same by idle-priority loops";
    operation "cpu_total_trace_ratio" "1" "the same by the trace";
    operation "cpu_total_difference_tasks_ratio" "1"
        "total CPU by difference over the CPU time of all threads that worked in the program, by \
         their own clocks, in the same passes";
    operation "cpu_total_idle_load_tasks_ratio" "1" "the same by idle-priority loops";
    operation "cpu_total_trace_tasks_ratio" "1" "the same by the trace";
    operation lower "operation_overhead_ns" "ns"
        "T_OH(B,N): what a request takes away from computing during it, by equation 2, less the \
         harness's";
    routine "loop_ns" "ns" "t_loop: one compute-and-test loop without I/O";
    routine lower "t_call_ns" "ns"
        "T_call: CPU time of a request whatever its size (eq. 8), by the account";
    routine lower "t_trans_ns_per_kib" "ns/KiB"
        "T_trans: CPU time that each KiB adds, where requests are small if two lines are needed";
    routine lower "t_trans_large_ns_per_kib" "ns/KiB"
        "T_trans of the second line, where requests are large";
    routine "break_bytes" "B" "the least request size of the second line";
    routine lower "latency_zero_ns" "ns" "t0: wall time of a request of no bytes";
    routine higher "rate_asymptotic_bytes_per_s" "B/s"
        "R_inf: the rate that ever larger requests approach";
    routine lower "half_rate_bytes" "B"
        "n_half: the request size at which half of R_inf is reached";
    routine "sectors_per_revolution" "1" "S: sectors of 512 bytes transferred a revolution (eq. 6)";
    routine "revolutions_missed" "1" "M: revolutions missed by each request (eq. 6)";
    routine "fit_misfit_percent" "%" "the greatest distance of a size's mean from the line";
    routine "fit_noise_percent" "%" "standard deviation of passes about their size's mean";
    background "background_difference_percent" "%"
        "CPU time of the machine by itself, by difference, as a share of one CPU";
    background "slowdown_percent" "%"
        "how much slower than at its best in the run the job's core copied pages, in the middle of \
         all passes: what shares it";
    background "background_trace_percent" "%"
        "CPU time of the machine by itself, by the trace, as a share of one CPU";
    traced "events_count" "1" "events that the rows were made of";
    traced "requests_count" "1" "rows";
    traced "lost_count" "1"
        "events that the tracer had no space for or did not see, lost completions (`reused_count`) \
         among them";
    traced "rejected_count" "1" "lines or records that were not understood";
    traced "orphaned_count" "1" "completions whose request was never seen: rows too";
    traced "before_start_count" "1"
        "requests from before the trace began, whose beginning is not in it: rows too";
    traced "unanswered_count" "1"
        "requests whose completion is not in the trace: in flight at its end, or lost; rows too";
    traced "ambiguous_count" "1"
        "pairings in which more than one candidate fitted equally (streams without identity)";
    traced "reused_count" "1"
        "identities that came again before their completion, which is therefore lost";
    traced "recovered_count" "1"
        "steps that the tracer's programs did not see, and a second source did (process 1, by \
         perf)";
    traced "joined_by_bio_count" "1"
        "rows that serve a row of the device above, as the kernel tells";
    traced "joined_by_place_count" "1"
        "rows that serve a row of the device above, by operation, place and time alone";
    traced "not_joined_count" "1"
        "rows of a device beneath another one, for which no row above was found";
    traced "requeued_count" "1" "times that a driver gave a request back";
    traced "partially_completed_count" "1" "completions for a part of a request";
    traced "merged_count" "1" "requests and bios that became a part of another";
    traced "queue_time_missed_count" "1"
        "requests whose time of queueing was not handed over: queued_ns is null";
    traced "out_of_order_count" "1" "events that came after a later one of the same source";
    traced "unsorted_count" "1" "rows that stand after a row that arrived later";
    traced "own_count" "1" "rows made by lbolt itself";
    traced "unwritten_count" "1" "requests for which there was no space on the disk";
    traced "trace_span_ns" "ns" "from the first arrival to the last arrival or completion";
    traced "tracer_ns_per_event" "ns"
        "CPU time of the BPF programs for each event of the block layer that they saw";
    traced "tracer_percent" "%" "CPU time of the BPF programs as a share of one CPU";
    traced "consumer_ns_per_request" "ns"
        "CPU time of lbolt itself for each request, from the kernel's buffer into the file";
    traced "tracer_slowdown_percent" "%"
        "requests a second less with the tracer than without it, in interleaved pairs \
         (--measure-overhead)";
    kernel "kernel_completed_count" "1"
        "requests that the device completed between two readings of the kernel's own counters; the \
         finding's count is what the trace holds of that time";
    kernel "device_changed_count" "1"
        "times that the device was found gone or another one at the capture's end";
    kernel "kernel_completed_bytes" "B" "their bytes; the finding's count is the trace's";
    kernel "kernel_parts_count" "1"
        "parts that the kernel counts beyond the trace's requests: a driver of bios splits them \
         (dm)";
    kernel "kernel_preflushes_count" "1"
        "writes that the kernel counts a second time for the flush before them (dm)";
    kernel "kernel_empty_flushes_count" "1"
        "flushes without data that the kernel does not count (md)";
    kernel "kernel_bypassed_bytes" "B"
        "bytes of writes past the cache, of which the kernel counts the requests alone (bcache)";
    kernel "kernel_failed_count" "1"
        "requests that failed before the kernel counted them (dm)";
    kernel "kernel_commands_count" "1"
        "commands passed through to the device (by udev, smartd, nvme-cli) that the kernel does \
         not count";
    traffic "requested_count" "1"
        "requests that were made: of a flush sequence the whole, not its parts";
    traffic "requested_bytes" "B" "bytes requested";
    traffic lower "failed_count" "1" "requests that were completed with an error";
    traffic "requested_per_s" "1/s" "requests a second of the trace's span";
    traffic lower "response_mean_ns" "ns" "mean time from queueing to the completion";
    traffic lower "response_p50_ns" "ns" "median of that time";
    traffic lower "response_p99_ns" "ns" "99th percentile of that time";
    traffic lower "response_max_ns" "ns" "greatest of those times";
    traffic lower "admission_mean_ns" "ns"
        "mean time until a request was allocated: waiting for a tag, or held back by throttling";
    traffic lower "scheduler_mean_ns" "ns"
        "mean time from there until it was handed to the driver; of a flush sequence between its \
         parts, too";
    traffic lower "wait_mean_ns" "ns"
        "mean time until the driver got a request: its queueing, the response less the device";
    traffic lower "device_mean_ns" "ns"
        "mean time in the driver and the device; of a flush sequence in all of its parts";
    traffic "rest_mean_ns" "ns"
        "mean of what the trace does not tell of a response: it less admission, scheduler (else \
         queue) and device";
    traffic "done_count" "1"
        "requests that the device did: those issued, each part of a flush sequence by itself";
    traffic "done_mean_ns" "ns" "mean time of one of these in the driver and the device";
    class "completed_count" "1" "requests that were completed";
    class lower "response_p25_ns" "ns" "first quartile of the time from queueing to the completion";
    class lower "response_p75_ns" "ns" "third quartile of that time";
    class lower "response_p90_ns" "ns" "90th percentile of that time";
    class lower "response_p999_ns" "ns" "99.9th percentile of that time";
    class lower "response_p9999_ns" "ns" "99.99th percentile of that time";
    class "response_whisker_low_ns" "ns"
        "least time that is not below the first quartile by more than 1.5 times the quartiles' \
         distance";
    class "response_whisker_high_ns" "ns"
        "greatest time that is not above the third quartile by more than 1.5 times the quartiles' \
         distance";
    class "response_outliers_count" "1" "completions beyond the whiskers";
    response "depth_mean" "1" "requests outstanding, averaged over the trace's span";
    response "depth_at_arrival_mean" "1"
        "requests that an arriving one finds outstanding, averaged over the arrivals";
    response "depth_max" "1"
        "most requests that were outstanding at once, the one that arrives included";
    response "little_ratio" "1"
        "the depth that a clock counts over the one of Little's law (arrival rate times mean \
         response): 1 where the books agree";
    response "late_count" "1"
        "rows that stand after a row that arrived later, as the analysis met them: depth, seeks \
         and what was found outstanding are wrong by them";
    response "reversed_count" "1"
        "rows with a step whose time is before that of the step it follows: the time between \
         is left out";
    class "time_percent" "%" "the class's share of all requests' response times";
    class "slope_response_ns_per_kib" "ns/KiB"
        "what a KiB more adds to the mean response: the line through the size classes";
    class "slope_wait_ns_per_kib" "ns/KiB" "what it adds to the time until the driver got it";
    class "slope_device_ns_per_kib" "ns/KiB" "what it adds to the time in driver and device";
    class "busy_percent" "%" "time in which the device had a request outstanding";
    class "arrival_variation_ratio" "1"
        "standard deviation of the times between arrivals over their mean: 0 a clock, 1 chance, \
         more bursts";
    class "sequential_percent" "%" "requests that begin where the one before ended";
    class "seek_p50_bytes" "B" "median distance from the end of a request to the begin of the next";
    class "seek_mean_bytes" "B" "mean of that distance";
    class "storms_count" "1" "bursts of writes and flushes that a steady load does not explain";
    class "storm_time_percent" "%" "time in storms, until the last of their completions";
    class "storm_period_ns" "ns" "time of which the gaps between the storms' starts are multiples";
    class "storm_start_ns" "ns" "first arrival of a storm";
    class "storm_length_ns" "ns" "from there to the last completion";
    class "storm_requests_count" "1" "writes and flushes of the storm, or of all";
    class "storm_flushes_count" "1" "of them flushes, and writes that ask for one";
    class "storm_bytes" "B" "what they wrote";
    class "storm_depth_max" "1" "most requests outstanding, as one of them arrived";
    class "beneath_count" "1"
        "of a device: requests that serve requests to a device that lies on it";
    class "blame_percent" "%" "a process's share of the storms' writes and flushes";
    class "reads_behind_count" "1"
        "reads that arrived in a storm and found writes or flushes outstanding";
    class "reads_behind_mean_ns" "ns" "their mean response";
    class "reads_behind_p50_ns" "ns" "their median response";
    class "reads_behind_p99_ns" "ns" "99th percentile of their response";
    class "reads_behind_max_ns" "ns" "greatest of their responses";
    class "reads_behind_wait_percent" "%"
        "their queueing (until the driver got them) as a share of their response";
    class "reads_behind_excess_percent" "%"
        "what their mean response is more than that of the device's other reads, as a share of it";
    class "reads_behind_p99_ratio" "1" "reads_behind_p99_ns over reads_apart_p99_ns";
    class "reads_apart_count" "1" "the device's other reads";
    class "reads_apart_mean_ns" "ns" "their mean response";
    class "reads_apart_p50_ns" "ns" "their median response";
    class "reads_apart_p99_ns" "ns" "99th percentile of their response";
}

/// Every quantity of what is measured, traced, compared and simulated.
pub fn quantities() -> impl Iterator<Item = &'static Quantity> {
    let of_traces = joined::JOINED.iter().chain(simulated::SIMULATED).chain(replayed::REPLAYED);
    MEASURED.iter().chain(of_traces).chain(verdict::VERDICT)
}

/// The table's entry of that name.
pub fn quantity(name: &str) -> Option<&'static Quantity> {
    quantities().find(|q| q.name == name)
}

/// The section of docs/records.md on quantities: these, and those of other tables.
pub(crate) fn describe(page: &mut String, others: &'static [Quantity]) {
    page.push_str(
        "\n### Quantities\n\n| quantity | unit | meaning | keys of the subject | command |\n\
         | --- | --- | --- | --- | --- |\n",
    );
    for q in quantities().chain(others) {
        let _ = writeln!(
            page,
            "| {} | {} | {} | {} | {} |",
            q.name,
            q.unit,
            q.meaning,
            q.subjects.iter().map(|keys| keys.join(", ")).collect::<Vec<_>>().join(" or "),
            q.command
        );
    }
}
