//! The quantities of simulations: of a trace that was replayed on a model.

use crate::record::subject::{Change, Model, ModelOp};

quantities! {
    pub(super) const SIMULATED of {
        simulated: &[ModelOp::KEYS], "simulate";
        device: &[Model::KEYS], "simulate";
        change: &[Change::KEYS], "whatif";
    }

    simulated "simulated_count" "1" "requests completed by the model";
    simulated "simulated_mean_ns", "simulated_p50_ns", "simulated_p99_ns", "simulated_max_ns" "ns"
        "response of the model";
    simulated "measured_mean_ns", "measured_p50_ns", "measured_p99_ns", "measured_max_ns" "ns"
        "response in the trace";
    simulated "demerit_ns" "ns"
        "distance of the two distributions of responses: root mean square over 10,000 quantiles \
         (Ruemmler & Wilkes 1994)";
    simulated "demerit_percent" "%" "demerit_ns as a share of the trace's mean";
    simulated "simulated_service_mean_ns", "measured_service_mean_ns" "ns"
        "time from the driver to completion, in the model and in the trace";
    simulated "service_demerit_ns" "ns" "demerit of the times from the driver to completion";
    simulated "service_demerit_percent" "%" "service_demerit_ns as a share of the trace's mean";
    device "simulated_busy_percent" "%" "time in which the modelled drive was at work";
    device "simulated_queued_count" "1"
        "requests that waited in the driver's queue because the controller took no more";
    device "simulated_queue_max" "1" "most requests outstanding at once";
    change "before_count" "1" "requests completed by the model before the change";
    change "before_mean_ns", "before_p50_ns", "before_p99_ns", "before_max_ns" "ns"
        "response of the model before the change";
    change "after_mean_ns", "after_p50_ns", "after_p99_ns", "after_max_ns" "ns"
        "response of the model after the change";
    change "change_mean_ratio", "change_p50_ratio", "change_p99_ratio", "change_max_ratio" "1"
        "after / before; the interval spans paired samples of the model's uncertain parameters, \
         each from another starting moment, and, if the trace has times, the model's error and \
         chance";
    change "model_mean_ratio", "model_p50_ratio", "model_p99_ratio", "model_max_ratio" "1"
        "model before the change / trace: the model's error; the interval is chance";
}
