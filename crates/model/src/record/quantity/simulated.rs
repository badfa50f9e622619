//! The quantities of simulations: a replayed trace's, and the published tables' beside the models'.

use super::Quantity;

/// The keys of what is found of a modelled device's requests of one operation.
const DEVICE_OP: &[&[&str]] =
    &[&["device", "model", "op"], &["op", "paper", "remedy", "writes_per_sync"]];
/// The keys of what is found of a modelled device.
const DEVICE: &[&[&str]] = &[&["device", "model"]];

/// The keys of a routine of 1980.
const ROUTINE: &[&[&str]] =
    &[&["condition", "direction", "library", "machine", "operating_system", "paper", "routine"]];
/// The keys of a computer of 1980.
const COMPUTER: &[&[&str]] = &[&["machine", "paper"]];

/// The keys of a cell of 1983.
const CELL: &[&[&str]] = &[
    &["condition", "controller", "cpu", "drives", "file_system", "paper", "program"],
    &["drives", "paper", "program", "scenario", "variant"],
];
/// The keys of cells that are judged together.
const GROUP: &[&[&str]] = &[&["group", "paper"]];

/// The keys of a count of ticks of 1986.
const TICKS: &[&[&str]] = &[&["paper", "ticks"]];

constructors! {
    simulated: DEVICE_OP, "simulate, papers";
    device: DEVICE, "simulate";
    routine: ROUTINE, "papers";
    computer: COMPUTER, "papers";
    cell: CELL, "papers";
    group: GROUP, "papers";
    ticks: TICKS, "papers";
}

/// All of them.
pub(super) const SIMULATED: &[Quantity] = &[
    simulated("simulated_count", "1", "requests that the model answered"),
    simulated("simulated_mean_ns", "ns", "mean of the model's response times"),
    simulated("simulated_p50_ns", "ns", "median of the model's response times"),
    simulated("simulated_p99_ns", "ns", "99th percentile of the model's response times"),
    simulated("simulated_max_ns", "ns", "greatest of the model's response times"),
    simulated("measured_mean_ns", "ns", "mean of the response times in the trace"),
    simulated("measured_p50_ns", "ns", "median of the response times in the trace"),
    simulated("measured_p99_ns", "ns", "99th percentile of the response times in the trace"),
    simulated("measured_max_ns", "ns", "greatest of the response times in the trace"),
    simulated(
        "demerit_ns",
        "ns",
        "distance of the two distributions of response times: the root mean square over 10,000 \
         quantiles (Ruemmler & Wilkes 1994)",
    ),
    simulated("demerit_percent", "%", "the same as a share of the trace's mean"),
    simulated(
        "simulated_service_mean_ns",
        "ns",
        "mean time from the driver to the answer, in the model",
    ),
    simulated(
        "measured_service_mean_ns",
        "ns",
        "mean time from the driver to the answer, in the trace",
    ),
    simulated(
        "service_demerit_ns",
        "ns",
        "distance of the two distributions of times from the driver to the answer, as for \
         responses",
    ),
    simulated("service_demerit_percent", "%", "the same as a share of the trace's mean"),
    device("simulated_busy_percent", "%", "time in which the modelled drive was at work"),
    device(
        "simulated_queued_count",
        "1",
        "requests that waited in the driver's queue since the controller took no more",
    ),
    device("simulated_queue_max", "1", "most requests that were outstanding at once"),
    routine(
        "published_sectors_per_revolution",
        "1",
        "S of Table 1 (1980): sectors transferred a revolution",
    ),
    routine(
        "model_sectors_per_revolution",
        "1",
        "the same of the model, read off its line as the paper did",
    ),
    routine(
        "published_missed_per_call",
        "1",
        "M of Table 1 (1980): revolutions missed a call; the least where the paper prints a least",
    ),
    routine(
        "model_missed_per_call",
        "1",
        "the same of the model; its method says whether it emerges or was fitted",
    ),
    routine("published_t_call_ns", "ns", "T_call of Table 1 (1980): CPU time of a call"),
    routine("model_t_call_ns", "ns", "the same as the model's compute-and-test loop gives it back"),
    routine("published_t_trans_ns", "ns", "T_trans of Table 1 (1980): CPU time of a sector"),
    routine(
        "model_t_trans_ns",
        "ns",
        "the same as the model's compute-and-test loop gives it back",
    ),
    computer("published_words_per_s", "1/s", "R_max of equations 3 and 4 (1980), in words"),
    computer("model_words_per_s", "1/s", "the same of the model"),
    cell("published_rate_bytes_per_s", "B/s", "a rate of the tables of 1983, all drives together"),
    cell("model_rate_bytes_per_s", "B/s", "the same of the model, the mean over the seeds"),
    cell("published_cpu_percent", "%", "the program's share of one CPU in the tables of 1983"),
    cell("model_cpu_percent", "%", "the same of the model"),
    cell("error_percent", "%", "the model's rate over the published one, less one"),
    cell(
        "cpu_error_percent",
        "%",
        "the model's share of the CPU less the published one, in points",
    ),
    group("cells_count", "1", "distinct cells that are not starred"),
    group("error_median_percent", "%", "median of the errors' magnitudes"),
    group("error_mean_percent", "%", "their mean"),
    group("error_max_percent", "%", "the greatest"),
    group("within_15_percent", "%", "cells whose error is at most 15 %"),
    group(
        "cpu_error_mean_percent",
        "%",
        "mean magnitude of the errors of the CPU's share, in points",
    ),
    group("parameters_count", "1", "parameters of its models that were fitted to the tables"),
    ticks(
        "published_share_percent",
        "%",
        "responses of so many ticks, of those of 0 to 9 ticks, in the paper of 1986",
    ),
    ticks("model_share_percent", "%", "the same of the model"),
    group("total_variation_distance", "1", "half the sum of the differences of the ten shares"),
];
