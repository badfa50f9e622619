//! The clock that stamps requests: the processor's time-stamp counter where the
//! kernel itself trusts it, else `clock_gettime(CLOCK_MONOTONIC)`.
//!
//! The counter is trusted when it runs at a constant rate through every power
//! state (`constant_tsc`, `nonstop_tsc`) and the kernel has chosen it as its own
//! clock source, which it does only after checking it on every CPU against each other.
//! Its rate is measured against CLOCK_MONOTONIC at the start.
//!
//! Non-goals: wall-clock time.

use model::seam::Clock;
use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// How long the counter is compared with the kernel's clock: 20 ms at a
/// reading error below 100 ns is 5 parts in a million.
const CALIBRATION: Duration = Duration::from_millis(20);
/// Readings over which precision and cost are measured.
const READINGS: u32 = 20_000;
/// The cost is that of the quickest batch: the others were disturbed.
const BATCHES: u32 = 5;

/// A clock of this machine.
#[derive(Debug, Clone)]
pub struct HostClock {
    /// Nanoseconds a count, times 2^32; 0 where the kernel's clock is used.
    ns_per_count_shifted: u64,
    /// The counter, or the kernel's clock, at the origin.
    origin: u64,
    precision_ns: f64,
    cost_ns: f64,
}

/// A clock of the kernel in ns.
#[inline]
pub(crate) fn clock_ns(clock: ClockId) -> u64 {
    let t = clock_gettime(clock);
    u64::try_from(t.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(t.tv_nsec).unwrap_or(0)
}

#[inline]
fn monotonic_ns() -> u64 {
    clock_ns(ClockId::Monotonic)
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn counter() -> u64 {
    // SAFETY: RDTSC reads a register and touches no memory; Linux leaves it enabled for user mode
    // (`is_counter_trusted` is false where the kernel does not use it).
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
fn counter() -> u64 {
    0
}

/// Whether the kernel keeps its own time by the counter.
fn is_counter_trusted() -> bool {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let flags = read("/proc/cpuinfo");
    cfg!(target_arch = "x86_64")
        && read("/sys/devices/system/clocksource/clocksource0/current_clocksource").trim() == "tsc"
        && ["constant_tsc", "nonstop_tsc"].iter().all(|flag| flags.contains(flag))
}

/// What `read` counts and the kernel's clock at the same moment: the closest of a few tries, for
/// whoever is preempted between two readings believes them to be of one moment.
fn beside_kernel(read: impl Fn() -> u64) -> (u64, u64) {
    (0..20)
        .map(|_| {
            let (before, ns, after) = (read(), monotonic_ns(), read());
            (after.wrapping_sub(before), before + after.wrapping_sub(before) / 2, ns)
        })
        .min()
        .map_or((0, 0), |(_, count, ns)| (count, ns))
}

impl HostClock {
    /// The best clock of this machine, calibrated; its origin is now.
    pub fn new() -> Self {
        if is_counter_trusted() { Self::by_counter() } else { Self::by_kernel() }
    }

    fn by_counter() -> Self {
        let (count, ns) = beside_kernel(counter);
        std::thread::sleep(CALIBRATION);
        let (later_count, later_ns) = beside_kernel(counter);
        let counts = later_count.wrapping_sub(count).max(1);
        let scale = (u128::from(later_ns - ns) << 32) / u128::from(counts);
        let scale = u64::try_from(scale).unwrap_or(0);
        Self { ns_per_count_shifted: scale, origin: counter(), precision_ns: 0.0, cost_ns: 0.0 }
            .calibrated()
    }

    /// The kernel's clock.
    pub fn by_kernel() -> Self {
        Self { ns_per_count_shifted: 0, origin: monotonic_ns(), precision_ns: 0.0, cost_ns: 0.0 }
            .calibrated()
    }

    /// Measures the clock by itself: the cost of a reading, and the least step seen.
    fn calibrated(mut self) -> Self {
        let start = self.now_ns();
        let mut last = start;
        let mut step = u64::MAX;
        for _ in 0..READINGS {
            let now = self.now_ns();
            if now > last {
                step = step.min(now - last);
            }
            last = now;
        }
        self.precision_ns = step.min(last - start) as f64;
        self.cost_ns = (0..BATCHES).map(|_| self.batch_cost_ns()).fold(f64::INFINITY, f64::min);
        self
    }

    /// The mean cost of a reading over a batch.
    fn batch_cost_ns(&self) -> f64 {
        let start = self.now_ns();
        for _ in 0..READINGS {
            std::hint::black_box(self.now_ns());
        }
        (self.now_ns() - start) as f64 / f64::from(READINGS)
    }

    /// The origin in CLOCK_MONOTONIC, ns, where that is what the clock counts; none by the counter.
    pub fn monotonic_origin_ns(&self) -> Option<i64> {
        (self.ns_per_count_shifted == 0).then(|| i64::try_from(self.origin).ok())?
    }

    /// What one reading costs, ns.
    pub fn cost_ns(&self) -> f64 {
        self.cost_ns
    }

    /// `tsc` or `clock_gettime`.
    pub fn name(&self) -> &'static str {
        if self.ns_per_count_shifted == 0 { "clock_gettime" } else { "tsc" }
    }
}

impl Default for HostClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for HostClock {
    #[inline(always)]
    fn now_ns(&self) -> u64 {
        if self.ns_per_count_shifted == 0 {
            return monotonic_ns().saturating_sub(self.origin);
        }
        let counts = counter().saturating_sub(self.origin);
        ((u128::from(counts) * u128::from(self.ns_per_count_shifted)) >> 32) as u64
    }

    fn precision_ns(&self) -> f64 {
        self.precision_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_clocks_agree_with_the_kernels_and_never_go_back() {
        for clock in [HostClock::new(), HostClock::by_kernel()] {
            let (ours, kernels) = beside_kernel(|| clock.now_ns());
            std::thread::sleep(Duration::from_millis(100));
            let (ours_later, kernels_later) = beside_kernel(|| clock.now_ns());
            let (ours, kernels) = (ours_later - ours, kernels_later - kernels);
            let error = ours as f64 / kernels as f64 - 1.0;
            assert!(error.abs() < 1e-3, "{}: {error}", clock.name());
            let mut last = 0;
            for _ in 0..10_000 {
                let now = clock.now_ns();
                assert!(now >= last);
                last = now;
            }
            assert!(clock.cost_ns() > 0.0 && clock.precision_ns() > 0.0);
        }
    }
}
