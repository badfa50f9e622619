//! Which way quantities are better.

use super::Quantity;

/// Which way a quantity is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

/// Quantities of which less is better. A share of the CPU is none: it rises with the rate.
pub(super) const BETTER_LOWER: &[&str] = &[
    "cpu_operation_ns",
    "cpu_total_operation_ns",
    "latency_mean_ns",
    "latency_p50_ns",
    "latency_p99_ns",
    "latency_p999_ns",
    "latency_max_ns",
    "service_p50_ns",
    "service_p99_ns",
    "sync_percent",
    "operation_latency_p50_ns",
    "operation_latency_p99_ns",
    "operation_wall_ns",
    "operation_cpu_thread_ns",
    "operation_cpu_difference_ns",
    "operation_cpu_idle_load_ns",
    "operation_cpu_trace_ns",
    "operation_overhead_ns",
    "t_call_ns",
    "t_trans_ns_per_kib",
    "t_trans_large_ns_per_kib",
    "latency_zero_ns",
    "half_rate_bytes",
    "response_mean_ns",
    "response_p25_ns",
    "response_p50_ns",
    "response_p75_ns",
    "response_p90_ns",
    "response_p99_ns",
    "response_p999_ns",
    "response_p9999_ns",
    "response_max_ns",
    "admission_mean_ns",
    "scheduler_mean_ns",
    "device_mean_ns",
    "wait_mean_ns",
    "failed_count",
];
pub(super) const BETTER_HIGHER: &[&str] = &[
    "rate_bytes_per_s",
    "rate_operations_per_s",
    "ceiling_bytes_per_s",
    "routine_bytes_per_s",
    "routine_operations_per_s",
    "rate_asymptotic_bytes_per_s",
];

impl Quantity {
    /// Which way it is better; none where neither way is.
    pub fn better(&self) -> Option<Better> {
        match self.name {
            name if BETTER_LOWER.contains(&name) => Some(Better::Lower),
            name if BETTER_HIGHER.contains(&name) => Some(Better::Higher),
            _ => None,
        }
    }
}
