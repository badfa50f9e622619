//! What the kernel's clocks show.
//!
//! Non-goals: other counters (crate `host`).

use rustix::time::{ClockId, clock_gettime};

/// What a clock shows, in ns.
pub fn now_ns(clock: ClockId) -> i64 {
    let time = clock_gettime(clock);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}
