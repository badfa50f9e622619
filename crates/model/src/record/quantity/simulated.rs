//! The quantities of simulations: of a trace that was replayed on a model.

/// The keys of what is found of a modelled device's requests of one operation.
const DEVICE_OP: &[&[&str]] = &[&["device", "model", "op"]];
/// The keys of what is found of a modelled device.
const DEVICE: &[&[&str]] = &[&["device", "model"]];

quantities! {
    pub(super) const SIMULATED of {
        simulated: DEVICE_OP, "simulate";
        device: DEVICE, "simulate";
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
}
