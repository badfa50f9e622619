//! What a line of times means: a call's cost, or a rate.
//!
//! - *CPU times* (Bucher & Hayes 1980, eq. 8 times B): T_OH(B) = T_call + T_trans × B.
//! - *Wall times*: t(B) = t0 + B/R_inf, so that the rate B/t(B) is half of R_inf at
//!   n_half = t0 × R_inf (Hockney & Jesshope, *Parallel Computers*, 1981).
//!
//! Non-goals: fitting.

use super::line::Line;
use super::quantity::Quantity;

const KIB_BYTES: f64 = 1024.0;
const SECOND_NS: f64 = 1e9;

/// A line of CPU times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CallCost {
    /// T_call: CPU time to initiate and complete a call, ns.
    pub call_ns: Quantity,
    /// T_trans: CPU time to transfer a KiB, ns.
    pub transfer_ns_per_kib: Quantity,
}

impl From<&Line> for CallCost {
    fn from(line: &Line) -> Self {
        Self {
            call_ns: line.intercept_ns(),
            transfer_ns_per_kib: line.slope_ns_per_byte().scaled(KIB_BYTES),
        }
    }
}

/// A line of wall times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// t0: time of an operation of no bytes, ns.
    pub latency_ns: Quantity,
    /// R_inf: the rate that ever larger blocks approach; none if a byte's time is not
    /// distinguishable from zero.
    pub asymptotic_bytes_per_s: Option<Quantity>,
    /// n_half: the block size at which half of that rate is reached; none likewise.
    pub half_rate_bytes: Option<Quantity>,
}

impl From<&Line> for Rate {
    fn from(line: &Line) -> Self {
        Self {
            latency_ns: line.intercept_ns(),
            asymptotic_bytes_per_s: line.over_slope(SECOND_NS),
            half_rate_bytes: line.intercept_over_slope(),
        }
    }
}
