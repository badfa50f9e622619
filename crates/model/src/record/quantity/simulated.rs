//! The quantities of simulations: of a trace that was replayed on a model.

/// The keys of what is found of a modelled device's requests of one operation.
const DEVICE_OP: &[&[&str]] = &[&["device", "model", "op"]];
/// The keys of what is found of a modelled device.
const DEVICE: &[&[&str]] = &[&["device", "model"]];

/// The keys of what is found of such requests before and after a change.
const CHANGE: &[&[&str]] = &[&["change", "device", "model", "op"]];

quantities! {
    pub(super) const SIMULATED of {
        simulated: DEVICE_OP, "simulate";
        device: DEVICE, "simulate";
        change: CHANGE, "whatif";
    }

    simulated "simulated_count" "1" "requests that the model completed";
    simulated "simulated_mean_ns" "ns" "mean of the model's response times";
    simulated "simulated_p50_ns" "ns" "median of the model's response times";
    simulated "simulated_p99_ns" "ns" "99th percentile of the model's response times";
    simulated "simulated_max_ns" "ns" "greatest of the model's response times";
    simulated "measured_mean_ns" "ns" "mean of the response times in the trace";
    simulated "measured_p50_ns" "ns" "median of the response times in the trace";
    simulated "measured_p99_ns" "ns" "99th percentile of the response times in the trace";
    simulated "measured_max_ns" "ns" "greatest of the response times in the trace";
    simulated "demerit_ns" "ns"
        "distance of the two distributions of response times: the root mean square over 10,000 \
         quantiles (Ruemmler & Wilkes 1994)";
    simulated "demerit_percent" "%" "the same as a share of the trace's mean";
    simulated "simulated_service_mean_ns" "ns"
        "mean time from the driver to the completion, in the model";
    simulated "measured_service_mean_ns" "ns"
        "mean time from the driver to the completion, in the trace";
    simulated "service_demerit_ns" "ns"
        "distance of the two distributions of times from the driver to the completion, as for \
         responses";
    simulated "service_demerit_percent" "%" "the same as a share of the trace's mean";
    device "simulated_busy_percent" "%" "time in which the modelled drive was at work";
    device "simulated_queued_count" "1"
        "requests that waited in the driver's queue since the controller took no more";
    device "simulated_queue_max" "1" "most requests that were outstanding at once";
    change "before_count" "1" "requests that the model completed before the change";
    change "before_mean_ns" "ns" "mean of the model's response times before the change";
    change "after_mean_ns" "ns" "mean of the model's response times after the change";
    change "change_mean_ratio" "1"
        "after over before; the interval holds the span over paired samples of the model's \
         uncertain parameters, each beginning at another moment, and, if the trace has times, \
         the model's error and what two runs differ by chance";
    change "model_mean_ratio" "1"
        "the model before the change over the trace: its error; the interval is chance";
    change "before_p50_ns" "ns" "median of the model's response times before the change";
    change "after_p50_ns" "ns" "median of the model's response times after the change";
    change "change_p50_ratio" "1"
        "after over before; the interval holds the span over paired samples of the model's \
         uncertain parameters, each beginning at another moment, and, if the trace has times, \
         the model's error and what two runs differ by chance";
    change "model_p50_ratio" "1"
        "the model before the change over the trace: its error; the interval is chance";
    change "before_p99_ns" "ns" "99th percentile of the model's response times before the change";
    change "after_p99_ns" "ns" "99th percentile of the model's response times after the change";
    change "change_p99_ratio" "1"
        "after over before; the interval holds the span over paired samples of the model's \
         uncertain parameters, each beginning at another moment, and, if the trace has times, \
         the model's error and what two runs differ by chance";
    change "model_p99_ratio" "1"
        "the model before the change over the trace: its error; the interval is chance";
    change "before_max_ns" "ns" "greatest of the model's response times before the change";
    change "after_max_ns" "ns" "greatest of the model's response times after the change";
    change "change_max_ratio" "1"
        "after over before; the interval holds the span over paired samples of the model's \
         uncertain parameters, each beginning at another moment, and, if the trace has times, \
         the model's error and what two runs differ by chance";
    change "model_max_ratio" "1"
        "the model before the change over the trace: its error; the interval is chance";
}
