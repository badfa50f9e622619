//! A bus between controllers and memory: how much it carries, and how much the processor suffers
//! from it.
//!
//! Non-goals: arbitration cycle by cycle. What it does to a transfer is in two numbers: the rate
//! that the bus can keep up, and the share of its speed that the processor loses while data move.

use sim::profile::{ProfileError, Reader};

/// Beyond it no bus would be for anything, and times would overflow.
const SLOWDOWN_MAX: f64 = 1000.0;

sim::parameters! {
    #[derive(Debug, Clone, Copy, PartialEq)]
    pub(crate) struct MemoryBus(bus) {
        /// The most that it carries, in bytes a second.
        pub(crate) rate_bytes_per_s: f64 = bus.rate_bytes_per_s("rate");
        /// By what share everything on the processor takes longer, for each 1e6 bytes a second
        /// that pass.
        pub(crate) slowdown_per_mb_per_s: f64 = slowdown_per_mb_per_s(bus, rate_bytes_per_s);
    }
}

fn slowdown_per_mb_per_s(bus: &Reader, rate_bytes_per_s: f64) -> Result<f64, ProfileError> {
    let is_fine = |slowdown: &f64| slowdown * rate_bytes_per_s / 1e6 <= SLOWDOWN_MAX;
    let reason = format!("makes the processor {SLOWDOWN_MAX} times slower at the bus's rate");
    bus.if_fine("slowdown", bus.fraction("slowdown")?, is_fine, reason)
}

impl MemoryBus {
    /// By what share the processor is slower while data move at that rate.
    pub(crate) fn slowdown(&self, rate_bytes_per_s: f64) -> f64 {
        self.slowdown_per_mb_per_s * rate_bytes_per_s.min(self.rate_bytes_per_s) / 1e6
    }
}
